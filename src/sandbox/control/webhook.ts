import { DEFAULT_OVERLAP_MS } from "../../core/control/operations/webhook.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { REAL_CLOCK, storeNow } from "../../core/clock.ts";
import { orderIdInBody } from "../../core/checkout/event.ts";
import { english } from "../../core/language.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import {
  effectiveEndpoint,
  LISTENER_DISCONNECTED,
  reasonWords,
  type Endpoint,
  type EffectiveEndpoint,
} from "../../core/webhook/endpoint.ts";
import { readAuditedHeaders } from "../../core/webhook/delivery-request.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Delivery, DeliveryFilter } from "../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../store/webhook/delivery-attempts.ts";
import { eventBodyIn } from "../../core/shape/dialect.ts";
import { findEndpoint, withEndpoint } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import {
  addEndpoint,
  findEvent,
  registerListener,
  removeEndpoint,
  rotateSecret,
  setEndpointState,
  testEndpoint,
} from "../webhook/endpoints.ts";
import { endpointSecrets } from "../webhook/endpoint-secrets.ts";
import { replayEvent, replayFailed, retryDeliveries } from "../webhook/replays.ts";
import type { OperationContext, HandlersOf } from "./handler.ts";
import { pollUntil } from "../runtime/write-signals.ts";
import type { DeliveryEntry, EventEntry } from "../../core/webhook/shapes.ts";

const DEFAULT_LIMIT = 100;

const STATE_BY_ACTION = { enable: "enabled", disable: "disabled", pause: "paused", leave: "paused" } as const;

function addHold(
  { holdOf }: Pick<OperationContext, "holdOf">,
  endpoint: EffectiveEndpoint,
): EffectiveEndpoint {
  const hold = holdOf(endpoint.storeId);
  const hasOwnCause = endpoint.cause !== null && endpoint.cause.fact !== "by_request";
  if (hold === undefined || hasOwnCause) return endpoint;
  const heldEndpoint = { ...endpoint, cause: null, hold };
  return { ...heldEndpoint, reason: english(reasonWords(heldEndpoint)) };
}

export const webhookHandlers = {
  listEndpoints: async (context, { storeId }) => {
    const endpoints = context.store.endpoints.of(storeId);
    return accept({
      storeId,
      endpoints: endpoints.map((endpoint) => addHold(context, currentEndpoint(context, endpoint))),
    });
  },
  addEndpoint: async (context, { storeId, body }) => {
    const outcome = await addEndpoint(context, storeId, body);
    if (!outcome.ok) return outcome;
    const [signingSecret = ""] = outcome.value.secrets.inForce;
    return accept({ ...currentEndpoint(context, outcome.value), signingSecret });
  },
  showEndpoint: (context, { storeId, id, body }) => awaitEndpointChange(context, { storeId, id }, body),
  setEndpointState: async (context, { storeId, id, body: { action } }) => {
    const ref = { storeId, endpointId: id };
    const outcome =
      action === "remove"
        ? await removeEndpoint(context, ref)
        : await setEndpointState(context, ref, {
            state: STATE_BY_ACTION[action],
            ...(action === "leave" ? { reason: LISTENER_DISCONNECTED } : {}),
          });
    if (action === "leave" && outcome.ok) context.relay.endOthers(storeId);
    return outcome.ok ? accept(currentEndpoint(context, outcome.value)) : outcome;
  },
  showSecret: (context, { storeId, id }) =>
    withEndpoint(context, { storeId, endpointId: id }, (endpoint, now) =>
      accept({
        ...endpointSecrets(context, endpoint, now),
        storeTime: storeTimeIfMoved(context, storeId),
        dialect: context.store.stores.dialect(storeId),
      }),
    ),
  rotateSecret: (context, { storeId, id, body: { overlapMs = DEFAULT_OVERLAP_MS } }) =>
    rotateSecret(context, { storeId, endpointId: id }, overlapMs),
  testEndpoint: async (context, { storeId, id }) =>
    mapValue(await testEndpoint(context, { storeId, endpointId: id }), (eventId) => ({ eventId })),
  registerListener: async (context, { storeId, body }) => {
    const outcome = await registerListener(context, storeId, body);
    if (!outcome.ok) return outcome;
    if (body.forwardTo === undefined) context.listenerTargets.delete(storeId);
    else context.listenerTargets.set(storeId, body.forwardTo);
    context.relay.endOthers(storeId, outcome.value.url);
    const { secrets, replayed } = outcome.value;
    return accept({
      ...currentEndpoint(context, outcome.value),
      replayed,
      signingSecrets: secrets.inForce,
      storeTime: storeTimeIfMoved(context, storeId),
    });
  },
  fetchDeliveries: async (context, { storeId, body: { url, known = "", waitMs } }) => {
    const { store, relay } = context;
    const handledIds = new Set(known.split(","));
    const isListening = (): boolean =>
      store.endpoints
        .of(storeId)
        .some((item) => item.kind === "listener" && item.url === url && item.state === "enabled");
    const requests = await awaitItems(context, { storeId, waitMs }, () =>
      isListening() ? relay.fetchRequests({ storeId, url }).filter(({ id }) => !handledIds.has(id)) : [],
    );
    return accept({ requests: requests.map(({ id, headers, body }) => ({ id, headers, body })) });
  },
  answerDelivery: async ({ relay }, { storeId, id, body: { status, body, retryAfter } }) => {
    const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
    const isHeld = relay.answer({ storeId, id }, { ok: true, status, headers, body });
    return isHeld ? accept({ id }) : refuseFact("no_held_request", { request: id });
  },
  listEvents: async (context, { storeId, body }) => {
    const { before, since, limit = DEFAULT_LIMIT } = body;
    const page = checkPage(body);
    if (!page.ok) return page;
    const cursor = before === undefined ? undefined : findEvent(context.store, storeId, before);
    if (cursor?.ok === false) return cursor;
    const isNewest = since === undefined;
    const query = { ...body, limit: isNewest ? limit + 1 : limit };
    const foundEvents = await awaitEvents(context, storeId, query, cursor?.value.position);
    const shownItems = foundEvents.slice(-limit);
    const nextBefore = isNewest && foundEvents.length > limit ? (shownItems[0]?.id ?? null) : null;
    return accept({ storeId, events: shownItems.map(eventEntry), nextBefore });
  },
  showEvent: async ({ store }, { storeId, id }) => {
    const event = findEvent(store, storeId, id);
    if (!event.ok) return event;
    const dialect = store.stores.dialect(storeId);
    return accept({
      ...eventEntry(event.value),
      ...(dialect && { sentBody: eventBodyIn(dialect, event.value.body) }),
      deliveries: listDeliveries(store, { storeId, eventId: id, limit: DEFAULT_LIMIT }),
    });
  },
  replayEvent: async (context, { storeId, id, body }) =>
    mapValue(await replayEvent(context, { storeId, eventId: id }, body.endpointId), (deliveries) => ({
      deliveries,
    })),
  replayFailed: (context, { storeId, body }) => replayFailed(context, storeId, body),
  retryDeliveries: (context, { storeId, body }) => retryDeliveries(context, storeId, body),
  listDeliveries: async (context, { storeId, body }) => {
    const { store } = context;
    const { before, limit = DEFAULT_LIMIT, waitMs } = body;
    const page = checkPage(body);
    if (!page.ok) return page;
    if (before !== undefined && store.deliveries.find(before)?.storeId !== storeId)
      return refuseFact("no_delivery_before", { delivery: before });
    const foundDeliveries = await awaitItems(context, { storeId, waitMs }, () =>
      listDeliveries(store, { storeId, ...body, limit: limit + 1 }),
    );
    const deliveries = foundDeliveries.slice(0, limit);
    return accept({
      storeId,
      deliveries,
      nextBefore: foundDeliveries.length > limit ? (deliveries.at(-1)?.id ?? null) : null,
    });
  },
} satisfies HandlersOf<"webhooks">;

function currentEndpoint({ leases }: OperationContext, endpoint: Endpoint): EffectiveEndpoint {
  return effectiveEndpoint(endpoint, leases.webhooksHeldBy(endpoint.storeId));
}

function storeTimeIfMoved({ store, world }: OperationContext, storeId: string): number | null {
  const clock = store.clocks.of(storeId) ?? REAL_CLOCK;
  const isReal = clock.frozenAt === null && clock.offsetMs === 0;
  return isReal ? null : storeNow(clock, world.now());
}

const CHECK_INTERVAL_MS = 1000;

function awaitEndpointChange(
  context: OperationContext,
  { storeId, id: endpointId }: { readonly storeId: string; readonly id: string },
  { url, waitMs }: RequestOf<"showEndpoint">,
): Promise<Outcome<EffectiveEndpoint>> {
  const read = (): Outcome<EffectiveEndpoint> =>
    mapValue(findEndpoint(context.store, { storeId, endpointId }), (row) => currentEndpoint(context, row));
  const isEnough = (endpoint: Outcome<EffectiveEndpoint>): boolean =>
    !endpoint.ok || endpoint.value.state !== "enabled" || endpoint.value.url !== url;
  return pollUntil(context, { storeId, waitMs }, { read, isEnough, maxPauseMs: CHECK_INTERVAL_MS });
}

function checkPage(
  query: Partial<Pick<RequestOf<"listEvents">, "before" | "since" | "waitMs">>,
): Outcome<void> {
  const { before, since, waitMs } = query;
  if (before === undefined || (since === undefined && waitMs === undefined)) return accept(undefined);
  return refuseFact("before_and_newer", { newer: since === undefined ? "wait_ms" : "since" });
}

function awaitEvents(
  context: OperationContext,
  storeId: string,
  query: RequestOf<"listEvents">,
  position?: number,
): Promise<readonly StoredEvent[]> {
  const { events } = context.store;
  const { type = null, checkoutId = null, orderId, limit = DEFAULT_LIMIT, from, waitMs } = query;
  let nextPosition = query.since;
  return awaitItems(context, { storeId, waitMs }, () => {
    const eventFilter = { storeId, type, checkoutId, orderId, limit };
    const newEvents =
      nextPosition === undefined
        ? events.latest({ ...eventFilter, before: position })
        : events.after({ ...eventFilter, after: nextPosition, ...(from !== undefined && { from }) });
    if (newEvents.length === 0) nextPosition = events.lastPosition();
    return newEvents;
  });
}

function awaitItems<Found>(
  context: OperationContext,
  { storeId, waitMs }: { readonly storeId: string; readonly waitMs: number | undefined },
  read: () => readonly Found[],
): Promise<readonly Found[]> {
  return pollUntil(context, { storeId, waitMs }, { read, isEnough: (items) => items.length > 0 });
}

function listDeliveries(store: ServiceContext["store"], filter: DeliveryFilter): DeliveryEntry[] {
  return store.deliveries.list(filter).map((delivery) => deliveryEntry(store, delivery));
}

function deliveryEntry(store: ServiceContext["store"], delivery: Delivery): DeliveryEntry {
  const event = store.events.find(delivery.eventId);
  const attempts = store.deliveryAttempts.of(delivery.id).map(attemptEntry);
  return {
    ...delivery,
    type: event?.type ?? "",
    orderId: orderIdInBody(event?.body ?? "") || null,
    url: attempts.at(-1)?.url ?? store.endpoints.find(delivery.endpointId)?.url ?? "",
    nextAt: delivery.state === "due" ? delivery.nextAt : null,
    attempts,
  };
}

function eventEntry(event: StoredEvent): EventEntry {
  return { ...event, eventId: event.id };
}

function attemptEntry(attempt: DeliveryAttempt): DeliveryEntry["attempts"][number] {
  const { madeBy: maker, ...attemptFields } = attempt;
  const { headers, bodyHash: bodySha256, answer } = attemptFields;
  return {
    ...attemptFields,
    by: maker,
    headers: readAuditedHeaders(headers),
    bodySha256,
    answer: answer === null ? null : Buffer.from(answer).toString("utf8"),
  };
}
