import * as z from "zod";
import { DELIVERY_ERRORS, DELIVERY_STATES } from "../webhook/delivery.ts";
import { FAULT_KINDS } from "../webhook/fault.ts";

/** A day of milliseconds: so long both secrets sign by default while one is rotated. */
export const DEFAULT_OVERLAP_MS = 24 * 3_600_000;
/** How long `delay` and `reorder` hold a delivery back where nothing is said, in milliseconds. */
export const DEFAULT_TROUBLE_DELAY_MS = 2000;
/** The longest that a caller can wait for events in one request, in milliseconds. */
export const MAX_EVENT_WAIT_MS = 20_000;

const MAX_OVERLAP_MS = 30 * 24 * 3_600_000;
const MAX_TROUBLE_DELAY_MS = 24 * 3_600_000;
const MAX_TROUBLE_TIMES = 1000;
const MAX_PAGE = 1000;

const moment = z.string().meta({ format: "date-time" });

const endpoint = z.object({
  id: z.uuid(),
  kind: z.enum(["url", "listener"]),
  url: z.string(),
  event_types: z.array(z.string()),
  state: z.enum(["enabled", "paused", "disabled"]),
  reason: z.string().nullable(),
  failing_since: moment.nullable(),
  created_at: moment,
});
/** An endpoint as the control API tells it. */
export type EndpointWire = z.infer<typeof endpoint>;

const eventEntry = z.object({
  event_id: z.uuid(),
  /** Where it stands among all events: `since` of a later request. */
  position: z.int().min(1),
  type: z.string(),
  checkout_id: z.uuid().nullable(),
  sequence: z.int().min(1),
  created_at: moment,
  /** The exact text that every delivery carries. */
  body: z.string(),
});
/** An event as the control API tells it. */
export type EventWire = z.infer<typeof eventEntry>;

const deliveryAttempt = z.object({
  number: z.int().min(1),
  started_at: moment,
  finished_at: moment.nullable(),
  milliseconds: z.int().nullable(),
  url: z.string(),
  address: z.string().nullable(),
  status: z.int().nullable(),
  error: z.enum(DELIVERY_ERRORS).nullable(),
  trouble: z.enum(FAULT_KINDS).nullable(),
  headers: z.record(z.string(), z.string()),
  body_sha256: z.string(),
  answer: z.string().nullable(),
  next_at: moment.nullable(),
});
const delivery = z.object({
  id: z.uuid(),
  endpoint_id: z.uuid(),
  event_id: z.uuid(),
  type: z.string(),
  checkout_id: z.uuid().nullable(),
  cause: z.enum(["event", "replay", "duplicate"]),
  state: z.enum(DELIVERY_STATES),
  tries: z.int().min(0),
  next_at: moment.nullable(),
  created_at: moment,
  attempts: z.array(deliveryAttempt),
});
/** A delivery with its attempts, as the control API tells it. */
export type DeliveryWire = z.infer<typeof delivery>;

const trouble = z.object({
  endpoint_id: z.uuid(),
  event_id: z.uuid().nullable(),
  kind: z.enum(FAULT_KINDS),
  delay_ms: z.int().min(0),
  remaining: z.int().min(1),
});
/** Trouble that is still to come, as the control API tells it. */
export type TroubleWire = z.infer<typeof trouble>;

/** A delivery that was tried while a clock moved, as the control API tells it. */
export const dispatched = z.object({
  at: moment,
  delivery_id: z.uuid(),
  event_id: z.uuid(),
  type: z.string(),
  endpoint_id: z.uuid(),
  status: z.int().nullable(),
  error: z.enum(DELIVERY_ERRORS).nullable(),
  next_at: moment.nullable(),
});
/** A delivery that was tried while a clock moved, as it goes out. */
export type DispatchedWire = z.infer<typeof dispatched>;

const eventTypes = z.array(z.string()).min(1).max(20);
const endpointRequest = z.strictObject({ url: z.string(), event_types: eventTypes.optional() });
const stateRequest = z.strictObject({ action: z.enum(["enable", "disable", "pause", "remove"]) });
/** What is to become of an endpoint, as the control API takes it. */
export type EndpointStateRequest = z.infer<typeof stateRequest>;
const rotateRequest = z.strictObject({ overlap_ms: z.int().min(0).max(MAX_OVERLAP_MS).optional() });
const troubleRequest = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.literal("add"),
    kind: z.enum(FAULT_KINDS),
    times: z.int().min(1).max(MAX_TROUBLE_TIMES).optional(),
    event_id: z.uuid().optional(),
    delay_ms: z.int().min(0).max(MAX_TROUBLE_DELAY_MS).optional(),
  }),
  z.strictObject({ action: z.literal("clear") }),
]);
/** Trouble to make, or to take back, as the control API takes it. */
export type TroubleRequest = z.infer<typeof troubleRequest>;
const listenerRequest = z.strictObject({
  url: z.string(),
  event_types: eventTypes.optional(),
  /** What it gets again first: everything after an event, or everything from a moment on. */
  since: z
    .union([z.strictObject({ event_id: z.uuid() }), z.strictObject({ at: z.iso.datetime({ offset: true }) })])
    .optional(),
});
/** A listener that comes, as the control API takes it. */
export type ListenerRequest = z.infer<typeof listenerRequest>;

const eventsQuery = z.strictObject({
  since: z.coerce.number().int().min(0).optional(),
  type: z.string().optional(),
  checkout_id: z.uuid().optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
  wait_ms: z.coerce.number().int().min(0).max(MAX_EVENT_WAIT_MS).optional(),
});
/** Which events are meant. Without `since` the newest ones. */
export type EventsQuery = z.infer<typeof eventsQuery>;
const deliveriesQuery = z.strictObject({
  endpoint_id: z.uuid().optional(),
  event_id: z.uuid().optional(),
  checkout_id: z.uuid().optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).optional(),
});
/** Which deliveries are meant. */
export type DeliveriesQuery = z.infer<typeof deliveriesQuery>;

const NOTHING = z.undefined();
const deliveries = z.object({ deliveries: z.array(delivery) });
const troubles = z.object({ troubles: z.array(trouble) });

/** The operations on endpoints, events and deliveries (decisions 11 to 14, 45). */
export const webhookOperations = {
  listEndpoints: {
    method: "GET",
    path: "/__sandbox/endpoints",
    summary: "Lists where the store's events are delivered, oldest first",
    request: NOTHING,
    answer: z.object({ endpoints: z.array(endpoint) }),
    bare: false,
    refusals: ["not_found"],
  },
  addEndpoint: {
    method: "POST",
    path: "/__sandbox/endpoints",
    summary: "Adds an address that events are delivered to; without event_types all of them",
    request: endpointRequest,
    answer: endpoint.extend({ signing_secret: z.string() }),
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  showEndpoint: {
    method: "GET",
    path: "/__sandbox/endpoints/{id}",
    summary: "Shows an endpoint",
    request: NOTHING,
    answer: endpoint,
    bare: false,
    refusals: ["not_found"],
  },
  setEndpointState: {
    method: "POST",
    path: "/__sandbox/endpoints/{id}/state",
    summary: "Switches an endpoint on or off, pauses it, or removes it with all that is on its way there",
    request: stateRequest,
    answer: endpoint,
    bare: false,
    refusals: ["not_found"],
  },
  showSecret: {
    method: "GET",
    path: "/__sandbox/endpoints/{id}/secret",
    summary:
      "Shows the signing secrets of an endpoint: those in force, newest first, and those that are over",
    request: NOTHING,
    answer: z.object({ in_force: z.array(z.string()), retired: z.array(z.string()) }),
    bare: false,
    refusals: ["not_found"],
  },
  rotateSecret: {
    method: "POST",
    path: "/__sandbox/endpoints/{id}/secret",
    summary: "Gives an endpoint a new signing secret; the old one signs too until the overlap is over",
    request: rotateRequest,
    answer: z.object({ in_force: z.array(z.string()), retired: z.array(z.string()) }),
    bare: false,
    refusals: ["not_found"],
  },
  testEndpoint: {
    method: "POST",
    path: "/__sandbox/endpoints/{id}/test",
    summary: "Delivers an event webhook.test to one endpoint",
    request: z.strictObject({}),
    answer: z.object({ event_id: z.uuid() }),
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  makeTrouble: {
    method: "POST",
    path: "/__sandbox/endpoints/{id}/trouble",
    summary: "Lets the next deliveries to an endpoint go wrong in a way of your choice, or takes that back",
    request: troubleRequest,
    answer: troubles,
    bare: false,
    refusals: ["not_found"],
  },
  registerListener: {
    method: "POST",
    path: "/__sandbox/listener",
    summary: "Says where the store's listener is now; what waited for it is delivered",
    request: listenerRequest,
    answer: endpoint.extend({ signing_secrets: z.array(z.string()), replayed: z.int().min(0) }),
    bare: false,
    refusals: ["not_found"],
  },
  listEvents: {
    method: "GET",
    path: "/__sandbox/events",
    summary: "Lists events, oldest first: after a position, or the newest; waits for one where there is none",
    request: eventsQuery,
    answer: z.object({ events: z.array(eventEntry) }),
    bare: false,
    refusals: ["not_found"],
  },
  showEvent: {
    method: "GET",
    path: "/__sandbox/events/{id}",
    summary: "Shows an event and its deliveries",
    request: NOTHING,
    answer: eventEntry.extend(deliveries.shape),
    bare: false,
    refusals: ["not_found"],
  },
  replayEvent: {
    method: "POST",
    path: "/__sandbox/events/{id}/replay",
    summary: "Delivers an event again, with the same event_id and bytes; no state changes",
    request: z.strictObject({ endpoint_id: z.uuid().optional() }),
    answer: z.object({ deliveries: z.array(z.object({ id: z.uuid(), endpoint_id: z.uuid() })) }),
    bare: false,
    refusals: ["not_found", "state_conflict"],
  },
  listDeliveries: {
    method: "GET",
    path: "/__sandbox/deliveries",
    summary: "Lists deliveries with their attempts, newest first",
    request: deliveriesQuery,
    answer: deliveries,
    bare: false,
    refusals: ["not_found"],
  },
} as const;
