import { LOCAL_SANDBOX } from "../../core/checkout/idempotency-key.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { redactKey } from "../../core/credential.ts";
import { isLoopback } from "../../core/loopback.ts";
import { proxyFor } from "../../core/network/proxy.ts";
import type { Run } from "../../core/state-files.ts";
import type { Target } from "../../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { stateFolderWithin } from "../../host/folder/state-folder.ts";
import { EXIT, NO_SANDBOX, noSandbox, Refused, refusedUsage } from "../problem.ts";
import { identityAt, type Identity } from "./identity.ts";
import { given, NO_CREDENTIALS, NOT_SET, type ValueWithSource, isOwn } from "./surroundings.ts";
import { misspelt } from "./options.ts";

/** A service of the configuration: its address and its key belong together, and neither goes with another's. */
export type TargetSettings = {
  /** `--target staging`, as a source of settings. */
  readonly source: string;
  readonly baseUrl: string;
  readonly apiKey: ValueWithSource<string>;
  readonly storeId: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
};

/** Everything a client command depends on, each with its source (decision 57). */
export type Settings = Identity & {
  readonly folder: ValueWithSource<string>;
  /** Null where no service was named and the folder has no live sandbox: there is no default (decision 64). */
  readonly baseUrl: ValueWithSource<string | null>;
  /** The base URL at this moment, for what only the live sandbox of the folder may get; undefined while it is not there. */
  readonly locate?: () => string | undefined;
  /** The live sandbox of the folder, if it is the service. */
  readonly sandbox: Run | undefined;
  /** Whether `checkout explain` reaches the service: the sandbox of the folder, or that of the environment. */
  readonly isExplained: boolean;
  /** The base URL of the live sandbox of the folder, if another service is named. */
  readonly otherSandbox?: string | undefined;
  /** The name of the service in the configuration, if it was named by that. */
  readonly target?: string | undefined;
  /** Why nothing can be sent before the folder has a live sandbox; undefined if it can. */
  readonly lacksSandbox: string | undefined;
  /** What stands for the service in managed keys. */
  readonly service: string;
  /** The proxy of the environment for the service, with its user name and password; null where there is none. */
  readonly proxy: ValueWithSource<string | null>;
  readonly timeoutMs: ValueWithSource<number>;
  readonly retries: ValueWithSource<number>;
};

/**
 * The settings of the service that a command is about: flag over environment over `.checkout/` over default. An API key
 * never comes by a flag; the key of the folder is only for the folder's live sandbox (decision 25). `target` is a service
 * that the configuration names.
 */
export function serviceSettings(
  context: Pick<Context, "world" | "around">,
  target: TargetSettings | undefined,
): Settings {
  const { world, around } = context;
  const folder = around.folder();
  // Before the credentials: a sandbox writes them before it says where it is.
  const live = around.run();
  const kept = around.credentials();
  if (target !== undefined) return settingsOfTarget(context, folder, target);
  const running = around.ownUrl();
  const run = running === undefined ? undefined : live;
  const named = around.address();
  const baseUrl: Settings["baseUrl"] =
    named ??
    (running === undefined
      ? { value: null, source: NO_SANDBOX }
      : { value: running, source: stateFile(folder, "run") });
  const { value: address } = baseUrl;
  const isSandbox = address !== null && isOwn(around, address);
  const local = address === null || isLoopback(new URL(address).hostname);
  const identity = identityAt(context, {
    // Whose key it is stays true while the sandbox is away: managed keys must not change with that.
    credentials: local ? kept : NO_CREDENTIALS,
    isOwn: named === undefined || isSandbox,
    local,
    first: run?.store_id ?? Object.keys(kept.stores)[0],
  });
  const { apiKey, storeId } = identity;
  const isKeyKept = local && apiKey.value === null && Object.keys(kept.stores).length > 0;
  const locate = (): string | undefined => {
    around.lookAgain();
    if (named === undefined || address === null) return around.ownUrl();
    return isOwn(around, address) ? address : undefined;
  };
  const isLocated = named === undefined || apiKey.source === stateFile(folder, "credentials");
  const proxy = resolveProxy(world, address);
  return {
    ...patience(context, undefined),
    folder: folderOf(context, folder),
    baseUrl,
    ...(isLocated ? { locate } : {}),
    sandbox: isSandbox ? run : undefined,
    isExplained: isSandbox || (local && isControlled(world, baseUrl)),
    otherSandbox: isSandbox ? undefined : running,
    lacksSandbox: running === undefined ? lackOf({ world, folder, address, isKeyKept }) : undefined,
    ...identity,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : (address ?? ""),
    proxy,
  };
}

/**
 * The settings of a service that the configuration names. Its address, key and store come from there alone: what the
 * environment says of another service, and the key of the folder, stay here.
 */
function settingsOfTarget(
  context: Pick<Context, "world" | "around">,
  folder: string,
  target: TargetSettings,
): Settings {
  const { world, around } = context;
  const address = parseBaseUrl(target.baseUrl) ?? target.baseUrl;
  const flagged = given(world, "store", around.options.store);
  const ofTarget = target.storeId === undefined ? NOT_SET : { value: target.storeId, source: target.source };
  const storeId = flagged?.source.startsWith("--") === true ? flagged : ofTarget;
  const proxy = resolveProxy(world, address);
  const local = isLoopback(new URL(address).hostname);
  return {
    ...patience(context, target),
    folder: folderOf(context, folder),
    baseUrl: { value: address, source: target.source },
    sandbox: undefined,
    isExplained: false,
    target: around.options.target,
    lacksSandbox: undefined,
    apiKey: target.apiKey,
    proxy,
    storeId,
    storeName: NOT_SET,
    contradiction: undefined,
    lacksStore: undefined,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : address,
  };
}

function folderOf(
  { world, around }: Pick<Context, "world" | "around">,
  folder: string,
): ValueWithSource<string> {
  return given(world, "dir", around.options.dir && folder) ?? byDefault(folder);
}

/** How patient the client is: by flag or variable, by the configuration, or by default. */
function patience(
  { world, around: { options } }: Pick<Context, "world" | "around">,
  target: TargetSettings | undefined,
): Pick<Settings, "timeoutMs" | "retries"> {
  const of = (value: number | undefined): ValueWithSource<number> | undefined =>
    value === undefined || target === undefined ? undefined : { value, source: target.source };
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  return {
    timeoutMs: given(world, "timeout", options.timeout) ?? of(target?.timeoutMs) ?? byDefault(timeoutMs),
    retries: given(world, "retries", options.retries) ?? of(target?.retries) ?? byDefault(retries),
  };
}

/** Whether the environment has the control token for the service that it names, as it has within `checkout exec`. */
function isControlled({ env }: World, { source }: ValueWithSource<string | null>): boolean {
  return source === "CHECKOUT_BASE_URL" && (env["CHECKOUT_CONTROL_TOKEN"] ?? "") !== "";
}

type MissingKey = {
  readonly world: World;
  readonly folder: string;
  readonly address: string | null;
  readonly isKeyKept: boolean;
};

/** What is missing where the folder has no live sandbox: an address, or a key that only that sandbox may get. */
function lackOf({ world, folder, address, isKeyKept }: MissingKey): string | undefined {
  const url = "CHECKOUT_BASE_URL";
  if (address === null)
    return `no other one is named (${url}${misspelt(world, url)})${stateFolderWithin(world, folder)}`;
  const key = "CHECKOUT_API_KEY";
  return isKeyKept ? `there is no other API key for ${address} (${key}${misspelt(world, key)})` : undefined;
}

/** The proxy of the environment, where the service is not on this machine (decision 80). */
function resolveProxy({ env }: World, address: string | null): ValueWithSource<string | null> {
  if (address === null) return NOT_SET;
  const found = proxyFor(address, env);
  if (found.ok) return { value: found.value?.url ?? null, source: found.value?.source ?? NOT_SET.source };
  // The value is not shown: it may hold a password.
  const expected = "an http or https proxy such as http://proxy.example:3128";
  const next = "correct it, unset it, or name the service's host in NO_PROXY; nothing was sent";
  throw refusedUsage(`${found.refusal.variable} must be ${expected}`, next);
}

/** The service of these settings; refuses where there is none, and where there is no API key for it. */
export function targetOf(settings: Settings): Target {
  const { apiKey, baseUrl, service, storeId, locate, folder, proxy, lacksSandbox = "" } = settings;
  const { contradiction, lacksStore, otherSandbox } = settings;
  if (contradiction !== undefined) throw new Refused(contradiction);
  if (baseUrl.value === null || lacksSandbox !== "") throw new Refused(noSandbox(folder.value, lacksSandbox));
  if (lacksStore !== undefined) throw new Refused(lacksStore);
  if (apiKey.value !== null && /^[\x21-\x7e]+$/.test(apiKey.value)) {
    const target = {
      baseUrl: baseUrl.value,
      apiKey: apiKey.value,
      service,
      storeId: storeId.value,
      proxy: proxy.value ?? undefined,
    };
    return locate === undefined ? target : { ...target, locate };
  }
  const local = isLoopback(new URL(baseUrl.value).hostname);
  // What a variable from a file with Windows line ends has.
  const ending = /^\S+\s+$/.test(apiKey.value ?? "") ? ": a blank or a line break stands at its end" : "";
  throw new Refused({
    exitCode: EXIT.credential,
    code: "credential_missing",
    message:
      apiKey.value === null
        ? `there is no API key for ${baseUrl.value} (${baseUrl.source})${otherSandbox === undefined ? "" : `; the sandbox of ${folder.value} is ${otherSandbox}`}`
        : `the API key of ${apiKey.source} (${redactKey(apiKey.value)}) has characters that a key cannot have${ending}`,
    next: local
      ? "set CHECKOUT_API_KEY; a key that the state folder keeps goes only to its own sandbox, while that runs"
      : "set CHECKOUT_API_KEY to a test key of that service",
  });
}

/** How patient the client is. */
export function policyOf(settings: Settings): RetryPolicy {
  return { retries: settings.retries.value, timeoutMs: settings.timeoutMs.value };
}

function byDefault<Value>(value: Value): ValueWithSource<Value> {
  return { value, source: "default" };
}
