import type { PlannedChange } from "../core/config/plan.ts";
import { accept, type Outcome, type Refusal } from "../core/outcome.ts";
import { MASTER_KEY_BYTES, parseRunRecord, type CredentialsFile } from "../core/state-files.ts";
import { printable } from "../core/text.ts";
import { recordHome } from "../sandbox/runtime/home.ts";
import {
  refusalOfFirstStore,
  seedSandbox,
  type CreateConfiguredStores,
  type SeedRefusal,
  type StoreCreationContext,
} from "../sandbox/runtime/seed.ts";
import { isLogEmpty, IN_MEMORY, openingOfEmptyLog } from "../store/connection/database.ts";
import { StorageUnavailable } from "../store/connection/storage-failure.ts";
import type { Erasure } from "../store/erasures.ts";
import { openStore, type Store } from "../store/store.ts";
import type { GuestWorld, World } from "../world.ts";
import { stateFile } from "./folder/files.ts";
import { isRunningOwner } from "./folder/owner-file.ts";
import * as state from "./folder/state-folder.ts";
import { refuseOtherSecret, type GivenSecrets } from "./given-secrets.ts";
import { fileFailure, movedLogWarning, stateFailure, type HostFailure } from "./failure.ts";
import type { HeldFolder, HostContext, SandboxSource } from "./hosting.ts";
import type { ServeOptions, StoreSetup } from "./options.ts";
import { DEFAULT_PORT } from "../core/config/settings.ts";

type StateOrigin = Pick<SandboxSource, "heldFolder" | "secrets">;

type StateParts = StateOrigin & {
  readonly store: Store;
  readonly maker: StoreCreationContext;
  readonly forgetStore: (erasure: Erasure) => void;
};

/** `apiKey`: null if only its hash is known. `folderHold`: undefined if webhooks may be delivered. */
export async function openFirstStore(
  { world }: HostContext,
  options: ServeOptions,
  { heldFolder, store, maker, secrets, forgetStore }: StateParts,
) {
  const { setup, adopt = false } = options;
  const { seedHook, report } = await setUp(options, { ...maker, store });
  const home = heldFolder && world.files.realPath(heldFolder.path);
  const storeOutcome = await retryWhileLocked(async () => {
    if (store.erasures.pending().length > 0) {
      const { finishErasures } = await import("../sandbox/runtime/erase.ts");
      await finishErasures({ ...maker, store, forgetStore, assumptions: NO_ASSUMPTIONS });
    }
    const homeRecord = home === undefined ? undefined : recordHome(store, { path: home, adopt });
    return Promise.all([seedSandbox(store, maker, seedHook), homeRecord]);
  });
  if (!storeOutcome.ok) return storeOutcome;
  const [seedOutcome, folderHold] = storeOutcome.value;
  if (!seedOutcome.ok) return refuseSeed(seedOutcome.refusal, { heldFolder, secrets, setup });
  report?.();
  const firstStore = seedOutcome.value;
  const credentialsOutcome = await checkpointFirstStore(world, heldFolder, store);
  if (!credentialsOutcome.ok) return credentialsOutcome;
  // Read again from the file: an earlier attempt of this start may have committed the store before it failed.
  const apiKey = firstStore.apiKey ?? credentialsOutcome.value?.stores[firstStore.id]?.api_key ?? null;
  return accept({ apiKey, folderHold });
}

/** Copies the first store into `sandbox.db` itself, so that the store survives the loss of the log (decision 54). */
async function checkpointFirstStore(
  world: GuestWorld,
  heldFolder: HeldFolder,
  store: Store,
): Promise<Outcome<CredentialsFile | undefined, HostFailure>> {
  const credentials =
    heldFolder === undefined ? accept(undefined) : state.readCredentials(world, heldFolder.path);
  if (!credentials.ok || heldFolder === undefined || credentials.value?.ready !== false) return credentials;
  const checkpoint = await retryWhileLocked(store.checkpoint);
  if (!checkpoint.ok) return checkpoint;
  state.writeCredentials(world, heldFolder.path, { stores: credentials.value.stores });
  return credentials;
}

export function openState(
  { world, printer }: HostContext,
  origin: StateOrigin,
  credentials: CredentialsFile | undefined,
): Outcome<{ readonly store: Store; readonly masterKey: Uint8Array }, HostFailure> {
  const { heldFolder } = origin;
  const path = heldFolder === undefined ? IN_MEMORY : stateFile(heldFolder.path, "database");
  if (heldFolder !== undefined) {
    const databaseCheck = state.requireDatabase(world, heldFolder.path);
    if (!databaseCheck.ok) return databaseCheck;
    // Deletes the database of a start that was never ready: nobody has used its store, and its writes may be
    // incomplete.
    if (credentials?.ready === false && isLogEmpty(path))
      for (const suffix of ["", "-wal", "-shm"]) world.files.remove(path + suffix);
  }
  const outcome = openStore(path, {
    nativeBinding: world.sqliteAddon(),
    pid: world.pid,
    scheduler: world,
    onMigrated: ({ from, to, backupPath }) =>
      printer.trace(
        `note: ${path} was migrated from schema version ${from} to ${to}; the older file is ${backupPath}`,
      ),
    onLogMoved: (log) => printer.trace(movedLogWarning(path, log)),
  });
  if (!outcome.ok) return { ok: false, refusal: fileFailure("database", outcome.refusal) };
  const store = outcome.value;
  const masterKey = loadMasterKey(world, store, { ...origin, credentials });
  if (masterKey.ok) return accept({ store, masterKey: masterKey.value });
  store.leave();
  return masterKey;
}

function loadMasterKey(
  world: GuestWorld,
  store: Store,
  { heldFolder, secrets, credentials }: StateOrigin & { readonly credentials: CredentialsFile | undefined },
): Outcome<Uint8Array, HostFailure> {
  if (heldFolder === undefined) return accept(world.randomBytes(MASTER_KEY_BYTES));
  const isEmpty = store.stores.first() === undefined;
  const storeCheck = isEmpty ? state.requireStoreInFolder(heldFolder.path, credentials) : accept(undefined);
  if (!storeCheck.ok) return storeCheck;
  const key = state.readOrCreateMasterKey(world, heldFolder.path, isEmpty ? "empty" : "filled");
  if (!key.ok) return key;
  const refusal = refusalOfFirstStore(store, { masterKey: key.value, presets: secretValues(secrets) });
  return refusal === undefined ? key : refuseSeed(refusal, { heldFolder, secrets });
}

export function secretValues({
  apiKey,
  signingSecret,
}: GivenSecrets): NonNullable<StoreCreationContext["presets"]> {
  return { apiKey: apiKey?.value, signingSecret: signingSecret?.value };
}

async function setUp(
  { setup, port = DEFAULT_PORT, allowTarget = [] }: ServeOptions,
  maker: StoreCreationContext & { readonly store: Store },
): Promise<{ readonly seedHook?: CreateConfiguredStores; readonly report?: () => void }> {
  if (setup === undefined) return {};
  const { applyConfig } = await import("../sandbox/config/apply.ts");
  const targets = { allowedHosts: allowTarget, ownPort: port };
  let changes: readonly PlannedChange[] = [];
  const applySetup: CreateConfiguredStores = () => {
    const outcome = applyConfig({ ...maker, targets }, { stores: setup.stores, prune: false });
    if (!outcome.ok) return outcome;
    changes = outcome.value.changes;
    return accept(outcome.value.made);
  };
  // Reports only after the commit, because the transaction may run twice.
  return { seedHook: applySetup, report: () => setup.onApplied(changes) };
}

export async function retryWhileLocked<Value>(
  write: () => Promise<Value>,
): Promise<Outcome<Value, HostFailure>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return accept(await write());
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      if (attempt < MAX_LOCKED_ATTEMPTS) continue;
      const { code, next } = error.failure;
      return stateFailure({ code, message: `sandbox.db cannot be used: ${error.message}`, next });
    }
  }
}

const MAX_LOCKED_ATTEMPTS = 5;

function refuseSeed(
  refusal: SeedRefusal | Refusal,
  {
    heldFolder,
    secrets: { apiKey, signingSecret },
    setup,
  }: StateOrigin & { readonly setup?: StoreSetup | undefined },
): Outcome<never, HostFailure> {
  if (typeof refusal === "object") {
    const { code, message } = refusal;
    const failure = { kind: "failed", code, message, next: "correct the error and start again" } as const;
    return { ok: false, refusal: setup?.failureOf(refusal) ?? failure };
  }
  if (refusal === "other_api_key" && apiKey !== undefined) return refuseOtherSecret(apiKey, "API key");
  if (refusal === "other_signing_secret" && signingSecret !== undefined)
    return refuseOtherSecret(signingSecret, "signing secret");
  if (refusal === "other_dialect")
    return stateFailure({
      code: "other_dialect",
      message: "the first store of this state was created with another dialect, which it keeps",
      next: "start without --like and create a store with checkout stores create --dialect <file>, or use another --dir",
    });
  const path = heldFolder === undefined ? "the master key" : stateFile(heldFolder.path, "masterKey");
  return stateFailure({
    code: "master_key_foreign",
    message: `${path} cannot decrypt the signing secret in the database`,
    next: "restore the master.key that belongs to this sandbox.db, or move the folder away and start again",
  });
}

const NO_ASSUMPTIONS = { forget: () => undefined };

/**
 * Call before the folder is claimed, which replaces run.json, and before the database is opened, which changes the log.
 */
export function lostLogWarning(
  world: Pick<World, "files" | "processStartTime">,
  folder: string,
): string | undefined {
  const run = parseRunRecord(world.files.read(stateFile(folder, "run")) ?? "");
  // `version` is missing until the sandbox is ready; before that, the log may be empty without a loss.
  if (run?.version === undefined) return undefined;
  const database = stateFile(folder, "database");
  if (isRunningOwner(world, run, world.files.stat(folder)?.id) || !isLogEmpty(database)) return undefined;
  // The log was empty when run.json was written, and nothing has been written to the log since.
  if (openingOfEmptyLog(database) === run.opening) return undefined;
  return `warning: the last sandbox of ${printable(folder)} was killed, and ${printable(database)}-wal is missing or empty: changes that were only in that log are lost, unless another program has written them into the database`;
}
