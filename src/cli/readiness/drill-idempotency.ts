import {
  drillIdempotency,
  MAX_RUNS,
  MIN_RUNS,
  PURCHASE_COUNT,
  TOTAL_WAIT_MS,
  type IdempotencyDrillResult,
} from "../../client/drills/idempotency.ts";
import { evidenceJson, evidenceLine } from "../../core/readiness/report.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { printable, shortId } from "../../core/text.ts";
import { valueOption, type Context, type Group } from "../command.ts";
import { parseDuration } from "../parsers.ts";
import type { Printer } from "../printer.ts";
import { table } from "../table.ts";
import { connectToSandbox } from "../target/connect.ts";
import { drillLines, registerDrill, verdictMark, type DrillResult, type PreparedDrill } from "./drill.ts";
import { commandOption, trustOption } from "../judge/options.ts";
import { describeShop } from "../judge/section.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { IDEMPOTENCY_STEPS } from "../../core/readiness/drills/idempotency.ts";
import { callAt, answered } from "../target/call.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import type { ObservedCreate } from "../../core/readiness/drill-shapes.ts";
import { durationText } from "../../core/duration.ts";
import { unwrap } from "../problem.ts";

type IdempotencyOptions = CommonOptions & {
  readonly clientCommand?: string;
  readonly commandTimeout?: number;
  readonly trustConfig?: boolean;
};

/** Default timeout of the merchant's command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 120_000;
/** Number of lines of the command's output that are shown: the last ones. */
const LAST_LINES = 10;

const EXAMPLE = 'checkout checklist run idempotency --client-command "node create-order.js"';

/** `checkout checklist run idempotency`. */
export function registerChecklistIdempotency(group: Group): void {
  registerDrill<IdempotencyOptions>(group, {
    name: "idempotency",
    summary:
      "lose answers to your client's creates, kill it during one, and check that each purchase has one key and one order",
    examples: [
      EXAMPLE,
      'checkout checklist run idempotency --client-command "npm run checkout-once" --command-timeout 5m',
      "checkout checklist run idempotency",
    ],
    options: [
      commandOption(
        "--client-command <command>",
        `command that creates one order for CHECKOUT_ORDER_ID, with CHECKOUT_BASE_URL and CHECKOUT_API_KEY, and exits; it is run ${MIN_RUNS} to ${MAX_RUNS} times, for ${PURCHASE_COUNT} orders (default: create of the section shop, otherwise run no command, only show the log)`,
      ),
      valueOption(
        "--command-timeout <duration>",
        `timeout of each run of the command (default: ${durationText(COMMAND_TIMEOUT_MS)})`,
        parseDuration,
      ),
      trustOption(),
    ],
    prepare: async (context, options, control) => {
      const { clientCommand, trustConfig } = options;
      const commandLine =
        clientCommand ??
        (await describeShop(context, { ...(trustConfig && { trustConfig }) }, ["create"])).create;
      // A page of the shop is no command whose process could be killed.
      return typeof commandLine === "string"
        ? prepareDrill(context, options, { control, commandLine })
        : () => evidence(context, control);
    },
  });
}

async function prepareDrill(
  context: Context,
  options: IdempotencyOptions,
  { control, commandLine }: { readonly control: ControlTarget; readonly commandLine: string },
): Promise<PreparedDrill> {
  const { commandTimeout: commandTimeoutMs = COMMAND_TIMEOUT_MS } = options;
  const { target } = await connectToSandbox(context, control);
  return async (signal) => {
    context.printer.talk(
      `runs your command ${MIN_RUNS} to ${MAX_RUNS} times, for ${PURCHASE_COUNT} orders, and waits about ${durationText(TOTAL_WAIT_MS)} in addition`,
    );
    const wanted = { commandLine, commandTimeoutMs, target, signal };
    const drilled = await drillIdempotency(context.world, control, wanted);
    const nextAfter = { not_found: "run it again; a store runs only one drill at a time" };
    return resultOf(unwrap(answered(drilled, nextAfter)));
  };
}

const HEADS = {
  passed: "your client creates one order for each purchase, even after lost answers and a crash",
  failed: "your client handled a purchase wrongly",
  unknown: "no create succeeded, so no answer could be lost",
};

function resultOf({ drill, client }: IdempotencyDrillResult): DrillResult {
  const { verdict, steps, creates } = drill;
  const { ending, exitCode, stdout, stderr } = client;
  return {
    verdict,
    output: verdict === "passed" ? [] : lastOutputLines(client),
    json: {
      ...encodeAnswer("judgeIdempotencyDrill", drill),
      client: { ending, exit_code: exitCode, stdout, stderr },
    },
    text: async ({ style, width, all }) =>
      [
        `${verdictMark(verdict, style)} ${HEADS[verdict]}`,
        await drillLines(steps, { titles: IDEMPOTENCY_STEPS, style, width, all }),
        ...(creates.length === 0 ? [] : ["", await createLines(creates, { style, width })]),
      ].join("\n"),
  };
}

/** Columns before each line of received creates. */
const INDENT = 2;

async function createLines(
  creates: readonly ObservedCreate[],
  { style, width }: Pick<Printer, "style" | "width">,
): Promise<string> {
  const rows = creates.map((create) => [
    create.orderId,
    create.idempotencyKey,
    create.lost ? `${create.result}, answer dropped` : create.result,
    shortId(create.requestId),
  ]);
  const text = await table(["ORDER ID", "IDEMPOTENCY-KEY", "RESULT", "REQUEST"], rows, {
    width: width - INDENT,
  });
  const lines = text.split("\n");
  return [style.dim("  Received:"), ...lines.map((line) => `  ${line}`)].join("\n");
}

/** The last lines of the command's output, which may say why it failed. */
function lastOutputLines({ stdout, stderr }: IdempotencyDrillResult["client"]): string[] {
  return `${stdout}\n${stderr}`
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-LAST_LINES)
    .map(printable);
}

/**
 * The result of the drill without a command: the evidence about the client in the sandbox's log, and the missing
 * evidence.
 */
async function evidence(context: Context, control: ControlTarget): Promise<DrillResult> {
  const { items } = await callAt(context, control, { name: "checklist", body: undefined });
  const item = items.find(({ name }) => name === "idempotency_replay");
  if (item === undefined) throw new Error("the checklist has an item on idempotency");
  const { name, assumptions, status, reason } = item;
  const verdict = VERDICTS[status];
  return {
    verdict,
    json: {
      name,
      evidence: item.evidence.map(evidenceJson),
      assumptions,
      status,
      reason,
      next: item.next,
    },
    text: ({ style }) => {
      const lines = item.evidence.map((one) => `  ${printable(evidenceLine(one))}`);
      const next =
        verdict === "passed"
          ? ["  No command was run; --client-command CMD runs your client again."]
          : [`  ${style.cyan("→")} ${EXAMPLE}`];
      return [`${verdictMark(verdict, style)} ${item.reason}`, ...lines, ...next].join("\n");
    },
  };
}

const VERDICTS = { pass: "passed", fail: "failed", unknown: "unknown" } as const;
