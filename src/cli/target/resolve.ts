// What a v1 command is about. The facts: cli/target/surroundings.ts; the sandbox of a control command and its token:
// cli/target/control.ts.
import { LOCAL_SANDBOX } from "../../core/checkout/idempotency-key.ts";
import { redactKey } from "../../core/credential.ts";
import { isLoopback } from "../../core/loopback.ts";
import { proxyFor } from "../../core/network/proxy.ts";
import { ownerOf, type Credentials } from "../../core/state-files.ts";
import { isUuid, printable } from "../../core/text.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { stateFolderHint } from "../../host/folder/state-folder.ts";
import {
  catchRefusal,
  missingCredential,
  NO_SANDBOX,
  noSandboxProblem,
  Refused,
  refuseUsage,
  usageProblem,
  type Problem,
} from "../problem.ts";
import { findNamedStore, requireOneStore, type NamedStore } from "./named-store.ts";
import { misspellingHint } from "./options.ts";
import {
  execFolder,
  isOwnSandbox,
  isQuoted,
  NO_CREDENTIALS,
  optionWithSource,
  UNSET_VALUE,
  withoutFolder,
  type Surroundings,
  type ValueWithSource,
} from "./surroundings.ts";

/** What a v1 command is about: service, store and key, each with its source (decision 57). */
export type ResolvedTarget = Readonly<ReturnType<typeof resolveTarget>>;

/**
 * The target of a v1 command. The order of precedence of each value: flag, service in the configuration, environment,
 * `.checkout/`, default. An API key is never a flag; the folder's key is only for the folder's running sandbox (decision
 * 25). The sandbox of `checkout exec` needs nothing of the folder.
 */
export function resolveTarget(context: Pick<Context, "world" | "around">) {
  const { world } = context;
  const ofExec = execFolder(context);
  const around = ofExec === undefined ? context.around : withoutFolder(context.around);
  const { options, target } = around;
  const folder = around.folder();
  // Read before the credentials: a starting sandbox writes its credentials before its address.
  const run = around.run();
  const kept = around.credentials();
  const running = around.ownUrl();
  const named = around.address();
  /** Null if no service is named and the folder has no running sandbox: there is no default (decision 64). */
  const baseUrl: ValueWithSource<string | null> =
    named ??
    (running === undefined
      ? { value: null, source: NO_SANDBOX }
      : { value: running, source: stateFile(folder, "run") });
  const { value: address } = baseUrl;
  const isSandbox = target === undefined && address !== null && isOwnSandbox(around, address);
  const local = address === null || isLoopback(new URL(address).hostname);
  const place = { isOwn: named === undefined || isSandbox, local: local && target === undefined };
  const identity = identityOf(around, place);
  const { apiKey, storeId } = identity;
  const isKeyKept = local && apiKey.value === null && Object.keys(kept.stores).length > 0;
  const isOnlyForFolder = named === undefined || apiKey.source === stateFile(folder, "credentials");
  /** The current base URL, for a key that only the folder's running sandbox may get; undefined while it is stopped. */
  const locate = (): string | undefined => {
    around.reload();
    if (named === undefined || address === null) return around.ownUrl();
    return isOwnSandbox(around, address) ? address : undefined;
  };
  const limit = (name: "timeout" | "retries", usual: number): ValueWithSource<number> =>
    optionWithSource(world, name, options[name]) ?? target?.[name] ?? byDefault(usual);
  return {
    ...identity,
    folder: optionWithSource(world, "dir", options.dir && folder) ?? byDefault(folder),
    baseUrl,
    locate: isOnlyForFolder ? locate : undefined,
    /** The folder's running sandbox, if that is the service. */
    sandbox: isSandbox ? run : undefined,
    /** Whether `checkout explain` works for the service: for the sandbox of the folder or the environment. */
    isExplained: isSandbox || (local && isControlled(world, baseUrl)),
    /** The base URL of the folder's running sandbox, if another service is named. */
    otherSandbox: isSandbox ? undefined : running,
    target: target?.name,
    /** The folder of the journal: the one that `checkout exec` made, for its own sandbox. */
    journalFolder: ofExec ?? folder,
    /** Why nothing can be sent until the folder has a running sandbox; undefined if requests can be sent. */
    lacksSandbox: running === undefined ? whyNoService(world, { folder, address, isKeyKept }) : undefined,
    /** The service's part of managed idempotency keys. */
    service: local && storeId.value !== null ? LOCAL_SANDBOX : (address ?? ""),
    /** The proxy from the environment for the service, with user name and password; null if there is none. */
    proxy: resolveProxy(world, address),
    timeoutMs: limit("timeout", DEFAULT_RETRY_POLICY.timeoutMs),
    retries: limit("retries", DEFAULT_RETRY_POLICY.retries),
  };
}

/** `isOwn`: the service is the folder's sandbox, running or not. */
function identityOf(around: Surroundings, { isOwn, local }: Record<"isOwn" | "local", boolean>) {
  // The owner of the key stays the same while the sandbox is stopped: managed keys must not change.
  const credentials = local ? around.credentials() : NO_CREDENTIALS;
  const named = findNamedStore(around, { credentials, isOwn });
  const file = stateFile(around.location(), "credentials");
  const meant = catchRefusal(() => named && findStoreId(credentials.stores, named, local));
  const first = around.ownUrl() === undefined ? undefined : around.run()?.store_id;
  const usual = first ?? Object.keys(credentials.stores)[0];
  const own = around.apiKey?.value;
  // The store in the environment is the store of the key in the environment.
  const owner = ownerOf(credentials, own ?? "") ?? (named?.by === "flag" ? around.storeId?.value : undefined);
  // The chosen store of the folder does not apply to a key that the folder does not know.
  const isStranger = own !== undefined && owner === undefined && named?.by === "choice";
  const ofFolder = own === undefined && meant.ok && isOwn ? usual : undefined;
  const id = isStranger ? undefined : (meant.value ?? ofFolder);
  const store = id === undefined ? undefined : credentials.stores[id];
  const key = own === undefined && isOwn ? store?.api_key : undefined;
  const isOther = own !== undefined && id !== undefined && owner !== undefined && id !== owner;
  const lacksKey = own === undefined && isOwn && id !== undefined && key === undefined;
  return {
    apiKey: around.apiKey ?? setBy(key, file),
    storeId: setBy(id, named?.source ?? file),
    storeName: setBy(store?.name, file),
    /** The problem if the named store is not the key's store; independent of the running sandbox. */
    contradiction: isOther ? otherStoreProblem(owner, id, named) : undefined,
    /** The problem if the current sandbox does not have the store. */
    lacksStore: meant.refusal ?? (lacksKey ? missingKeyProblem(id, file, named) : undefined),
  };
}

function byDefault<Value>(value: Value): ValueWithSource<Value> {
  return { value, source: "default" };
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
  const message = `${file} has no API key of store ${printable(id)} (${named?.source ?? "the first store"})`;
  const next = "set CHECKOUT_API_KEY to a key of that store; checkout stores list shows the stores";
  return missingCredential(message, next);
}

/** In the environment there is a control token for the named service, as in a command of `checkout exec`. */
function isControlled({ env }: World, { source }: ValueWithSource<string | null>): boolean {
  return source === "CHECKOUT_BASE_URL" && (env["CHECKOUT_CONTROL_TOKEN"] ?? "") !== "";
}

/** The address is unknown, or the key is only for the folder's running sandbox. */
function whyNoService(
  world: World,
  { folder, address, isKeyKept }: { folder: string; address: string | null; isKeyKept: boolean },
): string | undefined {
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
  const message =
    apiKey.value === null
      ? `there is no API key for ${url} (${baseUrl.source})${other}`
      : `the API key of ${apiKey.source} (${redactKey(apiKey.value)}) contains characters that are not allowed in a key${endingOf(apiKey.value)}`;
  const next = isLoopback(new URL(url).hostname)
    ? "set CHECKOUT_API_KEY; a key in the state folder is sent only to the folder's own running sandbox"
    : "set CHECKOUT_API_KEY to a test key of that service";
  return missingCredential(message, next);
}

function endingOf(key: string): string {
  if (isQuoted(key)) return ": it is in quotation marks, which the reader of its file kept; remove them";
  // A variable that was read from a file with Windows line endings ends with a carriage return.
  return /^\S+\s+$/.test(key) ? ": it ends with a blank or a line break" : "";
}

export function retryPolicyOf({ retries, timeoutMs }: ResolvedTarget): RetryPolicy {
  return { retries: retries.value, timeoutMs: timeoutMs.value };
}
