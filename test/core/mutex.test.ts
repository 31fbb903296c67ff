import { expect, test } from "vitest";
import { createTurnQueue } from "../../src/core/mutex.ts";

test("turns run one after the other, but the next turn runs while a turn steps aside", async () => {
  const { run: inTurn } = createTurnQueue();
  const seen: string[] = [];
  const waited = Promise.withResolvers<void>();
  const first = inTurn(async (aside) => {
    seen.push("first begins");
    await aside(() => waited.promise);
    seen.push("first goes on");
  });
  const second = inTurn(async () => {
    seen.push("second begins");
    waited.resolve();
    await Promise.resolve();
    seen.push("second ends");
  });
  await Promise.all([first, second]);
  expect(seen).toEqual(["first begins", "second begins", "second ends", "first goes on"]);
});

test("a turn ends when its work fails, even while the work steps aside", async () => {
  const { run: inTurn } = createTurnQueue();
  const failing = inTurn((aside) => aside(() => Promise.reject(new Error("failed aside"))));
  const later = inTurn(() => Promise.reject(new Error("failed")));
  await expect(failing).rejects.toThrow("failed aside");
  await expect(later).rejects.toThrow("failed");
  await inTurn(async () => undefined);
});

test("as many turns run at the same time as the limit allows, also after it changes", async () => {
  const { run, setLimit } = createTurnQueue(2);
  const begun: number[] = [];
  const ends = [1, 2, 3, 4, 5].map((number) => {
    const end = Promise.withResolvers<void>();
    void run(() => {
      begun.push(number);
      return end.promise;
    });
    return end.resolve;
  });
  const settle = () => new Promise(setImmediate);
  await settle();
  expect(begun).toEqual([1, 2]);
  setLimit(3);
  await settle();
  expect(begun).toEqual([1, 2, 3]);
  setLimit(1);
  ends[0]?.();
  ends[1]?.();
  await settle();
  expect(begun).toEqual([1, 2, 3]);
  ends[2]?.();
  await settle();
  expect(begun).toEqual([1, 2, 3, 4]);
  ends.forEach((end) => end());
});
