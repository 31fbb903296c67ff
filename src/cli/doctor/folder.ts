import { dirname } from "node:path";
import { SANDBOX_FILE } from "../../store/schema.ts";
import { JOURNAL_FILE } from "../../store/journal/journal.ts";
import { isToBeSetAside, REQUESTS_FILE } from "../../store/request/request-file.ts";
import { countUnreadable } from "../../store/request/requests.ts";
import { checkDatabase, type CheckOptions } from "../../store/connection/database-check.ts";
import type { World } from "../../world.ts";
import { ownerOfName, stateFile } from "../../host/folder/files.ts";
import {
  checkDatabaseIsThere,
  masterKey,
  readAdminToken,
  readCredentials,
} from "../../host/folder/state-folder.ts";
import { checkContents } from "../../host/folder/trust.ts";
import type { Problem } from "../problem.ts";
import { ok, problem, unknown, warning, type Check, type Finding } from "./check.ts";
import type { Scene } from "./scene.ts";

const MIB = 1024 * 1024;
/** Under this much free space, in bytes, a day of tests can fill the disk; under the other one, a start can. */
const LITTLE_SPACE = 200 * MIB;
const NO_SPACE = 4 * MIB;
/** Clocks and file systems differ by less than this, in milliseconds. */
const CLOCK_TOLERANCE_MS = 5000;
/** File systems on which other machines write too: the locks of SQLite do not hold there. */
const SHARED = new Set(["nfs", "cifs", "smb2", "9p"]);

/** Said of everything in a folder that is not read. */
const NOT_READ = "the state folder is not read";

/** Which state folder it is, who named it, and whether it is believed. */
export function lookAtFolder(scene: Scene): Finding {
  const { context, folder, trusted } = scene;
  const named = `${folder} (${sourceOf(scene)})`;
  const checked = trusted();
  if (!checked.ok) return ofProblem(checked.refusal);
  if (checked.value === "nothing") return ok(`${named}: not there; the first start makes it`);
  const contents = checkContents(context.world, folder);
  if (!contents.ok) return ofProblem(contents.refusal);
  const { fileSystem } = context.world.files.disk(folder);
  const on = `${named}, on ${fileSystem ?? "a file system that is not known by name"}`;
  if (fileSystem === undefined || !SHARED.has(fileSystem)) return ok(on);
  return warning(`${on}: locks do not hold there`, "name a folder on a disk of this machine with --dir");
}

function sourceOf({ context: { world }, options, folder }: Scene): string {
  const isFlag = world.argv.some((argument) => argument === "--dir" || argument.startsWith("--dir="));
  if (isFlag) return "--dir";
  if (options.dir !== undefined) return "CHECKOUT_DIR";
  if (dirname(folder) === world.cwd) return "in this folder";
  return "found upward";
}

/** Whether the files beside the databases hold what belongs there. */
export function lookAtFiles({ context: { world }, folder, trusted }: Scene): Finding {
  const checked = trusted();
  if (!checked.ok) return unknown(NOT_READ);
  if (checked.value !== "used") return ok("none yet");
  const isSeeded = world.files.exists(stateFile(folder, "database"));
  const refused = [
    readCredentials(world, folder),
    readAdminToken(world, folder),
    checkDatabaseIsThere(world, folder),
    // Where there is a database, its key is read and none is made.
    ...(isSeeded ? [masterKey(world, folder, "filled")] : []),
  ].find((read) => !read.ok);
  if (refused !== undefined && !refused.ok) return ofProblem(refused.refusal);
  return ok(
    world.files
      .list(folder)
      .filter((name) => ownerOfName(name) === "checkout")
      .toSorted()
      .join(", "),
  );
}

/** The databases of a folder. */
export const DATABASES: readonly Check[] = [
  { name: "sandbox.db", look: (scene) => lookAtDatabase(scene, { file: "database", kind: SANDBOX_FILE }) },
  { name: "journal.db", look: (scene) => lookAtDatabase(scene, { file: "journal", kind: JOURNAL_FILE }) },
  { name: "requests.db", look: lookAtRequests },
];

/** The log of requests mends itself; its lines are read as `explain` reads them. */
function lookAtRequests(scene: Scene): Finding {
  return lookAtDatabase(scene, { file: "requests", kind: REQUESTS_FILE, countUnreadable });
}

function lookAtDatabase(
  { context: { world }, folder, trusted }: Scene,
  {
    file,
    ...options
  }: Pick<CheckOptions, "kind" | "countUnreadable"> & {
    readonly file: "database" | "journal" | "requests";
  },
): Finding {
  if (!trusted().ok) return unknown(NOT_READ);
  const looked = checkDatabase(stateFile(folder, file), { ...options, nativeBinding: world.sqliteAddon() });
  if (!looked.ok) {
    const { message, remedy } = looked.refusal;
    const isMended = file === "requests" && isToBeSetAside(looked.refusal);
    return isMended ? warning(message, SET_ASIDE) : problem(message, remedy);
  }
  if (looked.value === undefined) return ok("not there yet");
  const { bytes, checked, format, unreadable } = looked.value;
  const size = `${(bytes / MIB).toFixed(1)} MiB with its log`;
  if (unreadable > 0)
    return warning(
      `${size}; ${unreadable} lines of it are no requests, and are left out of every list`,
      "nothing has to be done; to begin a new one, move the file away",
    );
  if (checked === "whole") return ok(`format ${format}, ${size}; every page is sound`);
  if (checked === "head") return ok(`${size}; too large to check every page, its head and log are its own`);
  return unknown(`${size}; it changed under every look`, "run checkout doctor again when less is written");
}

/** What becomes of a damaged log of requests. */
const SET_ASIDE =
  "nothing has to be done: the sandbox sets it aside, and begins a new one, when it next uses it";

/** Whether there is room on the disk, and whether this user may write there. */
export function lookAtDisk({ context: { world }, folder }: Scene): Finding {
  const place = nearest(world, folder);
  const { freeBytes, isWritable } = world.files.disk(place);
  const found = `${Math.floor(freeBytes / MIB)} MiB free at ${place}`;
  if (!isWritable)
    return problem(
      `${place} cannot be written`,
      "check its owner and mode, or name another folder with --dir",
    );
  if (freeBytes < NO_SPACE) return problem(found, "free some disk space");
  return freeBytes < LITTLE_SPACE ? warning(found, "free some disk space") : ok(found);
}

/** A path, or the nearest folder above it that is there. */
function nearest({ files }: Pick<World, "files">, path: string): string {
  return files.exists(path) || dirname(path) === path ? path : nearest({ files }, dirname(path));
}

/** Whether the clock of this machine is behind the times of the files, which it wrote itself. */
export function lookAtClock({ context: { world }, folder, trusted }: Scene): Finding {
  const now = world.now();
  const at = new Date(now).toISOString();
  const checked = trusted();
  if (!checked.ok || checked.value !== "used") return ok(at);
  const names = world.files.list(folder).filter((name) => ownerOfName(name) === "checkout");
  const times = names.map((name) => world.files.look(`${folder}/${name}`)?.changedAt ?? 0);
  const aheadMs = Math.max(0, ...times) - now;
  if (aheadMs <= CLOCK_TOLERANCE_MS) return ok(at);
  return warning(
    `${at}, but a file of the state was written ${Math.round(aheadMs / 1000)} s after that`,
    "set the clock of this machine; webhooks are refused when it is more than 300 s off",
  );
}

/** What a command would say. */
export function ofProblem({ message, next }: Pick<Problem, "message" | "next">): Finding {
  return problem(message, next);
}
