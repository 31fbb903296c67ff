import { LOCAL_SANDBOX } from "../../core/checkout/idempotency-key.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { redactKey } from "../../core/credential.ts";
import { isLoopback } from "../../core/loopback.ts";
import { proxyFor } from "../../core/network/proxy.ts";
import type { RunRecord } from "../../core/state-files.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { stateFolderHint } from "../../host/folder/state-folder.ts";
import { EXIT, NO_SANDBOX, noSandboxProblem, Refused, refuseUsage } from "../problem.ts";
import { resolveIdentity, type Identity } from "./identity.ts";
import {
  optionWithSource,
  NO_CREDENTIALS,
  UNSET_VALUE,
  type ValueWithSource,
  isOwnSandbox,
  isQuoted,
} from "./surroundings.ts";
import { misspellingHint } from "./options.ts";

/** A service in the configuration. Its address and API key belong together and are never combined with others. */
export type TargetSettings = {
  /** `--target staging`, as a source of settings. */
  readonly source: string;
  readonly baseUrl: string;
  readonly apiKey: ValueWithSource<string>;
  readonly storeId: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
};

/** All settings of a client command, each with its source (decision 57). */
export type ServiceSettings = Identity & {
  readonly folder: ValueWithSource<string>;
  /** Null if no service is named and the folder has no running sandbox: there is no default (decision 64). */
  readonly baseUrl: ValueWithSource<string | null>;
  /**
   * The current base URL, for requests that only the folder's running sandbox may get; undefined while it is not
   * running.
   */
  readonly locate?: () => string | undefined;
  /** The folder's running sandbox, if that is the service. */
  readonly sandbox: RunRecord | undefined;
  /** Whether `checkout explain` works for the service: for the sandbox of the folder or the environment. */
  readonly isExplained: boolean;
  /** The base URL of the folder's running sandbox, if another service is named. */
  readonly otherSandbox?: string | undefined;
  /** The name of the service in the configuration; undefined for other services. */
  readonly target?: string | undefined;
  /** Why nothing can be sent until the folder has a running sandbox; undefined if requests can be sent. */
  readonly lacksSandbox: string | undefined;
  /** The service's part of managed idempotency keys. */
  readonly service: string;
  /** The proxy from the environment for the service, with user name and password; null if there is none. */
  readonly proxy: ValueWithSource<string | null>;
  readonly timeoutMs: ValueWithSource<number>;
  readonly retries: ValueWithSource<number>;
};

/**
 * The settings of a command's service. Their order of precedence: flag, environment, `.checkout/`, default. An API key
 * is never a flag; the folder's key is only for the folder's running sandbox (decision 25). `target` is a service in
 * the configuration.
 */
export function serviceSettings(
  context: Pick<Context, "world" | "around">,
  target: TargetSettings | undefined,
): ServiceSettings {
  const { world, around } = context;
  const folder = around.folder();
  // Read before the credentials: a starting sandbox writes its credentials before its address.
  const live = around.run();
  const kept = around.credentials();
  if (target !== undefined) return settingsOfTarget(context, folder, target);
  const running = around.ownUrl();
  const run = running === undefined ? undefined : live;
  const named = around.address();
  const baseUrl: ServiceSettings["baseUrl"] =
    named ??
    (running === undefined
      ? { value: null, source: NO_SANDBOX }
      : { value: running, source: stateFile(folder, "run") });
  const { value: address } = baseUrl;
  const isSandbox = address !== null && isOwnSandbox(around, address);
  const local = address === null || isLoopback(new URL(address).hostname);
  const identity = resolveIdentity(context, {
    // The owner of the key stays the same while the sandbox is stopped: managed keys must not change.
    credentials: local ? kept : NO_CREDENTIALS,
    isOwn: named === undefined || isSandbox,
    local,
    first: run?.store_id ?? Object.keys(kept.stores)[0],
  });
  const { apiKey, storeId } = identity;
  const isKeyKept = local && apiKey.value === null && Object.keys(kept.stores).length > 0;
  const locate = (): string | undefined => {
    around.reload();
    if (named === undefined || address === null) return around.ownUrl();
    return isOwnSandbox(around, address) ? address : undefined;
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
    lacksSandbox: running === undefined ? whyNoService({ world, folder, address, isKeyKept }) : undefined,
    ...identity,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : (address ?? ""),
    proxy,
  };
}

/**
 * The settings of a service in the configuration. Its address, key and store come only from the configuration: the
 * environment's settings for another service and the folder's key are not used.
 */
function settingsOfTarget(
  context: Pick<Context, "world" | "around">,
  folder: string,
  target: TargetSettings,
): ServiceSettings {
  const { world, around } = context;
  const address = parseBaseUrl(target.baseUrl) ?? target.baseUrl;
  const flagged = optionWithSource(world, "store", around.options.store);
  const ofTarget =
    target.storeId === undefined ? UNSET_VALUE : { value: target.storeId, source: target.source };
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
    storeName: UNSET_VALUE,
    contradiction: undefined,
    lacksStore: undefined,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : address,
  };
}

function folderOf(
  { world, around }: Pick<Context, "world" | "around">,
  folder: string,
): ValueWithSource<string> {
  return optionWithSource(world, "dir", around.options.dir && folder) ?? defaultValue(folder);
}

/** Timeout and retries, from flags, variables, the configuration, or defaults. */
function patience(
  { world, around: { options } }: Pick<Context, "world" | "around">,
  target: TargetSettings | undefined,
): Pick<ServiceSettings, "timeoutMs" | "retries"> {
  const of = (value: number | undefined): ValueWithSource<number> | undefined =>
    value === undefined || target === undefined ? undefined : { value, source: target.source };
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  return {
    timeoutMs:
      optionWithSource(world, "timeout", options.timeout) ?? of(target?.timeoutMs) ?? defaultValue(timeoutMs),
    retries:
      optionWithSource(world, "retries", options.retries) ?? of(target?.retries) ?? defaultValue(retries),
  };
}

/**
 * Whether the environment contains a control token for the service that it names, as in a command of `checkout exec`.
 */
function isControlled({ env }: World, { source }: ValueWithSource<string | null>): boolean {
  return source === "CHECKOUT_BASE_URL" && (env["CHECKOUT_CONTROL_TOKEN"] ?? "") !== "";
}

type MissingKey = {
  readonly world: World;
  readonly folder: string;
  readonly address: string | null;
  readonly isKeyKept: boolean;
};

/**
 * Why a folder without a running sandbox has no service: the address is unknown, or the key is only for that sandbox.
 */
function whyNoService({ world, folder, address, isKeyKept }: MissingKey): string | undefined {
  const url = "CHECKOUT_BASE_URL";
  if (address === null)
    return `no other service is named (${url}${misspellingHint(world, url)})${stateFolderHint(world, folder)}`;
  const key = "CHECKOUT_API_KEY";
  return isKeyKept
    ? `there is no other API key for ${address} (${key}${misspellingHint(world, key)})`
    : undefined;
}

/** The proxy from the environment, if the service is not on this machine (decision 80). */
function resolveProxy({ env }: World, address: string | null): ValueWithSource<string | null> {
  if (address === null) return UNSET_VALUE;
  const found = proxyFor(address, env);
  if (found.ok) return { value: found.value?.url ?? null, source: found.value?.source ?? UNSET_VALUE.source };
  // The value is not shown: it may hold a password.
  const expected = "an http or https proxy such as http://proxy.example:3128";
  const next = "correct it, unset it, or name the service's host in NO_PROXY; nothing was sent";
  throw refuseUsage(`${found.refusal.variable} must be ${expected}`, next);
}

/** The target for these settings. Refuses settings without a service, or without an API key for it. */
export function serviceTargetOf(settings: ServiceSettings): ServiceTarget {
  const { apiKey, baseUrl, service, storeId, locate, folder, proxy, lacksSandbox = "" } = settings;
  const { contradiction, lacksStore, otherSandbox } = settings;
  if (contradiction !== undefined) throw new Refused(contradiction);
  if (baseUrl.value === null || lacksSandbox !== "")
    throw new Refused(noSandboxProblem(folder.value, lacksSandbox));
  if (lacksStore !== undefined) throw new Refused(lacksStore);
  if (apiKey.value !== null && /^[\x21-\x7e]+$/.test(apiKey.value) && !isQuoted(apiKey.value)) {
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
  // A variable that was read from a file with Windows line endings ends with a carriage return.
  const ending = isQuoted(apiKey.value ?? "")
    ? ": it is in quotation marks, which the reader of its file kept; remove them"
    : /^\S+\s+$/.test(apiKey.value ?? "")
      ? ": it ends with a blank or a line break"
      : "";
  throw new Refused({
    exitCode: EXIT.credential,
    code: "credential_missing",
    message:
      apiKey.value === null
        ? `there is no API key for ${baseUrl.value} (${baseUrl.source})${otherSandbox === undefined ? "" : `; the sandbox of ${folder.value} is ${otherSandbox}`}`
        : `the API key of ${apiKey.source} (${redactKey(apiKey.value)}) contains characters that are not allowed in a key${ending}`,
    next: local
      ? "set CHECKOUT_API_KEY; a key in the state folder is sent only to the folder's own running sandbox"
      : "set CHECKOUT_API_KEY to a test key of that service",
  });
}

/** The retry policy of these settings. */
export function retryPolicyOf(settings: ServiceSettings): RetryPolicy {
  return { retries: settings.retries.value, timeoutMs: settings.timeoutMs.value };
}

function defaultValue<Value>(value: Value): ValueWithSource<Value> {
  return { value, source: "default" };
}
