import type { Command, Option } from "commander";
import { refuseUsage } from "./problem.ts";

export type OptionRules<Options> = {
  /** At least one option of a nested list must be given. */
  readonly required?: readonly (OptionName<Options> | readonly OptionName<Options>[])[];
  readonly requires?: readonly OptionPair<Options>[];
  readonly conflicts?: readonly OptionPair<Options>[];
};

type OptionName<Options> = keyof Options & string;
type OptionPair<Options> = readonly [OptionName<Options>, OptionName<Options>];

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

function optionAsTyped(command: Command, name: string): string {
  const variable =
    command.getOptionValueSource(name) === "env" ? environmentVariableOf(optionOf(command, name)) : undefined;
  return variable ?? flagOf(command, name);
}

const VARIABLES = new WeakMap<Option, string>();

type VariablePrefix = "CHECKOUT" | "CHECKOUT_SANDBOX" | "CHECKOUT_LISTEN";

/**
 * Lets a variable set an option, such as CHECKOUT_SANDBOX_RATE_LIMIT for `--rate-limit`. `name`: the option's
 * name in the variable, if it differs.
 */
export function bindToVariable(prefix: VariablePrefix, option: Option, name = option.name()): Option {
  VARIABLES.set(option, settingVariable(prefix, name));
  return option;
}

export function settingVariable(prefix: VariablePrefix, name: string): string {
  return `${prefix}_${name.toUpperCase().replaceAll("-", "_")}`;
}

export function wordsBeforeSeparator(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf("--");
  return end === -1 ? argv : argv.slice(0, end);
}

export function isOptionTyped({ argv }: { readonly argv: readonly string[] }, name: string): boolean {
  return wordsBeforeSeparator(argv).some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
}

export function environmentVariableOf(option: Option): string | undefined {
  return VARIABLES.get(option);
}

export function shownDescription(option: Option): string {
  const variable = environmentVariableOf(option);
  return variable === undefined ? option.description : `${option.description} [${variable}]`;
}

function describeOption(command: Command, name: string): string {
  const option = optionOf(command, name);
  return `${option.flags} (${shownDescription(option)})`;
}
