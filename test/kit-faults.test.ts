import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Store } from "../src/testing/testing.ts";

const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

async function newStore(): Promise<Store> {
  const sandbox = await startSandbox({ seed: "s" });
  onTestFinished(() => sandbox.close());
  return sandbox.createStore();
}

test("a lost answer leaves one order, which the same key finds", async () => {
  const store = await newStore();
  const { id } = await store.faults.add({
    action: "lose_answer",
    match: { method: "POST", path: "/v1/orders" },
  });
  expect(await store.faults.list()).toMatchObject([{ id, action: "lose_answer", applied: 0 }]);
  const key = { idempotencyKey: "order-key-1" };
  await expect(store.orders.create(ORDER, key)).rejects.toMatchObject({ status: 0, code: "connection_lost" });
  const order = await store.orders.create(ORDER, key);
  expect((await store.events.list()).map(({ type }) => type)).toEqual(["order.created"]);
  expect(await store.orders.get(order.id)).toEqual(order);
});

test("faults are removed and cleared, and are one store's", async () => {
  const store = await newStore();
  const { id } = await store.faults.add({
    action: "status",
    status: 503,
    times: 9,
    until: "2026-01-02T00:00:00Z",
  });
  await expect(store.orders.create(ORDER)).rejects.toMatchObject({ status: 503 });
  await store.faults.remove(id);
  await store.orders.create(ORDER);
  await store.faults.add({ profile: "slow" });
  await store.faults.clear();
  expect(await store.faults.list()).toEqual([]);
  const foreign = store.faults.add({ action: "reset", match: { storeId: "another" } });
  await expect(foreign).rejects.toThrow("these are the faults of store");
});

test("a receiver gets a forged delivery, and does not verify it", async () => {
  const store = await newStore();
  const receiver = await store.receiver();
  await store.faults.add({ action: "bad_signature", match: { eventType: "order.created" } });
  await store.orders.create(ORDER);
  const forged = await receiver.waitFor({ verified: false });
  expect([forged.problem, forged.event]).toEqual(["signature_mismatch", null]);
});
