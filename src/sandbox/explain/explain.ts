import type { ExplainedKind, Explanation } from "../../core/explain/explanation.ts";
import {
  explainCheckout,
  explainDelivery,
  explainEvent,
  explainOrder,
  type ToldCheckout,
} from "../../core/explain/checkout.ts";
import type { ToldDelivery } from "../../core/explain/delivery.ts";
import { explainRequest } from "../../core/explain/request.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { keptHeader, type LoggedRequest } from "../../core/request/logged-request.ts";
import { printableLiteral } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { ServiceContext } from "../context.ts";
import type { RequestLog } from "../runtime/request-log.ts";
import { viewCheckout } from "../checkout/view.ts";

/** What explaining reads: the state, and the log of requests. */
export type ExplainContext = ServiceContext & { readonly requests: Pick<RequestLog, "find" | "list"> };

/** How many requests, checkouts and deliveries a story tells at most, the newest. */
const MAX_TOLD = 1000;

type Looking = { readonly context: ExplainContext; readonly storeId: string; readonly id: string };

/** Each kind by itself: undefined where the store has no such thing. In this order they are looked for. */
const KINDS: Readonly<Record<ExplainedKind, (looking: Looking) => Promise<Explanation | undefined>>> = {
  request: (looking) => Promise.resolve(ofRequest(looking)),
  checkout: ofCheckout,
  event: (looking) => Promise.resolve(ofEvent(looking)),
  delivery: (looking) => Promise.resolve(ofDelivery(looking)),
  order: ofOrder,
};

/**
 * Explains what has an id in a store: a request, a checkout, an event, a delivery, or an order by its order_id. Changes
 * nothing but what time has brought. Refuses with `not_found`.
 */
export async function explain(
  context: ExplainContext,
  storeId: string,
  { id: typed, as }: { readonly id: string; readonly as?: ExplainedKind | undefined },
): Promise<Outcome<Explanation>> {
  const isId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(typed);
  const looking = { context, storeId, id: isId ? typed.toLowerCase() : typed };
  const kinds = as === undefined ? (Object.keys(KINDS) as readonly ExplainedKind[]) : [as];
  for (const kind of kinds) {
    const found = await KINDS[kind]({ ...looking, id: kind === "order" ? typed : looking.id });
    if (found !== undefined) return accept(found);
  }
  const what = as ?? "request, checkout, event, delivery or order_id";
  return refuse("not_found", `this store has no ${what} ${printableLiteral(typed)}`);
}

function ofRequest({ context, storeId, id }: Looking): Explanation | undefined {
  const request = context.requests.find(storeId, id);
  return request && explainRequest(request, metBy(context.store, storeId, request));
}

/** The checkout that a request met: that of its key, else the one that its order has open or paid, else its own. */
function metBy(
  store: Store,
  storeId: string,
  { orderId, code, refused }: LoggedRequest,
): Checkout | undefined {
  const key =
    code === "idempotency_key_reused" && refused !== null
      ? keptHeader(refused.headers, "idempotency-key")
      : undefined;
  const bound = key === undefined ? undefined : store.idempotencyKeys.checkoutOf(storeId, key);
  if (bound !== undefined) return store.checkouts.find(storeId, bound);
  if (orderId === null) return undefined;
  if (code === "order_conflict") return store.checkouts.live(storeId, orderId);
  return code === null ? store.checkouts.ofOrder({ storeId, orderId, limit: 1 })[0] : undefined;
}

async function ofCheckout(looking: Looking): Promise<Explanation | undefined> {
  const told = await tell(looking);
  return told && explainCheckout(told);
}

/** A checkout with its story; undefined if the store does not have it. */
async function tell({ context, storeId, id }: Looking): Promise<ToldCheckout | undefined> {
  const view = await viewCheckout(context, { storeId, checkoutId: id });
  if (!view.ok) return undefined;
  const { checkout, attempts, lateResults } = view.value;
  const { store } = context;
  const deliveries = store.deliveries.ofCheckout(id, MAX_TOLD).map((one) => toldDelivery(store, one));
  const of = requestsOf(context, storeId, checkout.orderId);
  // The request that created it began before it was there, and ended after that.
  const requests = of.filter(
    ({ path, storeAt, durationMs }) =>
      storeAt + Math.ceil(durationMs) >= checkout.createdAt || path.endsWith(id),
  );
  return { checkout, story: { attempts, lateResults, events: store.events.of(id), deliveries, requests } };
}

async function ofOrder(looking: Looking): Promise<Explanation | undefined> {
  const { context, storeId, id: orderId } = looking;
  const checkouts = context.store.checkouts.ofOrder({ storeId, orderId, limit: MAX_TOLD });
  const requests = requestsOf(context, storeId, orderId);
  if (checkouts.length === 0 && requests.length === 0) return undefined;
  const told = await Promise.all(checkouts.toReversed().map(({ id }) => tell({ context, storeId, id })));
  return explainOrder(
    orderId,
    told.filter((one) => one !== undefined),
    requests,
  );
}

/** Oldest first. */
function requestsOf(
  { requests }: ExplainContext,
  storeId: string,
  orderId: string,
): readonly LoggedRequest[] {
  const any = { statuses: null, method: null, path: null, after: null, from: null } as const;
  return requests.list(storeId, { ...any, orderId, limit: MAX_TOLD }).toReversed();
}

function ofEvent({ context: { store }, storeId, id }: Looking): Explanation | undefined {
  const event = store.events.find(id);
  if (event?.storeId !== storeId) return undefined;
  const filter = { storeId, eventId: id, endpointId: null, checkoutId: null, state: null, limit: MAX_TOLD };
  const deliveries = store.deliveries.list(filter).toReversed();
  return explainEvent(
    event,
    deliveries.map((one) => toldDelivery(store, one)),
  );
}

function ofDelivery({ context: { store }, storeId, id }: Looking): Explanation | undefined {
  const delivery = store.deliveries.find(id);
  const event = delivery && store.events.find(delivery.eventId);
  if (delivery?.storeId !== storeId || event === undefined) return undefined;
  return explainDelivery(event, toldDelivery(store, delivery));
}

function toldDelivery(store: Store, delivery: Delivery): ToldDelivery {
  return { ...delivery, tries: store.deliveryAttempts.of(delivery.id) };
}
