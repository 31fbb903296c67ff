import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { effectiveEndpoint, reasonOf, type Endpoint } from "../../core/webhook/endpoint.ts";
import { matchesEventPatterns } from "../../core/checkout/event-types.ts";
import type { WaitingFilter } from "../../store/webhook/deliveries.ts";
import { withStore, findEndpoint } from "../with-store.ts";
import { findEvent, refuseDisabled, type EndpointsContext } from "./endpoints.ts";
import { enqueueDelivery } from "./outbox.ts";
import type { PostContext } from "./post.ts";

type RetriesContext = EndpointsContext & Pick<PostContext, "holdOf">;

const MAX_REPLAYS = 1000;
export const MAX_RETRIES = 1000;

/** The replay has the same event_id and bytes (interface 32). Refuses an event that no endpoint can receive. */
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
            ({ state, eventTypes }) =>
              state !== "disabled" && matchesEventPatterns(eventTypes, event.value.type),
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

export function replayFailed(
  context: RetriesContext,
  storeId: string,
  { since, endpointId }: { readonly since: number; readonly endpointId?: string | undefined },
): Promise<Outcome<{ readonly replayed: number; readonly retried: number; readonly more: boolean }>> {
  return withStore(context, storeId, (store, now) => {
    const endpoints = requestedEndpoints(context, storeId, endpointId);
    if (!endpoints.ok) return endpoints;
    const retries = retryEndpoints(context, endpoints.value, { orderId: null, since, minTries: 1, now });
    let remainingCount = MAX_REPLAYS;
    let hasMore = retries.more;
    for (const endpoint of endpoints.value.filter(({ state }) => state !== "disabled")) {
      const filter = { endpointId: endpoint.id, since, limit: remainingCount + 1 };
      const failedEventIds = store.deliveryHealth.failedEventIds(filter);
      hasMore ||= failedEventIds.length > remainingCount;
      for (const eventId of failedEventIds.slice(0, remainingCount).toReversed()) {
        const event = findEvent(store, storeId, eventId);
        if (!event.ok) return event;
        enqueueDelivery(context, { event: event.value, endpoint, cause: "replay" }, now);
      }
      remainingCount -= Math.min(remainingCount, failedEventIds.length);
    }
    return accept({ replayed: MAX_REPLAYS - remainingCount, retried: retries.retried, more: hasMore });
  });
}

/** Refuses during a hold, and for a named endpoint that is not enabled. */
export function retryDeliveries(
  context: RetriesContext,
  storeId: string,
  { endpointId, orderId }: RequestOf<"retryDeliveries">,
): Promise<Outcome<AnswerOf<"retryDeliveries">>> {
  return withStore(context, storeId, (store, now) => {
    const target = endpointId === undefined ? undefined : findEndpoint(store, { storeId, endpointId });
    if (target?.ok === true && target.value.state === "paused") return refusePaused(target.value);
    return mapValue(requestedEndpoints(context, storeId, endpointId), (endpoints) =>
      retryEndpoints(context, endpoints, { orderId: orderId ?? null, since: 0, minTries: 0, now }),
    );
  });
}

function requestedEndpoints(
  { store, holdOf }: RetriesContext,
  storeId: string,
  endpointId: string | undefined,
): Outcome<readonly Endpoint[]> {
  const target = endpointId === undefined ? undefined : findEndpoint(store, { storeId, endpointId });
  if (target?.ok === false) return target;
  if (target?.value.state === "disabled") return refuseDisabled(target.value);
  const hold = holdOf(storeId);
  if (hold !== undefined) return refuseFact("nothing_delivered", { hold });
  return accept(target === undefined ? store.endpoints.of(storeId) : [target.value]);
}

function retryEndpoints(
  { store, wakeDispatcher }: EndpointsContext,
  endpoints: readonly Endpoint[],
  query: Omit<WaitingFilter, "endpointId" | "limit">,
): AnswerOf<"retryDeliveries"> {
  const retries = endpoints
    .filter(({ state }) => state === "enabled")
    .map(({ id: endpointId }) => {
      const filter = { ...query, endpointId };
      const retriedCount = store.deliveries.makeDue({ ...filter, limit: MAX_RETRIES });
      if (retriedCount > 0) wakeDispatcher(endpointId);
      return { retried: retriedCount, more: store.deliveries.isAnyWaiting(filter) };
    });
  return {
    retried: retries.reduce((sum, { retried }) => sum + retried, 0),
    more: retries.some(({ more }) => more),
  };
}

/** If the listener has disconnected, suggests a new listener: enabling the endpoint would deliver to a closed port. */
function refusePaused(endpoint: Endpoint): Outcome<never> {
  const { pausedBy, ...ownFields } = effectiveEndpoint(endpoint, undefined);
  const values = { endpoint: endpoint.id, why: reasonOf(ownFields) };
  return pausedBy === "listener"
    ? refuseFact("endpoint_without_its_listener", values, { next: "checkout listen" })
    : refuseFact("endpoint_paused", values);
}
