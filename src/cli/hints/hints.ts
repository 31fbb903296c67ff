import type { Command } from "commander";
import { VERSION } from "../../version.ts";
import { wordsBeforeSeparator, settingVariable } from "../option-rules.ts";
import { usageProblem, type Problem } from "../problem.ts";
import type { TypedLine } from "../program.ts";
import { groupWords, nameOf, PLACES, SWITCHES, retypeLine } from "./again.ts";
import { isAnyId } from "../parsers.ts";
import {
  correctedLine,
  correctedExec,
  equivalentCommands,
  didYouMean,
  groupOfNoun,
  isDestructive,
  normalizeWord,
  subcommandsFor,
  safeWord,
  type Suggestion,
} from "./equivalents.ts";
import { lineAt, refusalOf } from "./follow.ts";
import { isSame, similarCommands, similarOptions } from "./search.ts";

type CommanderError = { readonly code: string; readonly message: string };

const UNKNOWN_COMMAND = "commander.unknownCommand";
const UNKNOWN_OPTION = "commander.unknownOption";
const EXCESS_ARGUMENTS = "commander.excessArguments";
const DURATION = /^\+?(?:\d+(?:ms|s|m|h|d))+$/;
const NUMBER_OPTIONS: ReadonlySet<string> = new Set(["--amount-minor", "--limit", "--port"]);
const GO_BACK_HINT =
  "checkout sandbox clock set <time> goes back, and checkout sandbox clock real to the real time";
const PORT = /^\d{2,5}$/;
const ADDRESS = /^https?:|^localhost:/;
/** Maximum number of times that a refused suggestion is replaced by the suggestion of its own refusal. */
const MAX_HINTS = 3;

/** The problem of a refused line, with a suggestion that this program would not refuse. */
export async function usageHint(error: CommanderError, line: TypedLine): Promise<Problem> {
  const problem = await hintOf(error, line);
  let { next } = problem;
  for (let count = 0; count < MAX_HINTS; count += 1) {
    const refusedLine = await refusalOf(next, line.world);
    if (refusedLine === undefined || isSentence(refusedLine.line, line.argv)) break;
    ({ next } = await hintOf(refusedLine.error, refusedLine.line));
  }
  return { ...problem, next };
}

/** Whether a suggestion is a sentence that begins with a command: it has words that nobody typed. */
function isSentence({ argv, words }: TypedLine, typed: readonly string[]): boolean {
  return argv.slice(words.length).some((word) => !word.startsWith("-") && !typed.includes(word));
}

/** The problem of a refused line, with a suggestion. For a group without a command, the help is already printed. */
async function hintOf(error: CommanderError, line: TypedLine): Promise<Problem> {
  const { words, argv } = line;
  const next = ["checkout", ...words, "--help"].join(" ");
  const fixedLine =
    lineWithFormat(error.message, line) ??
    lineWithUnit(error, line) ??
    (await lineWithVerb(error, line)) ??
    correctedLineFor(error, line) ??
    (error.code === UNKNOWN_COMMAND ? await lineOutsideSandbox(line) : undefined);
  if (error.code === "commander.help") return usageProblem("a command is missing", fixedLine ?? next);
  const message = removeValue(error.message).replace(/^error: /, "");
  const [first = ""] = message.split("\n");
  const [, negativeNumber] = /^unknown option '(-\d)/.exec(message) ?? [];
  if (negativeNumber !== undefined)
    return usageProblem(
      `negative values are not accepted, and ${negativeNumber}… is read as an option`,
      words.includes("clock") ? GO_BACK_HINT : next,
    );
  const variable = variableFor(message, words);
  if (variable !== undefined) return usageProblem(`${message}: a secret is not typed`, `set ${variable}`);
  if (fixedLine !== undefined) return usageProblem(first, fixedLine);
  const suggestion = await suggestionFor(error, line);
  if (typeof suggestion === "string") return usageProblem(first, suggestion);
  const [only, ...tail] = suggestion;
  // Our suggestion looks at all words; commander's looks at the letters of one word.
  if (only === undefined) {
    // A group in the singular: `snapshot before`.
    const group = groupFor(line, argv[0]);
    // Similar spelling misleads for a known noun: `checkouts` is not `checklist`.
    if (group !== undefined)
      return usageProblem(`${first}${didYouMean([group])}`, `checkout ${group} --help`);
    const shown = omitDestructive(message).replace(/\s*\n\s*/g, " ");
    return usageProblem(shown, (await lineWithTypo(shown, line)) ?? next);
  }
  if (`unknown option '${only}'` === first) return usageProblem(`${only} takes no value`, next);
  if (error.code === UNKNOWN_OPTION && tail.length === 0)
    return usageProblem(`${first}${didYouMean(suggestion)}`, lineWithOption(only, first, line) ?? next);
  if (error.code !== UNKNOWN_COMMAND || tail.length > 0)
    return usageProblem(`${first}${didYouMean(suggestion)}`, next);
  // Not "unknown command 'listen' (Did you mean listen?)".
  const errorText = first.includes(`'${only}'`) ? first : `${first}${didYouMean(suggestion)}`;
  return usageProblem(errorText, await lineFor(only, first, line));
}

/** The typed line with the suggested option for the unknown one; undefined if its value is unclear or secret. */
function lineWithOption(option: string, message: string, { command, world }: TypedLine): string | undefined {
  const [, typed = ""] = /^unknown option '(--?[^'=]+)/.exec(message) ?? [];
  const at = world.argv.findIndex((word) => word.startsWith(typed));
  const [word = "", nextWord] = world.argv.slice(at);
  const joinedValue = word.slice(typed.length).replace(/^=/, "");
  const retypedLine = (length: number, addedText: string): string | undefined =>
    /secret|token|key|password|file/.test(typed + addedText) || world.argv.includes("--")
      ? undefined
      : retypeLine(world, new Map([[nameOf(word), length]]), addedText);
  const isKnown = (name: string): boolean =>
    PLACES.has(name) || SWITCHES.has(name) || command.options.some(({ long }) => long === name);
  const typedOptions = world.argv.filter((text) => text.startsWith("--")).map(nameOf);
  // Another unknown option would be refused next.
  if (typedOptions.some((name) => name !== nameOf(word) && !isKnown(name))) return undefined;
  const takesValue = command.options.some(({ long, required }) => long === option && required);
  if (!takesValue)
    return retypedLine(option === "--json" && `${joinedValue}${nextWord}` === "json" ? 2 : 1, option);
  const value = safeWord("", joinedValue === "" ? nextWord : joinedValue);
  if (NUMBER_OPTIONS.has(option) && !/^\d+$/.test(value)) return undefined;
  return value === "" ? undefined : retypedLine(joinedValue === "" ? 2 : 1, `${option} ${value}`);
}

/** The suggested command with the typed words; the command's help if the typed words do not fit. */
async function lineFor(text: string, message: string, { words, argv, world }: TypedLine): Promise<string> {
  const [, unknownCommand = ""] = /^unknown command '(.+?)'/.exec(message) ?? [];
  const path = text.split(" ");
  const values = ownWords(argv);
  for (const word of new Set([...words, ...path, unknownCommand])) {
    const at = values.findIndex(
      (name) => isSame(name, word) || groupOfNoun(name) === word || subcommandsFor(name).includes(word),
    );
    if (at >= 0) values.splice(at, 1);
  }
  const { command } = await lineAt(path, world);
  const isGroup = command.commands.length > 0 && text !== "checklist";
  const isSafe = !isGroup && !isDestructive(text) && values.every(isPlain);
  return ["checkout", text, ...(isSafe ? values : ["--help"])].join(" ");
}

/** The typed line with commander's only suggestion for a misspelt first word; undefined if the two differ much. */
async function lineWithTypo(message: string, line: TypedLine): Promise<string | undefined> {
  const [, typed = "", guess = ""] =
    /^unknown command '(.+)' \(Did you mean ([\w-]+)\?\)$/.exec(message) ?? [];
  const { default: leven } = await import("leven");
  if (guess === "" || line.words.length > 0 || leven(typed, guess) > guess.length / 3) return undefined;
  const rest = ownWords(line.argv).filter((word) => word !== typed);
  const { words } = await lineAt([guess, ...rest], line.world);
  return lineFor(words.join(" "), message, line);
}

/** `sandbox snapshot create before`: the typed line without `sandbox`; undefined for other lines. */
async function lineOutsideSandbox({ words, argv, world, program }: TypedLine): Promise<string | undefined> {
  const [noun = "", ...rest] = ownWords(argv).slice(1);
  const name = program.commands.find((one) => isSame(one.name(), noun))?.name();
  if (words.join(" ") !== "sandbox" || name === undefined || argv.includes("--") || !rest.every(isPlain))
    return undefined;
  const { command } = await lineAt([name, ...rest], world);
  return ["checkout", name, ...rest, ...(command.commands.length > 0 ? ["--help"] : [])].join(" ");
}

/** The typed words without the options of every command. */
function ownWords(argv: readonly string[]): string[] {
  return groupWords(wordsBeforeSeparator(argv), PLACES)
    .filter(([word = ""]) => !SWITCHES.has(word) && !PLACES.has(nameOf(word)))
    .flat();
}

/** Commander's message without suggestions of similarly spelled destructive commands. */
function omitDestructive(message: string): string {
  const [first = "", suggestion = ""] = message.split("\n");
  return suggestion.split(/[^\w-]+/).some(isDestructive) ? first : message;
}

/** The whole line that was meant; undefined if the words do not determine it. */
function correctedLineFor(
  { code }: CommanderError,
  { words, argv, world, program }: TypedLine,
): string | undefined {
  const typed = wordsBeforeSeparator(argv);
  const restWords = ownWords(argv).slice(words.length);
  const [next = "", value] = restWords;
  const option = restWords.find((word) => word.startsWith("--")) ?? "";
  const [name = "", joinedValue] = option.split("=");
  const optionValue = joinedValue ?? restWords[restWords.indexOf(option) + 1];
  const argument = restWords.find(
    (word, at) => !word.startsWith("-") && (joinedValue !== undefined || restWords[at - 1] !== option),
  );
  const isAboutOption = code === "checkout.refusedValue" || code === UNKNOWN_OPTION;
  if (code === UNKNOWN_COMMAND && words.length === 0 && restWords.length === typed.length) {
    const run = correctedExec(restWords, argv.length === typed.length);
    if (run !== undefined) return run;
  }
  const [, host, port] = /^(localhost|[\d.]+):(\d+)$/.exec(optionValue ?? "") ?? [];
  if (code === "checkout.refusedValue" && name === "--listen" && host !== undefined) {
    const listen = host === "localhost" ? "" : `${name} ${host} `;
    return retypeLine(world, new Map([[name, joinedValue ? 1 : 2]]), `${listen}--port ${port}`);
  }
  // `trigger order succeeded`.
  if (
    code === EXCESS_ARGUMENTS &&
    /^trigger (order|checkout_session) [a-z]+$/.test([...words, ...restWords].join(" "))
  )
    return `checkout trigger ${restWords.join(".")}`;
  // `checkout checkout orders list`.
  if (code === UNKNOWN_COMMAND && next === "checkout" && restWords.every((word) => safeWord("", word) !== ""))
    if (program.commands.some((command) => command.name() === value)) return restWords.join(" ");
  // `sessions pay o-1 --declined`.
  if (code === UNKNOWN_COMMAND && restWords.length === 3 && restWords[2] === name)
    return correctedLine([...words, next, name], value);
  // `webhooks listen --forward-to http://localhost:3000`.
  if (code === UNKNOWN_COMMAND && restWords.length <= 3 && option !== "" && argument !== undefined)
    return correctedLine([...words, argument, name], optionValue);
  // `orders pay o-1 --outcome failed`: the line with the typed options.
  const line = code === UNKNOWN_COMMAND ? correctedLine([...words, next], value) : undefined;
  if (line?.endsWith(` ${value}`) === true && restWords.every(isPlain))
    return [line, ...restWords.slice(2)].join(" ");
  // A line that leaves out a typed option or word would do something else.
  if (restWords.filter((word) => word.startsWith("-")).length > (isAboutOption ? 1 : 0)) return undefined;
  if (code === "checkout.refusedValue") return correctedLine([...words, name, optionValue ?? ""], argument);
  if (code === UNKNOWN_OPTION) {
    const knownWords = argument === undefined ? words : [...words, argument];
    const argumentLine = optionValue === undefined ? correctedLine([...words, name], argument) : undefined;
    return correctedLine([...knownWords, name], optionValue) ?? argumentLine;
  }
  // `sandbox clock +2h`.
  if (words.at(-1) === "clock" && DURATION.test(next))
    return `checkout sandbox clock advance ${next.replace("+", "")}`;
  if (code === EXCESS_ARGUMENTS && PORT.test(next)) return correctedLine(words, next);
  if (code === EXCESS_ARGUMENTS && ADDRESS.test(next)) return correctedLine([...words, "<url>"], next);
  if (code === EXCESS_ARGUMENTS && restWords.length === 1) {
    const idLine = isAnyId(next) ? correctedLine([...words, "<id>"], next) : undefined;
    const wordLine = idLine ?? correctedLine([...words, "<word>"], next);
    if (wordLine !== undefined) return wordLine;
  }
  if (code === "commander.help") return correctedLine(words);
  if (restWords.length > 3) return undefined;
  const pairLine = value === undefined ? undefined : correctedLine([...words, next, value], restWords[2]);
  if (pairLine !== undefined || restWords.length > 2) return pairLine;
  const kind = ADDRESS.test(value ?? "") && normalizeWord(value ?? "") !== "<path>" ? "<url>" : "<id>";
  const isWord = value !== undefined && !isAnyId(value) && /[a-z]/i.test(value);
  const wordLine = isWord ? correctedLine([...words, next, "<word>"], value) : undefined;
  const idLine = value === undefined ? undefined : correctedLine([...words, next, kind], value);
  return wordLine ?? idLine ?? correctedLine([...words, next], value);
}

/** Whether a shell and this program read the word unchanged. */
function isPlain(word: string): boolean {
  return safeWord("", word.replace(/^--?(?=\w)/, "").replace("=", "")) !== "";
}

/** The line without `-o yaml` or `--output table`; undefined for other options and values. */
function lineWithFormat(message: string, { world }: TypedLine): string | undefined {
  const [, name = ""] = /unknown option '(-o|--output|--format)'/.exec(message) ?? [];
  const format = name === "" ? undefined : world.argv[world.argv.indexOf(name) + 1];
  if (world.argv.includes("--") || !/^(ya?ml|table|text)$/.test(format ?? "")) return undefined;
  const retype = (addedText: string): string => retypeLine(world, new Map([[name, 2]]), addedText).trimEnd();
  return format === "table" || format === "text"
    ? `the text is the default: ${retype("")}`
    : `there is no YAML; this prints JSON: ${retype("--json")}`;
}

/** The least number without a unit that is read as milliseconds, not as seconds. */
const MIN_MS = 1000;

/** The typed line with a unit for a duration that is only a number: `--timeout 10`, `--latency 2000`. */
function lineWithUnit({ code, message }: CommanderError, { world }: TypedLine): string | undefined {
  const [, option = "", unit = "", number = ""] =
    /^error: option '(--[\w-]+) .*Expected a duration (?:from \d+(m|h|d)\b)?.*; got "(\d+)"/.exec(message) ??
    [];
  if (code !== "checkout.refusedValue" || number === "" || world.argv.includes("--")) return undefined;
  const isJoined = world.argv.includes(`${option}=${number}`);
  const duration = `${number}${unit || (Number(number) < MIN_MS ? "s" : "ms")}`;
  return retypeLine(world, new Map([[option, isJoined ? 1 : 2]]), `${option} ${duration}`);
}

/** `get orders order-1001`: the verb after its noun, with the other words; undefined for other lines. */
async function lineWithVerb({ code }: CommanderError, line: TypedLine): Promise<string | undefined> {
  const [verb = "", noun = "", ...rest] = ownWords(line.argv);
  if (code !== UNKNOWN_COMMAND || line.words.length > 0 || line.world.argv.includes("--")) return undefined;
  const group = groupFor(line, noun) ?? line.program.commands.find((one) => one.name() === noun)?.name();
  if (group === undefined || rest[0]?.startsWith("-") !== false) return undefined;
  const { command } = await lineAt([group], line.world);
  const names = [verb, ...subcommandsFor(verb)];
  const name = names.find((one) => command.commands.some((child) => child.name() === one));
  return name === undefined || !rest.every(isPlain)
    ? undefined
    : ["checkout", group, name, ...rest].join(" ");
}

/** The variable that replaces an option for a secret; undefined for other options. */
function variableFor(message: string, words: readonly string[]): string | undefined {
  const [, name = ""] =
    /^unknown option '--(api-key|control-token|admin-token|signing-secret)'/.exec(message) ?? [];
  if (name === "") return undefined;
  const prefix = words[0] === "sandbox" || words[0] === "exec" ? "CHECKOUT_SANDBOX" : "CHECKOUT";
  return settingVariable(prefix, name);
}

/** Suggests commands or options similar to an unknown one; empty if none is similar. */
async function suggestionFor({ code, message }: CommanderError, line: TypedLine): Promise<Suggestion> {
  const { words, command, argv } = line;
  if (code === UNKNOWN_COMMAND) return suggestedCommand(line);
  const longFlags = command.options.flatMap(({ long }) => long ?? []);
  if (code === EXCESS_ARGUMENTS) {
    const idLine = argv.some(isAnyId) ? equivalentCommands([...words, "<id>"]) : undefined;
    return idLine ?? suggestForExtra(command, wordsBeforeSeparator(argv));
  }
  if (code !== UNKNOWN_OPTION) return [];
  const [, typed = ""] = /unknown option '(--[^'=]+|-[a-z](?=\d+')|-[^'=]+)/i.exec(message) ?? [];
  if (longFlags.includes(typed)) return [typed];
  return (
    equivalentCommands([...words, typed]) ??
    (typed.startsWith("--") ? equivalentCommands([typed]) : undefined) ??
    similarOptions(longFlags, typed, argv)
  );
}

async function suggestedCommand(line: TypedLine): Promise<Suggestion> {
  const { words: knownWords, argv, world } = line;
  const typed = argv.filter((word) => !word.startsWith("-"));
  const group = groupFor(line, typed[0]);
  const words = group === undefined ? typed : [group, ...typed.slice(1)];
  const row = equivalentCommands(typed.map(normalizeWord)) ?? equivalentCommands(words.map(normalizeWord));
  if (row !== undefined) return row;
  const { commandPaths } = await import("../program.ts");
  const { default: leven } = await import("leven");
  const paths = await commandPaths({ world, version: VERSION, exit: () => undefined });
  // Omits the group that was typed.
  const otherPaths = paths.filter((path) => path.join(" ") !== knownWords.join(" "));
  return similarCommands(otherPaths, { words, start: group === undefined ? knownWords.length : 1 }, leven);
}

/** The group for a noun of another tool, or for the singular of a group: `order list`. */
function groupFor({ program }: TypedLine, noun = ""): string | undefined {
  return program.commands.find((command) => command.name() === `${noun}s`)?.name() ?? groupOfNoun(noun);
}

/** An excess argument may be half of a duration, a part of a value with spaces, or a value whose option is missing. */
function suggestForExtra({ options, registeredArguments }: Command, argv: readonly string[]): Suggestion {
  const longFlags = options.flatMap(({ long }) => long ?? []);
  const typed = argv.join(" ");
  const [, number, unit] = /(?<![^ ])(\d+) (ms|s|m|h|d)[a-z]*\b/.exec(typed) ?? [];
  if (unit !== undefined) return [`${number}${unit}`];
  const [, port] = / (\d{2,5})$/.exec(typed) ?? [];
  if (port !== undefined && longFlags.includes("--port")) return [`--port ${port}`];
  const duration = argv.find((word) => DURATION.test(word));
  if (duration !== undefined && longFlags.includes("--latency")) return [`--latency ${duration}`];
  const takesValue = (word = ""): boolean => options.some(({ long, required }) => long === word && required);
  const hasSplitValue = argv.some(
    (word, at) => !word.startsWith("-") && !takesValue(argv[at - 1]) && takesValue(argv[at - 2]),
  );
  if (registeredArguments.length === 0 && hasSplitValue) return "put a value with spaces in quotes";
  return longFlags.filter((long) => long === "--order-id" && !argv.some((word) => nameOf(word) === long));
}

/** The message about an unknown option without the option's value, which may be a secret, as in `--api-key=…`. */
function removeValue(message: string): string {
  return message.replace(/^(error: unknown option '(?:--[^=]+(?==)|-[^-])).+(?=')/s, "$1");
}
