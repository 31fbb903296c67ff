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

/** Takes the header lines unjoined, because two joined keys would look like one (decision 5). */
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

/** Hashes the path and the parsed body with sorted keys, so JSON formatting does not matter (decision 5). */
export function fingerprint(path: string, request: CreateRequest): string {
  const fields = Object.entries(request).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return hash("sha256", JSON.stringify(["POST", path, fields]), "hex");
}

export function replayStoredResponse(
  response: StoredResponse,
  repetition: { readonly key: string; readonly fingerprint: string },
): Outcome<StoredResponse> {
  if (response.fingerprint === repetition.fingerprint) return accept(response);
  return refuseFact("idempotency_key_reused", { key: printableLiteral(repetition.key) });
}

/** The `service` of a local sandbox, used instead of its base URL because the port can change. */
export const LOCAL_SANDBOX_SERVICE = "local-sandbox";

/** Equal values always give the same key (decision 21). */
export type LogicalCreate = {
  readonly service: string;
  readonly storeId: string | null;
  /** `orders` or `checkout-sessions`. */
  readonly endpoint: string;
  readonly orderId: string;
  readonly attempt: number;
};

/** Deterministic, so that a client that lost its journal retries with the same key. */
export function deriveIdempotencyKey(create: LogicalCreate): string {
  const { service, storeId, endpoint, orderId, attempt } = create;
  const parts = [service, storeId, endpoint, orderId, attempt];
  const digest = hash("sha256", JSON.stringify(parts), "hex");
  return `co-${digest.slice(0, 40)}-${attempt}`;
}
