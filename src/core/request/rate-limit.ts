import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";

/** The parameters of a token bucket (decision 17). */
export type RateLimit = { readonly perSecond: number; readonly burst: number };

export type Bucket = { readonly tokens: number; readonly at: number };

/** Too high for a test suite to reach by accident (decision 17). */
export const DEFAULT_RATE_LIMIT: RateLimit = { perSecond: 1000, burst: 2000 };

export const BUCKET_OWNER_TEXT = ["API key", "API 密钥"] as const;
export const [BUCKET_OWNER] = BUCKET_OWNER_TEXT;

export function rateLimitText(limit: RateLimit | "off"): string {
  return limit === "off" ? "off" : `${limit.perSecond}/s`;
}

/** Refuses with `rate_limited` and the whole seconds to wait. A clock that was set back adds no tokens. */
export function takeToken(
  limit: RateLimit,
  bucket: Bucket | undefined,
  now: number,
  cost = 1,
): { readonly bucket: Bucket; readonly outcome: Outcome<void> } {
  const earlierBucket = bucket ?? { tokens: limit.burst, at: now };
  const addedTokens = (Math.max(0, now - earlierBucket.at) / 1000) * limit.perSecond;
  const tokens = Math.min(limit.burst, earlierBucket.tokens + addedTokens);
  if (tokens >= cost) return { bucket: { tokens: tokens - cost, at: now }, outcome: accept(undefined) };
  const retryAfterSeconds = Math.max(1, Math.ceil((cost - tokens) / limit.perSecond));
  const facts = { perSecond: limit.perSecond, seconds: retryAfterSeconds };
  return {
    bucket: { tokens, at: now },
    outcome: refuseFact("rate_limited", facts, { retryAfterSeconds }),
  };
}
