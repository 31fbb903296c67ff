import type { Exchange } from "../../client/api/exchange.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { isLoopback } from "../../core/loopback.ts";
import { formatAmount } from "../../core/money.ts";
import type { CheckoutWire } from "../../core/checkout/wire.ts";
import { quote } from "../../core/shell/quote.ts";
import { fieldLines } from "../printer.ts";
import { exitCodeOfStatus, interruptedProblem, type Problem } from "../problem.ts";
import type { Settings } from "../target/service.ts";

/** Why an exchange brought no checkout, as far as it does not depend on the command. */
export function exchangeProblem(exchange: Exclude<Exchange, { end: "success" }>): Omit<Problem, "next"> {
  if (exchange.end === "interrupted") return interruptedProblem();
  const { status } = exchange;
  const exitCode = exitCodeOfStatus(status);
  if (exchange.end === "refusal") {
    const { code, message } = exchange.error;
    return { exitCode, code, message, details: { status: exchange.status, request_id: exchange.requestId } };
  }
  const { code, tries, retryAfterMs } = exchange;
  const message =
    code === "unreachable" ? `the service cannot be reached: ${exchange.message}` : exchange.message;
  const retryAfter = retryAfterMs === 0 ? {} : { retry_after_seconds: Math.ceil(retryAfterMs / 1000) };
  return { exitCode, code, message, details: { tries, ...retryAfter } };
}

/**
 * The same refusal of a sandbox that can be asked, with the command that explains it in the store that was named; of a service
 * that does not answer, where its address comes from, and how a sandbox is started there; of an address that has no such
 * path, that it ends with /v1.
 */
export function withExplanation(
  problem: Problem,
  {
    isExplained,
    baseUrl,
    apiKey,
    storeId: { value, source },
  }: Pick<Settings, "isExplained" | "baseUrl" | "apiKey" | "storeId">,
): Problem {
  if (problem.code === "unreachable" && baseUrl.value !== null)
    return { ...problem, message: `${problem.message}; ${originOf(baseUrl.value, baseUrl.source)}` };
  if (problem.code === "not_found" && baseUrl.value !== null && !/\/v1\/?$/.test(baseUrl.value))
    return { ...problem, next: `correct ${baseUrl.source}: the address of the API ends with /v1` };
  const id = problem.details?.["request_id"];
  if (!isExplained || id === undefined) return problem;
  // Whose log it is in is known only of a key that the sandbox knows, as those that the folder keeps.
  const isOfNoStore = apiKey.source === "CHECKOUT_API_KEY" && KEY_REFUSED.has(problem.code);
  if (value !== null && isOfNoStore) return problem;
  const store = value !== null && source.startsWith("--") ? ` --store ${quote(value)}` : "";
  return { ...problem, next: `${problem.next}; checkout explain ${id}${store} says why` };
}

const KEY_REFUSED: ReadonlySet<string> = new Set<ErrorCode>([
  "credential_missing",
  "credential_invalid",
  "environment_not_allowed",
  "production_approval_missing",
]);

/** Where an address comes from, and what would answer there if it is one of this machine. */
function originOf(url: string, source: string): string {
  const { hostname, port, protocol } = new URL(url);
  const from = `the address is from ${source}`;
  if (!isLoopback(hostname) || protocol !== "http:") return from;
  return `${from}; checkout sandbox start${port === "" ? "" : ` --port ${port}`} starts a sandbox there`;
}

/** A checkout's fields, for people. */
export function checkoutFields(checkout: CheckoutWire, idempotencyKey?: string): string {
  return fieldLines([
    ["id", checkout.id],
    ["order_id", checkout.order_id],
    ["amount", formatAmount(checkout.amount_minor, checkout.currency)],
    ["status", checkout.status],
    ["checkout_url", checkout.checkout_url],
    ...(idempotencyKey === undefined ? [] : [["idempotency_key", idempotencyKey] as const]),
  ]);
}
