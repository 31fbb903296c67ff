import * as z from "zod/mini";
import { createRequestShapes } from "../core/checkout/create-request.ts";
import { EVENT_TYPES } from "../core/checkout/event-types.ts";
import { SIMULATED_OUTCOMES } from "../core/checkout/reserved-order-id.ts";
import { finding, searchResult } from "../core/judge/shapes.ts";
import { FAULT_PROFILES } from "../core/fault/actions.ts";
import { pendingEntry as pendingLine, storyAttempt, storyEntry } from "../core/explain/explanation.ts";
import { appliedFault, faultEntry, faultMatch as faultLimits, faultRequest } from "../core/fault/shapes.ts";
import { requestEntry } from "../core/request/shapes.ts";
import { deliveryAttempt as attemptEntry, deliveryEntry } from "../core/webhook/shapes.ts";
import type { WebhookEvent } from "../core/webhook/webhook.ts";

/** The control API sends times in milliseconds since the epoch. */
const time = z.codec(z.number(), z.date(), {
  decode: (milliseconds) => new Date(milliseconds),
  encode: (date) => date.getTime(),
});
const timeOrNull = z.nullable(time);

export const faultAction = appliedFault.shape.action;

export const faultMatch = z.extend(faultLimits, { storeId: z.optional(z.string()) });

export const fault = z.extend(z.omit(faultRequest, { profile: true }), {
  action: faultAction,
  match: z.optional(faultMatch),
  until: z.optional(z.union([z.string(), z.date()])),
});

export const faultProfile = z.object({
  profile: z.enum(FAULT_PROFILES),
  /** The seed of the profile's random choices. Default: random. */
  seed: faultRequest.shape.seed,
});

export const addedFault = z.extend(faultEntry, { until: timeOrNull, createdAt: time });

const attemptFields = z.omit(attemptEntry, {
  milliseconds: true,
  address: true,
  bodySha256: true,
  nextAt: true,
  by: true,
  facts: true,
});
export const deliveryAttempt = z.extend(attemptFields, {
  startedAt: time,
  finishedAt: timeOrNull,
  error: z.nullable(z.string()),
  /** The message of the error, such as `connect ECONNREFUSED 127.0.0.1:3000`. */
  message: z.nullable(z.string()),
  fault: z.nullable(faultAction),
});

export const eventType = z.enum(EVENT_TYPES as readonly WebhookEvent["type"][]);

export const delivery = z.extend(deliveryEntry, {
  type: eventType,
  nextAt: timeOrNull,
  createdAt: time,
  attempts: z.array(deliveryAttempt),
});

export const loggedRequest = z.extend(z.omit(requestEntry, { byDrill: true }), {
  at: time,
  /** The real time; in a sandbox whose clocks are frozen, the store's time. */
  realAt: time,
  code: z.nullable(z.string()),
});

export const timelineEntry = z.extend(z.omit(storyEntry, { durationMs: true }), {
  at: time,
  attempts: z.array(
    z.extend(z.omit(storyAttempt, { ms: true }), { at: time, error: z.nullable(z.string()) }),
  ),
});

export const pendingEntry = z.extend(pendingLine, { at: time });

export const payOutcome = z.enum(SIMULATED_OUTCOMES);

const { amountShape, priceShape } = createRequestShapes();
export const createCheckout = z.union([amountShape, priceShape]);
export { invariant, payerOutcome } from "../core/judge/shapes.ts";

export const exploreFault = z.omit(fault, { until: true });

export const brokenInvariant = z.object({
  /** The faults to pass to `store.faults.add`, in this order. */
  faults: z.array(exploreFault),
  ...finding.shape,
});

export const exploration = z.object({
  ...searchResult.shape,
  /** The number of schedules that were run, except to shrink or confirm a finding. */
  histories: z.int(),
  /** Where faults can occur, such as `POST /v1/orders 1` for the first such request, or `payer` for the payer's outcome. */
  places: z.array(z.string()),
  /** The number of schedules that the budget or `maxSchedules` cut off, not counting larger schedules. */
  notRun: z.int(),
  /** One entry for each cause, with the smallest schedule that shows it, confirmed by three more runs. */
  broken: z.array(brokenInvariant),
  /** Advice about payments that no webhook could report to the application. */
  advice: z.array(z.object({ faults: z.array(exploreFault), text: z.string() })),
});
