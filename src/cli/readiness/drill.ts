import { english } from "../../core/language.ts";
import { stepTitle } from "../../core/judge/histories/histories.ts";
import { stepInEnglish } from "../../core/readiness/drills/said.ts";
import { printable } from "../../core/text.ts";
import type { Printer, Style } from "../printer.ts";
import { tableRows } from "../table.ts";
import type { DrillStep, DrillVerdict, ShownStep } from "../../core/readiness/drill-shapes.ts";

/** `showsAll`: lists every step, instead of a few failed steps and a count of the passed ones. */
export type DrillLayout = Pick<Printer, "style" | "width"> & { readonly showsAll: boolean };

export function verdictMark(verdict: DrillVerdict, style: Style): string {
  return { passed: style.green("✓"), failed: style.red("✗"), unknown: style.bold("?") }[verdict];
}

const MARK_WIDTH = 4;
const MAX_LISTED_STEPS = 3;

export async function drillLines(drillSteps: readonly DrillStep[], layout: DrillLayout): Promise<string> {
  const { style, showsAll } = layout;
  const steps = drillSteps.map(stepInEnglish);
  const failedSteps = steps.filter(({ passed }) => !passed);
  const passedSteps = steps.filter(({ passed }) => passed);
  const groups = [...Map.groupBy(failedSteps, ({ cause }) => cause)].map(([cause, causeSteps]) => {
    const shownSteps = causeSteps.slice(0, showsAll ? causeSteps.length : MAX_LISTED_STEPS);
    return { cause, shownSteps, hiddenCount: causeSteps.length - shownSteps.length };
  });
  const shownPassedSteps = showsAll ? passedSteps : [];
  const [header = "", ...lines] = await stepLines(
    [...groups.flatMap(({ shownSteps }) => shownSteps), ...shownPassedSteps],
    layout,
  );
  const causeLines = groups.flatMap(({ cause, shownSteps, hiddenCount }) => {
    const causeLine = cause === null ? [] : [`  ${style.cyan("→")} ${printable(cause)}`];
    const moreLines =
      hiddenCount === 0
        ? []
        : [style.dim(`    ${hiddenCount} more failed for this reason; --all shows them`)];
    return causeLine.concat(lines.splice(0, shownSteps.length), moreLines);
  });
  const count = `${passedSteps.length} of ${steps.length} steps passed`;
  return [
    ...(header === "" ? [] : [`    ${header}`]),
    ...causeLines,
    ...noteLines(passedSteps, layout),
    ...lines,
    ...(passedSteps.length === 0 || showsAll ? [] : [style.dim(`  ${count}; --all shows them`)]),
  ].join("\n");
}

async function stepLines(steps: readonly ShownStep[], { style, width }: DrillLayout): Promise<string[]> {
  if (steps.length === 0) return [];
  const rows = steps.map(({ name, expected, got }) => [titleOf(name), expected, got]);
  const fitOptions = { width: width - MARK_WIDTH, wrap: true } as const;
  const [header = "", ...rowLines] = await tableRows(["STEP", "EXPECTED", "GOT"], rows, fitOptions);
  const markedLines = rowLines.map((text, index) => {
    const mark = steps[index]?.passed === true ? style.green("✓") : style.red("✗");
    return `  ${mark} ${text.replaceAll("\n", `\n${" ".repeat(MARK_WIDTH)}`)}`;
  });
  return [header, ...markedLines];
}

function noteLines(passedSteps: readonly ShownStep[], { style }: DrillLayout): string[] {
  return [...Map.groupBy(passedSteps, ({ cause }) => cause)].flatMap(([note, steps]) => {
    if (note === null) return [];
    const names = steps.map(({ name }) => titleOf(name));
    const namesText = names.length > MAX_LISTED_STEPS ? `${names.length} steps` : names.join("; ");
    return `  ${style.cyan("→")} ${printable(note)} ${style.dim(`(${printable(namesText)})`)}`;
  });
}

function titleOf(name: string): string {
  return english(stepTitle("webhook", name));
}
