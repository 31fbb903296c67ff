import { realTimeOf, storeNow, type StoreClock } from "../../core/clock.ts";
import { isForgeryAction } from "../../core/fault/actions.ts";
import type { DeliveryFault } from "../../core/fault/fault.ts";
import { lazyValue } from "../../core/lazy.ts";
import { deliveryRequest, type DeliveryRequest } from "../../core/webhook/delivery-request.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Delivery, NextDelivery } from "../../store/webhook/deliveries.ts";
import type { OutboundRequest } from "../../world.ts";
import type { ServiceContext } from "../context.ts";
import { takeDeliveryFault } from "../fault/delivery-faults.ts";
import type { Leases } from "../readiness/leases.ts";
import { endpointSecrets, type EndpointSecrets, type SecretsContext } from "./endpoint-secrets.ts";
import { enqueueDelivery } from "./outbox.ts";
import type { PostContext } from "./post.ts";

export type TakeContext = ServiceContext &
  SecretsContext &
  Pick<PostContext, "holdOf"> & {
    readonly leases: Pick<Leases, "webhooksHeldBy">;
    readonly deliveriesInFlight: number;
  };

export type StartedAttempt = {
  readonly endpoint: Endpoint;
  readonly delivery: Delivery;
  readonly event: StoredEvent;
  readonly number: number;
  readonly request: DeliveryRequest;
  readonly connection: NonNullable<OutboundRequest["connection"]>;
};

const MAX_SEARCHES = 100;

type TakeOptions = {
  readonly endpoint: Endpoint;
  readonly clock: StoreClock;
  readonly now: number;
  readonly getSecrets: () => EndpointSecrets;
  /** Called with the real time at which the endpoint next has something to send. */
  readonly expect: (realTime: number) => void;
};

/** `isFull`: take nothing more until one of the attempts has ended. */
export type AttemptBatch = { readonly attempts: readonly StartedAttempt[]; readonly isFull: boolean };

export const NO_DELIVERIES: AttemptBatch = { attempts: [], isFull: false };

/** Call inside a write. Takes at most as many deliveries as the endpoint's limit in flight allows. */
export function takeDueDeliveries(
  context: TakeContext,
  endpointId: string,
  options: { readonly inFlightCount: number; readonly expect: TakeOptions["expect"] },
): AttemptBatch {
  const { store, world } = context;
  const endpoint = store.endpoints.find(endpointId);
  if (endpoint?.state !== "enabled") return NO_DELIVERIES;
  const clock = store.clocks.of(endpoint.storeId);
  if (clock === undefined) return NO_DELIVERIES;
  // During a hold, deliveries stay due and are not attempted.
  if (context.holdOf(endpoint.storeId) !== undefined) return NO_DELIVERIES;
  if (context.leases.webhooksHeldBy(endpoint.storeId) !== undefined) return NO_DELIVERIES;
  const now = storeNow(clock, world.now());
  const getSecrets = lazyValue(() => endpointSecrets(context, endpoint, now));
  const takeOptions = { endpoint, clock, now, getSecrets, expect: options.expect };
  const freeSlotCount = (endpoint.inOrder ? 1 : context.deliveriesInFlight) - options.inFlightCount;
  const attempts: StartedAttempt[] = [];
  for (let searchCount = 0; attempts.length < freeSlotCount; searchCount += 1) {
    if (searchCount === MAX_SEARCHES) {
      options.expect(world.now());
      break;
    }
    const { attempts: newAttempts, shouldContinue } = takeBatch(
      context,
      takeOptions,
      freeSlotCount - attempts.length,
    );
    attempts.push(...newAttempts);
    if (!shouldContinue) break;
  }
  return { attempts, isFull: attempts.length >= freeSlotCount };
}

function takeBatch(
  context: TakeContext,
  { clock, expect, ...fields }: TakeOptions,
  limit: number,
): { readonly attempts: readonly StartedAttempt[]; readonly shouldContinue: boolean } {
  const { store } = context;
  const { endpoint, now } = fields;
  const takenAttempts: StartedAttempt[] = [];
  for (const delivery of store.deliveries.next(endpoint.id, limit)) {
    if (delivery.nextAt > now) {
      const at = realTimeOf(clock, delivery.nextAt);
      if (at !== undefined) expect(at);
      break;
    }
    const event = store.events.find(delivery.eventId);
    if (event === undefined) throw new Error(`delivery ${delivery.id} has no event`);
    const fault = takeDeliveryFault(context, { delivery, event }, now);
    if (fault !== undefined && applyHoldingFault(context, { delivery, fault }, now))
      return { attempts: takenAttempts, shouldContinue: true };
    takenAttempts.push(startAttempt(context, { delivery, event, fault: fault ?? null }, fields));
  }
  return { attempts: takenAttempts, shouldContinue: false };
}

function applyHoldingFault(
  { store }: TakeContext,
  { delivery, fault }: { readonly delivery: Delivery; readonly fault: DeliveryFault },
  now: number,
): boolean {
  const { id, tries } = delivery;
  const nextAt = now + (fault.latencyMs ?? 0);
  const { action } = fault;
  if (isForgeryAction(action) || action === "duplicate") return false;
  store.deliveries.noteFault(id, fault);
  switch (action) {
    case "drop":
      store.deliveries.settle(delivery, { state: "dropped", tries, nextAt: now });
      store.deliveries.releaseFollowers(delivery, now);
      return true;
    case "delay":
      store.deliveries.settle(delivery, { state: "due", tries, nextAt });
      if (delivery.inOrder) store.deliveries.holdFollowers(delivery, nextAt);
      return true;
    case "reorder":
      store.deliveries.postpone(delivery, nextAt);
      return true;
  }
}

function startAttempt(
  context: TakeContext,
  attemptInput: Pick<StartedAttempt, "event"> & {
    readonly delivery: NextDelivery;
    readonly fault: DeliveryFault | null;
  },
  { endpoint, now, getSecrets }: Pick<TakeOptions, "endpoint" | "now" | "getSecrets">,
): StartedAttempt {
  const { store, world } = context;
  const { delivery, event, fault } = attemptInput;
  const { inForce, retired } = getSecrets();
  const request = deliveryRequest({
    eventId: event.id,
    body: event.body,
    secrets: inForce,
    retiredSecrets: retired,
    realNow: (world.receiverTime ?? world.now)(),
    fault: fault ?? delivery.fault,
    dialect: store.stores.dialect(endpoint.storeId),
  });
  const lastAttempt = delivery.wasAttempted ? store.deliveryAttempts.last(delivery.id) : undefined;
  const number = (lastAttempt?.number ?? 0) + 1;
  const connection =
    lastAttempt?.error === "connection_lost" || lastAttempt?.error === "bad_answer" ? "fresh" : "kept";
  store.deliveryAttempts.start({
    deliveryId: delivery.id,
    number,
    startedAt: now,
    url: endpoint.url,
    headers: request.auditedHeaders,
    bodyHash: request.bodyHash,
    fault: fault?.action ?? null,
  });
  if (fault?.action === "duplicate")
    store.deliveries.noteFault(enqueueDelivery(context, { event, endpoint, cause: "duplicate" }, now), fault);
  return { endpoint, delivery, event, number, request, connection };
}
