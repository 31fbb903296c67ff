import { dirname, join, resolve } from "node:path";
import { accept, type Outcome } from "../core/outcome.ts";
import { MASTER_KEY_BYTES } from "../core/sealed-secret.ts";
import { parseCredentials, parseRun, type Credentials, type Run } from "../core/state-files.ts";
import type { World } from "../world.ts";
import { EXIT, type Problem } from "./problem.ts";

/** The folder's name in a project (design section 5). */
export const FOLDER_NAME = ".checkout";

const FILES = {
  database: "sandbox.db",
  journal: "journal.db",
  masterKey: "master.key",
  credentials: "credentials.json",
  run: "run.json",
} as const;

/** A path in a state folder. */
export function stateFile(folder: string, file: keyof typeof FILES): string {
  return join(folder, FILES[file]);
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

/** Makes the folder if it is not there: for its owner alone, and never committed. */
export function makeStateFolder(world: Pick<World, "files">, folder: string): void {
  world.files.makeFolder(folder);
  world.files.createNew(join(folder, ".gitignore"), "*\n");
}

export function readCredentials(
  world: Pick<World, "files">,
  folder: string,
): Outcome<Credentials | undefined, Problem> {
  return readWith(world, stateFile(folder, "credentials"), parseCredentials);
}

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
export function claimFolder(world: World, folder: string, adminToken: string): Outcome<Run, Problem> {
  const live = liveRun(world, folder);
  if (!live.ok) return live;
  const started = world.processStart(world.pid) ?? "";
  const run: Run = { pid: world.pid, started, port: null, base_url: null, admin_token: adminToken };
  const path = stateFile(folder, "run");
  if (live.value === undefined) world.files.remove(path);
  if (live.value === undefined && world.files.createNew(path, JSON.stringify(run))) return accept(run);
  const owner =
    live.value === undefined
      ? "another process"
      : `${live.value.base_url ?? "starting"} (pid ${live.value.pid})`;
  return {
    ok: false,
    refusal: {
      exitCode: EXIT.failed,
      code: "already_running",
      message: `a sandbox already serves ${folder}: ${owner}`,
      next: "use that one, stop it first, or start another with --dir or --ephemeral",
    },
  };
}

export function writeRun(world: Pick<World, "files">, folder: string, run: Run): void {
  world.files.write(stateFile(folder, "run"), `${JSON.stringify(run, null, 2)}\n`);
}

export function releaseFolder(world: Pick<World, "files">, folder: string): void {
  world.files.remove(stateFile(folder, "run"));
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
  return value === undefined ? unreadable(path, "what checkout wrote there") : accept(value);
}

function unreadable(path: string, expected: string): Outcome<never, Problem> {
  return {
    ok: false,
    refusal: {
      exitCode: EXIT.failed,
      code: "state_file_unreadable",
      message: `${path} does not hold ${expected}`,
      next: "restore it from a backup, or move the folder away and start anew",
    },
  };
}
