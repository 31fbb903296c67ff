import type { Command } from "commander";
import {
  drillBrowserReturn,
  drillTarget,
  fillIn,
  type OrderViewSource,
} from "../../client/drills/browser-return.ts";
import { callControl, type ControlTarget } from "../../client/control/control.ts";
import { judgeReturn, type ReturnVerdict } from "../../core/readiness/drills/browser-return.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { printable, printableLiteral } from "../../core/text.ts";
import { invalidOption, register, valueOption, type Context, type Registry } from "../command.ts";
import { controlOutcome, controlTarget } from "../control-command.ts";
import { SESSION } from "../order/create-report.ts";
import { drillLines } from "./drill-report.ts";
import { parseId } from "../parsers.ts";
import { DONE, EXIT, fail, failUsage, type Ending, type Problem } from "../problem.ts";
import { createInSandbox, requestFor } from "../order/sandbox-create.ts";
import { storeOption, whileWaiting } from "../service-command.ts";
import type { ServiceOptions } from "../settings.ts";
import { drillGroup } from "./checklist.ts";

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
  register<ReturnOptions>(drillGroup(checklist), registry, {
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
    run: runReturn,
  });
}

/** Exit 0 where it passed, 1 where it failed, 3 where nothing can be told. */
async function runReturn(context: Context, options: ReturnOptions): Promise<Ending> {
  const control = controlTarget(context, options);
  if (!control.ok) return control;
  const plan = planOf(options, control.value);
  if (!plan.ok) return plan;
  if (plan.value === "no_view") {
    showUnknown(context);
    return accept(EXIT.notReady);
  }
  const buyer = await buyerFor(context, options, control.value);
  if (!buyer.ok) return buyer;
  const safe = checkCommand(plan.value, buyer.value);
  if (!safe.ok) return safe;
  const { page, view } = plan.value;
  const seen = await whileWaiting(context, options, ({ signal }) =>
    drillBrowserReturn(context.world, control.value, { checkout: buyer.value, page, view, signal }),
  );
  const facts = controlOutcome(seen);
  if (!facts.ok) return facts;
  const judged = judgeReturn(facts.value);
  const kept = await keep(context, control.value, { page, judged });
  if (!kept.ok) return kept;
  show(context, { page, judged, drill: kept.value });
  if (judged.verdict === "passed") return DONE;
  return accept(judged.verdict === "failed" ? EXIT.failed : EXIT.notReady);
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
  const call = { name: "inspectCheckout", id, body: undefined } as const;
  const found = controlOutcome(await callControl(context.world, control, call));
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
  { world }: Context,
  control: ControlTarget,
  { page, judged }: { readonly page: string; readonly judged: ReturnVerdict },
): Promise<Outcome<AnswerOf<"recordBrowserReturn"> | null, Problem>> {
  if (judged.verdict === "unknown") return accept(null);
  const body = { returnUrl: page, steps: judged.steps };
  return controlOutcome(await callControl(world, control, { name: "recordBrowserReturn", body }));
}

const TITLES = {
  before_the_return: "before the return",
  return_without_payment: "return without a payment",
  return_before_webhook: "return after payment, webhooks held",
  after_the_webhook: "after the webhooks",
};

function show(
  { printer }: Context,
  shown: {
    readonly page: string;
    readonly judged: ReturnVerdict;
    readonly drill: AnswerOf<"recordBrowserReturn"> | null;
  },
): void {
  const { style } = printer;
  const { judged, drill } = shown;
  const page = printable(shown.page);
  const heads = {
    passed: `${style.green("✓")} a return to ${page} is not taken for a payment`,
    failed: `${style.red("✗")} a return to ${page} is taken for a payment`,
    unknown: `${style.bold("?")} whether a return to ${page} is taken for a payment is unknown`,
  };
  printer.result(
    { verdict: judged.verdict, drill_id: drill?.id ?? null, steps: judged.steps },
    () => `${heads[judged.verdict]}\n${drillLines(judged.steps, { titles: TITLES, style })}`,
  );
}

function showUnknown({ printer }: Context): void {
  const next = "add --order-view URL, or --order-view-command CMD, and --paid-when REGEX";
  printer.result({ verdict: "unknown", drill_id: null, steps: [], next }, () =>
    [
      `${printer.style.bold("?")} unknown: only your shop can say whether an order is paid for it; nothing was done`,
      `  ${printer.style.cyan("→")} ${next}`,
    ].join("\n"),
  );
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    // The engine says what is wrong with it.
    throw invalidOption("a regular expression", `${text} (${error instanceof Error ? error.message : ""})`);
  }
}
