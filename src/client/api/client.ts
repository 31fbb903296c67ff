import { errorRow } from "../../core/errors.ts";
import type { CreateRequest } from "../../core/checkout/create-request.ts";
import type {
  CreateIntent,
  Journal,
  JournalEntry,
  KeyRefusal,
  FinalAnswer,
} from "../../core/checkout/journal.ts";
import type { CheckoutWire } from "../../core/checkout/wire-shapes.ts";
import type { World } from "../../world.ts";
import { sendWithRetries, type ApiRequest, type Exchange, type ExchangeOptions } from "./exchange.ts";

export type ServiceTarget = {
  readonly baseUrl: string;
  /** The sandbox's current origin, or undefined while it is stopped, because another server may have its port. */
  readonly locate?: () => string | undefined;
  readonly apiKey: string;
  readonly proxy?: string | undefined;
  readonly service: string;
  readonly storeId: string | null;
  /** Null if unknown, as for a stopped sandbox (decision 96). */
  readonly instance?: string | null;
  readonly userAgent?: string;
} & Pick<ApiRequest, "readDialect">;

export type ClientWorld = Pick<World, "send" | "sleep" | "random" | "now">;

export type RequestedCreate = Pick<CreateIntent, "isNewAttempt" | "idempotencyKey"> & {
  readonly endpoint: "orders" | "checkout-sessions";
  readonly request: CreateRequest;
};

/** A retry must use the key of `entry`; a new key could create a second order. */
export type CreateResult =
  | {
      readonly end: "sent";
      readonly entry: JournalEntry;
      readonly exchange: Exchange;
      /** This run or an earlier one may have created a checkout that this client does not know of. */
      readonly inDoubt: boolean;
      readonly isMismatch: boolean;
      readonly journalFailure: string | undefined;
    }
  | ({ readonly end: "not_sent" } & KeyRefusal);

export async function sendCreate(
  world: ClientWorld,
  target: ServiceTarget,
  options: ExchangeOptions & { readonly intent: RequestedCreate; readonly journal: Journal },
): Promise<CreateResult> {
  const { intent, journal } = options;
  const body = JSON.stringify(intent.request);
  const beginResult = journal.begin(createIntentOf(target, intent), body, world.now());
  if (!beginResult.ok) return { end: "not_sent", ...beginResult.refusal };

  const entry = beginResult.value;
  const request = buildCreateRequest(target, { endpoint: intent.endpoint, key: entry.key, body });
  const result = await sendWithRetries(world, request, options);
  const isMismatch = result.end === "success" && !isAnswerTo(intent, result.response.data);
  const inDoubt = (entry.inDoubt || result.isUncertain) && !isProof(result);
  const settlement = isMismatch ? undefined : settlementOf(result);
  const journalFailure = settlement && failureOf(() => journal.settle(entry.key, settlement, world.now()));
  return { end: "sent", entry, exchange: result, inDoubt, isMismatch, journalFailure };
}

function failureOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isAnswerTo({ endpoint, request }: RequestedCreate, checkout: CheckoutWire): boolean {
  const object = endpoint === "orders" ? "order" : "checkout_session";
  if (checkout.object !== object || checkout.order_id !== request.order_id) return false;
  if (!("amount_minor" in request)) return true;
  return checkout.amount_minor === request.amount_minor && checkout.currency === request.currency;
}

export function sendRetrieve(
  world: ClientWorld,
  target: ServiceTarget,
  options: ExchangeOptions & { readonly id: string },
): Promise<Exchange> {
  const address = addressOf(target, `/checkout-sessions/${encodeURIComponent(options.id)}`);
  return sendWithRetries(world, { method: "GET", ...address, headers: requestHeaders(target) }, options);
}

export function buildCreateRequest(
  target: ServiceTarget,
  sentCreate: { readonly endpoint: RequestedCreate["endpoint"]; readonly key: string; readonly body: string },
): ApiRequest {
  return {
    method: "POST",
    ...addressOf(target, `/${sentCreate.endpoint}`),
    headers: {
      ...requestHeaders(target),
      "Content-Type": "application/json",
      "Idempotency-Key": sentCreate.key,
    },
    body: sentCreate.body,
  };
}

export function createIntentOf(target: ServiceTarget, intent: RequestedCreate): CreateIntent {
  const { service, storeId, instance = null } = target;
  const { request, ...intentFields } = intent;
  return { service, storeId, instance, orderId: request.order_id, ...intentFields };
}

/** Undefined if an attempt may have reached the service and no answer shows its outcome. */
function settlementOf(result: Exchange): FinalAnswer | undefined {
  if (result.end === "success") {
    return { state: "created", checkoutId: result.response.data.id, code: null, isProven: true };
  }
  const isProven = isProof(result);
  if (result.isUncertain && !isProven) return undefined;
  const code =
    result.end === "refusal" ? result.error.code : result.end === "gave_up" ? result.code : "interrupted";
  return { state: "refused", checkoutId: null, code, isProven };
}

/** A success, or a refusal that proves the key unused, also settles attempts without an answer (decision 23). */
function isProof(result: Exchange): boolean {
  if (result.end === "refusal") return errorRow(result.error.code)?.provesKeyUnused === true;
  return result.end === "success";
}

function addressOf(
  { baseUrl, locate, proxy, readDialect }: ServiceTarget,
  path: string,
): Pick<ApiRequest, "url" | "locate" | "proxy" | "readDialect"> {
  const url = `${baseUrl}${path}`;
  if (locate === undefined) return { url, proxy, readDialect };
  const locateUrl = (): string | undefined => {
    const origin = locate();
    return origin && `${origin}${path}`;
  };
  return { url, locate: locateUrl, readDialect };
}

function requestHeaders({ apiKey, userAgent }: ServiceTarget): Record<string, string> {
  const headers = { Authorization: `Bearer ${apiKey}`, Accept: "application/json" };
  return userAgent === undefined ? headers : { ...headers, "User-Agent": userAgent };
}
