import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Fault, type Store } from "../../src/testing/testing.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { english } from "../../src/core/language.ts";

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

test("after a lost answer there is one order, and a retry with the same key returns it", async () => {
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

test("an answer without a checkout or an error is a bad_answer, with its status and the id of its log entry", async () => {
  const store = await newStore();
  for (const [fault, status] of [
    [{ action: "empty" }, 201],
    [{ action: "status", status: 502 }, 502],
  ] as const) {
    await store.faults.add(fault);
    const failed = await store.orders
      .create({ ...ORDER, order_id: `order-${status}` })
      .catch((error: unknown) => error);
    const logged = await store.requests.waitFor({ orderId: `order-${status}` });
    expect(failed).toMatchObject({ code: "bad_answer", status, requestId: logged.requestId });
  }
});

test("faults belong to one store, and can be removed and cleared", async () => {
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

test("a receiver reports a forged delivery as not verified", async () => {
  const store = await newStore();
  const receiver = await store.receiver();
  await store.faults.add({ action: "bad_signature", match: { eventType: "order.created" } });
  await store.orders.create(ORDER);
  const forged = await receiver.waitFor({ verified: false });
  expect([forged.problem, forged.event]).toEqual(["signature_mismatch", null]);
});

/** The lines of a store's story about past and due deliveries, without times and the receiver's port. */
async function storyOfDeliveries(store: Store): Promise<readonly string[]> {
  const { entries, pending } = await store.timeline(ORDER.order_id);
  const told = entries.filter(({ what }) => what === "delivery").map(({ text }) => text);
  const due = pending.filter(({ what }) => what === "delivery").map(({ text }) => `due: ${text}`);
  return [...told, ...due].map((text) => text.replaceAll(/127\.0\.0\.1:\d+\//g, "hooks"));
}

function heldBy(fault: string): string {
  return english(EXPLAIN_SENTENCES.heldBy(fault));
}

test("the story shows which fault holds a delivery back, which deliveries wait for it, and when they arrived", async () => {
  const store = await newStore();
  const receiver = await store.receiver();
  await store.faults.add({ action: "delay", match: { eventType: "order.created" } });
  await store.faults.add({ action: "reorder", match: { eventType: "order.pending" }, latencyMs: 5000 });
  const { id } = await store.orders.create(ORDER);
  await store.pay(id);
  expect(await storyOfDeliveries(store)).toEqual([
    `→ hooks  ${heldBy("delay")}, next attempt in 2 s`,
    "→ hooks  waiting for order.created, which fault delay holds back",
    "→ hooks  waiting for order.created, which fault delay holds back",
    `due: attempt 1 of order.created → hooks, ${heldBy("delay")}`,
  ]);
  const [created] = await store.deliveries.list({ type: "order.created" });
  expect([created?.fault?.action, created?.attempts]).toEqual(["delay", []]);
  expect((await store.timeline(created?.id ?? "")).summary).toBe(
    `delivery of order.created: due after 0 attempts; ${heldBy("delay")}`,
  );
  await store.clock.advance("2s");
  const late = `${heldBy("delay")}, arrived 2026-01-01T00:00:02.000Z, 2 s after the event`;
  await store.deliveries.waitFor("order.succeeded");
  expect(await storyOfDeliveries(store)).toEqual([
    `→ hooks  200, ${late}`,
    `→ hooks  ${heldBy("reorder")}, next attempt in 5 s`,
    "→ hooks  200, arrived 2026-01-01T00:00:02.000Z, 2 s after the event",
    `due: attempt 1 of order.pending → hooks, ${heldBy("reorder")}`,
  ]);
  await store.clock.advance("5s");
  expect(receiver.received.map(({ type }) => type)).toEqual([
    "order.created",
    "order.succeeded",
    "order.pending",
  ]);
  expect(await storyOfDeliveries(store)).toContain(
    `→ hooks  200, ${heldBy("reorder")}, arrived 2026-01-01T00:00:07.000Z, 7 s after the event`,
  );
});

test("the story shows the arrival of a delivery that a fault held back for less than a second", async () => {
  const store = await newStore();
  await store.receiver();
  await store.faults.add({ action: "delay", latencyMs: 300 });
  await store.orders.create(ORDER);
  await store.clock.advance(300);
  expect(await storyOfDeliveries(store)).toEqual([
    `→ hooks  200, ${heldBy("delay")}, arrived 2026-01-01T00:00:00.300Z, 300 ms after the event`,
  ]);
});

test("the story keeps the fault of an attempt after the retry, and shows the fault of a dropped delivery", async () => {
  const store = await newStore();
  await store.receiver();
  await store.faults.add({ action: "changed_body", match: { eventType: "order.created" } });
  await store.faults.add({ action: "drop", match: { eventType: "order.pending" } });
  const { id } = await store.orders.create(ORDER);
  await store.pay(id);
  await store.deliveries.waitFor({ type: "order.created", tries: 1 });
  expect((await storyOfDeliveries(store))[0]).toMatch(
    /^→ hooks {2}400 \(fault changed_body\), next attempt in \d s$/,
  );
  await store.clock.advance("10s");
  const [created, pending] = await storyOfDeliveries(store);
  expect(created).toMatch(
    /^→ hooks {2}400 \(fault changed_body\), 200, arrived [^ ]+, \d s after the event$/,
  );
  expect(pending).toBe("→ hooks  dropped by fault drop, not delivered");
  const { attempts } = await store.deliveries.waitFor("order.created");
  expect(attempts.map(({ fault }) => fault)).toEqual(["changed_body", null]);
});

test("a fault is listed with all its fields and its seed, and the request log names the fault for each request that it hit", async () => {
  const store = await newStore();
  const hits: (readonly boolean[])[] = [];
  for (const seed of ["one", "one", "two"]) {
    const match = { path: "/v1/orders", probability: 0.5 };
    const { id } = await store.faults.add({ action: "status", status: 503, match, times: 100, seed });
    for (let count = 0; count < 20; count += 1) await store.orders.create(ORDER).catch(() => undefined);
    const [fault] = await store.faults.list();
    const logged = (await store.requests.list()).slice(-20);
    hits.push(logged.map(({ fault: met }) => met?.id === id && met.action === "status"));
    const applied = logged.filter(({ status }) => status === 503).length;
    expect(fault).toEqual({
      id,
      action: "status",
      match: {
        ...match,
        method: null,
        eventType: null,
        eventId: null,
        endpointId: null,
        orderId: null,
        nth: 1,
      },
      status: 503,
      latencyMs: null,
      retryAfterS: null,
      times: 100,
      until: null,
      seed,
      matched: 20,
      applied,
      createdAt: new Date("2026-01-01T00:00:00Z"),
    });
    expect(hits.at(-1)?.filter(Boolean).length).toBe(applied);
    await store.faults.clear();
  }
  expect(hits[1]).toEqual(hits[0]);
  expect(hits[2]).not.toEqual(hits[0]);
  await store.faults.add({ profile: "webhook-storm", seed: "one" });
  expect(new Set((await store.faults.list()).map(({ seed }) => seed))).toEqual(new Set(["one"]));
});

test("the refusal of a fault or an endpoint uses the kit's field names", async () => {
  const store = await newStore();
  const rows: readonly (readonly [object, string])[] = [
    [{ action: "latency", latencyMs: -1 }, "latencyMs: Too small"],
    [{ action: "latency", latencyMs: 600_000 }, "latencyMs: expected at most"],
    [
      { action: "status", retryAfterS: 5 },
      "retryAfterS: applies only to rate_limit; got this field with status",
    ],
    [{ action: "status", match: { eventType: "order.paid" } }, "match.eventType: status is for requests"],
    [{ action: "drop", match: { path: "*" } }, "matched by eventType, eventId, endpointId, orderId, nth"],
    [{ action: "drop", match: { eventId: "x" } }, "match.eventId: Invalid UUID"],
    [{ action: "drop", match: { order_id: "x" } }, 'match: Unrecognized key: "order_id"'],
    [{ action: "drop", match: { eventType: "order_id" } }, 'got "order_id"'],
  ];
  for (const [fault, message] of rows)
    await expect(store.faults.add(fault as Fault)).rejects.toThrow(message);
  for (const option of ["in_order", "inorder"])
    await expect(store.endpoints.add("http://127.0.0.1:9/", { [option]: true })).rejects.toThrow(
      `Unrecognized key: "${option}"`,
    );
});

test("an endpoint can be added with the option inOrder", async () => {
  const store = await newStore();
  await store.endpoints.add("http://127.0.0.1:9/", { inOrder: true });
  await store.endpoints.add("http://127.0.0.1:9/b");
  expect((await store.endpoints.list()).map(({ inOrder }) => inOrder)).toEqual([true, false]);
});

test("a request lists the decisions that its answer relied on", async () => {
  const store = await newStore();
  await store.orders.create({ order_id: "order-1", price_id: "price_coffee" });
  expect(await store.requests.list()).toMatchObject([{ fault: null, decisions: [7] }]);
});
