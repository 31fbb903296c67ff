import { reliedOnByTaking } from "../../core/readiness/assumptions.ts";
import { realTimeOf, storeNow, type StoreClock } from "../../core/clock.ts";
import {
  afterTry,
  isHopeless,
  isTaken,
  jitterOf,
  KEPT_ANSWER_BYTES,
  type DeliveryError,
  type DeliveryResult,
  type DeliverySchedule,
} from "../../core/webhook/delivery.ts";
import { deliveryRequest, type DeliveryRequest } from "../../core/webhook/delivery-request.ts";
import { DISABLED_BY_ANSWERS, LISTENER_AWAY, type Endpoint } from "../../core/webhook/endpoint.ts";
import { parseRetryAfter } from "../../core/retry-after.ts";
import type { DeliveryFault } from "../../core/fault/fault.ts";
import type { Delivery, NextDelivery } from "../../store/webhook/deliveries.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { OutboundRequest, OutboundResult, World } from "../../world.ts";
import { endpointSecrets, type EndpointSecrets, type SecretsContext } from "./endpoint-secrets.ts";
import { takeDeliveryFault } from "../fault/delivery-faults.ts";
import { enqueue } from "./outbox.ts";
import { deliveryErrorOf, post, type PostContext, type Posted } from "./post.ts";
import type { ServiceContext } from "../context.ts";
import type { Leases } from "../readiness/leases.ts";
import type { AccessLog, DeliveryTry } from "../runtime/access-log.ts";

/** What deliveries need. */
export type DispatchContext = ServiceContext &
  SecretsContext &
  PostContext & {
    readonly world: Pick<World, "sleep" | "after" | "soon">;
    readonly leases: Pick<Leases, "webhooksHeldBy">;
    readonly deliveryScheduleMs: DeliverySchedule;
    /** Shows each try that was sent, or could not be. */
    readonly log: Pick<AccessLog, "addDelivery">;
    /** Maximum number of deliveries in flight to one endpoint. */
    readonly deliveriesInFlight: number;
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
  /** Over a connection that was kept, or a fresh one. */
  readonly connection: OutboundRequest["connection"];
};

/** A try that has ended, before its end is on disk. */
export type Ended = Started & Posted;

/** Maximum number of looks for due deliveries in one write: each holds back or drops one at most. */
const MAX_LOOKS = 100;

/** What an endpoint's next deliveries are taken with: one reading of the clock, and its secrets, opened once. */
type Taking = {
  readonly endpoint: Endpoint;
  readonly clock: StoreClock;
  readonly now: number;
  readonly secrets: () => EndpointSecrets;
  /** This endpoint has something to send at this real time. */
  readonly expect: (realTime: number) => void;
};

/** The tries that were taken to be sent now, and whether there is no room for more until one ends. */
export type Taken = { readonly started: readonly Started[]; readonly isFull: boolean };
/** Where nothing is sent. */
export const NONE_TAKEN: Taken = { started: [], isFull: false };

/**
 * Takes the due deliveries of an endpoint for which there is room beside those that are under way, and writes their
 * tries; runs inside a write.
 */
export function takeDue(
  context: DispatchContext,
  endpointId: string,
  options: { readonly underWay: number; readonly expect: Taking["expect"] },
): Taken {
  const { store, world } = context;
  const endpoint = store.endpoints.find(endpointId);
  const clock = endpoint && store.clocks.of(endpoint.storeId);
  if (endpoint === undefined || clock === undefined || endpoint.state !== "enabled") return NONE_TAKEN;
  // What is held back stays due, without a try.
  if (context.heldBack(endpoint.storeId) !== undefined) return NONE_TAKEN;
  // The end of the drill wakes the dispatcher.
  if (context.leases.webhooksHeldBy(endpoint.storeId) !== undefined) return NONE_TAKEN;
  const now = storeNow(clock, world.now());
  let opened: EndpointSecrets | undefined;
  const secrets = (): EndpointSecrets => (opened ??= endpointSecrets(context, endpoint, now));
  const taking = { endpoint, clock, now, secrets, expect: options.expect };
  const room = (endpoint.inOrder ? 1 : context.deliveriesInFlight) - options.underWay;
  const started: Started[] = [];
  for (let looks = 0; started.length < room; looks += 1) {
    if (looks === MAX_LOOKS) {
      options.expect(world.now());
      break;
    }
    const { taken, goesOn } = takeSome(context, taking, room - started.length);
    started.push(...taken);
    if (!goesOn) break;
  }
  return { started, isFull: started.length >= room };
}

/**
 * Takes the next due deliveries, up to the given number. `goesOn`: another look may find more, because one was held back,
 * or was passed over for another one of its checkout.
 */
function takeSome(
  context: DispatchContext,
  { clock, expect, ...taking }: Taking,
  limit: number,
): { readonly taken: readonly Started[]; readonly goesOn: boolean } {
  const { store } = context;
  const { endpoint, now } = taking;
  const taken = new Map<string, Started>();
  const candidates = store.deliveries.next(endpoint.id, limit);
  for (const delivery of candidates) {
    if (delivery.nextAt > now) {
      const at = realTimeOf(clock, delivery.nextAt);
      if (at !== undefined) expect(at);
      return { taken: [...taken.values()], goesOn: false };
    }
    const event = store.events.find(delivery.eventId);
    if (event === undefined) throw new Error(`delivery ${delivery.id} has no event`);
    // Of several that could be sent, a checkout gets one.
    const whose = delivery.checkoutId ?? event.id;
    if (taken.has(whose)) continue;
    const fault = takeDeliveryFault(context, { delivery, event }, now);
    if (fault !== undefined && holdBack(context, { delivery, fault }, now))
      // It may have changed what comes next.
      return { taken: [...taken.values()], goesOn: true };
    taken.set(whose, start(context, { delivery, event, fault: fault ?? null }, taking));
  }
  return { taken: [...taken.values()], goesOn: taken.size < candidates.length };
}

/** Applies a fault that keeps a delivery from being sent now; false for other faults. */
function holdBack(
  { store }: DispatchContext,
  { delivery, fault }: { readonly delivery: Delivery; readonly fault: DeliveryFault },
  now: number,
): boolean {
  const { id, tries } = delivery;
  const nextAt = now + (fault.latencyMs ?? 0);
  switch (fault.action) {
    case "drop":
      store.deliveries.noteFault(id, fault);
      store.deliveries.settle(id, { state: "dropped", tries, nextAt: now });
      store.deliveries.releaseFollowers(delivery, now);
      return true;
    case "delay":
      store.deliveries.noteFault(id, fault);
      store.deliveries.settle(id, { state: "due", tries, nextAt });
      if (delivery.inOrder) store.deliveries.holdFollowers(delivery, nextAt);
      return true;
    case "reorder":
      store.deliveries.noteFault(id, fault);
      store.deliveries.postpone(id, nextAt);
      return true;
    case "duplicate":
    case "stale":
    case "bad_signature":
    case "changed_body":
    case "old_secret":
      return false;
  }
}

function start(
  context: DispatchContext,
  wanted: Pick<Started, "event"> & {
    readonly delivery: NextDelivery;
    readonly fault: DeliveryFault | null;
  },
  { endpoint, now, secrets }: Pick<Taking, "endpoint" | "now" | "secrets">,
): Started {
  const { store, world } = context;
  const { delivery, event, fault } = wanted;
  const { inForce, retired } = secrets();
  const request = deliveryRequest({
    eventId: event.id,
    body: event.body,
    secrets: inForce,
    retiredSecrets: retired,
    realNow: world.now(),
    fault: fault ?? delivery.fault,
  });
  const last = delivery.wasTried ? store.deliveryAttempts.last(delivery.id) : undefined;
  const number = (last?.number ?? 0) + 1;
  const connection = last?.error === "connection_lost" || last?.error === "bad_answer" ? "fresh" : "kept";
  const { auditedHeaders: headers, bodyHash } = request;
  const { url } = endpoint;
  store.deliveryAttempts.start({
    deliveryId: delivery.id,
    number,
    startedAt: now,
    url,
    headers,
    bodyHash,
    fault: fault?.action ?? null,
  });
  if (fault?.action === "duplicate")
    store.deliveries.noteFault(enqueue(context, { event, endpoint, cause: "duplicate" }, now), fault);
  return { endpoint, delivery, event, number, request, connection };
}

/**
 * Sends one try, outside of any transaction, to an address that the policy allows now. A failure of ours is reported, and
 * ends the try as a lost connection does: it may have been sent, and nothing may wait for it for ever.
 */
export async function send(
  context: DispatchContext,
  started: Started,
  report: (error: unknown) => void,
): Promise<Ended> {
  const ended = await sendSafely(context, started, report);
  context.log.addDelivery(shownTry(ended, context.world.now()));
  return ended;
}

async function sendSafely(
  context: DispatchContext,
  started: Started,
  report: (error: unknown) => void,
): Promise<Ended> {
  const { request, connection } = started;
  const { url, storeId } = started.endpoint;
  const { headers, body } = request;
  try {
    return { ...started, ...(await post(context, { storeId, url, headers, body, connection })) };
  } catch (error) {
    report(error);
    const result = {
      ok: false,
      failure: "connection_lost",
      message: "the sandbox failed to send it",
    } as const;
    return { ...started, result, milliseconds: 0 };
  }
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

/**
 * Writes how a try ended, and what follows from it for its delivery and its endpoint; runs inside a write. Undefined, and
 * nothing is written, where the try is gone: what was sent before a reset or a restore says nothing of what is there now.
 */
export function recordEnd(context: DispatchContext, ended: Ended): Dispatched | undefined {
  const { store, world } = context;
  const { delivery, event, number, milliseconds, result } = ended;
  const { id: deliveryId, storeId } = delivery;
  const clock = store.clocks.of(storeId);
  const state = clock && store.deliveries.stateOf(deliveryId);
  if (clock === undefined || state === undefined) return undefined;
  const endpoint = store.endpoints.find(ended.endpoint.id) ?? ended.endpoint;
  const now = storeNow(clock, world.now());
  const outcome = outcomeOf(result, world.now());
  const isPaused =
    endpoint.kind === "listener" &&
    endpoint.url === ended.endpoint.url &&
    "error" in outcome &&
    outcome.error === "unreachable";
  // As if it had never been sent, and made again at once: the next try has a connection of its own.
  const isFree = isPaused || wasKeptInVain(result);
  const tries = isFree ? delivery.tries : delivery.tries + 1;
  const verdict = isFree
    ? ({ state: "due", nextAt: now } as const)
    : afterTry(outcome, {
        tries,
        schedule: context.deliveryScheduleMs,
        jitter: isTaken(outcome) ? 0 : jitterOf(deliveryId, tries),
        now,
      });
  // It may have been dropped with its endpoint since.
  const isWanted = state === "due";
  const nextAt = isWanted && verdict.state === "due" ? verdict.nextAt : null;
  const status = "status" in outcome ? outcome.status : null;
  const error = "error" in outcome ? outcome.error : null;
  const [address, answer] =
    result === "forbidden" ? [null, null] : [result.address ?? null, answerOf(result)];
  const end = { finishedAt: now, milliseconds, address, status, error, answer, nextAt };
  if (!store.deliveryAttempts.finish({ deliveryId, number }, end)) return undefined;
  context.eventArrivals.tell(storeId, { checkoutId: delivery.checkoutId });
  if (verdict.state === "succeeded")
    context.assumptions.note(reliedOnByTaking(tries), { storeId, requestId: event.id, at: now });
  if (isWanted) {
    store.deliveries.settle(deliveryId, { state: verdict.state, tries, nextAt: nextAt ?? now });
    if (delivery.inOrder && nextAt === null) store.deliveries.releaseFollowers(delivery, now);
    if (delivery.inOrder && nextAt !== null) store.deliveries.holdFollowers(delivery, nextAt);
  }
  if (isPaused) store.endpoints.setState(endpoint.id, "paused", LISTENER_AWAY);
  else if (!isFree)
    judgeEndpoint(
      context,
      { endpoint, taken: isTaken(outcome), gone: "gone" in verdict && verdict.gone },
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

/** Disables an endpoint that answered 410, or has failed for too long (decision 13). */
function judgeEndpoint(
  { store }: DispatchContext,
  said: { readonly endpoint: Endpoint; readonly taken: boolean; readonly gone: boolean },
  now: number,
): void {
  const { endpoint, taken, gone } = said;
  if (endpoint.state !== "enabled") return;
  if (gone) return store.endpoints.setState(endpoint.id, "disabled", DISABLED_BY_ANSWERS.gone);
  if (taken) {
    if (endpoint.failingSince !== null) store.endpoints.setFailingSince(endpoint.id, null);
    return;
  }
  const since = endpoint.failingSince ?? now;
  if (isHopeless(since, now)) store.endpoints.setState(endpoint.id, "disabled", DISABLED_BY_ANSWERS.hopeless);
  else if (endpoint.failingSince === null) store.endpoints.setFailingSince(endpoint.id, since);
}

/**
 * Whether a kept connection failed: the receiver may have closed it before it was used again, or said more on it than one
 * answer.
 */
function wasKeptInVain(result: Ended["result"]): boolean {
  if (result === "forbidden" || result.ok || result.onKept !== true) return false;
  return result.failure === "connection_lost" || result.failure === "bad_answer";
}

function outcomeOf(result: Ended["result"], realNow: number): DeliveryResult {
  if (result === "forbidden") return { error: "target_forbidden" };
  if (!result.ok) return { error: deliveryErrorOf(result) };
  return { status: result.status, retryAfterMs: parseRetryAfter(result.headers["retry-after"], realNow) };
}

function answerOf(result: OutboundResult): Uint8Array | null {
  return result.ok ? Buffer.from(result.body).subarray(0, KEPT_ANSWER_BYTES) : null;
}
