import { errorRow } from "../core/errors.ts";
import { escapeInJson, jsonLine, printable, redactSecrets, redactValues, displayText } from "../core/text.ts";
import type { World } from "../world.ts";
import { adaptHintToTypedLine, maskQuotedText, replaceTypedOptions } from "./hints/again.ts";
import { isOptionTyped } from "./option-rules.ts";
import { EXIT, type Problem } from "./problem.ts";
import { wrapText } from "./wrap.ts";
import { output, type Output } from "./output/output.ts";

/** Null and the empty text are shown as a dash; an undefined value omits the field. */
export type Field = readonly [label: string, value: string | number | null | undefined];

export type Style = Readonly<
  Record<"bold" | "dim" | "red" | "yellow" | "green" | "cyan", (text: string) => string>
>;

export type Printer = Readonly<Awaited<ReturnType<typeof createPrinter>>>;

export function secretText({ isJobLog }: Pick<Printer, "isJobLog">, secret: string, hint: string): string {
  return isJobLog ? `not printed in CI: ${hint}` : secret;
}

/** Shorter values, such as a placeholder `test`, are not hidden, because that would redact parts of other words. */
const MIN_SECRET_LENGTH = 8;

type CommandWorld = Pick<World, "env"> & Partial<Pick<World, "argv">>;

export async function createPrinter(
  world: Pick<World, "stdout" | "stderr" | "env"> & Partial<Pick<World, "argv" | "starter">>,
  { json }: { readonly json: boolean },
) {
  const { redactHidden, ...hiddenSecrets } = createHiddenSecrets();
  const tracedTexts = new Set<string>();
  const style = !json && hasColour(world.stdout, world) ? await loadColouredStyle() : PLAIN_STYLE;
  const infoStyle = !json && hasColour(world.stderr, world) ? await loadColouredStyle() : PLAIN_STYLE;
  const writeResult = (text: string): void => void world.stdout.write(`${redactHidden(text)}\n`);
  const wrap = wrapFor(world.stdout);
  const formatHints = (text: string, wrapLine = wrap): string => hintsAsTyped(text, world, wrapLine);
  const writeError = (text: string): void => void world.stderr.write(`${hiddenSecrets.redact(text)}\n`);
  return {
    style,
    width: widthOf(world.stdout) || DEFAULT_WIDTH,
    wrap,
    result: async (value: Output, text: () => string | Promise<string>): Promise<number> => {
      writeResult(json ? jsonLine(resultAsTyped(value, world)) : formatHints(await text()));
      return EXIT.done;
    },
    line: (value: Output, text: () => string): void =>
      writeResult(json ? jsonLine(resultAsTyped(value, world)) : formatHints(text())),
    /** Adds no line break. On a terminal, escapes control characters except line breaks. */
    raw: (text: string): number => {
      world.stdout.write(isTerminal(world.stdout) ? escapeInJson(text) : text);
      return EXIT.done;
    },
    info: (text: string): void => {
      if (!json) writeError(formatHints(text, wrapFor(world.stderr)));
    },
    trace: writeError,
    traceOnce: (text: string): void => {
      if (!tracedTexts.has(text)) writeError(text);
      tracedTexts.add(text);
    },
    problem: (problem: Problem): void => {
      // A detached process sends its problem to the command that started it, which prints it.
      void world.starter?.notify(JSON.stringify({ problem }));
      // Quoted text is the user's, so only later text can name commands: `got "coffee": see checkout prices list`.
      const quoteEnd = problem.message.lastIndexOf('"') + 1;
      const message =
        problem.message.slice(0, quoteEnd) + adaptHintToTypedLine(problem.message.slice(quoteEnd), world);
      const shownProblem = { ...problem, message, next: adaptHintToTypedLine(problem.next, world) };
      writeError(
        json ? problemJson(shownProblem) : problemText(shownProblem, infoStyle, wrapFor(world.stderr)),
      );
    },
    ...hiddenSecrets,
    /** Whether stdout is the log of a CI job (decision 123), in which text results must not show secrets. */
    isJobLog: !isTerminal(world.stdout) && !["", "0", "false"].includes(world.env["CI"] ?? ""),
  };
}

function createHiddenSecrets() {
  const secrets: string[] = [];
  const redactHidden = (text: string): string => redactValues(text, secrets);
  const addSecret = (secret: string): void => {
    if (!secrets.includes(secret)) secrets.push(secret);
    // Longest first, because a secret may contain a shorter one.
    secrets.sort((left, right) => right.length - left.length);
  };
  return {
    redactHidden,
    redact: (text: string): string => redactSecrets(redactHidden(text)),
    hide: (secret: string): void => {
      if (secret.length >= MIN_SECRET_LENGTH) addSecret(secret);
    },
    reveal: (secret: string): void => {
      const index = secrets.indexOf(secret);
      if (index >= 0) secrets.splice(index, 1);
    },
    hidePassword: (password: string): void => {
      if (password !== "") addSecret(password);
    },
  };
}

/** `cursor`: the position of the next page; null after the last page. */
export function nextPageText(
  { world, printer }: { readonly world: CommandWorld; readonly printer: Pick<Printer, "style"> },
  { cursor, searchText = "" }: { readonly cursor: string | null; readonly searchText?: string },
): string {
  if (cursor === null) return "";
  const command = replaceTypedOptions(world, new Map([["--before", 2]]), `--before ${cursor}`);
  return `\n${printer.style.dim(`${searchText}more:\n  ${command}`)}`;
}

const COMMAND_FIELDS: ReadonlySet<string> = new Set(["next", "rerun"]);

function resultAsTyped(value: Output, world: CommandWorld): unknown {
  const retype = (text: unknown): unknown =>
    typeof text === "string" ? adaptHintToTypedLine(text, world) : text;
  const text = JSON.stringify(value, (name, field: unknown) => {
    if (!COMMAND_FIELDS.has(name)) return field;
    return Array.isArray(field) ? field.map(retype) : retype(field);
  });
  return JSON.parse(text);
}

function hintsAsTyped(text: string, world: CommandWorld, wrap: Wrap): string {
  return text.replace(HINT_PATTERN, (_all, arrow: string, next: string) =>
    hintLine(arrow, adaptHintToTypedLine(next, world), wrap),
  );
}

/** A line that is only a command is never broken, because users copy it. */
function hintLine(arrow: string, next: string, wrap: Wrap): string {
  const isCommand = /^(npx )?checkout [a-z-]/.test(next) && !/[:;,] /.test(maskQuotedText(next));
  return isCommand ? arrow + next : wrap(arrow + next, HINT_INDENT);
}

const HINT_INDENT = 4;

type Wrap = (line: string, indent: number) => string;

function wrapFor(stream: World["stdout"]): Wrap {
  const width = isTerminal(stream) ? widthOf(stream) : 0;
  return (line, indent) => (width < MIN_WRAP_WIDTH ? line : wrapText(line, { width, indent }));
}

const MIN_WRAP_WIDTH = 40;

const HINT_PATTERN = /^( *(?:\p{Cc}\[\d+m)?→(?:\p{Cc}\[\d+m)? )(.*)$/gmu;

export function fieldLines(fields: readonly Field[]): string {
  const shownFields = fields.filter(([, value]) => value !== undefined);
  const width = Math.max(...shownFields.map(([label]) => label.length));
  return shownFields
    .map(
      ([label, value]) =>
        `  ${label.padEnd(width)}  ${value === null || value === "" ? "–" : printable(displayText(String(value)))}`,
    )
    .join("\n");
}

function problemJson({ exitCode, code, message, next, details, differences, candidates }: Problem): string {
  const errorOutput = output("error", {
    ok: false,
    error: { code, message },
    ...details,
    differences,
    candidates,
    next,
    exit_code: exitCode,
  });
  return jsonLine(errorOutput);
}

function problemText(problem: Problem, style: Style, wrap: Wrap): string {
  const { code, message, next, details, differences = [], candidates = [] } = problem;
  const facts: readonly Field[] = [
    ...Object.entries(details ?? {}),
    ...differences.map(
      ({ field, expected, live }) => [field, `expected ${expected}, found ${live}`] as const,
    ),
    ...candidates.map(({ id, about }) => [id, about] as const),
  ];
  // Shows only codes of the service, which users can look up; all other codes are for programs.
  const shownCode = errorRow(code) === undefined ? "" : style.dim(` (${code})`);
  return [
    wrap(`${style.red("✗")} ${printable(message)}${shownCode}`, 2),
    ...(facts.length === 0 ? [] : [fieldLines(facts)]),
    hintLine(`  ${style.cyan("→")} `, printable(next), wrap),
  ].join("\n");
}

const unchangedText = (text: string): string => text;
export const PLAIN_STYLE: Style = {
  bold: unchangedText,
  dim: unchangedText,
  red: unchangedText,
  yellow: unchangedText,
  green: unchangedText,
  cyan: unchangedText,
};

async function loadColouredStyle(): Promise<Style> {
  const { Chalk } = await import("chalk");
  return new Chalk({ level: 1 });
}

function hasColour(stream: World["stdout"], world: CommandWorld): boolean {
  if (hasPlainOutput(world)) return false;
  const forcedColor = world.env["FORCE_COLOR"];
  return forcedColor ? forcedColor !== "0" : isTerminal(stream);
}

export function hasPlainOutput({ argv = [], env }: CommandWorld): boolean {
  if (isOptionTyped({ argv }, "no-color") || env["NO_COLOR"]) return true;
  return env["TERM"] === "dumb" && !env["FORCE_COLOR"];
}

export function isTerminal(stream: object): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

const DEFAULT_WIDTH = 80;

export function widthOf(stream: World["stdout"]): number {
  return "columns" in stream && typeof stream.columns === "number" ? stream.columns : DEFAULT_WIDTH;
}
