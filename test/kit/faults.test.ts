import { expect, onTestFinished, test } from "vitest";
import { startSandbox, type Fault, type Store } from "../../src/testing/testing.ts";
import { EXPLAIN_SENTENCES, SUMMARY_SENTENCES } from "../../src/core/explain/sentences.ts";
import { english } from "../../src/core/language.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage, refusalText } from "../support/refusal-texts.ts";

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
  await expect(foreign).rejects.toThrow(inOrder(store.id, "another"));
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

/** The parts of a line about the next attempt of a delivery, and about the arrival of an accepted one. */
const nextIn = (span: string): string => english(EXPLAIN_SENTENCES.nextAttempt(span));
const arrived = (time: string, span: string): string => {
  const arrival = english(EXPLAIN_SENTENCES.arrived(`2026-01-01T00:00:${time}Z`));
  return `${arrival}, ${english(EXPLAIN_SENTENCES.afterEvent(span))}`;
};
const dueFirst = (type: string): string => english(EXPLAIN_SENTENCES.dueAttempt(1, type, "hooks"));

test("an order's story shows which fault holds a delivery back, which deliveries wait behind it, and when they arrived", async () => {
  const store = await newStore();
  const receiver = await store.receiver();
  await store.faults.add({ action: "delay", match: { eventType: "order.created" } });
  await store.faults.add({ action: "reorder", match: { eventType: "order.pending" }, latencyMs: 5000 });
  const { id } = await store.orders.create(ORDER);
  await store.pay(id);
  const waiting = english(EXPLAIN_SENTENCES.behind("order.created", "delay"));
  expect(await storyOfDeliveries(store)).toEqual([
    `→ hooks  ${heldBy("delay")}, ${nextIn("2 s")}`,
    `→ hooks  ${waiting}`,
    `→ hooks  ${waiting}`,
    `due: ${dueFirst("order.created")}, ${heldBy("delay")}`,
  ]);
  const [created] = await store.deliveries.list({ type: "order.created" });
  expect([created?.fault?.action, created?.attempts]).toEqual(["delay", []]);
  expect((await store.timeline(created?.id ?? "")).summary).toBe(
    `${SUMMARY_SENTENCES.delivery("order.created", "due", 0)}; ${heldBy("delay")}`,
  );
  await store.clock.advance("2s");
  const late = `${heldBy("delay")}, ${arrived("02.000", "2 s")}`;
  await store.deliveries.waitFor("order.succeeded");
  expect(await storyOfDeliveries(store)).toEqual([
    `→ hooks  200, ${late}`,
    `→ hooks  ${heldBy("reorder")}, ${nextIn("5 s")}`,
    `→ hooks  200, ${arrived("02.000", "2 s")}`,
    `due: ${dueFirst("order.pending")}, ${heldBy("reorder")}`,
  ]);
  await store.clock.advance("5s");
  expect(receiver.received.map(({ type }) => type)).toEqual([
    "order.created",
    "order.succeeded",
    "order.pending",
  ]);
  expect(await storyOfDeliveries(store)).toContain(
    `→ hooks  200, ${heldBy("reorder")}, ${arrived("07.000", "7 s")}`,
  );
});

test("an order's story shows the arrival of a delivery that a fault held back for less than a second", async () => {
  const store = await newStore();
  await store.receiver();
  await store.faults.add({ action: "delay", latencyMs: 300 });
  await store.orders.create(ORDER);
  await store.clock.advance(300);
  expect(await storyOfDeliveries(store)).toEqual([
    `→ hooks  200, ${heldBy("delay")}, ${arrived("00.300", "300 ms")}`,
  ]);
});

test("an order's story keeps the fault of an attempt after the retry, and shows the fault of a dropped delivery", async () => {
  const store = await newStore();
  await store.receiver();
  await store.faults.add({ action: "changed_body", match: { eventType: "order.created" } });
  await store.faults.add({ action: "drop", match: { eventType: "order.pending" } });
  const { id } = await store.orders.create(ORDER);
  await store.pay(id);
  await store.deliveries.waitFor({ type: "order.created", tries: 1 });
  const changed = `→ hooks  400${english(EXPLAIN_SENTENCES.byFault("changed_body"))}`;
  expect((await storyOfDeliveries(store))[0]).toMatch(inOrder(`${changed}, ${nextIn("")}`, /\d s$/));
  await store.clock.advance("10s");
  const [created, pending] = await storyOfDeliveries(store);
  expect(created).toMatch(inOrder(`${changed}, 200, `, / \d s/));
  expect(pending).toBe(`→ hooks  ${english(EXPLAIN_SENTENCES.droppedBy("drop"))}`);
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
  const rows: readonly (readonly [object, string | RegExp])[] = [
    [{ action: "latency", latencyMs: -1 }, "latencyMs: Too small"],
    [{ action: "latency", latencyMs: 600_000 }, inOrder("latencyMs: ", refusalText("fault_latency"))],
    [
      { action: "status", retryAfterS: 5 },
      `retryAfterS: ${refusalMessage("fault_parameter", { actions: "rate_limit", action: "status" })}`,
    ],
    [
      { action: "status", match: { eventType: "order.paid" } },
      inOrder("match.eventType: status ", "method", "path"),
    ],
    [{ action: "drop", match: { path: "*" } }, "eventType, eventId, endpointId, orderId, nth"],
    [{ action: "drop", match: { eventId: "x" } }, "match.eventId: Invalid UUID"],
    [{ action: "drop", match: { order_id: "x" } }, 'match: Unrecognized key: "order_id"'],
    [{ action: "drop", match: { eventType: "order_id" } }, '"order_id"'],
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
  expect(await store.endpoints.list()).toMatchObject([{ inOrder: true }, { inOrder: false }]);
});

test("a request lists the decisions that its answer relied on", async () => {
  const store = await newStore();
  await store.orders.create({ order_id: "order-1", price_id: "price_coffee" });
  expect(await store.requests.list()).toMatchObject([{ fault: null, decisions: [7] }]);
});
