// What a v1 command is about. The facts: cli/target/surroundings.ts; the sandbox of a control command and its token:
// cli/target/control.ts.
import { LOCAL_SANDBOX } from "../../core/checkout/idempotency-key.ts";
import { redactKey } from "../../core/credential.ts";
import { isLoopback } from "../../core/loopback.ts";
import { proxyFor } from "../../core/network/proxy.ts";
import { ownerOf, type Credentials, type RunRecord } from "../../core/state-files.ts";
import { isUuid, printable } from "../../core/text.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { stateFolderHint } from "../../host/folder/state-folder.ts";
import {
  catchRefusal,
  EXIT,
  NO_SANDBOX,
  noSandboxProblem,
  Refused,
  refuseUsage,
  usageProblem,
  type Problem,
} from "../problem.ts";
import { findNamedStore, requireOneStore, type NamedStore } from "./named-store.ts";
import { isTyped } from "../option-rules.ts";
import { misspellingHint } from "./options.ts";
import {
  execFolder,
  isOwnSandbox,
  isQuoted,
  NO_CREDENTIALS,
  optionWithSource,
  UNSET_VALUE,
  withoutFolder,
  type ValueWithSource,
} from "./surroundings.ts";

type Resolution = Pick<Context, "world" | "around">;

/** A service in the configuration. Its address, API key and store belong together, and no others are used for it. */
export type NamedService = {
  readonly name: string;
  readonly baseUrl: ValueWithSource<string>;
  readonly apiKey: ValueWithSource<string>;
  readonly storeId: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly retries: number | undefined;
};

type Identity = {
  readonly apiKey: ValueWithSource<string | null>;
  readonly storeId: ValueWithSource<string | null>;
  readonly storeName: ValueWithSource<string | null>;
  /** The problem if the named store is not the key's store; independent of the running sandbox. */
  readonly contradiction: Problem | undefined;
  /** The problem if the current sandbox does not have the store. */
  readonly lacksStore: Problem | undefined;
};

/** What a v1 command is about: service, store and key, each with its source (decision 57). */
export type ResolvedTarget = Identity & {
  readonly folder: ValueWithSource<string>;
  /** Null if no service is named and the folder has no running sandbox: there is no default (decision 64). */
  readonly baseUrl: ValueWithSource<string | null>;
  /** The current base URL, for a key that only the folder's running sandbox may get; undefined while it is stopped. */
  readonly locate?: () => string | undefined;
  /** The folder's running sandbox, if that is the service. */
  readonly sandbox: RunRecord | undefined;
  /** Whether `checkout explain` works for the service: for the sandbox of the folder or the environment. */
  readonly isExplained: boolean;
  /** The base URL of the folder's running sandbox, if another service is named. */
  readonly otherSandbox: string | undefined;
  /** The name of the service in the configuration. */
  readonly target: string | undefined;
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
 * The target of a v1 command. The order of precedence of each value: flag, the service `named` in the configuration,
 * environment, `.checkout/`, default. An API key is never a flag; the folder's key is only for the folder's running
 * sandbox (decision 25). The sandbox of `checkout exec` needs nothing of the folder.
 */
export function resolveTarget(given: Resolution, service?: NamedService): ResolvedTarget {
  const isOfExec = service === undefined && execFolder(given.world, given.around) !== undefined;
  return resolve(isOfExec ? { ...given, around: withoutFolder(given.around) } : given, service);
}

function resolve(context: Resolution, named: NamedService | undefined): ResolvedTarget {
  const { world, around } = context;
  const folder = around.folder();
  // Read before the credentials: a starting sandbox writes its credentials before its address.
  const run = around.run();
  const kept = around.credentials();
  const running = around.ownUrl();
  const given = named?.baseUrl ?? around.address();
  const baseUrl =
    given ??
    (running === undefined
      ? { value: null, source: NO_SANDBOX }
      : { value: running, source: stateFile(folder, "run") });
  const { value: address } = baseUrl;
  const isSandbox = named === undefined && address !== null && isOwnSandbox(around, address);
  const local = address === null || isLoopback(new URL(address).hostname);
  const identity =
    named === undefined
      ? identityOf(context, { isOwn: given === undefined || isSandbox, local })
      : identityOfNamed(context, named);
  const { apiKey, storeId } = identity;
  const isKeyKept = local && apiKey.value === null && Object.keys(kept.stores).length > 0;
  const isOnlyForFolder = given === undefined || apiKey.source === stateFile(folder, "credentials");
  const locate = (): string | undefined => {
    around.reload();
    if (given === undefined || address === null) return around.ownUrl();
    return isOwnSandbox(around, address) ? address : undefined;
  };
  return {
    ...identity,
    folder: optionWithSource(world, "dir", around.options.dir && folder) ?? {
      value: folder,
      source: "default",
    },
    baseUrl,
    ...(isOnlyForFolder ? { locate } : {}),
    sandbox: isSandbox ? run : undefined,
    isExplained: isSandbox || (local && isControlled(world, baseUrl)),
    otherSandbox: isSandbox ? undefined : running,
    target: named?.name,
    lacksSandbox: running === undefined ? whyNoService(world, { folder, address, isKeyKept }) : undefined,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : (address ?? ""),
    proxy: resolveProxy(world, address),
    timeoutMs: limitOf(context, "timeout", named),
    retries: limitOf(context, "retries", named),
  };
}

function identityOfNamed({ world, around }: Resolution, named: NamedService): Identity {
  const { store } = around.options;
  const ofNamed =
    named.storeId === undefined ? UNSET_VALUE : { value: named.storeId, source: named.baseUrl.source };
  return {
    apiKey: named.apiKey,
    storeId: store !== undefined && isTyped(world, "store") ? { value: store, source: "--store" } : ofNamed,
    storeName: UNSET_VALUE,
    contradiction: undefined,
    lacksStore: undefined,
  };
}

/** `isOwn`: the service is the folder's sandbox, running or not. */
type Place = { readonly isOwn: boolean; readonly local: boolean };

/**
 * The API key from the environment, otherwise the folder's key for the named store or the first store; with the key's
 * store.
 */
function identityOf({ world, around }: Resolution, { isOwn, local }: Place): Identity {
  // The owner of the key stays the same while the sandbox is stopped: managed keys must not change.
  const credentials = local ? around.credentials() : NO_CREDENTIALS;
  const named = findNamedStore({ world, around }, { credentials, isOwn, isElsewhere: false });
  const file = stateFile(around.location(), "credentials");
  const meant = catchRefusal(() => named && findStoreId(credentials.stores, named, local));
  const first = around.ownUrl() === undefined ? undefined : around.run()?.store_id;
  const usual = first ?? Object.keys(credentials.stores)[0];
  const { apiKey: own } = around;
  // The store in the environment is the store of the key in the environment.
  const owner = ownerOf(credentials, own ?? "") ?? (named?.by === "flag" ? around.storeId : undefined);
  // The chosen store of the folder does not apply to a key that the folder does not know.
  const isStranger = own !== undefined && owner === undefined && named?.by === "choice";
  const ofFolder = own === undefined && meant.ok && isOwn ? usual : undefined;
  const id = isStranger ? undefined : (meant.value ?? ofFolder);
  const store = id === undefined ? undefined : credentials.stores[id];
  const key = own === undefined && isOwn ? store?.api_key : undefined;
  const isOther = own !== undefined && id !== undefined && owner !== undefined && id !== owner;
  const lacksKey = own === undefined && isOwn && id !== undefined && key === undefined;
  return {
    apiKey: setBy(own ?? key, own === undefined ? file : "CHECKOUT_API_KEY"),
    storeId: setBy(id, named?.source ?? file),
    storeName: setBy(store?.name, file),
    contradiction: isOther ? otherStoreProblem(owner, id, named) : undefined,
    lacksStore: meant.refusal ?? (lacksKey ? missingKeyProblem(id, file, named) : undefined),
  };
}

function setBy(value: string | undefined, source: string): ValueWithSource<string | null> {
  return value === undefined ? UNSET_VALUE : { value, source };
}

/** The id of a named store. Names are known only for the folder's sandbox; another service's ids can have any form. */
function findStoreId(stores: Credentials["stores"], { text, by }: NamedStore, local: boolean): string {
  if (by !== "flag" || !local) return text;
  if (isUuid(text)) return text.toLowerCase();
  return requireOneStore(
    Object.entries(stores).map(([id, { name }]) => ({ id, name })),
    text,
  ).id;
}

function otherStoreProblem(owner: string, id: string, named: NamedStore | undefined): Problem {
  const message = `CHECKOUT_API_KEY is a key of store ${printable(owner)}, not of store ${printable(id)} (${named?.source ?? ""})`;
  return usageProblem(message, "unset one of them; nothing was sent");
}

function missingKeyProblem(id: string, file: string, named: NamedStore | undefined): Problem {
  return {
    exitCode: EXIT.credential,
    code: "credential_missing",
    message: `${file} has no API key of store ${printable(id)} (${named?.source ?? "the first store"})`,
    next: "set CHECKOUT_API_KEY to a key of that store; checkout stores list shows the stores",
  };
}

/** The timeout in milliseconds, or the number of retries. */
function limitOf(
  { world, around: { options } }: Resolution,
  name: "timeout" | "retries",
  named: NamedService | undefined,
): ValueWithSource<number> {
  const field = name === "timeout" ? "timeoutMs" : name;
  const ofNamed = named?.[field];
  return (
    optionWithSource(world, name, options[name]) ??
    (named === undefined || ofNamed === undefined
      ? { value: DEFAULT_RETRY_POLICY[field], source: "default" }
      : { value: ofNamed, source: named.baseUrl.source })
  );
}

/**
 * Whether the environment contains a control token for the service that it names, as in a command of `checkout exec`.
 */
function isControlled({ env }: World, { source }: ValueWithSource<string | null>): boolean {
  return source === "CHECKOUT_BASE_URL" && (env["CHECKOUT_CONTROL_TOKEN"] ?? "") !== "";
}

type MissingKey = { readonly folder: string; readonly address: string | null; readonly isKeyKept: boolean };

/**
 * Why a folder without a running sandbox has no service: the address is unknown, or the key is only for that sandbox.
 */
function whyNoService(world: World, { folder, address, isKeyKept }: MissingKey): string | undefined {
  const [url, key] = ["CHECKOUT_BASE_URL", "CHECKOUT_API_KEY"];
  if (address === null)
    return `no other service is named (${url}${misspellingHint(world, url)})${stateFolderHint(world, folder)}`;
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

/** The service as a client calls it. Refuses a target without a service, or without an API key for it. */
export function requireService(resolved: ResolvedTarget): ServiceTarget {
  const { apiKey, baseUrl, service, storeId, locate, folder, proxy, lacksSandbox = "" } = resolved;
  const { contradiction, lacksStore } = resolved;
  if (contradiction !== undefined) throw new Refused(contradiction);
  if (baseUrl.value === null || lacksSandbox !== "")
    throw new Refused(noSandboxProblem(folder.value, lacksSandbox));
  if (lacksStore !== undefined) throw new Refused(lacksStore);
  if (apiKey.value === null || !/^[\x21-\x7e]+$/.test(apiKey.value) || isQuoted(apiKey.value))
    throw new Refused(keyProblem(resolved, baseUrl.value));
  return {
    baseUrl: baseUrl.value,
    apiKey: apiKey.value,
    service,
    storeId: storeId.value,
    proxy: proxy.value ?? undefined,
    ...(locate === undefined ? {} : { locate }),
  };
}

function keyProblem({ apiKey, baseUrl, folder, otherSandbox }: ResolvedTarget, url: string): Problem {
  const other = otherSandbox === undefined ? "" : `; the sandbox of ${folder.value} is ${otherSandbox}`;
  return {
    exitCode: EXIT.credential,
    code: "credential_missing",
    message:
      apiKey.value === null
        ? `there is no API key for ${url} (${baseUrl.source})${other}`
        : `the API key of ${apiKey.source} (${redactKey(apiKey.value)}) contains characters that are not allowed in a key${endingOf(apiKey.value)}`,
    next: isLoopback(new URL(url).hostname)
      ? "set CHECKOUT_API_KEY; a key in the state folder is sent only to the folder's own running sandbox"
      : "set CHECKOUT_API_KEY to a test key of that service",
  };
}

function endingOf(key: string): string {
  if (isQuoted(key)) return ": it is in quotation marks, which the reader of its file kept; remove them";
  // A variable that was read from a file with Windows line endings ends with a carriage return.
  return /^\S+\s+$/.test(key) ? ": it ends with a blank or a line break" : "";
}

export function retryPolicyOf({ retries, timeoutMs }: ResolvedTarget): RetryPolicy {
  return { retries: retries.value, timeoutMs: timeoutMs.value };
}
