import { accept, type Outcome } from "../../core/outcome.ts";
import { takeToken, type Bucket, type RateLimit } from "../../core/rate-limit.ts";

/** One bucket for each credential (decision 17). */
export type RateLimiter = { readonly take: (credentialId: string, now: number) => Outcome<void> };

/** Buckets live in memory: a restart gives everyone a full one. A limit of `off` refuses nothing. */
export function createRateLimiter(limit: RateLimit | "off"): RateLimiter {
  const buckets = new Map<string, Bucket>();
  return {
    take: (credentialId, now) => {
      if (limit === "off") return accept(undefined);
      const { bucket, outcome } = takeToken(limit, buckets.get(credentialId), now);
      buckets.set(credentialId, bucket);
      return outcome;
    },
  };
}
