import { expect, onTestFinished, test } from "vitest";
import { createSuite } from "../../src/testing/fixtures/suite.ts";
import { storeStoryText } from "../../src/testing/fixtures/story.ts";
import { startSandbox, type EventType, type SandboxOptions, type Store } from "../../src/testing/testing.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";

const ORDER = {
  order_id: "order-1001",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

async function newStore(options: SandboxOptions = {}): Promise<Store> {
  const sandbox = await startSandbox({ seed: "s", ...options });
  onTestFinished(() => sandbox.close());
  return sandbox.createStore();
}

test("a wait for an unknown event type is refused immediately, with the list of types", async () => {
  const store = await newStore();
  const receiver = await store.receiver();
  const wrong = "order.suceeded";
  const message = inOrder(/: .*/, '"order.suceeded"', / order\.created, .*, webhook\.test$/);
  for (const refused of [
    () => store.events.waitFor(wrong),
    () => store.deliveries.waitFor(wrong),
    () => receiver.waitFor(wrong),
    () => store.events.waitFor({ type: wrong as EventType }),
    () => store.deliveries.list({ type: wrong as EventType }),
  ])
    await expect(refused()).rejects.toThrow(message);
  const id = "019bc1f0-3d10-7aaa-8000-000000000005";
  await expect(store.events.waitFor(id, { timeoutMs: 0 })).rejects.toThrow(inOrder(`"${id}"`, " 0 ms"));
});

test("a delivery wait that times out reports the endpoint, and uses the sandbox's default timeout", async () => {
  const store = await newStore({ waitTimeoutMs: 0 });
  const { url } = await store.receiver({ answer: () => 500 });
  await store.orders.create(ORDER);
  await store.deliveries.waitFor({ type: "order.created", tries: 1 }, { timeoutMs: 4000 });
  await expect(store.deliveries.waitFor("order.created")).rejects.toThrow(
    inOrder(" 0 ms; 1 ", `\n  order.created → ${url} `, "due", / 500$/),
  );
  const wrong = startSandbox({ waitTimeoutMs: -1 });
  await expect(wrong).rejects.toThrow(inOrder(/^startSandbox: waitTimeoutMs /, " 0 "));
});

test("an attempt without an answer has the message of the network error, and a timed-out wait repeats the message", async () => {
  const store = await newStore({ waitTimeoutMs: 0 });
  const { id } = await store.endpoints.add("http://127.0.0.1:1/hooks");
  await store.orders.create(ORDER);
  const { attempts, endpointId } = await store.deliveries.waitFor(
    { type: "order.created", tries: 1 },
    { timeoutMs: 4000 },
  );
  const message = "connect ECONNREFUSED 127.0.0.1:1";
  expect([endpointId, attempts]).toMatchObject([id, [{ error: "unreachable", message, answer: null }]]);
  await expect(store.deliveries.waitFor("order.created")).rejects.toThrow(`unreachable "${message}"`);
});

test("a payment or read by order_id uses the newest order with that order_id", async () => {
  const store = await newStore();
  const first = await store.orders.create(ORDER);
  expect(await store.orders.get("order-1001")).toEqual(first);
  expect((await store.pay("order-1001", "cancelled")).id).toBe(first.id);
  const second = await store.orders.create(ORDER);
  expect((await store.pay("order-1001")).id).toBe(second.id);
  const none = {
    status: 404,
    code: "not_found",
    message: expect.stringContaining(`order_id "order-1002"`) as string,
  };
  await expect(store.pay("order-1002")).rejects.toMatchObject(none);
  await expect(store.pay("order-1001")).rejects.toThrow(refusalText("already_paid", { checkout: second.id }));
});

test("a store lists its orders and its sessions separately, newest first", async () => {
  const store = await newStore();
  const make = (at: number) => store.orders.create({ ...ORDER, order_id: `order-${at}` });
  const orders = await Promise.all(Array.from({ length: 60 }, (_, at) => make(at)));
  const session = await store.sessions.create({ ...ORDER, order_id: "cart-1" });
  const paid = await store.pay("order-7");
  const listed = await store.orders.list();
  expect(listed.map(({ id }) => id).toSorted()).toEqual(orders.map(({ id }) => id).toSorted());
  expect(listed.map(({ id }) => id)).toEqual(
    listed
      .map(({ id }) => id)
      .toSorted()
      .toReversed(),
  );
  expect(await store.sessions.list()).toEqual([session]);
  expect(await store.orders.list({ status: "succeeded" })).toEqual([paid]);
  expect(await store.orders.list({ orderId: "order-7" })).toEqual([paid]);
  expect(await store.orders.list({ orderId: "cart-1" })).toEqual([]);
  const misspelled = { order_id: "order-7" } as object;
  await expect(store.orders.list(misspelled)).rejects.toThrow(/order_id/);
});

test("a payment can stay pending, and a declined payment creates no event", async () => {
  const store = await newStore();
  const { id } = await store.orders.create(ORDER);
  expect((await store.pay(id, "pending")).status).toBe("pending");
  expect((await store.pay(id, "declined")).status).toBe("pending");
  expect((await store.pay(id)).status).toBe("succeeded");
  const types = (await store.events.list()).map(({ type }) => type);
  expect(types).toEqual(["order.created", "order.pending", "order.succeeded"]);
});

test("a paused endpoint gets its deliveries when it is enabled", async () => {
  const store = await newStore();
  const { endpointId, received } = await store.receiver();
  expect(await store.endpoints.pause(endpointId)).toMatchObject({ id: endpointId, state: "paused" });
  await store.orders.create(ORDER);
  await store.pay("order-1001");
  expect(received).toEqual([]);
  expect((await store.endpoints.enable(endpointId)).state).toBe("enabled");
  await store.deliveries.waitFor("order.succeeded");
  expect(received.map(({ type }) => type)).toEqual(["order.created", "order.pending", "order.succeeded"]);
});

test("requests.waitFor finds a request by its path, with or without /v1", async () => {
  const store = await newStore();
  await store.orders.create(ORDER);
  const found = await store.requests.waitFor("POST /v1/orders");
  expect(await store.requests.waitFor("POST /orders")).toEqual(found);
  expect(await store.requests.waitFor("/orders")).toEqual(found);
});

test("the story of a failed test says that a seeded sandbox has no port", async () => {
  expect(await storeStoryText(await newStore())).toContain("port: 0");
  const withPort = createSuite({ seed: "s", port: 0 });
  onTestFinished(withPort.close);
  const { store } = await withPort.sandbox();
  expect(await storeStoryText(store)).toMatch(/^checkout: (?!.*port).*$/);
});
