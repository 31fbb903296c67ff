import { isLoopback, isSameServer } from "../core/loopback.ts";
import type { Target } from "../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../client/api/retry.ts";
import { redactKey } from "../core/credential.ts";
import { LOCAL_SANDBOX } from "../core/checkout/idempotency-key.ts";
import { proxyFor } from "../core/network/proxy.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { firstKey, type Run } from "../core/state-files.ts";
import type { World } from "../world.ts";
import type { CommonOptions } from "./command.ts";
import { parseBaseUrl } from "../core/config/setting-text.ts";
import { EXIT, fail, failUsage, NO_SANDBOX, noSandbox, type Problem } from "./problem.ts";
import { stateFile } from "./folder/files.ts";
import { baseUrlOf, findStateFolder, liveRun, readCredentials } from "./folder/state-folder.ts";

/** Options of every command that talks to a service. */
export type ServiceOptions = CommonOptions & {
  readonly baseUrl?: string;
  readonly storeId?: string;
  readonly timeout?: number;
  readonly retries?: number;
  readonly showHeaders?: boolean;
  readonly target?: string;
  /** What `--target` names, once it was read (`withTarget`). */
  readonly namedTarget?: TargetSettings;
};

/** A service of the configuration: its address and its key belong together, and neither goes with another's. */
export type TargetSettings = {
  /** `--target staging`, as a source of settings. */
  readonly source: string;
  readonly baseUrl: string;
  readonly apiKey: Sourced<string>;
  readonly storeId: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
};

/** A value and where it comes from. */
export type Sourced<Value> = { readonly value: Value; readonly source: string };

/** Everything a client command depends on, each with its source (decision 57). */
export type Settings = {
  readonly folder: Sourced<string>;
  /** Null where no service was named and the folder has no live sandbox: there is no default (decision 64). */
  readonly baseUrl: Sourced<string | null>;
  /** The base URL at this moment, for what only the live sandbox of the folder may get; undefined while it is not there. */
  readonly locate?: () => string | undefined;
  /** The live sandbox of the folder, if it is the service. */
  readonly sandbox: Run | undefined;
  /** The name of the service in the configuration, if it was named by that. */
  readonly target?: string | undefined;
  /** Why nothing can be sent before the folder has a live sandbox; undefined if it can. */
  readonly lacksSandbox: string | undefined;
  readonly apiKey: Sourced<string | null>;
  readonly storeId: Sourced<string | null>;
  /** What stands for the service in managed keys. */
  readonly service: string;
  /** The proxy of the environment for the service, with its user name and password; null where there is none. */
  readonly proxy: Sourced<string | null>;
  readonly timeoutMs: Sourced<number>;
  readonly retries: Sourced<number>;
};

/**
 * Resolves flag over environment over `.checkout/` over default, as it is at this moment. An API key never comes by a
 * flag; the key of the folder is only for the folder's live sandbox (decision 25).
 */
export function resolveSettings(world: World, options: ServiceOptions): Outcome<Settings, Problem> {
  const located = findStateFolder(world, options);
  if (!located.ok) return located;
  const folder = located.value;
  // Before the credentials: a sandbox writes them before it says where it is.
  const sandbox = findSandbox(world, folder);
  if (!sandbox.ok) return sandbox;
  const stored = readCredentials(world, folder);
  if (!stored.ok) return stored;
  if (options.namedTarget !== undefined)
    return settingsOfTarget(world, options, { folder, target: options.namedTarget });
  const kept = stored.value && firstKey(stored.value);
  const { url: running, run } = sandbox.value ?? {};
  const baseUrl = resolveBaseUrl(world, options, { folder, running });
  if (!baseUrl.ok) return baseUrl;

  const { value: address } = baseUrl.value;
  const named = given(world, "base-url", options.baseUrl) !== undefined;
  const isSandbox = (url: string | undefined): boolean =>
    address !== null && url !== undefined && isSameServer(url, address);
  const apiKey = resolveApiKey(world, {
    folder,
    kept: !named || isSandbox(running) ? kept : undefined,
  });
  const local = address === null || isLoopback(new URL(address).hostname);
  // Whose key it is stays true while the sandbox is away: managed keys must not change with that.
  const known = local && kept?.apiKey === apiKey.value ? kept?.storeId : undefined;
  const ownSource = stateFile(folder, "credentials");
  const storeId = given(world, "store-id", options.storeId) ?? {
    value: known ?? null,
    source: known === undefined ? "not set" : ownSource,
  };
  const isKeyKept = local && apiKey.value === null && kept !== undefined;
  const locate = (): string | undefined => {
    const found = findSandbox(world, folder);
    const url = found.ok ? found.value?.url : undefined;
    if (!named) return url;
    return isSandbox(url) ? (address ?? undefined) : undefined;
  };
  const proxy = resolveProxy(world, address);
  if (!proxy.ok) return proxy;
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  return accept({
    folder: given(world, "dir", options.dir && folder) ?? byDefault(folder),
    baseUrl: baseUrl.value,
    ...(!named || apiKey.source === ownSource ? { locate } : {}),
    sandbox: isSandbox(running) ? run : undefined,
    lacksSandbox: running === undefined ? lackOf(address, isKeyKept) : undefined,
    apiKey,
    storeId,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : (address ?? ""),
    proxy: proxy.value,
    timeoutMs: given(world, "timeout", options.timeout) ?? byDefault(timeoutMs),
    retries: given(world, "retries", options.retries) ?? byDefault(retries),
  });
}

/**
 * The settings of a service that the configuration names. Its address, key and store come from there alone: what the
 * environment says of another service, and the key of the folder, stay here.
 */
function settingsOfTarget(
  world: World,
  options: ServiceOptions,
  { folder, target }: { readonly folder: string; readonly target: TargetSettings },
): Outcome<Settings, Problem> {
  const address = parseBaseUrl(target.baseUrl) ?? target.baseUrl;
  const from = <Value>(value: Value | undefined): Sourced<Value> | undefined =>
    value === undefined ? undefined : { value, source: target.source };
  const flagged = given(world, "store-id", options.storeId);
  const storeId = (flagged?.source.startsWith("--") ? flagged : from(target.storeId)) ?? {
    value: null,
    source: "not set",
  };
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const proxy = resolveProxy(world, address);
  if (!proxy.ok) return proxy;
  const local = isLoopback(new URL(address).hostname);
  return accept({
    folder: given(world, "dir", options.dir && folder) ?? byDefault(folder),
    baseUrl: { value: address, source: target.source },
    sandbox: undefined,
    target: options.target,
    lacksSandbox: undefined,
    apiKey: target.apiKey,
    proxy: proxy.value,
    storeId,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : address,
    timeoutMs: given(world, "timeout", options.timeout) ?? from(target.timeoutMs) ?? byDefault(timeoutMs),
    retries: given(world, "retries", options.retries) ?? from(target.retries) ?? byDefault(retries),
  });
}

/** What is missing where the folder has no live sandbox: an address, or a key that only that sandbox may get. */
function lackOf(address: string | null, isKeyKept: boolean): string | undefined {
  if (address === null) return "no other one is named (CHECKOUT_BASE_URL)";
  return isKeyKept ? `there is no other API key for ${address} (CHECKOUT_API_KEY)` : undefined;
}

/** The live sandbox of the folder, and where it is; undefined while it is not there. */
function findSandbox(
  world: World,
  folder: string,
): Outcome<{ readonly url: string; readonly run: Run } | undefined, Problem> {
  const live = liveRun(world, folder);
  if (!live.ok) return live;
  if (live.value === undefined) return accept(undefined);
  const url = baseUrlOf(live.value);
  return accept(url === undefined ? undefined : { url, run: live.value });
}

/** The key of the environment, or else the one that the folder keeps for its sandbox. */
function resolveApiKey(
  { env }: World,
  { folder, kept }: { readonly folder: string; readonly kept: ReturnType<typeof firstKey> },
): Sourced<string | null> {
  const fromEnvironment = env["CHECKOUT_API_KEY"] || undefined;
  if (fromEnvironment !== undefined) return { value: fromEnvironment, source: "CHECKOUT_API_KEY" };
  if (kept === undefined) return { value: null, source: "not set" };
  return { value: kept.apiKey, source: stateFile(folder, "credentials") };
}

/** The proxy of the environment, where the service is not on this machine (decision 80). */
function resolveProxy({ env }: World, address: string | null): Outcome<Sourced<string | null>, Problem> {
  const found = address === null ? accept(undefined) : proxyFor(address, env);
  if (found.ok) return accept({ value: found.value?.url ?? null, source: found.value?.source ?? "not set" });
  // The value is not shown: it may hold a password.
  const expected = "an http or https proxy such as http://proxy.example:3128";
  const next = "correct it, unset it, or name the service's host in NO_PROXY; nothing was sent";
  return failUsage(`${found.refusal.variable} must be ${expected}`, next);
}

/** The service that was named, or the live sandbox of the folder; null where there is neither. */
function resolveBaseUrl(
  world: World,
  options: ServiceOptions,
  found: { readonly folder: string; readonly running: string | undefined },
): Outcome<Sourced<string | null>, Problem> {
  const named = given(world, "base-url", options.baseUrl);
  if (named === undefined) {
    const { folder, running } = found;
    return accept(
      running === undefined
        ? { value: null, source: NO_SANDBOX }
        : { value: running, source: stateFile(folder, "run") },
    );
  }
  const value = parseBaseUrl(named.value);
  if (value !== undefined) return accept({ value, source: named.source });
  // The value is not shown: it may hold a password.
  const expected = "an address such as https://pay.example/v1, without user name, password or query";
  return failUsage(`${named.source} must be ${expected}`, "correct it; nothing was sent");
}

/** The service of these settings; refuses where there is none, and where there is no API key for it. */
export function targetOf(settings: Settings): Outcome<Target, Problem> {
  const { apiKey, baseUrl, service, storeId, locate, folder, proxy, lacksSandbox = "" } = settings;
  if (baseUrl.value === null || lacksSandbox !== "") return fail(noSandbox(folder.value, lacksSandbox));
  if (apiKey.value !== null && /^[\x21-\x7e]+$/.test(apiKey.value)) {
    const target = {
      baseUrl: baseUrl.value,
      apiKey: apiKey.value,
      service,
      storeId: storeId.value,
      proxy: proxy.value ?? undefined,
    };
    return accept(locate === undefined ? target : { ...target, locate });
  }
  const local = isLoopback(new URL(baseUrl.value).hostname);
  return fail({
    exitCode: EXIT.credential,
    code: "credential_missing",
    message:
      apiKey.value === null
        ? `there is no API key for ${baseUrl.value}`
        : `the API key of ${apiKey.source} (${redactKey(apiKey.value)}) has characters that a key cannot have`,
    next: local
      ? "set CHECKOUT_API_KEY; a key that the state folder keeps goes only to its own sandbox, while that runs"
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
  return { value, source: flagged ? flag : `CHECKOUT_${name.toUpperCase().replace("-", "_")}` };
}

function byDefault<Value>(value: Value): Sourced<Value> {
  return { value, source: "default" };
}
