import type { Hold } from "../../core/webhook/hold.ts";
import { join } from "node:path";
import type { FirstStore } from "../shared/settings.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey } from "../../core/credential.ts";
import {
  INDEX_NAME,
  MARK_COUNT,
  markedKeyBytes,
  markedUuid,
  markOfId,
  objectFileName,
  objectName,
  OBJECT_CLASSES,
} from "../shared/marks.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { createPart } from "../../core/fact.ts";
import type { CredentialsFile } from "../../core/state-files.ts";
import { printable } from "../../core/text.ts";
import { holdOfOtherFolder } from "../../sandbox/runtime/home.ts";
import { DEFAULT_STORE_NAME } from "../../sandbox/runtime/seed.ts";
import type { FileRefusal } from "../../store/connection/database.ts";
import { isAlarmFile, isStoreInFile, readIndexFile, type IndexRecord } from "../../store/object-files.ts";
import type { World } from "../../world.ts";
import { fileFailure, stateFailure, type HostFailure } from "../../host/failure.ts";
import { stateFile } from "../../host/folder/files.ts";
import * as state from "../../host/folder/state-folder.ts";
import { refuseFolder, ownerFault } from "../../host/folder/trust.ts";

type StateWorld = Pick<World, "files" | "sqliteAddon" | "now" | "randomBytes">;

type HostedState = {
  readonly stage: "new" | "unready" | "filled";
  readonly hasDatabases: boolean;
  readonly home: string | undefined;
  readonly credentials: CredentialsFile | undefined;
};

const ALARM_FILE = "metadata.sqlite";

export const START_COMMAND = "checkout hosted dev";

export function readHostedState(world: StateWorld, folder: string): Outcome<HostedState, HostFailure> {
  const trust = checkObjectFiles(world, folder);
  if (!trust.ok) return trust;
  const credentials = state.readCredentials(world, folder);
  if (!credentials.ok) return credentials;
  const knownCredentials = credentials.value;
  const index = readIndex(world, folder, knownCredentials);
  if (!index.ok) return index;
  const stateFiles = { credentials: knownCredentials, index: index.value, stores: storeFiles(world, folder) };
  const stage = stageOf(stateFiles);
  const lostCheck = stage === "filled" ? findLostPart(world, folder, stateFiles) : accept(undefined);
  if (!lostCheck.ok) return lostCheck;
  const masterKey =
    stage === "new" ? accept(undefined) : state.readOrCreateMasterKey(world, folder, "filled");
  if (!masterKey.ok) return masterKey;
  const hasDatabases = stateFiles.index !== undefined || stateFiles.stores.length > 0;
  return accept({ stage, hasDatabases, home: index.value?.home, credentials: knownCredentials });
}

export function holdOfState(
  { hasDatabases, home }: HostedState,
  { path, adopt }: { readonly path: string; readonly adopt: boolean },
): Hold | null {
  if (!hasDatabases || adopt) return null;
  return home === undefined
    ? createPart("unknown_folder", { start: START_COMMAND })
    : (holdOfOtherFolder(home, path, START_COMMAND) ?? null);
}

export function keepFirstStore(
  world: StateWorld,
  folder: string,
  { stage, credentials }: HostedState,
): FirstStore | undefined {
  if (stage === "filled") return undefined;
  const [keptEntry] = Object.entries(credentials?.stores ?? {});
  if (keptEntry !== undefined) return { id: keptEntry[0], apiKey: keptEntry[1].api_key };
  const mark = Buffer.from(world.randomBytes(4)).readUInt32BE() % MARK_COUNT;
  const id = markedUuid(mark, world.now(), world.randomBytes(6));
  const apiKey = formatTestKey(markedKeyBytes(mark, world.randomBytes(API_KEY_RANDOM_BYTES)));
  const stores = { [id]: { name: DEFAULT_STORE_NAME, api_key: apiKey } };
  state.writeCredentials(world, folder, { ready: false, stores });
  return { id, apiKey };
}

export function markFirstStoreReady(
  world: StateWorld,
  folder: string,
): Outcome<CredentialsFile | undefined, HostFailure> {
  const keptCredentials = state.readCredentials(world, folder);
  if (keptCredentials.ok && keptCredentials.value?.ready === false)
    state.writeCredentials(world, folder, { stores: keptCredentials.value.stores });
  return keptCredentials;
}

type StateFiles = {
  readonly credentials: CredentialsFile | undefined;
  readonly index: IndexRecord | undefined;
  readonly stores: readonly string[];
};

function stageOf({ credentials, index, stores }: StateFiles): HostedState["stage"] {
  if (credentials !== undefined) return credentials.ready === false ? "unready" : "filled";
  return stores.length > 0 || (index?.storeIds.length ?? 0) > 0 ? "filled" : "new";
}

function storeFiles({ files }: Pick<StateWorld, "files">, folder: string): readonly string[] {
  const storesFolder = join(stateFile(folder, "objects"), OBJECT_CLASSES.stores);
  const names = files.exists(storesFolder) ? files.list(storesFolder) : [];
  return names.filter((name) => name.endsWith(".sqlite") && name !== ALARM_FILE);
}

function readIndex(
  world: StateWorld,
  folder: string,
  credentials: CredentialsFile | undefined,
): Outcome<IndexRecord | undefined, HostFailure> {
  const path = indexPath(folder);
  if (!world.files.exists(path)) return accept(undefined);
  const indexResult = readIndexFile(path, { nativeBinding: world.sqliteAddon() });
  const wasReady = credentials !== undefined && credentials.ready !== false;
  // A first start that was killed can leave an empty file.
  if (!indexResult.ok && indexResult.refusal.reason === "zero_bytes" && !wasReady) return accept(undefined);
  return fileOutcome(path, indexResult);
}

function findLostPart(
  world: StateWorld,
  folder: string,
  { credentials, index }: Pick<StateFiles, "credentials" | "index">,
): Outcome<void, HostFailure> {
  const keptIds = Object.keys(credentials?.stores ?? {});
  const isKnown = keptIds.length === 0 || keptIds.some((id) => index?.storeIds.includes(id));
  if (index === undefined || index.storeIds.length === 0 || !isKnown)
    return refuseLost(world, indexPath(folder), {
      content: `the list of all stores${keptIds[0] === undefined ? "" : `, with store ${printable(keptIds[0])}`}`,
      reference: credentials === undefined ? "databases of stores" : stateFile(folder, "credentials"),
    });
  const options = { nativeBinding: world.sqliteAddon() };
  const storeParts = index.storeIds.map((id) => ({
    path: storePath(folder, id),
    content: `store ${printable(id)}`,
    isInFile: (path: string) => isStoreInFile(path, id, options),
  }));
  const alarmParts = Object.values(OBJECT_CLASSES).map((objectClass) => ({
    path: join(stateFile(folder, "objects"), objectClass, ALARM_FILE),
    content: "the times of due deliveries",
    isInFile: (path: string) => isAlarmFile(path, options),
  }));
  for (const { path, content, isInFile } of [...storeParts, ...alarmParts]) {
    const check = world.files.exists(path) ? fileOutcome(path, isInFile(path)) : accept(false);
    if (!check.ok) return check;
    if (!check.value) return refuseLost(world, path, { content, reference: indexPath(folder) });
  }
  return accept(undefined);
}

function fileOutcome<Value>(path: string, result: Outcome<Value, FileRefusal>): Outcome<Value, HostFailure> {
  if (result.ok) return result;
  return { ok: false, refusal: { ...fileFailure("database", result.refusal), next: restoreText(path) } };
}

function refuseLost(
  { files }: Pick<StateWorld, "files">,
  path: string,
  { content, reference }: { readonly content: string; readonly reference: string },
): Outcome<never, HostFailure> {
  const stateText = files.exists(path) ? `does not contain ${content}` : `is missing: it contains ${content}`;
  return stateFailure({
    code: "state_file_missing",
    message: `${path} ${stateText}, to which ${reference} belongs; nothing was created or overwritten`,
    next: restoreText(path),
  });
}

function restoreText(path: string): string {
  return `restore ${path} with its log ${path}-wal from a backup, or move the folder away and start again`;
}

export function indexPath(folder: string): string {
  return join(stateFile(folder, "objects"), OBJECT_CLASSES.index, objectFileName("index", INDEX_NAME));
}

function storePath(folder: string, id: string): string {
  const name = objectName(markOfId(id) ?? MARK_COUNT);
  return join(stateFile(folder, "objects"), OBJECT_CLASSES.stores, objectFileName("stores", name));
}

/** Refuses links and other users' files: the runtime would follow a link and read another user's rows. */
function checkObjectFiles({ files }: Pick<World, "files">, folder: string): Outcome<void, HostFailure> {
  const objects = stateFile(folder, "objects");
  if (!files.exists(objects)) return accept(undefined);
  for (const name of files.list(objects)) {
    const objectPath = join(objects, name);
    const refusal = ownerFault(files, objectPath, "folder");
    if (refusal !== undefined) return refuseFolder(`${objectPath} ${refusal}`);
    for (const file of files.list(objectPath).map((fileName) => join(objectPath, fileName))) {
      const reason = ownerFault(files, file, "file");
      if (reason !== undefined) return refuseFolder(`${file} ${reason}`);
    }
  }
  return accept(undefined);
}
