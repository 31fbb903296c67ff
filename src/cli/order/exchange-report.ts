import type { Exchange } from "../../client/api/exchange.ts";
import { formatAmount } from "../../core/money.ts";
import type { CheckoutWire } from "../../core/checkout/wire.ts";
import { fieldLines } from "../printer.ts";
import { exitCodeOfStatus, interruptedProblem, type Problem } from "../problem.ts";
import type { Settings } from "../settings.ts";

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

/** The same refusal of the folder's sandbox, with the command that explains it, in the store that was named. */
export function withExplanation(
  problem: Problem,
  { sandbox, storeId: { value, source } }: Pick<Settings, "sandbox" | "storeId">,
): Problem {
  const id = problem.details?.["request_id"];
  if (sandbox === undefined || id === undefined) return problem;
  const store = value !== null && source.startsWith("--") ? ` --store ${value}` : "";
  return { ...problem, next: `${problem.next}; checkout explain ${id}${store} says why` };
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
