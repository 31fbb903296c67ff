import type { Command, Option } from "commander";
import { VERSION } from "../version.ts";
import type { World } from "../world.ts";
import { ownWords, variableNamed } from "./option-rules.ts";
import { EXIT, storageProblem, usageProblem, type Problem } from "./problem.ts";

/**
 * Runs one command line and returns its exit code. The one catch of the command line is here. `version` is that of this
 * program; a test gives another one.
 */
export async function main(world: World, version = VERSION): Promise<number> {
  const { argv, stdout } = world;
  // Scripts ask for the version often; the answer does not wait for the commands to load.
  const [word = "", ...others] = argv.filter((one) => one !== "--json" && one !== "--no-color");
  if (others.length === 0 && ["--version", "-v", "-V", "version"].includes(word)) {
    stdout.write(`${wantsJson(world) ? JSON.stringify({ version }) : version}\n`);
    return EXIT.done;
  }
  const { CommanderError } = await import("commander");
  const { arranged, createProgram } = await import("./program.ts");
  const { createPrinter } = await import("./printer.ts");
  let exitCode: number = EXIT.done;
  let program: Command | undefined;
  let typed = argv;
  try {
    program = await createProgram({ world, version, exit: (code) => (exitCode = code) });
    typed = arranged(program, argv);
    const lacking = optionWithoutValue(program, typed)?.flags ?? commonWithoutValue(argv, typed);
    if (lacking !== undefined) {
      const message = `error: option '${lacking}' argument missing`;
      throw new CommanderError(EXIT.usage, "checkout.missingValue", message);
    }
    await program.parseAsync(typed, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    const problem =
      error instanceof CommanderError
        ? usageOf(
            error,
            program === undefined ? [] : typedCommand(program, typed).words,
            await meantBy(error, world, typed, program),
          )
        : (storageProblem(error) ?? defectOf(error));
    createPrinter(world, { json: wantsJson(world) }).problem(problem);
    return problem.exitCode;
  }
}

/** What commander found wrong, on one line. A group without its command has been answered with its help. */
function usageOf(
  error: { readonly code: string; readonly message: string },
  words: readonly string[],
  meant: readonly string[],
): Problem {
  const next = ["checkout", ...words, "--help"].join(" ");
  if (error.code === "commander.help") return usageProblem("a command is missing", next);
  const message = withoutValue(error.message).replace(/^error: /, "");
  const [, negative] = /^unknown option '(-\d)/.exec(message) ?? [];
  if (negative !== undefined)
    return usageProblem(`no value here is negative, and ${negative}… is read as an option`, next);
  const variable = variableFor(message, words);
  if (variable !== undefined) return usageProblem(`${message}: a secret is not typed`, `set ${variable}`);
  const [only, ...others] = meant;
  if (`unknown option '${only}'` === message.replace(/\n.*/s, ""))
    return usageProblem(`${only} takes no value`, next);
  // What commander guesses from the letters of one word is worse than a command of these words.
  if (only === undefined) return usageProblem(message.replace(/\s*\n\s*/g, " "), next);
  const said = `${message.replace(/\n.*/s, "")} (Did you mean ${others.length === 0 ? "" : "one of "}${meant.join(", ")}?)`;
  const isCommand = error.code === UNKNOWN_COMMAND && others.length === 0;
  return usageProblem(said, isCommand ? `checkout ${only} --help` : next);
}

/** What holds the secret that somebody has given as an option; undefined where it is no such option. */
function variableFor(message: string, words: readonly string[]): string | undefined {
  const [, name = ""] =
    /^unknown option '--(api-key|control-token|admin-token|signing-secret)'/.exec(message) ?? [];
  if (name === "") return undefined;
  const own = words[0] === "sandbox" || words[0] === "exec" ? "CHECKOUT_SANDBOX" : "CHECKOUT";
  return variableNamed(own, name);
}

const UNKNOWN_COMMAND = "commander.unknownCommand";
/** How many letters a word has for each that may be mistyped. */
const LETTERS_FOR_AN_ERROR = 3;
/** More commands than this are no hint. */
const MAX_MEANT = 3;

/** The commands or options that an unknown one stands for, by the words that were typed; empty where none is near. */
async function meantBy(
  { code, message }: { readonly code: string; readonly message: string },
  world: World,
  argv: readonly string[],
  program: Command | undefined,
): Promise<readonly string[]> {
  if (program === undefined) return [];
  const { words: known, command } = typedCommand(program, argv);
  if (code === UNKNOWN_COMMAND) {
    const { commandPaths } = await import("./program.ts");
    const { default: leven } = await import("leven");
    const paths = await commandPaths({ world, version: VERSION, exit: () => undefined });
    // Not the group that was typed.
    const others = paths.filter((path) => path.join(" ") !== known.join(" "));
    return commandsMeant(others, {
      words: argv.filter((word) => !word.startsWith("-")),
      known: known.length,
      isNear: (one, other) => leven(one, other) <= one.length / LETTERS_FOR_AN_ERROR,
    });
  }
  const longs = command.options.flatMap(({ long }) => long ?? []);
  if (code === "commander.excessArguments") {
    const typed = ownWords(argv).join(" ");
    const [, number, unit] = /\b(\d+) (ms|s|m|h|d)[a-z]*\b/.exec(typed) ?? [];
    if (unit !== undefined) return [`${number}${unit}`];
    const [, port] = / (\d{2,5})$/.exec(typed) ?? [];
    if (port !== undefined && longs.includes("--port")) return [`--port ${port}`];
    return longs.filter((long) => long === "--order-id");
  }
  if (code !== "commander.unknownOption") return [];
  const [, typed = ""] = /unknown option '(--?[^'=]+)/.exec(message) ?? [];
  if (longs.includes(typed)) return [typed];
  const meant = typed.startsWith("--") ? optionsMeant(longs, typed.slice(2)) : longsOf(longs, typed, argv);
  return meant.length <= MAX_MEANT ? meant : [];
}

/** Of all options the one that was typed with one dash, or those that begin with the one letter of `-d`. */
function longsOf(longs: readonly string[], typed: string, argv: readonly string[]): readonly string[] {
  const others = OTHER_NAMES.get(typed.slice(1)) ?? [];
  const attempts = [
    longs.filter((long) => argv.includes(long.slice(1))),
    longs.filter((long) => others.includes(long.slice(2))),
    longs.filter((long) => long.startsWith(`-${typed}`)),
  ];
  return attempts.find((found) => found.length > 0) ?? [];
}

/** Names that other tools have for a word of these options. */
const OTHER_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    body: ["payload"],
    d: ["detach"],
    data: ["payload"],
    header: ["timestamp", "signature"],
    headers: ["timestamp", "signature"],
  }),
);

/** Of all options those that begin with what was typed, or have it as a word, by this name or another. */
function optionsMeant(longs: readonly string[], typed: string): readonly string[] {
  const names = new Set([typed, ...(OTHER_NAMES.get(typed) ?? [])]);
  return longs.filter(
    (long) =>
      long.startsWith(`--${typed}-`) ||
      long
        .slice(2)
        .split("-")
        .some((word) => names.has(word)),
  );
}

/** Verbs that other tools have for those of this one. */
const OTHER_VERBS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    show: ["get", "list"],
    view: ["get", "show", "list"],
    ls: ["list"],
    new: ["create", "add"],
    make: ["create", "add"],
    add: ["create"],
    create: ["add"],
    delete: ["remove", "revoke", "retire"],
    rm: ["remove", "delete"],
    run: ["start"],
    resend: ["replay"],
    retry: ["replay"],
  }),
);

/** Where what other tools have in a group of theirs is here. */
const ELSEWHERE: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "orders pay": ["sandbox pay"],
    "orders cancel": ["sandbox pay"],
    "sessions pay": ["sandbox pay"],
    "sessions cancel": ["sandbox pay"],
    "webhooks list": ["endpoints list", "events list", "deliveries list"],
    "webhooks add": ["endpoints add"],
    "webhooks create": ["endpoints add"],
    up: ["sandbox start"],
    serve: ["sandbox start"],
    down: ["sandbox stop"],
    ps: ["sandbox status"],
  }),
);

type Paths = readonly (readonly string[])[];

type Same = (one: string, other: string) => boolean;

/** Of the paths of all commands those that typed words stand for, the first `known` of which are a group. */
function commandsMeant(
  paths: Paths,
  {
    words,
    known,
    isNear,
  }: { readonly words: readonly string[]; readonly known: number; readonly isNear: Same },
): readonly string[] {
  const elsewhere = ELSEWHERE.get(words.slice(0, 2).join(" ")) ?? ELSEWHERE.get(words[0] ?? "");
  if (elsewhere !== undefined) return elsewhere;
  const rest = words.slice(known);
  const isAt = (path: readonly string[], typed: readonly string[], same: Same = isSame): boolean =>
    path.every((word, at) => same(word, typed[at] ?? ""));
  // Another verb stands behind the thing, `orders show`, or before it, `show orders`.
  const thing = known > 0 ? words.slice(0, known) : rest.slice(1);
  const ofVerb = (verb: string): Paths =>
    paths.filter((path) => {
      const before = path.slice(0, -1);
      const isWhole = known === 0 || before.length === known;
      return path.at(-1) === verb && before.length > 0 && isWhole && isAt(before, thing);
    });
  // Of a group that was typed, and not of another one.
  const within = paths.filter((path) => isAt(words.slice(0, known), path, Object.is));
  const below = (depth: number, same: Same, fits: (path: readonly string[]) => boolean = () => true): Paths =>
    within.filter((path) => path.length > depth && fits(path) && isAt(path.slice(depth), rest, same));
  const isEnough = (path: readonly string[]): boolean =>
    path.length > rest.length ||
    !paths.some((other) => other.length > path.length && isAt(path, other, Object.is));
  const attempts: readonly Paths[] = [
    // The words in another order, or in the singular: `create order`.
    paths.filter((path) => {
      const typed = words.slice(0, path.length);
      return path.length > 1 && path.every((word) => typed.some((one) => isSame(word, one)));
    }),
    ...(OTHER_VERBS.get(rest[0] ?? "") ?? []).map(ofVerb),
    // Without its group: `start` for `sandbox start`. A group stands for no more words than it has.
    ...[Object.is, isSame].map((same) => below(1, same, isEnough)),
    below(2, isSame),
    // Behind a group commander guesses itself.
    ...(known === 0 ? [below(1, isNear, isEnough)] : []),
    below(1, isSame),
  ];
  const found = attempts.find((matching) => matching.length > 0) ?? [];
  const longest = Math.max(...found.map((path) => path.length));
  const meant = found.filter((path) => path.length === longest);
  return meant.length <= MAX_MEANT ? meant.map((path) => path.join(" ")) : [];
}

/** Whether two words are the same, one perhaps in the singular. */
function isSame(one: string, other: string): boolean {
  return one === other || one === `${other}s` || `${one}s` === other;
}

/** An unknown option without the value behind it, which may be a secret: `--api-key=…` is what people try. */
function withoutValue(message: string): string {
  return message.replace(/^(error: unknown option '(?:--[^=]+(?==)|-[^-])).+(?=')/s, "$1");
}

/**
 * An option whose value would be the next option of its command, such as `--order-id --json` where a variable of the
 * shell was empty. A value that does look like one is given as `--order-id=--json`.
 */
function optionWithoutValue(program: Command, argv: readonly string[]): Option | undefined {
  const { words, command } = typedCommand(program, argv);
  // What follows the command of `exec` is for that one.
  if (command.registeredArguments.some(({ variadic }) => variadic)) return undefined;
  const named = (word: string): Option | undefined =>
    command.options.find(({ long, short }) => word === long || word === short);
  for (let at = words.length; at < argv.length && argv[at] !== "--"; at += 1) {
    const option = named(argv[at] ?? "");
    if (option === undefined || !option.required) continue;
    if (named(argv[at + 1] ?? "") !== undefined) return option;
    at += 1;
  }
  return undefined;
}

/** The same of an option that stands before its command, or behind a group of them. */
function commonWithoutValue(argv: readonly string[], arrangedWords: readonly string[]): string | undefined {
  const last = ownWords(argv).at(-1) ?? "";
  const flags = { "--dir": "--dir <folder>", "--store": "--store <id|name>" } as const;
  if (last !== "--dir" && last !== "--store") return undefined;
  return arrangedWords.includes(last) ? undefined : flags[last];
}

/** The groups and the command that were typed, as far as there are such: a hint does not repeat a mistyped word. */
function typedCommand(
  program: Command,
  argv: readonly string[],
): { readonly words: readonly string[]; readonly command: Command } {
  const words: string[] = [];
  let command = program;
  for (const word of argv.filter((one) => !one.startsWith("-"))) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    command = next;
    words.push(word);
  }
  return { words, command };
}

function defectOf(error: unknown): Problem {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    exitCode: EXIT.failed,
    code: "defect",
    message: `this is a bug in checkout: ${text}`,
    next: "run the command again; if it fails again, report it with this text",
  };
}

/** Whether JSON was asked for, where the command line could not be parsed. */
function wantsJson({ argv }: World): boolean {
  return ownWords(argv).includes("--json");
}
