import { Option, type Command } from "commander";
import { printable } from "../../core/text.ts";
import type { World } from "../../world.ts";
import { isListOption } from "../command.ts";
import { TOPIC_SUMMARIES } from "../help/topic-names.ts";
import { shownDescription } from "../option-rules.ts";
import { createProgram } from "../program.ts";
import type { CommonOptions } from "../target/surroundings.ts";
import { kindOfArgument, kindOfOption, type Completion, type ValueKind } from "./kinds.ts";

/** Values with control characters are not offered, because a shell cannot insert them safely. */
const CONTROL_CHARACTER = /\p{Cc}/u;

type Place = {
  readonly choices?: readonly string[] | undefined;
  readonly kind?: ValueKind | undefined;
  readonly mayBeFile: boolean;
  readonly isList: boolean;
  readonly isArgument: boolean;
};

type CompletionAnswer = { readonly candidates: readonly Completion[]; readonly mayBeFile: boolean };

/**
 * Prints `value<Tab>description` lines for a shell's completion script, then `:4`, or `:0` if file names also fit.
 * `--next` before `--` adds an empty last word.
 */
export async function printCompletions(world: World, version: string): Promise<number> {
  const end = world.argv.indexOf("--");
  const words = [...world.argv.slice(end + 1), ...(world.argv.slice(0, end).includes("--next") ? [""] : [])];
  const prefix = words.at(-1) ?? "";
  const { candidates, mayBeFile } = await findCompletions(
    { world, version },
    { earlierWords: words.slice(0, -1), prefix },
  );
  const descriptions = new Map<string, string>();
  for (const { value, description } of candidates)
    if (value.startsWith(prefix) && !CONTROL_CHARACTER.test(value) && !descriptions.has(value))
      descriptions.set(value, printable(description));
  const lines = [...descriptions].map(([value, description]) => `${value}\t${description}\n`);
  world.stdout.write(`${lines.join("")}:${mayBeFile ? 0 : 4}\n`);
  return 0;
}

type CompletionLine = { readonly earlierWords: readonly string[]; readonly prefix: string };

async function findCompletions(
  { world, version }: { readonly world: World; readonly version: string },
  { earlierWords, prefix }: CompletionLine,
): Promise<CompletionAnswer> {
  if (earlierWords.includes("--")) return { candidates: [], mayBeFile: true };
  const isHelp = earlierWords[0] === "help";
  const line = { earlierWords: isHelp ? earlierWords.slice(1) : earlierWords, prefix };
  const registry = { world: { ...world, argv: line.earlierWords }, version, exit: () => undefined };
  const { place, candidates } = findPlace(await createProgram(registry), line);
  if (place === undefined) {
    const topics = isHelp && line.earlierWords.length === 0 ? Object.entries(TOPIC_SUMMARIES) : [];
    return {
      candidates: [...topics.map(([value, description]) => ({ value, description })), ...candidates],
      mayBeFile: false,
    };
  }
  const [, flag = "", text = prefix] = /^(--[^=]+=)(.*)$/s.exec(prefix) ?? [];
  const head = place.isList ? text.slice(0, text.lastIndexOf(",") + 1) : "";
  const values = await valuesOf(world, version, { place, earlierWords, prefix: text.slice(head.length) });
  // An argument that begins with a dash would be read as an option.
  const shownValues = values.filter(({ value }) => !place.isArgument || !value.startsWith("-"));
  return {
    candidates: [
      ...candidates,
      ...shownValues.map(({ value, description }) => ({ value: flag + head + value, description })),
    ],
    mayBeFile: place.mayBeFile,
  };
}

async function valuesOf(
  world: World,
  version: string,
  { place, earlierWords, prefix }: CompletionLine & { readonly place: Place },
): Promise<readonly Completion[]> {
  const { choices, kind } = place;
  if (choices !== undefined) return choices.map((value) => ({ value, description: "" }));
  if (kind === undefined) return [];
  const valueAfter = (name: string): string | undefined =>
    earlierWords[earlierWords.lastIndexOf(name) + 1 || earlierWords.length];
  const store = kind === "store" ? undefined : valueAfter("--store");
  const dir = valueAfter("--dir") ?? world.env["CHECKOUT_DIR"];
  const options: CommonOptions = {
    ...(store && { store }),
    ...(dir && { dir }),
    trustFolder: earlierWords.includes("--trust-folder"),
  };
  // Imported only here, because most completions need neither the folder nor the control API.
  const { sandboxValues } = await import("./values.ts");
  const { createPrinter } = await import("../printer.ts");
  const { surroundingsOf } = await import("../target/surroundings.ts");
  // The completion script reads the output, so only values may be printed.
  const printer = await createPrinter({ ...world, stderr: world.stdout }, { json: true });
  const silentPrinter = {
    ...printer,
    info: () => undefined,
    trace: () => undefined,
    traceOnce: () => undefined,
  };
  const typedWorld = { ...world, argv: earlierWords };
  const surroundings = surroundingsOf(typedWorld, options);
  const context = { world: typedWorld, version, printer: silentPrinter, around: surroundings };
  return sandboxValues(context, kind, prefix);
}

function findPlace(
  program: Command,
  { earlierWords, prefix }: CompletionLine,
): { readonly place?: Place; readonly candidates: readonly Completion[] } {
  const { command, words, argumentCount, option } = findPosition(program, earlierWords);
  if (option !== undefined) return { place: placeOfOption(option), candidates: [] };
  const argument = command.registeredArguments[argumentCount] ?? command.registeredArguments.at(-1);
  const isFilled = argument === undefined || (argumentCount > 0 && !argument.variadic);
  // Options after the command of `exec` belong to that command.
  if (argument?.variadic === true && argumentCount > 0) return { place: ANY_FILE, candidates: [] };
  const [, flag] = /^(--[^=]+)=/.exec(prefix) ?? [];
  const assignedOption = flag === undefined ? undefined : findOption(command, flag);
  if (assignedOption !== undefined) return { place: placeOfOption(assignedOption), candidates: [] };
  const place = isFilled
    ? undefined
    : {
        choices: argument.argChoices,
        kind: kindOfArgument(words.join(" ")),
        mayBeFile: FILE_PLACEHOLDERS.has(argument.name()),
        isList: false,
        isArgument: true,
      };
  if (argumentCount > 0 && command.commands.length > 0 && argument === undefined) return { candidates: [] };
  const children = argumentCount > 0 ? [] : command.commands;
  if (prefix.startsWith("-") || (prefix === "" && place === undefined && children.length === 0))
    return { candidates: optionsOf(command) };
  const candidates = children.map((child) => ({ value: child.name(), description: child.description() }));
  return place === undefined ? { candidates } : { place, candidates };
}

function findPosition(program: Command, earlierWords: readonly string[]) {
  const words: string[] = [];
  let command = program;
  let argumentCount = 0;
  let option: Option | undefined;
  for (const word of earlierWords) {
    if (option !== undefined) {
      option = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      // An option such as `--dir` may precede the command that defines it.
      const namedOption =
        findOption(command, word) ?? findNestedOption(program, word) ?? findOption(LEADING_OPTIONS, word);
      if (namedOption?.required === true) option = namedOption;
      continue;
    }
    const child = argumentCount > 0 ? undefined : command.commands.find((entry) => entry.name() === word);
    if (child === undefined) argumentCount += 1;
    else {
      command = child;
      words.push(word);
    }
  }
  return { command, words, argumentCount, option };
}

const LEADING_OPTIONS = { options: [new Option("--dir <folder>"), new Option("--store <id|name>")] } as const;

function findOption({ options }: Pick<Command, "options">, flag: string): Option | undefined {
  return options.find(({ long, short }) => flag === long || flag === short);
}

function findNestedOption(command: Command, flag: string): Option | undefined {
  for (const child of command.commands) {
    const option = findOption(child, flag) ?? findNestedOption(child, flag);
    if (option !== undefined) return option;
  }
  return undefined;
}

function optionsOf({ options }: Command): readonly Completion[] {
  const ownOptions = options.map((option) => ({
    value: option.long ?? option.flags,
    description: shownDescription(option),
  }));
  return [...ownOptions, { value: "--help", description: "display help for command" }];
}

function placeOfOption(option: Option): Place {
  const [, value = ""] = /<([^>]+)>/.exec(option.flags) ?? [];
  return {
    choices: option.argChoices,
    kind: kindOfOption(option),
    mayBeFile: FILE_PLACEHOLDERS.has(value),
    isList: isListOption(option),
    isArgument: false,
  };
}

const FILE_PLACEHOLDERS = new Set(["file", "folder", "profile|file", "command", "arguments"]);

const ANY_FILE: Place = { mayBeFile: true, isList: false, isArgument: true };
