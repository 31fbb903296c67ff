// Suggests command lines that keep every typed word and change only the spelling of one part.
import type { Command } from "commander";
import type { TypedLine } from "../program.ts";
import { lineOfWords, optionName, wordsWithoutCommonOptions } from "./again.ts";
import { correctedLine, optionWordsFor, statusFor } from "./equivalents.ts";
import { isAnyId } from "../parsers.ts";
import { readTypedWords } from "./follow.ts";

type TypedError = { readonly code: string; readonly message: string };

export async function retypedLine(
  { code, message }: TypedError,
  line: TypedLine,
): Promise<string | undefined> {
  if (line.world.argv.includes("--")) return undefined;
  if (code === "checkout.refusedValue") return lineWithStatus(line);
  if (code === "commander.unknownOption") return lineOfSubcommand(message, line);
  const outcomeLine = lineWithOutcome([...line.words, ...restWordsOf(line)]);
  if (outcomeLine !== undefined || code !== "commander.excessArguments") return outcomeLine;
  return lineWithDuration(line) ?? lineWithOption(line);
}

function restWordsOf({ argv, words }: TypedLine): readonly string[] {
  return wordsWithoutCommonOptions(argv).slice(words.length);
}

/** `--status paid` means `--status succeeded`, and `--type paid` means `--type order.succeeded`. */
function lineWithStatus(line: TypedLine): string | undefined {
  const restWords = restWordsOf(line);
  for (const [at, word] of restWords.entries()) {
    const option = optionName(word);
    const object = STATUS_OPTIONS.get([...line.words, option].join(" "));
    const isJoined = word.includes("=");
    const value = (isJoined ? word.slice(option.length + 1) : (restWords[at + 1] ?? "")).toLowerCase();
    const status = object === undefined ? undefined : statusFor(value.split(".").at(-1) ?? "");
    if (status === undefined || object === undefined) continue;
    const prefix = object !== "" && value.includes("session") ? "checkout_session." : object;
    const correctedWords = restWords.toSpliced(at, isJoined ? 1 : 2, option, `${prefix}${status}`);
    return lineOfWords(line.world, [...line.words, ...correctedWords]);
  }
  return undefined;
}

/** Options that take a status, each with the prefix of its values. */
const STATUS_OPTIONS: ReadonlyMap<string, string> = new Map([
  ["orders list --status", ""],
  ["sessions list --status", ""],
  ["events list --type", "order."],
]);

function lineWithOutcome(words: readonly string[]): string | undefined {
  const [id, outcome = ""] = words.slice(-2);
  const isPay = /^(?:(?:sandbox|orders?|sessions?) )?pay$/.test(words.slice(0, -2).join(" "));
  return isPay ? correctedLine(["sandbox", "pay", "--outcome", outcome], id) : undefined;
}

const UNIT_PATTERN = /^(?:ms|s(?=$|ec)|m(?=$|in)|h(?=$|r|our)|d(?=$|ay))/;

/** Corrects a duration of two words: `2 hours` becomes `2h`. */
export function lineWithDuration(line: TypedLine): string | undefined {
  const words = [...line.words, ...restWordsOf(line)];
  const at = words.findIndex(
    (word, index) => /^\d+$/.test(word) && UNIT_PATTERN.test(words[index + 1] ?? ""),
  );
  if (at < 0) return undefined;
  const [unit] = UNIT_PATTERN.exec(words[at + 1] ?? "") ?? [];
  return lineOfWords(line.world, words.toSpliced(at, 2, `${words[at]}${unit}`));
}

/** An order_id has a letter and a digit, and is no duration. */
const ORDER_ID_PATTERN = /^(?!\d+(?:ms|s|m|h|d)$)(?=.*[a-z])(?=.*\d)[\w.-]+$/i;

/** Corrects the name of an option without its dashes, or an order_id without `--order-id`. */
function lineWithOption(line: TypedLine): string | undefined {
  const { command, words } = line;
  const restWords = restWordsOf(line);
  const takesValue = (word = ""): boolean =>
    command.options.some(({ long, required }) => long === word && required);
  const argumentsAt = [...restWords.keys()].filter(
    (at) => restWords[at]?.startsWith("-") === false && !takesValue(restWords[at - 1]),
  );
  // Suggests nothing for a value of several words without quotes: its second word is not the name of an option.
  if (argumentsAt.some((at) => takesValue(restWords[at - 2]))) return undefined;
  const flagFor = (word: string): string | undefined =>
    [word, ...optionWordsFor(word)]
      .map((name) => `--${name}`)
      .find((flag) => command.options.some(({ long }) => long === flag) && !restWords.includes(flag));
  const [at = 0, ...otherAts] = argumentsAt.slice(command.registeredArguments.length);
  const word = restWords[at] ?? "";
  const flag = flagFor(word);
  if (flag !== undefined && (!takesValue(flag) || otherAts[0] === at + 1))
    return lineOfWords(line.world, [...words, ...restWords.with(at, flag)]);
  const isOrderId = ORDER_ID_PATTERN.test(word) && !isAnyId(word) && flagFor("order-id") !== undefined;
  return isOrderId && argumentsAt.length === 1
    ? lineOfWords(line.world, [...words, ...restWords.toSpliced(at, 1, "--order-id", word)])
    : undefined;
}

/**
 * Corrects an option of a subcommand that was typed after its group, or an option of `checklist run` that was typed
 * after `shop init`.
 */
async function lineOfSubcommand(message: string, line: TypedLine): Promise<string | undefined> {
  const { command, words, world } = line;
  const flag = unknownFlag(message);
  const restWords = restWordsOf(line);
  if (words.join(" ") === "shop init") {
    const { command: run } = await readTypedWords(["checklist", "run"], world);
    return hasOptions(run, restWords)
      ? `checkout shop init asks for each field; with options: ${lineOfWords(line.world, ["checklist", "run", ...restWords])}`
      : undefined;
  }
  const [owner, ...otherOwners] = command.commands.filter((child) => hasOptions(child, [flag]));
  if (owner === undefined || otherOwners.length > 0 || !hasOptions(owner, restWords)) return undefined;
  const option = owner.options.find(({ long }) => long === flag);
  const hasValue = option?.required !== true || restWords.at(-1) !== flag;
  return lineOfWords(line.world, [...words, owner.name(), ...(hasValue ? restWords : ["--help"])]);
}

/** The other command of the group that has the unknown option, if there is only one. */
export function siblingWithOption(
  { code, message }: TypedError,
  { command, words }: TypedLine,
): string | undefined {
  const flag = unknownFlag(message);
  if (code !== "commander.unknownOption" || flag === "" || words.length < 2) return undefined;
  const [owner, ...otherOwners] = (command.parent?.commands ?? []).filter((child) =>
    hasOptions(child, [flag]),
  );
  return owner === undefined || otherOwners.length > 0
    ? undefined
    : [...words.slice(0, -1), owner.name()].join(" ");
}

function unknownFlag(message: string): string {
  return /unknown option '(--[\w-]+)/.exec(message)?.[1] ?? "";
}

function hasOptions({ options }: Command, words: readonly string[]): boolean {
  return words
    .filter((word) => word.startsWith("-"))
    .every((word) => options.some(({ long }) => long === optionName(word)));
}
