import { isLoopback, isSameServer } from "../core/loopback.ts";
import type { Target } from "../client/api/client.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../client/api/retry.ts";
import { redactKey } from "../core/credential.ts";
import { LOCAL_SANDBOX } from "../core/checkout/idempotency-key.ts";
import { proxyFor } from "../core/network/proxy.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { printable } from "../core/text.ts";
import { ownerOf, type Credentials, type Run } from "../core/state-files.ts";
import type { World } from "../world.ts";
import type { CommonOptions } from "./command.ts";
import { parseBaseUrl } from "../core/config/setting-text.ts";
import { isTyped, variableNamed } from "./option-rules.ts";
import { EXIT, fail, failUsage, NO_SANDBOX, noSandbox, usageProblem, type Problem } from "./problem.ts";
import { isStoreId, namedStore, oneStore, STORE_VARIABLE, type NamedStore } from "./target/named-store.ts";
import { stateFile } from "../host/folder/files.ts";
import {
  baseUrlOf,
  findStateFolder,
  liveRun,
  readCredentials,
  stateFolderWithin,
} from "../host/folder/state-folder.ts";

/** Options of every command that talks to a service. */
export type ServiceOptions = CommonOptions & {
  readonly baseUrl?: string;
  readonly timeout?: number;
  readonly retries?: number;
  readonly showHeaders?: boolean;
  readonly target?: string;
  /** Variables that may be sent as the API key of the target. */
  readonly allowEnv?: readonly string[];
  /** The id of the store that the command acts on, once it was found. */
  readonly foundStore?: string;
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
  /** Whether `checkout explain` reaches the service: the sandbox of the folder, or that of the environment. */
  readonly isExplained: boolean;
  /** The base URL of the live sandbox of the folder, if another service is named. */
  readonly otherSandbox?: string | undefined;
  /** The name of the service in the configuration, if it was named by that. */
  readonly target?: string | undefined;
  /** Why nothing can be sent before the folder has a live sandbox; undefined if it can. */
  readonly lacksSandbox: string | undefined;
  readonly apiKey: Sourced<string | null>;
  readonly storeId: Sourced<string | null>;
  readonly storeName: Sourced<string | null>;
  /** Why nothing can be sent, whatever sandbox runs: the store that is named is not that of the key. */
  readonly contradiction: Problem | undefined;
  /** Why nothing can be sent to the sandbox as it is: it has no such store. */
  readonly lacksStore: Problem | undefined;
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
  const credentials = stored.value ?? NO_CREDENTIALS;
  const { url: running, run } = sandbox.value ?? {};
  const baseUrl = resolveBaseUrl(world, options, { folder, running });
  if (!baseUrl.ok) return baseUrl;

  const { value: address } = baseUrl.value;
  const named = given(world, "base-url", options.baseUrl) !== undefined;
  const isSandbox = (url: string | undefined): boolean =>
    address !== null && url !== undefined && isSameServer(url, address);
  const local = address === null || isLoopback(new URL(address).hostname);
  const identity = resolveIdentity(world, options, {
    folder,
    // Whose key it is stays true while the sandbox is away: managed keys must not change with that.
    credentials: local ? credentials : NO_CREDENTIALS,
    isOwn: !named || isSandbox(running),
    local,
    first: run?.store_id ?? Object.keys(credentials.stores)[0],
  });
  if (!identity.ok) return identity;
  const { apiKey, storeId } = identity.value;
  const isKeyKept = local && apiKey.value === null && Object.keys(credentials.stores).length > 0;
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
    ...(!named || apiKey.source === stateFile(folder, "credentials") ? { locate } : {}),
    sandbox: isSandbox(running) ? run : undefined,
    isExplained: isSandbox(running) || (local && isControlled(world, baseUrl.value)),
    otherSandbox: isSandbox(running) ? undefined : running,
    lacksSandbox: running === undefined ? lackOf({ world, folder, address, isKeyKept }) : undefined,
    ...identity.value,
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
  const flagged = given(world, "store", options.store);
  const storeId = (flagged?.source.startsWith("--") ? flagged : from(target.storeId)) ?? NOT_SET;
  const { timeoutMs, retries } = DEFAULT_RETRY_POLICY;
  const proxy = resolveProxy(world, address);
  if (!proxy.ok) return proxy;
  const local = isLoopback(new URL(address).hostname);
  return accept({
    folder: given(world, "dir", options.dir && folder) ?? byDefault(folder),
    baseUrl: { value: address, source: target.source },
    sandbox: undefined,
    isExplained: false,
    target: options.target,
    lacksSandbox: undefined,
    apiKey: target.apiKey,
    proxy: proxy.value,
    storeId,
    storeName: NOT_SET,
    contradiction: undefined,
    lacksStore: undefined,
    service: local && storeId.value !== null ? LOCAL_SANDBOX : address,
    timeoutMs: given(world, "timeout", options.timeout) ?? from(target.timeoutMs) ?? byDefault(timeoutMs),
    retries: given(world, "retries", options.retries) ?? from(target.retries) ?? byDefault(retries),
  });
}

/** Whether the environment has the control token for the service that it names, as it has within `checkout exec`. */
function isControlled({ env }: World, { source }: Sourced<string | null>): boolean {
  return source === "CHECKOUT_BASE_URL" && (env["CHECKOUT_CONTROL_TOKEN"] ?? "") !== "";
}

type Lack = {
  readonly world: World;
  readonly folder: string;
  readonly address: string | null;
  readonly isKeyKept: boolean;
};

/** What is missing where the folder has no live sandbox: an address, or a key that only that sandbox may get. */
function lackOf({ world, folder, address, isKeyKept }: Lack): string | undefined {
  const url = "CHECKOUT_BASE_URL";
  if (address === null)
    return `no other one is named (${url}${misspelt(world, url)})${stateFolderWithin(world, folder)}`;
  const key = "CHECKOUT_API_KEY";
  return isKeyKept ? `there is no other API key for ${address} (${key}${misspelt(world, key)})` : undefined;
}

/** Says of variables that have the letters of this one that nothing reads them; empty where none is set. */
export function misspelt({ env }: Pick<World, "env">, variable: string): string {
  const letters = (name: string): string => name.replaceAll("_", "").toUpperCase();
  const set = Object.keys(env).filter((name) => (env[name] ?? "") !== "" && name !== variable);
  const near = set.filter((name) => letters(name) === letters(variable));
  return near.map((name) => `; nothing reads ${name}`).join("");
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

const NO_CREDENTIALS: Credentials = { stores: {} };
const NOT_SET: Sourced<null> = { value: null, source: "not set" };

/** Who the client is at the service: its key, and the store that this one is of. */
type Identity = Pick<Settings, "apiKey" | "storeId" | "storeName" | "contradiction" | "lacksStore">;

type IdentityScene = {
  readonly folder: string;
  readonly credentials: Credentials;
  /** Whether the folder's sandbox is the service, or will be when it runs. */
  readonly isOwn: boolean;
  readonly local: boolean;
  /** The sandbox's first store; while none runs, the first one that has a key. */
  readonly first: string | undefined;
};

/** The key of the environment, or else the one that the folder keeps of the store that is meant, or of the first. */
function resolveIdentity(
  world: World,
  options: ServiceOptions,
  scene: IdentityScene,
): Outcome<Identity, Problem> {
  const { folder, credentials, isOwn } = scene;
  const { foundStore } = options;
  const named: Outcome<NamedStore | undefined, Problem> =
    foundStore === undefined
      ? namedStore(world, options, { folder, credentials, isOwn, isElsewhere: false })
      : accept({ text: foundStore, by: "variable", source: "the store that this command acts on" });
  if (!named.ok) return named;
  const apiKey = world.env["CHECKOUT_API_KEY"] || undefined;
  const identity =
    apiKey === undefined
      ? withKeptKey(scene, named.value)
      : withOwnKey(world, scene, { apiKey, named: named.value });
  const { storeId } = identity;
  const name = storeId.value === null ? undefined : credentials.stores[storeId.value]?.name;
  const storeName = name === undefined ? NOT_SET : { value: name, source: stateFile(folder, "credentials") };
  return accept({ ...identity, storeName });
}

/** The folder's own key of the store that is named. */
function withKeptKey(scene: IdentityScene, named: NamedStore | undefined): Omit<Identity, "storeName"> {
  const { folder, credentials, isOwn, first } = scene;
  const source = stateFile(folder, "credentials");
  const meant = named && storeNamed(scene, named);
  if (meant !== undefined && !meant.ok)
    return { apiKey: NOT_SET, storeId: NOT_SET, contradiction: undefined, lacksStore: meant.refusal };
  const id = meant?.value ?? (isOwn ? first : undefined);
  if (id === undefined)
    return { apiKey: NOT_SET, storeId: NOT_SET, contradiction: undefined, lacksStore: undefined };
  const kept = isOwn ? credentials.stores[id]?.api_key : undefined;
  return {
    apiKey: kept === undefined ? NOT_SET : { value: kept, source },
    storeId: { value: id, source: named?.source ?? source },
    contradiction: undefined,
    lacksStore: isOwn && kept === undefined ? noKeyOf(id, { source, named }) : undefined,
  };
}

/** The key of the environment, which decides what store it is whose orders are made. */
function withOwnKey(
  { env }: World,
  scene: IdentityScene,
  { apiKey: value, named }: { readonly apiKey: string; readonly named: NamedStore | undefined },
): Omit<Identity, "storeName"> {
  const apiKey = { value, source: "CHECKOUT_API_KEY" };
  const kept = ownerOf(scene.credentials, value);
  // The two of the environment belong together.
  const owner = kept ?? (named?.by === "flag" ? env[STORE_VARIABLE] || undefined : undefined);
  const meant = named && storeNamed(scene, named);
  if (meant !== undefined && !meant.ok)
    return { apiKey, storeId: NOT_SET, contradiction: undefined, lacksStore: meant.refusal };
  const id = meant?.value;
  const isOther = id !== undefined && owner !== undefined && id !== owner;
  // What the folder remembers says nothing of a key that it does not know.
  const isKnown = named?.by !== "choice" || owner !== undefined;
  const storeId = id !== undefined && isKnown ? { value: id, source: named?.source ?? "" } : NOT_SET;
  const contradiction = isOther ? otherStore(owner, { id, source: named?.source ?? "" }) : undefined;
  return { apiKey, storeId, contradiction, lacksStore: undefined };
}

/** The id of a store that is named. Names are known of the folder's sandbox alone; another service has ids of any form. */
function storeNamed({ credentials, local }: IdentityScene, named: NamedStore): Outcome<string, Problem> {
  const { text, by } = named;
  if (by !== "flag" || !local) return accept(text);
  if (isStoreId(text)) return accept(text.toLowerCase());
  const stores = Object.entries(credentials.stores).map(([id, { name }]) => ({ id, name }));
  const found = oneStore(stores, text);
  return found.ok ? accept(found.value.id) : found;
}

function otherStore(
  owner: string,
  { id, source }: { readonly id: string; readonly source: string },
): Problem {
  const message = `CHECKOUT_API_KEY is a key of store ${printable(owner)}, not of store ${printable(id)} (${source})`;
  return usageProblem(message, "unset one of the two; nothing was sent");
}

function noKeyOf(
  id: string,
  { source, named }: { readonly source: string; readonly named: NamedStore | undefined },
): Problem {
  return {
    exitCode: EXIT.credential,
    code: "credential_missing",
    message: `${source} has no API key of store ${printable(id)} (${named?.source ?? "the first one"})`,
    next: "set CHECKOUT_API_KEY to a key of that store; checkout stores list shows the stores",
  };
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
  return parseNamed(named);
}

function parseNamed({ value: text, source }: Sourced<string>): Outcome<Sourced<string>, Problem> {
  const value = parseBaseUrl(text);
  if (value !== undefined) return accept({ value, source });
  // The value is not shown: it may hold a password.
  const expected = "an address such as https://pay.example/v1, without user name, password or query";
  return failUsage(`${source} must be ${expected}`, "correct it; nothing was sent");
}

/** The address that a flag or the environment names, also for a command that has no such flag; undefined where none is. */
export function namedBaseUrl(
  world: World,
  { baseUrl = world.env["CHECKOUT_BASE_URL"] || undefined }: ServiceOptions,
): Outcome<Sourced<string> | undefined, Problem> {
  const named = given(world, "base-url", baseUrl);
  return named === undefined ? accept(undefined) : parseNamed(named);
}

/** The service of these settings; refuses where there is none, and where there is no API key for it. */
export function targetOf(settings: Settings): Outcome<Target, Problem> {
  const { apiKey, baseUrl, service, storeId, locate, folder, proxy, lacksSandbox = "" } = settings;
  const { contradiction, lacksStore, otherSandbox } = settings;
  if (contradiction !== undefined) return fail(contradiction);
  if (baseUrl.value === null || lacksSandbox !== "") return fail(noSandbox(folder.value, lacksSandbox));
  if (lacksStore !== undefined) return fail(lacksStore);
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
  // What a variable from a file with Windows line ends has.
  const ending = /^\S+\s+$/.test(apiKey.value ?? "") ? ": a blank or a line break stands at its end" : "";
  return fail({
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

/** An option that was given, by flag or by environment: the flag's value has already won. */
function given<Value>(world: World, name: string, value: Value | undefined): Sourced<Value> | undefined {
  if (value === undefined) return undefined;
  return { value, source: isTyped(world, name) ? `--${name}` : variableNamed("CHECKOUT", name) };
}

function byDefault<Value>(value: Value): Sourced<Value> {
  return { value, source: "default" };
}
