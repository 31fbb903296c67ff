import { quoteToCopy, shellOf } from "../../core/shell/quote.ts";
import type { World } from "../../world.ts";
import { COMMAND_NAMES } from "./command-names.ts";
import { wordsBeforeSeparator } from "../option-rules.ts";

type CommandWorld = Pick<World, "env"> & Partial<Pick<World, "argv">>;

/** Options that select the folder or store of a command, each with its number of words, including the value. */
export const LOCATION_OPTIONS: ReadonlyMap<string, number> = new Map(
  Object.entries({ "--trust-folder": 1, "--dir": 2, "--store": 2 }),
);
export const OUTPUT_SWITCHES: ReadonlySet<string> = new Set(["--json", "--no-color"]);

function programName({ env }: Pick<World, "env">): string {
  return env["npm_command"] === "exec" ? "npx checkout" : "checkout";
}

/** Matches `checkout` before a command or an option, unless it is part of a path or follows `npx` or `--`. */
const PROGRAM_PATTERN = new RegExp(
  `(?<![\\w./-]|npx |-- )checkout (?=(?:${[...COMMAND_NAMES, "help"].join("|")})(?![\\w-])|--[a-z])`,
  "g",
);
const FOLDERLESS_PATTERN = /^(-|help\b)/;
const STORELESS_PATTERN =
  /^(completion|config|doctor|hosted|idempotency|mcp config|portal|keys generate|sandbox (logs|start|status|stop|wait)|snapshots (list|remove)|stores (create|delete|list|use)|webhooks sign)\b/;

const QUOTED_TEXT_PATTERN = /"(?:\\.|[^"\\])*"|(?<=^|[\s=(])'[^']*'/g;

/** Replaces each quoted part with underscores of the same length, and cuts the text at an unclosed quotation mark. */
export function maskQuotedText(text: string): string {
  const maskedText = text.replace(QUOTED_TEXT_PATTERN, (quotedText) => "_".repeat(quotedText.length));
  return maskedText.split('"', 1)[0] ?? "";
}

/** Adds `npx` if the user typed it, and typed location options to the commands that accept them. Skips quoted text. */
export function adaptHintToTypedLine(hint: string, world: CommandWorld): string {
  const locationOptions = typedLocationOptions(world);
  const maskedHint = maskQuotedText(hint);
  let [typedText, start] = ["", 0];
  for (const { 0: programText, index } of maskedHint.matchAll(PROGRAM_PATTERN)) {
    const end = index + programText.length;
    const [words = ""] = maskedHint.slice(end).split("; ", 1);
    const keptOptions = locationOptions.filter(([name]) => {
      const isExcluded =
        FOLDERLESS_PATTERN.test(words) || (name === "--store" && STORELESS_PATTERN.test(words));
      return !isExcluded && !` ${words}`.includes(` ${name}`);
    });
    typedText += `${hint.slice(start, index)}${[programName(world), ...keptOptions.map(([, text]) => text)].join(" ")} `;
    start = end;
  }
  return typedText + hint.slice(start);
}

/** The whole line to type for these words of a command. */
export function lineOfWords(world: CommandWorld, words: readonly string[]): string {
  return replaceTypedOptions({ ...world, argv: words }, new Map(), "").trimEnd();
}

export function replaceTypedOptions(
  world: CommandWorld,
  options: ReadonlyMap<string, number>,
  addedText: string,
): string {
  const words = groupWords(wordsBeforeSeparator(world.argv ?? []), options);
  const keptWords = words.filter(
    ([word = ""]) => !options.has(optionName(word)) && !OUTPUT_SWITCHES.has(word),
  );
  const quotedWords = keptWords.flat().map((word) => quoteToCopy(word, shellOf(world.env)) ?? "<value>");
  return [programName(world), ...quotedWords, addedText].join(" ");
}

function typedLocationOptions(world: CommandWorld): readonly (readonly [name: string, text: string])[] {
  return groupWords(wordsBeforeSeparator(world.argv ?? []), LOCATION_OPTIONS)
    .filter(
      ([word = "", value]) =>
        LOCATION_OPTIONS.has(optionName(word)) && (value !== undefined || LOCATION_OPTIONS.get(word) !== 2),
    )
    .map((words) => [
      optionName(words[0] ?? ""),
      words.map((word) => quoteToCopy(word, shellOf(world.env)) ?? "<value>").join(" "),
    ]);
}

/** An option and its value are one group; every other word is a group of its own. */
function groupWords(
  words: readonly string[],
  lengths: ReadonlyMap<string, number>,
): readonly (readonly string[])[] {
  const groups: (readonly string[])[] = [];
  for (let at = 0; at < words.length;) {
    const length = lengths.get(words[at] ?? "") ?? 1;
    groups.push(words.slice(at, at + length));
    at += length;
  }
  return groups;
}

export function wordsWithoutCommonOptions(argv: readonly string[]): string[] {
  return groupWords(wordsBeforeSeparator(argv), LOCATION_OPTIONS)
    .filter(([word = ""]) => !OUTPUT_SWITCHES.has(word) && !LOCATION_OPTIONS.has(optionName(word)))
    .flat();
}

export function optionName(word: string): string {
  return word.split("=")[0] ?? "";
}
