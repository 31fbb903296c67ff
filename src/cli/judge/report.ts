import { isLeftOut, type JudgedHistory } from "../../client/judge/run.ts";
import { durationText } from "../../core/duration.ts";
import { causeOf } from "../../core/judge/judge.ts";
import { HISTORIES, HISTORY_TITLES } from "../../core/judge/histories/histories.ts";
import { MISSING_FIELDS, type MissingField } from "../../core/readiness/drills/judge-sentences.ts";
import { english } from "../../core/language.ts";
import type { ShownStep } from "../../core/readiness/drill-shapes.ts";
import { englishOf } from "../../core/readiness/drills/said.ts";
import { stepTitle } from "../../core/readiness/drills/drill.ts";
import { WEBHOOK_STEPS } from "../../core/readiness/drills/webhook.ts";
import { DRILL_NAMES, type DrillKind } from "../../core/readiness/names.ts";
import { printable } from "../../core/text.ts";
import { drillLines, verdictMark, type DrillLayout } from "../readiness/drill.ts";

export type RunReport = {
  readonly seed: string;
  readonly budgetMs: number;
  /** The options of the run, for the command that repeats a history. */
  readonly kept: string;
  readonly missing: readonly MissingField[];
  readonly judged: readonly JudgedHistory[];
  readonly held: number;
  readonly broken: readonly JudgedHistory[];
  readonly notJudged: readonly JudgedHistory[];
  /** The number of failed parts, and of parts that were tried and not judged. */
  readonly failed: number;
  readonly unknown: number;
  /** The parts that were judged, with the steps that were recorded. */
  readonly steps: readonly {
    readonly part: DrillKind;
    readonly verdict: "passed" | "failed" | "unknown";
    readonly drillId: string | null;
    readonly steps: readonly ShownStep[];
  }[];
};

/** The result as JSON. A run of one part has the fields of its drill in addition. */
export function runJson(report: RunReport) {
  const { seed, judged, held, broken, notJudged, steps, missing, failed, unknown } = report;
  const [only] = steps;
  const isOne = steps.length === 1 && only !== undefined;
  const leftOut = leftOutOf(report);
  return {
    ok: broken.length + notJudged.length + failed + unknown === 0,
    ...(isOne ? { verdict: only.verdict, drill_id: only.drillId, steps: only.steps } : {}),
    seed,
    histories: judged.length,
    held,
    ...(leftOut === undefined ? {} : { not_run: leftOut.count, next_budget: leftOut.budget }),
    broken: broken.flatMap(({ name, verdict, story }) =>
      verdict.state === "broken"
        ? [
            {
              invariant: verdict.invariant,
              cause: englishOf(causeOf(verdict)),
              places: [english(HISTORY_TITLES[name].title)],
              history: name,
              got: englishOf(verdict.got),
              story,
              rerun: rerunOf(report, name),
            },
          ]
        : [],
    ),
    not_judged: [
      ...notJudged.flatMap(({ name, verdict }) =>
        verdict.state === "not_judged"
          ? [{ invariant: null, history: name, reason: englishOf(verdict.reason), field: verdict.field }]
          : [],
      ),
      ...missing.map((field) => ({
        invariant: null,
        history: null,
        reason: english(MISSING_FIELDS[field].note),
        field,
      })),
    ],
    items: steps.map(({ part, verdict, drillId, steps: rows }) => ({
      part: DRILL_NAMES[part],
      verdict,
      drill_id: drillId,
      steps: rows.length,
      failed: rows.filter(({ passed }) => !passed).length,
      failures: rows.flatMap(({ name, got, cause, passed }) => (passed ? [] : [{ name, got, cause }])),
    })),
  };
}

/** The histories that the budget left out; undefined if there are none. */
function leftOutOf({ judged, budgetMs }: RunReport): LeftOut | undefined {
  const count = judged.filter(isLeftOut).length;
  if (count === 0) return undefined;
  const minutes = Math.ceil((budgetMs * judged.length) / Math.max(1, judged.length - count) / MINUTE_MS);
  const budget = `${minutes + 1}m`;
  const text = `stopped after ${durationText(budgetMs)}: ${count} of ${judged.length} histories were not run: --budget ${budget}`;
  return { count, budget, text };
}

type LeftOut = { readonly count: number; readonly budget: string; readonly text: string };
const MINUTE_MS = 60_000;

/** The command that repeats a history: whole, with the options of this run. */
function rerunOf({ seed, kept }: RunReport, name: JudgedHistory["name"]): string {
  return name in HISTORIES
    ? `checkout checklist run --only ${name} --seed ${seed}${kept}`
    : `checkout checklist run --seed ${seed}${kept}`;
}

/** The result for people: each finding with its story and the command that repeats it, then the parts. */
export async function runText(report: RunReport, look: DrillLayout): Promise<string> {
  const { style } = look;
  const { broken, notJudged, held, judged, seed, steps, missing } = report;
  const findings = broken.flatMap((one) => {
    const { name, verdict, story } = one;
    if (verdict.state !== "broken") return [];
    return [
      [
        `${style.red("✗")} ${english(HISTORY_TITLES[name].title)}: ${printable(englishOf(verdict.got))}`,
        `  ${style.cyan("→")} ${englishOf(causeOf(verdict))}`,
        ...story.map((line) => style.dim(`    ${line}`)),
        `  ${style.cyan("→")} ${rerunOf(report, name)}`,
      ].join("\n"),
    ];
  });
  const leftOut = leftOutOf(report);
  const open = notJudged.flatMap(({ name, verdict }) =>
    verdict.state === "not_judged" && !isLeftOut({ verdict })
      ? [
          `${style.bold("?")} not judged: ${english(HISTORY_TITLES[name].title)}: ${englishOf(verdict.reason)}`,
        ]
      : [],
  );
  const others = await Promise.all(
    steps
      .filter(({ part }) => part === "webhook")
      .map(async ({ verdict, steps: rows }) => {
        const head = `${verdictMark(verdict, style)} forged and genuine webhooks`;
        const hasNote = rows.some(({ passed, cause }) => passed && cause !== null);
        return verdict === "passed" && !hasNote && !look.all
          ? `${head}: ${rows.length} steps`
          : `${head}\n${await drillLines(rows, { titles: WEBHOOK_STEPS, ...look })}`;
      }),
  );
  const all = look.all
    ? judged
        .filter(({ verdict }) => verdict.state === "held")
        .map(({ name }) => `  ${style.green("✓")} ${english(stepTitle(HISTORY_TITLES, name))}`)
    : [];
  const hints = judged.flatMap(({ name, verdict }) =>
    verdict.state === "held" && verdict.note !== null
      ? [`  ${style.cyan("→")} ${english(HISTORY_TITLES[name].title)}: ${englishOf(verdict.note)}`]
      : [],
  );
  const notes = missing.map((field) => `  ${style.cyan("→")} ${english(MISSING_FIELDS[field].note)}`);
  const mark = broken.length > 0 ? style.red("✗") : notJudged.length > 0 ? style.bold("?") : style.green("✓");
  const last = `${mark} ${judged.length} histories: ${held} held, ${broken.length} broken, ${notJudged.length} not judged (seed ${printable(seed)})`;
  if (leftOut !== undefined) open.push(`${style.bold("?")} ${leftOut.text}`);
  return [
    ...findings,
    ...(open.length > 0 ? [open.join("\n")] : []),
    ...others,
    [...all, ...hints, ...notes, last].join("\n"),
  ].join("\n\n");
}
