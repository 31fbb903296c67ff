import { ALL_EVENTS, parseEventTypes, matchesEventPatterns } from "../../core/checkout/event-types.ts";
import {
  effectiveEndpoint,
  isPullListenerUrl,
  LISTENER_DISCONNECTED,
  reasonOf,
  type Endpoint,
} from "../../core/webhook/endpoint.ts";
import { createTestEvent } from "../../core/checkout/event.ts";
import { accept, addField, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import {
  formatSigningSecret,
  NONCE_BYTES,
  sealSecret,
  SIGNING_SECRET_BYTES,
} from "../../core/webhook/sealed-secret.ts";
import { containsSecretInAddress } from "../../core/text.ts";
import { checkCa, parseTarget, type TargetPolicy } from "../../core/webhook/target.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Store } from "../../store/store.ts";
import type { World } from "../../world.ts";
import { endpointSecrets, type EndpointSecrets, type SecretsContext } from "./endpoint-secrets.ts";
import { enqueueDelivery } from "./outbox.ts";
import { withEndpoint, withStore, type EndpointRef } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";

export type EndpointsContext = ServiceContext &
  SecretsContext & {
    readonly world: Pick<World, "now" | "uuid" | "randomBytes">;
    readonly targets: TargetPolicy;
  };

type EndpointWithSecrets = Endpoint & { readonly secrets: EndpointSecrets };

type EndpointForm = {
  readonly url: string;
  readonly eventTypes?: readonly string[] | undefined;
  /** CA certificates in PEM. Default: the sandbox's CAs. */
  readonly ca?: string | undefined;
};

const MAX_ENDPOINTS = 20;

const MAX_REPLAYED_EVENTS = 100_000;

/**
 * Refuses a forbidden address, patterns without a matching event type, CA certificates that cannot be trusted, an
 * address that already exists, and more than `MAX_ENDPOINTS`.
 */
export function addEndpoint(
  context: EndpointsContext,
  storeId: string,
  endpointForm: EndpointForm & {
    /** Send one delivery at a time. Default: several in parallel (decision 93). */
    readonly inOrder?: boolean | undefined;
  },
): Promise<Outcome<EndpointWithSecrets>> {
  const { inOrder = false, ca = null } = endpointForm;
  const form = checkForm(context, endpointForm);
  return withStore(context, storeId, (store, now) => {
    if (!form.ok) return form;
    const knownEndpoints = store.endpoints.of(storeId).filter(({ kind }) => kind === "url");
    const knownEndpoint = knownEndpoints.find(({ url }) => url === form.value.url);
    if (knownEndpoint !== undefined) return refuseFact("endpoint_exists", { endpoint: knownEndpoint.id });
    if (knownEndpoints.length >= MAX_ENDPOINTS) {
      return refuseFact("too_many_endpoints", { most: MAX_ENDPOINTS });
    }
    return accept(insertWithSecrets(context, { storeId, kind: "url", ...form.value, inOrder, ca }, now));
  });
}

/**
 * Delivers first the events that `since` selects, then the events that waited for a listener. Refuses more than
 * `MAX_REPLAYED_EVENTS` events.
 */
export function registerListener(
  context: EndpointsContext,
  storeId: string,
  listenerForm: Omit<EndpointForm, "ca"> & {
    /** Redeliver all events after this event, or from this time on. */
    readonly since?: { readonly eventId: string } | { readonly at: number } | undefined;
  },
): Promise<Outcome<EndpointWithSecrets & { readonly replayed: number }>> {
  const { targets } = context;
  const ownHosts = isPullListenerUrl(listenerForm.url) ? [new URL(listenerForm.url).host] : [];
  const allowedHosts = [...targets.allowedHosts, ...ownHosts];
  const form = checkForm({ targets: { ...targets, allowedHosts } }, listenerForm);
  return withStore(context, storeId, (store, now) => {
    if (!form.ok) return form;
    const events = eventsSince(context, storeId, listenerForm.since);
    if (!events.ok) return events;
    const knownListener = store.endpoints.of(storeId).find(({ kind }) => kind === "listener");
    const target = { ...form.value, inOrder: false, ca: null };
    const endpoint =
      knownListener ?? insertWithSecrets(context, { storeId, kind: "listener", ...target }, now);
    store.endpoints.setSettings(endpoint.id, target);
    store.endpoints.setState(endpoint.id, "enabled", null);
    const newEndpoint = { ...endpoint, ...target, state: "enabled", reason: null } as const;
    const replayedCount = replayAll(context, { endpoint: newEndpoint, events: events.value }, now);
    store.deliveries.makeAllDue(endpoint.id, now);
    context.wakeDispatcher(endpoint.id);
    return accept({
      ...newEndpoint,
      secrets: endpointSecrets(context, endpoint, now),
      replayed: replayedCount,
    });
  });
}

/** Deliveries to a paused endpoint wait. Only a listener can be disconnected. */
export function setEndpointState(
  context: EndpointsContext,
  ref: EndpointRef,
  {
    state,
    reason = state === "disabled" ? "switched_off" : null,
  }: Pick<Endpoint, "state"> & Partial<Pick<Endpoint, "reason">>,
): Promise<Outcome<Endpoint>> {
  return withEndpoint(context, ref, (endpoint) => {
    if (reason === LISTENER_DISCONNECTED && endpoint.kind !== "listener")
      return refuseFact("endpoint_without_listener", { endpoint: endpoint.id });
    context.store.endpoints.setState(endpoint.id, state, reason);
    context.wakeDispatcher(endpoint.id);
    return accept({ ...endpoint, state, reason, failingSince: null });
  });
}

/** Drops queued deliveries, and keeps the audit of past attempts. */
export function removeEndpoint(context: EndpointsContext, ref: EndpointRef): Promise<Outcome<Endpoint>> {
  return withEndpoint(context, ref, (endpoint, now) => {
    removeEndpointById(context.store, endpoint.id, now);
    return accept({ ...endpoint, state: "disabled", reason: "removed" });
  });
}

/** During the overlap, the old secret also signs (decision 12). */
export function rotateSecret(
  context: EndpointsContext,
  ref: EndpointRef,
  overlapMs: number,
): Promise<Outcome<EndpointSecrets>> {
  const { signingSecrets } = context.store;
  return withEndpoint(context, ref, (endpoint, now) => {
    const [currentSecret] = endpointSecrets(context, endpoint, now).inForce;
    const hasOwnSecret = signingSecrets.ofEndpoint(endpoint.id).length > 0;
    const endTime = now + overlapMs;
    // Other endpoints keep the store's secret, so this endpoint gets a copy of the secret that expires.
    if (hasOwnSecret) signingSecrets.retire(endpoint.id, endTime);
    else if (currentSecret !== undefined)
      insertSecret(context, endpoint, { secret: currentSecret, createdAt: now, retiredAt: endTime });
    const secret = formatSigningSecret(context.world.randomBytes(SIGNING_SECRET_BYTES));
    insertSecret(context, endpoint, { secret, createdAt: now, retiredAt: null });
    return accept(endpointSecrets(context, endpoint, now));
  });
}

export function testEndpoint(context: EndpointsContext, ref: EndpointRef): Promise<Outcome<string>> {
  const { store, world } = context;
  return withEndpoint(context, ref, (endpoint, now) => {
    if (endpoint.state === "disabled") return refuseDisabled(endpoint);
    const event = createTestEvent({ id: world.uuid(), storeId: endpoint.storeId }, now);
    store.events.insert(event);
    context.writeSignals.notify(event.storeId, event);
    enqueueDelivery(context, { event, endpoint, cause: "event" }, now);
    return accept(event.id);
  });
}

function eventsSince(
  { store }: EndpointsContext,
  storeId: string,
  since: { readonly eventId: string } | { readonly at: number } | undefined,
): Outcome<readonly StoredEvent[]> {
  if (since === undefined) return accept([]);
  const event = "eventId" in since ? findEvent(store, storeId, since.eventId) : undefined;
  if (event?.ok === false) return event;
  const events = store.events.after({
    storeId,
    after: event?.value.position ?? 0,
    from: "at" in since ? since.at : 0,
    type: null,
    checkoutId: null,
    limit: MAX_REPLAYED_EVENTS + 1,
  });
  if (events.length <= MAX_REPLAYED_EVENTS) return accept(events);
  return refuseFact("too_many_events", { most: MAX_REPLAYED_EVENTS });
}

function replayAll(
  context: EndpointsContext,
  { endpoint, events }: { readonly endpoint: Endpoint; readonly events: readonly StoredEvent[] },
  now: number,
): number {
  const { deliveries } = context.store;
  const eventsToReplay = events.filter(
    ({ id, type }) =>
      matchesEventPatterns(endpoint.eventTypes, type) && !deliveries.isQueued(endpoint.id, id),
  );
  for (const event of eventsToReplay)
    enqueueDelivery(context, { event, endpoint, cause: "replay", dueAt: event.createdAt }, now);
  return eventsToReplay.length;
}

function insertWithSecrets(
  context: EndpointsContext,
  newEndpoint: NewEndpoint,
  now: number,
): EndpointWithSecrets {
  const endpoint = insertEndpoint(context, newEndpoint, now);
  return { ...endpoint, secrets: endpointSecrets(context, endpoint, now) };
}

type NewEndpoint = Pick<Endpoint, "storeId" | "kind" | "url" | "eventTypes" | "inOrder" | "ca">;

export function insertEndpoint(
  { store, world }: Pick<ServiceContext, "store" | "world">,
  newEndpoint: NewEndpoint,
  now: number,
): Endpoint {
  const endpoint: Endpoint = {
    ...newEndpoint,
    id: world.uuid(`${newEndpoint.storeId} endpoints`),
    state: "enabled",
    reason: null,
    failingSince: null,
    createdAt: now,
  };
  store.endpoints.insert(endpoint);
  return endpoint;
}

export function removeEndpointById(
  { deliveries, endpoints }: Pick<Store, "deliveries" | "endpoints">,
  id: string,
  now: number,
): void {
  deliveries.dropAll(id);
  endpoints.remove(id, now);
}

function insertSecret(
  { store, world, masterKey }: EndpointsContext,
  { id: endpointId, storeId }: Endpoint,
  {
    secret,
    createdAt,
    retiredAt,
  }: { readonly secret: string; readonly createdAt: number; readonly retiredAt: number | null },
): void {
  const id = world.uuid(`${storeId} secrets`);
  const binding = { id, storeId, nonce: world.randomBytes(NONCE_BYTES) };
  store.signingSecrets.insert(sealSecret(secret, binding, masterKey), { createdAt, endpointId, retiredAt });
}

function checkForm(
  { targets }: Pick<EndpointsContext, "targets">,
  form: EndpointForm,
): Outcome<Pick<Endpoint, "url" | "eventTypes">> {
  const target = addField("url", parseTarget(form.url, targets));
  if (!target.ok) return target;
  const trustCheck = addField("ca", checkCa(form.url, form.ca, targets));
  if (!trustCheck.ok) return trustCheck;
  // Only new addresses are checked for secrets, so that an endpoint from an older version keeps working.
  if (containsSecretInAddress(form.url)) return refuseFact("field_with_token", { field: "url" });
  return mapValue(
    addField("event_types", parseEventTypes(form.eventTypes ?? [ALL_EVENTS])),
    (eventTypes) => ({ url: target.value.url, eventTypes }),
  );
}

export function findEvent(
  store: Pick<Store, "events">,
  storeId: string,
  eventId: string,
): Outcome<StoredEvent> {
  const event = store.events.find(eventId);
  return event === undefined || event.storeId !== storeId
    ? refuseFact("no_event", { event: eventId })
    : accept(event);
}

export function refuseDisabled(endpoint: Endpoint): Outcome<never> {
  const reason = reasonOf(effectiveEndpoint(endpoint, undefined));
  return refuseFact("endpoint_disabled", { endpoint: endpoint.id, why: reason });
}
