/** What a thing is that can be explained. */
export const EXPLAINED = ["request", "checkout", "order", "event", "delivery"] as const;
export type ExplainedKind = (typeof EXPLAINED)[number];

/** A field in which a request differs from the first one of its key or its order; null where it is not there. */
export type Difference = {
  readonly field: string;
  readonly first: string | null;
  readonly this: string | null;
};

/** What happened, as one line of a story. */
export type StoryEntry = {
  /** Milliseconds by the store's clock. */
  readonly at: number;
  readonly what: "request" | "event" | "delivery" | "attempt" | "late_result" | "page";
  /** The id of the request, event or delivery; null of what the payer does. */
  readonly id: string | null;
  /** What it follows from: the event of a delivery. */
  readonly of: string | null;
  /** The status of the answer; null where there is none. */
  readonly status: number | null;
  readonly durationMs: number | null;
  /** The line, in words. */
  readonly text: string;
};

/** Why something is as it is, and what to do. */
export type Explanation = {
  readonly kind: ExplainedKind;
  readonly id: string;
  readonly summary: string;
  /** The check that refused it, by the names of decision 3; null where nothing was refused. */
  readonly check: string | null;
  /** The rule of INTERFACE.md that it follows from; null where that states none. */
  readonly rule: number | null;
  /** The entry of DECISIONS.md that it follows from. */
  readonly decision: number | null;
  /** The field of the body, or the header, that was refused. */
  readonly field: string | null;
  readonly expected: string | null;
  readonly received: string | null;
  readonly differences: readonly Difference[];
  /** What happened, in time order; what follows from a thing stands below it. */
  readonly entries: readonly StoryEntry[];
  /** Commands to type next. */
  readonly next: readonly string[];
};
