import type { Command } from "commander";
import { drillIdempotency, type IdempotencyDrill } from "../../client/drills/idempotency.ts";
import { judge, type ChecklistItem } from "../../core/readiness/checklist.ts";
import { evidenceLine } from "../../core/readiness/report.ts";
import type { SeenCreateEntry } from "../../core/control/drills.ts";
import { encodeAnswer } from "../../core/control/operations.ts";
import { accept } from "../../core/outcome.ts";
import { printable } from "../../core/text.ts";
import { register, valueOption, type CommonOptions, type Context, type Registry } from "../command.ts";
import { callSandbox, controlOutcome, controlTarget } from "../control-command.ts";
import { drillLines } from "./drill-report.ts";
import { parseDuration } from "../parsers.ts";
import { table, type Style } from "../printer.ts";
import { DONE, EXIT, type Ending } from "../problem.ts";
import { connect, whileWaiting } from "../service-command.ts";
import { resolveSettings } from "../settings.ts";
import { drillGroup } from "./checklist.ts";

type IdempotencyOptions = CommonOptions & {
  readonly clientCommand?: string;
  readonly commandTimeout?: number;
};

/** Default timeout of the merchant's command, in milliseconds. */
const COMMAND_TIMEOUT_MS = 120_000;
/** Maximum number of last lines of a command's output that are shown. */
const LAST_LINES = 10;

const EXAMPLE = 'checkout checklist run idempotency --client-command "node create-order.js"';

/** `checkout checklist run idempotency`. */
export function registerChecklistIdempotency(checklist: Command, registry: Registry): void {
  register<IdempotencyOptions>(drillGroup(checklist), registry, {
    name: "idempotency",
    summary:
      "drop the answer of your client's create after the commit, and check that its retry has the same key",
    examples: [
      EXAMPLE,
      'checkout checklist run idempotency --client-command "npm run checkout-once" --command-timeout 5m',
      "checkout checklist run idempotency",
    ],
    options: [
      valueOption(
        "--client-command <command>",
        "command that creates one order with CHECKOUT_BASE_URL and CHECKOUT_API_KEY; CHECKOUT_ORDER_ID is an unused order_id (default: run none, show the log)",
      ),
      valueOption("--command-timeout <duration>", "timeout of the command (default: 2m)", parseDuration),
    ],
    run: (context, options) => {
      const { clientCommand: commandLine } = options;
      return commandLine === undefined
        ? showEvidence(context, options)
        : runDrill(context, { ...options, commandLine });
    },
  });
}

/**
 * A client that does wrong is a result, not a failure of the command: it is printed, and the exit code tells: 0 where it
 * passed, 1 where it failed, 3 where nothing can be told.
 */
async function runDrill(
  context: Context,
  options: IdempotencyOptions & { readonly commandLine: string },
): Promise<Ending> {
  const control = controlTarget(context, options);
  if (!control.ok) return control;
  const settings = resolveSettings(context.world, { ...options, baseUrl: `${control.value.origin}/v1` });
  if (!settings.ok) return settings;
  const target = connect(context, settings.value);
  if (!target.ok) return target;
  const { commandLine, commandTimeout: commandTimeoutMs = COMMAND_TIMEOUT_MS } = options;
  const drilled = await whileWaiting(context, options, ({ signal }) =>
    drillIdempotency(context.world, control.value, {
      commandLine,
      commandTimeoutMs,
      target: target.value,
      signal,
    }),
  );
  const shown = controlOutcome(drilled, { not_found: "run it again; only one drill is run at a time" });
  if (!shown.ok) return shown;
  const { verdict } = shown.value.drill;
  report(context, shown.value);
  if (verdict === "passed") return DONE;
  return accept(verdict === "failed" ? EXIT.failed : EXIT.notReady);
}

const TITLES = {
  answer_lost: "answer lost after the commit",
  tried_again: "another try",
  same_key: "same key",
  one_order: "orders and sessions created",
  client_ended: "end of the command",
  other_body_refused: "another body with the key, sent by this drill",
};

function report({ printer }: Context, { drill, client }: IdempotencyDrill): void {
  const { style } = printer;
  const { verdict, steps, creates } = drill;
  const heads = {
    passed: `${style.green("✓")} your client repeats a create with its key, and creates one order`,
    failed: `${style.red("✗")} your client does not handle a lost answer`,
    unknown: `${style.bold("?")} no create succeeded, so no answer could be lost`,
  };
  if (verdict !== "passed") for (const line of lastWords(client)) printer.talk(style.dim(`  | ${line}`));
  const { ending, exitCode, stdout, stderr } = client;
  const json = encodeAnswer("judgeIdempotencyDrill", drill);
  printer.result({ ...json, client: { ending, exit_code: exitCode, stdout, stderr } }, () =>
    [
      heads[verdict],
      drillLines(steps, { titles: TITLES, style }),
      ...(creates.length === 0 ? [] : ["", createLines(creates, style)]),
    ].join("\n"),
  );
}

function createLines(creates: readonly SeenCreateEntry[], style: Style): string {
  const rows = creates.map((create) => [
    create.orderId,
    create.idempotencyKey,
    create.lost ? `${create.result}, answer dropped` : create.result,
    create.requestId,
  ]);
  const lines = table(["ORDER ID", "IDEMPOTENCY-KEY", "RESULT", "REQUEST"], rows).split("\n");
  return [style.dim("  Received:"), ...lines.map((line) => `  ${line}`)].join("\n");
}

/** What the command said last: why it failed, where it did. */
function lastWords({ stdout, stderr }: IdempotencyDrill["client"]): string[] {
  return `${stdout}\n${stderr}`
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-LAST_LINES)
    .map(printable);
}

/** Without a command of the merchant's: what the service's own log shows of the client already, and what it lacks. */
async function showEvidence(context: Context, options: IdempotencyOptions): Promise<Ending> {
  const read = await callSandbox(context, options, { name: "readiness", body: undefined });
  if (!read.ok) return read;
  const item = judge(read.value, read.value.now).items.find(({ name }) => name === "idempotency_replay");
  if (item === undefined) throw new Error("the checklist has an item on idempotency");
  context.printer.result({ ...item, evidence: item.evidence.map(evidenceJson) }, () =>
    evidenceText(item, context.printer.style),
  );
  if (item.status === "pass") return DONE;
  return accept(item.status === "fail" ? EXIT.failed : EXIT.notReady);
}

function evidenceText({ status, reason, evidence }: ChecklistItem, style: Style): string {
  const marks = { pass: style.green("✓"), fail: style.red("✗"), unknown: style.bold("?") };
  const lines = evidence.map((one) => `  ${printable(evidenceLine(one))}`);
  const next = `${style.cyan("→")} ${EXAMPLE}`;
  return [`${marks[status]} ${reason}`, ...lines, ...(status === "pass" ? [] : [`  ${next}`])].join("\n");
}

function evidenceJson({ at, ...evidence }: ChecklistItem["evidence"][number]) {
  return { ...evidence, at: at === null ? null : new Date(at).toISOString() };
}
