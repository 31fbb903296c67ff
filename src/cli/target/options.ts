import { DEFAULT_RETRY_POLICY } from "../../client/api/retry.ts";
import type { Option } from "commander";
import type { World } from "../../world.ts";
import { readVariable, valueOption } from "../command.ts";
import { toSetting } from "../option-rules.ts";
import { parseDuration, wholeNumberParser } from "../parsers.ts";
import { durationText } from "../../core/duration.ts";

/** The options that name the service, with the timeout and the retries of the client. */
export function targetOptions(): Option[] {
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const timeout = `timeout of each attempt (default: ${durationText(timeoutMs)})`;
  const again = `retries after the first attempt, 0 to 100 (default: ${retries})`;
  return [
    ...serviceOptions(),
    setting(valueOption("--timeout <duration>", timeout, parseDuration)),
    setting(valueOption("--retries <n>", again, wholeNumberParser(0, 100))),
  ];
}

export function serviceOptions(): Option[] {
  const address =
    "base URL of the service, with its version segment (default: the sandbox running in this folder)";
  return [
    setting(valueOption("--base-url <url>", address)),
    setting(valueOption("--target <name>", "name of a service in checkout.config.json")),
  ];
}

function setting(option: Option): Option {
  return toSetting("CHECKOUT", option);
}

/** The limit for commands without such an option; undefined if the variable is not set. */
export function limitFromVariable(env: World["env"], name: "timeout" | "retries"): number | undefined {
  const option = targetOptions().find((one) => one.name() === name);
  const read = option && readVariable(option, env);
  return typeof read === "number" ? read : undefined;
}

/** Points out variables that are misspellings of this one and therefore never read; empty if there are none. */
export function misspellingHint({ env }: Pick<World, "env">, variable: string): string {
  const letters = (name: string): string => name.replaceAll("_", "").toUpperCase();
  const isNear = (name: string): boolean => name !== variable && letters(name) === letters(variable);
  const near = Object.keys(env).filter((name) => env[name] && isNear(name));
  return near.map((name) => `; no command reads ${name}`).join("");
}
