import { hash } from "node:crypto";
import type { CheckoutObject } from "./checkout.ts";
import type { CreateRequest } from "./create-request.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { containsSecret, printableLiteral } from "../text.ts";

export const IDEMPOTENCY_RETENTION_MS = 30 * 24 * 3_600_000;

export type StoredResponse = {
  readonly fingerprint: string;
  readonly status: 201;
  readonly requestId: string;
  readonly body: string;
};

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

/** Equal values always give the same key (decision 21). */
export type LogicalCreate = {
  readonly service: string;
  readonly storeId: string | null;
  /** `orders` or `checkout-sessions`. */
  readonly endpoint: string;
  readonly orderId: string;
  readonly attempt: number;
};

/** Derived, not random, so that a client that lost its journal still sends the key of its first attempt. */
export function deriveIdempotencyKey(create: LogicalCreate): string {
  const { service, storeId, endpoint, orderId, attempt } = create;
  const parts = [service, storeId, endpoint, orderId, attempt];
  const digest = hash("sha256", JSON.stringify(parts), "hex");
  return `co-${digest.slice(0, 40)}-${attempt}`;
}
