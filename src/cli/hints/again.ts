// Commands that a user copies, as the user has to type them: `hintAsTyped` for a hint, `retypeLine` for a typed command.
import { quoteToCopy, shellOf } from "../../core/shell/quote.ts";
import type { World } from "../../world.ts";
import { wordsBeforeSeparator } from "../option-rules.ts";

type CommandWorld = Pick<World, "env"> & Partial<Pick<World, "argv">>;

/** Options that select where a command acts, each with its number of words. */
export const LOCATION_OPTIONS: ReadonlyMap<string, number> = new Map(
  Object.entries({ "--trust-folder": 1, "--dir": 2, "--store": 2 }),
);
/** The other common options, which have no value. */
export const SWITCHES: ReadonlySet<string> = new Set(["--json", "--no-color"]);

/** The command that runs this program: `npx …` if npx started it. */
function programName({ env }: Pick<World, "env">): string {
  return env["npm_command"] === "exec" ? "npx checkout" : "checkout";
}

/** Matches the name of this program before a command, at the beginning of a hint or after a word that introduces it. */
const PROGRAM_PATTERN = /(?<=^|[:;(] ?|\b(?:run|and|or|see|from) )checkout (?=[a-z-])(?!session\b)/g;
/** Matches a hint's command that gets none of the typed location options. */
const FOLDERLESS_PATTERN = /^(-|help\b)/;
/** Matches a hint's command that does not get a typed `--store`. */
const STORELESS_PATTERN =
  /^(completion|config|doctor|hosted|idempotency|mcp config|portal|keys generate|sandbox (logs|start|status|stop|wait)|snapshots (list|remove)|stores (create|delete|list|use)|webhooks sign)\b/;

/** Texts in quotation marks, which may come from a user or another program. */
const QUOTED_TEXT_PATTERN = /"(?:\\.|[^"\\])*"|(?<=^|[\s=(])'[^']*'/g;

/** Replaces each quoted part with underscores of the same length, and cuts the text at an unclosed quotation mark. */
export function maskQuoted(text: string): string {
  const maskedText = text.replace(QUOTED_TEXT_PATTERN, (quotedText) => "_".repeat(quotedText.length));
  return maskedText.split('"', 1)[0] ?? "";
}

/**
 * A hint with commands that run as they are: with `npx` if needed, and with those typed location options that they
 * accept. Quoted text is left unchanged.
 */
export function hintAsTyped(hint: string, world: CommandWorld): string {
  const locationOptions = typedLocationOptions(world);
  const maskedHint = maskQuoted(hint);
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

/** The typed command for another run: without `options` (with their word counts) and switches, and with `addedText`. */
export function retypeLine(
  world: CommandWorld,
  options: ReadonlyMap<string, number>,
  addedText: string,
): string {
  const words = groupWords(wordsBeforeSeparator(world.argv ?? []), options);
  const keptWords = words.filter(([word = ""]) => !options.has(optionName(word)) && !SWITCHES.has(word));
  const quotedWords = keptWords.flat().map((word) => quoteToCopy(word, shellOf(world.env)) ?? "<value>");
  return [programName(world), ...quotedWords, addedText].join(" ");
}

/** The typed options that select where a command acts: the name of each, and its words, quoted for the shell. */
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

/** Groups each option with its value; every other word is a group of its own. */
export function groupWords(
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

/** The name of an option, without `=` and its value. */
export function optionName(word: string): string {
  return word.split("=")[0] ?? "";
}
