import { isLoopback, localOrigin } from "../core/loopback.ts";
import type { Target } from "../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../client/api/retry.ts";
import { redactKey } from "../core/credential.ts";
import { LOCAL_SANDBOX } from "../core/checkout/idempotency-key.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import type { World } from "../world.ts";
import type { CommonOptions } from "./command.ts";
import { environmentName } from "./option-rules.ts";
import { parseBaseUrl } from "./parsers.ts";
import { EXIT, fail, failUsage, type Problem } from "./problem.ts";
import { baseUrlOf, liveRun, locateStateFolder, readCredentials, trustFolder } from "./state-folder.ts";

/** The port of a sandbox that was asked for none (decision 1). */
export const DEFAULT_PORT = 4242;
const DEFAULT_BASE_URL = `${localOrigin(DEFAULT_PORT)}/v1`;

/** Options of every command that talks to a service. */
export type ServiceOptions = CommonOptions & {
  readonly baseUrl?: string;
  readonly storeId?: string;
  readonly timeout?: number;
  readonly retries?: number;
  readonly showHeaders?: boolean;
};

/** A value and where it comes from. */
export type Sourced<Value> = { readonly value: Value; readonly source: string };

/** Everything a client command depends on, each with its source (decision 57). */
export type Settings = {
  readonly folder: Sourced<string>;
  readonly baseUrl: Sourced<string>;
  readonly apiKey: Sourced<string | null>;
  readonly storeId: Sourced<string | null>;
  /** What stands for the service in managed keys. */
  readonly service: string;
  readonly timeoutMs: Sourced<number>;
  readonly retries: Sourced<number>;
};

/** Resolves flag over environment over `.checkout/` over default. An API key never comes by a flag. */
export function resolveSettings(world: World, options: ServiceOptions): Outcome<Settings, Problem> {
  const folder = locateStateFolder(world, options.dir);
  const trusted = trustFolder(world, folder);
  if (!trusted.ok) return trusted;
  const run = liveRun(world, folder);
  if (!run.ok) return run;
  const stored = readCredentials(world, folder);
  if (!stored.ok) return stored;
  const baseUrl = resolveBaseUrl(world, options, { folder, running: run.value && baseUrlOf(run.value) });
  if (!baseUrl.ok) return baseUrl;

  const local = isLoopback(new URL(baseUrl.value.value).hostname);
  // The sandbox's key is useless elsewhere, and must not be sent there.
  const own = local ? stored.value : undefined;
  const ownSource = `${folder}/credentials.json`;
  const fromEnvironment = world.env["CHECKOUT_API_KEY"] || undefined;
  const apiKey =
    fromEnvironment === undefined
      ? { value: own?.api_key ?? null, source: own === undefined ? "not set" : ownSource }
      : { value: fromEnvironment, source: "CHECKOUT_API_KEY" };
  const storeOfKey = own !== undefined && own.api_key === apiKey.value ? own.store_id : null;
  const storeId = given(world, "store-id", options.storeId) ?? {
    value: storeOfKey,
    source: storeOfKey === null ? "not set" : ownSource,
  };
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  return accept({
    folder: given(world, "dir", options.dir && folder) ?? byDefault(folder),
    baseUrl: baseUrl.value,
    apiKey,
    storeId,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : baseUrl.value.value,
    timeoutMs: given(world, "timeout", options.timeout) ?? byDefault(timeoutMs),
    retries: given(world, "retries", options.retries) ?? byDefault(retries),
  });
}

/** The service that was named, or the live sandbox of the folder, or where one would be. */
function resolveBaseUrl(
  world: World,
  options: ServiceOptions,
  found: { readonly folder: string; readonly running: string | undefined },
): Outcome<Sourced<string>, Problem> {
  const named = given(world, "base-url", options.baseUrl);
  if (named === undefined) {
    const { folder, running } = found;
    return accept(
      running === undefined ? byDefault(DEFAULT_BASE_URL) : { value: running, source: `${folder}/run.json` },
    );
  }
  const value = parseBaseUrl(named.value);
  if (value !== undefined) return accept({ value, source: named.source });
  // The value is not shown: it may hold a password.
  const expected = "an address such as https://pay.example/v1, without user name, password or query";
  return failUsage(`${named.source} must be ${expected}`, "correct it; nothing was sent");
}

/** The service of these settings; refuses where there is no API key. */
export function targetOf(settings: Settings): Outcome<Target, Problem> {
  const apiKey = settings.apiKey.value;
  if (apiKey !== null && /^[\x21-\x7e]+$/.test(apiKey)) {
    const { baseUrl, service, storeId } = settings;
    return accept({ baseUrl: baseUrl.value, apiKey, service, storeId: storeId.value });
  }
  const local = isLoopback(new URL(settings.baseUrl.value).hostname);
  return fail({
    exitCode: EXIT.credential,
    code: "credential_missing",
    message:
      apiKey === null
        ? `there is no API key for ${settings.baseUrl.value}`
        : `the API key of ${settings.apiKey.source} (${redactKey(apiKey)}) has characters that a key cannot have`,
    next: local
      ? "start the sandbox here (checkout sandbox start), or set CHECKOUT_API_KEY"
      : "set CHECKOUT_API_KEY to a test key of that service",
  });
}

/** How patient the client is. */
export function policyOf(settings: Settings): RetryPolicy {
  return { retries: settings.retries.value, timeoutMs: settings.timeoutMs.value };
}

/** An option that was given, by flag or by environment: the flag's value has already won. */
function given<Value>(world: World, name: string, value: Value | undefined): Sourced<Value> | undefined {
  if (value === undefined) return undefined;
  const flag = `--${name}`;
  const flagged = world.argv.some((argument) => argument === flag || argument.startsWith(`${flag}=`));
  return { value, source: flagged ? flag : environmentName(name) };
}

function byDefault<Value>(value: Value): Sourced<Value> {
  return { value, source: "default" };
}
