import type { Command } from "commander";
import {
  drillBrowserReturn,
  drillTarget,
  fillIn,
  type OrderViewSource,
} from "../../client/drills/browser-return.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { judgeReturn, type ReturnVerdict } from "../../core/readiness/drills/browser-return.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import { invalidOption, valueOption, type Context, type Registry } from "../command.ts";
import { callSandbox, controlOutcome } from "../control-command.ts";
import { SESSION } from "../order/create-report.ts";
import { parseId } from "../parsers.ts";
import { EXIT, fail, failUsage, type Problem } from "../problem.ts";
import { createInSandbox, requestFor } from "../order/sandbox-create.ts";
import { storeOption } from "../service-command.ts";
import type { ServiceOptions } from "../settings.ts";
import { drillLines, registerDrill, verdictMark, type DrillResult, type ReadyDrill } from "./drill.ts";

type ReturnOptions = ServiceOptions & {
  readonly returnUrl: string;
  readonly orderView?: string;
  readonly orderViewCommand?: string;
  readonly paidWhen?: RegExp;
  readonly checkout?: string;
};

/** What to drill, as it was typed and checked. */
type Plan = { readonly page: string; readonly view: OrderViewSource };
type Buyer = Pick<Checkout, "id" | "orderId">;

/** Characters that no shell reads as anything but themselves. */
const HARMLESS = /^\w[\w.~-]*$/;

/** `checkout checklist run browser-return`. */
export function registerChecklistBrowserReturn(checklist: Command, registry: Registry): void {
  registerDrill<ReturnOptions>(checklist, registry, {
    name: "browser-return",
    summary: "return to your page without paying, and check that your shop does not take it for a payment",
    examples: [
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view http://localhost:3000/orders/{order_id} --paid-when '"status": *"paid"'`,
      `checkout checklist run browser-return --return-url http://localhost:3000/thanks --order-view-command 'bin/order-status {order_id}' --paid-when '^paid$' --checkout <id>`,
    ],
    options: [
      valueOption("--return-url <url>", "your page that customers return to, on this machine"),
      valueOption("--order-view <url>", "URL where your shop shows the status of {order_id} or {session_id}"),
      valueOption("--order-view-command <command>", "the same, as a command that prints it"),
      valueOption(
        "--paid-when <regex>",
        "pattern that matches the answer if the order is paid",
        parsePattern,
      ),
      valueOption(
        "--checkout <id>",
        "an unpaid checkout that your shop created (default: a new one)",
        parseId,
      ),
      storeOption(),
    ],
    required: ["returnUrl"],
    requires: [
      ["orderView", "paidWhen"],
      ["orderViewCommand", "paidWhen"],
    ],
    conflicts: [["orderView", "orderViewCommand"]],
    prepare: prepareReturn,
  });
}

async function prepareReturn(
  context: Context,
  options: ReturnOptions,
  control: ControlTarget,
): Promise<Outcome<ReadyDrill, Problem>> {
  const plan = planOf(options, control);
  if (!plan.ok) return plan;
  if (plan.value === "no_view") return accept(() => Promise.resolve(accept(NO_VIEW)));
  const buyer = await buyerFor(context, options, control);
  if (!buyer.ok) return buyer;
  const safe = checkCommand(plan.value, buyer.value);
  if (!safe.ok) return safe;
  const { page, view } = plan.value;
  return accept(async (signal) => {
    const wanted = { checkout: buyer.value, page, view, signal };
    const facts = controlOutcome(await drillBrowserReturn(context.world, control, wanted));
    if (!facts.ok) return facts;
    const judged = judgeReturn(facts.value);
    const kept = await keep(context, control, { page, judged });
    return kept.ok ? accept(resultOf(page, judged, kept.value)) : kept;
  });
}

/** What is to be done, or that there is no view, without which nothing can be told. */
function planOf(options: ReturnOptions, control: ControlTarget): Outcome<Plan | "no_view", Problem> {
  const { returnUrl: page, orderView, orderViewCommand, paidWhen } = options;
  const target = drillTarget(control, page);
  if (!target.ok) return failUsage(`--return-url: ${target.refusal.message}`, "correct it; nothing was done");
  if (paidWhen === undefined || (orderView ?? orderViewCommand) === undefined) return accept("no_view");
  if (orderViewCommand !== undefined)
    return accept({ page: target.value.url, view: { from: { commandLine: orderViewCommand }, paidWhen } });
  const url = orderView ?? "";
  const example = drillTarget(control, fillIn(url, { id: "1", orderId: "1" }, encodeURIComponent));
  if (!example.ok)
    return failUsage(`--order-view: ${example.refusal.message}`, "correct it; nothing was done");
  return accept({ page: target.value.url, view: { from: { url }, paidWhen } });
}

/** A checkout that nobody has paid: the one that the shop made, or a new one. */
async function buyerFor(
  context: Context,
  options: ReturnOptions,
  control: ControlTarget,
): Promise<Outcome<Buyer, Problem>> {
  const { checkout: id } = options;
  if (id === undefined) {
    const request = requestFor(context.world, { purpose: "return" });
    if (!request.ok) return request;
    const made = await createInSandbox(context, options, { noun: SESSION, request: request.value, control });
    return made.ok ? accept(buyerOf(made.value.response.data)) : made;
  }
  const found = await callSandbox(context, control, { name: "inspectCheckout", id, body: undefined });
  if (!found.ok) return found;
  const { status } = found.value;
  if (!isFinal(status)) return accept(found.value);
  const message = `${id} is ${status}: the drill needs one that is not paid`;
  const next = "let your shop create a new one, and give its id; or leave out --checkout";
  return fail({ exitCode: EXIT.conflict, code: "state_conflict", message, next });
}

function buyerOf({ id, order_id: orderId }: { readonly id: string; readonly order_id: string }): Buyer {
  return { id, orderId };
}

/** What stands in a command line is read by a shell. */
function checkCommand({ view }: Plan, { orderId }: Buyer): Outcome<void, Problem> {
  if ("url" in view.from || HARMLESS.test(orderId) || !view.from.commandLine.includes("{order_id}"))
    return accept(undefined);
  const message = `the order_id ${printableLiteral(orderId)} holds characters that a shell would read`;
  return failUsage(message, "use {session_id} in the command, or another checkout");
}

/** What shows nothing is not kept: the last drill that showed something stands. */
async function keep(
  context: Context,
  control: ControlTarget,
  { page, judged }: { readonly page: string; readonly judged: ReturnVerdict },
): Promise<Outcome<AnswerOf<"recordBrowserReturn"> | null, Problem>> {
  if (judged.verdict === "unknown") return accept(null);
  const body = { returnUrl: page, steps: judged.steps };
  return callSandbox(context, control, { name: "recordBrowserReturn", body });
}

const TITLES = {
  before_the_return: "before the return",
  return_without_payment: "return without a payment",
  return_before_webhook: "return after payment, webhooks held",
  after_the_webhook: "after the webhooks",
};

const HEADS = {
  passed: "is not taken for a payment",
  failed: "is taken for a payment",
  unknown: "is taken for a payment is unknown",
};

function resultOf(
  page: string,
  { verdict, steps }: ReturnVerdict,
  drill: AnswerOf<"recordBrowserReturn"> | null,
): DrillResult {
  const what = `${verdict === "unknown" ? "whether a" : "a"} return to ${printable(page)} ${HEADS[verdict]}`;
  return {
    verdict,
    json: { verdict, drill_id: drill?.id ?? null, steps },
    text: async (style) =>
      `${verdictMark(verdict, style)} ${what}\n${await drillLines(steps, { titles: TITLES, style })}`,
  };
}

const ADD_VIEW = "add --order-view URL, or --order-view-command CMD, and --paid-when REGEX";

const NO_VIEW: DrillResult = {
  verdict: "unknown",
  json: { verdict: "unknown", drill_id: null, steps: [], next: ADD_VIEW },
  text: (style) =>
    [
      `${verdictMark("unknown", style)} unknown: only your shop can say whether an order is paid for it; nothing was done`,
      `  ${style.cyan("→")} ${ADD_VIEW}`,
    ].join("\n"),
};

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    // The engine says what is wrong with it.
    throw invalidOption("a regular expression", `${text} (${error instanceof Error ? error.message : ""})`);
  }
}
