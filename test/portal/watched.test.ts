import { expect, test } from "vitest";
import {
  createStoreWatch,
  EVERY_REQUEST,
  EVERY_WRITE,
  NO_CHECKOUT,
  orderKey,
} from "../../src/sandbox/pages/portal/live/watched.ts";

test("a page hears of each change of its keys, and of no other, until it leaves", () => {
  const watched = createStoreWatch(7);
  const heard: string[] = [];
  const leaves = [EVERY_WRITE, EVERY_REQUEST, NO_CHECKOUT, "c-1", orderKey("o-1")].map((key) =>
    watched.subscribe(key, () => heard.push(key)),
  );
  const told = (change: () => void): readonly string[] => {
    heard.length = 0;
    change();
    return [...heard];
  };
  expect(told(() => watched.write({ checkoutId: "c-1" }))).toEqual([EVERY_WRITE, "c-1"]);
  expect(told(() => watched.write({ checkoutId: "c-2" }))).toEqual([EVERY_WRITE]);
  expect(told(() => watched.write({ checkoutId: null }))).toEqual([EVERY_WRITE, NO_CHECKOUT]);
  // An order_id can be any text, also one that looks like another key.
  const requests = ["o-1", "c-1", EVERY_WRITE, null].map((orderId) => ({ orderId }));
  expect(told(() => watched.log(requests))).toEqual([EVERY_REQUEST, "order o-1"]);
  expect(watched.position()).toEqual({ epoch: 7, changes: 4, written: 3 });
  for (const leave of leaves) leave();
  expect(told(() => watched.write({ checkoutId: "c-1" }))).toEqual([]);
});

test("a page that connects learns whether a key changed since its position, as far back as is remembered", () => {
  const watched = createStoreWatch(1);
  watched.write({ checkoutId: "c-1" });
  watched.log([{ orderId: "o-1" }, { orderId: "o-2" }]);
  for (const [key, since, changed] of [
    ["c-1", 0, true],
    ["c-1", 1, false],
    ["c-2", 0, false],
    [orderKey("o-2"), 1, true],
    [orderKey("o-2"), 2, false],
    ["o-2", 0, false],
  ] as const)
    expect([key, since, watched.hasChanged([key], since)]).toEqual([key, since, changed]);

  for (let count = 0; count < 2000; count += 1) watched.write({ checkoutId: `other-${count}` });
  // The change at position 1 is forgotten: whoever has seen it is up to date, and nobody else is known to be.
  expect([0, 1].map((since) => watched.hasChanged(["c-9"], since))).toEqual([true, false]);
  watched.write({ checkoutId: "other-0" });
  expect([2, 3, 2002].map((since) => watched.hasChanged(["c-9"], since))).toEqual([true, false, false]);
  expect([2001, 2002, 2003].map((since) => watched.hasChanged(["other-0"], since))).toEqual([
    true,
    true,
    false,
  ]);
});
