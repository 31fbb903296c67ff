import { optionWordsFor, verbsFor } from "./meant.ts";

/** The words of each command. */
type CommandPaths = readonly (readonly string[])[];

type WordComparison = (one: string, other: string) => boolean;

/** More commands or options than this are no hint. */
const MAX_MEANT = 3;
/** How many letters a word has for each that may be mistyped. */
const LETTERS_FOR_AN_ERROR = 3;

/** Typed words, the first `known` of which are a group. */
type TypedWords = { readonly words: readonly string[]; readonly known: number };

/** Of the paths of all commands those that typed words stand for. `distance` is how many letters two words differ in. */
export function commandsLike(
  paths: CommandPaths,
  { words, known }: TypedWords,
  distance: (one: string, other: string) => number,
): readonly string[] {
  const rest = words.slice(known);
  const within = paths.filter((path) => isAt(words.slice(0, known), path));
  const isNear: WordComparison = (one, other) => distance(one, other) <= one.length / LETTERS_FOR_AN_ERROR;
  // A group stands for no more words than it has.
  const isWhole = (path: readonly string[]): boolean =>
    path.length > rest.length || !paths.some((other) => other.length > path.length && isAt(path, other));
  const behind = (depth: number, same: WordComparison): CommandPaths =>
    within.filter((path) => path.length > depth && isAt(path.slice(depth), rest, same));
  const attempts: readonly CommandPaths[] = [
    // The words in another order, or in the singular: `create order`.
    ofWords(paths, words),
    // Another verb, behind the group, `orders show`, or before it, `show orders`.
    ...verbsFor(rest[0] ?? "").map((verb) => ofWords(paths, words.with(known, verb))),
    // Without its group: `start` for `sandbox start`.
    behind(1, Object.is).filter(isWhole),
    behind(1, isSame).filter(isWhole),
    behind(2, isSame),
    // Behind a group commander guesses itself.
    known === 0 ? behind(1, isNear).filter(isWhole) : [],
    behind(1, isSame),
  ];
  const found = attempts.find((matching) => matching.length > 0) ?? [];
  const longest = Math.max(...found.map((path) => path.length));
  const meant = found.filter((path) => path.length === longest);
  return meant.length <= MAX_MEANT ? meant.map((path) => path.join(" ")) : [];
}

/** Of all options those that a typed one stands for: `--amount`, `-json`, `-d`. */
export function optionsLike(
  longs: readonly string[],
  typed: string,
  argv: readonly string[],
): readonly string[] {
  const name = typed.replace(/^--?/, "");
  const names = new Set([name, ...optionWordsFor(name)]);
  const ofName = longs.filter(
    (long) =>
      long.startsWith(`--${name}-`) ||
      long
        .slice(2)
        .split("-")
        .some((word) => names.has(word)),
  );
  const attempts = typed.startsWith("--")
    ? [ofName]
    : [
        // One dash too few.
        longs.filter((long) => argv.includes(long.slice(1))),
        ofName,
        longs.filter((long) => long.startsWith(`-${typed}`)),
      ];
  const meant = attempts.find((found) => found.length > 0) ?? [];
  return meant.length <= MAX_MEANT ? meant : [];
}

/** Commands of these words in any order, one perhaps in the singular. */
function ofWords(paths: CommandPaths, words: readonly string[]): CommandPaths {
  return paths.filter((path) => {
    const typed = words.slice(0, path.length);
    return path.length > 1 && path.every((word) => typed.some((one) => isSame(word, one)));
  });
}

/** Whether words begin with these. */
function isAt(these: readonly string[], words: readonly string[], same: WordComparison = Object.is): boolean {
  return these.every((word, at) => same(word, words[at] ?? ""));
}

/** Whether two words are the same, one perhaps in the singular. */
function isSame(one: string, other: string): boolean {
  return one === other || one === `${other}s` || `${one}s` === other;
}
