import type { Hold } from "../core/webhook/hold.ts";
import { createKeyWriter } from "./folder/kept-keys.ts";
import type { PlannedChange } from "../core/config/plan.ts";
import { accept, type Outcome, type Refusal } from "../core/outcome.ts";
import { MASTER_KEY_BYTES, parseRunRecord, type Credentials } from "../core/state-files.ts";
import { printable } from "../core/text.ts";
import { recordHome } from "../sandbox/runtime/home.ts";
import {
  refusalOfFirstStore,
  seed,
  type SeedHook,
  type SeedRefusal,
  type StoreMaker,
} from "../sandbox/runtime/seed.ts";
import { hasLostLog, IN_MEMORY, type MigratedFile } from "../store/connection/database.ts";
import { StorageUnavailable } from "../store/connection/storage-failure.ts";
import type { Erasure } from "../store/erasures.ts";
import { openStore, type Store } from "../store/store.ts";
import type { GuestWorld, World } from "../world.ts";
import { stateFile } from "./folder/files.ts";
import { isRunningOwner } from "./folder/owner-file.ts";
import * as state from "./folder/state-folder.ts";
import { refuseOtherSecret, type GivenSecrets } from "./given-secrets.ts";
import { fileFailure, movedLogWarning, stateFailure, type HostFailure } from "./failure.ts";
import type { HeldFolder, Host } from "./hosting.ts";
import type { ServeOptions, StoreSetup } from "./options.ts";
import { DEFAULT_PORT } from "../core/config/settings.ts";

/** The parts for creating or reading the first store. */
type StateParts = {
  readonly held: HeldFolder;
  readonly store: Store;
  readonly maker: StoreMaker;
  readonly given: GivenSecrets;
  readonly credentials: Credentials | undefined;
  readonly forgetStore: (erasure: Erasure) => void;
};

/** The key is null if it was not stored; the reason is undefined if events are delivered. */
export async function openFirstStore(
  context: Host,
  options: ServeOptions,
  { held, store, maker, given, forgetStore }: StateParts,
) {
  const { before, done } = await setUp(options, { ...maker, store });
  const storeOutcome = await retryWhileLocked(async () => {
    if (store.erasures.pending().length > 0) {
      const { finishErasures } = await import("../sandbox/runtime/erase.ts");
      await finishErasures({ ...maker, store, forgetStore, assumptions: NO_ASSUMPTIONS });
    }
    return Promise.all([seed(store, maker, before), settleFolder(context, options, { held, store })]);
  });
  if (!storeOutcome.ok) return storeOutcome;
  const [seeding, folderHold] = storeOutcome.value;
  if (!seeding.ok) return refuseSeed(seeding.refusal, { held, given, setup: options.setup });
  done?.();
  const firstStore = seeding.value;
  const confirmed = await confirmStore(context.world, held, store);
  if (!confirmed.ok) return confirmed;
  // Reads the key again: if the first attempt of this start failed after its commit, it has stored the key of the store
  // that is now found.
  const apiKey = firstStore.apiKey ?? confirmed.value?.stores[firstStore.id]?.api_key ?? null;
  return accept({ apiKey, folderHold });
}

/** Writes to `sandbox.db` itself, so that losing the log cannot lose the store (decision 54). Returns the stored keys. */
async function confirmStore(
  world: GuestWorld,
  held: HeldFolder,
  store: Store,
): Promise<Outcome<Credentials | undefined, HostFailure>> {
  const saved = held === undefined ? accept(undefined) : state.readCredentials(world, held.path);
  if (!saved.ok || held === undefined || saved.value?.ready !== false) return saved;
  const checkpoint = await retryWhileLocked(store.checkpoint);
  if (!checkpoint.ok) return checkpoint;
  state.writeCredentials(world, held.path, { stores: saved.value.stores });
  return saved;
}

/** The database and the key of a state, both checked; refuses parts that do not belong together. */
export function openState(
  { world, printer }: Host,
  held: HeldFolder,
  { given, credentials }: Pick<StateParts, "given" | "credentials">,
): Outcome<{ readonly store: Store; readonly masterKey: Uint8Array }, HostFailure> {
  const path = held === undefined ? IN_MEMORY : stateFile(held.path, "database");
  const hasFile = held === undefined ? accept(undefined) : state.checkDatabaseIsThere(world, held.path);
  if (!hasFile.ok) return hasFile;
  if (held !== undefined && credentials?.ready === false && hasLostLog(path)) forgetStart(world, path);
  const noteMigration = ({ from, to, backup }: MigratedFile): void =>
    printer.trace(
      `note: ${path} was migrated from schema version ${from} to ${to}; the older file is ${backup}`,
    );
  const movedAside = (log: string): void => printer.trace(movedLogWarning(path, log));
  const options = {
    nativeBinding: world.sqliteAddon(),
    pid: world.pid,
    scheduler: world,
    migrated: noteMigration,
    movedAside,
  };
  const outcome = openStore(path, options);
  if (!outcome.ok) return { ok: false, refusal: fileFailure("database", outcome.refusal) };
  const store = outcome.value;
  const isEmpty = store.stores.first() === undefined;
  const isThere =
    held !== undefined && isEmpty ? state.requireStoreInFolder(held.path, credentials) : accept(undefined);
  const key = isThere.ok ? checkKey(world, { held, store, given }) : isThere;
  if (key.ok) return accept({ store, masterKey: key.value });
  store.leave();
  return key;
}

/** No user has seen its store. Its writes may be incomplete without the log, so the next start begins again. */
function forgetStart({ files }: Pick<World, "files">, database: string): void {
  for (const end of ["", "-wal", "-shm"]) files.remove(database + end);
}

/** Refuses a key that cannot decrypt the first store's secrets, and other secrets than the given ones. */
function checkKey(
  world: GuestWorld,
  { held, store, given }: { readonly held: HeldFolder; readonly store: Store; readonly given: GivenSecrets },
): Outcome<Uint8Array, HostFailure> {
  const key = masterKeyOf(world, held, store);
  if (!key.ok) return key;
  const refusal = refusalOfFirstStore(store, { masterKey: key.value, given: secretsOf(given) });
  return refusal === undefined ? key : refuseStore(refusal, { held, given });
}

function masterKeyOf(world: GuestWorld, held: HeldFolder, store: Store): Outcome<Uint8Array, HostFailure> {
  if (held === undefined) return accept(world.randomBytes(MASTER_KEY_BYTES));
  return state.readOrCreateMasterKey(
    world,
    held.path,
    store.stores.first() === undefined ? "empty" : "filled",
  );
}

/** Always undefined for a state in memory. */
async function settleFolder(
  { world }: Host,
  { adopt = false }: ServeOptions,
  { held, store }: { readonly held: HeldFolder; readonly store: Store },
): Promise<Hold | undefined> {
  if (held === undefined) return undefined;
  return recordHome(store, { path: world.files.realPath(held.path), adopt });
}

export function createStoreMaker(
  world: GuestWorld,
  { startClock }: ServeOptions,
  {
    held,
    masterKey,
    given,
    dialect,
  }: Pick<StoreMaker, "masterKey" | "dialect"> & {
    readonly held: HeldFolder;
    readonly given: GivenSecrets;
  },
): StoreMaker {
  return {
    world,
    masterKey,
    given: secretsOf(given),
    startClock,
    dialect,
    ...createKeyWriter(world, held?.path),
  };
}

function secretsOf({ apiKey, signingSecret }: GivenSecrets): NonNullable<StoreMaker["given"]> {
  return { apiKey: apiKey?.value, signingSecret: signingSecret?.value };
}

/** Returns hooks that set up the stores of the configuration in the transaction of the seed, and report the changes. */
async function setUp(
  { setup, port = DEFAULT_PORT, allowTarget = [] }: ServeOptions,
  maker: StoreMaker & { readonly store: Store },
): Promise<{ readonly before?: SeedHook; readonly done?: () => void }> {
  if (setup === undefined) return {};
  const { applyConfig } = await import("../sandbox/config/apply.ts");
  const targets = { allowedHosts: allowTarget, ownPort: port };
  let changes: readonly PlannedChange[] = [];
  const applySetup: SeedHook = () => {
    const outcome = applyConfig({ ...maker, targets }, { stores: setup.stores, prune: false });
    if (!outcome.ok) return outcome;
    changes = outcome.value.changes;
    return accept(outcome.value.made);
  };
  // Reported only now, after the commit, because the transaction may have run twice.
  return { before: applySetup, done: () => setup.applied(changes) };
}

/** Retries while another process keeps the database locked: each attempt to write waits 2 s. */
export async function retryWhileLocked<Value>(
  write: () => Promise<Value>,
): Promise<Outcome<Value, HostFailure>> {
  for (let tries = 1; ; tries += 1) {
    try {
      return accept(await write());
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (tries < MAX_LOCKED_ATTEMPTS) continue;
      const { code, next } = error.failure;
      return stateFailure({ code, message: `sandbox.db cannot be used: ${error.message}`, next });
    }
  }
}

/** Maximum number of attempts to write to a locked database at the start. */
const MAX_LOCKED_ATTEMPTS = 5;

/** Why nothing is served: the configuration or the state's store is refused. */
function refuseSeed(
  refusal: SeedRefusal | Refusal,
  parts: { readonly held: HeldFolder; readonly given: GivenSecrets; readonly setup: StoreSetup | undefined },
): Outcome<never, HostFailure> {
  if (typeof refusal === "string") return refuseStore(refusal, parts);
  const { code, message } = refusal;
  const failure = { kind: "failed", code, message, next: "correct the error and start again" } as const;
  return { ok: false, refusal: parts.setup?.problem(refusal) ?? failure };
}

/** Why the state's store is not served. */
function refuseStore(
  refusal: SeedRefusal,
  { held, given: { apiKey, signingSecret } }: { readonly held: HeldFolder; readonly given: GivenSecrets },
): Outcome<never, HostFailure> {
  if (refusal === "other_api_key" && apiKey !== undefined) return refuseOtherSecret(apiKey, "API key");
  if (refusal === "other_signing_secret" && signingSecret !== undefined)
    return refuseOtherSecret(signingSecret, "signing secret");
  if (refusal === "other_dialect")
    return stateFailure({
      code: "other_dialect",
      message: "the first store of this state was created with another dialect, which it keeps",
      next: "start without --like and create a store with checkout stores create --dialect <file>, or use another --dir",
    });
  const path = held === undefined ? "the master key" : stateFile(held.path, "masterKey");
  return stateFailure({
    code: "master_key_foreign",
    message: `${path} cannot decrypt the signing secret in the database`,
    next: "restore the master.key that belongs to this sandbox.db, or move the folder away and start again",
  });
}

/** No assumption is recorded before the sandbox answers requests. */
const NO_ASSUMPTIONS = { forget: () => undefined };

/** Call it before the folder is claimed and the database opened, because both remove the traces. */
export function lostLogWarning(
  world: Pick<World, "files" | "processStartTime">,
  folder: string,
): string | undefined {
  const run = parseRunRecord(world.files.read(stateFile(folder, "run")) ?? "");
  // A sandbox writes its version once it is ready; before that it may have written nothing.
  if (run?.version === undefined) return undefined;
  const database = stateFile(folder, "database");
  if (isRunningOwner(world, run, world.files.look(folder)?.id) || !hasLostLog(database)) return undefined;
  return `warning: the last sandbox of ${printable(folder)} was killed, and ${printable(database)}-wal is missing or empty: changes that were only in that log are lost, unless another program has written them into the database`;
}
