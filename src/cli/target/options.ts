import { DEFAULT_RETRY_POLICY, retryDelayMs } from "../../client/api/retry.ts";
import type { Option } from "commander";
import type { World } from "../../world.ts";
import { readVariable, valueOption, type Context } from "../command.ts";
import { bindToVariable } from "../option-rules.ts";
import { catchRefusal, interruptedProblem, NO_SANDBOX, Refused } from "../problem.ts";
import { runWithSpinner } from "../request/exchange.ts";
import { parseDuration, wholeNumberParser } from "../parsers.ts";
import { durationText } from "../../core/duration.ts";

export function targetOptions(): Option[] {
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const timeoutText = { text: "timeout of each attempt", default: durationText(timeoutMs) };
  const retriesText = { text: "retries after the first attempt, 0 to 100", default: String(retries) };
  return [
    ...serviceOptions(),
    bindToVariable("CHECKOUT", valueOption("--timeout <duration>", timeoutText, parseDuration)),
    bindToVariable("CHECKOUT", valueOption("--retries <n>", retriesText, wholeNumberParser(0, 100))),
  ];
}

export function serviceOptions(): Option[] {
  const addressText = {
    text: "base URL of the service, with its version segment",
    default: "the sandbox running in this folder",
  };
  return [
    bindToVariable("CHECKOUT", valueOption("--base-url <url>", addressText)),
    bindToVariable("CHECKOUT", valueOption("--target <name>", "name of a service in checkout.config.json")),
  ];
}

export function limitFromVariable(env: World["env"], name: "timeout" | "retries"): number | undefined {
  const option = targetOptions().find((candidate) => candidate.name() === name);
  const value = option && readVariable(option, env);
  return typeof value === "number" ? value : undefined;
}

export async function awaitSandbox<Value>(
  context: Context,
  readValue: () => Value,
  isAvailable: (value: Value) => boolean = (value) => value !== undefined,
): Promise<Value> {
  const { around, world } = context;
  const requestedRetries = around.options.retries ?? limitFromVariable(world.env, "retries");
  const firstValue = readValue();
  const isExpected = catchRefusal(around.run).value !== undefined;
  const retries = requestedRetries ?? (isExpected ? DEFAULT_RETRY_POLICY.retries : 0);
  if (isAvailable(firstValue) || retries === 0) return firstValue;
  return runWithSpinner(context, async ({ signal, observer }) => {
    let value = firstValue;
    for (let attempt = 1; attempt <= retries && !isAvailable(value); attempt += 1) {
      const delayMs = retryDelayMs(attempt, { random: world.random(), retryAfterMs: 0 });
      observer.onRetry?.(NO_SANDBOX, delayMs);
      await world.sleep(delayMs, signal);
      if (signal.aborted) throw new Refused(interruptedProblem());
      around.reload();
      value = readValue();
    }
    return value;
  });
}

/** Names variables that differ from `variable` only in case or underscores, because no command reads them. */
export function misspellingHint({ env }: Pick<World, "env">, variable: string): string {
  const normalize = (name: string): string => name.replaceAll("_", "").toUpperCase();
  return Object.keys(env)
    .filter((name) => env[name] && name !== variable && normalize(name) === normalize(variable))
    .map((name) => `; no command reads ${name}`)
    .join("");
}
