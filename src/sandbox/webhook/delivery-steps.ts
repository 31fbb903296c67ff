import { reliedOnByTaking } from "../../core/readiness/assumptions.ts";
import { realTimeOf, storeNow } from "../../core/clock.ts";
import {
  afterTry,
  isHopeless,
  isTaken,
  KEPT_ANSWER_BYTES,
  type DeliveryError,
  type DeliveryResult,
  type DeliverySchedule,
} from "../../core/webhook/delivery.ts";
import { deliveryRequest, type DeliveryRequest } from "../../core/webhook/delivery-request.ts";
import { LISTENER_AWAY, type Endpoint } from "../../core/webhook/endpoint.ts";
import { parseRetryAfter } from "../../core/retry-after.ts";
import type { DeliveryFault, FaultKind } from "../../core/webhook/fault.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { OutboundResult, World } from "../../world.ts";
import { endpointSecrets, type SecretsContext } from "./endpoint-secrets.ts";
import { enqueue } from "./outbox.ts";
import { deliveryErrorOf, post, type PostContext, type Posted } from "./post.ts";
import type { ServiceContext } from "../context.ts";
import type { Leases } from "../readiness/leases.ts";
import type { AccessLog, DeliveryTry } from "../runtime/access-log.ts";
import { storeTime } from "../at-store.ts";

/** What deliveries need. */
export type DispatchContext = ServiceContext &
  SecretsContext &
  PostContext & {
    readonly world: Pick<World, "random" | "sleep" | "after">;
    readonly leases: Pick<Leases, "webhooksHeldBy">;
    readonly deliveryScheduleMs: DeliverySchedule;
    /** Shows each try that was sent, or could not be. */
    readonly log: Pick<AccessLog, "addDelivery">;
  };

/** One try that has ended. Times are milliseconds by the store's clock. */
export type Dispatched = {
  readonly at: number;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly type: string;
  readonly endpointId: string;
  readonly status: number | null;
  readonly error: DeliveryError | null;
  /** When it is tried again, if it is. */
  readonly nextAt: number | null;
};

/** A try to send now; its row is on disk. */
export type Started = {
  readonly endpoint: Endpoint;
  readonly delivery: Delivery;
  readonly event: StoredEvent;
  readonly number: number;
  readonly request: DeliveryRequest;
};

/** A try that has ended, before its end is on disk. */
export type Ended = Started & Posted;

/** Maximum number of deliveries that are held back or dropped in one write. */
const MAX_HELD_AT_ONCE = 100;

/** Takes the next due delivery of an endpoint, and writes its try; runs inside a write. */
export function takeNext(
  context: DispatchContext,
  endpointId: string,
  expect: (endpointId: string, realTime: number) => void,
): Started | undefined {
  const { store, world } = context;
  const endpoint = store.endpoints.find(endpointId);
  const clock = endpoint && store.clocks.of(endpoint.storeId);
  if (endpoint === undefined || clock === undefined || endpoint.state !== "enabled") return undefined;
  // The end of the drill wakes the dispatcher.
  if (context.leases.webhooksHeldBy(endpoint.storeId) !== undefined) return undefined;
  const now = storeNow(clock, world.now());
  for (let held = 0; held < MAX_HELD_AT_ONCE; held += 1) {
    const delivery = store.deliveries.next(endpointId);
    if (delivery === undefined) return undefined;
    if (delivery.nextAt > now) {
      const at = realTimeOf(clock, delivery.nextAt);
      if (at !== undefined) expect(endpointId, at);
      return undefined;
    }
    const event = store.events.find(delivery.eventId);
    if (event === undefined) throw new Error(`delivery ${delivery.id} has no event`);
    const isOwnDoing = delivery.cause === "duplicate";
    const fault = isOwnDoing ? undefined : store.faults.take(endpointId, event.id);
    if (fault === undefined || !holdBack(context, { delivery, fault }, now)) {
      return start(context, { endpoint, delivery, event, fault: fault?.kind ?? null }, now);
    }
  }
  expect(endpointId, world.now());
  return undefined;
}

/** Applies a fault that keeps a delivery from being sent now; false for other faults. */
function holdBack(
  { store }: DispatchContext,
  { delivery, fault }: { readonly delivery: Delivery; readonly fault: DeliveryFault },
  now: number,
): boolean {
  const { id, tries } = delivery;
  const nextAt = now + fault.delayMs;
  switch (fault.kind) {
    case "drop":
      store.deliveries.settle(id, { state: "dropped", tries, nextAt: now });
      store.deliveries.releaseFollowers(delivery, now);
      return true;
    case "delay":
      store.deliveries.settle(id, { state: "due", tries, nextAt });
      if (delivery.inOrder) store.deliveries.holdFollowers(delivery, nextAt);
      return true;
    case "reorder":
      store.deliveries.postpone(id, nextAt);
      return true;
    case "duplicate":
    case "stale_timestamp":
    case "bad_signature":
    case "changed_body":
    case "old_secret":
      return false;
  }
}

function start(
  context: DispatchContext,
  wanted: Pick<Started, "endpoint" | "delivery" | "event"> & { readonly fault: FaultKind | null },
  now: number,
): Started {
  const { store, world } = context;
  const { endpoint, delivery, event, fault } = wanted;
  const { inForce, retired } = endpointSecrets(context, endpoint, now);
  const request = deliveryRequest({
    eventId: event.id,
    body: event.body,
    secrets: inForce,
    retiredSecrets: retired,
    realNow: world.now(),
    fault,
  });
  const number = store.deliveryAttempts.last(delivery.id) + 1;
  const { auditedHeaders: headers, bodyHash } = request;
  const { url } = endpoint;
  store.deliveryAttempts.start({
    deliveryId: delivery.id,
    number,
    startedAt: now,
    url,
    headers,
    bodyHash,
    fault,
  });
  if (fault === "duplicate") enqueue(context, { event, endpoint, cause: "duplicate" }, now);
  return { endpoint, delivery, event, number, request };
}

/** Sends one try, outside of any transaction, to an address that the policy allows now. */
export async function send(context: DispatchContext, started: Started): Promise<Ended> {
  const { headers, body } = started.request;
  const ended = { ...started, ...(await post(context, { url: started.endpoint.url, headers, body })) };
  context.log.addDelivery(shownTry(ended, context.world.now()));
  return ended;
}

/** A try as the log shows it. */
function shownTry({ endpoint, event, number, result, milliseconds }: Ended, at: number): DeliveryTry {
  const outcome = outcomeOf(result, at);
  return {
    at,
    url: endpoint.url,
    status: "status" in outcome ? outcome.status : null,
    error: "error" in outcome ? outcome.error : null,
    eventId: event.id,
    type: event.type,
    milliseconds,
    attempt: number,
  };
}

/** Writes how a try ended, and what follows from it for its delivery and its endpoint; runs inside a write. */
export function recordEnd(context: DispatchContext, ended: Ended): Dispatched {
  const { store, world } = context;
  const { delivery, event, number, milliseconds, result } = ended;
  const endpoint = store.endpoints.find(ended.endpoint.id) ?? ended.endpoint;
  const now = storeTime(context, delivery.storeId);
  const outcome = outcomeOf(result, world.now());
  const isPaused =
    endpoint.kind === "listener" &&
    endpoint.url === ended.endpoint.url &&
    "error" in outcome &&
    outcome.error === "unreachable";
  const tries = isPaused ? delivery.tries : delivery.tries + 1;
  const verdict = isPaused
    ? ({ state: "due", nextAt: now } as const)
    : afterTry(outcome, { tries, schedule: context.deliveryScheduleMs, jitter: world.random(), now });
  // What was sent before a reset of the store says nothing of what is there after it.
  const isThere = store.clocks.of(delivery.storeId) !== undefined;
  const found = isThere ? store.deliveries.find(delivery.id) : undefined;
  if (found !== undefined && verdict.state === "succeeded") {
    const { storeId } = delivery;
    context.assumptions.note(reliedOnByTaking(tries), { storeId, requestId: event.id, at: now });
  }
  // It may have been dropped with its endpoint since.
  const isWanted = found?.state === "due";
  const nextAt = isWanted && verdict.state === "due" ? verdict.nextAt : null;
  const status = "status" in outcome ? outcome.status : null;
  const error = "error" in outcome ? outcome.error : null;
  const [address, answer] =
    result === "forbidden" ? [null, null] : [result.address ?? null, answerOf(result)];
  store.deliveryAttempts.finish(
    { deliveryId: delivery.id, number },
    { finishedAt: now, milliseconds, address, status, error, answer, nextAt },
  );
  if (isWanted) {
    store.deliveries.settle(delivery.id, { state: verdict.state, tries, nextAt: nextAt ?? now });
    if (delivery.inOrder && nextAt === null) store.deliveries.releaseFollowers(delivery, now);
    if (delivery.inOrder && nextAt !== null) store.deliveries.holdFollowers(delivery, nextAt);
  }
  if (isPaused) store.endpoints.setState(endpoint.id, "paused", LISTENER_AWAY);
  else if (found !== undefined)
    judgeEndpoint(
      context,
      { endpoint, taken: isTaken(outcome), gone: "gone" in verdict && verdict.gone },
      now,
    );
  const { id: deliveryId } = delivery;
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

/** Disables an endpoint that answered 410, or has failed for too long (decision 13). */
function judgeEndpoint(
  { store }: DispatchContext,
  said: { readonly endpoint: Endpoint; readonly taken: boolean; readonly gone: boolean },
  now: number,
): void {
  const { endpoint, taken, gone } = said;
  if (endpoint.state !== "enabled") return;
  if (gone) return store.endpoints.setState(endpoint.id, "disabled", "it answered 410 Gone");
  if (taken) {
    if (endpoint.failingSince !== null) store.endpoints.setFailingSince(endpoint.id, null);
    return;
  }
  const since = endpoint.failingSince ?? now;
  if (isHopeless(since, now))
    store.endpoints.setState(endpoint.id, "disabled", "no delivery succeeded for 120 hours");
  else if (endpoint.failingSince === null) store.endpoints.setFailingSince(endpoint.id, since);
}

function outcomeOf(result: Ended["result"], realNow: number): DeliveryResult {
  if (result === "forbidden") return { error: "target_forbidden" };
  if (!result.ok) return { error: deliveryErrorOf(result) };
  return { status: result.status, retryAfterMs: parseRetryAfter(result.headers["retry-after"], realNow) };
}

function answerOf(result: OutboundResult): Uint8Array | null {
  return result.ok ? Buffer.from(result.body).subarray(0, KEPT_ANSWER_BYTES) : null;
}
