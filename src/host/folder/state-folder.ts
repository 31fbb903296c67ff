import { localOrigin } from "../../core/loopback.ts";
import { dirname, join, resolve } from "node:path";
import { CONFIG_FILE } from "../../core/config/file-name.ts";
import { CONTROL_TOKEN_BYTES, TOKEN_PREFIXES, type ControlRole } from "../../core/control/protocol.ts";
import { accept, mapped, type Outcome } from "../../core/outcome.ts";
import {
  MASTER_KEY_BYTES,
  parseAdmin,
  parseChosenStore,
  parseCredentials,
  parseRun,
  parseRunOwner,
  type Credentials,
  type Run,
  type RunOwner,
} from "../../core/state-files.ts";
import type { World } from "../../world.ts";
import { IGNORE_ALL, IGNORE_FILE, stateFile } from "./files.ts";
import { printable } from "../../core/text.ts";
import { checkContents, checkFolder, type TrustOptions } from "./trust.ts";
import { claimFile, removeTakeovers, serves } from "./owner-file.ts";
import { failed, type HostFailure } from "../failure.ts";

/** The folder's name in a project (decision 54). */
const FOLDER_NAME = ".checkout";

/** Which state folder a command uses, and how it is looked at. */
type FolderOptions = TrustOptions & { readonly dir?: string };

/** A path as people read it: from here, where it is below here. */
export function shortPath({ cwd }: Pick<World, "cwd">, path: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}

/**
 * The path of the state folder: as named, or `.checkout` here or in a folder above, or else the one to be made here. A
 * configuration marks a project: a folder above it is another project's, and the one to be made is beside it.
 */
export function locateStateFolder(world: Pick<World, "cwd" | "files">, named?: string): string {
  if (named !== undefined) return resolve(world.cwd, named);
  for (let folder = world.cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, FOLDER_NAME);
    if (world.files.exists(candidate) || world.files.exists(join(folder, CONFIG_FILE))) return candidate;
    if (dirname(folder) === folder) return join(world.cwd, FOLDER_NAME);
  }
}

/** Says where the state folder is, for whoever named the folder that it is in; empty where there is none in it. */
export function stateFolderWithin({ files }: Pick<World, "files">, folder: string): string {
  const within = join(folder, FOLDER_NAME);
  return files.exists(within) ? `; the state folder there is ${within}: name that with --dir` : "";
}

/** The state folder of a command, which may not be there yet. Refuses one that somebody else could have filled. */
export function findStateFolder(
  world: Pick<World, "cwd" | "files">,
  options: FolderOptions,
): Outcome<string, HostFailure> {
  const folder = locateStateFolder(world, options.dir);
  return mapped(checkFolder(world, folder, options), () => folder);
}

/**
 * Makes the folder if it is not there: for its owner alone, and never committed. Refuses one that somebody else could
 * have filled, and one that holds other things.
 */
export function makeStateFolder(
  world: Pick<World, "files">,
  folder: string,
  options: TrustOptions,
): Outcome<void, HostFailure> {
  const { files } = world;
  const checked = checkFolder(world, folder, options);
  if (!checked.ok) return checked;
  if (checked.value === "nothing") files.makeFolder(folder);
  else {
    const contents = checkContents(world, folder);
    if (!contents.ok) return contents;
    if (checked.value === "vacant" && options.trustFolder !== true) files.makePrivate(folder);
  }
  files.removeUnfinished(folder);
  files.createNew(join(folder, IGNORE_FILE), IGNORE_ALL);
  // Again, now that something is in it: some file systems keep no modes.
  return mapped(checked.value === "used" ? checked : checkFolder(world, folder, options), () => undefined);
}

/** The merchant's copy of what the sandbox showed once; undefined where there is none. */
export function readCredentials(
  world: Pick<World, "files">,
  folder: string,
): Outcome<Credentials | undefined, HostFailure> {
  return readWith(world, stateFile(folder, "credentials"), parseCredentials);
}

/** Keeps the merchant's copy; replaces an older one whole. */
export function writeCredentials(
  world: Pick<World, "files">,
  folder: string,
  credentials: Credentials,
): void {
  world.files.write(stateFile(folder, "credentials"), `${JSON.stringify(credentials, null, 2)}\n`);
}

/** The id of the store that `checkout stores use` chose for a folder; undefined where it chose none. */
export function readChosenStore(
  world: Pick<World, "files">,
  folder: string,
): Outcome<string | undefined, HostFailure> {
  return mapped(readWith(world, stateFile(folder, "store"), parseChosenStore), (read) => read?.store_id);
}

/** Chooses a store for a folder. A file of its own: the sandbox writes credentials.json, and two writers would lose a key. */
export function writeChosenStore(world: Pick<World, "files">, folder: string, storeId: string): void {
  world.files.write(stateFile(folder, "store"), `${JSON.stringify({ store_id: storeId }, null, 2)}\n`);
}

/** Takes a deleted store out of the files of a folder: its key, and that it was chosen. What cannot be read stays as it is. */
export function dropStore(world: Pick<World, "files">, folder: string, storeId: string): void {
  const chosen = readChosenStore(world, folder);
  if (chosen.ok && chosen.value === storeId) world.files.remove(stateFile(folder, "store"));
  const kept = readCredentials(world, folder);
  if (!kept.ok || kept.value?.stores[storeId] === undefined) return;
  const { [storeId]: _dropped, ...stores } = kept.value.stores;
  writeCredentials(world, folder, { ...kept.value, stores });
}

/**
 * Refuses a database without a store where `credentials.json` names one: the store has been lost with the log of the
 * database. A start that was never ready lost nothing, and is finished by the next one.
 */
export function checkStoreIsThere(
  folder: string,
  credentials: Credentials | undefined,
): Outcome<void, HostFailure> {
  const [lost] = Object.keys(credentials?.stores ?? {});
  if (lost === undefined || credentials?.ready === false) return accept(undefined);
  const database = stateFile(folder, "database");
  const message = `${database} does not hold store ${printable(lost)}, which ${stateFile(folder, "credentials")} names: its log ${database}-wal was removed or emptied; nothing was made and nothing overwritten`;
  const next = `restore ${database} and ${database}-wal from one backup, or move the folder away and start again`;
  return failed({ code: "state_file_missing", message, next });
}

/**
 * The key that signing secrets are sealed with, beside the database and never in it (decision 16). It is made for an
 * empty database, so one that is missing beside any other has been lost.
 */
export function masterKey(
  world: Pick<World, "files" | "randomBytes">,
  folder: string,
  database: "empty" | "filled",
): Outcome<Uint8Array, HostFailure> {
  const path = stateFile(folder, "masterKey");
  if (database === "empty")
    world.files.createNew(path, `${Buffer.from(world.randomBytes(MASTER_KEY_BYTES)).toString("hex")}\n`);
  const text = world.files.read(path)?.trim();
  if (text === undefined) return missing(path, "the signing secrets in sandbox.db cannot be read without it");
  if (/^[0-9a-f]{64}$/.test(text)) return accept(new Uint8Array(Buffer.from(text, "hex")));
  return unreadable(path, "64 hexadecimal digits");
}

/** Refuses a folder that has lost its database: the files beside it are made after it. */
export function checkDatabaseIsThere(
  { files }: Pick<World, "files">,
  folder: string,
): Outcome<void, HostFailure> {
  const path = stateFile(folder, "database");
  if (files.exists(path)) return accept(undefined);
  const later = [stateFile(folder, "masterKey"), stateFile(folder, "credentials")];
  const beside = later.find((file) => files.exists(file));
  if (beside === undefined) return accept(undefined);
  return missing(path, `${beside} is there, which belongs to it`);
}

/** The admin token of a folder; undefined where no sandbox was started there yet. */
export function readAdminToken(
  world: Pick<World, "files">,
  folder: string,
): Outcome<string | undefined, HostFailure> {
  return mapped(readWith(world, stateFile(folder, "admin"), parseAdmin), (read) => read?.admin_token);
}

/** The same, created on first use, from what was given if anything was, and kept over restarts. */
export function adminToken(
  world: Pick<World, "files" | "randomBytes">,
  folder: string,
  given: string | undefined,
): Outcome<string, HostFailure> {
  const path = stateFile(folder, "admin");
  const token = given ?? newToken(world, "administrator");
  world.files.createNew(path, `${JSON.stringify({ admin_token: token }, null, 2)}\n`);
  const kept = readAdminToken(world, folder);
  if (!kept.ok) return kept;
  return kept.value === undefined ? unreadable(path, "what checkout wrote to it") : accept(kept.value);
}

/** A token that nobody can guess. */
export function newToken({ randomBytes }: Pick<World, "randomBytes">, role: ControlRole): string {
  return TOKEN_PREFIXES[role] + Buffer.from(randomBytes(CONTROL_TOKEN_BYTES)).toString("base64url");
}

/**
 * The live sandbox of a folder; undefined where none runs, also where one was killed, or serves what this is a copy of.
 * Refuses a run.json that it cannot read, of a process that runs: it is of another version.
 */
export function liveRun(
  world: Pick<World, "files" | "processStart">,
  folder: string,
): Outcome<Run | undefined, HostFailure> {
  const path = stateFile(folder, "run");
  const text = world.files.read(path);
  const run = text === undefined ? undefined : parseRun(text);
  if (run === undefined) {
    const owner = text === undefined ? undefined : parseRunOwner(text);
    const isLive = owner !== undefined && serves(world, owner, idOf(world, folder));
    return isLive ? ofAnotherVersion(path, owner) : accept(undefined);
  }
  // One that names no folder is an older version's: its lock counts, but it may have been copied, or come from elsewhere.
  const isOfFolder = run.folder === idOf(world, folder) && serves(world, run, run.folder);
  return accept(isOfFolder ? run : undefined);
}

function idOf({ files }: Pick<World, "files">, folder: string): string {
  return files.look(folder)?.id ?? "";
}

/**
 * Takes the folder for this process; refuses while another sandbox serves it. A lock for convenience: the database
 * stays right without it.
 */
export function claimFolder(
  world: Pick<World, "files" | "pid" | "processStart">,
  folder: string,
  told: Pick<Run, "control_token" | "is_guest">,
): Outcome<Run, HostFailure> {
  const started = world.processStart(world.pid) ?? "";
  const own = { pid: world.pid, started, folder: idOf(world, folder) };
  const run: Run = { ...own, port: null, ...told };
  const path = stateFile(folder, "run");
  const claim = claimFile(world, path, { text: JSON.stringify(run), ...own });
  if (claim === "own") {
    removeTakeovers(world, path, own.folder);
    return accept(run);
  }
  const text = world.files.read(path);
  const serving = text === undefined ? undefined : parseRun(text);
  const where = serving === undefined ? undefined : baseUrlOf(serving);
  const isOther = text !== undefined && serving === undefined;
  const how = where ?? (isOther ? "another version of checkout" : "starting");
  return failed({
    code: "already_running",
    message: `a sandbox already serves ${folder}: ${how} (pid ${claim.pid})`,
    next: "use it, stop it, or start another one with --dir or --ephemeral",
  });
}

/** Where a sandbox is served: always this machine, whatever the file says. Undefined while it starts. */
export function baseUrlOf({ port }: Run): string | undefined {
  return port === null ? undefined : `${localOrigin(port)}/v1`;
}

/** Tells other processes where this one serves. */
export function writeRun(world: Pick<World, "files">, folder: string, run: Run): void {
  world.files.write(stateFile(folder, "run"), `${JSON.stringify(run, null, 2)}\n`);
}

/** Gives the folder back, unless somebody else has taken it meanwhile. */
export function releaseFolder(world: Pick<World, "files">, folder: string, own: Run): void {
  const path = stateFile(folder, "run");
  const run = parseRun(world.files.read(path) ?? "");
  if (run?.pid === own.pid && run.started === own.started && run.folder === own.folder)
    world.files.remove(path);
}

/** A file that is missing, or that a crash left empty, says nothing; any other must be what was written. */
function readWith<Value>(
  world: Pick<World, "files">,
  path: string,
  parse: (text: string) => Value | undefined,
): Outcome<Value | undefined, HostFailure> {
  const text = world.files.read(path);
  if (text === undefined || text === "") return accept(undefined);
  const value = parse(text);
  return value === undefined ? unreadable(path, "what checkout wrote to it") : accept(value);
}

function missing(path: string, why: string): Outcome<never, HostFailure> {
  return failed({
    code: "state_file_missing",
    message: `${path} is missing: ${why}; no new one was made`,
    next: "restore it from a backup, or move the folder away and start again",
  });
}

/** Nothing is wrong with the file: moving it away would leave its sandbox running unseen. */
function ofAnotherVersion(path: string, { pid }: RunOwner): Outcome<never, HostFailure> {
  return failed({
    code: "state_file_unreadable",
    message: `${path} is of another version of checkout, whose sandbox runs (pid ${pid})`,
    next: "stop it with that version, or use another folder with --dir",
  });
}

function unreadable(path: string, expected: string): Outcome<never, HostFailure> {
  return failed({
    code: "state_file_unreadable",
    message: `${path} does not hold ${expected}`,
    next: "restore it from a backup, or move the folder away and start again",
  });
}
