// The defaults of --timeout and --retries are in client/api/retry.ts, and those of `sandbox start` in
// core/config/settings.ts. `toSetting` gives an option its variable.
import type { Command, Option } from "commander";
import { refuseUsage } from "./problem.ts";

/** Rules for combining the options of a command, which are named as in `Options`. */
export type OptionRules<Options> = {
  /** Options that must be given; of a nested list, at least one. */
  readonly required?: readonly (OptionName<Options> | readonly OptionName<Options>[])[];
  /** Pairs of options: the first is refused without the second. */
  readonly requires?: readonly OptionPair<Options>[];
  readonly conflicts?: readonly OptionPair<Options>[];
};

type OptionName<Options> = keyof Options & string;
type OptionPair<Options> = readonly [OptionName<Options>, OptionName<Options>];

/** Refuses invalid combinations of options, from flags or environment, before a command runs. */
export function checkRules<Options>(
  command: Command,
  { required = [], requires = [], conflicts = [] }: OptionRules<Options>,
): void {
  const isGiven = (name: string): boolean => command.getOptionValue(name) !== undefined;
  const conflict = conflicts.find((pair) => pair.every(isGiven));
  if (conflict !== undefined) {
    const [firstOption, secondOption] = conflict.map((name) => optionAsTyped(command, name));
    throw refuseUsage(`${firstOption} and ${secondOption} exclude each other`, "leave one of them out");
  }
  const [loneOption, neededOption] =
    requires.find(([name, neededName]) => isGiven(name) && !isGiven(neededName)) ?? [];
  if (loneOption !== undefined && neededOption !== undefined) {
    const optionText = optionAsTyped(command, loneOption);
    const next = `add ${optionOf(command, neededOption).flags}, or leave out ${optionText}`;
    throw refuseUsage(`${optionText} needs ${flagOf(command, neededOption)}`, next);
  }
  const missingNames = required.map((names) => [names].flat()).filter((names) => !names.some(isGiven));
  if (missingNames.length === 0) return;
  const flags = missingNames.map((names) => names.map((name) => flagOf(command, name)).join(" or "));
  const hints = missingNames.map((names) => names.map((name) => describeOption(command, name)).join(" or "));
  throw refuseUsage(`missing: ${flags.join(", ")}`, `add ${hints.join(", ")}`);
}

function optionOf(command: Command, name: string): Option {
  const option = command.options.find((candidate) => candidate.attributeName() === name);
  if (option === undefined) throw new Error(`a rule names an option that the command does not have: ${name}`);
  return option;
}

function flagOf(command: Command, name: string): string {
  return `--${optionOf(command, name).name()}`;
}

/** An option as the user gave it: by flag or variable. */
function optionAsTyped(command: Command, name: string): string {
  const variable =
    command.getOptionValueSource(name) === "env" ? environmentVariableOf(optionOf(command, name)) : undefined;
  return variable ?? flagOf(command, name);
}

const VARIABLES = new WeakMap<Option, string>();

type VariablePrefix = "CHECKOUT" | "CHECKOUT_SANDBOX" | "CHECKOUT_LISTEN";

/**
 * Turns an option into a setting, with a variable as its default: `--rate-limit` of `CHECKOUT_SANDBOX` is
 * CHECKOUT_SANDBOX_RATE_LIMIT. Options about a single call are not settings. `name` is the setting's name if it differs
 * from the option's.
 */
export function toSetting(prefix: VariablePrefix, option: Option, name = option.name()): Option {
  const variable = settingVariable(prefix, name);
  VARIABLES.set(option, variable);
  option.description += ` [${variable}]`;
  return option;
}

/** The variable of a setting: for `CHECKOUT` and `base-url` it is CHECKOUT_BASE_URL. */
export function settingVariable(prefix: VariablePrefix, name: string): string {
  return `${prefix}_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** The words of a command line that belong to this program, without the words after `--`. */
export function wordsBeforeSeparator(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end === -1 ? argv : argv.slice(0, end);
}

/** Whether an option was given on the command line, not by a variable. */
export function isTyped({ argv }: { readonly argv: readonly string[] }, name: string): boolean {
  return wordsBeforeSeparator(argv).some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
}

export function environmentVariableOf(option: Option): string | undefined {
  return VARIABLES.get(option);
}

function describeOption(command: Command, name: string): string {
  const { flags, description } = optionOf(command, name);
  return `${flags} (${description})`;
}
