import type { Command } from "commander";
import { VERSION } from "../../version.ts";
import type { World } from "../../world.ts";
import { wordsBeforeSeparator, settingVariable } from "../option-rules.ts";
import { usageProblem, type Problem } from "../problem.ts";
import type { TypedCommand } from "../program.ts";
import { groupWords, nameOf, PLACES, SWITCHES } from "./again.ts";
import { isAnyId } from "../parsers.ts";
import {
  correctedLine,
  correctedRun,
  equivalentCommands,
  didYouMean,
  isDestroying,
  wordOr,
  type Suggestion,
} from "./equivalents.ts";
import { isSame, similarCommands, similarOptions } from "./search.ts";

type CommanderError = { readonly code: string; readonly message: string };

/** A command line, the program's commands, and the typed words that name a command. */
export type TypedLine = TypedCommand & {
  readonly world: World;
  readonly program: Command;
  readonly argv: readonly string[];
};

const UNKNOWN_COMMAND = "commander.unknownCommand";
const UNKNOWN_OPTION = "commander.unknownOption";
const DURATION = /^\+?\d+(?:ms|s|m|h|d)$/;
const PORT = /^\d{2,5}$/;
const ADDRESS = /^https?:|^localhost:/;
/** The help of a group without a command has already been printed. */
export async function usageHint(found: CommanderError, line: TypedLine): Promise<Problem> {
  const { words, argv } = line;
  const next = ["checkout", ...words, "--help"].join(" ");
  const corrected = correctedLineFor(found, line);
  if (found.code === "commander.help") return usageProblem("a command is missing", corrected ?? next);
  const message = removeValue(found.message).replace(/^error: /, "");
  const [first = ""] = message.split("\n");
  const [, negative] = /^unknown option '(-\d)/.exec(message) ?? [];
  if (negative !== undefined)
    return usageProblem(`negative values are not accepted, and ${negative}… is read as an option`, next);
  const variable = variableFor(message, words);
  if (variable !== undefined) return usageProblem(`${message}: a secret is not typed`, `set ${variable}`);
  if (corrected !== undefined) return usageProblem(first, corrected);
  const meant = await suggestionFor(found, line);
  if (typeof meant === "string") return usageProblem(first, meant);
  const [only, ...others] = meant;
  // Our suggestion looks at all words; commander's looks at the letters of one word.
  if (only === undefined) {
    // A group in the singular: `snapshot before`.
    const group = line.program.commands.find((one) => one.name() === `${argv[0]}s`)?.name();
    const help = group === undefined ? next : `checkout ${group} --help`;
    return usageProblem(withoutDestroying(message).replace(/\s*\n\s*/g, " "), help);
  }
  if (`unknown option '${only}'` === first) return usageProblem(`${only} takes no value`, next);
  const isCommand = found.code === UNKNOWN_COMMAND && others.length === 0;
  return usageProblem(`${first}${didYouMean(meant)}`, isCommand ? await lineOf(only, first, line) : next);
}

/** The suggested command with the typed arguments, if it takes so many; otherwise the line that shows its help. */
async function lineOf(
  suggested: string,
  message: string,
  { words, argv, world }: TypedLine,
): Promise<string> {
  const [, unknown = ""] = /^unknown command '(.+?)'/.exec(message) ?? [];
  const path = suggested.split(" ");
  const values = ownWords(argv);
  for (const word of new Set([...words, unknown, ...path])) {
    const at = values.findIndex((one) => isSame(one, word));
    if (at >= 0) values.splice(at, 1);
  }
  const { createProgram, findTypedCommand } = await import("../program.ts");
  const registry = { world: { ...world, argv: path }, version: VERSION, exit: () => undefined };
  const { registeredArguments: places } = findTypedCommand(await createProgram(registry), path).command;
  const least = places.filter(({ required }) => required).length;
  const fits = values.length >= least && values.length <= places.length;
  const isSafe = !isDestroying(suggested) && values.every((value) => wordOr("", value) !== "");
  return ["checkout", suggested, ...(fits && isSafe ? values : ["--help"])].join(" ");
}

/** The typed words without the options of every command. */
function ownWords(argv: readonly string[]): string[] {
  return groupWords(wordsBeforeSeparator(argv), PLACES)
    .filter(([word = ""]) => !SWITCHES.has(word) && !PLACES.has(nameOf(word)))
    .flat();
}

/** Commander's message without suggestions of similarly spelled destructive commands. */
function withoutDestroying(message: string): string {
  const [first = "", suggestion = ""] = message.split("\n");
  return suggestion.split(/[^\w-]+/).some(isDestroying) ? first : message;
}

/** The whole line that was meant; undefined if the words do not tell it. */
function correctedLineFor({ code }: CommanderError, { words, argv }: TypedLine): string | undefined {
  const typed = wordsBeforeSeparator(argv);
  const rest = ownWords(argv).slice(words.length);
  const [next = "", value] = rest;
  const option = rest.find((word) => word.startsWith("--")) ?? "";
  const [name = "", joined] = option.split("=");
  const ofOption = joined ?? rest[rest.indexOf(option) + 1];
  const argument = rest.find(
    (word, at) => !word.startsWith("-") && (joined !== undefined || rest[at - 1] !== option),
  );
  const isOfOption = code === "checkout.refusedValue" || code === UNKNOWN_OPTION;
  if (code === UNKNOWN_COMMAND && words.length === 0 && rest.length === typed.length) {
    const run = correctedRun(rest, argv.length === typed.length);
    if (run !== undefined) return run;
  }
  // A line that leaves out a typed option or word would do something else.
  if (rest.filter((word) => word.startsWith("-")).length > (isOfOption ? 1 : 0)) return undefined;
  if (code === "checkout.refusedValue") return correctedLine([...words, name, ofOption ?? ""], argument);
  if (code === UNKNOWN_OPTION)
    return correctedLine(argument === undefined ? [...words, name] : [...words, argument, name], ofOption);
  // `sandbox clock +2h`.
  if (words.at(-1) === "clock" && DURATION.test(next))
    return `checkout sandbox clock advance ${next.replace("+", "")}`;
  if (code === "commander.excessArguments" && PORT.test(next)) return correctedLine(words, next);
  if (code === "commander.excessArguments" && ADDRESS.test(next))
    return correctedLine([...words, "<url>"], next);
  if (code === "commander.excessArguments" && rest.length === 1) {
    const ofWord = correctedLine([...words, "<word>"], next);
    if (ofWord !== undefined) return ofWord;
  }
  if (code === "commander.help") return correctedLine(words);
  if (rest.length > 3) return undefined;
  const ofTwo = value === undefined ? undefined : correctedLine([...words, next, value], rest[2]);
  if (ofTwo !== undefined || rest.length > 2) return ofTwo;
  const ofId = value === undefined ? undefined : correctedLine([...words, next, "<id>"], value);
  return ofId ?? correctedLine([...words, next], value);
}

/** The variable that replaces an option for a secret; undefined for other options. */
function variableFor(message: string, words: readonly string[]): string | undefined {
  const [, name = ""] =
    /^unknown option '--(api-key|control-token|admin-token|signing-secret)'/.exec(message) ?? [];
  if (name === "") return undefined;
  const own = words[0] === "sandbox" || words[0] === "exec" ? "CHECKOUT_SANDBOX" : "CHECKOUT";
  return settingVariable(own, name);
}

/** Suggests commands or options similar to an unknown one; empty if none is similar. */
async function suggestionFor({ code, message }: CommanderError, line: TypedLine): Promise<Suggestion> {
  const { words, command, argv } = line;
  if (code === UNKNOWN_COMMAND) return suggestedCommand(line);
  const longs = command.options.flatMap(({ long }) => long ?? []);
  if (code === "commander.excessArguments") {
    const ofId = argv.some(isAnyId) ? equivalentCommands([...words, "<id>"]) : undefined;
    return ofId ?? suggestForExcess(longs, wordsBeforeSeparator(argv).join(" "));
  }
  if (code !== UNKNOWN_OPTION) return [];
  const [, typed = ""] = /unknown option '(--?[^'=]+)/.exec(message) ?? [];
  if (longs.includes(typed)) return [typed];
  return (
    equivalentCommands([...words, typed]) ?? equivalentCommands([typed]) ?? similarOptions(longs, typed, argv)
  );
}

async function suggestedCommand({ program, words: known, argv, world }: TypedLine): Promise<Suggestion> {
  const typed = argv.filter((word) => !word.startsWith("-"));
  // A group in the singular: `order list`.
  const group = program.commands.find((one) => one.name() === `${typed[0]}s`)?.name();
  const words = group === undefined ? typed : [group, ...typed.slice(1)];
  const row = equivalentCommands(words);
  if (row !== undefined) return row;
  const { commandPaths } = await import("../program.ts");
  const { default: leven } = await import("leven");
  const paths = await commandPaths({ world, version: VERSION, exit: () => undefined });
  // Omits the group that was typed.
  const others = paths.filter((path) => path.join(" ") !== known.join(" "));
  return similarCommands(others, { words, known: group === undefined ? known.length : 1 }, leven);
}

/** An excess argument may be part of a duration typed as two words, or a value without its option. */
function suggestForExcess(longs: readonly string[], typed: string): readonly string[] {
  const [, number, unit] = /(?<![^ ])(\d+) (ms|s|m|h|d)[a-z]*\b/.exec(typed) ?? [];
  if (unit !== undefined) return [`${number}${unit}`];
  const [, port] = / (\d{2,5})$/.exec(typed) ?? [];
  if (port !== undefined && longs.includes("--port")) return [`--port ${port}`];
  return longs.filter((long) => long === "--order-id");
}

/** The message about an unknown option without the option's value, which may be a secret, as in `--api-key=…`. */
function removeValue(message: string): string {
  return message.replace(/^(error: unknown option '(?:--[^=]+(?==)|-[^-])).+(?=')/s, "$1");
}
