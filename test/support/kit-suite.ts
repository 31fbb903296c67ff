import { expect } from "vitest";
import { STORY_TITLE } from "../../src/testing/fixtures/story.ts";
import { inOrder } from "./in-order.ts";

/** The tests for every runner: each needs its own store, and two fail, one of them by its timeout. */
const TESTS = `
const ORDER = { order_id: "order-1001", price_id: "price_coffee" };
const seen = [];
const idsOf = async (sandbox) => {
  const headers = { authorization: "Bearer " + sandbox.controlToken };
  const answer = await sandbox.fetch("/__sandbox/stores", { headers });
  return String((await answer.json()).data.stores.map(({ store_id }) => store_id));
};
const mustBe = (found, wanted) => { if (found !== wanted) throw new Error(found + " is not " + wanted); };
test("has a store", async ({ sandbox, store }) => {
  await store.orders.create(ORDER);
  seen.push(sandbox, store.id);
});
test("has another store of the same sandbox", async ({ sandbox, store }) => {
  await store.orders.create(ORDER);
  mustBe(seen[0], sandbox);
  mustBe(seen.includes(store.id), false);
  mustBe(await idsOf(sandbox), [sandbox.store.id, store.id].join());
});
test("deletes its store itself", ({ store }) => store.delete());
test("throws", async ({ store }) => {
  const receiver = await store.receiver({ answer: () => 500 });
  await store.orders.create(ORDER);
  await store.orders.create({ order_id: "order-1002", price_id: "price_of_nothing" }).catch(() => undefined);
  await receiver.waitFor("order.created");
  await store.deliveries.waitFor(({ tries }) => tries === 1);
  throw new Error("it is not right");
});
test("takes too long", /* options */ async ({ store }) => {
  await store.orders.create({ ...ORDER, order_id: "order-late" });
  await new Promise((resolve) => setTimeout(resolve, 1500));
} /* timeout */);
test("comes after that", async ({ sandbox, store }) => {
  const wanted = [sandbox.store.id, store.id].join();
  // A runner may begin this test while the store of the previous test is being deleted.
  for (let left = 60; left > 0 && (await idsOf(sandbox)) !== wanted; left -= 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  mustBe(await idsOf(sandbox), wanted);
});
`;

/**
 * A test file: the tests after the text that sets up its runner, with a timeout in a test's options or after its
 * function.
 */
export function suiteOf(
  start: string,
  timeout: { readonly options?: string; readonly after?: string },
): string {
  const { options = "", after = "" } = timeout;
  return `${start}\n${TESTS.replace("/* options */", options).replace("/* timeout */", after)}`;
}

/** Checks that the output has the histories of the two failing tests, and no others. */
export function expectStories(output: string, runs = 1): void {
  expect(output.split(STORY_TITLE).length - 1).toBe(2 * runs);
  for (const line of [
    inOrder("order-1001", "4.50 EUR", "alipay_plus", " created"),
    inOrder("  500", "  POST /v1/orders: 201"),
    inOrder("  POST /v1/orders: 400 invalid_parameter: "),
    inOrder(" due ", " 1 ", " 500"),
    inOrder("order-late", "4.50 EUR"),
  ])
    expect(output).toMatch(line);
}
