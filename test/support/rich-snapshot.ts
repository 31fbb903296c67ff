import type Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { startSandbox, type CreateCheckout, type Sandbox, type Store } from "../../src/testing/testing.ts";
import { changedSnapshot } from "./changed-snapshot.ts";
import { insertion } from "./rows.ts";

type Json = Readonly<Record<string, unknown>>;
/** Calls an operation of the control API: a body makes it a POST. */
type ControlCall = (path: string, body?: object) => Promise<{ readonly status: number; readonly data: Json }>;

const EXPLORATION = {
  schedules: 12,
  broken: 1,
  places: [{ place: "POST /v1/orders 1", held: ["reset"], broken: ["kill"], not_judged: [] }],
};
const STEPS = [
  { name: "one", passed: true, expected: "a", got: "a", cause: null, reference: null },
  { name: "two", passed: false, expected: "a", got: "b", cause: "it was b", reference: null },
];

export function controlOf(sandbox: Sandbox): ControlCall {
  return async (path, body) => {
    const answer = await sandbox.fetch(`${sandbox.origin}/__sandbox/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { Authorization: `Bearer ${sandbox.controlToken}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data = {} } = (await answer.json()) as { readonly data?: Json };
    return { status: answer.status, data };
  };
}

/** A snapshot of two stores with at least one row in each restored table, and rows of many forms. */
export async function richSnapshot(): Promise<{
  readonly bytes: Uint8Array;
  readonly storeId: string;
  readonly apiKey: string;
}> {
  const sandbox = await startSandbox({ port: null });
  onTestFinished(() => sandbox.close());
  const { store } = sandbox;
  await setUp(sandbox, store);
  await trade(sandbox, store);
  const second = await sandbox.createStore({ name: "Second" });
  await second.orders.create(ordered("second-1"));
  await second.endpoints.add("http://127.0.0.1:9/second");
  const whole = await sandbox.snapshot();
  const bytes = changedSnapshot(whole, (copy) => addViews(copy, store.id));
  return { bytes, storeId: store.id, apiKey: store.apiKey };
}

function ordered(order_id: string): CreateCheckout {
  return {
    order_id,
    amount_minor: 1999,
    currency: "EUR",
    payment_method: "alipay_plus",
    description: "a cup",
  };
}

async function setUp(sandbox: Sandbox, store: Store): Promise<void> {
  const control = controlOf(sandbox);
  const at = `stores/${store.id}`;
  const done = async (path: string, asked: object): Promise<Json> => {
    const { status, data } = await control(`${at}/${path}`, asked);
    if (status !== 200) throw new Error(`${path} is ${status}`);
    return data;
  };
  await done("clock", { action: "set", to: "2027-03-04T05:06:07Z" });
  await done("clock", { action: "freeze" });
  await done("return-origins", { action: "add", origin: "https://shop.example", path: "/thanks" });
  await done("return-origins", { action: "add", origin: "http://localhost:3000" });
  await done("prices", { id: "tea", amount_minor: 700, currency: "EUR", payment_method: "wechat_pay" });
  await done("prices/retire", { id: "price_bento" });
  await done("keys", { scopes: ["orders:write"] });
  const key = await done("keys", {});
  await done(`keys/${String(key["key_id"])}/revoke`, {});
  await done("waivers", { drill: "duplicates", reason: "by hand" });
  await done("explorations", EXPLORATION);
  await done("production-requests", { note: "please" });
  await done("drills", { kind: "browser_return", subject: "https://shop.example/thanks", steps: STEPS });
  const listener = await done("listener", { url: "http://127.0.0.1:8/listen", event_types: ["order.*"] });
  await done(`endpoints/${String(listener["id"])}/state`, { action: "pause" });
  const off = await done("endpoints", { url: "http://127.0.0.1:9/off", in_order: true });
  await done(`endpoints/${String(off["id"])}/state`, { action: "disable" });
  const gone = await done("endpoints", { url: "http://127.0.0.1:9/gone" });
  await done(`endpoints/${String(gone["id"])}/state`, { action: "remove" });
  const rotated = await done("endpoints", {
    url: "http://127.0.0.1:9/hooks",
    event_types: ["order.*", "webhook.test"],
  });
  await done(`endpoints/${String(rotated["id"])}/secret`, { overlap_ms: 1000 });
  await done(`endpoints/${String(rotated["id"])}/test`, {});
  await done("faults", {
    action: "status",
    match: { method: "POST", path: "/v1/none*", nth: 3 },
    status: 503,
    times: 5,
  });
  await done("faults", {
    action: "delay",
    match: { event_type: "order.failed", probability: 0.5 },
    latency_ms: 5,
    seed: "s",
  });
  await done("faults", { action: "drop", match: { order_id: "dropped*", endpoint_id: rotated["id"] } });
  await done("faults", { action: "rate_limit", match: { path: "/v1/none" }, until: "2028-01-01T00:00:00Z" });
}

async function trade(sandbox: Sandbox, store: Store): Promise<void> {
  const receiver = await store.receiver();
  for (const outcome of ["succeeded", "declined", "failed", "cancelled", "expired"] as const) {
    const { id } = await store.orders.create(ordered(`o-${outcome}`));
    await store.pay(id, outcome);
    if (outcome === "expired") await store.pay((await store.sessions.create(ordered("s-1"))).id, "declined");
  }
  const declined = await store.sessions.create(ordered("o-five"));
  for (let attempt = 0; attempt < 5; attempt += 1) await store.pay(declined.id, "declined");
  await store.orders.create(ordered("dropped-1"));
  await store.orders.create(ordered("o-2~cancelled"));
  const send = (path: string, key: string, order: object) =>
    sandbox.fetch(`${sandbox.baseUrl}/${path}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${store.apiKey}`,
        "Content-Type": "application/json",
        "Idempotency-Key": key,
      },
      body: JSON.stringify(order),
    });
  for (const order of [
    { order_id: "p-1", price_id: "tea" },
    { order_id: "p-1", price_id: "tea" },
    { order_id: "p-2", price_id: "tea" },
  ])
    await send("orders", "key-of-p-1", order);
  await send("checkout-sessions", "key-of-p-3", {
    order_id: "p-3",
    price_id: "price_coffee",
    description: "",
  });
  await store.deliveries.waitFor("checkout_session.failed");
  await receiver.close();
}

/** Adds a late result and views of pages, which only a browser causes, and holds a store back. */
function addViews(copy: Database.Database, storeId: string): void {
  const checkout_id = String(
    copy.prepare("SELECT checkout_id FROM attempts WHERE outcome = 'failed'").pluck().get(),
  );
  const target = "https://shop.example/thanks";
  copy.exec(
    [
      insertion("late_results", { checkout_id, recorded_at: 5 }),
      insertion("page_views", { checkout_id }),
      insertion("page_views", { checkout_id, kind: "returned", at: 4, target }),
      insertion("held_stores", { store_id: storeId }),
    ].join(""),
  );
}
