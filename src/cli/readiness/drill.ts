import type { ControlTarget } from "../../client/control/control.ts";
import type { DrillStep } from "../../core/control/drills.ts";
import { stepTitle, type JudgedDrill, type StepTitles } from "../../core/readiness/drills/drill.ts";
import { printable } from "../../core/text.ts";
import { register, type CommandSpec, type Context, type Group } from "../command.ts";
import type { Printer, Style } from "../printer.ts";
import { tableRows } from "../table.ts";
import { EXIT } from "../problem.ts";
import { controlTarget } from "../target/control.ts";
import type { ServiceOptions } from "../target/surroundings.ts";
import { whileWaiting } from "../target/waiting.ts";

/** What a drill has shown: a verdict, and the report of it for programs and for people. */
export type DrillResult = {
  readonly verdict: JudgedDrill["verdict"];
  readonly json: object;
  readonly text: (look: Pick<Printer, "style" | "width">) => string | Promise<string>;
  /** The last lines of the merchant's command: on stderr, above the report. */
  readonly output?: readonly string[];
};

/** A drill of which all is known that it needs; the signal ends it. */
export type ReadyDrill = (signal: AbortSignal) => Promise<DrillResult>;

/** A command that drills: `prepare` checks the options and brings the drill, which may take its time. */
type DrillSpec<Options> = Omit<CommandSpec<Options>, "run"> & {
  readonly prepare: (
    context: Context,
    options: Options,
    control: ControlTarget,
  ) => ReadyDrill | Promise<ReadyDrill>;
};

/** Exit 0 where it passed, 1 where it failed, 3 where nothing can be told. */
const EXIT_CODES = { passed: EXIT.done, failed: EXIT.failed, unknown: EXIT.notReady } as const;

/** Adds a drill below `checkout checklist run`, which whichever drill comes first makes. */
export function registerDrill<Options extends ServiceOptions>(group: Group, spec: DrillSpec<Options>): void {
  const { command: checklist } = group;
  const command =
    checklist.commands.find((one) => one.name() === "run") ??
    checklist.command("run").description("run a drill against your own code, and keep its result");
  register<Options>(
    { ...group, command },
    {
      ...spec,
      run: (context, options) => runDrill(context, options, spec.prepare),
    },
  );
}

/** What fails a drill is a result, not a failure of the command: it is printed, and the exit code tells. */
async function runDrill<Options extends ServiceOptions>(
  context: Context,
  options: Options,
  prepare: DrillSpec<Options>["prepare"],
): Promise<number> {
  const control = await controlTarget(context);
  const ready = await prepare(context, options, control);
  const { verdict, json, text, output = [] } = await whileWaiting(context, ({ signal }) => ready(signal));
  const { printer } = context;
  for (const line of output) printer.talk(printer.style.dim(`  | ${line}`));
  await printer.result(json, () => text(printer));
  return EXIT_CODES[verdict];
}

/** The result of a drill whose steps were done here, with the drill that keeps them; null where it was not kept. */
export function resultOf(
  { verdict, steps }: JudgedDrill,
  {
    head,
    titles,
    drill,
  }: {
    readonly head: string;
    readonly titles: StepTitles;
    readonly drill: { readonly id: string } | null;
  },
): DrillResult {
  return {
    verdict,
    json: { verdict, drill_id: drill?.id ?? null, steps },
    text: async ({ style, width }) =>
      `${verdictMark(verdict, style)} ${head}\n${await drillLines(steps, { titles, style, width })}`,
  };
}

/** A verdict as a line begins with it. */
export function verdictMark(verdict: JudgedDrill["verdict"], style: Style): string {
  return { passed: style.green("✓"), failed: style.red("✗"), unknown: style.bold("?") }[verdict];
}

/** How a drill is shown. */
type Look = {
  readonly titles: StepTitles;
  readonly style: Style;
  readonly width: number;
};

/** What stands before a step: its mark. */
const MARK_PLACES = 4;

/** The steps of a drill, one a line, and below them each cause once, with the steps that it explains. */
export async function drillLines(steps: readonly DrillStep[], look: Look): Promise<string> {
  const { titles, style, width } = look;
  const rows = steps.map(({ name, expected, got }) => [stepTitle(titles, name), expected, got]);
  const fit = { width: width - MARK_PLACES, wrap: true } as const;
  const [header = "", ...shown] = await tableRows(["STEP", "EXPECTED", "GOT"], rows, fit);
  const marked = shown.map((text, at) => {
    const mark = steps[at]?.passed === true ? style.green("✓") : style.red("✗");
    return `  ${mark} ${text.replaceAll("\n", `\n${" ".repeat(MARK_PLACES)}`)}`;
  });
  return [`    ${header}`, ...marked, ...causeLines(steps, look)].join("\n");
}

function causeLines(steps: readonly DrillStep[], { titles, style }: Omit<Look, "width">): string[] {
  const causes = new Set(steps.flatMap(({ cause }) => cause ?? []));
  return [...causes].map((cause) => {
    const names = steps.filter((step) => step.cause === cause).map(({ name }) => stepTitle(titles, name));
    const few = names.length > MAX_NAMED ? `${names.length} steps` : names.join("; ");
    return `  ${style.cyan("→")} ${printable(cause)} ${style.dim(`(${printable(few)})`)}`;
  });
}

/** Maximum number of steps that are named beside a cause; for more, only their number. */
const MAX_NAMED = 3;
