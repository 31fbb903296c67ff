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
  /** The URL with the version segment, without a trailing slash: `http://127.0.0.1:4242/v1`. */
  readonly baseUrl: string;
  /** The base URL of a sandbox, whose port can change; undefined while it is stopped: no other server may get the key. */
  readonly locate?: () => string | undefined;
  readonly apiKey: string;
  /** The proxy for requests to the service, with user name and password. Default: none. */
  readonly proxy?: string | undefined;
  /** The name of the service in managed keys: its base URL, or LOCAL_SANDBOX. */
  readonly service: string;
  /** The store of the API key, if known; managed keys are derived from it. */
  readonly storeId: string | null;
  /** The sandbox's instance id, if known (decision 96). Managed keys do not depend on it: a stopped sandbox's is unknown. */
  readonly instance?: string | null;
  /** Default: the User-Agent of all commands. */
  readonly userAgent?: string;
};

export type ClientWorld = Pick<World, "send" | "sleep" | "random" | "now">;

export type RequestedCreate = Pick<CreateIntent, "isNewAttempt" | "idempotencyKey"> & {
  readonly endpoint: "orders" | "checkout-sessions";
  readonly request: CreateRequest;
};

/** The result of a create, with the key that every later attempt must use. */
export type CreateResult =
  | {
      readonly end: "sent";
      readonly entry: JournalEntry;
      readonly exchange: Exchange;
      /** Whether this run or an earlier one may have created a checkout that this client does not know. */
      readonly inDoubt: boolean;
      /** Whether the answer is about a different checkout. */
      readonly isMismatch: boolean;
      /** Why the final answer could not be written to the journal; the next run asks the service again. */
      readonly journalFailure: string | undefined;
    }
  | ({ readonly end: "not_sent" } & KeyRefusal);

/** Sends a create, with the same key in all attempts; the key is in the journal before the first byte is sent. */
export async function sendCreate(
  world: ClientWorld,
  target: ServiceTarget,
  options: ExchangeOptions & { readonly intent: RequestedCreate; readonly journal: Journal },
): Promise<CreateResult> {
  const { intent, journal } = options;
  const body = JSON.stringify(intent.request);
  const beginResult = journal.begin(journalIntent(target, intent), body, world.now());
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

/** The message of a failure of the journal: a throw would hide the service's answer. */
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

/** Retrieves the current state of a session or an order by its id (decision 9). */
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

/** The parts of a create that determine the journal entry and the derived key. */
export function journalIntent(target: ServiceTarget, intent: RequestedCreate): CreateIntent {
  const { service, storeId, instance = null } = target;
  const { request, ...intentFields } = intent;
  return { service, storeId, instance, orderId: request.order_id, ...intentFields };
}

/** The answer that settles the entry. If an attempt may have arrived, only a success or a conclusive refusal settles it. */
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

/** Whether an answer shows the outcome of an earlier attempt that the service may have received (decision 23). */
function isProof(result: Exchange): boolean {
  if (result.end === "refusal") return errorRow(result.error.code)?.provesKeyUnused === true;
  return result.end === "success";
}

function addressOf(
  { baseUrl, locate, proxy }: ServiceTarget,
  path: string,
): Pick<ApiRequest, "url" | "locate" | "proxy"> {
  const url = `${baseUrl}${path}`;
  if (locate === undefined) return { url, proxy };
  const locateUrl = (): string | undefined => {
    const origin = locate();
    return origin && `${origin}${path}`;
  };
  return { url, locate: locateUrl };
}

function requestHeaders({ apiKey, userAgent }: ServiceTarget): Record<string, string> {
  const headers = { Authorization: `Bearer ${apiKey}`, Accept: "application/json" };
  return userAgent === undefined ? headers : { ...headers, "User-Agent": userAgent };
}
