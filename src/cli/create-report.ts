import type { CreateResult } from "../client/client.ts";
import type { Exchange } from "../client/exchange.ts";
import type { CreateRequest } from "../core/create-request.ts";
import type { JournalEntry } from "../core/journal.ts";
import { formatAmount } from "../core/money.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import type { CheckoutWire } from "../core/wire.ts";
import type { Context } from "./command.ts";
import { fieldLines } from "./printer.ts";
import { EXIT, exitCodeOfStatus, type Problem } from "./problem.ts";

/** What the commands and their help call the two things that can be created. */
export type Noun = {
  readonly command: "orders" | "sessions";
  readonly endpoint: "orders" | "checkout-sessions";
  readonly thing: string;
  readonly example: string;
};

export const ORDER: Noun = {
  command: "orders",
  endpoint: "orders",
  thing: "an order",
  example: "order-1001",
};
export const SESSION: Noun = {
  command: "sessions",
  endpoint: "checkout-sessions",
  thing: "a checkout session",
  example: "order-1002",
};

/** A create that came to its end. */
export type CreateReport = {
  readonly noun: Noun;
  readonly request: CreateRequest;
  readonly result: CreateResult;
};

/** Prints the checkout, or says why there is none, which key a retry must carry and what to type. */
export function reportCreate(context: Context, report: CreateReport): Outcome<void, Problem> {
  const { entry, exchange } = report.result;
  if (exchange === "too_old") return { ok: false, refusal: tooOld(entry) };
  if (exchange.end !== "success") return { ok: false, refusal: createProblem(report, exchange) };
  const replayed = exchange.headers["idempotent-replayed"] === "true";
  const { response, tries } = exchange;
  context.printer.result(
    { ...response, idempotency_key: entry.key, replayed, tries },
    () => `${headline(context, response.data, replayed)}\n${checkoutFields(response.data, entry.key)}`,
  );
  return accept(undefined);
}

/** Why an exchange brought no checkout, as far as it does not depend on the command. */
export function exchangeProblem(
  exchange: Exclude<Exchange, { end: "success" }>,
): Omit<Problem, "next"> & { readonly retryAfter: string } {
  const retryAfter =
    exchange.end === "gave_up" && exchange.retryAfterMs > 0
      ? ` in ${Math.ceil(exchange.retryAfterMs / 1000)} s`
      : "";
  if (exchange.end === "interrupted") {
    return { exitCode: EXIT.interrupted, code: "interrupted", message: "interrupted", retryAfter };
  }
  const { status } = exchange;
  if (exchange.end === "refusal") {
    const { code, message } = exchange.error;
    const details = { status: exchange.status, request_id: exchange.requestId };
    return { exitCode: exitCodeOfStatus(status), code, message, details, retryAfter };
  }
  const code =
    status === undefined ? (exchange.uncertain ? "outcome_unknown" : "unreachable") : `status_${status}`;
  return {
    exitCode: exitCodeOfStatus(status),
    code,
    message: exchange.message,
    details: { tries: exchange.tries },
    retryAfter,
  };
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

function headline({ printer: { style } }: Context, checkout: CheckoutWire, replayed: boolean): string {
  const thing = checkout.object === "order" ? "order" : "checkout session";
  if (!replayed) return `${style.green("✓")} ${thing} created`;
  return `${style.green("=")} the same ${thing} as before; nothing new was created`;
}

function createProblem(report: CreateReport, exchange: Exclude<Exchange, { end: "success" }>): Problem {
  const { retryAfter, ...problem } = exchangeProblem(exchange);
  const { key } = report.result.entry;
  const details = { ...problem.details, idempotency_key: key };
  if (exchange.uncertain || exchange.end !== "refusal") {
    const doubt = exchange.uncertain
      ? "; the service may have created it: the next run with the same key finds out, and never makes a second one"
      : "; nothing was created";
    return {
      ...problem,
      details,
      message: problem.message + doubt,
      next: `run${retryAfter}: ${resumeCommand(report)}`,
    };
  }
  return { ...problem, details, next: nextAfterRefusal(problem.code, report) };
}

function nextAfterRefusal(code: string, { noun, request, result }: CreateReport): string {
  const orderId = quote(request.order_id);
  if (code === "idempotency_key_reused") {
    return result.entry.attempt === null
      ? "repeat the first request of that key exactly, or use another key"
      : `the first request of ${orderId} was another one: repeat it exactly, use another --order-id, or add --new-attempt`;
  }
  if (code === "order_conflict")
    return "use that checkout, or another --order-id; once it failed, was cancelled or expired, add --new-attempt";
  if (code.startsWith("credential")) return "check CHECKOUT_API_KEY and --base-url with: checkout whoami";
  return `correct it and run again: checkout ${noun.command} create --order-id ${orderId} …`;
}

/** The command that asks the service what became of this create: same body, same key, from any folder. */
function resumeCommand({ noun, request, result }: CreateReport): string {
  const flags = Object.entries(request).map(
    ([field, value]) => `--${field.replaceAll("_", "-")} ${quote(String(value))}`,
  );
  return `checkout ${noun.command} create ${flags.join(" ")} --idempotency-key ${quote(result.entry.key)}`;
}

function tooOld(entry: JournalEntry): Problem {
  const sent = new Date(entry.firstSentAt).toISOString().slice(0, 10);
  const check =
    entry.checkoutId === null
      ? "look in the merchant portal"
      : `type: checkout sessions get ${entry.checkoutId}`;
  return {
    exitCode: EXIT.conflict,
    code: "idempotency_key_too_old",
    message: `${entry.key} was first sent on ${sent}: the service may have forgotten it, and sending it could make a second order`,
    next: `${check}; if a new one is really meant, add --new-attempt`,
    details: { idempotency_key: entry.key },
  };
}

/** A word as a POSIX shell reads it back. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
