// Deliveries on request: replays of events, and retries before their time. The attempts of the schedule:
// sandbox/webhook/take-due.ts.
import type { Hold } from "../../core/webhook/hold.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { effectiveEndpoint, reasonOf, type Endpoint } from "../../core/webhook/endpoint.ts";
import { matchesPatterns } from "../../core/checkout/event-types.ts";
import type { WaitingFilter } from "../../store/webhook/deliveries.ts";
import { withStore, findEndpoint } from "../with-store.ts";
import { findEvent, refuseDisabled, type EndpointsContext } from "./endpoints.ts";
import { enqueueDelivery } from "./outbox.ts";
import type { PostContext } from "./post.ts";

type RetriesContext = EndpointsContext & Pick<PostContext, "holdOf">;

/** Maximum number of failed deliveries that one request replays; the next request continues. */
const MAX_REPLAYS = 1000;
/** Maximum number of waiting deliveries to an endpoint that one request makes due; the next request continues. */
export const MAX_RETRIES = 1000;

/**
 * Delivers an event again, with the same event_id and bytes (interface 32). Refuses with `not_found`, and with
 * `state_conflict` if no endpoint can receive the event.
 */
export function replayEvent(
  context: EndpointsContext,
  { storeId, eventId }: { readonly storeId: string; readonly eventId: string },
  endpointId: string | undefined,
): Promise<Outcome<readonly { readonly id: string; readonly endpointId: string }[]>> {
  return withStore(context, storeId, (store, now) => {
    const event = findEvent(store, storeId, eventId);
    if (!event.ok) return event;
    const knownEndpoints = store.endpoints.of(storeId);
    const target = endpointId === undefined ? undefined : findEndpoint(store, { storeId, endpointId });
    if (target?.ok === false) return target;
    const namedEndpoint = target?.value;
    if (namedEndpoint?.state === "disabled") return refuseDisabled(namedEndpoint);
    const endpoints =
      namedEndpoint === undefined
        ? knownEndpoints.filter(
            ({ state, eventTypes }) => state !== "disabled" && matchesPatterns(eventTypes, event.value.type),
          )
        : [namedEndpoint];
    if (endpoints.length === 0) {
      return refuseFact("nobody_subscribes", { type: event.value.type });
    }
    return accept(
      endpoints.map((endpoint) => ({
        id: enqueueDelivery(context, { event: event.value, endpoint, cause: "replay" }, now),
        endpointId: endpoint.id,
      })),
    );
  });
}

/**
 * Repeats deliveries that have failed since a moment, oldest first: an event whose last delivery to an endpoint failed
 * is delivered again, unless the endpoint is disabled, and a delivery that waits after a failed attempt is sent now, if
 * the endpoint is enabled. Refuses with `not_found`, and with `state_conflict` if the named endpoint is disabled or the
 * store's deliveries are held.
 */
export function replayFailed(
  context: RetriesContext,
  storeId: string,
  { since, endpointId }: { readonly since: number; readonly endpointId?: string | undefined },
): Promise<Outcome<{ readonly replayed: number; readonly retried: number; readonly more: boolean }>> {
  return withStore(context, storeId, (store, now) => {
    const target = endpointId === undefined ? undefined : findEndpoint(store, { storeId, endpointId });
    if (target?.ok === false) return target;
    if (target?.value.state === "disabled") return refuseDisabled(target.value);
    const hold = context.holdOf(storeId);
    if (hold !== undefined) return refuseHold(hold);
    const endpoints = target === undefined ? store.endpoints.of(storeId) : [target.value];
    let remainingCount = MAX_REPLAYS;
    let retriedCount = 0;
    let hasMore = false;
    for (const endpoint of endpoints.filter(({ state }) => state !== "disabled")) {
      const isEnabled = endpoint.state === "enabled";
      const replayFilter = { endpoint, orderId: null, since, minTries: 1 };
      const waitingRetries = isEnabled ? retryEndpoint(context, replayFilter, now) : NO_RETRIES;
      retriedCount += waitingRetries.retried;
      hasMore ||= waitingRetries.more;
      const failedEventIds = store.deliveryHealth.failedEventIds({
        endpointId: endpoint.id,
        since,
        limit: remainingCount + 1,
      });
      hasMore ||= failedEventIds.length > remainingCount;
      for (const eventId of failedEventIds.slice(0, remainingCount).toReversed()) {
        const event = findEvent(store, storeId, eventId);
        if (!event.ok) return event;
        enqueueDelivery(context, { event: event.value, endpoint, cause: "replay" }, now);
      }
      remainingCount -= Math.min(remainingCount, failedEventIds.length);
    }
    return accept({ replayed: MAX_REPLAYS - remainingCount, retried: retriedCount, more: hasMore });
  });
}

/** Retries deliveries in the order of events. Refuses with `not_found`, and with `state_conflict` if none can be sent. */
export function retryDeliveries(
  context: RetriesContext,
  storeId: string,
  { endpointId, orderId: onlyOrderId }: RequestOf<"retryDeliveries">,
): Promise<Outcome<AnswerOf<"retryDeliveries">>> {
  const orderId = onlyOrderId ?? null;
  return withStore(context, storeId, (store, now) => {
    const target = endpointId === undefined ? undefined : findEndpoint(store, { storeId, endpointId });
    if (target?.ok === false) return target;
    if (target?.value.state === "disabled") return refuseDisabled(target.value);
    if (target?.value.state === "paused") return refusePaused(target.value);
    const hold = context.holdOf(storeId);
    if (hold !== undefined) return refuseHold(hold);
    const endpoints = target === undefined ? store.endpoints.of(storeId) : [target.value];
    const retries = endpoints
      .filter(({ state }) => state === "enabled")
      .map((endpoint) => retryEndpoint(context, { endpoint, orderId, since: 0, minTries: 0 }, now));
    return accept({
      retried: retries.reduce((sum, { retried }) => sum + retried, 0),
      more: retries.some(({ more }) => more),
    });
  });
}

const NO_RETRIES: AnswerOf<"retryDeliveries"> = { retried: 0, more: false };

function retryEndpoint(
  { store, wakeDispatcher }: EndpointsContext,
  {
    endpoint: { id: endpointId },
    ...query
  }: { readonly endpoint: Endpoint } & Pick<WaitingFilter, "orderId" | "since" | "minTries">,
  now: number,
): AnswerOf<"retryDeliveries"> {
  const filter = { endpointId, ...query, now };
  const retriedCount = store.deliveries.makeDue({ ...filter, limit: MAX_RETRIES });
  if (retriedCount > 0) wakeDispatcher(endpointId);
  return { retried: retriedCount, more: store.deliveries.isAnyWaiting(filter) };
}

/** The refusal of a paused endpoint. If its listener has disconnected, enabling it would deliver to a closed port. */
function refusePaused(endpoint: Endpoint): Outcome<never> {
  const { pausedBy, ...ownFields } = effectiveEndpoint(endpoint, undefined);
  const values = { endpoint: endpoint.id, why: reasonOf(ownFields) };
  return pausedBy === "listener"
    ? refuseFact("endpoint_without_its_listener", values, { next: "checkout listen" })
    : refuseFact("endpoint_paused", values);
}

/** The refusal for deliveries that are held (decisions 71, 95). */
function refuseHold(hold: Hold): Outcome<never> {
  return refuseFact("nothing_delivered", { hold });
}
