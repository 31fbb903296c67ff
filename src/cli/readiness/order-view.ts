import { parseDrillTarget, fillUrl, type OrderViewSource } from "../../client/drills/order-view.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import type { Option } from "commander";
import { parseCommandLine } from "../../client/merchant-command.ts";
import { accept } from "../../core/outcome.ts";
import { invalidOption, repeatedOption, toOptionParser, valueOption, type CommandSpec } from "../command.ts";
import { refuseUsage } from "../problem.ts";
import { verdictMark, type DrillResult, type PreparedDrill } from "./drill.ts";
import type { ServiceOptions } from "../target/surroundings.ts";

/** Options of a drill that asks the shop about an order. */
export type OrderViewOptions = ServiceOptions & {
  readonly orderView?: string;
  readonly orderViewCommand?: string;
  readonly paidWhen?: RegExp;
  readonly checkout?: readonly string[];
  readonly create?: string;
};

/** The options of these drills: at most `most` checkouts of the shop, and `runs` runs of `--create`. */
export function orderViewOptions({ most, runs }: { readonly most: number; readonly runs: number }) {
  return [
    valueOption("--order-view <url>", "URL where your shop shows the status of {order_id} or {session_id}"),
    commandOption(
      "--order-view-command <command>",
      "command that prints the status of CHECKOUT_ORDER_ID or CHECKOUT_SESSION_ID, instead of --order-view",
    ),
    valueOption(
      "--paid-when <regex>",
      "regular expression that matches the status if the order is paid",
      parsePattern,
    ),
    repeatedOption(
      "--checkout <id|order_id>",
      `unpaid checkout that your shop created (default: ${most === 1 ? "a new one" : `new ones; repeatable, up to ${most}`})`,
      accept<string>,
    ),
    commandOption(
      "--create <command>",
      `command of your shop that creates a checkout for CHECKOUT_ORDER_ID, with CHECKOUT_BASE_URL and CHECKOUT_API_KEY${runs === 1 ? "" : `; it is run ${runs} times`}`,
    ),
  ];
}

/** An option whose value is a command line of the merchant's. */
export function commandOption(flags: string, description: string): Option {
  return valueOption(flags, description, toOptionParser(parseCommandLine));
}

/** The rules of these options. */
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

/**
 * The checked way to ask the shop about an order; undefined if none was given: then the drill cannot reach a verdict.
 */
export function parseOrderViewOptions(
  { orderView, orderViewCommand, paidWhen }: OrderViewOptions,
  control: ControlTarget,
): OrderViewSource | undefined {
  if (paidWhen === undefined) return undefined;
  if (orderViewCommand !== undefined) return { from: { commandLine: orderViewCommand }, paidWhen };
  if (orderView === undefined) return undefined;
  const example = parseDrillTarget(control, fillUrl(orderView, { id: "1", orderId: "1" }));
  if (!example.ok)
    throw refuseUsage(`--order-view: ${example.refusal.message}`, "correct it; nothing was done");
  return { from: { url: orderView }, paidWhen };
}

const ADD_VIEW = "add --order-view URL, or --order-view-command CMD, and --paid-when REGEX";

const NO_VIEW: DrillResult = {
  verdict: "unknown",
  json: { verdict: "unknown", drill_id: null, steps: [], next: ADD_VIEW },
  text: ({ style }) =>
    [
      `${verdictMark("unknown", style)} unknown: only your shop can tell whether it treats an order as paid; nothing was done`,
      `  ${style.cyan("→")} ${ADD_VIEW}`,
    ].join("\n"),
};

/** The result of a drill without a view of orders: no step runs. */
export const drillWithoutView: PreparedDrill = () => Promise.resolve(NO_VIEW);

/** Parses a regular expression from the command line. */
export function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    // The engine's message names the mistake.
    throw invalidOption("a regular expression", `${text} (${error instanceof Error ? error.message : ""})`);
  }
}
