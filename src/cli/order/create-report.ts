import { toIso } from "../../core/clock.ts";
import { errorRow } from "../../core/errors.ts";
import type { CreateResult } from "../../client/api/client.ts";
import type { Exchange } from "../../client/api/exchange.ts";
import type { CreateRequest } from "../../core/checkout/create-request.ts";
import type { JournalEntry, KeyRefusal } from "../../core/checkout/journal.ts";
import { formatAmount } from "../../core/money.ts";
import { optionToCopy, type Shell } from "../../core/shell/quote.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import type { CheckoutResponse, CheckoutWire } from "../../core/checkout/wire-shapes.ts";
import type { Context } from "../command.ts";
import type { CheckoutKind } from "./checkout-kinds.ts";
import { checkoutFields, checkoutOutput, exchangeProblem, addProblemHint } from "./exchange-report.ts";
import type { ResolvedTarget } from "../target/resolve.ts";
import { EXIT, Refused, type Problem } from "../problem.ts";

type CreateReport = {
  readonly kind: CheckoutKind;
  readonly request: CreateRequest;
  readonly result: CreateResult;
  /** The payment method or currency that the store lacks, if known. */
  readonly missingCapability?: string | undefined;
  readonly targetFlags: Readonly<Record<string, string>>;
  readonly settings: ResolvedTarget;
  readonly shell: Shell;
};

export type NewCheckout = {
  readonly response: CheckoutResponse;
  readonly key: string;
  readonly isReplayed: boolean;
  readonly attempts: number;
};

export function unwrapCreateResult(context: Context, report: CreateReport): NewCheckout {
  const { result, settings } = report;
  const refuse = (problem: Problem): Refused => new Refused(addProblemHint(problem, settings));
  if (result.end === "not_sent") throw refuse(unsentProblem(result));
  const { entry, exchange, journalFailure } = result;
  if (journalFailure !== undefined) {
    context.printer.trace(
      `warning: the answer could not be recorded in the journal (${printable(journalFailure)}); running the command again is safe`,
    );
  }
  if (exchange.end !== "success") throw refuse(createProblem(report, result, exchange));
  if (result.isMismatch) throw refuse(mismatchProblem(report, entry, exchange.response.data));
  const { id } = exchange.response.data;
  if (entry.checkoutId !== null && entry.checkoutId !== id) {
    context.printer.trace(
      `note: the journal has another ${report.kind.noun} for this, ${printable(entry.checkoutId)}; the service, which may have been reset, answered with ${printable(id)}`,
    );
  }
  // Another service may mark replays differently or not at all, so the id of a recorded checkout also indicates a
  // replay.
  const isReplayed = exchange.headers["idempotent-replayed"] === "true" || entry.checkoutId === id;
  const { response, attemptCount } = exchange;
  return { response, key: entry.key, isReplayed, attempts: attemptCount };
}

export function printCreatedCheckout(
  context: Context,
  { response, key, isReplayed, attempts }: NewCheckout,
): Promise<number> {
  const { style } = context.printer;
  const { status } = response.data;
  const mayBeRepeated = isReplayed && (status === "failed" || status === "cancelled" || status === "expired");
  const hint = `  ${style.cyan("→")} its status is ${status}: add --new-attempt to create a new one`;
  return context.printer.result(
    checkoutOutput(response, { idempotency_key: key, replayed: isReplayed, tries: attempts }),
    () =>
      [
        headline(context, response.data, isReplayed),
        checkoutFields(response.data, key),
        ...(mayBeRepeated ? [hint] : []),
      ].join("\n"),
  );
}

type SentCreate = Extract<CreateResult, { end: "sent" }>;

function headline({ printer: { style } }: Context, checkout: CheckoutWire, isReplayed: boolean): string {
  const objectName = checkout.object === "order" ? "order" : "checkout session";
  if (!isReplayed) return `${style.green("✓")} ${objectName} created`;
  return `${style.green("=")} the same ${objectName} as before; nothing new was created`;
}

function createProblem(
  report: CreateReport,
  { entry, inDoubt }: SentCreate,
  exchange: Exclude<Exchange, { end: "success" }>,
): Problem {
  const problem = exchangeProblem(exchange);
  const details = { ...problem.details, idempotency_key: entry.key };
  if (exchange.end === "refusal" && !inDoubt)
    return { ...problem, details, next: remedyForRefusal(problem, report, entry) };
  const code = inDoubt && exchange.end === "gave_up" ? "outcome_unknown" : problem.code;
  const message = `${problem.message}; ${inDoubt ? DOUBT_TEXT : "nothing was created"}`;
  return { ...problem, code, details, message, next: resumeCommand(report, entry) };
}

const DOUBT_TEXT =
  "the service may have created it, now or in an earlier run: to find out, run the command again with the same key, which never creates a second order or session";

function remedyForRefusal(
  { code, message }: Pick<Problem, "code" | "message">,
  { kind, request, missingCapability }: CreateReport,
  entry: JournalEntry,
): string {
  if (code === "idempotency_key_reused") {
    return entry.attempt === null
      ? "repeat the first request with this key exactly, or use another key"
      : `${printableLiteral(request.order_id)} was first sent with a different request: repeat that request exactly, or use another --order-id`;
  }
  if (code === "order_conflict") {
    // In this message, a semicolon follows the status of the existing checkout.
    if (/ succeeded;/.test(message))
      return "the order is paid, so it cannot be bought again: use another --order-id";
    return "use the existing checkout, or another --order-id; once it has failed, expired or been cancelled, add --new-attempt";
  }
  return (
    errorRow(code)?.next?.replace("<name>", missingCapability ?? "<name>") ??
    `correct it and run checkout ${kind.command} create again`
  );
}

/** A command that sends the same body with the same key to the same service, or a hint if a value cannot be quoted. */
function resumeCommand(
  { kind, request, targetFlags, shell }: CreateReport,
  { key: idempotencyKey }: JournalEntry,
): string {
  const body = Object.entries(request).map(
    ([field, value]) => [field.replaceAll("_", "-"), String(value)] as const,
  );
  const key = ["idempotency-key", idempotencyKey] as const;
  const flags = [...body, ...Object.entries(targetFlags), key].map(([flag, value]) =>
    optionToCopy(`--${flag}`, value, shell),
  );
  if (!flags.includes(undefined)) return `checkout ${kind.command} create ${flags.join(" ")}`;
  return `run the same command again with the idempotency key ${printableLiteral(idempotencyKey)}; its values cannot be quoted here`;
}

function mismatchProblem({ request }: CreateReport, entry: JournalEntry, gotCheckout: CheckoutWire): Problem {
  const amountText = formatAmount(gotCheckout.amount_minor, gotCheckout.currency);
  return {
    exitCode: EXIT.conflict,
    code: "answer_mismatch",
    message: `the service answered with the ${gotCheckout.object} ${gotCheckout.id} of ${printableLiteral(gotCheckout.order_id)} over ${amountText}, which does not match the request`,
    next: `look in the merchant portal for ${printableLiteral(request.order_id)}; this service does not check whether a key belongs to the request`,
    details: { idempotency_key: entry.key },
  };
}

function unsentProblem({ reason, entry }: KeyRefusal): Problem {
  const fields = { exitCode: EXIT.conflict, details: { idempotency_key: entry.key } };
  if (reason === "other_create")
    return {
      ...fields,
      code: "idempotency_key_taken",
      message: `${entry.key} belongs to another create: ${entry.endpoint} ${printableLiteral(entry.orderId)}; nothing was sent`,
      next: "use another --idempotency-key, or leave it out",
    };
  const sentDay = toIso(entry.firstSentAt).slice(0, 10);
  const lookupHint =
    entry.checkoutId === null
      ? "look in the merchant portal"
      : `type: checkout sessions get ${entry.checkoutId}`;
  return {
    ...fields,
    code: "idempotency_key_too_old",
    message: `${entry.key} was first sent on ${sentDay}: the service may have forgotten it, and sending it again could create a second order`,
    next: `${lookupHint}; to create another, add --new-attempt`,
  };
}
