import { storeNow, type StoreClock } from "../../core/clock.ts";
import { decisionsOfDelivery } from "../../core/readiness/relied.ts";
import {
  decideAfterAttempt,
  hasFailedTooLong,
  isAcceptedResult,
  jitterOf,
  MAX_ANSWER_BYTES,
  type DeliverySchedule,
} from "../../core/webhook/delivery.ts";
import { LISTENER_DISCONNECTED, type Endpoint } from "../../core/webhook/endpoint.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { OutboundResult } from "../../world.ts";
import type { ServiceContext } from "../context.ts";
import { attemptFactsOf } from "./post.ts";
import { attemptResultOf, type AttemptWithResult } from "./send.ts";
import type { FinishedAttemptEntry } from "../../core/webhook/shapes.ts";

export type RecordContext = ServiceContext & { readonly deliveryScheduleMs: DeliverySchedule };

/** Undefined if the attempt no longer exists because of a reset or restore. Call inside a write. */
export function recordAttemptResult(
  context: RecordContext,
  endedAttempt: AttemptWithResult,
  clock: StoreClock,
): FinishedAttemptEntry | undefined {
  const { store, world } = context;
  const { delivery, event, number, milliseconds, result } = endedAttempt;
  const { id: deliveryId, storeId } = delivery;
  const endpoint =
    store.endpoints.of(storeId).find(({ id }) => id === endedAttempt.endpoint.id) ?? endedAttempt.endpoint;
  const now = storeNow(clock, world.now());
  const outcome = attemptResultOf(result, world.now());
  const shouldPause =
    endpoint.kind === "listener" &&
    endpoint.url === endedAttempt.endpoint.url &&
    "error" in outcome &&
    outcome.error === "unreachable";
  // Not counted as a try: an attempt over a kept connection that failed, and an attempt to a disconnected listener,
  // which is paused. The delivery stays due.
  const isUncounted = shouldPause || hasKeptConnectionFailed(result);
  const tries = isUncounted ? delivery.tries : delivery.tries + 1;
  const verdict = isUncounted
    ? ({ state: "due", nextAt: now } as const)
    : decideAfterAttempt(outcome, {
        tries,
        schedule: context.deliveryScheduleMs,
        jitter: isAcceptedResult(outcome) ? 0 : jitterOf(deliveryId, tries),
        now,
      });
  // The endpoint may have been removed meanwhile, which drops its deliveries.
  const isDue = store.deliveries.stateOf(deliveryId) === "due";
  const nextAt = isDue && verdict.state === "due" ? verdict.nextAt : null;
  const status = "status" in outcome ? outcome.status : null;
  const error = "error" in outcome ? outcome.error : null;
  const [address, answer] =
    result === "forbidden" ? [null, null] : [result.address ?? null, answerOf(result)];
  const facts = attemptFactsOf(result);
  const end = { finishedAt: now, milliseconds, address, status, error, answer, nextAt, facts };
  if (!store.deliveryAttempts.finish({ deliveryId, number }, end)) return undefined;
  context.writeSignals.notify(storeId, { checkoutId: delivery.checkoutId });
  if (verdict.state === "succeeded")
    context.assumptions.note(decisionsOfDelivery(tries), { storeId, requestId: event.id, at: now });
  if (isDue) {
    store.deliveries.settle(delivery, { state: verdict.state, tries, nextAt: nextAt ?? now });
    if (delivery.inOrder && nextAt === null) store.deliveries.releaseFollowers(delivery, now);
    if (delivery.inOrder && nextAt !== null) store.deliveries.holdFollowers(delivery, nextAt);
    if (delivery.cause === "replay" && verdict.state === "succeeded")
      settleByReplay(context, { replay: delivery, number }, now);
  }
  if (shouldPause) store.endpoints.setState(endpoint.id, "paused", LISTENER_DISCONNECTED);
  else if (!isUncounted)
    judgeEndpoint(
      context,
      { endpoint, isAccepted: isAcceptedResult(outcome), isGone: "isGone" in verdict && verdict.isGone },
      now,
    );
  return {
    at: now,
    deliveryId,
    eventId: event.id,
    type: event.type,
    endpointId: endpoint.id,
    status,
    error,
    nextAt,
  };
}

function settleByReplay(
  { store }: RecordContext,
  { replay, number }: { readonly replay: Delivery; readonly number: number },
  now: number,
): void {
  for (const delivery of store.deliveries.waitingBefore(replay)) {
    store.deliveryAttempts.copyAttempt({ deliveryId: replay.id, number }, delivery.id);
    store.deliveries.settle(delivery, { state: "succeeded", tries: delivery.tries, nextAt: now });
    if (delivery.inOrder) store.deliveries.releaseFollowers(delivery, now);
  }
}

/** Disables the endpoint after a 410, or if the endpoint has failed for too long (decision 13). */
function judgeEndpoint(
  { store }: RecordContext,
  result: { readonly endpoint: Endpoint; readonly isAccepted: boolean; readonly isGone: boolean },
  now: number,
): void {
  const { endpoint, isAccepted, isGone } = result;
  if (endpoint.state !== "enabled") return;
  if (isGone) return store.endpoints.setState(endpoint.id, "disabled", "gone");
  if (isAccepted) {
    if (endpoint.failingSince !== null) store.endpoints.setFailingSince(endpoint.id, null);
    return;
  }
  const since = endpoint.failingSince ?? now;
  if (hasFailedTooLong(since, now)) store.endpoints.setState(endpoint.id, "disabled", "no_success");
  else if (endpoint.failingSince === null) store.endpoints.setFailingSince(endpoint.id, since);
}

function hasKeptConnectionFailed(result: AttemptWithResult["result"]): boolean {
  if (result === "forbidden" || result.ok || result.wasReused !== true) return false;
  return result.failure === "connection_lost" || result.failure === "bad_answer";
}

function answerOf(result: OutboundResult): Uint8Array | null {
  return result.ok ? Buffer.from(result.body).subarray(0, MAX_ANSWER_BYTES) : null;
}
