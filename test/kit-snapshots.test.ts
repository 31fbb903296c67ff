import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Sandbox } from "../src/testing/testing.ts";

const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

async function start(): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed: "s" });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

test("a store comes back to its snapshot, and other stores stay as they are", async () => {
  const sandbox = await start();
  const [store, other] = [await sandbox.createStore(), await sandbox.createStore()];
  const receiver = await store.receiver();
  const order = await store.orders.create(ORDER);
  await store.deliveries.waitFor("order.created");
  const snapshot = await store.snapshot();
  const kept = await other.orders.create(ORDER);
  for (let round = 0; round < 3; round += 1) {
    await store.pay(order.id);
    await store.clock.advance("1m");
    expect(receiver.received.length).toBeGreaterThan(0);
    const before = sandbox.instanceId;
    await store.restore(snapshot);
    expect([await store.orders.get(order.id), receiver.received.length]).toEqual([order, 0]);
    expect(await store.clock.now()).toEqual(new Date("2026-01-01T00:00:00Z"));
    expect(sandbox.instanceId).not.toBe(before);
    // Its ids are not those of a round before.
    await store.orders.create({ ...ORDER, order_id: "order-2" });
  }
  expect(await other.orders.get(kept.id)).toEqual(kept);
  await expect(other.restore(snapshot)).rejects.toMatchObject({
    name: "CheckoutError",
    code: "state_conflict",
  });
  await expect(store.restore(new Uint8Array(9))).rejects.toMatchObject({
    status: 400,
    code: "invalid_parameter",
  });
});

test("a whole sandbox comes back, also in another one of the same seed, and goes on there", async () => {
  const [sandbox, another] = [await start(), await start()];
  const store = await sandbox.createStore({ name: "Kept" });
  const order = await store.orders.create(ORDER);
  const snapshot = await sandbox.snapshot();
  expect(sandbox.instanceId).not.toBe(another.instanceId);
  const late = await sandbox.createStore();
  await sandbox.restore(snapshot);
  expect(await store.orders.get(order.id)).toEqual(order);
  await expect(late.events.list()).rejects.toMatchObject({ status: 404 });
  // Of the same seed, so it has the same id and key.
  const same = await another.createStore({ name: "Kept" });
  await another.restore(snapshot);
  expect(await same.orders.get(order.id)).toEqual(order);
  expect(await same.orders.create({ ...ORDER, order_id: "order-2" })).toMatchObject({ status: "created" });
});
