import { hashedFractionOf } from "../fault/fraction.ts";

/** Delays from the previous attempt, in milliseconds. The first delay is 0. */
export type DeliverySchedule = readonly number[];

export const DEFAULT_DELIVERY_SCHEDULE: DeliverySchedule = [
  0,
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  10 * 3_600_000,
];

export const MAX_DELIVERY_ATTEMPTS = 20;
export const MAX_DELAY_MS = 24 * 3_600_000;
/** Short enough that, even with jitter, the schedule ends before the endpoint is disabled. */
export const MAX_SCHEDULE_MS = 96 * 3_600_000;

export const DEFAULT_DELIVERIES_IN_FLIGHT = 8;
export const MAX_DELIVERIES_IN_FLIGHT = 32;

/** The time for a receiver's whole answer (decision 13). */
export const DEFAULT_DELIVERY_TIMEOUT_MS = 15_000;

export const MAX_ANSWER_BYTES = 4096;

/** An endpoint that fails for longer without a success is disabled (decision 13). */
export const MAX_FAILING_MS = 120 * 3_600_000;

/** Delays vary, so that many deliveries are not retried at the same time. */
const JITTER_SHARE = 0.2;

/** Why a delivery received no answer. `interrupted`: the sandbox stopped during the attempt. */
export const DELIVERY_ERRORS = [
  "unreachable",
  "timeout",
  "connection_lost",
  "bad_answer",
  "target_forbidden",
  "interrupted",
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];
export const DELIVERY_STATES = ["due", "succeeded", "failed", "dropped"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const DELIVERY_STATE_TEXTS = {
  due: "waits, also after failed attempts",
  succeeded: "accepted with a 2xx",
  failed: "given up after the last attempt or a 410",
  dropped: "by a fault, or because its endpoint was removed",
} as const satisfies Record<DeliveryState, string>;

/** Causes whose accepted delivery also settles another delivery of the same event to the endpoint. */
export const ATTEMPT_MAKERS = ["replay"] as const;

export type DeliveryAttemptResult =
  | { readonly status: number; readonly retryAfterMs: number }
  | { readonly error: DeliveryError };

/** `isGone`: the receiver answered 410, and its endpoint is disabled. */
type DeliveryVerdict =
  | { readonly state: "succeeded" }
  | { readonly state: "due"; readonly nextAt: number }
  | { readonly state: "failed"; readonly isGone: boolean };

/** Any 2xx. A redirect is a failure and is not followed. */
export function isAcceptedResult(result: DeliveryAttemptResult): boolean {
  return "status" in result && isSuccessStatus(result.status);
}

export function isSuccessStatus(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** `tries` includes this attempt; `jitter` is from `jitterOf`; `now` is the store's time. */
type FinishedAttempt = {
  readonly tries: number;
  readonly schedule: DeliverySchedule;
  readonly jitter: number;
  readonly now: number;
};

/** Uses only the number of attempts, so that a changed schedule also applies to earlier deliveries (decision 13). */
export function decideAfterAttempt(
  result: DeliveryAttemptResult,
  { tries, schedule, jitter, now }: FinishedAttempt,
): DeliveryVerdict {
  if (isAcceptedResult(result)) return { state: "succeeded" };
  if ("status" in result && result.status === 410) return { state: "failed", isGone: true };
  const scheduledMs = schedule[tries];
  if (scheduledMs === undefined) return { state: "failed", isGone: false };
  const requestedMs = "status" in result ? result.retryAfterMs : 0;
  const waitMs =
    requestedMs === 0
      ? scheduledMs * (1 - JITTER_SHARE + 2 * JITTER_SHARE * jitter)
      : Math.min(Math.max(requestedMs, scheduledMs), 2 * scheduledMs);
  return { state: "due", nextAt: now + Math.round(waitMs) };
}

/** Returns a number in [0, 1) that depends only on the delivery and its number of attempts (decision 93). */
export function jitterOf(deliveryId: string, attemptCount: number): number {
  return hashedFractionOf(`${deliveryId} ${attemptCount}`);
}

export function hasFailedTooLong(failingSince: number, now: number): boolean {
  return now - failingSince >= MAX_FAILING_MS;
}
