import { isLeftOut, leftShopStuck, type JudgedHistory } from "../../client/judge/played.ts";
import { durationText } from "../../core/duration.ts";
import { causeOf } from "../../core/judge/judge.ts";
import { historyOf, stepTitle } from "../../core/judge/histories/histories.ts";
import { MISSING_FIELDS, type MissingField } from "../../core/readiness/drills/judge-sentences.ts";
import { english } from "../../core/language.ts";
import type { DrillStep, DrillVerdict } from "../../core/readiness/drill-shapes.ts";
import { englishOf, stepInEnglish } from "../../core/readiness/drills/said.ts";
import { DRILL_NAMES, CHECKLIST_RUN_COMMAND, type DrillKind } from "../../core/readiness/names.ts";
import { printable } from "../../core/text.ts";
import { EXIT } from "../problem.ts";
import { drillLines, verdictMark, type DrillLayout } from "../readiness/drill.ts";

export type RunReport = {
  readonly seed: string;
  readonly budgetMs: number;
  readonly rerunLine: (addedOptions: string) => string;
  readonly missingFields: readonly MissingField[];
  readonly isInterrupted: boolean;
  /** The next step if the shop created no order. */
  readonly correctCreateHint: string;
  readonly histories: readonly JudgedHistory[];
  readonly records: readonly PartRecord[];
};

export type PartRecord = {
  readonly part: DrillKind;
  readonly verdict: DrillVerdict;
  readonly drillId: string | null;
  readonly steps: readonly DrillStep[];
  readonly leftOutCount?: number;
};

export function verdictOfRun({ histories, records }: RunReport): DrillVerdict {
  const nonEmptyRecords = records.filter(({ steps, leftOutCount = 0 }) => steps.length + leftOutCount > 0);
  return worstVerdict([...histories.map(verdictOf), ...nonEmptyRecords.map(({ verdict }) => verdict)]);
}

export function verdictOf({ verdict }: JudgedHistory): DrillVerdict {
  return ({ held: "passed", broken: "failed", not_judged: "unknown" } as const)[verdict.state];
}

export function worstVerdict(verdicts: readonly DrillVerdict[]): DrillVerdict {
  if (verdicts.includes("failed")) return "failed";
  return verdicts.includes("unknown") ? "unknown" : "passed";
}

export const EXIT_OF_VERDICT = { passed: EXIT.done, failed: EXIT.failed, unknown: EXIT.notReady } as const;

type History<State> = JudgedHistory & { readonly verdict: { readonly state: State } };

function historiesIn<State extends JudgedHistory["verdict"]["state"]>(
  histories: readonly JudgedHistory[],
  state: State,
): readonly History<State>[] {
  return histories.filter((history): history is History<State> => history.verdict.state === state);
}

function titleOf({ name }: JudgedHistory): string {
  return english(historyOf(name).title);
}

export function runJson(report: RunReport) {
  const { seed, histories, records, missingFields } = report;
  const parts = records.map(({ leftOutCount: _left, steps, ...record }) =>
    Object.assign(record, { steps: steps.map(stepInEnglish) }),
  );
  const [onlyPart, ...otherParts] = parts;
  const leftOutPart = leftOutPartOf(report);
  return {
    ok: verdictOfRun(report) === "passed",
    ...(onlyPart !== undefined && otherParts.length === 0
      ? { verdict: onlyPart.verdict, drill_id: onlyPart.drillId, steps: onlyPart.steps }
      : {}),
    seed,
    histories: histories.length,
    held: historiesIn(histories, "held").length,
    ...(report.isInterrupted ? { interrupted: true as const } : {}),
    ...(leftOutPart === undefined ? {} : { not_run: leftOutPart.count, next_budget: leftOutPart.budget }),
    broken: [
      ...historiesIn(histories, "broken").map((history) => ({
        invariant: history.verdict.invariant,
        cause: englishOf(causeOf(history.verdict)),
        places: [titleOf(history)],
        history: history.name,
        got: englishOf(history.verdict.got),
        story: history.story,
        rerun: rerunOf(report, history.name),
      })),
      ...records.filter(({ part }) => part === "webhook").flatMap(findingsOfForms),
    ],
    not_judged: [
      ...historiesIn(histories, "not_judged").map(({ name, verdict: { reason, field } }) => ({
        invariant: null,
        history: name,
        reason: englishOf(reason),
        field,
      })),
      ...missingFields.map((field) => ({
        invariant: null,
        history: null,
        reason: english(MISSING_FIELDS[field].note),
        field,
      })),
    ],
    items: parts.map(({ part, verdict, drillId, steps }) => ({
      part: DRILL_NAMES[part],
      verdict,
      drill_id: drillId,
      steps: steps.length,
      failed: steps.filter(({ passed }) => !passed).length,
      failures: steps.flatMap(({ name, got, cause, passed }) => (passed ? [] : [{ name, got, cause }])),
    })),
  };
}

function findingsOfForms({ steps }: PartRecord) {
  const failedSteps = steps.filter(({ passed }) => !passed);
  const mistakes = Map.groupBy(failedSteps, ({ cause }) => englishOf(cause ?? ""));
  return [...mistakes].flatMap(([cause, causeSteps]) => {
    const [firstStep] = causeSteps;
    if (firstStep === undefined) return [];
    return {
      invariant: firstStep.expected === "2xx" ? ("takes_events" as const) : ("refuses_forged" as const),
      cause,
      places: causeSteps.map(({ name }) => english(stepTitle("webhook", name))),
      history: firstStep.name,
      got: englishOf(firstStep.got),
      story: [],
      rerun: `${CHECKLIST_RUN_COMMAND} webhooks`,
    };
  });
}

function leftOutPartOf({
  histories,
  budgetMs,
  isInterrupted,
  records,
}: RunReport): { readonly count: number; readonly budget?: string; readonly text: string } | undefined {
  const count = histories.filter(isLeftOut).length;
  const formCount = records.reduce((sum, { leftOutCount = 0 }) => sum + leftOutCount, 0);
  if (count + formCount === 0) return undefined;
  const countTexts = [
    ...(count > 0 ? [`${count} of ${histories.length} histories`] : []),
    ...(formCount > 0 ? [`${formCount} webhooks`] : []),
  ];
  const notRunText = `${countTexts.join(" and ")} were not run`;
  if (isInterrupted) return { count, text: `interrupted: ${notRunText}` };
  const stuckText = "since a restart your shop refuses all events, so they would show nothing";
  if (histories.some(leftShopStuck)) return { count, text: `${notRunText}: ${stuckText}` };
  const neededMs = (budgetMs * histories.length) / Math.max(1, histories.length - count);
  const budget = `${Math.ceil(neededMs / MINUTE_MS) + 1}m`;
  return {
    count,
    budget,
    text: `stopped after ${durationText(budgetMs)}: ${notRunText}: --budget ${budget}`,
  };
}

const MINUTE_MS = 60_000;

function rerunOf({ seed, rerunLine }: RunReport, name: JudgedHistory["name"]): string {
  return rerunLine(`--only ${name} --seed ${seed}`);
}

function mistakeText(
  report: RunReport,
  { cyan, dim, red }: DrillLayout["style"],
  [history, ...otherHistories]: readonly History<"broken">[],
): string {
  if (history === undefined) return "";
  const { name, verdict, story } = history;
  return [
    `${red("✗")} ${titleOf(history)}: ${printable(englishOf(verdict.got))}`,
    `  ${cyan("→")} ${englishOf(causeOf(verdict))}`,
    ...story.map((line) => dim(`    ${line}`)),
    `  ${cyan("→")} ${rerunOf(report, name)}`,
    ...otherHistories.map((other) => `  ${red("✗")} also ${titleOf(other)} (--only ${other.name})`),
  ].join("\n");
}

export async function runText(report: RunReport, layout: DrillLayout): Promise<string> {
  const { style, showsAll } = layout;
  const { histories, seed, records, missingFields } = report;
  const arrow = style.cyan("→");
  const brokenHistories = historiesIn(histories, "broken");
  const unjudgedHistories = historiesIn(histories, "not_judged");
  const heldHistories = historiesIn(histories, "held");
  const mistakes = Map.groupBy(brokenHistories, (history) => englishOf(causeOf(history.verdict)));
  const findings = [...mistakes.values()].map((sameHistories) => mistakeText(report, style, sameHistories));
  const gapTexts = unjudgedHistories
    .filter((history) => !isLeftOut(history))
    .map((history) => {
      const { field, got, reason } = history.verdict;
      const gotText = field === "orderView" ? ` (${englishOf(got)})` : "";
      return `not judged: ${titleOf(history)}: ${englishOf(reason)}${gotText}`;
    });
  const leftOutText = leftOutPartOf(report)?.text;
  if (leftOutText !== undefined) gapTexts.push(leftOutText);
  const gapLines = gapTexts.map((line) => `${style.bold("?")} ${line}`);
  const forms = records.filter(({ part }) => part === "webhook").map((record) => formsText(record, layout));
  const hints = heldHistories.flatMap((entry) =>
    entry.verdict.note === null ? [] : [`${titleOf(entry)}: ${englishOf(entry.verdict.note)}`],
  );
  const hasNoOrder = unjudgedHistories.some(
    ({ verdict: { reason } }) => typeof reason !== "string" && reason.fact === "no_order",
  );
  const notes = [
    ...(hasNoOrder ? [report.correctCreateHint] : []),
    ...missingFields.map((field) => english(MISSING_FIELDS[field].note)),
  ];
  const mark =
    brokenHistories.length > 0
      ? style.red("✗")
      : unjudgedHistories.length > 0
        ? style.bold("?")
        : style.green("✓");
  const counts = `${heldHistories.length} held, ${brokenHistories.length} broken, ${unjudgedHistories.length} not judged`;
  return [
    ...findings,
    ...(gapLines.length > 0 ? [gapLines.join("\n")] : []),
    ...(await Promise.all(forms)),
    [
      ...(showsAll ? heldHistories.map((history) => `  ${style.green("✓")} ${titleOf(history)}`) : []),
      ...[...hints, ...notes].map((line) => `  ${arrow} ${line}`),
      `${mark} ${histories.length} histories: ${counts} (seed ${printable(seed)})`,
      ...(verdictOfRun(report) === "passed" ? [`  ${arrow} checkout checklist`] : []),
    ].join("\n"),
  ].join("\n\n");
}

async function formsText({ verdict, steps }: PartRecord, layout: DrillLayout): Promise<string> {
  const title = `${verdictMark(verdict, layout.style)} forged and genuine webhooks`;
  const hasNote = steps.some(({ passed, cause }) => passed && cause !== null);
  return verdict === "passed" && !hasNote && !layout.showsAll
    ? `${title}: ${steps.length} steps`
    : `${title}\n${await drillLines(steps, layout)}`;
}
