import { drillTarget, fillIn, type Buyer, type OrderViewSource } from "../../client/drills/order-view.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { printableLiteral } from "../../core/text.ts";
import { invalidOption, valueOption, type CommandSpec, type Context } from "../command.ts";
import type { Noun } from "../order/create-report.ts";
import { createInSandbox, requestFor } from "../order/sandbox-create.ts";
import { EXIT, Refused, refusedUsage } from "../problem.ts";
import { verdictMark, type DrillResult, type ReadyDrill } from "./drill.ts";
import { callAt } from "../target/call.ts";
import { findId } from "../target/ids.ts";
import type { ServiceOptions } from "../target/surroundings.ts";

/** The options of a drill that asks the merchant about an order. */
export type OrderViewOptions = ServiceOptions & {
  readonly orderView?: string;
  readonly orderViewCommand?: string;
  readonly paidWhen?: RegExp;
  readonly checkout?: string;
};

/** Characters that no shell reads as anything but themselves. */
const HARMLESS = /^\w[\w.~-]*$/;

/** The options of each such drill. */
export function orderViewOptions() {
  return [
    valueOption("--order-view <url>", "URL where your shop shows the status of {order_id} or {session_id}"),
    valueOption("--order-view-command <command>", "the same, as a command that prints it"),
    valueOption("--paid-when <regex>", "pattern that matches the answer if the order is paid", parsePattern),
    valueOption("--checkout <id|order_id>", "an unpaid checkout that your shop created (default: a new one)"),
  ];
}

/** How they go together. */
export const ORDER_VIEW_RULES = {
  requires: [
    ["orderView", "paidWhen"],
    ["orderViewCommand", "paidWhen"],
  ],
  conflicts: [["orderView", "orderViewCommand"]],
} as const satisfies Pick<CommandSpec<OrderViewOptions>, "requires" | "conflicts">;

/** How to ask the merchant, as it was typed and checked; undefined where there is no view, without which nothing can be told. */
export function viewOf(
  { orderView, orderViewCommand, paidWhen }: OrderViewOptions,
  control: ControlTarget,
): OrderViewSource | undefined {
  if (paidWhen === undefined) return undefined;
  if (orderViewCommand !== undefined) return { from: { commandLine: orderViewCommand }, paidWhen };
  if (orderView === undefined) return undefined;
  const example = drillTarget(control, fillIn(orderView, { id: "1", orderId: "1" }, encodeURIComponent));
  if (!example.ok)
    throw refusedUsage(`--order-view: ${example.refusal.message}`, "correct it; nothing was done");
  return { from: { url: orderView }, paidWhen };
}

/** A checkout that nobody has paid: the one that the shop made, or a new one, whose order_id begins with the purpose. */
export async function buyerFor(
  context: Context,
  options: OrderViewOptions,
  wanted: {
    readonly control: ControlTarget;
    readonly view: OrderViewSource;
    readonly purpose: string;
    /** Whether a new one is an order or a session: the events of both have to be seen by some drill. */
    readonly noun: Noun;
  },
): Promise<Buyer> {
  const { control, view, purpose, noun } = wanted;
  const buyer = await findOrMake(context, options, { control, purpose, noun });
  checkCommand(view, buyer);
  return buyer;
}

async function findOrMake(
  context: Context,
  options: OrderViewOptions,
  {
    control,
    purpose,
    noun,
  }: { readonly control: ControlTarget; readonly purpose: string; readonly noun: Noun },
): Promise<Buyer> {
  if (options.checkout === undefined) {
    const request = requestFor(context.world, { purpose });
    const made = await createInSandbox(context, options, { noun, request, control });
    return buyerOf(made.response.data);
  }
  const id = await findId(context, "checkout", options.checkout, control);
  const found = await callAt(context, control, { name: "inspectCheckout", id, body: undefined });
  const { status } = found;
  if (!isFinal(status)) return found;
  const message = `${id} is ${status}: the drill needs one that is not paid`;
  const next = "let your shop create a new one, and give its id; or leave out --checkout";
  throw new Refused({ exitCode: EXIT.conflict, code: "state_conflict", message, next });
}

function buyerOf({ id, order_id: orderId }: { readonly id: string; readonly order_id: string }): Buyer {
  return { id, orderId };
}

/** What stands in a command line is read by a shell. */
function checkCommand({ from }: OrderViewSource, { orderId }: Buyer): void {
  if ("url" in from || HARMLESS.test(orderId) || !from.commandLine.includes("{order_id}")) return;
  const message = `the order_id ${printableLiteral(orderId)} holds characters that a shell would read`;
  throw refusedUsage(message, "use {session_id} in the command, or another checkout");
}

const ADD_VIEW = "add --order-view URL, or --order-view-command CMD, and --paid-when REGEX";

const NO_VIEW: DrillResult = {
  verdict: "unknown",
  json: { verdict: "unknown", drill_id: null, steps: [], next: ADD_VIEW },
  text: ({ style }) =>
    [
      `${verdictMark("unknown", style)} unknown: only your shop can say whether an order is paid for it; nothing was done`,
      `  ${style.cyan("→")} ${ADD_VIEW}`,
    ].join("\n"),
};

/** A drill without a view: it does nothing, and says so. */
export const withoutView: ReadyDrill = () => Promise.resolve(NO_VIEW);

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    // The engine says what is wrong with it.
    throw invalidOption("a regular expression", `${text} (${error instanceof Error ? error.message : ""})`);
  }
}
