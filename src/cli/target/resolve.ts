import { LOCAL_SANDBOX_SERVICE } from "../../core/checkout/idempotency-key.ts";
import { redactKey } from "../../core/credential.ts";
import { isLoopback } from "../../core/loopback.ts";
import { proxyFor } from "../../core/network/proxy.ts";
import { storeIdOfKey } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import type { ServiceTarget } from "../../client/api/client.ts";
import type { ControlTarget } from "../../client/control/control.ts";
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from "../../client/api/retry.ts";
import type { World } from "../../world.ts";
import type { Context } from "../command.ts";
import { stateFile } from "../../host/folder/files.ts";
import { stateFolderHint } from "../../host/folder/state-folder.ts";
import { parseUuid } from "../parsers.ts";
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
import { noteTarget, noteVersion } from "./notes.ts";
import { awaitSandbox, misspellingHint } from "./options.ts";
import {
  execFolder,
  findNamedStore,
  requireOneStore,
  isOwnSandbox,
  optionWithSource,
  quotedFault,
  surroundingsForOrigin,
  UNSET_VALUE,
  withoutFolder,
  withSource,
  type Surroundings,
  type ValueWithSource,
} from "./surroundings.ts";

export type ResolvedTarget = Readonly<ReturnType<typeof resolveTarget>>;

/**
 * The folder's API key is used only for the folder's own sandbox (decision 25). In `checkout exec`, the folder is
 * ignored.
 */
export function resolveTarget(context: Pick<Context, "world" | "around">) {
  const { world } = context;
  const execPath = execFolder(world, context.around);
  const around = execPath === undefined ? context.around : withoutFolder(context.around);
  const { options, target } = around;
  const folder = around.folder();
  const run = around.run();
  const { stores } = around.credentials();
  const runningUrl = around.ownUrl();
  const namedAddress = around.address();
  /** Null if no service is named and the folder has no running sandbox, because there is no default (decision 64). */
  const baseUrl: ValueWithSource<string | null> = namedAddress ??
    withSource(runningUrl, stateFile(folder, "run")) ?? { value: null, source: NO_SANDBOX };
  const { value: address } = baseUrl;
  const isSandbox = target === undefined && address !== null && isOwnSandbox(around, address);
  const isLocal = address === null || isLoopback(new URL(address).hostname);
  const isOwn = namedAddress === undefined || isSandbox;
  const identity = identityOf(around, { isOwn, isLocal: isLocal && target === undefined });
  const { apiKey, storeId } = identity;
  const isOnlyForFolder = namedAddress === undefined || apiKey.source === stateFile(folder, "credentials");
  const hintOf = (variable: string): string => `(${variable}${misspellingHint(world, variable)})`;
  const ids = runningUrl === undefined && isLocal && apiKey.value === null ? Object.keys(stores) : [];
  const missingKeyText = ids[0] && `there is no other API key for ${address} ${hintOf("CHECKOUT_API_KEY")}`;
  const locate = (): string | undefined => {
    around.reload();
    if (namedAddress === undefined || address === null) return around.ownUrl();
    return isOwnSandbox(around, address) ? address : undefined;
  };
  const defaultOf = <Value>(value: Value) => ({ value, source: "default" });
  const limitOf = (name: "timeout" | "retries", fallback: number): ValueWithSource<number> =>
    optionWithSource(world, name, options[name]) ??
    withSource(target?.[name], target?.source ?? "") ??
    defaultOf(fallback);
  return {
    ...identity,
    folder: optionWithSource(world, "dir", options.dir && folder) ?? defaultOf(folder),
    baseUrl,
    locate: isOnlyForFolder ? locate : undefined,
    sandbox: isSandbox ? run : undefined,
    /**
     * Whether `checkout explain` can explain the service's answers: it needs the folder's sandbox, or a sandbox and
     * its token in the environment.
     */
    isExplained:
      isSandbox ||
      (isLocal && baseUrl.source === "CHECKOUT_BASE_URL" && Boolean(world.env["CHECKOUT_CONTROL_TOKEN"])),
    otherSandbox: isSandbox ? undefined : runningUrl,
    target: target?.name,
    journalFolder: execPath ?? folder,
    /** Why the command needs a running sandbox; undefined if it does not. */
    lacksSandbox:
      address === null
        ? `no other service is named ${hintOf("CHECKOUT_BASE_URL")}${stateFolderHint(world, folder)}`
        : missingKeyText,
    service: isLocal && storeId.value !== null ? LOCAL_SANDBOX_SERVICE : (address ?? ""),
    proxy: resolveProxy(world, address),
    timeoutMs: limitOf("timeout", DEFAULT_RETRY_POLICY.timeoutMs),
    retries: limitOf("retries", DEFAULT_RETRY_POLICY.retries),
  };
}

/** `isOwn`: the service is the folder's sandbox, running or not. */
function identityOf(around: Surroundings, { isOwn, isLocal }: Record<"isOwn" | "isLocal", boolean>) {
  // Read even while the sandbox is stopped, so that the store, and with it generated idempotency keys, stay the same.
  const usableSurroundings = isLocal ? around : withoutFolder(around);
  const { stores } = usableSurroundings.credentials();
  const namedStore = findNamedStore(usableSurroundings, isOwn);
  const path = stateFile(around.location(), "credentials");
  const hasFlag = around.storeFlag !== undefined;
  const knownStores = Object.entries(stores).map(([id, { name }]) => ({ storeId: id, name }));
  // Another service's ids can have any form, and the names of its stores are not known.
  const idOutcome = catchRefusal(() =>
    namedStore && hasFlag && isLocal
      ? (parseUuid(namedStore.value) ?? requireOneStore(knownStores, namedStore.value).storeId)
      : namedStore?.value,
  );
  const firstStore = (around.ownUrl() && around.run()?.store_id) ?? knownStores[0]?.storeId;
  const ownKey = around.apiKey?.value;
  const owner = storeIdOfKey({ stores }, ownKey ?? "") ?? (hasFlag ? around.storeId?.value : undefined);
  // The folder's default store does not apply to a key that the folder does not know.
  const isForeignKey =
    ownKey !== undefined && owner === undefined && !hasFlag && around.storeId === undefined;
  const fallbackStoreId = ownKey === undefined && idOutcome.ok && isOwn ? firstStore : undefined;
  const id = isForeignKey ? undefined : (idOutcome.value ?? fallbackStoreId);
  const store = id === undefined ? undefined : stores[id];
  const key = ownKey === undefined && isOwn ? store?.api_key : undefined;
  const isOtherStore = ownKey !== undefined && id !== undefined && owner !== undefined && id !== owner;
  const lacksKey = ownKey === undefined && isOwn && id !== undefined && key === undefined;
  const { source } = namedStore ?? { source: "the first store" };
  return {
    apiKey: around.apiKey ?? withSource(key, path) ?? UNSET_VALUE,
    storeId: withSource(id, namedStore?.source ?? path) ?? UNSET_VALUE,
    storeName: withSource(store?.name, path) ?? UNSET_VALUE,
    contradiction: isOtherStore
      ? usageProblem(
          `CHECKOUT_API_KEY is a key of store ${printable(owner)}, not of store ${printable(id)} (${source})`,
          "unset one of them; nothing was sent",
        )
      : undefined,
    lacksStore:
      idOutcome.refusal ??
      (lacksKey
        ? missingCredential(
            `${path} has no API key of store ${printable(id)} (${source})`,
            "set CHECKOUT_API_KEY to a key of that store; checkout stores list shows the stores",
          )
        : undefined),
  };
}

/** Requests to a service on this machine use no proxy (decision 80). */
function resolveProxy({ env }: World, address: string | null): ValueWithSource<string | null> {
  if (address === null) return UNSET_VALUE;
  const outcome = proxyFor(address, env);
  if (outcome.ok) return outcome.value ?? UNSET_VALUE;
  // The value is not shown, because it may contain a password.
  throw refuseUsage(
    `${outcome.refusal.variable} must be an http or https proxy such as http://proxy.example:3128`,
    "correct it, unset it, or name the service's host in NO_PROXY; nothing was sent",
  );
}

export type ServiceConnection = { readonly target: ServiceTarget; readonly settings: ResolvedTarget };

/** May wait for the start of the folder's sandbox. */
export async function connectToService(context: Context): Promise<ServiceConnection> {
  const connection = await connectIn(await contextOfNamedTarget(context));
  noteTarget(context, connection.target.baseUrl);
  return connection;
}

export async function contextOfNamedTarget(context: Context): Promise<Context> {
  const { target } = context.around.options;
  if (target === undefined) return context;
  const { surroundingsOfNamedTarget } = await import("./named-target.ts");
  return { ...context, around: await surroundingsOfNamedTarget(context, target) };
}

export function connectToSandbox(
  context: Context,
  { origin, storeId }: ControlTarget,
): Promise<ServiceConnection> {
  const address = { value: `${origin}/v1`, source: "CHECKOUT_BASE_URL" };
  const store = withSource(storeId, "the store that this command acts on");
  const fields = store && { storeFlag: undefined, storeId: store };
  const around = { ...surroundingsForOrigin(context.around, origin), address: () => address, ...fields };
  return connectIn({ ...context, around });
}

async function connectIn(context: Context): Promise<ServiceConnection> {
  const isSettled = ({ lacksSandbox, contradiction }: ResolvedTarget): boolean =>
    lacksSandbox === undefined || contradiction !== undefined;
  const settings = await awaitSandbox(context, () => resolveTarget(context), isSettled);
  if (settings.sandbox !== undefined) noteVersion(context, settings.sandbox.version);
  const target = requireService(context, settings);
  const readDialect = async () => (await import("./dialect.ts")).readDialect(context, target.baseUrl);
  return { target: { ...target, readDialect }, settings };
}

/** Hides the API key in all output, and warns if it is sent over plain HTTP to another machine. */
function requireService({ printer }: Context, target: ResolvedTarget): ServiceTarget {
  const { contradiction, lacksStore, lacksSandbox = "", service, locate, folder } = target;
  const [baseUrl, apiKey, proxy] = [target.baseUrl.value, target.apiKey.value, target.proxy.value];
  if (contradiction !== undefined) throw new Refused(contradiction);
  if (baseUrl === null || lacksSandbox !== "")
    throw new Refused(noSandboxProblem(folder.value, lacksSandbox));
  if (lacksStore !== undefined) throw new Refused(lacksStore);
  if (apiKey === null || !/^[\x21-\x7e]+$/.test(apiKey) || quotedFault(apiKey) !== "")
    throw new Refused(keyProblem(target, baseUrl));
  printer.hide(apiKey);
  if (proxy !== null) printer.hidePassword(new URL(proxy).password);
  if (baseUrl.startsWith("http:") && !isLoopback(new URL(baseUrl).hostname))
    printer.trace(`warning: the API key goes to ${printable(baseUrl)} unencrypted; use https`);
  const locator = locate === undefined ? {} : { locate };
  return { baseUrl, apiKey, service, storeId: target.storeId.value, proxy: proxy ?? undefined, ...locator };
}

function keyProblem({ apiKey, baseUrl, folder, otherSandbox }: ResolvedTarget, url: string): Problem {
  const next = isLoopback(new URL(url).hostname)
    ? "set CHECKOUT_API_KEY; a key in the state folder is sent only to the folder's own running sandbox"
    : "set CHECKOUT_API_KEY to a test key of that service";
  const { value: key, source } = apiKey;
  if (key === null) {
    const otherText = otherSandbox === undefined ? "" : `; the sandbox of ${folder.value} is ${otherSandbox}`;
    return missingCredential(`there is no API key for ${url} (${baseUrl.source})${otherText}`, next);
  }
  const fault = `the API key of ${source} (${redactKey(key)}) contains characters that are not allowed in a key`;
  const quoteFault = quotedFault(key);
  // A variable that was read from a file with Windows line endings ends with a carriage return.
  const ending = /^\S+\s+$/.test(key) ? ": it ends with a blank or a line break" : "";
  return missingCredential(`${fault}${quoteFault === "" ? ending : `: ${quoteFault}; remove them`}`, next);
}

export function retryPolicyOf({ retries, timeoutMs }: ResolvedTarget): RetryPolicy {
  return { retries: retries.value, timeoutMs: timeoutMs.value };
}
