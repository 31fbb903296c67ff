import type { Command } from "commander";
import { VERSION } from "../../version.ts";
import type { RefusedDuration } from "../command.ts";
import { wordsBeforeSeparator, settingVariable } from "../option-rules.ts";
import { usageProblem, type Problem } from "../problem.ts";
import type { TypedLine } from "../program.ts";
import {
  LOCATION_OPTIONS,
  optionName,
  OUTPUT_SWITCHES,
  replaceTypedOptions,
  wordsWithoutCommonOptions,
} from "./again.ts";
import { isAnyId } from "../parsers.ts";
import {
  correctedLine,
  correctedExec,
  equivalentCommands,
  didYouMean,
  groupOfNoun,
  isDestructive,
  isPlain,
  normalizeWord,
  subcommandsFor,
  safeWordOrPlaceholder,
  type Suggestion,
} from "./equivalents.ts";
import { readTypedWords, refusalOfLine } from "./follow.ts";
import { lineWithDuration, retypedLine, siblingWithOption } from "./retype.ts";
import { isSameExceptPlural, similarCommands, similarOptions } from "./search.ts";

type CommanderError = {
  readonly code: string;
  readonly message: string;
  readonly duration?: RefusedDuration;
};

const UNKNOWN_COMMAND = "commander.unknownCommand";
const UNKNOWN_OPTION = "commander.unknownOption";
const EXCESS_ARGUMENTS = "commander.excessArguments";
const DURATION_PATTERN = /^\+?(?:\d+(?:ms|s|m|h|d))+$/;
const NUMBER_OPTIONS: ReadonlySet<string> = new Set(["--amount-minor", "--limit", "--port"]);
const GO_BACK_HINT =
  "checkout sandbox clock set <time> goes back, and checkout sandbox clock real to the real time";
const PORT_PATTERN = /^\d{2,5}$/;
const ADDRESS_PATTERN = /^https?:|^localhost:/;
const MAX_REPLACEMENTS = 3;

export async function problemWithHint(error: CommanderError, line: TypedLine): Promise<Problem> {
  const problem = await problemWithAnyHint(error, line);
  let { next } = problem;
  for (let count = 0; count < MAX_REPLACEMENTS; count += 1) {
    const refusedLine = await refusalOfLine(next, line.world);
    if (refusedLine === undefined || isSentence(refusedLine.line, line.argv)) break;
    ({ next } = await problemWithAnyHint(refusedLine.error, refusedLine.line));
  }
  return { ...problem, next };
}

function isSentence({ argv, words }: TypedLine, typedWords: readonly string[]): boolean {
  return argv.slice(words.length).some((word) => !word.startsWith("-") && !typedWords.includes(word));
}

async function problemWithAnyHint(error: CommanderError, line: TypedLine): Promise<Problem> {
  const { words, argv } = line;
  const help = ["checkout", ...words, "--help"].join(" ");
  const fixedLine =
    lineWithoutFormat(error.message, line) ??
    lineWithUnit(error, line) ??
    (await lineWithNounFirst(error, line)) ??
    correctedLineFor(error, line) ??
    (await retypedLine(error, line)) ??
    (error.code === UNKNOWN_COMMAND ? await lineOfGroup(error, line) : undefined);
  if (error.code === "commander.help") return usageProblem("a command is missing", fixedLine ?? help);
  const message = removeValue(error.message).replace(/^error: /, "");
  const [firstLine = ""] = message.split("\n");
  const [, negativeNumber] = /^unknown option '(-\d)/.exec(message) ?? [];
  if (negativeNumber !== undefined)
    return usageProblem(
      `negative values are not accepted, and ${negativeNumber}… is read as an option`,
      words.includes("clock") ? GO_BACK_HINT : help,
    );
  const variable = secretVariableFor(message, words);
  if (variable !== undefined) return usageProblem(`${message}: a secret is not typed`, `set ${variable}`);
  if (fixedLine !== undefined) return usageProblem(firstLine, fixedLine);
  const suggestion = await suggestionFor(error, line);
  if (typeof suggestion === "string") return usageProblem(firstLine, suggestion);
  const [hint, ...tail] = suggestion;
  // Falls back to commander's own suggestion, which compares only the spelling of one word.
  if (hint === undefined) {
    const owner = siblingWithOption(error, line);
    if (owner !== undefined)
      return usageProblem(`${firstLine}: an option of ${owner}`, `checkout ${owner} --help`);
    const group = groupFor(line, argv[0]);
    // For a known noun, similar spelling is misleading: `checkouts` does not mean `checklist`.
    if (group !== undefined)
      return usageProblem(`${firstLine}${didYouMean([group])}`, `checkout ${group} --help`);
    const shownMessage = omitDestructive(message).replace(/\s*\n\s*/g, " ");
    return usageProblem(shownMessage, (await lineWithoutTypo(shownMessage, line)) ?? help);
  }
  if (`unknown option '${hint}'` === firstLine) return usageProblem(`${hint} takes no value`, help);
  const messageWithHint = `${firstLine}${didYouMean(suggestion)}`;
  if (error.code === UNKNOWN_OPTION && tail.length === 0)
    return usageProblem(messageWithHint, lineWithOption(hint, firstLine, line) ?? help);
  if (error.code !== UNKNOWN_COMMAND || tail.length > 0) return usageProblem(messageWithHint, help);
  // Avoids "unknown command 'listen' (Did you mean listen?)".
  const errorText = firstLine.includes(`'${hint}'`) ? firstLine : messageWithHint;
  return usageProblem(errorText, await lineFor(hint, firstLine, line));
}

function lineWithOption(option: string, message: string, { command, world }: TypedLine): string | undefined {
  const [, typedFlag = ""] = /^unknown option '(--?[^'=]+)/.exec(message) ?? [];
  const at = world.argv.findIndex((word) => word.startsWith(typedFlag));
  const [word = "", nextWord] = world.argv.slice(at);
  const joinedValue = word.slice(typedFlag.length).replace(/^=/, "");
  const retype = (length: number, addedText: string): string | undefined =>
    /secret|token|key|password|file/.test(typedFlag + addedText) || world.argv.includes("--")
      ? undefined
      : replaceTypedOptions(world, new Map([[optionName(word), length]]), addedText);
  const isKnown = (name: string): boolean =>
    LOCATION_OPTIONS.has(name) ||
    OUTPUT_SWITCHES.has(name) ||
    command.options.some(({ long }) => long === name);
  const typedOptions = world.argv.filter((text) => text.startsWith("--")).map(optionName);
  // Suggests nothing, because another unknown option would be refused next.
  if (typedOptions.some((name) => name !== optionName(word) && !isKnown(name))) return undefined;
  const takesValue = command.options.some(({ long, required }) => long === option && required);
  if (!takesValue)
    return retype(option === "--json" && `${joinedValue}${nextWord}` === "json" ? 2 : 1, option);
  const value = safeWordOrPlaceholder("", joinedValue === "" ? nextWord : joinedValue);
  if (NUMBER_OPTIONS.has(option) && !/^\d+$/.test(value)) return undefined;
  return value === "" ? undefined : retype(joinedValue === "" ? 2 : 1, `${option} ${value}`);
}

async function lineFor(hint: string, message: string, { words, argv, world }: TypedLine): Promise<string> {
  const [, unknownCommand = ""] = /^unknown command '(.+?)'/.exec(message) ?? [];
  const path = hint.split(" ");
  const values = wordsWithoutCommonOptions(argv);
  for (const word of new Set([...words, ...path, unknownCommand])) {
    const at = values.findIndex(
      (name) =>
        isSameExceptPlural(name, word) || groupOfNoun(name) === word || subcommandsFor(name).includes(word),
    );
    if (at >= 0) values.splice(at, 1);
  }
  const { command } = await readTypedWords(path, world);
  const isGroup = command.commands.length > 0 && hint !== "checklist";
  const isSafe = !isGroup && !isDestructive(hint) && values.every(isPlain);
  return ["checkout", hint, ...(isSafe ? values : ["--help"])].join(" ");
}

async function lineWithoutTypo(message: string, line: TypedLine): Promise<string | undefined> {
  const [, typedWord = "", guess = ""] =
    /^unknown (?:command|option) '([^'=]+).*' \(Did you mean ([\w-]+)\?\)$/.exec(message) ?? [];
  const { default: leven } = await import("leven");
  if (guess === "" || leven(typedWord, guess) > guess.length / 3) return undefined;
  if (guess.startsWith("--"))
    return isDestructive(line.words.join(" ")) ? undefined : lineWithOption(guess, message, line);
  if (line.words.length > 0) return undefined;
  const restWords = wordsWithoutCommonOptions(line.argv).filter((word) => word !== typedWord);
  const { words } = await readTypedWords([guess, ...restWords], line.world);
  return lineFor(words.join(" "), message, line);
}

async function lineOfGroup(error: CommanderError, line: TypedLine): Promise<string | undefined> {
  const [noun = "", ...tail] = wordsWithoutCommonOptions(line.argv);
  const group = groupFor(line, noun) ?? line.words[0];
  if (line.words.length > 1 || group === undefined || line.argv.includes("--")) return undefined;
  const { command, ...groupLine } = await readTypedWords([group, ...tail], line.world);
  if (groupLine.words.length > 1) return undefined;
  const [id = ""] = tail;
  if (tail.length === 1 && (isAnyId(id) || /^[\w.-]*\d[\w.-]*$/.test(id)))
    return (
      correctedLine([group, "<id>"], id) ??
      (command.commands.some((child) => child.name() === "get") ? `checkout ${group} get ${id}` : undefined)
    );
  const isSandbox = group === "sandbox";
  return (
    (isSandbox ? await lineOutsideSandbox(line) : undefined) ??
    correctedLineFor(error, { command, ...groupLine })
  );
}

async function lineOutsideSandbox({ words, argv, world, program }: TypedLine): Promise<string | undefined> {
  const [noun = "", ...tail] = wordsWithoutCommonOptions(argv).slice(1);
  const name = program.commands.find((command) => isSameExceptPlural(command.name(), noun))?.name();
  if (words.join(" ") !== "sandbox" || name === undefined || argv.includes("--") || !tail.every(isPlain))
    return undefined;
  const { command } = await readTypedWords([name, ...tail], world);
  return ["checkout", name, ...tail, ...(command.commands.length > 0 ? ["--help"] : [])].join(" ");
}

function omitDestructive(message: string): string {
  const [firstLine = "", suggestion = ""] = message.split("\n");
  return suggestion.split(/[^\w-]+/).some(isDestructive) ? firstLine : message;
}

function correctedLineFor(
  { code }: CommanderError,
  { words, argv, world, program }: TypedLine,
): string | undefined {
  const typedWords = wordsBeforeSeparator(argv);
  const restWords = wordsWithoutCommonOptions(argv).slice(words.length);
  const [nextWord = "", value] = restWords;
  const option = restWords.find((word) => word.startsWith("--")) ?? "";
  const [name = "", joinedValue] = option.split("=");
  const optionValue = joinedValue ?? restWords[restWords.indexOf(option) + 1];
  const argument = restWords.find(
    (word, at) => !word.startsWith("-") && (joinedValue !== undefined || restWords[at - 1] !== option),
  );
  const isExcess = code === EXCESS_ARGUMENTS;
  const isAboutOption = code === "checkout.refusedValue" || code === UNKNOWN_OPTION;
  if (code === UNKNOWN_COMMAND && words.length === 0 && restWords.length === typedWords.length) {
    const execLine = correctedExec(restWords, argv.length === typedWords.length);
    if (execLine !== undefined) return execLine;
  }
  const [, host, port] = /^(localhost|[\d.]+):(\d+)$/.exec(optionValue ?? "") ?? [];
  if (code === "checkout.refusedValue" && name === "--listen" && host !== undefined) {
    const listenText = host === "localhost" ? "" : `${name} ${host} `;
    return replaceTypedOptions(world, new Map([[name, joinedValue ? 1 : 2]]), `${listenText}--port ${port}`);
  }
  if (isExcess && /^trigger (order|checkout_session) [a-z]+$/.test([...words, ...restWords].join(" ")))
    return `checkout trigger ${restWords.join(".")}`;
  const isSafe = restWords.every((word) => safeWordOrPlaceholder("", word) !== "");
  if (code === UNKNOWN_COMMAND && nextWord === "checkout" && isSafe)
    if (program.commands.some((command) => command.name() === value)) return restWords.join(" ");
  if (code === UNKNOWN_COMMAND && restWords.length === 3 && restWords[2] === name)
    return correctedLine([...words, nextWord, name], value);
  if (code === UNKNOWN_COMMAND && restWords.length <= 3 && option !== "" && argument !== undefined)
    return correctedLine([...words, argument, name], optionValue);
  const line = code === UNKNOWN_COMMAND ? correctedLine([...words, nextWord], value) : undefined;
  if (line?.endsWith(` ${value}`) === true && restWords.every(isPlain))
    return [line, ...restWords.slice(2)].join(" ");
  // Suggests nothing, because a command without the typed option would do something else.
  if (restWords.filter((word) => word.startsWith("-")).length > (isAboutOption ? 1 : 0)) return undefined;
  if (code === "checkout.refusedValue") return correctedLine([...words, name, optionValue ?? ""], argument);
  if (code === UNKNOWN_OPTION) {
    const knownWords = argument === undefined ? words : [...words, argument];
    const lineForArgument = optionValue === undefined ? correctedLine([...words, name], argument) : undefined;
    const lineForValue = correctedLine([...words, name, optionValue ?? ""]);
    return lineForValue ?? correctedLine([...knownWords, name], optionValue) ?? lineForArgument;
  }
  if (words.at(-1) === "clock" && DURATION_PATTERN.test(nextWord))
    return `checkout sandbox clock advance ${nextWord.replace("+", "")}`;
  if (isExcess && PORT_PATTERN.test(nextWord)) return correctedLine(words, nextWord);
  if (isExcess && ADDRESS_PATTERN.test(nextWord)) return correctedLine([...words, "<url>"], nextWord);
  if (isExcess && restWords.length === 1) {
    const idLine = isAnyId(nextWord) ? correctedLine([...words, "<id>"], nextWord) : undefined;
    const wordLine = idLine ?? correctedLine([...words, "<word>"], nextWord);
    if (wordLine !== undefined) return wordLine;
  }
  if (code === "commander.help") return correctedLine(words);
  if (restWords.length > 3) return undefined;
  const pairLine = value === undefined ? undefined : correctedLine([...words, nextWord, value], restWords[2]);
  if (pairLine !== undefined || restWords.length > 2) return pairLine;
  const placeholder =
    ADDRESS_PATTERN.test(value ?? "") && normalizeWord(value ?? "") !== "<path>" ? "<url>" : "<id>";
  const isWord = value !== undefined && !isAnyId(value) && /[a-z]/i.test(value);
  const wordLine = isWord ? correctedLine([...words, nextWord, "<word>"], value) : undefined;
  const idLine = value === undefined ? undefined : correctedLine([...words, nextWord, placeholder], value);
  return wordLine ?? idLine ?? correctedLine([...words, nextWord], value);
}

function lineWithoutFormat(message: string, { world }: TypedLine): string | undefined {
  const [, name = ""] = /unknown option '(-o|--output|--format)'/.exec(message) ?? [];
  const format = name === "" ? undefined : world.argv[world.argv.indexOf(name) + 1];
  if (world.argv.includes("--") || !/^(ya?ml|table|text)$/.test(format ?? "")) return undefined;
  const retype = (addedText: string): string =>
    replaceTypedOptions(world, new Map([[name, 2]]), addedText).trimEnd();
  return format === "table" || format === "text"
    ? `the text is the default: ${retype("")}`
    : `there is no YAML; this prints JSON: ${retype("--json")}`;
}

const MIN_MS = 1000;

function lineWithUnit({ duration: refused }: CommanderError, line: TypedLine): string | undefined {
  const { world } = line;
  if (refused === undefined || !/^\d+$/.test(refused.text) || world.argv.includes("--")) return undefined;
  const lineWithUnitWord = lineWithDuration(line);
  if (lineWithUnitWord !== undefined) return lineWithUnitWord;
  const { option, text: number, unit = Number(number) < MIN_MS ? "s" : "ms" } = refused;
  const isJoined = world.argv.includes(`${option}=${number}`);
  const duration = `${number}${unit}`;
  return replaceTypedOptions(world, new Map([[option, isJoined ? 1 : 2]]), `${option} ${duration}`);
}

async function lineWithNounFirst({ code }: CommanderError, line: TypedLine): Promise<string | undefined> {
  const [verb = "", noun = "", ...tail] = wordsWithoutCommonOptions(line.argv);
  if (code !== UNKNOWN_COMMAND || line.words.length > 0 || line.world.argv.includes("--")) return undefined;
  const group = groupFor(line, noun) ?? line.program.commands.find((child) => child.name() === noun)?.name();
  if (group === undefined || tail[0]?.startsWith("-") !== false) return undefined;
  const { command } = await readTypedWords([group], line.world);
  const names = [verb, ...subcommandsFor(verb)];
  const name = names.find((candidate) => command.commands.some((child) => child.name() === candidate));
  return name === undefined || !tail.every(isPlain)
    ? undefined
    : ["checkout", group, name, ...tail].join(" ");
}

function secretVariableFor(message: string, words: readonly string[]): string | undefined {
  const [, name = ""] =
    /^unknown option '--(api-key|control-token|admin-token|signing-secret)'/.exec(message) ?? [];
  if (name === "") return undefined;
  const prefix = words[0] === "sandbox" || words[0] === "exec" ? "CHECKOUT_SANDBOX" : "CHECKOUT";
  return settingVariable(prefix, name);
}

async function suggestionFor({ code, message }: CommanderError, line: TypedLine): Promise<Suggestion> {
  const { words, command, argv } = line;
  if (code === UNKNOWN_COMMAND) return suggestedCommand(line);
  const longFlags = command.options.flatMap(({ long }) => long ?? []);
  if (code === EXCESS_ARGUMENTS) {
    const idLine = argv.some(isAnyId) ? equivalentCommands([...words, "<id>"]) : undefined;
    return idLine ?? suggestForArgument(command, wordsBeforeSeparator(argv));
  }
  if (code !== UNKNOWN_OPTION) return [];
  const [, typedFlag = ""] = /unknown option '(--[^'=]+|-[a-z](?=\d+')|-[^'=]+)/i.exec(message) ?? [];
  if (longFlags.includes(typedFlag)) return [typedFlag];
  return (
    equivalentCommands([...words, typedFlag]) ??
    (typedFlag.startsWith("--") ? equivalentCommands([typedFlag]) : undefined) ??
    similarOptions(longFlags, typedFlag, argv)
  );
}

async function suggestedCommand(line: TypedLine): Promise<Suggestion> {
  const { words: knownWords, argv, world } = line;
  const typedWords = argv.filter((word) => !word.startsWith("-"));
  const group = groupFor(line, typedWords[0]);
  const words = group === undefined ? typedWords : [group, ...typedWords.slice(1)];
  const row =
    equivalentCommands(typedWords.map(normalizeWord)) ?? equivalentCommands(words.map(normalizeWord));
  if (row !== undefined) return row;
  const { commandPaths } = await import("../program.ts");
  const { default: leven } = await import("leven");
  const paths = await commandPaths({ world, version: VERSION, exit: () => undefined });
  const otherPaths = paths.filter((path) => path.join(" ") !== knownWords.join(" "));
  const groupLength = group === undefined ? knownWords.length : 1;
  return similarCommands(otherPaths, { words, groupLength }, leven);
}

function groupFor({ program }: TypedLine, noun = ""): string | undefined {
  return program.commands.find((command) => command.name() === `${noun}s`)?.name() ?? groupOfNoun(noun);
}

function suggestForArgument({ options, registeredArguments }: Command, argv: readonly string[]): Suggestion {
  const longFlags = options.flatMap(({ long }) => long ?? []);
  const typedText = argv.join(" ");
  const [, port] = / (\d{2,5})$/.exec(typedText) ?? [];
  if (port !== undefined && longFlags.includes("--port")) return [`--port ${port}`];
  const duration = argv.find((word) => DURATION_PATTERN.test(word));
  if (duration !== undefined && longFlags.includes("--latency")) return [`--latency ${duration}`];
  const takesValue = (word = ""): boolean => options.some(({ long, required }) => long === word && required);
  const hasSplitValue = argv.some(
    (word, at) => !word.startsWith("-") && !takesValue(argv[at - 1]) && takesValue(argv[at - 2]),
  );
  if (registeredArguments.length === 0 && hasSplitValue) return "put a value with spaces in quotes";
  return longFlags.filter((long) => long === "--order-id" && !argv.some((word) => optionName(word) === long));
}

function removeValue(message: string): string {
  return message.replace(/^(error: unknown option '(?:--[^=]+(?==)|-[^-])).+(?=')/s, "$1");
}
