// Decides whether a create gets a 409 for its key, and derives the client's keys. The client's retries:
// client/api/exchange.ts. The order of all refusals (decision 3): sandbox/api/v1.ts.
import { hash } from "node:crypto";
import type { CheckoutObject } from "./checkout.ts";
import type { CreateRequest } from "./create-request.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { containsSecret, printableLiteral } from "../text.ts";

/** How long the service remembers a key, in milliseconds by the store's clock: 30 days (decision 5). */
export const IDEMPOTENCY_RETENTION_MS = 30 * 24 * 3_600_000;

/** The answer stored for a key. A repeated request gets the same bytes. */
export type StoredResponse = {
  readonly fingerprint: string;
  readonly status: 201;
  readonly requestId: string;
  readonly body: string;
};

/** The paths of creates; a key is bound to its path. */
export const CREATE_PATHS = {
  order: "/v1/orders",
  checkout_session: "/v1/checkout-sessions",
} as const satisfies Record<CheckoutObject, string>;

const KEY_PATTERN = /^[\x20-\x7e]{8,128}$/;

/** `values` are the header lines as received, because a joined duplicate would look like one key (decision 5). */
export function parseIdempotencyKey(values: readonly string[]): Outcome<string> {
  const [key] = values;
  if (key === undefined) {
    return refuseFact("idempotency_key_missing", {});
  }
  if (values.length > 1) {
    return refuseFact("key_lines", { received: String(values.length) });
  }
  if (containsSecret(key)) {
    return refuseFact("key_with_secret", {});
  }
  if (!KEY_PATTERN.test(key)) {
    return refuseFact("key_form", { received: `${key.length}: ${printableLiteral(key)}` });
  }
  return accept(key);
}

/** The hash of path and parsed body, with sorted keys: white space, order and notation do not count (decision 5). */
export function fingerprint(path: string, request: CreateRequest): string {
  const fields = Object.entries(request).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return hash("sha256", JSON.stringify(["POST", path, fields]), "hex");
}

/** The stored response if both requests have the same meaning (decision 5); else `idempotency_key_reused`. */
export function replay(
  response: StoredResponse,
  repetition: { readonly key: string; readonly fingerprint: string },
): Outcome<StoredResponse> {
  if (response.fingerprint === repetition.fingerprint) return accept(response);
  return refuseFact("idempotency_key_reused", { key: printableLiteral(repetition.key) });
}

/** Stands for the base URL of a state folder's sandbox, whose port can change; the store identifies the sandbox. */
export const LOCAL_SANDBOX = "local-sandbox";

/** One logical create of a client: equal values always give the same key (decision 21). */
export type LogicalCreate = {
  /** The base URL of the service, or LOCAL_SANDBOX. */
  readonly service: string;
  /** The store of the API key, or null if the client does not know it. */
  readonly storeId: string | null;
  /** `orders` or `checkout-sessions`. */
  readonly endpoint: string;
  readonly orderId: string;
  /** The number of the attempt, from 1; only an explicit new attempt increases it. */
  readonly attempt: number;
};

/** Derived, not random, so that a client that lost its journal still sends the key of its first attempt. */
export function deriveIdempotencyKey(create: LogicalCreate): string {
  const { service, storeId, endpoint, orderId, attempt } = create;
  const parts = [service, storeId, endpoint, orderId, attempt];
  const digest = hash("sha256", JSON.stringify(parts), "hex");
  return `co-${digest.slice(0, 40)}-${attempt}`;
}
