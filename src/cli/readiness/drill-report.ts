import type { DrillStep } from "../../core/readiness/drills/drill.ts";
import { printable } from "../../core/text.ts";
import { table, type Style } from "../printer.ts";

/** How drills are shown: what its steps are called for people, and in which style. */
type Look = { readonly titles: Readonly<Record<string, string>>; readonly style: Style };

/** The steps of a drill, one a line, and below them each cause once, with the steps that it explains. */
export function drillLines(steps: readonly DrillStep[], { titles, style }: Look): string {
  const rows = steps.map(({ name, expected, got }) => [titles[name] ?? name, expected, got]);
  const [header = "", ...lines] = table(["STEP", "EXPECTED", "GOT"], rows).split("\n");
  const marked = lines.map(
    (line, at) => `  ${steps[at]?.passed === true ? style.green("✓") : style.red("✗")} ${line}`,
  );
  return [`    ${header}`, ...marked, ...causeLines(steps, { titles, style })].join("\n");
}

function causeLines(steps: readonly DrillStep[], { titles, style }: Look): string[] {
  const causes = new Set(steps.flatMap(({ cause }) => cause ?? []));
  return [...causes].map((cause) => {
    const names = steps.filter((step) => step.cause === cause).map(({ name }) => titles[name] ?? name);
    const few = names.length > MAX_NAMED ? `${names.length} steps` : names.join("; ");
    return `  ${style.cyan("→")} ${printable(cause)} ${style.dim(`(${printable(few)})`)}`;
  });
}

/** Maximum number of steps that are named beside a cause; for more, only their number. */
const MAX_NAMED = 3;
