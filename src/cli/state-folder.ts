import { localOrigin } from "../core/loopback.ts";
import { dirname, join, resolve } from "node:path";
import { CONTROL_TOKEN_BYTES, TOKEN_PREFIXES } from "../core/control/control-token.ts";
import type { ControlRole } from "../core/control/operation.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { MASTER_KEY_BYTES } from "../core/sealed-secret.ts";
import { parseAdmin, parseCredentials, parseRun, type Credentials, type Run } from "../core/state-files.ts";
import type { World } from "../world.ts";
import { claimFile, removeTakeovers } from "./sandbox/owner-file.ts";
import { EXIT, fail, type Problem } from "./problem.ts";

/** The folder's name in a project (decision 54). */
const FOLDER_NAME = ".checkout";

/** What the state folder's own .gitignore holds: it is never committed. */
const IGNORE_ALL = "*\n";

const FILES = {
  database: "sandbox.db",
  journal: "journal.db",
  masterKey: "master.key",
  credentials: "credentials.json",
  admin: "admin.json",
  run: "run.json",
} as const;

/** Only development versions, before 0.1.0 was released, had a file of this name. */
const DEVELOPMENT_FILE = "administrator.json";

/** A path in a state folder. */
export function stateFile(folder: string, file: keyof typeof FILES): string {
  return join(folder, FILES[file]);
}

/** A path as people read it: from here, where it is below here. */
export function shortPath({ cwd }: Pick<World, "cwd">, path: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}

/** The state folder: as named, or `.checkout` here or in a folder above, or else the one to be made here. */
export function locateStateFolder(world: Pick<World, "cwd" | "files">, named?: string): string {
  if (named !== undefined) return resolve(world.cwd, named);
  for (let folder = world.cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, FOLDER_NAME);
    if (world.files.exists(candidate)) return candidate;
    if (dirname(folder) === folder) return join(world.cwd, FOLDER_NAME);
  }
}

/**
 * Makes the folder if it is not there: for its owner alone, and never committed. Refuses one that somebody else could
 * have put there, and one that holds other things: `--dir .` must not turn a project into a state folder.
 */
export function makeStateFolder(world: Pick<World, "files">, folder: string): Outcome<void, Problem> {
  const { files } = world;
  const trusted = trustFolder(world, folder);
  if (!trusted.ok) return trusted;
  const ignore = join(folder, ".gitignore");
  if (files.kindOf(folder) === "nothing") files.makeFolder(folder);
  else {
    const names = files.list(folder);
    if (names.includes(DEVELOPMENT_FILE)) return developmentFolder(folder);
    if (names.some((name) => !isOurs(name))) return foreignFolder(folder, "contains other files");
  }
  files.removeUnfinished(folder);
  files.createNew(ignore, IGNORE_ALL);
  for (const file of Object.values(FILES)) files.makePrivate(join(folder, file));
  return accept(undefined);
}

/** Refuses a folder that is none, a link, or open to other users: what stands in it decides where keys are sent. */
export function trustFolder({ files }: Pick<World, "files">, folder: string): Outcome<void, Problem> {
  const kind = files.kindOf(folder);
  if (kind === "no_folder") return foreignFolder(folder, "is a file or a link, not a folder");
  if (kind === "shared_folder")
    return foreignFolder(folder, "belongs to another user, or others can write to it");
  return accept(undefined);
}

/** The merchant's copy of what the sandbox showed once; undefined where there is none. */
export function readCredentials(
  world: Pick<World, "files">,
  folder: string,
): Outcome<Credentials | undefined, Problem> {
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

/** The key that signing secrets are sealed with; made on first use, beside the database and never in it (decision 16). */
export function masterKey(
  world: Pick<World, "files" | "randomBytes">,
  folder: string,
): Outcome<Uint8Array, Problem> {
  const path = stateFile(folder, "masterKey");
  world.files.createNew(path, `${Buffer.from(world.randomBytes(MASTER_KEY_BYTES)).toString("hex")}\n`);
  const text = world.files.read(path)?.trim() ?? "";
  if (/^[0-9a-f]{64}$/.test(text)) return accept(new Uint8Array(Buffer.from(text, "hex")));
  return unreadable(path, "64 hexadecimal digits");
}

/** The admin token of a folder; undefined where no sandbox was started there yet. */
export function readAdminToken(
  world: Pick<World, "files">,
  folder: string,
): Outcome<string | undefined, Problem> {
  const read = readWith(world, stateFile(folder, "admin"), parseAdmin);
  return read.ok ? accept(read.value?.admin_token) : read;
}

/** The same, created on first use and kept over restarts. */
export function adminToken(
  world: Pick<World, "files" | "randomBytes">,
  folder: string,
): Outcome<string, Problem> {
  const path = stateFile(folder, "admin");
  const token = newToken(world, "administrator");
  world.files.createNew(path, `${JSON.stringify({ admin_token: token }, null, 2)}\n`);
  const kept = readAdminToken(world, folder);
  if (!kept.ok) return kept;
  return kept.value === undefined ? unreadable(path, "what checkout wrote to it") : accept(kept.value);
}

/** A token that nobody can guess. */
export function newToken({ randomBytes }: Pick<World, "randomBytes">, role: ControlRole): string {
  return TOKEN_PREFIXES[role] + Buffer.from(randomBytes(CONTROL_TOKEN_BYTES)).toString("base64url");
}

/** The live sandbox of a folder; undefined where none runs, also where one was killed. */
export function liveRun(
  world: Pick<World, "files" | "processStart">,
  folder: string,
): Outcome<Run | undefined, Problem> {
  const read = readWith(world, stateFile(folder, "run"), parseRun);
  if (!read.ok || read.value === undefined) return read;
  return accept(world.processStart(read.value.pid) === read.value.started ? read.value : undefined);
}

/**
 * Takes the folder for this process; refuses while another sandbox serves it. A lock for convenience: the database
 * stays right without it.
 */
export function claimFolder(world: World, folder: string, controlToken: string): Outcome<Run, Problem> {
  const started = world.processStart(world.pid) ?? "";
  const run: Run = { pid: world.pid, started, port: null, control_token: controlToken };
  const path = stateFile(folder, "run");
  const claim = claimFile(world, path, { text: JSON.stringify(run), ...run });
  if (claim === "unknown") return unreadable(path, "what checkout wrote to it");
  if (claim === "own") {
    removeTakeovers(world, path);
    return accept(run);
  }
  const live = liveRun(world, folder);
  const where = live.ok && live.value !== undefined ? baseUrlOf(live.value) : undefined;
  return fail({
    exitCode: EXIT.failed,
    code: "already_running",
    message: `a sandbox already serves ${folder}: ${where ?? "starting"} (pid ${claim.pid})`,
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
export function releaseFolder(world: Pick<World, "files">, folder: string, controlToken: string): void {
  const path = stateFile(folder, "run");
  if (parseRun(world.files.read(path) ?? "")?.control_token === controlToken) world.files.remove(path);
}

/** A file that is missing, or that a crash left empty, says nothing; any other must be what was written. */
function readWith<Value>(
  world: Pick<World, "files">,
  path: string,
  parse: (text: string) => Value | undefined,
): Outcome<Value | undefined, Problem> {
  const text = world.files.read(path);
  if (text === undefined || text === "") return accept(undefined);
  const value = parse(text);
  return value === undefined ? unreadable(path, "what checkout wrote to it") : accept(value);
}

/** Whether a name in a state folder is one that checkout gives, with SQLite's and our own endings. */
function isOurs(name: string): boolean {
  return [".gitignore", ...Object.values(FILES)].some(
    (file) => name === file || (/^[-.]/.test(name.slice(file.length)) && name.startsWith(file)),
  );
}

function foreignFolder(folder: string, why: string): Outcome<never, Problem> {
  return fail({
    exitCode: EXIT.failed,
    code: "state_folder_refused",
    message: `${folder} ${why}; nothing was read from it or written to it`,
    next: "name another folder with --dir, or move this one away",
  });
}

/** As its database is refused; said first, because the folder is looked at first. */
function developmentFolder(folder: string): Outcome<never, Problem> {
  return fail({
    exitCode: EXIT.failed,
    code: "state_folder_development_version",
    message: `${folder} was made by a development version of checkout; nothing was written to it`,
    next: "move it away, or use a new folder with --dir",
  });
}

function unreadable(path: string, expected: string): Outcome<never, Problem> {
  return fail({
    exitCode: EXIT.failed,
    code: "state_file_unreadable",
    message: `${path} does not hold ${expected}`,
    next: "restore it from a backup, or move the folder away and start again",
  });
}
