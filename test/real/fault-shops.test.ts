import { expect, test } from "vitest";
import { API_ACTIONS, DELIVERY_ACTIONS } from "../../src/core/fault/actions.ts";
import { eventually } from "../support/eventually.ts";
import { HAS_PYTHON, serveShop, type ShopStack, type ServedShop } from "../support/shops.ts";

type ShownOrder = { readonly status: string; readonly times: number };
type CheckoutList = { readonly checkouts: readonly { readonly order_id: string; readonly id: string }[] };
type DeliveryList = {
  readonly deliveries: readonly {
    readonly event_id: string;
    readonly attempts: readonly { readonly status: number | null; readonly fault: string | null }[];
  }[];
};

const MAKES: readonly ShopStack[] = HAS_PYTHON ? ["express", "python"] : ["express"];

/** A shop with its endpoint, and the control API of its sandbox. */
async function open(make: ShopStack) {
  const shop = await serveShop(make);
  const { origin } = new URL(shop.ready.base_url);
  const headers = {
    Authorization: `Bearer ${shop.ready.control_token}`,
    "Content-Type": "application/json",
  };
  const control = async <Data>(path: string, body?: object): Promise<Data> => {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${origin}/__sandbox/stores/default${path}`, { headers, ...sent });
    const { data, error } = (await response.json()) as { readonly data: Data; readonly error?: unknown };
    if (error !== undefined) throw new Error(`${path}: ${JSON.stringify(error)}`);
    return data;
  };
  const fault = (action: string, match: object, more: object = {}) =>
    control("/faults", { action, match, ...more });
  const made = async (query: string) => (await control<CheckoutList>(`/checkouts?${query}`)).checkouts;
  const order = async (orderId: string): Promise<ShownOrder | undefined> => {
    const response = await fetch(`${shop.origin}/orders/${orderId}`);
    return response.status === 200 ? ((await response.json()) as ShownOrder) : undefined;
  };
  const pay = async (orderId: string): Promise<void> => {
    const [checkout] = await made(`order_id=${orderId}`);
    await control(`/checkouts/${checkout?.id ?? ""}/pay`, { outcome: "succeeded" });
  };
  const settle = () =>
    eventually("everything is delivered", async () => {
      await control("/clock", { action: "advance", by_ms: 60_000 });
      expect(await control("/deliveries?state=due")).toMatchObject({ deliveries: [] });
    });
  await control("/endpoints", { url: `${shop.origin}/hooks` });
  return { shop, control, fault, made, order, pay, settle };
}

/** Buys in the shop; returns the status of its answer. */
async function buy({ origin }: ServedShop, orderId: string): Promise<number> {
  const { status } = await fetch(`${origin}/buy`, {
    method: "POST",
    redirect: "manual",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ order_id: orderId }),
  });
  return status;
}

type Site = Awaited<ReturnType<typeof open>>;

/** Buys once under each fault of the API; returns each with the status of the shop's answer. */
async function buyThroughApiFaults({ shop, fault, control }: Site) {
  for (const action of API_ACTIONS) {
    const more = /latency|slow_body/.test(action) ? { latency_ms: 200 } : {};
    await fault(action, { method: "POST", order_id: `api-${action}` }, more);
  }
  const bought = await Promise.all(
    API_ACTIONS.map(async (action) => [action, await buy(shop, `api-${action}`)]),
  );
  expect(await control("/faults")).toMatchObject({ faults: [] });
  return bought;
}

/** Pays once under each fault of a delivery, replays the dropped event, and checks that each payment is booked once. */
async function payThroughDeliveryFaults({ shop, fault, order, pay, settle, control }: Site): Promise<void> {
  for (const action of DELIVERY_ACTIONS) {
    const more = /delay|reorder/.test(action) ? { latency_ms: 5000 } : {};
    // A payment is the last event, so the event before it is reordered.
    const type = action === "reorder" ? "order.pending" : "order.succeeded";
    await fault(action, { event_type: type, order_id: `hook-${action}` }, more);
    await buy(shop, `hook-${action}`);
    await pay(`hook-${action}`);
  }
  await settle();
  for (const action of DELIVERY_ACTIONS) {
    const expected = action === "drop" ? { status: "pending", times: 0 } : { status: "paid", times: 1 };
    expect([action, await order(`hook-${action}`)]).toMatchObject([action, expected]);
  }
  const [dropped] = (await control<DeliveryList>("/deliveries?state=dropped")).deliveries;
  await control(`/events/${dropped?.event_id ?? ""}/replay`, {});
  await settle();
  expect(await order("hook-drop")).toMatchObject({ status: "paid", times: 1 });
  const { deliveries } = await control<DeliveryList>("/deliveries?limit=100");
  const told = deliveries.flatMap(({ attempts }) =>
    attempts.flatMap(({ fault: met, status }) => (met === null ? [] : [[met, status === 400]])),
  );
  expect(Object.fromEntries(told)).toEqual({
    duplicate: false,
    stale: true,
    bad_signature: true,
    changed_body: true,
    old_secret: true,
  });
}

for (const make of MAKES)
  test(`a correct shop with ${make} makes one order and one booking for each purchase, whatever the fault`, async () => {
    const opened = await open(make);
    expect(await buyThroughApiFaults(opened)).toEqual(API_ACTIONS.map((action) => [action, 303]));
    const orders = await opened.made("limit=100");
    expect(orders.map((checkout) => checkout.order_id).toSorted()).toEqual(
      API_ACTIONS.map((action) => `api-${action}`).toSorted(),
    );
    await payThroughDeliveryFaults(opened);
  });
