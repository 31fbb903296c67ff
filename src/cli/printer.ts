import { styleText } from "node:util";
import { printable } from "../core/text.ts";
import type { World } from "../world.ts";
import type { Problem } from "./problem.ts";

/** A labelled value of a result, for people. */
export type Field = readonly [label: string, value: string | number | null];

/** Styles of text; each leaves the text as it is where there is no colour. */
export type Style = Readonly<Record<"bold" | "dim" | "red" | "green" | "cyan", (text: string) => string>>;

/** Where commands write: data on stdout, talk on stderr. Commands never ask whether the output is JSON; the printer knows. */
export type Printer = {
  /** Styles for text that is shown to people. */
  readonly style: Style;
  /** The result of a command: one line of JSON, or the text. */
  readonly result: (value: unknown, text: () => string) => void;
  /** Talk beside the result; silent in JSON mode. */
  readonly talk: (text: string) => void;
  /** What was asked for beside the result, on stderr in every mode. */
  readonly trace: (text: string) => void;
  readonly problem: (problem: Problem) => void;
};

export function createPrinter(
  world: Pick<World, "stdout" | "stderr" | "env">,
  options: { readonly json: boolean },
): Printer {
  const { json } = options;
  const style = styles(!json && hasColour(world));
  const errorLine = (text: string): void => void world.stderr.write(`${text}\n`);
  return {
    style,
    result: (value, text) => void world.stdout.write(`${json ? JSON.stringify(value) : text()}\n`),
    talk: (text) => {
      if (!json) errorLine(text);
    },
    trace: errorLine,
    problem: (problem) => errorLine(json ? problemJson(problem) : problemText(problem, style)),
  };
}

/** Fields one below the other, their values aligned, everything from outside escaped. */
export function fieldLines(fields: readonly Field[]): string {
  const width = Math.max(...fields.map(([label]) => label.length));
  return fields
    .map(([label, value]) => `  ${label.padEnd(width)}  ${printable(String(value ?? "–"))}`)
    .join("\n");
}

/** Rows in columns, with a header. */
export function table(
  header: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
  const cells = [header, ...rows.map((row) => row.map((cell) => printable(String(cell ?? "–"))))];
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function problemJson({ exitCode, code, message, next, details }: Problem): string {
  return JSON.stringify({ ok: false, error: { code, message }, ...details, next, exit_code: exitCode });
}

function problemText({ code, message, next, details }: Problem, style: Style): string {
  const facts = Object.entries(details ?? {}).map(([name, value]) => [name, value] as const);
  return [
    `${style.red("✗")} ${printable(message)} ${style.dim(`(${printable(code)})`)}`,
    ...(facts.length === 0 ? [] : [fieldLines(facts)]),
    `  ${style.cyan("→")} ${printable(next)}`,
  ].join("\n");
}

function styles(colour: boolean): Style {
  const as = (format: keyof Style) => (text: string) =>
    colour ? styleText(format, text, { validateStream: false }) : text;
  return { bold: as("bold"), dim: as("dim"), red: as("red"), green: as("green"), cyan: as("cyan") };
}

/** Colour where a person looks at it, unless they said otherwise (NO_COLOR, FORCE_COLOR). */
function hasColour({ stdout, env }: Pick<World, "stdout" | "env">): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
  return "isTTY" in stdout && stdout.isTTY === true;
}
