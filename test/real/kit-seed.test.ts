import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Sandbox } from "../../src/testing/testing.ts";
import { transcript } from "../support/kit-transcript.ts";
import { tempFolder } from "../support/temp-folder.ts";

const PROGRAM = join(import.meta.dirname, "../support/kit-program.ts");
const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

async function startSeeded(seed = "s"): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

test("a seed gives the same ids, keys and answers in memory, in a folder and from the built package", async () => {
  const state = { folder: join(tempFolder(), "state") };
  const { stdout: ofPackage } = await promisify(execFile)(process.execPath, [PROGRAM], { timeout: 120_000 });
  const [first, inFolder, other] = [
    await transcript(startSandbox, { seed: "s" }),
    await transcript(startSandbox, { seed: "s", state }),
    await transcript(startSandbox, { seed: "t" }),
  ];
  expect([ofPackage === first, inFolder === first, other === first]).toEqual([true, true, false]);
});

test("a seeded sandbox has a fixed time, ordered UUIDs v7 and no socket", async () => {
  const { store, baseUrl } = await startSeeded();
  expect(baseUrl).toBe("http://127.0.0.1:0/v1");
  expect(await store.clock.now()).toEqual(new Date("2026-01-01T00:00:00Z"));
  const ids: string[] = [];
  for (let count = 0; count < 30; count += 1)
    ids.push((await store.orders.create({ ...ORDER, order_id: `order-${count}` })).id);
  expect(
    ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)),
  ).toBe(true);
  expect(ids.toSorted()).toEqual(ids);
  expect(ids[0]?.startsWith("019b76da-a800")).toBe(true);
});

test("reads, waits and other stores do not change a seeded store's results", async () => {
  const [quiet, watched] = [await startSeeded(), await startSeeded()];
  const [one, other, beside] = [
    await quiet.createStore(),
    await watched.createStore(),
    await watched.createStore(),
  ];
  const waits = [
    other.events.waitFor("order.succeeded"),
    other.requests.waitFor("POST /v1/checkout-sessions"),
  ];
  const shown: unknown[] = [];
  for (const store of [one, other]) {
    const order = await store.orders.create(ORDER, { idempotencyKey: "order-key-1" });
    if (store === other) {
      await store.deliveries.list();
      await store.timeline(order.id);
      const besides = await beside.orders.create(ORDER);
      await beside.pay(besides.id);
    }
    shown.push([order, await store.pay(order.id), await store.events.list()]);
    if (store === other) await store.sessions.create({ ...ORDER, order_id: "order-2" });
  }
  await Promise.all(waits);
  expect(shown[1]).toEqual(shown[0]);
});

test("a seeded sandbox on an existing folder generates new ids", async () => {
  const state = { folder: join(tempFolder(), "state") };
  const ids: string[] = [];
  for (const order_id of ["order-1", "order-2"]) {
    const sandbox = await startSandbox({ seed: "s", state });
    await sandbox.createStore();
    ids.push((await sandbox.store.orders.create({ ...ORDER, order_id })).id);
    await sandbox.close();
  }
  expect(new Set(ids).size).toBe(2);
});

test("a delayed delivery of a seeded sandbox waits for the clock, and an endpoint gets one delivery at a time", async () => {
  const { store } = await startSeeded();
  const answers = Promise.withResolvers<number>();
  const receiver = await store.receiver({ answer: () => answers.promise });
  await store.faults.add({ action: "delay", latencyMs: 1000 });
  await store.orders.create(ORDER);
  expect(await store.deliveries.waitFor(({ nextAt }) => nextAt !== null)).toMatchObject({
    tries: 0,
    state: "due",
  });
  expect(receiver.received).toEqual([]);
  await store.orders.create({ ...ORDER, order_id: "order-2" });
  const moved = store.clock.advance("1s");
  await receiver.waitFor("order.created");
  expect((await store.deliveries.list()).flatMap(({ attempts }) => attempts).length).toBe(1);
  answers.resolve(200);
  await moved;
  expect((await store.deliveries.list()).map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
});

test("requests without a known key are only in the first store's log", async () => {
  const sandbox = await startSeeded();
  const other = await sandbox.createStore();
  await sandbox.fetch(`${sandbox.baseUrl}/orders`, { method: "POST" });
  await sandbox.fetch("/v1/checkout-sessions/x", { headers: { Authorization: "Bearer unknown" } });
  await other.orders.create(ORDER);
  const [ofFirst, ofOther] = [await sandbox.store.requests.list(), await other.requests.list()];
  expect([ofFirst.map(({ status }) => status), ofOther.map(({ status }) => status)]).toEqual([
    [401, 401],
    [201],
  ]);
});
