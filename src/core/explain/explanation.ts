import * as z from "zod/mini";
import { DELIVERY_ERRORS } from "../webhook/delivery.ts";
import { EXPLAINABLE_KINDS } from "./explained.ts";
import { moment, type DomainOf } from "../shape/fields.ts";

/** `first` and `this` are null if that request lacks the field. */
const difference = z.object({
  field: z.string(),
  first: z.nullable(z.string()),
  this: z.nullable(z.string()),
});
export type RequestDifference = DomainOf<typeof difference>;

export const storyAttempt = z.object({
  /** By the store's clock. */
  at: moment,
  status: z.nullable(z.int()),
  error: z.nullable(z.enum(DELIVERY_ERRORS)),
  /** Real milliseconds; null while the attempt is running. */
  ms: z.nullable(z.int()),
  text: z.string(),
});
export const storyEntry = z.object({
  /** By the store's clock; for a delivery, the time of its event. */
  at: moment,
  /** `clock`: the clock was set back, so later lines can have earlier times. */
  what: z.enum(["request", "event", "delivery", "attempt", "late_result", "page", "clock"]),
  /** Null for actions of the payer, a clock that was set back, and a line about several deliveries. */
  id: z.nullable(z.string()),
  of: z.nullable(z.string()),
  /** The HTTP status: 0 for a request without an answer, null for other lines that have none. */
  status: z.nullable(z.int()),
  durationMs: z.nullable(z.number()),
  text: z.string(),
  attempts: z.optional(z.array(storyAttempt)),
});
export const pendingEntry = z.object({
  /** By the store's clock. */
  at: moment,
  what: z.enum(["delivery", "expiry", "settlement"]),
  text: z.string(),
});
/** A delivery, an expiry or a settlement that happens automatically at its time. */
export type PendingEntry = DomainOf<typeof pendingEntry>;
/** Pages highlight a status and a cause; `withoutDurations` removes durations. */
export type LinePart =
  | string
  | { readonly status: number }
  | { readonly cause: string }
  | { readonly duration: string };

export type StoryEntry = Omit<DomainOf<typeof storyEntry>, "attempts"> & {
  readonly parts?: readonly LinePart[];
  readonly name?: string;
  readonly attempts?: readonly (DomainOf<typeof storyAttempt> & Pick<StoryEntry, "parts">)[];
};

export function textOfParts(parts: readonly LinePart[]): Required<Pick<StoryEntry, "text" | "parts">> {
  const texts = parts.map((part) =>
    typeof part === "string"
      ? part
      : "cause" in part
        ? ` (${part.cause})`
        : "duration" in part
          ? part.duration
          : String(part.status),
  );
  return { text: texts.join(""), parts };
}

export const explanation = z.object({
  kind: z.enum(EXPLAINABLE_KINDS),
  id: z.string(),
  summary: z.string(),
  /** The name of the sentence in core/refusals.ts; null if there is none. */
  fact: z.nullable(z.string()),
  /** The check that refused the request, by its name in decision 3; null if no check did. */
  check: z.nullable(z.string()),
  /** The applicable rule of INTERFACE.md; null if there is none. */
  rule: z.nullable(z.int()),
  /** The applicable entry of docs/decisions.md; null if there is none. */
  decision: z.nullable(z.int()),
  /** The refused field of the body, or the refused header. */
  field: z.nullable(z.string()),
  expected: z.nullable(z.string()),
  received: z.nullable(z.string()),
  differences: z.array(difference),
  /** The story in chronological order; deliveries follow their event. */
  entries: z.array(storyEntry),
  /** Soonest first. */
  pending: z.array(pendingEntry),
  next: z.array(z.string()),
});
export type Explanation = Omit<DomainOf<typeof explanation>, "entries"> & {
  readonly entries: readonly StoryEntry[];
};

/** Removes durations, so that the text is the same in every run. */
export function withoutDurations({ entries, ...fields }: Explanation): Explanation {
  const removeDurations = <Line extends Pick<StoryEntry, "text" | "parts">>(line: Line): Line => {
    const parts = line.parts?.filter((part) => typeof part === "string" || !("duration" in part));
    return parts === undefined ? line : { ...line, ...textOfParts(parts) };
  };
  const lines = entries.map(({ attempts = [], ...entry }) => ({
    ...removeDurations(entry),
    attempts: attempts.map(removeDurations),
  }));
  return { ...fields, entries: lines };
}

export const NO_REFUSAL = {
  fact: null,
  check: null,
  rule: null,
  decision: null,
  field: null,
  expected: null,
  received: null,
  differences: [],
} as const;
