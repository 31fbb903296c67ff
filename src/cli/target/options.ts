import { DEFAULT_RETRY_POLICY } from "../../client/api/retry.ts";
import type { Option } from "commander";
import type { World } from "../../world.ts";
import { readVariable, switchOption, valueOption } from "../command.ts";
import { toSetting } from "../option-rules.ts";
import { parseDuration, wholeNumberParser } from "../parsers.ts";
import { durationText } from "../../core/duration.ts";

/** The options that name the service, with the timeout and the retries of the client. */
export function targetOptions(): Option[] {
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const options = [
    valueOption(
      "--timeout <duration>",
      `timeout of each attempt (default: ${durationText(timeoutMs)})`,
      parseDuration,
    ),
    valueOption(
      "--retries <n>",
      `retries after the first attempt, 0 to 100 (default: ${retries})`,
      wholeNumberParser(0, 100),
    ),
  ];
  return [...serviceOptions(), ...options.map((option) => toSetting("CHECKOUT", option))];
}

export function serviceOptions(): Option[] {
  const options = [
    valueOption(
      "--base-url <url>",
      "base URL of the service, with its version segment (default: the sandbox running in this folder)",
    ),
    valueOption("--target <name>", "name of a service in checkout.config.json"),
  ];
  return options.map((option) => toSetting("CHECKOUT", option));
}

/** For commands without such an option; undefined if the variable is not set. */
export function limitFromVariable(env: World["env"], name: "timeout" | "retries"): number | undefined {
  const option = targetOptions().find((candidate) => candidate.name() === name);
  const read = option === undefined ? undefined : readVariable(option, env);
  return typeof read === "number" ? read : undefined;
}

/** `--show-headers`, for commands that send v1 requests. */
export function showHeadersOption(): Option {
  return switchOption(
    "--show-headers",
    "print requests and answers with their headers to stderr, secrets redacted",
  );
}

/** Points out variables that are misspellings of this one and therefore never read; empty if there are none. */
export function misspellingHint({ env }: Pick<World, "env">, variable: string): string {
  const letters = (name: string): string => name.replaceAll("_", "").toUpperCase();
  const set = Object.keys(env).filter((name) => (env[name] ?? "") !== "" && name !== variable);
  const near = set.filter((name) => letters(name) === letters(variable));
  return near.map((name) => `; no command reads ${name}`).join("");
}
