import { drillDuplicates } from "../../src/client/drills/duplicates.ts";
import type { DrilledOrder } from "../../src/client/drills/duplicates-send.ts";
import { openCheckout, type Checkout, type CheckoutObject } from "../../src/core/checkout/checkout.ts";
import { createEvent, createTestEvent, type CheckoutEvent } from "../../src/core/checkout/event.ts";
import { advance, type CheckoutCommand } from "../../src/core/checkout/payment.ts";
import { checkoutJson, checkoutUrl } from "../../src/core/checkout/wire.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { neighbourOf } from "../../src/core/readiness/drilled-order-ids.ts";
import type { JudgedDrill } from "../../src/core/readiness/drills/drill.ts";
import { judgeDuplicates } from "../../src/core/readiness/drills/duplicates.ts";
import { ORDER_OUTCOMES } from "../../src/core/readiness/drills/duplicates-scope.ts";
import { buildDrillRequest } from "../../src/core/readiness/drills/webhook-request.ts";
import { deliveryRequest } from "../../src/core/webhook/delivery-request.ts";
import type { HttpResponse } from "../../src/world.ts";
import {
  CONTROL,
  createDrillClock,
  idOf,
  ORIGIN,
  serveControl,
  type ControlAnswers,
} from "./drill-service.ts";
import { createOrderShop, type ShopPlan } from "./order-shops.ts";
import type { Attempt } from "../../src/core/checkout/shapes.ts";
import { someTerms } from "./rows.ts";

const SHOP = "http://localhost:3000";
const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const STARTED_AT = Date.parse("2026-01-01T00:00:00Z");
const STORE = { id: idOf(1), active: true, paymentMethods: ["alipay_plus"], currencies: ["EUR"] };
/** An amount of which floating point loses a minor unit. */
const TERMS = someTerms({ amountMinor: 1999 });
/** Two order_ids of each kind that share nothing, as a drill draws them; the other ones resemble the first. */
const DRAWN_IDS: Readonly<Record<CheckoutObject, readonly [first: string, another: string]>> = {
  order: ["order-4b1f20c97ae3d852", "order-d3907e5518fc2a46"],
  checkout_session: ["order-96e2c84a10b7f351", "order-2f58b1e06d9347ca"],
};

type StoredCheckout = {
  readonly checkout: Checkout;
  readonly attempts: readonly Attempt[];
  readonly events: readonly CheckoutEvent[];
};
type Event = Pick<CheckoutEvent, "id" | "body">;

/**
 * Runs the drill of duplicates against a shop, and a service in memory that keeps orders and events by the rules of the
 * core: the same bytes and signatures as of a sandbox, without its database, its control API and a command line.
 */
export async function drillInMemory(plan: ShopPlan): Promise<JudgedDrill> {
  const passing = createDrillClock();
  const clock = { ...passing, now: () => STARTED_AT + passing.now() };
  const service = createService(clock.now);
  const shop = createOrderShop({ clock, secret: () => SECRET, statusOf: service.statusOf }, plan);
  const ask = (method: string, target: string, sent: Pick<Sent, "headers" | "body">): Promise<HttpResponse> =>
    shop.answer({
      method,
      target,
      rawHeaders: Object.entries(sent.headers).flat(),
      body: Buffer.from(sent.body),
      fromOutside: false,
    });
  const control = serveControl({
    ...service.answers,
    deliverForDrill: async (wanted) => {
      const { status } = await ask("POST", "/hooks", service.sent(wanted));
      return { subject: `${idOf(900)} ${SHOP}/hooks`, answers: [{ status, error: null }] };
    },
  });
  const seen = await drillDuplicates(
    {
      ...clock,
      run: () => Promise.reject(new Error("no command")),
      send: async (request) => {
        if (!request.url.startsWith(SHOP)) return control.send(request);
        const target = decodeURIComponent(request.url.slice(SHOP.length));
        const { status, body } = await ask("GET", target, { headers: request.headers ?? {}, body: "" });
        return { ok: true, status, headers: {}, body: typeof body === "string" ? body : "" };
      },
    },
    {
      target: CONTROL,
      view: { from: { url: `${SHOP}/orders/{order_id}` }, paidWhen: /\bpaid\b/ },
      orders: service.orders,
      leaseId: idOf(901),
      signal: new AbortController().signal,
      restart: undefined,
      scope: { ownOrders: true, sellsBoth: false, isQuick: false },
    },
  );
  if (seen.end !== "success") throw new Error(`the drill ended as ${JSON.stringify(seen)}`);
  return judgeDuplicates(seen.value.facts);
}

type Sent = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

/** The orders of the drill, one for each outcome of each kind, with their events. */
function createService(now: () => number) {
  const checkouts = new Map<string, StoredCheckout>();
  const tests = new Map<string, Event>();
  const retrieves: string[] = [];
  let ids = 1000;
  const newId = (): string => idOf((ids += 1));

  const storedAt = (id: string): StoredCheckout => {
    const stored = checkouts.get(id);
    if (stored === undefined) throw new Error(`there is no checkout ${id}`);
    return stored;
  };
  const keep = ({ checkout, attempts, events }: StoredCheckout, before: Checkout | undefined): void => {
    const previousStatus = before?.status ?? null;
    const change = { previousStatus, sequence: events.length + 1 };
    const made = { id: newId(), checkout, checkoutJson: checkoutJson(checkout, ORIGIN), ...change };
    const more = previousStatus === checkout.status ? [] : [createEvent(made, now())];
    checkouts.set(checkout.id, { checkout, attempts, events: [...events, ...more] });
  };
  const act = (id: string, command: CheckoutCommand, at = now()): void => {
    const stored = storedAt(id);
    const { status, attempt } = valueOf(advance(stored, command, at));
    const earlier = stored.attempts.filter(({ number }) => number !== attempt?.number);
    const attempts = attempt === null ? stored.attempts : [...earlier, attempt];
    keep({ ...stored, attempts, checkout: { ...stored.checkout, status } }, stored.checkout);
  };

  const orders: DrilledOrder[] = [];
  for (const end of ORDER_OUTCOMES)
    for (const object of ["order", "checkout_session"] as const) {
      const before = orders.filter(({ kind }) => kind === object);
      const [first, another] = DRAWN_IDS[object];
      const near = before.length === 0 ? first : neighbourOf(first, { place: before.length, isFixed: false });
      const terms = { ...TERMS, orderId: near ?? another };
      const wanted = { id: newId(), object, terms, store: STORE, live: undefined, lifetimeMs: 3_600_000 };
      const checkout = valueOf(openCheckout(wanted, now()));
      keep({ checkout, attempts: [], events: [] }, undefined);
      orders.push({ id: checkout.id, orderId: checkout.orderId, kind: object, end });
    }

  const answers: ControlAnswers = {
    pay: ({ outcome }, id) => {
      if (outcome === "cancelled") act(id, { kind: "cancel" });
      else if (outcome === "expired") act(id, { kind: "expire" }, storedAt(id).checkout.expiresAt);
      else {
        act(id, { kind: "start" });
        const { length: attempt } = storedAt(id).attempts;
        if (outcome !== "pending") act(id, { kind: "finish", attempt, result: outcome });
      }
      return { id, status: storedAt(id).checkout.status, late: false, moves: [] };
    },
    inspectCheckout: (_body, id) => {
      const { checkout, attempts, events } = storedAt(id);
      const told = events.map(({ id: eventId, type, sequence, createdAt }) => ({
        eventId,
        type,
        sequence,
        createdAt,
      }));
      const more = { checkoutUrl: checkoutUrl(checkout, ORIGIN), livemode: false, lateResults: [] };
      return { ...checkout, ...more, attempts: [...attempts], events: told };
    },
    listRetrieves: () => ({ paidCheckouts: [...retrieves] }),
    testEndpoint: () => {
      const id = newId();
      tests.set(id, createTestEvent({ id, storeId: STORE.id }, now()));
      return { eventId: id };
    },
  };
  return {
    orders: orders as readonly DrilledOrder[],
    answers,
    /** The status that v1 tells a shop. */
    statusOf: (id: string): Promise<string> => {
      const { status } = storedAt(id).checkout;
      if (status === "succeeded") retrieves.push(id);
      return Promise.resolve(status);
    },
    /** The request by which an event is sent, or a payment of its order forged. */
    sent: ({ eventId, forged = false, otherId = false }: DeliverWanted): Sent => {
      const all = [...checkouts.values()].flatMap(({ events }) => events);
      const event: Event | undefined = tests.get(eventId) ?? all.find(({ id }) => id === eventId);
      if (event === undefined) throw new Error(`there is no event ${eventId}`);
      const realNow = now();
      if (!forged) {
        const shown = { eventId: otherId ? newId() : event.id, body: event.body };
        return deliveryRequest({ ...shown, secrets: [SECRET], retiredSecrets: [], realNow, fault: null });
      }
      const own = { id: newId(), storeId: STORE.id, createdAt: realNow };
      const keys = { secret: "", retiredSecret: undefined, realNow };
      return buildDrillRequest("payment_bad_signature", { own, first: own, order: event }, keys);
    },
  };
}

type DeliverWanted = {
  readonly eventId: string;
  readonly forged?: boolean | undefined;
  readonly otherId?: boolean | undefined;
};

function valueOf<Value>(outcome: Outcome<Value>): Value {
  if (!outcome.ok) throw new Error(outcome.refusal.message);
  return outcome.value;
}
