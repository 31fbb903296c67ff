import type { Exchange } from "../../client/api/exchange.ts";
import { errorRow, type ErrorCode } from "../../core/errors.ts";
import { isLoopback } from "../../core/loopback.ts";
import { formatAmount } from "../../core/money.ts";
import type { CheckoutResponse, CheckoutWire } from "../../core/checkout/wire-shapes.ts";
import { fieldLines } from "../printer.ts";
import { exitCodeOfStatus, interruptedProblem, Refused, type Problem } from "../problem.ts";
import type { ResolvedTarget } from "../target/resolve.ts";
import { output, type Output, type ResultOf } from "../output/output.ts";

export function exchangeProblem(exchange: Exclude<Exchange, { end: "success" }>): Omit<Problem, "next"> {
  if (exchange.end === "interrupted") return interruptedProblem();
  const { status } = exchange;
  if (exchange.end === "refusal") {
    const { code, message } = exchange.error;
    // A dialect can replace the status, so a known error code decides the exit code instead.
    const exitCode = exitCodeOfStatus(errorRow(code)?.status ?? status);
    return { exitCode, code, message, details: { status: exchange.status, request_id: exchange.requestId } };
  }
  const exitCode = exitCodeOfStatus(status);
  const { code, attemptCount, retryAfterMs } = exchange;
  const message =
    code === "unreachable" ? `the service cannot be reached: ${exchange.message}` : exchange.message;
  const retryAfter = retryAfterMs === 0 ? {} : { retry_after_seconds: Math.ceil(retryAfterMs / 1000) };
  return { exitCode, code, message, details: { tries: attemptCount, ...retryAfter } };
}

/** `wrongIdHint`: the next step if the id is unknown or malformed. Default: the next step of the error code. */
export function refuseRetrieve(
  exchange: Exclude<Exchange, { end: "success" }>,
  settings: ResolvedTarget,
  wrongIdHint?: string,
): Refused {
  const problem = exchangeProblem(exchange);
  const isWrongId = problem.code === "session_not_found" || problem.code === "invalid_session_id";
  const next =
    (isWrongId ? wrongIdHint : undefined) ??
    errorRow(problem.code)?.next ??
    "run the command again; checkout whoami shows which service was called";
  return new Refused(addProblemHint({ ...problem, next }, settings));
}

/** Adds the source of an unreachable address, a hint about a missing /v1, or the `explain` command. */
export function addProblemHint(
  problem: Problem,
  {
    isExplained,
    baseUrl,
    apiKey,
    storeId: { value: storeId },
  }: Pick<ResolvedTarget, "isExplained" | "baseUrl" | "apiKey" | "storeId">,
): Problem {
  if (problem.code === "unreachable" && baseUrl.value !== null)
    return { ...problem, message: `${problem.message}; ${addressSourceText(baseUrl.value, baseUrl.source)}` };
  if (problem.code === "not_found" && baseUrl.value !== null && !/\/v1\/?$/.test(baseUrl.value))
    return { ...problem, next: `correct ${baseUrl.source}: the address of the API ends with /v1` };
  const id = problem.details?.["request_id"];
  if (!isExplained || id === undefined) return problem;
  // An unknown key belongs to no store, so the log of the named store lacks the request.
  const isKeyOfNoStore = apiKey.source === "CHECKOUT_API_KEY" && KEY_REFUSAL_CODES.has(problem.code);
  if (storeId !== null && isKeyOfNoStore) return problem;
  return { ...problem, next: `${problem.next}; checkout explain ${id} says why` };
}

const KEY_REFUSAL_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  "credential_missing",
  "credential_invalid",
  "environment_not_allowed",
  "production_approval_missing",
]);

function addressSourceText(url: string, source: string): string {
  const { hostname, port, protocol } = new URL(url);
  const sourceText = `the address is from ${source}`;
  if (!isLoopback(hostname) || protocol !== "http:") return sourceText;
  return `${sourceText}; to start a sandbox there: checkout sandbox start${port === "" ? "" : ` --port ${port}`}`;
}

export function checkoutFields(checkout: CheckoutWire, idempotencyKey?: string): string {
  return fieldLines([
    ["id", checkout.id],
    ["order_id", checkout.order_id],
    ["amount", formatAmount(checkout.amount_minor, checkout.currency)],
    ["status", checkout.status],
    ["checkout_url", checkout.checkout_url],
    ["idempotency_key", idempotencyKey],
  ]);
}

/** Repeats the checkout in `data`, where earlier versions had it. */
export function checkoutOutput(
  response: CheckoutResponse,
  facts?: Required<Pick<ResultOf<"checkout">, "idempotency_key" | "replayed" | "tries">>,
): Output {
  return output("checkout", { ...response.data, ...response, ...facts });
}
