// Defaults: of --timeout and --retries in client/api/retry.ts, of the client's other settings in
// cli/target/service.ts, of `sandbox start` in cli/sandbox/serving-options.ts. `addSetting` makes the variable of an
// option.
import type { Command, Option } from "commander";
import { refuseUsage } from "./problem.ts";

/** The rules that combine options of a command, by their names in `Options`. */
export type OptionRules<Options> = {
  /** Each has to be given; of several in a list, one of them. */
  readonly required?: readonly (Name<Options> | readonly Name<Options>[])[];
  /** The first is of no use without the second. */
  readonly requires?: readonly Pair<Options>[];
  /** Of the two only one can be given. */
  readonly conflicts?: readonly Pair<Options>[];
};

type Name<Options> = keyof Options & string;
type Pair<Options> = readonly [Name<Options>, Name<Options>];

/** Refuses options that do not go together, by flag or by environment, before a command runs. */
export function checkRules<Options>(
  command: Command,
  { required = [], requires = [], conflicts = [] }: OptionRules<Options>,
): void {
  const isGiven = (name: string): boolean => command.getOptionValue(name) !== undefined;
  const clash = conflicts.find((pair) => pair.every(isGiven));
  if (clash !== undefined) {
    const [one, other] = clash.map((name) => given(command, name));
    throw refuseUsage(`${one} and ${other} exclude each other`, "leave one of them out");
  }
  const [lone, needed] = requires.find(([one, other]) => isGiven(one) && !isGiven(other)) ?? [];
  if (lone !== undefined && needed !== undefined) {
    const what = given(command, lone);
    const next = `add ${optionOf(command, needed).flags}, or leave out ${what}`;
    throw refuseUsage(`${what} needs ${flagOf(command, needed)}`, next);
  }
  const missing = required.map((names) => [names].flat()).filter((names) => !names.some(isGiven));
  if (missing.length === 0) return;
  const flags = missing.map((names) => names.map((name) => flagOf(command, name)).join(" or "));
  const next = missing.map((names) => names.map((name) => explained(command, name)).join(" or "));
  throw refuseUsage(`missing: ${flags.join(", ")}`, `add ${next.join(", ")}`);
}

function optionOf(command: Command, name: string): Option {
  const option = command.options.find((candidate) => candidate.attributeName() === name);
  if (option === undefined) throw new Error(`a rule names an option that the command does not have: ${name}`);
  return option;
}

function flagOf(command: Command, name: string): string {
  return `--${optionOf(command, name).name()}`;
}

/** An option as it was given: by its flag or by its variable. */
function given(command: Command, name: string): string {
  const variable =
    command.getOptionValueSource(name) === "env" ? environmentVariableOf(optionOf(command, name)) : undefined;
  return variable ?? flagOf(command, name);
}

const VARIABLES = new WeakMap<Option, string>();

/** The owner of a setting: each has variables of its own. */
type SettingOwner = "CHECKOUT" | "CHECKOUT_SANDBOX" | "CHECKOUT_LISTEN";

/**
 * Makes an option a setting, with a variable as its default: `--rate-limit` of `CHECKOUT_SANDBOX` is
 * CHECKOUT_SANDBOX_RATE_LIMIT. Options about a single call are no settings. `name` is the setting's name if it differs
 * from the option's.
 */
export function addSetting(owner: SettingOwner, option: Option, name = option.name()): Option {
  const variable = variableNamed(owner, name);
  VARIABLES.set(option, variable);
  option.description += ` [${variable}]`;
  return option;
}

/** The variable of a setting: of `CHECKOUT` and `base-url` it is CHECKOUT_BASE_URL. */
export function variableNamed(owner: SettingOwner, name: string): string {
  return `${owner}_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** The words of a command line that belong to this program: not the words after `--`. */
export function wordsBeforeSeparator(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end === -1 ? argv : argv.slice(0, end);
}

/** Whether an option stands on the command line, and not in a variable. */
export function isTyped({ argv }: { readonly argv: readonly string[] }, name: string): boolean {
  return wordsBeforeSeparator(argv).some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
}

/** The variable that stands for an option; undefined if none does. */
export function environmentVariableOf(option: Option): string | undefined {
  return VARIABLES.get(option);
}

function explained(command: Command, name: string): string {
  const { flags, description } = optionOf(command, name);
  return `${flags} (${description})`;
}
