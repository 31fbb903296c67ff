import { iso, isoOrNull } from "../../core/clock.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import {
  DEFAULT_OVERLAP_MS,
  DEFAULT_TROUBLE_DELAY_MS,
  type DeliveryWire,
  type EndpointWire,
  type EventWire,
  type EventsQuery,
  type ListenerRequest,
  type TroubleRequest,
  type TroubleWire,
  type webhookOperations,
} from "../../core/control/webhook.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { DeliveryFault } from "../../core/webhook/fault.ts";
import type { Delivery, DeliveryFilter } from "../../store/webhook/deliveries.ts";
import type { DeliveryAttempt } from "../../store/webhook/delivery-attempts.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { World } from "../../world.ts";
import type { EndpointSecrets } from "../webhook/endpoint-secrets.ts";
import {
  addEndpoint,
  addFault,
  clearFaults,
  eventOf,
  registerListener,
  removeEndpoint,
  replayEvent,
  rotateSecret,
  setEndpointState,
  showSecrets,
  testEndpoint,
  type EndpointsContext,
} from "../webhook/endpoints.ts";
import { endpointOf, type EndpointRef } from "../at-store.ts";
import { inStore } from "../in-store.ts";

/** What the operations on webhooks act with. */
export type WebhookActs = EndpointsContext & { readonly world: Pick<World, "sleep" | "monotonic"> };

type WebhookOperation = keyof typeof webhookOperations & OperationName;
type Handler<Name extends WebhookOperation> = (
  context: WebhookActs,
  call: { readonly id: string; readonly body: RequestOf<Name> },
) => Promise<Outcome<AnswerOf<Name>>>;

/** So many are listed where nothing is said. */
const DEFAULT_PAGE = 100;
/** Who waits for events looks again so soon. */
const LOOK_AGAIN_MS = 25;

/** What each operation on endpoints, events and deliveries does; from the wire to the verbs and back. */
export const WEBHOOK_HANDLERS: { readonly [Name in WebhookOperation]: Handler<Name> } = {
  listEndpoints: async (context) =>
    inStore(context, (storeId) =>
      accept({ endpoints: context.store.endpoints.of(storeId).map(endpointWire) }),
    ),
  addEndpoint: (context, { body }) =>
    inStore(context, async (storeId) => {
      const added = await addEndpoint(context, storeId, { url: body.url, eventTypes: body.event_types });
      if (!added.ok) return added;
      const [secret = ""] = added.value.secrets.inForce;
      return accept({ ...endpointWire(added.value), signing_secret: secret });
    }),
  showEndpoint: (context, { id }) =>
    inStore(context, (storeId) => {
      const endpoint = endpointOf(context.store, { storeId, endpointId: id });
      return endpoint.ok ? accept(endpointWire(endpoint.value)) : endpoint;
    }),
  setEndpointState: (context, { id, body }) =>
    inStore(context, async (storeId) => {
      const changed = await stateChange(context, { storeId, endpointId: id }, body.action);
      return changed.ok ? accept(endpointWire(changed.value)) : changed;
    }),
  showSecret: (context, { id }) =>
    inStore(context, async (storeId) =>
      secretsAnswer(await showSecrets(context, { storeId, endpointId: id })),
    ),
  rotateSecret: (context, { id, body }) =>
    inStore(context, async (storeId) => {
      const overlapMs = body.overlap_ms ?? DEFAULT_OVERLAP_MS;
      return secretsAnswer(await rotateSecret(context, { storeId, endpointId: id }, overlapMs));
    }),
  testEndpoint: (context, { id }) =>
    inStore(context, async (storeId) => {
      const tested = await testEndpoint(context, { storeId, endpointId: id });
      return tested.ok ? accept({ event_id: tested.value }) : tested;
    }),
  makeTrouble: (context, { id, body }) =>
    inStore(context, async (storeId) => {
      const faults = await makeTrouble(context, { storeId, endpointId: id }, body);
      return faults.ok ? accept({ troubles: faults.value.map(troubleWire) }) : faults;
    }),
  registerListener: (context, { body }) => inStore(context, (storeId) => listen(context, storeId, body)),
  listEvents: (context, { body }) => inStore(context, (storeId) => listEvents(context, storeId, body)),
  showEvent: (context, { id }) =>
    inStore(context, (storeId) => {
      const event = eventOf(context.store, storeId, id);
      if (!event.ok) return event;
      const deliveries = listDeliveries(context, { storeId, eventId: id });
      return accept({ ...eventWire(event.value), deliveries });
    }),
  replayEvent: (context, { id, body }) =>
    inStore(context, async (storeId) => {
      const replayed = await replayEvent(context, { storeId, eventId: id }, body.endpoint_id);
      if (!replayed.ok) return replayed;
      return accept({
        deliveries: replayed.value.map((one) => ({ id: one.id, endpoint_id: one.endpointId })),
      });
    }),
  listDeliveries: (context, { body }) =>
    inStore(context, (storeId) =>
      accept({
        deliveries: listDeliveries(context, {
          storeId,
          endpointId: body.endpoint_id ?? null,
          eventId: body.event_id ?? null,
          checkoutId: body.checkout_id ?? null,
          state: body.state ?? null,
          limit: body.limit ?? DEFAULT_PAGE,
        }),
      }),
    ),
};

function stateChange(
  context: WebhookActs,
  ref: EndpointRef,
  action: RequestOf<"setEndpointState">["action"],
): Promise<Outcome<Endpoint>> {
  switch (action) {
    case "enable":
      return setEndpointState(context, ref, "enabled");
    case "disable":
      return setEndpointState(context, ref, "disabled");
    case "pause":
      return setEndpointState(context, ref, "paused");
    case "remove":
      return removeEndpoint(context, ref);
  }
}

function makeTrouble(
  context: WebhookActs,
  ref: EndpointRef,
  request: TroubleRequest,
): Promise<Outcome<readonly DeliveryFault[]>> {
  if (request.action === "clear") return clearFaults(context, ref);
  const { kind, event_id: eventId = null, times = 1, delay_ms: delayMs = DEFAULT_TROUBLE_DELAY_MS } = request;
  return addFault(context, { ...ref, eventId, kind, delayMs, remaining: times });
}

async function listen(
  context: WebhookActs,
  storeId: string,
  { url, event_types: eventTypes, since }: ListenerRequest,
): Promise<Outcome<AnswerOf<"registerListener">>> {
  const from = since && ("event_id" in since ? { eventId: since.event_id } : { at: Date.parse(since.at) });
  const registered = await registerListener(context, storeId, { url, eventTypes, since: from });
  if (!registered.ok) return registered;
  const { secrets, replayed } = registered.value;
  return accept({ ...endpointWire(registered.value), signing_secrets: [...secrets.inForce], replayed });
}

/** Without `since` the newest events. A request that waits is answered when there is something, or nothing came. */
async function listEvents(
  { store, world }: WebhookActs,
  storeId: string,
  query: EventsQuery,
): Promise<Outcome<AnswerOf<"listEvents">>> {
  const { since: after, type = null, checkout_id: checkoutId = null, limit = DEFAULT_PAGE } = query;
  const until = world.monotonic() + (query.wait_ms ?? 0);
  for (;;) {
    const events =
      after === undefined
        ? store.events.latest({ storeId, type, checkoutId, limit })
        : store.events.after({ storeId, after, type, checkoutId, limit });
    const left = until - world.monotonic();
    if (events.length > 0 || left <= 0) return accept({ events: events.map(eventWire) });
    await world.sleep(Math.min(left, LOOK_AGAIN_MS));
  }
}

function listDeliveries(
  { store }: WebhookActs,
  wanted: Partial<DeliveryFilter> & Pick<DeliveryFilter, "storeId">,
): DeliveryWire[] {
  const everything = { endpointId: null, eventId: null, checkoutId: null, state: null, limit: DEFAULT_PAGE };
  return store.deliveries.list({ ...everything, ...wanted }).map((delivery) =>
    deliveryWire(delivery, {
      type: store.events.find(delivery.eventId)?.type ?? "",
      attempts: store.deliveryAttempts.of(delivery.id),
    }),
  );
}

function secretsAnswer(secrets: Outcome<EndpointSecrets>): Outcome<AnswerOf<"showSecret">> {
  if (!secrets.ok) return secrets;
  return accept({ in_force: [...secrets.value.inForce], retired: [...secrets.value.retired] });
}

function endpointWire(endpoint: Endpoint): EndpointWire {
  const { id, kind, url, eventTypes, state, reason, failingSince, createdAt } = endpoint;
  return {
    id,
    kind,
    url,
    event_types: [...eventTypes],
    state,
    reason,
    failing_since: isoOrNull(failingSince),
    created_at: iso(createdAt),
  };
}

function eventWire({ id, position, type, checkoutId, sequence, createdAt, body }: StoredEvent): EventWire {
  return {
    event_id: id,
    position,
    type,
    checkout_id: checkoutId,
    sequence,
    created_at: iso(createdAt),
    body,
  };
}

function deliveryWire(
  delivery: Delivery,
  { type, attempts }: { readonly type: string; readonly attempts: readonly DeliveryAttempt[] },
): DeliveryWire {
  const { id, endpointId, eventId, checkoutId, cause, state, tries, nextAt, createdAt } = delivery;
  return {
    id,
    endpoint_id: endpointId,
    event_id: eventId,
    type,
    checkout_id: checkoutId,
    cause,
    state,
    tries,
    next_at: state === "due" ? iso(nextAt) : null,
    created_at: iso(createdAt),
    attempts: attempts.map(attemptWire),
  };
}

function attemptWire(attempt: DeliveryAttempt): DeliveryWire["attempts"][number] {
  const { number, milliseconds, url, address, status, error, fault, answer } = attempt;
  return {
    number,
    started_at: iso(attempt.startedAt),
    finished_at: isoOrNull(attempt.finishedAt),
    milliseconds,
    url,
    address,
    status,
    error,
    trouble: fault,
    // Written by us as a record of texts.
    headers: JSON.parse(attempt.headers) as Record<string, string>,
    body_sha256: attempt.bodyHash,
    answer: answer === null ? null : Buffer.from(answer).toString("utf8"),
    next_at: isoOrNull(attempt.nextAt),
  };
}

function troubleWire({ endpointId, eventId, kind, delayMs, remaining }: DeliveryFault): TroubleWire {
  return { endpoint_id: endpointId, event_id: eventId, kind, delay_ms: delayMs, remaining };
}
