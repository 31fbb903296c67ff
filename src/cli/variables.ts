import type { Command } from "commander";
import { variableRefusal } from "./command.ts";
import { environmentVariableOf } from "./option-rules.ts";
import { SECRET_VARIABLES } from "../host/given-secrets.ts";

/** Each variable has a function that returns why a value is invalid, or undefined if it is valid. */
export type KnownVariables = ReadonlyMap<string, (text: string) => string | undefined>;

export const PROGRAM_VARIABLES: ReadonlyMap<string, string> = new Map([
  ["CHECKOUT_ORDER_ID", "set by a drill or explore for its command: the order_id to create or to show"],
  ["CHECKOUT_SESSION_ID", "set by a drill or explore for its command: the id of the checkout to show"],
  ["CHECKOUT_EXEC_FOLDER", "set by exec for its command: the folder of the sandbox's journal"],
  ["CHECKOUT_EXEC_URL", "set by exec for its command: the sandbox's address"],
  ["CHECKOUT_DETACHED_LOG", "set for a detached sandbox: its log file"],
]);

export const OTHER_VARIABLES: ReadonlyMap<string, string> = new Map([
  ["CHECKOUT_API_KEY", "the API key of the client (default: `.checkout/credentials.json`); it has no option"],
  ["CHECKOUT_SIGNING_SECRET", "the signing secret to verify webhooks with"],
  [
    "CHECKOUT_CONTROL_TOKEN",
    "the control token of the sandbox that `CHECKOUT_BASE_URL` names, or the token of a store",
  ],
  ["CHECKOUT_ADMIN_TOKEN", "the admin token (default: `.checkout/admin.json`)"],
  ...SECRET_VARIABLES.flatMap(([, variable, meaning]): [string, string][] => [
    [variable, meaning],
    [`${variable}_FILE`, `a file with ${meaning}`],
  ]),
  ...PROGRAM_VARIABLES,
]);

export function nestedVariables(command: Command): KnownVariables {
  const ownVariables = command.options.flatMap((option) => {
    const variable = environmentVariableOf(option);
    return variable === undefined
      ? []
      : [[variable, (text: string) => variableRefusal(option, text)] as const];
  });
  return new Map([...ownVariables, ...command.commands.flatMap((child) => [...nestedVariables(child)])]);
}
