import { isDestructive, optionWordsFor, subcommandsFor } from "./equivalents.ts";

type CommandPaths = readonly (readonly string[])[];

type WordComparison = (left: string, right: string) => boolean;

const MAX_SUGGESTIONS = 3;
const LETTERS_PER_TYPO = 3;

type TypedWords = { readonly words: readonly string[]; readonly groupLength: number };

export function similarCommands(
  paths: CommandPaths,
  { words, groupLength }: TypedWords,
  distanceOf: (left: string, right: string) => number,
): readonly string[] {
  const restWords = words.slice(groupLength);
  const groupPaths = paths.filter((path) => startsWithWords(words.slice(0, groupLength), path));
  const isNear: WordComparison = (left, right) => distanceOf(left, right) <= left.length / LETTERS_PER_TYPO;
  const isWhole = (path: readonly string[]): boolean =>
    path.length > restWords.length ||
    !paths.some((otherPath) => otherPath.length > path.length && startsWithWords(path, otherPath));
  const pathsAt = (depth: number, match: WordComparison): CommandPaths =>
    groupPaths.filter((path) => path.length > depth && startsWithWords(path.slice(depth), restWords, match));
  const candidateLists: readonly CommandPaths[] = [
    commandsWithWords(paths, words),
    ...subcommandsFor(restWords[0] ?? "").map((name) =>
      commandsWithWords(paths, words.with(groupLength, name)),
    ),
    pathsAt(1, Object.is).filter(isWhole),
    pathsAt(1, isSameExceptPlural).filter(isWhole),
    pathsAt(2, isSameExceptPlural),
    groupLength === 0
      ? pathsAt(1, isNear).filter((path) => isWhole(path) && !isDestructive(path.join(" ")))
      : [],
    pathsAt(1, isSameExceptPlural),
  ];
  const matchingPaths = candidateLists.find((candidates) => candidates.length > 0) ?? [];
  const maxPathLength = Math.max(...matchingPaths.map((path) => path.length));
  const longestPaths = matchingPaths.filter((path) => path.length === maxPathLength);
  return longestPaths.length <= MAX_SUGGESTIONS ? longestPaths.map((path) => path.join(" ")) : [];
}

export function similarOptions(
  longFlags: readonly string[],
  typedFlag: string,
  argv: readonly string[],
): readonly string[] {
  const name = typedFlag.replace(/^--?/, "");
  const names = new Set([name, ...optionWordsFor(name)]);
  const nameFlags = longFlags.filter(
    (flag) =>
      flag.startsWith(`--${name}-`) ||
      flag
        .slice(2)
        .split("-")
        .some((word) => names.has(word)),
  );
  const aliasFlags = longFlags.filter((flag) => optionWordsFor(name).includes(flag.slice(2)));
  const flagLists = typedFlag.startsWith("--")
    ? [aliasFlags, nameFlags]
    : [
        aliasFlags,
        longFlags.filter((flag) => argv.includes(flag.slice(1))),
        nameFlags,
        longFlags.filter((flag) => flag.startsWith(`-${typedFlag}`)),
      ];
  const matchingFlags = flagLists.find((flags) => flags.length > 0) ?? [];
  return matchingFlags.length <= MAX_SUGGESTIONS ? matchingFlags : [];
}

function commandsWithWords(paths: CommandPaths, words: readonly string[]): CommandPaths {
  return paths.filter((path) => {
    const typedWords = words.slice(0, path.length);
    return (
      path.length > 1 &&
      path.every((word) => typedWords.some((typedWord) => isSameExceptPlural(word, typedWord)))
    );
  });
}

function startsWithWords(
  startWords: readonly string[],
  words: readonly string[],
  match: WordComparison = Object.is,
): boolean {
  return startWords.every((word, at) => match(word, words[at] ?? ""));
}

export function isSameExceptPlural(left: string, right: string): boolean {
  return left === right || left === `${right}s` || `${left}s` === right;
}
