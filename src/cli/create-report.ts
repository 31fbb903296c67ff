import type { CreateResult } from "../client/client.ts";
import type { Exchange } from "../client/exchange.ts";
import type { CreateRequest } from "../core/create-request.ts";
import type { JournalEntry } from "../core/journal.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import type { CheckoutWire } from "../core/wire.ts";
import type { Context } from "./command.ts";
import { checkoutFields, exchangeProblem, nextAfterCode } from "./exchange-report.ts";
import { EXIT, type Problem } from "./problem.ts";

/** What the commands and their help call the two things that can be created. */
export type Noun = {
  readonly command: "orders" | "sessions";
  readonly endpoint: "orders" | "checkout-sessions";
  readonly thing: string;
  readonly example: string;
};

/** What `orders` commands create. */
export const ORDER: Noun = {
  command: "orders",
  endpoint: "orders",
  thing: "an order",
  example: "order-1001",
};
/** What `sessions` commands create. */
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
  /** Flags that name the service and the folder, so that the same ones are asked again. */
  readonly where: Readonly<Record<string, string>>;
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

function headline({ printer: { style } }: Context, checkout: CheckoutWire, replayed: boolean): string {
  const thing = checkout.object === "order" ? "order" : "checkout session";
  if (!replayed) return `${style.green("✓")} ${thing} created`;
  return `${style.green("=")} the same ${thing} as before; nothing new was created`;
}

function createProblem(report: CreateReport, exchange: Exclude<Exchange, { end: "success" }>): Problem {
  const problem = exchangeProblem(exchange);
  const { key } = report.result.entry;
  const details = { ...problem.details, idempotency_key: key };
  if (exchange.uncertain || exchange.end !== "refusal") {
    const doubt = exchange.uncertain
      ? "; the service may have created it: the next run with the same key finds out, and never makes a second one"
      : "; nothing was created";
    return {
      ...problem,
      ...(exchange.end === "gave_up" && exchange.uncertain ? { code: "outcome_unknown" } : {}),
      details,
      message: problem.message + doubt,
      next: resumeCommand(report),
    };
  }
  return { ...problem, details, next: nextAfterRefusal(problem.code, report) };
}

function nextAfterRefusal(code: string, { noun, request, result }: CreateReport): string {
  const orderId = quote(request.order_id);
  if (code === "idempotency_key_reused") {
    return result.entry.attempt === null
      ? "repeat the first request of that key exactly, or use another key"
      : `the first request of ${orderId} was another one: repeat it exactly, or use another --order-id`;
  }
  if (code === "order_conflict") {
    return "use that checkout, or another --order-id; once it failed, was cancelled or expired, add --new-attempt";
  }
  return nextAfterCode(code) ?? `correct it and run checkout ${noun.command} create again`;
}

/** The command that asks the service what became of this create: same service, same body, same key. */
function resumeCommand({ noun, request, result, where }: CreateReport): string {
  const body = Object.entries(request).map(
    ([field, value]) => [field.replaceAll("_", "-"), String(value)] as const,
  );
  const key = ["idempotency-key", result.entry.key] as const;
  const flags = [...body, ...Object.entries(where), key].map(([flag, value]) => `--${flag} ${quote(value)}`);
  return `checkout ${noun.command} create ${flags.join(" ")}`;
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
