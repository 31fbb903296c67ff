import { DEFAULT_RETRY_POLICY } from "../../client/api/retry.ts";
import type { Option } from "commander";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import type { World } from "../../world.ts";
import { readVariable, repeatedOption, switchOption, valueOption } from "../command.ts";
import { setting } from "../option-rules.ts";
import { parseDuration, parseWhole } from "../parsers.ts";
import { durationText } from "../../core/config/setting-text.ts";

/** Which service is meant, and how patient the client is. */
export function targetOptions(): Option[] {
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const options = [
    valueOption(
      "--timeout <duration>",
      `timeout of each try (default: ${durationText(timeoutMs)})`,
      parseDuration,
    ),
    valueOption("--retries <n>", `retries after the first try (default: ${retries})`, parseWhole(0, 100)),
  ];
  return [...serviceOptions(), allowEnvOption(), ...options.map((option) => setting("CHECKOUT", option))];
}

function allowEnvOption(): Option {
  return repeatedOption(
    "--allow-env <name>",
    "send this variable as the key of --target, from this folder to its address, now and later (decision 85)",
    parseVariableName,
  );
}

function parseVariableName(text: string): Outcome<string> {
  if (/^[A-Za-z_]\w*$/.test(text)) return accept(text);
  return refuse("invalid_parameter", "Expected the name of a variable: letters, digits and _");
}

/** Which service is meant. */
export function serviceOptions(): Option[] {
  const options = [
    valueOption(
      "--base-url <url>",
      "the service, with its version segment (default: the live sandbox of this folder)",
    ),
    valueOption("--target <name>", "a service that checkout.config.json names"),
  ];
  return options.map((option) => setting("CHECKOUT", option));
}

/** What a variable says of the client's patience, for commands that have no option for it; undefined: nothing. */
export function patienceIn(env: World["env"], name: "timeout" | "retries"): number | undefined {
  const option = targetOptions().find((candidate) => candidate.name() === name);
  const read = option === undefined ? undefined : readVariable(option, env);
  return typeof read === "number" ? read : undefined;
}

/** For commands that send. */
export function showHeadersOption(): Option {
  return switchOption(
    "--show-headers",
    "show requests and answers with their headers, secrets redacted, on stderr",
  );
}

/** Says of variables that have the letters of this one that nothing reads them; empty where none is set. */
export function misspelt({ env }: Pick<World, "env">, variable: string): string {
  const letters = (name: string): string => name.replaceAll("_", "").toUpperCase();
  const set = Object.keys(env).filter((name) => (env[name] ?? "") !== "" && name !== variable);
  const near = set.filter((name) => letters(name) === letters(variable));
  return near.map((name) => `; nothing reads ${name}`).join("");
}
