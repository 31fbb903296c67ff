import { drillTarget, fillIn, type OrderViewSource } from "../../client/drills/order-view.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { accept } from "../../core/outcome.ts";
import { invalidOption, repeatedOption, valueOption, type CommandSpec } from "../command.ts";
import { refusedUsage } from "../problem.ts";
import { verdictMark, type DrillResult, type ReadyDrill } from "./drill.ts";
import type { ServiceOptions } from "../target/surroundings.ts";

/** The options of a drill that asks the merchant about an order. */
export type OrderViewOptions = ServiceOptions & {
  readonly orderView?: string;
  readonly orderViewCommand?: string;
  readonly paidWhen?: RegExp;
  readonly checkout?: readonly string[];
  readonly create?: string;
};

/** The options of each such drill; `most` is how many checkouts of the shop it uses, and `runs` how often it lets one be made. */
export function orderViewOptions({ most, runs }: { readonly most: number; readonly runs: number }) {
  return [
    valueOption("--order-view <url>", "URL where your shop shows the status of {order_id} or {session_id}"),
    valueOption("--order-view-command <command>", "the same, as a command that prints it"),
    valueOption("--paid-when <regex>", "pattern that matches the answer if the order is paid", parsePattern),
    repeatedOption(
      "--checkout <id|order_id>",
      `an unpaid checkout that your shop created${most === 1 ? "" : ` (repeatable, up to ${most})`} (default: new ones)`,
      accept<string>,
    ),
    valueOption(
      "--create <command>",
      `command of your shop that creates one, of CHECKOUT_ORDER_ID, with CHECKOUT_BASE_URL and CHECKOUT_API_KEY${runs === 1 ? "" : `; it is run ${runs} times`}`,
    ),
  ];
}

/** How they go together. */
export const ORDER_VIEW_RULES = {
  requires: [
    ["orderView", "paidWhen"],
    ["orderViewCommand", "paidWhen"],
  ],
  conflicts: [
    ["orderView", "orderViewCommand"],
    ["checkout", "create"],
  ],
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
