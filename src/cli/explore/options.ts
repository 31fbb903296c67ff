import type { Option } from "commander";
import { SEARCH_DEFAULTS } from "../../client/judge/search/search.ts";
import { PAYER_OUTCOMES, type PayerOutcome } from "../../core/judge/schedule.ts";
import { invalidOption, valueOption, type CommandSpec } from "../command.ts";
import { choiceParser, parseDuration, wholeNumberParser } from "../parsers.ts";
import { shopOptions, type ShopOptions } from "../judge/options.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { durationText } from "../../core/duration.ts";

const SHOP_OPTIONS = [
  "serve",
  "orderView",
  "orderViewCommand",
  "paidWhen",
  "bookings",
  "amount",
  "trustConfig",
] as const;

export type ExploreCommandOptions = CommonOptions &
  Pick<ShopOptions, (typeof SHOP_OPTIONS)[number]> & {
    readonly receiverPath?: string;
    readonly receiver?: string;
    readonly budget?: number;
    readonly depth?: number;
    readonly seed?: string;
    readonly only?: string;
    readonly payer?: PayerOutcome;
    readonly write?: string;
    readonly junit?: string;
    readonly commandTimeout?: number;
  };

export const COMMAND_TIMEOUT_MS = 60_000;
const MAX_DEPTH = 4;

export function exploreOptions(): readonly Option[] {
  return [
    ...shopOptions().filter((option) => SHOP_OPTIONS.some((name) => name === option.attributeName())),
    valueOption(
      "--receiver-path <path>",
      "path at which the shop started by --serve receives webhooks; --serve runs again for each schedule",
      parsePath,
    ),
    valueOption(
      "--receiver <url>",
      "endpoint of your running shop; schedules then run one at a time, in the shop's store in the running sandbox",
    ),
    valueOption(
      "--budget <duration>",
      { text: "time after which no new schedule starts", default: durationText(SEARCH_DEFAULTS.budgetMs) },
      parseDuration,
    ),
    valueOption(
      "--depth <count>",
      {
        text: `maximum number of faults in one schedule, 1 to ${MAX_DEPTH}`,
        default: String(SEARCH_DEFAULTS.depth),
      },
      wholeNumberParser(1, MAX_DEPTH),
    ),
    valueOption("--seed <text>", {
      text: "random seed; the same seed repeats the schedules",
      default: "random",
    }),
    valueOption("--only <faults>", "run only these faults, as JSON from the last line of a result"),
    valueOption(
      "--payer <outcome>",
      { text: `with --only, the payer's outcome: ${PAYER_OUTCOMES.join(", ")}`, default: "succeeded" },
      choiceParser(PAYER_OUTCOMES),
    ),
    valueOption(
      "--write <file>",
      "write the faults of the first finding to a file for checkout exec --fault; findings with a kill are skipped",
    ),
    valueOption("--junit <file>", "also write the result as JUnit XML, with one test for each invariant"),
    valueOption(
      "--command-timeout <duration>",
      { text: "timeout of each run of the command", default: durationText(COMMAND_TIMEOUT_MS) },
      parseDuration,
    ),
  ];
}

export const EXPLORE_RULES = {
  requires: [
    ["serve", "receiverPath"],
    ["receiverPath", "serve"],
    ["payer", "only"],
  ],
  conflicts: [
    ["orderView", "orderViewCommand"],
    ["serve", "receiver"],
  ],
} as const satisfies Pick<CommandSpec<ExploreCommandOptions>, "requires" | "conflicts">;

function parsePath(text: string): string {
  if (!text.startsWith("/")) throw invalidOption("a path such as /hooks", text);
  return text;
}
