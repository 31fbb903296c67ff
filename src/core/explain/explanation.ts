// What `checkout explain` and the page of a checkout say: refusals in core/explain/checks.ts, deliveries in
// core/explain/delivery.ts, lines in core/explain/timeline.ts, sentences in core/explain/sentences.ts. What is read:
// sandbox/explain/explain.ts.
import * as z from "zod/mini";
import { DELIVERY_ERRORS } from "../webhook/delivery.ts";
import { moment, type DomainOf } from "../control/operation.ts";
import { EXPLAINED } from "./explained.ts";

/** A field in which a request differs from the first one of its key or its order; null where it is not there. */
const difference = z.object({
  field: z.string(),
  first: z.nullable(z.string()),
  this: z.nullable(z.string()),
});
/** A field in which a request differs from the first one of its key or its order. */
export type Difference = DomainOf<typeof difference>;

const storyAttempt = z.object({
  /** By the store's clock. */
  at: moment,
  status: z.nullable(z.int()),
  error: z.nullable(z.enum(DELIVERY_ERRORS)),
  /** How long it took, in real milliseconds; null while it runs. */
  ms: z.nullable(z.int()),
  /** The attempt, in words. */
  text: z.string(),
});
const storyEntry = z.object({
  /** By the store's clock; of a delivery when its event happened. */
  at: moment,
  /** `clock`: the clock was set back, and times begin anew. */
  what: z.enum(["request", "event", "delivery", "attempt", "late_result", "page", "clock"]),
  /** The id of the request, event or delivery; null of the payer's acts, and of one line about several deliveries. */
  id: z.nullable(z.string()),
  /** The event of a delivery. */
  of: z.nullable(z.string()),
  /** The status of the answer; null where there is none. */
  status: z.nullable(z.int()),
  durationMs: z.nullable(z.number()),
  /** The line, in words. */
  text: z.string(),
  /** The attempts of a delivery. */
  attempts: z.optional(z.array(storyAttempt)),
});
const pendingEntry = z.object({
  /** By the store's clock. */
  at: moment,
  what: z.enum(["delivery", "expiry", "settlement"]),
  text: z.string(),
});
/** Something that happens by itself when its time comes. */
export type PendingEntry = DomainOf<typeof pendingEntry>;
/** What happened, as one line of a story. */
export type StoryEntry = DomainOf<typeof storyEntry>;

/** Why something is as it is, and what to do. */
export const explanation = z.object({
  kind: z.enum(EXPLAINED),
  id: z.string(),
  summary: z.string(),
  /** The check that refused it, by the names of decision 3; null where nothing was refused. */
  check: z.nullable(z.string()),
  /** The rule of INTERFACE.md that it follows from; null where that states none. */
  rule: z.nullable(z.int()),
  /** The entry of docs/decisions.md that it follows from. */
  decision: z.nullable(z.int()),
  /** The field of the body, or the header, that was refused. */
  field: z.nullable(z.string()),
  expected: z.nullable(z.string()),
  received: z.nullable(z.string()),
  differences: z.array(difference),
  /** What happened, in time order; the deliveries of an event stand below it. */
  entries: z.array(storyEntry),
  /** What is due, soonest first. */
  pending: z.array(pendingEntry),
  /** Commands to type next. */
  next: z.array(z.string()),
});
/** Why something is as it is, and what to do. */
export type Explanation = DomainOf<typeof explanation>;
