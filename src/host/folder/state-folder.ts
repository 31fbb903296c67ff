import { localOrigin } from "../../core/loopback.ts";
import { join } from "node:path";
import { CONTROL_TOKEN_BYTES, TOKEN_PREFIXES, type ControlRole } from "../../core/control/protocol.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import {
  MASTER_KEY_BYTES,
  parseAdmin,
  parseChosenStore,
  parseCredentials,
  parseRunRecord,
  parseRunOwner,
  type CredentialsFile,
  type RunRecord,
  type RunOwner,
} from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { IGNORE_ALL, IGNORE_FILE, stateFile } from "./files.ts";
import { FOLDER_NAME, locateStateFolder } from "./location.ts";
import { printable } from "../../core/text.ts";
import { checkContents, checkFolderTrust, type TrustOptions } from "./trust.ts";
import { claimFile, isRunningOwner } from "./owner-file.ts";
import { stateFailure, usageFailure, type HostFailure } from "../failure.ts";

type FolderOptions = TrustOptions & { readonly dir?: string };

export function shortPath({ cwd }: Pick<World, "cwd">, path: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}

export function stateFolderHint({ files }: Pick<World, "files">, folder: string): string {
  const innerFolder = join(folder, FOLDER_NAME);
  return files.exists(innerFolder) ? `; the state folder is ${innerFolder}: name this path with --dir` : "";
}

export function findStateFolder(
  world: Pick<World, "cwd" | "files">,
  options: FolderOptions,
): Outcome<string, HostFailure> {
  const folder = locateStateFolder(world, options.dir);
  return mapValue(checkFolderTrust(world, folder, options), () => folder);
}

export function makeStateFolder(
  world: Pick<World, "files">,
  folder: string,
  options: TrustOptions,
): Outcome<void, HostFailure> {
  const { files } = world;
  const trust = checkFolderTrust(world, folder, options);
  if (!trust.ok) return trust;
  if (trust.value === "nothing") files.makeFolder(folder);
  else {
    const contents = checkContents(world, folder);
    if (!contents.ok) return contents;
    if (trust.value === "vacant" && options.trustFolder !== true) files.makePrivate(folder);
  }
  files.removeUnfinishedFiles(folder);
  files.createNew(join(folder, IGNORE_FILE), IGNORE_ALL);
  // Checked again after the modes were set, because some file systems do not store modes.
  return mapValue(trust.value === "used" ? trust : checkFolderTrust(world, folder, options), () => undefined);
}

export const readCredentials = readerOf("credentials", parseCredentials);

export function writeCredentials(
  world: Pick<World, "files">,
  folder: string,
  credentials: CredentialsFile,
): void {
  world.files.write(stateFile(folder, "credentials"), `${JSON.stringify(credentials, null, 2)}\n`);
}

export const readChosenStore = readerOf("store", (text) => parseChosenStore(text)?.store_id);

/** In its own file: the sandbox writes credentials.json, and a second writer could lose a key. */
export function writeChosenStore(world: Pick<World, "files">, folder: string, storeId: string): void {
  world.files.write(stateFile(folder, "store"), `${JSON.stringify({ store_id: storeId }, null, 2)}\n`);
}

/** Removes the store's key, and the default store if this store is the default. Leaves unreadable files unchanged. */
export function forgetStoreKey(world: Pick<World, "files">, folder: string, storeId: string): void {
  const chosenStore = readChosenStore(world, folder);
  if (chosenStore.ok && chosenStore.value === storeId) world.files.remove(stateFile(folder, "store"));
  const keptCredentials = readCredentials(world, folder);
  if (!keptCredentials.ok || keptCredentials.value?.stores[storeId] === undefined) return;
  const { [storeId]: _dropped, ...stores } = keptCredentials.value.stores;
  writeCredentials(world, folder, { ...keptCredentials.value, stores });
}

/** Refuses an empty database if `credentials.json` names a store that was ready: the database's log was lost. */
export function requireStoreInFolder(
  folder: string,
  credentials: CredentialsFile | undefined,
): Outcome<void, HostFailure> {
  const [lostStore] = Object.keys(credentials?.stores ?? {});
  if (lostStore === undefined || credentials?.ready === false) return accept(undefined);
  const database = stateFile(folder, "database");
  const message = `${database} does not contain store ${printable(lostStore)}, which ${stateFile(folder, "credentials")} names: its log ${database}-wal was removed or emptied; nothing was created or overwritten`;
  const next = `restore ${database} and ${database}-wal from one backup, or move the folder away and start again`;
  return stateFailure({ code: "state_file_missing", message, next });
}

/** The key is kept outside the database (decision 16). A missing key is generated only for an empty database. */
export function readOrCreateMasterKey(
  world: Pick<World, "files" | "randomBytes">,
  folder: string,
  databaseContent: "empty" | "filled",
): Outcome<Uint8Array, HostFailure> {
  const path = stateFile(folder, "masterKey");
  if (databaseContent === "empty")
    writeIfMissing(world, path, `${Buffer.from(world.randomBytes(MASTER_KEY_BYTES)).toString("hex")}\n`);
  const text = world.files.read(path)?.trim();
  if (text === undefined)
    return refuseMissing(path, "the signing secrets in sandbox.db cannot be read without it");
  if (/^[0-9a-f]{64}$/.test(text)) return accept(new Uint8Array(Buffer.from(text, "hex")));
  return refuseContent(path, "64 hexadecimal digits");
}

export function hostedCommand({ files }: Pick<World, "files">, folder: string): string | undefined {
  return files.exists(stateFile(folder, "objects")) ? "checkout hosted dev" : undefined;
}

/**
 * Refuses a folder without a database but with files that are created after the database, and the state of a hosted
 * service.
 */
export function requireDatabase(world: Pick<World, "files">, folder: string): Outcome<void, HostFailure> {
  const { files } = world;
  const otherCommand = hostedCommand(world, folder);
  if (otherCommand !== undefined)
    return usageFailure(
      `${folder} has the state of ${otherCommand}, which a sandbox cannot use`,
      `name another folder with --dir, or run ${otherCommand}`,
    );
  const path = stateFile(folder, "database");
  if (files.exists(path)) return accept(undefined);
  const laterFiles = [stateFile(folder, "masterKey"), stateFile(folder, "credentials")];
  const laterFile = laterFiles.find((file) => files.exists(file));
  if (laterFile === undefined) return accept(undefined);
  return refuseMissing(path, `${laterFile}, which belongs to it, exists`);
}

export const readAdminToken = readerOf("admin", (text) => parseAdmin(text)?.admin_token);

/** Returns the folder's token, which the first start takes from the environment or generates. */
export function readOrCreateAdminToken(
  world: Pick<World, "files" | "randomBytes">,
  folder: string,
  givenToken: string | undefined,
): Outcome<string, HostFailure> {
  const path = stateFile(folder, "admin");
  const token = givenToken ?? newToken(world, "administrator");
  writeIfMissing(world, path, `${JSON.stringify({ admin_token: token }, null, 2)}\n`);
  const keptToken = readAdminToken(world, folder);
  if (!keptToken.ok) return keptToken;
  return keptToken.value === undefined ? refuseContent(path, STATE_DATA) : accept(keptToken.value);
}

/**
 * Not `createNew`: with `write`, the file has its name only when it is complete, even on file systems without links
 * (decision 62).
 */
function writeIfMissing({ files }: Pick<World, "files">, path: string, content: string): void {
  if (files.stat(path) === undefined) files.write(path, content);
}

export function newToken({ randomBytes }: Pick<World, "randomBytes">, role: ControlRole): string {
  return TOKEN_PREFIXES[role] + Buffer.from(randomBytes(CONTROL_TOKEN_BYTES)).toString("base64url");
}

export function findRunRecord(
  world: Pick<World, "files" | "processStartTime">,
  folder: string,
): Outcome<RunRecord | undefined, HostFailure> {
  const path = stateFile(folder, "run");
  const text = world.files.read(path);
  if (text === undefined) return accept(undefined);
  const run = parseRunRecord(text);
  // Without a folder, run.json is from an older version and may be a copy, even if its process is running.
  if (run !== undefined)
    return accept(
      run.folder === idOf(world, folder) && isRunningOwner(world, run, run.folder) ? run : undefined,
    );
  const owner = parseRunOwner(text);
  const isRunning = owner !== undefined && isRunningOwner(world, owner, idOf(world, folder));
  return isRunning ? refuseOtherVersion(path, owner) : accept(undefined);
}

function idOf({ files }: Pick<World, "files">, folder: string): string {
  return files.stat(folder)?.id ?? "";
}

export function claimFolder(
  world: Pick<World, "files" | "pid" | "processStartTime">,
  folder: string,
  runFields: Pick<RunRecord, "control_token" | "is_guest" | "host">,
): Outcome<RunRecord, HostFailure> {
  const started = world.processStartTime(world.pid) ?? "";
  const ownFields = { pid: world.pid, started, folder: idOf(world, folder) };
  const run: RunRecord = { ...ownFields, port: null, ...runFields };
  const path = stateFile(folder, "run");
  const owner = claimFile(world, path, { text: JSON.stringify(run), folder: ownFields.folder });
  return owner === undefined ? accept(run) : refuseServedFolder(world, folder, owner.pid);
}

export function refuseServedFolder(
  { files }: Pick<World, "files">,
  folder: string,
  ownerPid?: number,
): Outcome<never, HostFailure> {
  const text = files.read(stateFile(folder, "run"));
  const servingRun = text === undefined ? undefined : parseRunRecord(text);
  const pid = ownerPid ?? servingRun?.pid;
  const servedUrl = servingRun === undefined ? undefined : baseUrlOf(servingRun);
  const isOther = text !== undefined && servingRun === undefined;
  const stateText = servedUrl ?? (isOther ? "another version of checkout" : "starting");
  return stateFailure({
    code: "already_running",
    message: `a sandbox already serves ${folder}: ${stateText}${pid === undefined ? "" : ` (pid ${pid})`}`,
    next: "use it, stop it, or start another one with --dir or --ephemeral",
  });
}

export function baseUrlOf({ port }: RunRecord): string | undefined {
  return port === null ? undefined : `${localOrigin(port)}/v1`;
}

export function writeRunRecord(world: Pick<World, "files">, folder: string, run: RunRecord): void {
  const text = `${JSON.stringify(run, null, 2)}\n`;
  world.files.write(stateFile(folder, "run"), text, { endsWithProcess: true });
}

export function releaseFolder(world: Pick<World, "files">, folder: string, ownRun: RunRecord): void {
  const path = stateFile(folder, "run");
  const run = parseRunRecord(world.files.read(path) ?? "");
  if (run?.pid === ownRun.pid && run.started === ownRun.started && run.folder === ownRun.folder)
    world.files.remove(path);
}

function readerOf<Value>(name: Parameters<typeof stateFile>[1], parse: (text: string) => Value | undefined) {
  return (world: Pick<World, "files">, folder: string): Outcome<Value | undefined, HostFailure> => {
    const path = stateFile(folder, name);
    const text = world.files.read(path);
    if (text === undefined) return accept(undefined);
    const value = parse(text);
    return value === undefined ? refuseContent(path, STATE_DATA) : accept(value);
  };
}

const STATE_DATA = "the data that checkout writes to it";

function refuseMissing(path: string, reason: string): Outcome<never, HostFailure> {
  return stateFailure({
    code: "state_file_missing",
    message: `${path} is missing: ${reason}; no new file was created`,
    next: "restore it from a backup, or move the folder away and start again",
  });
}

/** This version cannot read the file, so without a refusal the running sandbox would go unnoticed. */
function refuseOtherVersion(path: string, { pid }: RunOwner): Outcome<never, HostFailure> {
  return stateFailure({
    code: "state_file_unreadable",
    message: `${path} has the format of another version of checkout, whose sandbox is running (pid ${pid})`,
    next: "stop it with that version, or use another folder with --dir",
  });
}

function refuseContent(path: string, expectedText: string): Outcome<never, HostFailure> {
  return stateFailure({
    code: "state_file_unreadable",
    message: `${path} does not contain ${expectedText}`,
    next: "restore it from a backup, or move the folder away and start again",
  });
}
