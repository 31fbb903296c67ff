import { storeNow, type StoreClock } from "../../core/clock.ts";
import { hashKey, parseAuthorization } from "../../core/credential.ts";
import type { Dialect } from "../../core/shape/dialect.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { COMMAND_AGENT, DRILL_AGENT } from "../../core/network/headers.ts";
import { takeToken, type Bucket, type RateLimit } from "../../core/request/rate-limit.ts";
import type { CredentialInStore } from "../../store/credentials.ts";
import type { Store } from "../../store/store.ts";
import { headerLines } from "../../web/http.ts";
import type { HttpRequest } from "../../world.ts";

/** Undefined without a valid key. Does not check scopes or limits, so it also works for requests that are refused. */
export function callerOf(
  store: Pick<Store, "credentials">,
  request: Pick<HttpRequest, "rawHeaders">,
): CredentialInStore | undefined {
  const credentials = parseAuthorization(headerLines(request, "authorization"));
  if (!credentials.ok || credentials.value.kind === "live") return undefined;
  return store.credentials.byApiKey(credentials.value.apiKey);
}

/** The caller's dialect; without a valid API key, the dialect of the first store. */
export function dialectFor(
  store: Pick<Store, "credentials" | "stores">,
  request: Pick<HttpRequest, "rawHeaders">,
): Dialect | undefined {
  return store.stores.dialect(callerOf(store, request)?.storeId);
}

/** Also finds the store of a revoked key, and is slower than `callerOf`. */
export function storeOfAnyKey(
  store: Pick<Store, "credentials" | "stores">,
  { rawHeaders = [] }: Partial<Pick<HttpRequest, "rawHeaders">>,
): { readonly storeId: string; readonly clock: StoreClock | undefined } | undefined {
  const credentials = parseAuthorization(headerLines({ rawHeaders }, "authorization"));
  if (!credentials.ok || credentials.value.kind === "live") return undefined;
  const owner = store.credentials.findByHash(hashKey(credentials.value.apiKey));
  return owner && { storeId: owner.storeId, clock: store.stores.facts(owner.storeId)?.clock };
}

export function isOwnCommand(request: Pick<HttpRequest, "rawHeaders">): boolean {
  return headerLines(request, "user-agent").some((agent) => agent.startsWith(COMMAND_AGENT));
}

/** Requests of drills are not evidence about the merchant's client. */
export function isDrillRequest(request: Pick<HttpRequest, "rawHeaders">): boolean {
  return headerLines(request, "user-agent").some((agent) => agent.startsWith(DRILL_AGENT));
}

/** One token bucket for each credential (decision 17). */
export type RateLimiter = { readonly take: (caller: CredentialInStore, realNow: number) => Outcome<void> };

/**
 * Buckets are in memory, so all are full after a restart. They refill by the store's clock, or by real time while the
 * clock is frozen.
 */
export function createRateLimiter(limit: RateLimit | "off"): RateLimiter {
  const buckets = new Map<string, Bucket>();
  return {
    take: ({ id, clock }, realNow) => {
      if (limit === "off") return accept(undefined);
      const now = clock.frozenAt === null ? storeNow(clock, realNow) : realNow;
      const { bucket, outcome } = takeToken(limit, buckets.get(id), now);
      buckets.set(id, bucket);
      return outcome;
    },
  };
}
