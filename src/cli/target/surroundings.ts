import { lazyValue } from "../../core/lazy.ts";
import type { ControlRole } from "../../core/control/protocol.ts";
import { isLoopback, isSameServer } from "../../core/loopback.ts";
import type { TargetSection } from "../../core/config/schema.ts";
import { printableLiteral } from "../../core/text.ts";
import { completeAddress } from "../../core/network/spelled-address.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import { storeIdOfKey, type CredentialsFile } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { isOptionTyped, settingVariable } from "../option-rules.ts";
import { catchRefusal, EXIT, Refused, unwrap, refuseUsage } from "../problem.ts";
import { stateFile } from "../../host/folder/files.ts";
import { locateStateFolder } from "../../host/folder/location.ts";
import {
  baseUrlOf,
  findStateFolder,
  findRunRecord,
  readAdminToken,
  readChosenStore,
  readCredentials,
  shortPath,
} from "../../host/folder/state-folder.ts";

export type CommonOptions = {
  readonly store?: string;
  readonly json?: boolean;
  readonly dir?: string;
  readonly trustFolder?: boolean;
};

export type ServiceOptions = CommonOptions & {
  readonly baseUrl?: string;
  readonly timeout?: number;
  readonly retries?: number;
  readonly showHeaders?: boolean;
  readonly target?: string;
};

export type ValueWithSource<Value> = { readonly value: Value; readonly source: string };

export const TOKEN_VARIABLES: Readonly<Record<ControlRole, string>> = {
  control: "CHECKOUT_CONTROL_TOKEN",
  administrator: "CHECKOUT_ADMIN_TOKEN",
};

/** Reads each part at its first use, and keeps the value or the refusal until `reload`. */
export function surroundingsOf(world: World, options: ServiceOptions) {
  const resetFunctions: (() => void)[] = [];
  const readOnce = <Value>(read: () => Value): (() => Value) => {
    const createPart = () => lazyValue(() => catchRefusal(read));
    let part = createPart();
    resetFunctions.push(() => (part = createPart()));
    return () => unwrap(part());
  };
  const location = readOnce(() => locateStateFolder(world, options.dir));
  const folder = readOnce(() => unwrap(findStateFolder(world, options)));
  const readInFolder = <Value>(read: (path: string) => Value) => readOnce(() => read(folder()));
  const run = readInFolder((path) => unwrap(findRunRecord(world, path)));
  return {
    options,
    location,
    shownFolder: (): string => shortPath(world, location()),
    /** Refuses a folder that another user could have filled. The folder may not exist. */
    folder,
    run,
    ownUrl: (): string | undefined => {
      const runRecord = catchRefusal(run).value;
      return runRecord && baseUrlOf(runRecord);
    },
    credentials: readInFolder((path) => unwrap(readCredentials(world, path)) ?? NO_CREDENTIALS),
    chosenStore: readInFolder((path) => unwrap(readChosenStore(world, path))),
    adminToken: readInFolder((path) => unwrap(readAdminToken(world, path))),
    address: readOnce(() =>
      parseAddress(optionWithSource(world, "base-url", options.baseUrl ?? world.env["CHECKOUT_BASE_URL"])),
    ),
    addressOfKey: readOnce(() => parseAddress(variableWithSource(world, "CHECKOUT_BASE_URL"))),
    apiKey: variableWithSource(world, "CHECKOUT_API_KEY"),
    storeId: variableWithSource(world, "CHECKOUT_STORE_ID"),
    storeFlag: isOptionTyped(world, "store") ? withSource(options.store, "--store") : undefined,
    reload: (): void => {
      for (const resetPart of resetFunctions) resetPart();
    },
  };
}

export type Surroundings = Readonly<ReturnType<typeof surroundingsOf>> & {
  readonly target?: TargetSection & { readonly name: string; readonly source: string };
};

export function isOwnSandbox({ ownUrl }: Surroundings, address: string): boolean {
  const ownAddress = ownUrl();
  return ownAddress !== undefined && isSameServer(ownAddress, address);
}

/** The journal folder of a sandbox of `checkout exec`; undefined for any other service. */
export function execFolder({ env }: Pick<World, "env">, around: Surroundings): string | undefined {
  const { CHECKOUT_EXEC_FOLDER: folder = "", CHECKOUT_EXEC_URL: url = "" } = env;
  const address = around.target === undefined ? around.address()?.value : undefined;
  if (folder === "" || address === undefined || !URL.canParse(url)) return undefined;
  return isSameServer(address, url) ? folder : undefined;
}

export function withoutFolder(around: Surroundings): Surroundings {
  const noSandboxParts = { run: () => undefined, ownUrl: () => undefined, chosenStore: () => undefined };
  return { ...around, ...noSandboxParts, folder: around.location, credentials: () => NO_CREDENTIALS };
}

/**
 * Takes the store from the flag, the environment, `stores use` (only if `isOwn`) or the API key, in this order
 * (decision 90). Undefined means the first store.
 */
export function findNamedStore(around: Surroundings, isOwn: boolean): ValueWithSource<string> | undefined {
  const owner = storeIdOfKey(around.credentials(), around.apiKey?.value ?? "");
  const { storeFlag, storeId, location } = around;
  return (
    storeFlag ??
    storeId ??
    (isOwn ? withSource(around.chosenStore(), stateFile(location(), "store")) : undefined) ??
    withSource(owner, stateFile(location(), "credentials"))
  );
}

export const UNSET_VALUE: ValueWithSource<null> = { value: null, source: "not set" };

const NO_CREDENTIALS: CredentialsFile = { stores: {} };

export function withoutOwnStore(around: Surroundings): Surroundings {
  return { ...around, apiKey: undefined, storeId: undefined };
}

export function surroundingsForOrigin(around: Surroundings, origin: string): Surroundings {
  if (around.apiKey === undefined && around.storeId === undefined) return around;
  const address = around.addressOfKey();
  return address === undefined || isSameServer(address.value, origin) ? around : withoutOwnStore(around);
}

export function quotedFault(value: string): string {
  return /^(["'`]).*\1$/s.test(value.trim()) && value.trim().length > 1
    ? "it is in quotation marks, which the reader of its file kept"
    : "";
}

export function withSource<Value>(
  value: Value | undefined,
  source: string,
): ValueWithSource<Value> | undefined {
  return value === undefined ? undefined : { value, source };
}

function variableWithSource({ env }: World, name: string): ValueWithSource<string> | undefined {
  return withSource(env[name] || undefined, name);
}

function parseAddress(address: ValueWithSource<string> | undefined): ValueWithSource<string> | undefined {
  if (address === undefined || address.value === "") return undefined;
  const value = parseBaseUrl(address.value);
  if (value !== undefined) return { value, source: address.source };
  // A value with any other character is not shown, because it may contain a password.
  const gotText = /^[\w.:/-]+$/.test(address.value) ? `; got ${printableLiteral(address.value)}` : "";
  const url = URL.parse(completeAddress(address.value) ?? "");
  // The API key is sent to another machine, so the suggested address uses TLS.
  if (url !== null && !isLoopback(url.hostname)) url.protocol = "https:";
  const correction =
    url === null ? "correct it" : `write ${url.origin}${url.pathname === "/" ? "/v1" : url.pathname}`;
  const quoteFault = quotedFault(address.value);
  const expectedText = `an address such as https://pay.example/v1, without user name, password or query${quoteFault === "" ? "" : `; ${quoteFault}`}${gotText}`;
  throw refuseUsage(`${address.source} must be ${expectedText}`, `${correction}; nothing was sent`);
}

export function optionWithSource<Value>(
  world: Pick<World, "argv">,
  name: string,
  value: Value | undefined,
): ValueWithSource<Value> | undefined {
  return withSource(value, isOptionTyped(world, name) ? `--${name}` : settingVariable("CHECKOUT", name));
}

type KnownStore = { readonly storeId: string; readonly name: string };

/** Several stores can share a name. Refuses if not exactly one matches. */
export function requireOneStore<Known extends KnownStore>(stores: readonly Known[], text: string): Known {
  const idMatches = stores.filter(({ storeId }) => storeId === text.toLowerCase());
  const matchingStores = idMatches.length > 0 ? idMatches : stores.filter(({ name }) => name === text);
  const [onlyStore] = matchingStores;
  if (onlyStore === undefined) {
    const names = listText(stores.map(({ name }) => printableLiteral(name)));
    throw new Refused({
      exitCode: EXIT.usage,
      code: "store_unknown",
      message: `there is no store ${printableLiteral(text)}${names === "" ? "" : `; known stores: ${names}`}`,
      next: "checkout stores list shows the stores; use the id of a store whose name is not known here",
    });
  }
  if (matchingStores.length === 1) return onlyStore;
  throw new Refused({
    exitCode: EXIT.usage,
    code: "store_ambiguous",
    message: `${matchingStores.length} stores have the name ${printableLiteral(text)}: ${listText(matchingStores.map(({ storeId }) => storeId))}`,
    next: "name the store by its id",
  });
}

const MAX_STORES = 10;

function listText(stores: readonly string[]): string {
  return [...stores.slice(0, MAX_STORES), ...(stores.length > MAX_STORES ? ["…"] : [])].join(", ");
}
