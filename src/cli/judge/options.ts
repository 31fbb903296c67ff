import type { Option } from "commander";
import type { ShopDescription } from "../../client/judge/shop/description.ts";
import { parseCommandLine } from "../../client/merchant-command.ts";
import type { OptionHelp } from "../../core/help/map.ts";
import { DEFAULT_SETTLE_MS, MAX_SETTLE_MS } from "../../core/judge/shop.ts";
import { accept } from "../../core/outcome.ts";
import {
  invalidDuration,
  invalidOption,
  repeatedOption,
  switchOption,
  toOptionParser,
  valueOption,
  type CommandSpec,
  type Context,
} from "../command.ts";
import { replaceTypedOptions } from "../hints/again.ts";
import { parseDuration } from "../parsers.ts";
import type { ServiceOptions } from "../target/surroundings.ts";

export type ShopOptions = ServiceOptions &
  Omit<ShopDescription, "create" | "cookie"> & {
    readonly create?: string;
    readonly cookieFile?: string;
    readonly trustConfig?: boolean;
  };

export type RunOptions = ShopOptions & {
  readonly checkout?: readonly string[];
  readonly clientCommand?: string;
  readonly commandTimeout?: number;
  readonly budget?: number;
  readonly seed?: string;
  readonly only?: readonly string[];
  readonly quick?: boolean;
  readonly all?: boolean;
};

export const MAX_CHECKOUTS = 10;

export function shopOptions(): readonly Option[] {
  return [
    valueOption("--endpoint <url>", {
      text: "endpoint of your shop that receives webhooks; with --serve, a path",
      default: "all enabled endpoints",
    }),
    commandOption(
      "--create <command>",
      "command of your shop that creates a checkout, with the environment variables CHECKOUT_ORDER_ID, CHECKOUT_BASE_URL and CHECKOUT_API_KEY",
    ),
    valueOption(
      "--order-view <url>",
      "URL, or with --serve a path, that shows the status of order {order_id} or session {session_id}",
      parseOrderView,
    ),
    commandOption(
      "--order-view-command <command>",
      "command that prints the status of order $CHECKOUT_ORDER_ID or session $CHECKOUT_SESSION_ID, instead of --order-view",
    ),
    valueOption(
      "--paid-when <regex>",
      {
        text: "regular expression that matches the view of a paid order",
        default: 'the field "paid" of a JSON view',
      },
      parsePattern,
    ),
    valueOption("--bookings <field|regex>", {
      text: "number of bookings in the view: a field of a JSON view, or a regular expression with one capture group",
      default: 'the field "times"',
    }),
    valueOption("--amount <field|regex>", {
      text: "booked amount in the view: a field of a JSON view, or a regular expression with one capture group; in minor units, or a decimal such as 19.99",
      default: 'the field "amount_minor"',
    }),
    valueOption("--return-url <url>", "URL, on this machine, of the page that customers return to"),
    valueOption(
      "--order-id-of <regex>",
      "regular expression with one capture group that matches the order_id in the output of --create, if your shop generates its own",
      parsePattern,
    ),
    commandOption(
      "--serve <command>",
      "command that serves your shop on port $PORT, instead of a shop that is already running",
    ),
    commandOption("--restart <command>", {
      text: "command that tells a supervisor to restart your shop, such as docker compose restart shop",
      default: "no restart",
    }),
    valueOption(
      "--cookie-file <file>",
      "file with the Cookie header of a signed-in customer, for pages that need one",
    ),
    valueOption(
      "--settle <duration>",
      {
        text: `maximum delay before the view shows a payment, up to ${MAX_SETTLE_MS / 1000}s`,
        default: `${DEFAULT_SETTLE_MS / 1000}s`,
      },
      parseSettle,
    ),
    switchOption(
      "--trust-config",
      "run the commands in the shop section of checkout.config.json without confirmation, for use in CI",
    ),
  ];
}

/** The idempotency part also accepts `--client-command`, the older name of `--create`, and has no `--checkout`. */
export function runOptions(budget: string, isCreatesPart: boolean): readonly Option[] {
  return [
    ...shopOptions(),
    valueOption(
      "--command-timeout <duration>",
      { text: "timeout of each run of --create", default: "2m" },
      parseDuration,
    ),
    valueOption(
      "--budget <duration>",
      { text: "time limit of the whole run, after which nothing new starts", default: budget },
      parseDuration,
    ),
    valueOption("--seed <text>", {
      text: "random seed; the same seed repeats the histories, and in a new store also the order_ids",
      default: "random",
    }),
    repeatedOption(
      "--only <history>",
      "run only this history and the purchase without faults before it (repeatable)",
      accept<string>,
    ),
    switchOption(
      "--quick",
      "skip the history that repeats a payment event after more than 30 s; the checklist then shows a risk",
    ),
    switchOption("--all", "also show the steps that passed"),
    isCreatesPart
      ? commandOption("--client-command <command>", "same as --create")
      : repeatedOption(
          "--checkout <id|order_id>",
          `unpaid checkout that your shop created, instead of --create (repeatable, up to ${MAX_CHECKOUTS} times)`,
          accept<string>,
        ),
  ];
}

export const SHOP_RULES = {
  conflicts: [
    ["orderView", "orderViewCommand"],
    ["checkout", "create"],
    ["serve", "restart"],
  ],
} as const satisfies Pick<CommandSpec<RunOptions>, "conflicts">;

function commandOption(flags: string, description: OptionHelp): Option {
  return valueOption(flags, description, toOptionParser(parseCommandLine));
}

function parseOrderView(text: string): string {
  if (!/\{(order|session)_id\}/.test(text))
    throw invalidOption("an address with {order_id} or {session_id}", text);
  return text;
}

function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    // The message of the regular expression engine ends with the mistake.
    const cause = error instanceof Error ? error.message.split(": ").at(-1) : undefined;
    throw invalidOption("a regular expression", text, cause?.toLowerCase());
  }
}

function parseSettle(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds > MAX_SETTLE_MS)
    throw invalidDuration(`a duration of at most ${MAX_SETTLE_MS / 1000}s`, text);
  return milliseconds;
}

/**
 * Options that select the work of a run or of `explore`, or that write a file, each with its number of words,
 * including the value.
 */
const SELECTING_OPTIONS: ReadonlyMap<string, number> = new Map([
  ...["only", "seed", "budget", "depth", "payer", "write", "junit"].map((name) => [`--${name}`, 2] as const),
  ...["quick", "all"].map((name) => [`--${name}`, 1] as const),
]);

export function rerunLine(world: Context["world"], addedOptions: string): string {
  return replaceTypedOptions(world, SELECTING_OPTIONS, addedOptions);
}
