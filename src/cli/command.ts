import { CommanderError, InvalidArgumentError, Option, type Command } from "commander";
import { accept, type Outcome } from "../core/outcome.ts";
import type { OptionHelp } from "../core/help/map.ts";
import { printableLiteral } from "../core/text.ts";
import { hostedCommand } from "../host/folder/state-folder.ts";
import type { World } from "../world.ts";
import {
  checkRules,
  isOptionTyped,
  bindToVariable,
  environmentVariableOf,
  type OptionRules,
} from "./option-rules.ts";
import { createPrinter, type Printer } from "./printer.ts";
import {
  EXIT,
  Refused,
  refuseUsage,
  START_SANDBOX,
  RUN_THERE_HINT,
  type ExitCode,
  type Problem,
} from "./problem.ts";
import { surroundingsOf, type Surroundings, type CommonOptions } from "./target/surroundings.ts";

export type Context = {
  readonly world: World;
  readonly printer: Printer;
  readonly version: string;
  readonly around: Surroundings;
};

export type CommandSpec<Options> = OptionRules<Options> & {
  readonly name: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly exitCodes?: ExitCodeMeanings;
  readonly choices?: readonly string[];
  readonly options?: readonly Option[];
  readonly usesStore?: false;
  /** True if the words after the first argument belong to another program, as in `checkout exec`. */
  readonly passesThrough?: true;
  /** Receives the options, then the arguments in order. Returns the exit code; throws `Refused` for a failure. */
  readonly run: (context: Context, options: Options, ...args: string[]) => Promise<number>;
};

export type ExitCodeMeanings = Readonly<Partial<Record<ExitCode | "other", string>>>;

type HelpDetails = {
  readonly examples: readonly string[];
  readonly exitCodes?: ExitCodeMeanings | undefined;
};

const HELP_DETAILS = new WeakMap<Command, HelpDetails>();

export function helpDetailsOf(command: Command): HelpDetails {
  return HELP_DETAILS.get(command) ?? { examples: [] };
}

export type RegistrationContext = Pick<Context, "world" | "version"> & {
  readonly exit: (code: number) => void;
};

export type Group = RegistrationContext & {
  readonly command: Command;
  readonly explainRefusal?: ExplainRefusal;
};

/** Replaces the next step of a refusal by a better one. `argument`: the first argument of the command. */
export type ExplainRefusal = (context: Context, problem: Problem, argument?: string) => Promise<Problem>;

export function register<Options extends CommonOptions = CommonOptions>(
  group: Group,
  spec: CommandSpec<Options>,
): void {
  registerAction({ ...group, command: group.command.command(spec.name) }, spec);
}

export function registerAction<Options extends CommonOptions>(
  { command, world, version, exit, explainRefusal }: Group,
  spec: Omit<CommandSpec<Options>, "name">,
): void {
  command.description(spec.summary);
  const storeOptions = spec.usesStore === false ? [] : [storeOption()];
  for (const option of [...(spec.options ?? []), ...storeOptions, ...commonOptions()])
    command.addOption(option);
  if (spec.passesThrough === true) command.passThroughOptions();
  const [argument] = command.registeredArguments;
  if (argument !== undefined && spec.choices !== undefined) argument.argChoices = [...spec.choices];
  HELP_DETAILS.set(command, { examples: spec.examples, exitCodes: spec.exitCodes });
  command.addHelpText("after", () => helpAfterOptions(spec));
  command.action(async () => {
    applyEnvironment(command, world.env);
    const options = command.opts<Options>();
    const printer = await createPrinter(world, { json: options.json === true });
    const context = { world, printer, version, around: surroundingsOf(world, options) };
    try {
      checkRules(command, spec);
      exit(await spec.run(context, options, ...command.args));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const problem = await explainRefusal?.(context, error.problem, command.args[0]);
      printer.problem(await explainNoSandbox(context, problem ?? error.problem));
      exit(error.problem.exitCode);
    }
  });
}

async function explainNoSandbox(context: Context, problem: Problem): Promise<Problem> {
  const { world, around } = context;
  if (problem.code !== "no_sandbox" || problem.next !== START_SANDBOX) return problem;
  const source = isOptionTyped(world, "dir") ? "--dir" : world.env["CHECKOUT_DIR"] && "CHECKOUT_DIR";
  if (source && !world.files.exists(around.location())) {
    const next = `correct ${source}; to create a sandbox there: ${START_SANDBOX}`;
    return { ...problem, message: `${problem.message}; there is no such folder`, next };
  }
  const { findHiddenHolder } = await import("../host/folder/hold.ts");
  const holder = await findHiddenHolder(world, around.location());
  if (holder === undefined) return { ...problem, next: startCommand(world, around.location()) };
  return { ...problem, message: `${problem.message}; ${holder} serves this folder`, next: RUN_THERE_HINT };
}

export function startCommand(world: Pick<World, "files">, folder: string): string {
  return hostedCommand(world, folder) ?? START_SANDBOX;
}

function helpAfterOptions({ examples, exitCodes = {} }: HelpDetails): string {
  return [
    `\nExamples:\n${examples.map((line) => `  $ ${line}`).join("\n")}`,
    ...(Object.keys(exitCodes).length === 0 ? [] : [`\nExit codes:\n${exitCodeLines(exitCodes)}`]),
  ].join("\n");
}

export function exitCodeLines(codes: ExitCodeMeanings): string {
  const width = Math.max(...Object.keys(codes).map((code) => code.length));
  return Object.entries(codes)
    .map(([code, meaning]) => `  ${code.padEnd(width)}  ${meaning}`)
    .join("\n");
}

export function valueOption<Value>(
  flags: string,
  description: OptionHelp,
  parse: Parser<Value> = (text) => text as Value,
): Option {
  return withChoices(createOption(flags, description, parse), parse);
}

/** An option that can be repeated, and that accepts several values separated by commas. */
export function listOption(flags: string, description: OptionHelp, parse: Parser<string>): Option {
  const parseParts = (text: string): string[] => text.split(",").map((part) => parse(part));
  return withChoices(collectingOption(flags, description, parseParts), parse);
}

export function repeatedOption<Value>(
  flags: string,
  description: OptionHelp,
  parse: (text: string) => Outcome<Value>,
): Option {
  const parseValue = toOptionParser(parse);
  return collectingOption(flags, description, (text) => [parseValue(text)]);
}

function collectingOption(
  flags: string,
  description: OptionHelp,
  parse: (text: string) => readonly unknown[],
): Option {
  const option = createOption(flags, description, (text, earlierValues: readonly unknown[] = []) => [
    ...earlierValues,
    ...parse(text),
  ]);
  LIST_OPTIONS.add(option);
  return option;
}

type Parser<Value> = ((text: string) => Value) & { readonly choices?: readonly string[] };

const LIST_OPTIONS = new WeakSet<Option>();

export function isListOption(option: Option): boolean {
  return LIST_OPTIONS.has(option);
}

function withChoices(option: Option, { choices }: { readonly choices?: readonly string[] }): Option {
  if (choices !== undefined) option.argChoices = [...choices];
  return option;
}

/** Replaces commander's message for an invalid value, which repeats the value even if it is a secret. */
function createOption<Value>(
  flags: string,
  description: OptionHelp,
  parse: (text: string, earlierValue: Value | undefined) => Value,
): Option {
  const option = describedOption(flags, description);
  return option.argParser((text: string, earlierValue: Value | undefined) => {
    try {
      return parse(text, earlierValue);
    } catch (error) {
      throw error instanceof InvalidArgumentError ? new RefusedValueError(option, error) : error;
    }
  });
}

/** Extends CommanderError, because commander adds the value to the message of an InvalidArgumentError. */
class RefusedValueError extends CommanderError {
  readonly reason: string;
  readonly duration?: RefusedDuration;

  constructor({ flags, long }: Option, error: InvalidArgumentError) {
    super(EXIT.usage, "checkout.refusedValue", `error: option '${flags}' is invalid. ${error.message}`);
    this.reason = error.message;
    if (error instanceof InvalidDurationError && long)
      this.duration = { option: long, text: error.text, unit: error.unit };
  }
}

/** `unit`: the unit to suggest for a bare number; undefined if its size decides between seconds and milliseconds. */
export type RefusedDuration = {
  readonly option: string;
  readonly text: string;
  readonly unit: string | undefined;
};

class InvalidDurationError extends InvalidArgumentError {
  readonly text: string;
  readonly unit: string | undefined;

  constructor(message: string, { text, unit }: Omit<RefusedDuration, "option">) {
    super(message);
    this.text = text;
    this.unit = unit;
  }
}

export function toOptionParser<Value>(parse: (text: string) => Outcome<Value>): (text: string) => Value {
  return (text) => {
    const outcome = parse(text);
    if (!outcome.ok) throw new InvalidArgumentError(`${outcome.refusal.message}.`);
    return outcome.value;
  };
}

export function optionParser<Value>(
  expectedText: string,
  parse: (text: string) => Value | undefined,
  errorFor: typeof invalidOption = invalidOption,
): (text: string) => Value {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw errorFor(expectedText, text);
    return value;
  };
}

export function switchOption(flags: string, description: OptionHelp): Option {
  return describedOption(flags, description);
}

const DEFAULT_TEXTS = new WeakMap<Option, string>();

/** Undefined if the option's description names no default. */
export function defaultTextOf(option: Option): string | undefined {
  return DEFAULT_TEXTS.get(option);
}

function describedOption(flags: string, description: OptionHelp): Option {
  if (typeof description === "string") return new Option(flags, description);
  const { text, default: defaultText, note } = description;
  const option = new Option(flags, `${text} (default: ${[defaultText, note ?? []].flat().join("; ")})`);
  DEFAULT_TEXTS.set(option, defaultText);
  return option;
}

export function invalidOption(expectedText: string, gotText: string, cause = ""): InvalidArgumentError {
  return new InvalidArgumentError(expectedValueText(expectedText, gotText, cause));
}

export function invalidDuration(expectedText: string, gotText: string, unit?: string): InvalidArgumentError {
  return new InvalidDurationError(expectedValueText(expectedText, gotText), { text: gotText, unit });
}

function expectedValueText(expectedText: string, gotText: string, cause = ""): string {
  return `Expected ${expectedText}; got ${printableLiteral(gotText)}${cause && `: ${cause}`}.`;
}

/** CHECKOUT_STORE_ID accepts only an id, because another sandbox may use the same name for another store. */
function storeOption(): Option {
  const option = valueOption("--store <id|name>", {
    text: "id or name of the store; the variable takes only an id",
    default: "the store chosen with checkout stores use, then the API key's store, then the first store",
  });
  return markCommon(bindToVariable("CHECKOUT", option, "store-id"));
}

const COMMON_OPTIONS = new WeakSet<Option>();

export function isCommonOption(option: Option): boolean {
  return COMMON_OPTIONS.has(option);
}

function markCommon(option: Option): Option {
  COMMON_OPTIONS.add(option);
  return option;
}

function commonOptions(): Option[] {
  const options = [
    switchOption("--json", "print the result as one line of JSON"),
    switchOption("--no-color", {
      text: "do not print escape codes",
      default: "if NO_COLOR is set or TERM is dumb",
    }),
    bindToVariable(
      "CHECKOUT",
      valueOption("--dir <folder>", {
        text: "state folder",
        default: ".checkout, here or in a parent folder",
      }),
    ),
    bindToVariable(
      "CHECKOUT_SANDBOX",
      switchOption(
        "--trust-folder",
        "use a state folder that another user owns, or that others can read or write",
      ),
    ),
  ];
  return options.map(markCommon);
}

/** A flag overrides the environment, and the environment overrides a default. */
function applyEnvironment(command: Command, env: World["env"]): void {
  for (const option of command.options) {
    const name = option.attributeName();
    const variable = environmentVariableOf(option);
    const text = variable === undefined ? "" : (env[variable] ?? "");
    if (text === "" || command.getOptionValueSource(name) === "cli") continue;
    const outcome = parseText(option, text);
    if (!outcome.ok) {
      const subject = isSwitch(option) ? variable : `${variable} (for ${option.flags}) is invalid.`;
      command.error(`${subject} ${outcome.refusal}`, { exitCode: 2 });
    }
    command.setOptionValueWithSource(name, outcome.value, "env");
  }
}

export function readVariable(option: Option, env: World["env"]): unknown {
  const variable = environmentVariableOf(option);
  const text = variable === undefined ? "" : (env[variable] ?? "");
  if (text === "") return undefined;
  const outcome = parseText(option, text);
  if (outcome.ok) return outcome.value;
  const message = `${variable} (for ${option.flags}) is invalid. ${outcome.refusal}`;
  throw refuseUsage(message, "correct it, or unset it; nothing was sent");
}

export function variableRefusal(option: Option, text: string): string | undefined {
  const outcome = parseText(option, text);
  return outcome.ok ? undefined : outcome.refusal;
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
    if (!(error instanceof RefusedValueError)) throw error;
    return { ok: false, refusal: error.reason };
  }
}

function isSwitch(option: Option): boolean {
  return !option.required && !option.optional;
}
