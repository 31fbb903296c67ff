import type { Command } from "commander";
import { VERSION } from "../../version.ts";
import type { World } from "../../world.ts";
import { ownWords, variableNamed } from "../option-rules.ts";
import { usageProblem, type Problem } from "../problem.ts";
import type { TypedCommand } from "../program.ts";
import { commandsFor, didYouMean, type Suggestion } from "./meant.ts";
import { commandsLike, optionsLike } from "./search.ts";

/** What commander found wrong in a command line. */
type CommanderError = { readonly code: string; readonly message: string };

/** A command line, the tree of commands, and as much of a command as was typed. */
export type Line = TypedCommand & {
  readonly world: World;
  readonly program: Command;
  readonly argv: readonly string[];
};

const UNKNOWN_COMMAND = "commander.unknownCommand";
const UNKNOWN_OPTION = "commander.unknownOption";

/** What commander found wrong, on one line, with what to type next. A group without its command has had its help. */
export async function usageHint(found: CommanderError, line: Line): Promise<Problem> {
  const { words } = line;
  const next = ["checkout", ...words, "--help"].join(" ");
  if (found.code === "commander.help") return usageProblem("a command is missing", next);
  const message = withoutValue(found.message).replace(/^error: /, "");
  const [first = ""] = message.split("\n");
  const [, negative] = /^unknown option '(-\d)/.exec(message) ?? [];
  if (negative !== undefined)
    return usageProblem(`no value here is negative, and ${negative}… is read as an option`, next);
  const variable = variableFor(message, words);
  if (variable !== undefined) return usageProblem(`${message}: a secret is not typed`, `set ${variable}`);
  const meant = await suggestionFor(found, line);
  if (typeof meant === "string") return usageProblem(first, meant);
  const [only, ...others] = meant;
  // What commander guesses from the letters of one word is worse than a command of these words.
  if (only === undefined) return usageProblem(message.replace(/\s*\n\s*/g, " "), next);
  if (`unknown option '${only}'` === first) return usageProblem(`${only} takes no value`, next);
  const isCommand = found.code === UNKNOWN_COMMAND && others.length === 0;
  return usageProblem(`${first}${didYouMean(meant)}`, isCommand ? `checkout ${only} --help` : next);
}

/** What holds the secret that somebody has given as an option; undefined where it is no such option. */
function variableFor(message: string, words: readonly string[]): string | undefined {
  const [, name = ""] =
    /^unknown option '--(api-key|control-token|admin-token|signing-secret)'/.exec(message) ?? [];
  if (name === "") return undefined;
  const own = words[0] === "sandbox" || words[0] === "exec" ? "CHECKOUT_SANDBOX" : "CHECKOUT";
  return variableNamed(own, name);
}

/** What an unknown command or option stands for, by the words that were typed; empty where nothing is near. */
async function suggestionFor({ code, message }: CommanderError, line: Line): Promise<Suggestion> {
  const { words, command, argv } = line;
  if (code === UNKNOWN_COMMAND) return suggestedCommand(line);
  const longs = command.options.flatMap(({ long }) => long ?? []);
  if (code === "commander.excessArguments") return excessMeant(longs, ownWords(argv).join(" "));
  if (code !== UNKNOWN_OPTION) return [];
  const [, typed = ""] = /unknown option '(--?[^'=]+)/.exec(message) ?? [];
  if (longs.includes(typed)) return [typed];
  return commandsFor([...words, typed]) ?? optionsLike(longs, typed, argv);
}

async function suggestedCommand({ program, words: known, argv, world }: Line): Promise<Suggestion> {
  const typed = argv.filter((word) => !word.startsWith("-"));
  // A group in the singular: `order list`.
  const group = program.commands.find((one) => one.name() === `${typed[0]}s`)?.name();
  const words = group === undefined ? typed : [group, ...typed.slice(1)];
  const row = commandsFor(words);
  if (row !== undefined) return row;
  const { commandPaths } = await import("../program.ts");
  const { default: leven } = await import("leven");
  const paths = await commandPaths({ world, version: VERSION, exit: () => undefined });
  // Not the group that was typed.
  const others = paths.filter((path) => path.join(" ") !== known.join(" "));
  return commandsLike(others, { words, known: group === undefined ? known.length : 1 }, leven);
}

/** A value in two words, or one whose option is missing. */
function excessMeant(longs: readonly string[], typed: string): readonly string[] {
  const [, number, unit] = /\b(\d+) (ms|s|m|h|d)[a-z]*\b/.exec(typed) ?? [];
  if (unit !== undefined) return [`${number}${unit}`];
  const [, port] = / (\d{2,5})$/.exec(typed) ?? [];
  if (port !== undefined && longs.includes("--port")) return [`--port ${port}`];
  return longs.filter((long) => long === "--order-id");
}

/** An unknown option without the value behind it, which may be a secret: `--api-key=…` is what people try. */
function withoutValue(message: string): string {
  return message.replace(/^(error: unknown option '(?:--[^=]+(?==)|-[^-])).+(?=')/s, "$1");
}
