import { english } from "../../core/language.ts";
import { stepTitle } from "../../core/readiness/drills/drill.ts";
import { inEnglish } from "../../core/readiness/drills/said.ts";
import { WEBHOOK_STEPS } from "../../core/readiness/drills/webhook.ts";
import { printable } from "../../core/text.ts";
import type { Printer, Style } from "../printer.ts";
import { tableRows } from "../table.ts";
import type { DrillStep, DrillVerdict, ShownStep } from "../../core/readiness/drill-shapes.ts";

/** The layout of a drill's report; `showsAll`: whether each passed step is listed, instead of their number. */
export type DrillLayout = Pick<Printer, "style" | "width"> & { readonly all: boolean };

export function verdictMark(verdict: DrillVerdict, style: Style): string {
  return { passed: style.green("✓"), failed: style.red("✗"), unknown: style.bold("?") }[verdict];
}

/** Width of the mark before a step, in columns. */
const MARK_PLACES = 4;
/** Maximum number of steps listed with a cause or note. */
const MAX_NAMED = 3;

/** The causes of failed steps, each with some of its steps; then notes, and the number of passed steps. */
export async function drillLines(drillSteps: readonly DrillStep[], look: DrillLayout): Promise<string> {
  const { style, all } = look;
  const steps = drillSteps.map(inEnglish);
  const failedSteps = steps.filter(({ passed }) => !passed);
  const passedSteps = steps.filter(({ passed }) => passed);
  const causes = [...new Set(failedSteps.map(({ cause }) => cause))];
  const groups = causes.map((cause) => {
    const causeSteps = failedSteps.filter((step) => step.cause === cause);
    const shownSteps = causeSteps.slice(0, all ? causeSteps.length : MAX_NAMED);
    return { cause, shown: shownSteps, more: causeSteps.length - shownSteps.length };
  });
  const rest = all ? passedSteps : [];
  const [header = "", ...lines] = await stepLines([...groups.flatMap(({ shown }) => shown), ...rest], look);
  const causeLines = groups.flatMap(({ cause, shown, more }) => {
    const causeLine = cause === null ? [] : [`  ${style.cyan("→")} ${printable(cause)}`];
    const tail = more === 0 ? [] : [style.dim(`    ${more} more failed for this reason; --all shows them`)];
    return causeLine.concat(lines.splice(0, shown.length), tail);
  });
  const count = `${passedSteps.length} of ${steps.length} steps passed`;
  return [
    ...(header === "" ? [] : [`    ${header}`]),
    ...causeLines,
    ...noteLines(passedSteps, look),
    ...lines,
    ...(passedSteps.length === 0 || all ? [] : [style.dim(`  ${count}; --all shows them`)]),
  ].join("\n");
}

/** A table of steps with their marks; empty without steps. */
async function stepLines(steps: readonly ShownStep[], { style, width }: DrillLayout): Promise<string[]> {
  if (steps.length === 0) return [];
  const rows = steps.map(({ name, expected, got }) => [titleOf(name), expected, got]);
  const fit = { width: width - MARK_PLACES, wrap: true } as const;
  const [header = "", ...rowLines] = await tableRows(["STEP", "EXPECTED", "GOT"], rows, fit);
  const markedLines = rowLines.map((text, at) => {
    const mark = steps[at]?.passed === true ? style.green("✓") : style.red("✗");
    return `  ${mark} ${text.replaceAll("\n", `\n${" ".repeat(MARK_PLACES)}`)}`;
  });
  return [header, ...markedLines];
}

/** The notes of passed steps, each once. */
function noteLines(passedSteps: readonly ShownStep[], { style }: DrillLayout): string[] {
  const notes = new Set(passedSteps.flatMap(({ cause }) => cause ?? []));
  return [...notes].map((note) => {
    const names = passedSteps.filter((step) => step.cause === note).map(({ name }) => titleOf(name));
    const fewNames = names.length > MAX_NAMED ? `${names.length} steps` : names.join("; ");
    return `  ${style.cyan("→")} ${printable(note)} ${style.dim(`(${printable(fewNames)})`)}`;
  });
}

function titleOf(name: string): string {
  return english(stepTitle(WEBHOOK_STEPS, name));
}
