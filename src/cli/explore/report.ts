import type { ExplorationResult } from "../../client/judge/search/search.ts";
import { JUDGED_INVARIANTS, type JudgedInvariant } from "../../core/readiness/drills/judged-invariants.ts";
import { english } from "../../core/language.ts";
import { junitXml } from "../output/junit.ts";
import { scheduleSize } from "../../core/judge/schedule.ts";
import { printable } from "../../core/text.ts";
import type { Context } from "../command.ts";
import { table } from "../table.ts";
import { faultJson } from "./faults.ts";

export function exploreJson(result: ExplorationResult) {
  const { schedules, held, notRun, broken, notJudged, advice, seed } = result;
  return {
    schedules,
    held,
    not_run: notRun.length,
    broken: broken.map(({ faults, schedules: count, ...finding }) =>
      Object.assign(finding, { faults: faults.map(faultJson), schedules: count }),
    ),
    not_judged: notJudged,
    advice: advice.map(({ faults, text }) => ({ faults: faults.map(faultJson), text })),
    table: result.table.map(({ notJudged: names, ...row }) => Object.assign(row, { not_judged: names })),
    seed,
  };
}

export async function exploreText(
  result: ExplorationResult,
  { printer: { style, wrap, width } }: Pick<Context, "printer">,
): Promise<string> {
  const { schedules, held, notRun, broken, notJudged, advice, seed } = result;
  const findings = broken.map(({ text, faults, payer, story, rerun }) =>
    [
      wrap(`${style.red("✗")} ${text}`, 2),
      `  faults: ${printable(JSON.stringify(faults.map(faultJson)))}`,
      ...(payer === "succeeded" ? [] : [`  payer: ${payer}`]),
      ...story.split("\n").map((line) => `    ${line}`),
      `  → ${printable(rerun)}`,
    ].join("\n"),
  );
  const rows = result.table.map((row) => [
    row.place,
    row.held.length,
    row.broken.join(", ") || null,
    row.notJudged.join(", ") || null,
  ]);
  const header = ["PLACE", "HELD", "BROKEN", "NOT JUDGED"];
  const tables = rows.length === 0 ? [] : [await table(header, rows, { width, wrap: true })];
  const adviceLines = advice.map(({ text }) => wrap(`  ${style.cyan("→")} ${text}`, 4));
  const gapLines = [...Map.groupBy(notJudged, ({ reason }) => reason)].map(([reason, items]) => {
    const names = items.map(({ invariant }) => invariant);
    return wrap(`  not judged: ${names.join(", ")}: ${reason}`, 4);
  });
  const [firstNotRun] = notRun;
  // A search counts as finished once every single fault has run, even if pairs of faults were skipped.
  const isUnfinished = firstNotRun !== undefined && scheduleSize(firstNotRun) === 1;
  const mark = broken.length > 0 ? style.red("✗") : isUnfinished ? style.yellow("!") : style.green("✓");
  const causesText = broken.length === 1 ? "1 cause" : `${broken.length} causes`;
  const isBookingUnjudged = notJudged.some(({ invariant }) => invariant === "booked_once");
  const summary = `${mark} ${schedules} schedules, ${held} held, ${causesText} found (seed ${printable(seed)})${isBookingUnjudged ? "; booked_once was not judged" : ""}`;
  const lines =
    firstNotRun === undefined ? [] : [wrap(`  ${notRunText(notRun.length, scheduleSize(firstNotRun))}`, 2)];
  return [...findings, ...tables, [...adviceLines, ...gapLines, summary, ...lines].join("\n")].join("\n\n");
}

function notRunText(count: number, size: number): string {
  const schedulesText = `${count} ${count === 1 ? "schedule" : "schedules"} with ${size} ${size === 1 ? "fault" : "faults"}`;
  return `${schedulesText} ${count === 1 ? "was" : "were"} not run, because the budget was used up: a longer --budget runs more`;
}

export function exploreJunit({ broken, notJudged, schedules, notRun, seed }: ExplorationResult): string {
  const cases = (Object.keys(JUDGED_INVARIANTS) as JudgedInvariant[]).map((name) => {
    const failures = broken
      .filter(({ invariant }) => invariant === name)
      .map(({ cause: type, text: message, story, rerun }) => {
        const text = `${story}\n${rerun}`;
        return { element: "failure", type, message, text } as const;
      });
    const skips = notJudged
      .filter(({ invariant }) => invariant === name)
      .slice(0, 1)
      .map(({ reason: message }) => ({ element: "skipped", message }) as const);
    const results = failures.length > 0 ? failures : skips;
    return { name, results, output: [english(JUDGED_INVARIANTS[name].rule)] };
  });
  return junitXml({
    name: "checkout explore",
    properties: { schedules, not_run: notRun.length, seed },
    cases,
  });
}
