import type { ControlTarget } from "../../client/control/control.ts";
import { english } from "../../core/language.ts";
import { stepTitle, type JudgedDrill, type StepTitles } from "../../core/readiness/drills/drill.ts";
import { printable } from "../../core/text.ts";
import { register, switchOption, type CommandSpec, type Context, type Group } from "../command.ts";
import type { Printer, Style } from "../printer.ts";
import { tableRows } from "../table.ts";
import { EXIT } from "../problem.ts";
import { controlTarget } from "../target/control.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { runWithSpinner } from "../target/waiting.ts";
import type { DrillStep } from "../../core/readiness/drill-shapes.ts";

/** The result of a drill: its verdict, and its report in JSON and as text. */
export type DrillResult = {
  readonly verdict: JudgedDrill["verdict"];
  readonly json: object;
  readonly text: (look: DrillLayout) => string | Promise<string>;
  /** The last lines of the merchant's command's output; printed to stderr before the report. */
  readonly output?: readonly string[];
};

/** The layout of a drill's report; `all` lists each passed step instead of their number. */
export type DrillLayout = Pick<Printer, "style" | "width"> & { readonly all: boolean };

/** A drill with all its input; `signal` stops it. */
export type PreparedDrill = (signal: AbortSignal) => Promise<DrillResult>;

/** The command of a drill: `prepare` checks the options and returns the drill. */
type DrillSpec<Options> = Omit<CommandSpec<Options>, "run"> & {
  readonly prepare: (
    context: Context,
    options: Options,
    control: ControlTarget,
  ) => PreparedDrill | Promise<PreparedDrill>;
};

type ReportOptions = { readonly all?: boolean };

const EXIT_CODES = { passed: EXIT.done, failed: EXIT.failed, unknown: EXIT.notReady } as const;

/** Adds a drill below `checkout checklist run`, which the first drill creates. */
export function registerDrill<Options extends ServiceOptions>(group: Group, spec: DrillSpec<Options>): void {
  const { command: checklist } = group;
  const command =
    checklist.commands.find((one) => one.name() === "run") ??
    checklist.command("run").description("run a drill against your own code, and record its result");
  register<Options & ReportOptions>(
    { ...group, command },
    {
      ...spec,
      exitCodes: {
        0: "passed",
        1: "failed: each failed step has a cause",
        3: "unknown: an answer that the drill needs is missing",
      },
      options: [...(spec.options ?? []), switchOption("--all", "also show the steps that passed")],
      run: (context, options) => runDrill(context, options, spec.prepare),
    },
  );
}

/** A failed drill is a result, not a failure of the command: it is printed, and the exit code is 1. */
async function runDrill<Options extends ServiceOptions>(
  context: Context,
  options: Options & ReportOptions,
  prepare: DrillSpec<Options>["prepare"],
): Promise<number> {
  const control = await controlTarget(context);
  const ready = await prepare(context, options, control);
  const { verdict, json, text, output = [] } = await runWithSpinner(context, ({ signal }) => ready(signal));
  const { printer } = context;
  for (const line of output) printer.talk(printer.style.dim(`  | ${line}`));
  const { style, width } = printer;
  await printer.result(json, () => text({ style, width, all: options.all === true }));
  return EXIT_CODES[verdict];
}

/** The mark at the beginning of a verdict's line. */
export function verdictMark(verdict: JudgedDrill["verdict"], style: Style): string {
  return { passed: style.green("✓"), failed: style.red("✗"), unknown: style.bold("?") }[verdict];
}

/** The layout of a drill's steps. */
type StepLayout = DrillLayout & { readonly titles: StepTitles };

/** Width of the mark before a step, in columns. */
const MARK_PLACES = 4;
/** Maximum number of steps listed with a cause or note. */
const MAX_NAMED = 3;

/** The causes of failed steps, each with some of its steps; then notes, and the number of passed steps. */
export async function drillLines(steps: readonly DrillStep[], look: StepLayout): Promise<string> {
  const { style, all } = look;
  const failed = steps.filter(({ passed }) => !passed);
  const passedSteps = steps.filter(({ passed }) => passed);
  const causes = [...new Set(failed.map(({ cause }) => cause))];
  const groups = causes.map((cause) => {
    const own = failed.filter((step) => step.cause === cause);
    const shown = own.slice(0, all ? own.length : MAX_NAMED);
    return { cause, shown, more: own.length - shown.length };
  });
  const rest = all ? passedSteps : [];
  const [header = "", ...lines] = await stepLines([...groups.flatMap(({ shown }) => shown), ...rest], look);
  const ofCauses = groups.flatMap(({ cause, shown, more }) => {
    const why = cause === null ? [] : [`  ${style.cyan("→")} ${printable(cause)}`];
    const left = more === 0 ? [] : [style.dim(`    ${more} more failed for this reason; --all shows them`)];
    return why.concat(lines.splice(0, shown.length), left);
  });
  const count = `${passedSteps.length} of ${steps.length} steps passed`;
  return [
    ...(header === "" ? [] : [`    ${header}`]),
    ...ofCauses,
    ...noteLines(passedSteps, look),
    ...lines,
    ...(passedSteps.length === 0 || all ? [] : [style.dim(`  ${count}; --all shows them`)]),
  ].join("\n");
}

/** A table of steps with their marks; empty without steps. */
async function stepLines(
  steps: readonly DrillStep[],
  { titles, style, width }: Omit<StepLayout, "all">,
): Promise<string[]> {
  if (steps.length === 0) return [];
  const rows = steps.map(({ name, expected, got }) => [english(stepTitle(titles, name)), expected, got]);
  const fit = { width: width - MARK_PLACES, wrap: true } as const;
  const [header = "", ...shown] = await tableRows(["STEP", "EXPECTED", "GOT"], rows, fit);
  const marked = shown.map((text, at) => {
    const mark = steps[at]?.passed === true ? style.green("✓") : style.red("✗");
    return `  ${mark} ${text.replaceAll("\n", `\n${" ".repeat(MARK_PLACES)}`)}`;
  });
  return [header, ...marked];
}

/** The notes of passed steps, each once. */
function noteLines(
  passedSteps: readonly DrillStep[],
  { titles, style }: Omit<StepLayout, "width" | "all">,
): string[] {
  const notes = new Set(passedSteps.flatMap(({ cause }) => cause ?? []));
  return [...notes].map((note) => {
    const names = passedSteps
      .filter((step) => step.cause === note)
      .map(({ name }) => english(stepTitle(titles, name)));
    const few = names.length > MAX_NAMED ? `${names.length} steps` : names.join("; ");
    return `  ${style.cyan("→")} ${printable(note)} ${style.dim(`(${printable(few)})`)}`;
  });
}
