import { dialectSchema } from "../../calibration/dialect-section.ts";
import { certificates } from "../../config/store-fields.ts";
import * as z from "zod/mini";
import { EVENT_TYPE_FORM, EVENT_PATTERNS, EVENT_TYPES } from "../../checkout/event-types.ts";
import { zodErrorOf, moment, momentInRequest, wholeNumber, wholeNumberInQuery } from "../../shape/fields.ts";
import { DELIVERY_STATES } from "../../webhook/delivery.ts";
import { deliveryEntry, endpoint, eventEntry, signingSecrets } from "../../webhook/shapes.ts";
import { SECRET_PATTERN } from "../../text.ts";
import { TARGET_SCHEMA } from "../../webhook/target.ts";
import { storeOperation } from "../operation.ts";

export const DEFAULT_OVERLAP_MS = 24 * 3_600_000;
export const MAX_EVENT_WAIT_MS = 20_000;

const MAX_OVERLAP_MS = 30 * 24 * 3_600_000;
const MAX_PAGE_LENGTH = 1000;

const eventPattern = z.string().check(z.meta({ enum: EVENT_PATTERNS }));
const eventTypes = z.array(eventPattern).check(z.minLength(1), z.maxLength(20));
const receiverUrl = z.string().check(z.meta({ ...TARGET_SCHEMA, not: { pattern: SECRET_PATTERN } }));

const deliveries = z.object({ deliveries: z.array(deliveryEntry) });

export const webhookOperations = {
  listEndpoints: storeOperation("viewer", {
    route: ["GET", "/endpoints"],
    summary: "Lists the endpoints",
    description:
      "Returns every endpoint of the store, oldest first, with its state and, if it is paused or disabled, the reason. Removed endpoints are not listed.",
    answer: () => z.object({ storeId: z.uuid(), endpoints: z.array(endpoint) }),
  }),
  addEndpoint: storeOperation("store", {
    route: ["POST", "/endpoints"],
    summary: "Adds an endpoint",
    description:
      "Adds an endpoint for events of the types in `event_types`, by default for all events, and returns it with its signing secret. Refuses a host that is neither this machine nor allowed at the start, an address that is already registered, and more than 20 endpoints.",
    request: () =>
      z.strictObject({
        url: receiverUrl,
        eventTypes: z.optional(eventTypes),
        /** Sends one delivery at a time. Default: several at a time, in order for each checkout. */
        inOrder: z.optional(z.boolean()),
        /** The CA certificates in PEM to trust for https; default: the sandbox's CAs. */
        ca: z.optional(certificates),
      }),
    answer: () => z.extend(endpoint, { signingSecret: z.string() }),
    refusals: ["state_conflict"],
  }),
  showEndpoint: storeOperation("viewer", {
    route: ["GET", "/endpoints/{id}"],
    summary: "Shows an endpoint",
    description:
      "Returns an endpoint. With `url` and `wait_ms` it waits while the endpoint is enabled at that address. Refuses an unknown endpoint.",
    request: () =>
      z.strictObject({
        url: z.optional(z.string()),
        waitMs: z.optional(wholeNumberInQuery(0, MAX_EVENT_WAIT_MS)),
      }),
    answer: () => endpoint,
  }),
  setEndpointState: storeOperation("store", {
    route: ["POST", "/endpoints/{id}/state"],
    summary: "Enables, disables, pauses or removes an endpoint",
    description:
      "Enables, disables or pauses an endpoint, or removes it with its queued deliveries, and returns the endpoint. A listener that ends pauses its own endpoint with `leave`. Refuses an unknown endpoint, and `leave` for one that is not a listener's.",
    request: () => z.strictObject({ action: z.enum(["enable", "disable", "pause", "leave", "remove"]) }),
    answer: () => endpoint,
    refusals: ["state_conflict"],
  }),
  showSecret: storeOperation("store", {
    route: ["GET", "/endpoints/{id}/secret"],
    summary: "Shows the signing secrets of an endpoint",
    description:
      "Returns the active signing secrets of an endpoint, newest first, and the expired secrets. Refuses an unknown endpoint.",
    answer: () =>
      z.extend(signingSecrets, {
        /** The store's time if its clock was moved or frozen; null for real time. */
        storeTime: z.nullable(moment),
        dialect: z.optional(dialectSchema()),
      }),
  }),
  rotateSecret: storeOperation("store", {
    route: ["POST", "/endpoints/{id}/secret"],
    summary: "Rotates the signing secret of an endpoint",
    description:
      "Creates a new signing secret, and returns all secrets of the endpoint. Deliveries are signed with both the old and the new secret until the overlap ends, by default after a day. Refuses an unknown endpoint.",
    request: () =>
      z.strictObject({
        overlapMs: z.optional(wholeNumber(0, MAX_OVERLAP_MS)),
      }),
    answer: () => signingSecrets,
  }),
  testEndpoint: storeOperation("store", {
    route: ["POST", "/endpoints/{id}/test"],
    summary: "Sends a test event to an endpoint",
    description:
      "Queues a `webhook.test` event for one endpoint, and returns the event's id. Refuses a disabled or unknown endpoint.",
    request: () => z.strictObject({}),
    answer: () => z.object({ eventId: z.uuid() }),
    refusals: ["state_conflict"],
  }),
  registerListener: storeOperation("store", {
    route: ["POST", "/listener"],
    summary: "Registers the address of a listener",
    description:
      "Registers the current address of `checkout listen`, and returns its endpoint with the signing secrets. Waiting events are then delivered; with `since`, older events are delivered first. Refuses an unknown event and a foreign host.",
    request: () =>
      z.strictObject({
        url: receiverUrl,
        /** The address to which the listener forwards events, for drills of that receiver; default: none. */
        forwardTo: z.optional(z.string()),
        eventTypes: z.optional(eventTypes),
        /** Redelivers older events first: all after an event, or all since a moment. */
        since: z.optional(
          z.union([z.strictObject({ eventId: z.uuid() }), z.strictObject({ at: momentInRequest })]),
        ),
      }),
    answer: () =>
      z.extend(endpoint, {
        signingSecrets: z.array(z.string()),
        replayed: wholeNumber(0),
        /** The store's time if its clock was moved or frozen; null for real time. */
        storeTime: z.nullable(moment),
      }),
    refusals: ["state_conflict"],
  }),
  fetchDeliveries: storeOperation("store", {
    route: ["GET", "/listener/requests"],
    summary: "Fetches the deliveries to a listener on another machine",
    description:
      "Returns the signed requests that are held for the listener registered at `url`, an address below `listener.invalid`, and have no answer yet, except those in `known`. With `wait_ms` it waits for one. A request that nobody answers in time counts as an attempt without an answer.",
    request: () =>
      z.strictObject({
        url: z.string(),
        known: z.optional(z.string()),
        waitMs: z.optional(wholeNumberInQuery(0, MAX_EVENT_WAIT_MS)),
      }),
    answer: () =>
      z.object({
        requests: z.array(
          z.object({ id: z.uuid(), headers: z.record(z.string(), z.string()), body: z.string() }),
        ),
      }),
  }),
  answerDelivery: storeOperation("store", {
    route: ["POST", "/listener/requests/{id}"],
    summary: "Answers a fetched delivery",
    description:
      "Passes on the answer of a listener to a request that it has fetched; the delivery's attempt then ends as with an answer over the network. Refuses a request that is unknown or whose time is up.",
    request: () =>
      z.strictObject({
        status: wholeNumber(200, 599),
        body: z.string(),
        retryAfter: z.optional(z.string()),
      }),
    answer: () => z.object({ id: z.uuid() }),
  }),
  listEvents: storeOperation("viewer", {
    route: ["GET", "/events"],
    summary: "Lists events",
    description:
      "Returns events that match every filter, oldest first: the events after `since`, or the newest, and then, if there are more, the id to pass as `before`. With `wait_ms` it waits for a match, and returns an empty list if there is none in time. Refuses `before` with `since` or `wait_ms`.",
    request: () =>
      z.strictObject({
        since: z.optional(wholeNumberInQuery(0)),
        from: z.optional(momentInRequest),
        /** `next_before` of the previous page. Refused with `since` or `wait_ms`. */
        before: z.optional(z.uuid()),
        type: z.optional(
          z.string().check(
            z.refine(
              (type) => EVENT_TYPES.includes(type),
              zodErrorOf([`expected ${EVENT_TYPE_FORM}`, `应为事件类型，例如 ${EVENT_TYPES[0]}`]),
            ),
            z.meta({ enum: EVENT_TYPES }),
          ),
        ),
        checkoutId: z.optional(z.uuid()),
        orderId: z.optional(z.string()),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE_LENGTH)),
        waitMs: z.optional(wholeNumberInQuery(0, MAX_EVENT_WAIT_MS)),
      }),
    answer: () =>
      z.object({ storeId: z.uuid(), events: z.array(eventEntry), nextBefore: z.nullable(z.uuid()) }),
  }),
  showEvent: storeOperation("viewer", {
    route: ["GET", "/events/{id}"],
    summary: "Shows an event and its deliveries",
    description:
      "Returns an event with its exact body, and each of its deliveries with the attempts. Refuses an id that is not an event of the store.",
    answer: () =>
      z.extend(eventEntry, {
        ...deliveries.shape,
        /** The body as sent in the store's dialect; missing if it equals `body`. */
        sentBody: z.optional(z.string()),
      }),
  }),
  replayEvent: storeOperation("store", {
    route: ["POST", "/events/{id}/replay"],
    summary: "Replays an event",
    description:
      "Queues an event again, with the same event_id and bytes, for one endpoint or for all enabled endpoints that receive its type, and returns the deliveries. No payment is repeated. Refuses an unknown event, and a store without such an endpoint.",
    request: () => z.strictObject({ endpointId: z.optional(z.uuid()) }),
    answer: () => z.object({ deliveries: z.array(z.object({ id: z.uuid(), endpointId: z.uuid() })) }),
    refusals: ["state_conflict"],
  }),
  replayFailed: storeOperation("store", {
    route: ["POST", "/deliveries/replay"],
    summary: "Replays failed events",
    description:
      "Delivers again what was created since a given time and has failed: up to 1000 events whose last delivery to an endpoint failed are queued again (`replayed`), and deliveries to enabled endpoints that wait after a failed attempt are sent now (`retried`). Returns both numbers and whether there are more. Refuses an endpoint that is unknown or disabled, and a store for which nothing is delivered.",
    request: () =>
      z.strictObject({
        /** Only deliveries that were created at or after this moment, by the store's clock. */
        since: momentInRequest,
        endpointId: z.optional(z.uuid()),
      }),
    answer: () => z.object({ replayed: wholeNumber(0), retried: wholeNumber(0), more: z.boolean() }),
    refusals: ["state_conflict"],
  }),
  retryDeliveries: storeOperation("store", {
    route: ["POST", "/deliveries/retry"],
    summary: "Sends waiting deliveries now",
    description:
      "Makes the deliveries that wait for their next attempt due now, to one endpoint or to all enabled endpoints, and of one order_id or of all, and returns their number; the events of an order keep their order. At most 1000 to each endpoint at once: `more` says whether others still wait. Refuses an endpoint that is unknown, disabled or paused, and a store for which nothing is delivered.",
    request: () => z.strictObject({ endpointId: z.optional(z.uuid()), orderId: z.optional(z.string()) }),
    answer: () => z.object({ retried: wholeNumber(0), more: z.boolean() }),
    refusals: ["state_conflict"],
  }),
  listDeliveries: storeOperation("viewer", {
    route: ["GET", "/deliveries"],
    summary: "Lists deliveries",
    description:
      "Returns a page of deliveries with their attempts, newest first, and, if there are more, the id to pass as `before`. With `wait_ms` it waits for a match, and returns an empty list if there is none in time. Refuses an unknown `before`, and `before` with `wait_ms`.",
    request: () =>
      z.strictObject({
        endpointId: z.optional(z.uuid()),
        eventId: z.optional(z.uuid()),
        checkoutId: z.optional(z.uuid()),
        orderId: z.optional(z.string()),
        state: z.optional(z.enum(DELIVERY_STATES)),
        /** `next_before` of the previous page. */
        before: z.optional(z.uuid()),
        limit: z.optional(wholeNumberInQuery(1, MAX_PAGE_LENGTH)),
        waitMs: z.optional(wholeNumberInQuery(0, MAX_EVENT_WAIT_MS)),
      }),
    answer: () => z.extend(deliveries, { storeId: z.uuid(), nextBefore: z.nullable(z.uuid()) }),
  }),
};
