import {
  checkoutResponse,
  errorResponse,
  type CheckoutResponse,
  type ErrorResponse,
} from "../../core/checkout/wire-shapes.ts";
import { errorRow } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { COMMAND_AGENT, parseRetryAfter } from "../../core/network/headers.ts";
import { sandboxCodeOf, type Dialect } from "../../core/shape/dialect.ts";
import type { OutboundRequest, OutboundResult, World } from "../../world.ts";
import { MAX_RETRY_AFTER_MS, retryDelayMs, type RetryPolicy } from "./retry.ts";

export type ApiRequest = Pick<OutboundRequest, "method" | "url" | "headers" | "proxy"> & {
  readonly body?: string;
  /** Called before each attempt. Returns undefined while no server may receive the request. Default: `url`. */
  readonly locate?: () => string | undefined;
  /** Returns the dialect of the sandbox's store. Called after a refusal with an unknown code or an unexpected status. */
  readonly readDialect?: (() => Promise<Dialect | undefined>) | undefined;
};

type FinalResult =
  | { readonly end: "success"; readonly status: number; readonly response: CheckoutResponse }
  | {
      readonly end: "refusal";
      readonly status: number;
      readonly error: ErrorResponse["error"];
      readonly requestId: string;
    }
  | { readonly end: "interrupted" };

type Failure = {
  readonly code: string;
  readonly status: number | undefined;
  readonly message: string;
  readonly retryAfterMs: number;
};

export type Exchange = {
  readonly attemptCount: number;
  readonly isUncertain: boolean;
  readonly headers: Readonly<Record<string, string>>;
} & (FinalResult | ({ readonly end: "gave_up" } & Failure));

export type ExchangeObserver = {
  readonly onAttempt?: (request: ApiRequest) => void;
  readonly onAnswer?: (result: OutboundResult) => void;
  readonly onRetry?: (reason: string, delayMs: number) => void;
};

export type ExchangeOptions = {
  readonly policy: RetryPolicy;
  readonly signal?: AbortSignal | undefined;
  readonly observer?: ExchangeObserver;
};

const MAX_RESPONSE_BYTES = 1024 * 1024;

export async function sendWithRetries(
  world: Pick<World, "send" | "sleep" | "random" | "now">,
  request: ApiRequest,
  options: ExchangeOptions,
): Promise<Exchange> {
  const { policy, signal, observer } = options;
  let isUncertain = false;
  for (let attemptCount = 1; ; attemptCount += 1) {
    const result = await attemptOnce(world, request, options);
    observer?.onAnswer?.(result);
    const verdict = classifyResult(result, world.now());
    isUncertain ||= verdict.end === "again" && verdict.isUncertain;
    const headers = result.ok ? result.headers : {};
    if (verdict.end === "refusal")
      return { ...(await inOwnNames(verdict, request)), attemptCount, isUncertain, headers };
    if (verdict.end === "interrupted") return { ...verdict, attemptCount, isUncertain: true, headers };
    if (verdict.end !== "again") return { ...verdict, attemptCount, isUncertain, headers };

    const { message, retryAfterMs } = verdict;
    if (attemptCount > policy.retries || retryAfterMs > MAX_RETRY_AFTER_MS)
      return { ...verdict, end: "gave_up", attemptCount, isUncertain, headers };
    const delayMs = retryDelayMs(attemptCount, { random: world.random(), retryAfterMs });
    observer?.onRetry?.(message, delayMs);
    await world.sleep(delayMs, signal);
    if (signal?.aborted === true) return { end: "interrupted", attemptCount, isUncertain, headers };
  }
}

async function attemptOnce(
  { send }: Pick<World, "send">,
  { locate, readDialect: _readDialect, ...request }: ApiRequest,
  { policy: { timeoutMs }, signal, observer }: ExchangeOptions,
): Promise<OutboundResult> {
  const url = locate === undefined ? request.url : locate();
  if (url === undefined) return NO_SANDBOX;
  observer?.onAttempt?.({ ...request, url });
  // Lets a sandbox distinguish requests of this program from requests of the merchant's client.
  const headers = { "User-Agent": COMMAND_AGENT, ...request.headers };
  return send({ ...request, url, headers, timeoutMs, maxResponseBytes: MAX_RESPONSE_BYTES, signal });
}

type FinalRefusal = Extract<FinalResult, { end: "refusal" }>;

/** Translates the code of a refusal from the store's dialect, if it has one, to the sandbox's own code. */
async function inOwnNames(refusal: FinalRefusal, { readDialect }: ApiRequest): Promise<FinalRefusal> {
  const { status, error } = refusal;
  if (errorRow(error.code)?.status === status) return refusal;
  const dialect = await readDialect?.();
  if (dialect === undefined) return refusal;
  return { ...refusal, error: { ...error, code: sandboxCodeOf(dialect, { ...error, status }) } };
}

const NO_SANDBOX = { ok: false, failure: "unreachable", message: "the sandbox is not running" } as const;

type Verdict = FinalResult | ({ readonly end: "again"; readonly isUncertain: boolean } & Failure);

function classifyResult(result: OutboundResult, now: number): Verdict {
  if (!result.ok) {
    const { failure, message } = result;
    if (failure === "aborted") return { end: "interrupted" };
    return retryVerdict({ code: failure, isUncertain: failure !== "unreachable", message });
  }
  const { status } = result;
  const retryAfterMs = parseRetryAfter(result.headers["retry-after"], now);
  const body = parseJson(result.body);
  if (status >= 200 && status < 300) {
    const response = checkoutResponse.safeParse(body, { jitless: true });
    if (response.success) return { end: "success", status, response: response.data };
    const message = `status ${status} with a body that is not a checkout`;
    return retryVerdict({ code: "bad_answer", isUncertain: true, status, message });
  }
  const outcome = errorResponse.safeParse(body, { jitless: true });
  if (!outcome.success) {
    const proxyText = result.proxy === undefined ? "" : `, through the proxy ${result.proxy}`;
    const message = `status ${status} without an error envelope${proxyText}`;
    return retryVerdict({
      code: `status_${status}`,
      isUncertain: status !== 429,
      status,
      message,
      retryAfterMs,
    });
  }
  const { error, request_id: requestId } = outcome.data;
  if (!isTransient(status, error.code)) return { end: "refusal", status, error, requestId };
  return retryVerdict({ ...error, isUncertain: status !== 429, status, retryAfterMs });
}

function isTransient(status: number, code: string): boolean {
  return status === 408 || status === 429 || status >= 500 || code === "idempotency_in_progress";
}

function retryVerdict(
  failure: Pick<Failure, "code" | "message"> & Partial<Failure> & { readonly isUncertain: boolean },
): Extract<Verdict, { end: "again" }> {
  return { end: "again", status: undefined, retryAfterMs: 0, ...failure };
}
