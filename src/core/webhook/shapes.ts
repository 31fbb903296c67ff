import * as z from "zod/mini";
import { DELIVERY_ACTIONS } from "../fault/actions.ts";
import { appliedFault } from "../fault/shapes.ts";
import { hold } from "./hold.ts";
import { attemptFacts } from "../network/connection-fault.ts";
import { moment, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas } from "../shape/wire-names.ts";
import { ATTEMPT_MAKERS, DELIVERY_ERRORS, DELIVERY_STATES } from "./delivery.ts";

/**
 * `fact` is the name of a reason, or a text of an older version. `value` is the drill that holds the events, otherwise
 * empty.
 */
const endpointCause = z.object({ fact: z.string(), value: z.string() });

export const endpoint = z.object({
  id: z.uuid(),
  /** `listener`: `checkout listen`, connected only while it runs. */
  kind: z.enum(["url", "listener"]),
  url: z.string(),
  /** Patterns of event types: `order.succeeded`, `order.*`, `*`. */
  eventTypes: z.array(z.string()),
  /** True: one delivery at a time. False: several, in order for each checkout (decision 93). */
  inOrder: z.boolean(),
  /** The CA certificates in PEM that are trusted for its https; null for the sandbox's CAs. */
  ca: z.nullable(z.string()),
  /** `disabled`: after failing for too long, after a 410, or by a user. `paused`: its events wait (`pausedBy`). */
  state: z.enum(["enabled", "paused", "disabled"]),
  reason: z.nullable(z.string()),
  /** Null without a reason. */
  cause: z.nullable(endpointCause),
  /** Why nothing is delivered to the endpoint, with `reason` as its text; missing if deliveries are sent. */
  hold: z.optional(hold),
  /** The cause of a pause: a drill, a disconnected listener, or a request to the control API. */
  pausedBy: z.nullable(z.enum(["drill", "listener", "request"])),
  /** Time of the first failure after the last success; null without a failure. */
  failingSince: z.nullable(moment),
  createdAt: moment,
});
export type EndpointEntry = DomainOf<typeof endpoint>;

export const eventEntry = z.object({
  eventId: z.uuid(),
  /** The event's position among all events, for `since` of a later request. */
  position: wholeNumber(1),
  type: z.string(),
  checkoutId: z.nullable(z.uuid()),
  sequence: wholeNumber(1),
  createdAt: moment,
  /** The exact body, before a dialect or a fault changes it. */
  body: z.string(),
});
export type EventEntry = DomainOf<typeof eventEntry>;

export const deliveryAttempt = z.object({
  number: wholeNumber(1),
  startedAt: moment,
  /** Null while the attempt is running. */
  finishedAt: z.nullable(moment),
  /** In real time, not by the store's clock. */
  milliseconds: z.nullable(z.int()),
  url: z.string(),
  address: z.nullable(z.string()),
  /** Null if there was no answer. */
  status: z.nullable(z.int()),
  /** Why there was no answer; null if there was one, or while the attempt is running. */
  error: z.nullable(z.enum(DELIVERY_ERRORS)),
  fault: z.nullable(z.enum(DELIVERY_ACTIONS)),
  headers: z.record(z.string(), z.string()),
  bodySha256: z.string(),
  /** The beginning of the body of the endpoint's answer. */
  answer: z.nullable(z.string()),
  nextAt: z.nullable(moment),
  /**
   * `replay`: the attempt belongs to a replay of the event, whose acceptance also settled this delivery; otherwise
   * null.
   */
  by: z.nullable(z.enum(ATTEMPT_MAKERS)),
  facts: z.nullable(attemptFacts()),
});
export const deliveryEntry = z.object({
  id: z.uuid(),
  endpointId: z.uuid(),
  eventId: z.uuid(),
  type: z.string(),
  /** Null for an event without a checkout. */
  checkoutId: z.nullable(z.uuid()),
  /** Null for an event without a checkout. */
  orderId: z.nullable(z.string()),
  /** The URL of the last attempt; before the first attempt, the endpoint's URL. */
  url: z.string(),
  /** `duplicate`: caused by an injected fault. */
  cause: z.enum(["event", "replay", "duplicate"]),
  state: z.enum(DELIVERY_STATES),
  tries: wholeNumber(0),
  nextAt: z.nullable(moment),
  createdAt: moment,
  /** The fault that held (`delay`, `reorder`), dropped or duplicated the delivery. */
  fault: z.nullable(appliedFault),
  attempts: z.array(deliveryAttempt),
});
export type DeliveryEntry = DomainOf<typeof deliveryEntry>;

/** An attempt that was made while a clock moved. */
export const dispatchedAttempt = z.object({
  at: moment,
  deliveryId: z.uuid(),
  eventId: z.uuid(),
  type: z.string(),
  endpointId: z.uuid(),
  status: z.nullable(z.int()),
  error: z.nullable(z.enum(DELIVERY_ERRORS)),
  /** The time of the next attempt, if there is one. */
  nextAt: z.nullable(moment),
});
export type FinishedAttemptEntry = DomainOf<typeof dispatchedAttempt>;

export const signingSecrets = z.object({ inForce: z.array(z.string()), retired: z.array(z.string()) });

nameSchemas({
  Endpoint: endpoint,
  EndpointCause: endpointCause,
  Event: eventEntry,
  DeliveryAttempt: deliveryAttempt,
  Delivery: deliveryEntry,
  DispatchedDelivery: dispatchedAttempt,
  SigningSecrets: signingSecrets,
});
