// A variable that is no option is added here, and its meaning in bin/docs/settings.ts. A test compares this table
// with the code.
import type { Command } from "commander";
import { variableProblem } from "./command.ts";
import { environmentVariableOf } from "./option-rules.ts";
import { SECRET_VARIABLES } from "../host/given-secrets.ts";

/**
 * The variables that the program reads, each with a function that returns the fault of a value, or undefined if the
 * value is valid.
 */
export type KnownVariables = ReadonlyMap<string, (text: string) => string | undefined>;

/**
 * Variables without an option: secrets, which are never options, and variables that this program sets for processes it
 * starts.
 */
export const OTHER_VARIABLES: KnownVariables = new Map(
  [
    "CHECKOUT_API_KEY",
    "CHECKOUT_SIGNING_SECRET",
    "CHECKOUT_CONTROL_TOKEN",
    "CHECKOUT_ADMIN_TOKEN",
    ...SECRET_VARIABLES.flatMap(([, variable]) => [variable, `${variable}_FILE`]),
    "CHECKOUT_ORDER_ID",
    "CHECKOUT_DETACHED_LOG",
  ].map((name) => [name, () => undefined]),
);

/** The variables of all options of a command and of its subcommands. */
export function variablesBelow(command: Command): KnownVariables {
  const own = command.options.flatMap((option) => {
    const variable = environmentVariableOf(option);
    return variable === undefined
      ? []
      : [[variable, (text: string) => variableProblem(option, text)] as const];
  });
  return new Map([...own, ...command.commands.flatMap((child) => [...variablesBelow(child)])]);
}
