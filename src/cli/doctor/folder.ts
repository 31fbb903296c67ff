import { dirname } from "node:path";
import { SANDBOX_FILE } from "../../store/schema.ts";
import { JOURNAL_FILE } from "../../store/journal/journal.ts";
import { mustBeSetAside, REQUESTS_FILE } from "../../store/request/request-file.ts";
import { countUnreadable } from "../../store/request/requests.ts";
import { checkDatabase, type CheckOptions } from "../../store/connection/database-check.ts";
import type { World } from "../../world.ts";
import { ownerOfName, stateFile } from "../../host/folder/files.ts";
import {
  checkDatabaseIsThere,
  isHostedFolder,
  readOrCreateMasterKey,
  readAdminToken,
  readCredentials,
} from "../../host/folder/state-folder.ts";
import { readHostedState } from "../../host/hosted/state.ts";
import { checkContents } from "../../host/folder/trust.ts";
import type { Problem } from "../problem.ts";
import {
  okFinding,
  problemFinding,
  unknownFinding,
  warningFinding,
  type DoctorCheck,
  type DoctorFinding,
} from "./check.ts";
import type { CheckSubjects } from "./check-subjects.ts";

const MIB = 1024 * 1024;
/** Free space in bytes below which a day of tests can fill the disk. Below `MIN_SPACE_BYTES`, a start can fill it. */
const LOW_SPACE_BYTES = 200 * MIB;
const MIN_SPACE_BYTES = 4 * MIB;
/** Tolerance between the clock and the times of files, in milliseconds. */
const CLOCK_TOLERANCE_MS = 5000;
/** File systems that are shared with other machines. SQLite's locks do not work on them. */
const SHARED_FILE_SYSTEMS = new Set(["nfs", "cifs", "smb2", "9p"]);

/** The finding about everything in a state folder that is not trusted. */
const SKIPPED_FOLDER_TEXT = "the state folder is not read";

/** Checks the path of the state folder, the source of the path, and whether the folder is trusted. */
export function checkFolder(subjects: CheckSubjects): DoctorFinding {
  const { context, folder, trusted } = subjects;
  const named = `${folder} (${sourceOf(subjects)})`;
  const checked = trusted();
  if (!checked.ok) return findingOfProblem(checked.refusal);
  if (checked.value === "nothing") return okFinding(`${named}: missing; the first start creates it`);
  const contents = checkContents(context.world, folder);
  if (!contents.ok) return findingOfProblem(contents.refusal);
  const { fileSystem } = context.world.files.disk(folder);
  const on = `${named}, on ${fileSystem ?? "an unknown file system"}`;
  if (fileSystem === undefined || !SHARED_FILE_SYSTEMS.has(fileSystem)) return okFinding(on);
  return warningFinding(
    `${on}: file locks do not work there`,
    "name a folder on a disk of this machine with --dir",
  );
}

function sourceOf({ context: { world }, options, folder }: CheckSubjects): string {
  const isFlag = world.argv.some((argument) => argument === "--dir" || argument.startsWith("--dir="));
  if (isFlag) return "--dir";
  if (options.dir !== undefined) return "CHECKOUT_DIR";
  if (dirname(folder) === world.cwd) return "in this folder";
  return "found in a parent folder";
}

/** Checks the contents of the files next to the databases. */
export function checkFiles({ context: { world }, folder, trusted }: CheckSubjects): DoctorFinding {
  const checked = trusted();
  if (!checked.ok) return unknownFinding(SKIPPED_FOLDER_TEXT);
  if (checked.value !== "used") return okFinding("none yet");
  const isSeeded = world.files.exists(stateFile(folder, "database"));
  const refused = [
    readCredentials(world, folder),
    readAdminToken(world, folder),
    isHostedFolder(world, folder) ? readHostedState(world, folder) : checkDatabaseIsThere(world, folder),
    // If there is a database, its key is only read; no key is created.
    ...(isSeeded ? [readOrCreateMasterKey(world, folder, "filled")] : []),
  ].find((read) => !read.ok);
  if (refused !== undefined && !refused.ok) return findingOfProblem(refused.refusal);
  return okFinding(
    world.files
      .list(folder)
      .filter((name) => ownerOfName(name) === "checkout")
      .toSorted()
      .join(", "),
  );
}

/** Checks of the folder's databases. */
export const DATABASE_CHECKS: readonly DoctorCheck[] = [
  {
    name: "sandbox.db",
    run: (subjects) => checkStateDatabase(subjects, { file: "database", kind: SANDBOX_FILE }),
  },
  {
    name: "journal.db",
    run: (subjects) => checkStateDatabase(subjects, { file: "journal", kind: JOURNAL_FILE }),
  },
  { name: "requests.db", run: checkRequests },
];

/** Checks that `explain` can read the request log; a damaged log repairs itself. */
function checkRequests(subjects: CheckSubjects): DoctorFinding {
  return checkStateDatabase(subjects, { file: "requests", kind: REQUESTS_FILE, countUnreadable });
}

function checkStateDatabase(
  { context: { world }, folder, trusted }: CheckSubjects,
  {
    file,
    ...options
  }: Pick<CheckOptions, "kind" | "countUnreadable"> & {
    readonly file: "database" | "journal" | "requests";
  },
): DoctorFinding {
  if (!trusted().ok) return unknownFinding(SKIPPED_FOLDER_TEXT);
  const read = checkDatabase(stateFile(folder, file), { ...options, nativeBinding: world.sqliteAddon() });
  if (!read.ok) {
    const { message, remedy } = read.refusal;
    const isMended = file === "requests" && mustBeSetAside(read.refusal);
    return isMended ? warningFinding(message, DAMAGED_LOG_REMEDY) : problemFinding(message, remedy);
  }
  if (read.value === undefined) return okFinding("missing; created on first use");
  const { bytes, checked, format, unreadable } = read.value;
  const size = `${(bytes / MIB).toFixed(1)} MiB with its log`;
  if (unreadable > 0)
    return warningFinding(
      `${size}; ${unreadable} rows are not valid requests, and are omitted from every list`,
      "no action is needed; to start a new log, move the file away",
    );
  if (checked === "whole") return okFinding(`format ${format}, ${size}; every page is valid`);
  if (checked === "head")
    return okFinding(`${size}; too large to check every page; the header and the log belong to this file`);
  return unknownFinding(
    `${size}; the file changed during every read`,
    "run checkout doctor again when the sandbox is idle",
  );
}

/** The remedy for a damaged request log. */
const DAMAGED_LOG_REMEDY =
  "no action is needed: at the next use, the sandbox moves the file aside and starts a new log";

/** Checks the free space of the disk, and whether this user may write there. */
export function checkDisk({ context: { world }, folder }: CheckSubjects): DoctorFinding {
  const place = findExisting(world, folder);
  const { freeBytes, isWritable } = world.files.disk(place);
  const found = `${Math.floor(freeBytes / MIB)} MiB free at ${place}`;
  if (!isWritable)
    return problemFinding(
      `${place} is not writable`,
      "check its owner and mode, or name another folder with --dir",
    );
  if (freeBytes < MIN_SPACE_BYTES) return problemFinding(found, "free some disk space");
  return freeBytes < LOW_SPACE_BYTES ? warningFinding(found, "free some disk space") : okFinding(found);
}

/** A path, or the nearest parent folder that exists. */
function findExisting({ files }: Pick<World, "files">, path: string): string {
  return files.exists(path) || dirname(path) === path ? path : findExisting({ files }, dirname(path));
}

/** Checks whether the clock of this machine is behind the timestamps of its own files. */
export function checkClock({ context: { world }, folder, trusted }: CheckSubjects): DoctorFinding {
  const now = world.now();
  const at = new Date(now).toISOString();
  const checked = trusted();
  if (!checked.ok || checked.value !== "used") return okFinding(at);
  const names = world.files.list(folder).filter((name) => ownerOfName(name) === "checkout");
  const times = names.map((name) => world.files.look(`${folder}/${name}`)?.changedAt ?? 0);
  const aheadMs = Math.max(0, ...times) - now;
  if (aheadMs <= CLOCK_TOLERANCE_MS) return okFinding(at);
  return warningFinding(
    `${at}, but a file of the state was written ${Math.round(aheadMs / 1000)} s later`,
    "set the clock of this machine; receivers refuse webhooks if it is wrong by more than 300 s",
  );
}

/** The problem that a command would report, as a finding. */
export function findingOfProblem({ message, next }: Pick<Problem, "message" | "next">): DoctorFinding {
  return problemFinding(message, next);
}
