import type { Hold } from "../../core/webhook/hold.ts";
import type { ExplainableKind } from "../../core/explain/explained.ts";
import type { Explanation } from "../../core/explain/explanation.ts";
import { explainCheckout, explainDelivery, explainEvent, explainOrder } from "../../core/explain/checkout.ts";
import {
  differencesOf,
  explainRequest,
  keyOfRefusal,
  type ExistingCheckout,
} from "../../core/explain/request.ts";
import type { StoryRequest } from "../../core/explain/timeline.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { findHeader, type LoggedRequest } from "../../core/request/logged-request.ts";
import { isUuid, printableLiteral } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { ServiceContext } from "../context.ts";
import type { StoredAnswer } from "../../store/checkout/idempotency-keys.ts";
import type { RequestLog } from "../runtime/request-log.ts";
import { storeTime } from "../with-store.ts";
import { scheduledSettlement } from "../checkout/payments.ts";
import { viewCheckout, type CheckoutView } from "../checkout/view.ts";

type ExplainContext = ServiceContext & {
  readonly requests: Pick<RequestLog, "failure" | "find" | "list">;
  readonly listenerTargets: ReadonlyMap<string, string>;
  readonly holdOf: (storeId: string) => Hold | undefined;
};

export type StoryWithRequests = ReturnType<typeof readStory>;

const MAX_STORY_ITEMS = 1000;

type ExplainQuery = { readonly context: ExplainContext; readonly storeId: string; readonly id: string };

type Subject = { readonly id: string; readonly as?: ExplainableKind | undefined };

const EXPLAINERS = {
  request: explainRequestById,
  checkout: explainCheckoutById,
  event: explainEventById,
  delivery: explainDeliveryById,
  order: explainOrderById,
} satisfies Readonly<Record<ExplainableKind, unknown>>;

function lookupsFor(
  { id: typedId, as }: Subject,
  scope: Pick<ExplainQuery, "context" | "storeId">,
): readonly (readonly [ExplainableKind, ExplainQuery])[] {
  const id = isUuid(typedId) ? typedId.toLowerCase() : typedId;
  const kinds = as === undefined ? (Object.keys(EXPLAINERS) as readonly ExplainableKind[]) : [as];
  return kinds.map((kind) => [kind, { ...scope, id: kind === "order" ? typedId : id }]);
}

export async function explain(
  context: ExplainContext,
  storeId: string,
  subject: Subject,
): Promise<Outcome<Explanation>> {
  for (const [kind, query] of lookupsFor(subject, { context, storeId })) {
    const explanation = await EXPLAINERS[kind](query);
    if (explanation !== undefined) return accept(explanation);
  }
  const noun = subject.as ?? "request, checkout, event, delivery or order_id";
  const failure = context.requests.failure();
  const values = { what: noun, received: printableLiteral(subject.id) };
  return failure === undefined
    ? refuseFact("nothing_to_explain", values)
    : refuseFact("nothing_to_explain_in_log", { ...values, failure });
}

const FINDERS_OF_CHECKOUT: Readonly<Record<ExplainableKind, (query: ExplainQuery) => string | undefined>> = {
  request: checkoutIdOfRequest,
  checkout: ({ context, storeId, id }) => context.store.checkouts.find(storeId, id)?.id,
  event: ({ context, storeId, id }) => checkoutIdOfEvent(context, storeId, id),
  delivery: ({ context, storeId, id }) =>
    checkoutIdOfEvent(context, storeId, context.store.deliveries.find(id)?.eventId ?? ""),
  order: ({ context, storeId, id }) =>
    context.store.checkouts.ofOrder({ storeId, orderId: id, limit: 1 })[0]?.id,
};

/** For an order, returns its newest checkout. */
export function storyCheckoutId(context: ExplainContext, storeId: string, subject: Subject): Outcome<string> {
  for (const [kind, query] of lookupsFor(subject, { context, storeId })) {
    const checkoutId = FINDERS_OF_CHECKOUT[kind](query);
    if (checkoutId !== undefined) return accept(checkoutId);
  }
  const receivedText = printableLiteral(subject.id);
  return subject.as === undefined
    ? refuseFact("no_checkout_for", { received: receivedText })
    : refuseFact("no_checkout_of", { what: subject.as, received: receivedText });
}

function checkoutIdOfRequest({ context, storeId, id }: ExplainQuery): string | undefined {
  const request = context.requests.find(storeId, id);
  if (request === undefined) return undefined;
  const conflict = conflictingCheckout(context.store, storeId, request);
  const { orderId } = request;
  if (orderId === null) return conflict?.id;
  const orderCheckouts = context.store.checkouts.ofOrder({ storeId, orderId, limit: MAX_STORY_ITEMS });
  const createdCheckout = orderCheckouts.find((item) =>
    keysOf(context, item.id).some(({ requestId }) => requestId === id),
  );
  return (createdCheckout ?? conflict ?? orderCheckouts[0])?.id;
}

function checkoutIdOfEvent({ store }: ExplainContext, storeId: string, eventId: string): string | undefined {
  const event = store.events.find(eventId);
  return event?.storeId === storeId ? (event.checkoutId ?? undefined) : undefined;
}

function explainRequestById({ context, storeId, id }: ExplainQuery): Explanation | undefined {
  const loggedRequest = readLoggedRequest(context, storeId, id);
  if (!loggedRequest.ok) return undefined;
  const { request, conflict, replays } = loggedRequest.value;
  return explainRequest(request, conflict, replays);
}

export function readLoggedRequest(context: ExplainContext, storeId: string, id: string) {
  const loggedRequest = context.requests.find(storeId, id);
  if (loggedRequest === undefined) return refuseUnknownRequest(context.requests, id);
  const { replays, ...request } = loggedRequest;
  const conflict = conflictOf(context, storeId, request);
  const keys = conflict === undefined ? [] : keysOf(context, conflict.id);
  return accept({
    request: readStoryRequest(request, conflict, keys),
    replays: replays.slice(-MAX_STORY_ITEMS).map((replay) => readStoryRequest(replay, conflict, keys)),
    conflict,
  });
}

export function refuseUnknownRequest(log: Pick<RequestLog, "failure">, id: string): Outcome<never> {
  const failure = log.failure();
  return failure === undefined
    ? refuseFact("request_not_logged", { request: id })
    : refuseFact("request_log_failed", { request: id, failure });
}

function readStoryRequest(
  request: LoggedRequest,
  checkout: ExistingCheckout | undefined,
  keys: readonly StoredAnswer[],
): StoryRequest {
  const storedAnswer =
    request.code === null ? keys.find(({ requestId }) => requestId === request.requestId) : undefined;
  return {
    ...request,
    key: storedAnswer?.key ?? keyOfRefusal(request),
    differences: request.code === null ? [] : differencesOf(request, checkout),
    answer: storedAnswer?.body ?? null,
    fingerprint: storedAnswer?.fingerprint ?? null,
  };
}

function keysOf({ store }: ExplainContext, checkoutId: string): readonly StoredAnswer[] {
  return store.idempotencyKeys.ofCheckout(checkoutId);
}

function conflictOf(
  context: ExplainContext,
  storeId: string,
  request: LoggedRequest,
): (Checkout & ExistingCheckout) | undefined {
  const conflict = conflictingCheckout(context.store, storeId, request);
  return conflict && { ...conflict, fingerprint: keysOf(context, conflict.id)[0]?.fingerprint ?? null };
}

/**
 * Logs of older versions do not name the checkout: it is then found by the request's key (`idempotency_key_reused`), or
 * is the order's open or paid checkout (`order_conflict`).
 */
function conflictingCheckout(
  store: Store,
  storeId: string,
  { orderId, code, refused }: LoggedRequest,
): Checkout | undefined {
  if (refused?.met !== undefined) return store.checkouts.find(storeId, refused.met);
  const key =
    code === "idempotency_key_reused" && refused !== null
      ? findHeader(refused.headers, "idempotency-key")
      : undefined;
  const boundCheckoutId = key === undefined ? undefined : store.idempotencyKeys.checkoutIdOf(storeId, key);
  if (boundCheckoutId !== undefined) return store.checkouts.find(storeId, boundCheckoutId);
  if (orderId === null) return undefined;
  if (code === "order_conflict") return store.checkouts.findBlocker(storeId, orderId);
  return code === null ? store.checkouts.ofOrder({ storeId, orderId, limit: 1 })[0] : undefined;
}

async function explainCheckoutById({ context, storeId, id }: ExplainQuery): Promise<Explanation | undefined> {
  const view = await viewCheckout(context, { storeId, checkoutId: id });
  if (!view.ok) return undefined;
  const story = readStory(context, view.value);
  return explainCheckout(story, story);
}

type CheckoutFacts = Pick<CheckoutView, "checkout" | "attempts" | "lateResults" | "now">;

export function readStory(context: ExplainContext, facts: CheckoutFacts) {
  const { store } = context;
  const { checkout } = facts;
  const { id, storeId, orderId } = checkout;
  const allRequests = requestsOf(context, storeId, { orderId, keys: keysOf(context, id) });
  const orderCheckouts = store.checkouts.ofOrder({ storeId, orderId, limit: MAX_STORY_ITEMS });
  const index = orderCheckouts.findIndex((item) => item.id === id);
  const start = index === orderCheckouts.length - 1 ? 0 : checkout.createdAt;
  const nextStart = orderCheckouts[index - 1]?.createdAt;
  const requests = allRequests.filter(({ path, storeAt, durationMs }) => {
    const endedAt = storeAt + Math.ceil(durationMs);
    return (endedAt >= start && (nextStart === undefined || endedAt < nextStart)) || path.endsWith(id);
  });
  const checkoutCount = orderCheckouts.length;
  return { ...readCheckout(context, facts), requests, now: facts.now, checkoutCount };
}

function readCheckout(context: ExplainContext, { checkout, attempts, lateResults }: CheckoutFacts) {
  const { store } = context;
  const { id, status, expiresAt } = checkout;
  const deliveries = store.deliveries
    .list({ storeId: checkout.storeId, checkoutId: id, limit: MAX_STORY_ITEMS })
    .map((delivery) => readDelivery(context, delivery))
    .toReversed();
  const [views, events] = [store.pageViews.of(id), store.events.of(id)];
  const settlement = scheduledSettlement(context, checkout);
  const dueItems = [
    ...(isFinal(status) ? [] : [{ at: expiresAt, what: "expiry" } as const]),
    ...(settlement === undefined ? [] : [{ at: settlement.dueAt, what: "settlement" } as const]),
  ];
  return { checkout, story: { attempts, lateResults, views, events, deliveries, dueChanges: dueItems } };
}

async function explainOrderById(query: ExplainQuery): Promise<Explanation | undefined> {
  const { context, storeId, id: orderId } = query;
  const checkouts = context.store.checkouts.ofOrder({ storeId, orderId, limit: MAX_STORY_ITEMS });
  const keys = checkouts.flatMap(({ id }) => keysOf(context, id));
  const requests = requestsOf(context, storeId, { orderId, keys });
  if (checkouts.length === 0 && requests.length === 0) return undefined;
  const views = await Promise.all(
    checkouts.toReversed().map(({ id }) => viewCheckout(context, { storeId, checkoutId: id })),
  );
  const stories = views.flatMap((view) => (view.ok ? [readCheckout(context, view.value)] : []));
  return explainOrder(orderId, stories, { requests, now: storeTime(context, storeId) });
}

function requestsOf(
  context: ExplainContext,
  storeId: string,
  { orderId, keys }: { readonly orderId: string; readonly keys: readonly StoredAnswer[] },
): readonly StoryRequest[] {
  const noFilter = { statuses: null, method: null, path: null, after: null, from: null, omitsDrills: false };
  const requests = context.requests
    .list(storeId, { ...noFilter, orderId, limit: MAX_STORY_ITEMS })
    .toReversed();
  return requests.map((request) => {
    const conflict = request.code === null ? undefined : conflictOf(context, storeId, request);
    return readStoryRequest(request, conflict, keys);
  });
}

function explainEventById({ context, storeId, id }: ExplainQuery): Explanation | undefined {
  const { store } = context;
  const event = store.events.find(id);
  if (event?.storeId !== storeId) return undefined;
  const deliveries = store.deliveries
    .list({ storeId, eventId: id, limit: MAX_STORY_ITEMS })
    .map((delivery) => readDelivery(context, delivery));
  return explainEvent(event, deliveries.toReversed(), storeTime(context, storeId));
}

function explainDeliveryById({ context, storeId, id }: ExplainQuery): Explanation | undefined {
  const { store } = context;
  const delivery = store.deliveries.find(id);
  const event = delivery && store.events.find(delivery.eventId);
  if (delivery?.storeId !== storeId || event === undefined) return undefined;
  return explainDelivery(event, readDelivery(context, delivery), storeTime(context, storeId));
}

function readDelivery({ store, listenerTargets, holdOf }: ExplainContext, delivery: Delivery) {
  const endpoint = store.endpoints.find(delivery.endpointId);
  const attempts = store.deliveryAttempts.of(delivery.id);
  const forwardUrl = endpoint?.kind === "listener" ? listenerTargets.get(endpoint.storeId) : undefined;
  const endpointUrl = forwardUrl ?? endpoint?.url ?? attempts.at(-1)?.url ?? null;
  return {
    ...delivery,
    isHeld: endpoint?.state === "paused",
    hold: holdOf(delivery.storeId),
    endpointUrl,
    attempts,
  };
}
