// To add a command: its file in its room of cli/ (an operation of the control API: `calling` in cli/calling.ts), its
// row in cli/program.ts and in test/support/commands.ts; goldens: `npx vitest run test/cli --update`, pages: `npm
// run docs`.
import { CommanderError, InvalidArgumentError, Option, type Command } from "commander";
import { accept, type Outcome } from "../core/outcome.ts";
import { printableLiteral } from "../core/text.ts";
import type { World } from "../world.ts";
import { checkRules, setting, variableOf, type OptionRules } from "./option-rules.ts";
import { createPrinter, type Printer } from "./printer.ts";
import { EXIT, Refused, refusedUsage } from "./problem.ts";
import { surroundingsOf, type Surroundings, type CommonOptions } from "./target/surroundings.ts";

/** What a command gets beside its options. */
export type Context = {
  readonly world: World;
  readonly printer: Printer;
  /** The version of this program. */
  readonly version: string;
  /** What the command is about. */
  readonly around: Surroundings;
};

/** A command: what its help says, its options and how they go together, and the function that it is. */
export type CommandSpec<Options> = OptionRules<Options> & {
  /** Name and arguments, as commander writes them: `get <id>`. */
  readonly name: string;
  readonly summary: string;
  /** Whole command lines, for the help. */
  readonly examples: readonly string[];
  /** Default: none of its own. */
  readonly options?: readonly Option[];
  /** Whether it is about a store, which `--store` names. Default: it is. */
  readonly ofStore?: false;
  /** Whether the first argument ends the options: what follows it is for another program. */
  readonly passThrough?: true;
  /**
   * Takes the options with the arguments beside them, in their order. Returns the exit code, its own or that of the
   * program that it ran; why there is no result is thrown as `Refused`.
   */
  readonly run: (context: Context, options: Options, ...args: string[]) => Promise<number>;
};

/** Where commands are registered, and how the program learns their exit code. */
export type Registry = Pick<Context, "world" | "version"> & { readonly exit: (code: number) => void };

/** The command that others are registered below. */
export type Group = Registry & { readonly command: Command };

/** Adds a command below a group. */
export function register<Options extends CommonOptions = CommonOptions>(
  group: Group,
  spec: CommandSpec<Options>,
): void {
  registerOn({ ...group, command: group.command.command(spec.name) }, spec);
}

/** Makes a command of one that is there, such as a group that does something without a subcommand. */
export function registerOn<Options extends CommonOptions>(
  { command, world, version, exit }: Group,
  spec: Omit<CommandSpec<Options>, "name">,
): void {
  command.description(spec.summary);
  const ofStore = spec.ofStore === false ? [] : [storeOption()];
  for (const option of [...(spec.options ?? []), ...ofStore, ...commonOptions()]) command.addOption(option);
  if (spec.passThrough === true) command.passThroughOptions();
  command.addHelpText("after", `\nExamples:\n${spec.examples.map((line) => `  $ ${line}`).join("\n")}`);
  command.action(async () => {
    applyEnvironment(command, world.env);
    const options = command.opts<Options>();
    const printer = createPrinter(world, { json: options.json === true });
    const context = { world, printer, version, around: surroundingsOf(world, options) };
    try {
      checkRules(command, spec);
      exit(await spec.run(context, options, ...command.args));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      printer.problem(error.problem);
      exit(error.problem.exitCode);
    }
  });
}

/** An option with a value that is parsed. The parser throws `invalidOption` where it makes no sense. */
export function valueOption<Value>(
  flags: string,
  description: string,
  parse: (text: string) => Value = (text) => text as Value,
): Option {
  return parsedOption(flags, description, parse);
}

/** An option that can be given more than once, or once with commas. */
export function listOption(flags: string, description: string, parse: (text: string) => string): Option {
  return parsedOption(flags, description, (text, before: readonly string[] | undefined) => [
    ...(before ?? []),
    ...text.split(",").map((part) => parse(part)),
  ]);
}

/** An option that can be given more than once, each time with one value, which may hold commas. */
export function repeatedOption<Value>(
  flags: string,
  description: string,
  parse: (text: string) => Outcome<Value>,
): Option {
  const valueOf = orInvalid(parse);
  return parsedOption(flags, description, (text, before: readonly Value[] | undefined) => [
    ...(before ?? []),
    valueOf(text),
  ]);
}

/** commander would repeat the whole value, which may hold a secret: what the parser says is enough. */
function parsedOption<Value>(
  flags: string,
  description: string,
  parse: (text: string, before: Value | undefined) => Value,
): Option {
  return new Option(flags, description).argParser((text: string, before: Value | undefined) => {
    try {
      return parse(text, before);
    } catch (error) {
      throw error instanceof InvalidArgumentError ? new RefusedValue(flags, error.message) : error;
    }
  });
}

/** A value that its option refuses, which is not repeated here. commander passes this error on as it is. */
class RefusedValue extends CommanderError {
  readonly why: string;

  constructor(flags: string, why: string) {
    super(EXIT.usage, "checkout.refusedValue", `error: option '${flags}' is invalid. ${why}`);
    this.why = why;
  }
}

/** A parser of the core as one of an option. */
export function orInvalid<Value>(parse: (text: string) => Outcome<Value>): (text: string) => Value {
  return (text) => {
    const parsed = parse(text);
    if (!parsed.ok) throw new InvalidArgumentError(`${parsed.refusal.message}.`);
    return parsed.value;
  };
}

/** An option that is there or not. */
export function switchOption(flags: string, description: string): Option {
  return new Option(flags, description);
}

/** What a parser throws: its option's name is added, and it ends with a usage error. */
export function invalidOption(expected: string, got: string): InvalidArgumentError {
  return new InvalidArgumentError(`Expected ${expected}; got ${printableLiteral(got)}.`);
}

/** The variable takes an id alone: names are those of one sandbox. */
function storeOption(): Option {
  const option = valueOption(
    "--store <id|name>",
    "the store (default: that of checkout stores use, or of the API key, or the first one)",
  );
  return setting("CHECKOUT", option, "store-id");
}

function commonOptions(): Option[] {
  return [
    switchOption("--json", "print the result as one line of JSON"),
    switchOption("--no-color", "print no escape codes (default at TERM=dumb, or where NO_COLOR is set)"),
    setting("CHECKOUT", valueOption("--dir <folder>", "the state folder (default: .checkout, found upward)")),
    setting(
      "CHECKOUT_SANDBOX",
      switchOption("--trust-folder", "use a state folder that other users own, or can read or write"),
    ),
  ];
}

/** A flag wins over the environment, the environment over a default. */
function applyEnvironment(command: Command, env: World["env"]): void {
  for (const option of command.options) {
    const variable = variableOf(option);
    const text = variable === undefined ? undefined : env[variable];
    if (variable === undefined || text === undefined || text === "") continue;
    const name = option.attributeName();
    if (command.getOptionValueSource(name) === "cli") continue;
    command.setOptionValueWithSource(name, parseVariable(command, { option, variable, text }), "env");
  }
}

function parseVariable(
  command: Command,
  { option, variable, text }: { readonly option: Option; readonly variable: string; readonly text: string },
): unknown {
  const parsed = parseText(option, text);
  if (parsed.ok) return parsed.value;
  const what = isSwitch(option) ? variable : `${variable} (for ${option.flags}) is invalid.`;
  return command.error(`${what} ${parsed.refusal}`, { exitCode: 2 });
}

/** The value of the variable of an option, for a command that does not have the option; undefined if it is not set. */
export function readVariable(option: Option, env: World["env"]): unknown {
  const variable = variableOf(option);
  const text = variable === undefined ? "" : (env[variable] ?? "");
  if (text === "") return undefined;
  const parsed = parseText(option, text);
  if (parsed.ok) return parsed.value;
  const message = `${variable} (for ${option.flags}) is invalid. ${parsed.refusal}`;
  throw refusedUsage(message, "correct it, or unset it; nothing was sent");
}

/** Why the value of a variable is refused that stands for an option; undefined if it is taken. */
export function variableProblem(option: Option, text: string): string | undefined {
  const parsed = parseText(option, text);
  return parsed.ok ? undefined : parsed.refusal;
}

function parseText(option: Option, text: string): Outcome<unknown, string> {
  if (isSwitch(option)) {
    if (/^(1|true|yes)$/i.test(text)) return accept(true);
    if (/^(0|false|no)$/i.test(text)) return accept(undefined);
    return { ok: false, refusal: `must be 1 or 0; got ${printableLiteral(text)}` };
  }
  try {
    return accept(option.parseArg === undefined ? text : option.parseArg(text, undefined));
  } catch (error) {
    if (!(error instanceof RefusedValue)) throw error;
    return { ok: false, refusal: error.why };
  }
}

function isSwitch(option: Option): boolean {
  return !option.required && !option.optional;
}
