import type { CreateRequest } from "../core/create-request.ts";
import { IDEMPOTENCY_RETENTION_MS } from "../core/idempotency.ts";
import type { Intent, Journal, JournalEntry, Settlement } from "../core/journal.ts";
import type { World } from "../world.ts";
import { exchange, type ApiRequest, type Exchange, type ExchangeOptions } from "./exchange.ts";

/** The service that a client talks to. */
export type Target = {
  /** With the version segment and without a slash at the end: `http://127.0.0.1:4242/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** What stands for the service in a managed key: its base URL, or LOCAL_SANDBOX. */
  readonly service: string;
  /** The store of the key where it is known; part of what a managed key is derived from. */
  readonly storeId: string | null;
};

/** What the client needs of the world. */
export type ClientWorld = Pick<World, "send" | "sleep" | "random" | "now">;

/** A create as its user means it. */
export type CreateIntent = {
  readonly endpoint: "orders" | "checkout-sessions";
  readonly request: CreateRequest;
  readonly newAttempt: boolean;
  readonly idempotencyKey: string | null;
};

/** How a create ended, with the key that every later try must carry. */
export type CreateResult =
  | { readonly entry: JournalEntry; readonly exchange: Exchange }
  /** The key is so old that the service may have forgotten it: sending it could make a second order. */
  | { readonly entry: JournalEntry; readonly exchange: "too_old" };

/** A day less than the service remembers a key (decision 5). */
const MAX_KEY_AGE_MS = IDEMPOTENCY_RETENTION_MS - 24 * 3_600_000;

/**
 * Creates an order or a session, and never two for one intent: the key is in the journal before the first byte is
 * sent, is the same on every try, and is the same again when the command is run again, whatever happened in between.
 */
export async function create(
  world: ClientWorld,
  target: Target,
  options: ExchangeOptions & { readonly intent: CreateIntent; readonly journal: Journal },
): Promise<CreateResult> {
  const { intent, journal } = options;
  const body = JSON.stringify(intent.request);
  const entry = journal.begin(journalIntent(target, intent), body, world.now());
  if (world.now() - entry.firstSentAt > MAX_KEY_AGE_MS) return { entry, exchange: "too_old" };

  const request = createRequest(target, { endpoint: intent.endpoint, key: entry.key, body });
  const result = await exchange(world, request, options);
  const settlement = settle(result);
  if (settlement !== undefined) journal.settle(entry.key, settlement, world.now());
  return { entry, exchange: result };
}

/** Asks for the current state of a session, or of an order by its id (decision 9). */
export function retrieve(
  world: ClientWorld,
  target: Target,
  options: ExchangeOptions & { readonly id: string },
): Promise<Exchange> {
  const url = `${target.baseUrl}/checkout-sessions/${encodeURIComponent(options.id)}`;
  return exchange(world, { method: "GET", url, headers: authorization(target) }, options);
}

/** The request that a create sends. */
export function createRequest(
  target: Target,
  sent: { readonly endpoint: CreateIntent["endpoint"]; readonly key: string; readonly body: string },
): ApiRequest {
  return {
    method: "POST",
    url: `${target.baseUrl}/${sent.endpoint}`,
    headers: {
      ...authorization(target),
      "Content-Type": "application/json",
      "Idempotency-Key": sent.key,
    },
    body: sent.body,
  };
}

/** What the journal and the derived key know of a create. */
export function journalIntent(target: Target, intent: CreateIntent): Intent {
  return {
    service: target.service,
    storeId: target.storeId,
    endpoint: intent.endpoint,
    orderId: intent.request.order_id,
    newAttempt: intent.newAttempt,
    idempotencyKey: intent.idempotencyKey,
  };
}

/** What the journal learns. A refusal settles nothing while an earlier try may have been taken. */
function settle(result: Exchange): Settlement | undefined {
  if (result.end === "success") return { state: "created", checkoutId: result.response.data.id, code: null };
  if (result.end === "refusal" && !result.uncertain) {
    return { state: "refused", checkoutId: null, code: result.error.code };
  }
  return undefined;
}

function authorization({ apiKey }: Target): Record<string, string> {
  return { Authorization: `Bearer ${apiKey}`, Accept: "application/json" };
}
