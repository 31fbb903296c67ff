import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import {
  isReady,
  junitXml,
  reportJson,
  reportMarkdown,
  type ChecklistReport,
} from "../../core/readiness/report.ts";
import { CHECKLIST_ITEMS, ITEM_COUNT, type ItemName } from "../../core/readiness/names.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { lookFor, type Look, type LookOptions } from "./look.ts";
import { checklistText } from "./text.ts";
import {
  listOption,
  registerOn,
  switchOption,
  valueOption,
  type Context,
  type Registry,
} from "../command.ts";
import { parseChoice, parseDuration } from "../parsers.ts";
import { setting } from "../option-rules.ts";
import { DONE, EXIT, fail, type Ending, type Problem } from "../problem.ts";

type ChecklistOptions = LookOptions & {
  readonly item?: readonly ItemName[];
  readonly junit?: string;
  readonly markdown?: boolean;
  readonly allowRisks?: boolean;
};

/** Polling interval of --watch, in milliseconds. */
const POLL_MS = 1000;

/** `checkout checklist`, and the group of its drills. */
export function registerChecklist(checklist: Command, registry: Registry): void {
  // Options before `run` would be lost: those of a drill stand behind its name.
  checklist.hook("preSubcommand", (group, drill) => {
    const given = group.options.find(
      (option) => group.getOptionValueSource(option.attributeName()) === "cli",
    );
    if (given !== undefined)
      group.error(`${given.long ?? ""} is before ${drill.name()}; put options after the drill's name`);
  });
  registerOn<ChecklistOptions>(checklist, registry, {
    summary: `check launch readiness: ${ITEM_COUNT} items with their evidence; exit 0 only when ready, without a risk`,
    examples: [
      "checkout checklist",
      "checkout checklist --json --junit readiness.xml",
      "checkout checklist --markdown > readiness.md",
      "checkout checklist --item webhook_verification --item idempotency_replay",
      "checkout checklist --watch",
      "checkout checklist --base-url https://pay.example/v1 --probe",
    ],
    options: [
      listOption(
        "--item <name>",
        `show only this item; the verdict is still that of all ${ITEM_COUNT}: ${CHECKLIST_ITEMS.join(", ")} (repeatable)`,
        parseChoice(CHECKLIST_ITEMS),
      ),
      valueOption(
        "--junit <file>",
        `also write all ${ITEM_COUNT} items as JUnit XML, which fails where the exit code is not 0`,
      ),
      switchOption("--markdown", "print the report as Markdown, for a pull request"),
      switchOption(
        "--allow-risks",
        "exit 0 also when ready with risks, which the report names (default: 3); to remove one: pass the waived drill, run webhooks with --order-view, add the real return origin",
      ),
      switchOption("--watch", "print it again after every change, until Ctrl-C"),
      setting(
        "CHECKOUT",
        valueOption("--base-url <url>", "check another service, not the sandbox of this folder"),
      ),
      switchOption(
        "--probe",
        "with --base-url: send requests to that service, which creates one order that is never paid (default: send nothing)",
      ),
      setting(
        "CHECKOUT",
        valueOption(
          "--timeout <duration>",
          "with --probe: timeout of each request (default: 10s)",
          parseDuration,
        ),
      ),
    ],
    // Each look of a watch would create an order.
    conflicts: [
      ["json", "markdown"],
      ["watch", "probe"],
    ],
    run: runChecklist,
  });
}

/** What is not ready is a result, not a failure of the command: it is printed, and the exit code tells. */
async function runChecklist(context: Context, options: ChecklistOptions): Promise<Ending> {
  const look = await lookFor(context, options);
  if (!look.ok) return look;
  const interruption = new AbortController();
  const unsubscribe = context.world.onStop(() => interruption.abort());
  const show = (report: ChecklistReport): Promise<Ending> => publish(context, options, report);
  const narrow = (report: ChecklistReport): ChecklistReport => narrowed(report, options.item);
  try {
    const seeing = { look: look.value, show, narrow, signal: interruption.signal };
    return options.watch === true ? await watch(context.world, seeing) : await showOnce(seeing);
  } finally {
    unsubscribe();
  }
}

type Viewing = {
  readonly look: Look;
  readonly show: (report: ChecklistReport) => Promise<Ending>;
  /** The report as far as it is shown. */
  readonly narrow: (report: ChecklistReport) => ChecklistReport;
  readonly signal: AbortSignal;
};

async function showOnce({ look, show, signal }: Viewing): Promise<Ending> {
  const report = await look(signal);
  return report.ok ? show(report.value) : report;
}

/** Shows what is there, and again whatever differs from it; ends with Ctrl-C, or where nothing can be seen any more. */
async function watch(
  { sleep }: Pick<World, "sleep">,
  { look, show, narrow, signal }: Viewing,
): Promise<Ending> {
  let shown = DONE;
  for (let before = ""; ;) {
    const report = await look(signal);
    if (signal.aborted) return shown;
    if (!report.ok) return report;
    const { verdict, items } = narrow(report.value);
    const seen = JSON.stringify([verdict, items]);
    if (seen !== before) shown = await show(report.value);
    if (!shown.ok) return shown;
    before = seen;
    await sleep(POLL_MS, signal);
    if (signal.aborted) return shown;
  }
}

async function publish(
  { world, printer }: Context,
  { item, junit, markdown, watch: again, allowRisks = false }: ChecklistOptions,
  report: ChecklistReport,
): Promise<Ending> {
  const shown = narrowed(report, item);
  await printer.result(reportJson(shown), () => {
    const text = markdown === true ? reportMarkdown(shown) : checklistText(shown, printer.style);
    return again === true ? `${text}\n` : text;
  });
  const written = junit === undefined ? DONE : writeJunit(world, junit, junitXml(report, { allowRisks }));
  return written.ok && !isReady(report, { allowRisks }) ? accept(EXIT.notReady) : written;
}

/** The verdict stays that of all items: one alone makes no store ready. */
function narrowed(report: ChecklistReport, names: readonly ItemName[] | undefined): ChecklistReport {
  return names === undefined
    ? report
    : { ...report, items: report.items.filter(({ name }) => names.includes(name)) };
}

/** The report is printed already: a file that cannot be written takes nothing of it away. */
function writeJunit({ cwd, files }: World, path: string, xml: string): Ending {
  const file = resolve(cwd, path);
  const refuse = (why: string): Outcome<never, Problem> =>
    fail({
      exitCode: EXIT.failed,
      code: "report_not_written",
      message: `${path} cannot be written: ${why}`,
      next: "name a file in an existing folder, with --junit",
    });
  if (!files.exists(dirname(file))) return refuse("its folder does not exist");
  try {
    files.write(file, xml);
    return DONE;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}
