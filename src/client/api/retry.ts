export type RetryPolicy = {
  readonly retries: number;
  /** In milliseconds, from the start of the connection to the last byte of the answer. */
  readonly timeoutMs: number;
};

/** Long enough for a restart of the service, short enough for a waiting user. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = { retries: 5, timeoutMs: 10_000 };

const BASE_DELAY_MS = 200;
const MAX_DELAY_MS = 5000;
/** After a longer `Retry-After`, the client gives up instead of waiting. */
export const MAX_RETRY_AFTER_MS = 60_000;

/** Exponential backoff with jitter, but at least `retryAfterMs`. `failedAttempts` starts at 1. */
export function retryDelayMs(
  failedAttempts: number,
  hints: { random: number; retryAfterMs: number },
): number {
  const ceilingMs = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** (failedAttempts - 1));
  const delayMs = ceilingMs / 2 + (ceilingMs / 2) * hints.random;
  return Math.max(delayMs, hints.retryAfterMs);
}
