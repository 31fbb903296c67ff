// Which sandbox a command is about is read once, here. v1: `serviceSettings` in cli/target/service.ts; the control
// API: `sandboxIn` in cli/target/control.ts; notes where environment and folder differ: cli/target/notes.ts.
import type { Outcome } from "../../core/outcome.ts";
import type { ControlRole } from "../../core/control/protocol.ts";
import { isSameServer } from "../../core/loopback.ts";
import { parseBaseUrl } from "../../core/config/setting-text.ts";
import type { Credentials, Run } from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { isTyped, variableNamed } from "../option-rules.ts";
import { attempt, hosted, Refused, refusedUsage, unlessRefused, type Problem } from "../problem.ts";
import {
  baseUrlOf,
  findStateFolder,
  liveRun,
  locateStateFolder,
  readAdminToken,
  readChosenStore,
  readCredentials,
  shortPath,
} from "../../host/folder/state-folder.ts";

/** Options that every command has; `store` only those that are about one. */
export type CommonOptions = {
  readonly store?: string;
  readonly json?: boolean;
  readonly dir?: string;
  readonly trustFolder?: boolean;
};

/** Options of every command that talks to a service. */
export type ServiceOptions = CommonOptions & {
  readonly baseUrl?: string;
  readonly timeout?: number;
  readonly retries?: number;
  readonly showHeaders?: boolean;
  readonly target?: string;
  /** Variables that may be sent as the API key of the target. */
  readonly allowEnv?: readonly string[];
};

/** A value and where it comes from. */
export type ValueWithSource<Value> = { readonly value: Value; readonly source: string };

/**
 * What a command is about, as far as this machine tells it: the state folder, its live sandbox, the keys that it keeps,
 * and the service and the store that are named. Each part is read once for a command, when it is first asked for, so
 * that no two parts of a command can see another one; `lookAgain` forgets what was read. What cannot be read, or must
 * not, is refused each time. The targets of v1 commands and of control commands are functions of it (`service.ts`,
 * `control.ts`).
 */
export type Surroundings = {
  readonly options: ServiceOptions;
  /** Where the state folder is, or would be made. Nobody looked at it. */
  readonly location: () => string;
  /** The same from here, for messages. */
  readonly shownFolder: () => string;
  /** The state folder, which may not be there yet. Refuses one that somebody else could have filled. */
  readonly folder: () => string;
  /** The live sandbox of the folder; undefined while none runs. */
  readonly run: () => Run | undefined;
  /** The base URL of that sandbox; undefined while it is not there, or starts. */
  readonly ownUrl: () => string | undefined;
  /** The merchant's copy of the keys of that sandbox; without stores where there is none. */
  readonly credentials: () => Credentials;
  /** The id of the store that `checkout stores use` chose for the folder. */
  readonly chosenStore: () => string | undefined;
  /** The administrator's token that the folder keeps. */
  readonly adminToken: () => string | undefined;
  /** The address of a service that a flag or the environment names. */
  readonly address: () => ValueWithSource<string> | undefined;
  /** The address that the environment names, whatever a flag does: its store and key belong to it. */
  readonly addressOfKey: () => ValueWithSource<string> | undefined;
  /** The API key of the environment. */
  readonly apiKey: string | undefined;
  /** The store of the environment. */
  readonly storeId: string | undefined;
  /** A store that was found before, by its id: no other one is meant. */
  readonly foundStore?: string;
  readonly lookAgain: () => void;
};

/** The variable of `--store`. */
export const STORE_VARIABLE = "CHECKOUT_STORE_ID";

/** Where the token of each role comes from, where it is not the state folder. */
export const TOKEN_VARIABLES: Readonly<Record<ControlRole, string>> = {
  control: "CHECKOUT_CONTROL_TOKEN",
  administrator: "CHECKOUT_ADMIN_TOKEN",
};

/** What a command is about. Reads nothing yet. */
export function surroundingsOf(world: World, options: ServiceOptions): Surroundings {
  let forget: (() => void)[] = [];
  const once = <Value>(read: () => Value): (() => Value) => {
    let kept: Outcome<Value, Problem> | undefined;
    return () => {
      if (kept === undefined) forget.push(() => (kept = undefined));
      kept ??= attempt(read);
      if (kept.ok) return kept.value;
      throw new Refused(kept.refusal);
    };
  };
  const location = once(() => locateStateFolder(world, options.dir));
  const folder = once(() => hosted(findStateFolder(world, options)));
  /** Of a folder that is refused nothing is read. */
  const inFolder = <Value>(read: (path: string) => Value) => once(() => read(folder()));
  const run = inFolder((path) => hosted(liveRun(world, path)));
  const kept = inFolder((path) => hosted(readCredentials(world, path)));
  return {
    options,
    location,
    shownFolder: () => shortPath(world, location()),
    folder,
    run,
    ownUrl: () => {
      const live = unlessRefused(run);
      return live && baseUrlOf(live);
    },
    credentials: () => kept() ?? NO_CREDENTIALS,
    chosenStore: inFolder((path) => hosted(readChosenStore(world, path))),
    adminToken: inFolder((path) => hosted(readAdminToken(world, path))),
    address: once(() => namedAddress(world, options.baseUrl)),
    addressOfKey: once(() => namedAddress(world, undefined)),
    apiKey: world.env["CHECKOUT_API_KEY"] || undefined,
    storeId: world.env[STORE_VARIABLE] || undefined,
    lookAgain: () => {
      for (const one of forget) one();
      forget = [];
    },
  };
}

/** Whether an address is that of the folder's live sandbox. */
export function isOwn({ ownUrl }: Surroundings, address: string): boolean {
  const own = ownUrl();
  return own !== undefined && isSameServer(own, address);
}

/** A setting that nothing says. */
export const NOT_SET: ValueWithSource<null> = { value: null, source: "not set" };

/** No keys. */
export const NO_CREDENTIALS: Credentials = { stores: {} };

/** The same, whatever the environment says of a store and its key. */
export function withoutOwnStore(around: Surroundings): Surroundings {
  return { ...around, apiKey: undefined, storeId: undefined };
}

function namedAddress(world: World, flag: string | undefined): ValueWithSource<string> | undefined {
  const named = given(world, "base-url", flag ?? (world.env["CHECKOUT_BASE_URL"] || undefined));
  if (named === undefined) return undefined;
  const value = parseBaseUrl(named.value);
  if (value !== undefined) return { value, source: named.source };
  // The value is not shown: it may hold a password.
  const expected = "an address such as https://pay.example/v1, without user name, password or query";
  throw refusedUsage(`${named.source} must be ${expected}`, "correct it; nothing was sent");
}

/** An option that was given, by flag or by environment: the flag's value has already won. */
export function given<Value>(
  world: Pick<World, "argv">,
  name: string,
  value: Value | undefined,
): ValueWithSource<Value> | undefined {
  if (value === undefined) return undefined;
  return { value, source: isTyped(world, name) ? `--${name}` : variableNamed("CHECKOUT", name) };
}
