import { calibrationAgeMs } from "../../core/calibration/calibration.ts";
import { isSameServer } from "../../core/loopback.ts";
import { judgeService } from "../../core/readiness/other-service.ts";
import { isChecklistReady, reportJson, type ChecklistReport } from "../../core/readiness/report.ts";
import { quote, shellOf } from "../../core/shell/quote.ts";
import { readProjectCalibration } from "../calibration/record.ts";
import { CHECKLIST_ITEMS, ITEM_COUNT_WORD, type ItemName } from "../../core/readiness/names.ts";
import { prepareJunitFile } from "../output/junit.ts";
import { callAt } from "../target/call.ts";
import { requireControlTarget, findSandboxTarget } from "../target/control.ts";
import { noteTarget } from "../target/notes.ts";
import { resolveTarget } from "../target/resolve.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { checklistJunit, checklistMarkdown, checklistText } from "./text.ts";
import {
  listOption,
  registerAction,
  switchOption,
  valueOption,
  type Context,
  type Group,
} from "../command.ts";
import { choiceParser } from "../parsers.ts";
import { isOptionTyped, bindToVariable } from "../option-rules.ts";
import { catchRefusal, EXIT, refuseUsage } from "../problem.ts";
import { abortOnStop } from "../stopping.ts";
import { output } from "../output/output.ts";

type ChecklistOptions = ServiceOptions & {
  readonly item?: readonly ItemName[];
  readonly junit?: string;
  readonly markdown?: boolean;
  readonly allowRisks?: boolean;
};

export function registerChecklist(group: Group): void {
  // Commander would silently ignore options before `run`, so they are refused.
  group.command.hook("preSubcommand", (checklist, drill) => {
    const flag = checklist.options.find(
      (option) => checklist.getOptionValueSource(option.attributeName()) === "cli",
    );
    if (flag !== undefined)
      checklist.error(`${flag.long ?? ""} is before ${drill.name()}; put options after the drill's name`);
  });
  registerAction<ChecklistOptions>(group, {
    summary: `check launch readiness: ${ITEM_COUNT_WORD} items with evidence; exit 0 only if ready without risks`,
    exitCodes: { 0: "ready; with --allow-risks, also ready with risks", 3: "not ready, or ready with risks" },
    examples: [
      "checkout checklist",
      "checkout checklist --json --junit readiness.xml",
      "checkout checklist --markdown > readiness.md",
      "checkout checklist --item webhook_verification --item idempotency_replay",
      "checkout checklist --base-url https://pay.example/v1",
    ],
    options: [
      listOption(
        "--item <name>",
        `show only this item: ${CHECKLIST_ITEMS.join(", ")}; the verdict still covers all ${ITEM_COUNT_WORD} (repeatable)`,
        choiceParser(CHECKLIST_ITEMS),
      ),
      valueOption(
        "--junit <file>",
        `also write all ${ITEM_COUNT_WORD} items as JUnit XML; each item that prevents exit code 0 is a failure or an error`,
      ),
      switchOption("--markdown", "print the report as Markdown, for a pull request"),
      switchOption("--allow-risks", {
        text: "exit 0 if ready with risks, which the report names; to remove a risk, pass the skipped drill, run the webhooks drill with --order-view, or add the real return origin",
        default: "exit 3",
      }),
      bindToVariable(
        "CHECKOUT",
        valueOption(
          "--base-url <url>",
          "judge this service by its calibration record, instead of the sandbox of this folder",
        ),
      ),
    ],
    conflicts: [["json", "markdown"]],
    run: runChecklist,
  });
}

async function runChecklist(context: Context, options: ChecklistOptions): Promise<number> {
  const { world, printer } = context;
  const { item, junit, markdown, allowRisks = false } = options;
  const junitFile = junit === undefined ? undefined : prepareJunitFile(world, junit);
  using stop = abortOnStop(world);
  const report = await judgeReadiness(context, options, stop.signal);
  // `--item` limits only the shown items; the verdict covers all items.
  const items = report.items.filter(({ name }) => item === undefined || item.includes(name));
  const shownReport = { ...report, items };
  await printer.result(output("checklist", reportJson(shownReport)), () =>
    markdown === true ? checklistMarkdown(shownReport) : checklistText(shownReport, printer),
  );
  junitFile?.write(checklistJunit(report, { allowRisks }));
  return isChecklistReady(report, { allowRisks }) ? EXIT.done : EXIT.notReady;
}

/** Sends nothing to another service; its calibration record is used instead. */
async function judgeReadiness(
  context: Context,
  options: ServiceOptions,
  signal: AbortSignal,
): Promise<ChecklistReport> {
  const { value: service } = resolveTarget(context).baseUrl;
  if (options.baseUrl !== undefined && service !== null) {
    const ownSandbox = catchRefusal(() => findSandboxTarget(context)).value;
    const isOwn = ownSandbox !== undefined && isSameServer(ownSandbox.origin, service);
    if (!isOwn) return judgeOtherService(context, service);
  }
  const control = await requireControlTarget(context);
  const answer = await callAt(context, control, { name: "checklist", body: undefined, signal });
  const calibration = readCalibration(context);
  return { ...answer, source: "sandbox", service: `${control.origin}/v1`, calibration };
}

function readCalibration(context: Context): ChecklistReport["calibration"] {
  const record = readProjectCalibration(context);
  return record === undefined ? null : { record, ageMs: calibrationAgeMs(record, context.world.now()) };
}

function judgeOtherService(context: Context, service: string): ChecklistReport {
  const { world } = context;
  noteTarget(context, service);
  if (isOptionTyped(world, "store")) {
    const message =
      "--store names a store of a sandbox; at another service, the API key determines the store";
    throw refuseUsage(message, "leave it out, or leave out --base-url");
  }
  const calibration = readCalibration(context);
  const record = calibration?.record.service === service ? calibration.record : undefined;
  const report = judgeService(record, `checkout calibrate --base-url ${quote(service, shellOf(world.env))}`);
  return { ...report, source: "service", service, storeId: null, calibration, judgedAt: world.now() };
}
