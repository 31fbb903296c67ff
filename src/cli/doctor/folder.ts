import { dirname, join } from "node:path";
import { excerpt } from "../../core/text.ts";
import { SANDBOX_FILE } from "../../store/schema.ts";
import { JOURNAL_FILE } from "../../store/journal/journal.ts";
import { mustBeSetAside, REQUESTS_FILE } from "../../store/request/request-file.ts";
import { countUnreadableRequests } from "../../store/request/requests.ts";
import { checkDatabase } from "../../store/connection/database-check.ts";
import type { World } from "../../world.ts";
import { ownerOfName, stateFile } from "../../host/folder/files.ts";
import {
  requireDatabase,
  hostedCommand,
  readOrCreateMasterKey,
  readAdminToken,
  readCredentials,
} from "../../host/folder/state-folder.ts";
import { readHostedState } from "../../hosted/dev/state.ts";
import { checkContents } from "../../host/folder/trust.ts";
import { unwrap } from "../problem.ts";
import { optionWithSource } from "../target/surroundings.ts";
import { CLOCK_TOLERANCE_MS, folderCheck, type Check, type CheckSubjects, type Finding } from "./subjects.ts";

const MIB = 1024 * 1024;
const LOW_SPACE_BYTES = 200 * MIB;
const MIN_SPACE_BYTES = 4 * MIB;
/** Network file systems, on which SQLite's file locks are unreliable. */
const SHARED_FILE_SYSTEMS = new Set(["nfs", "cifs", "smb2", "9p"]);

export function checkFolder({ context: { world, around }, folder, checkTrust }: CheckSubjects): Finding {
  const locationText = dirname(folder) === world.cwd ? "in this folder" : "found in a parent folder";
  const folderText = `${folder} (${optionWithSource(world, "dir", around.options.dir)?.source ?? locationText})`;
  if (unwrap(checkTrust()) === "nothing") return ["ok", `${folderText}: missing; the first start creates it`];
  unwrap(checkContents(world, folder));
  const { fileSystem } = world.files.disk(folder);
  const placeText = `${folderText}, on ${fileSystem ?? "an unknown file system"}`;
  if (fileSystem === undefined || !SHARED_FILE_SYSTEMS.has(fileSystem)) return ["ok", placeText];
  const next = "name a folder on a disk of this machine with --dir";
  return ["warning", `${placeText}: file locks do not work there`, next];
}

export function checkFiles(subjects: CheckSubjects): Finding {
  const { context, folder, checkTrust } = subjects;
  const { world } = context;
  if (unwrap(checkTrust()) !== "used") return ["ok", "none yet"];
  unwrap(readCredentials(world, folder));
  unwrap(readAdminToken(world, folder));
  if (hostedCommand(world, folder) === undefined) unwrap(requireDatabase(world, folder));
  else unwrap(readHostedState(world, folder));
  // If the database exists, `readOrCreateMasterKey` only reads the master key, and never creates one.
  if (world.files.exists(stateFile(folder, "database")))
    unwrap(readOrCreateMasterKey(world, folder, "filled"));
  return ["ok", ownFiles(subjects).toSorted().join(", ")];
}

function ownFiles({ context, folder, checkTrust }: CheckSubjects): string[] {
  const trustOutcome = checkTrust();
  if (!trustOutcome.ok || trustOutcome.value !== "used") return [];
  return context.world.files.list(folder).filter((name) => ownerOfName(name) === "checkout");
}

export function databaseCheck(file: "database" | "journal" | "requests"): Check {
  const kind = { database: SANDBOX_FILE, journal: JOURNAL_FILE, requests: REQUESTS_FILE }[file];
  return folderCheck(({ context: { world }, folder }) => {
    const outcome = checkDatabase(stateFile(folder, file), {
      kind,
      nativeBinding: world.sqliteAddon(),
      scratchFolder: world.temporaryPath().path,
      ...(file === "requests" ? { countUnreadable: countUnreadableRequests } : {}),
    });
    if (!outcome.ok) {
      const { message, remedy } = outcome.refusal;
      if (file !== "requests" || !mustBeSetAside(outcome.refusal)) return ["problem", message, remedy];
      const next =
        "no action is needed: at the next use, the sandbox moves the file aside and starts a new log";
      return ["warning", message, next];
    }
    if (outcome.value === undefined) return ["ok", "missing; created on first use"];
    const { bytes, schemaVersion, unreadableCount } = outcome.value;
    const size = `${(bytes / MIB).toFixed(1)} MiB with its log`;
    if (unreadableCount > 0) {
      const finding = `${size}; ${unreadableCount} requests cannot be read, and are omitted from every list`;
      return ["warning", finding, "no action is needed; to start a new log, move the file away"];
    }
    if (schemaVersion !== null) return ["ok", `format ${schemaVersion}, ${size}; every page is valid`];
    const reason = "too large or too busy to check every page; the header and the log belong to this file";
    return ["ok", `${size}; ${reason}`];
  });
}

export function checkDisk({ context: { world }, folder }: CheckSubjects): Finding {
  const existingPath = existingPathOf(world, folder);
  const { freeBytes, isWritable } = world.files.disk(existingPath);
  const next = "check its owner and mode, or name another folder with --dir";
  if (!isWritable) return ["problem", `${existingPath} is not writable`, next];
  const finding = `${Math.floor(freeBytes / MIB)} MiB free at ${existingPath}`;
  if (freeBytes >= LOW_SPACE_BYTES) return ["ok", finding];
  return [freeBytes < MIN_SPACE_BYTES ? "problem" : "warning", finding, "free some disk space"];
}

function existingPathOf({ files }: Pick<World, "files">, path: string): string {
  return files.exists(path) || dirname(path) === path ? path : existingPathOf({ files }, dirname(path));
}

export function checkClock(subjects: CheckSubjects): Finding {
  const { now, files } = subjects.context.world;
  const nowText = new Date(now()).toISOString();
  const times = ownFiles(subjects).map((name) => files.stat(join(subjects.folder, name))?.changedAt ?? 0);
  const aheadMs = Math.max(0, ...times) - now();
  if (aheadMs <= CLOCK_TOLERANCE_MS) return ["ok", nowText];
  const finding = `${nowText}, but a file of the state was written ${Math.round(aheadMs / 1000)} s later`;
  const next = "set the clock of this machine; receivers refuse webhooks if it is wrong by more than 300 s";
  return ["warning", finding, next];
}

const MAX_SHOWN_ERRORS = 3;
const ERROR_LINE = /"failure":|"status":5\d\d|^\S+ {2}5\d\d {2}|^\S+ {2}\S+ {2}\w*Error\b|^✗|"ok":false/;

/** Matches log lines about injected faults and deliveries, which are not failures of the sandbox. */
const FAULT_OR_DELIVERY_LINE = /(?: {2}|, |":")fault [a-z_]+(?: {2}|")|"delivery":/;

export function checkLog({ context: { world }, folder }: CheckSubjects): Finding {
  const path = stateFile(folder, "log");
  const facts = world.files.stat(path);
  if (facts === undefined) return ["ok", "there is no sandbox.log"];
  if (facts.kind !== "file" || !facts.isOwn) return ["unknown", `${path} was not created by checkout`];
  const lines = (world.files.read(path) ?? "").split("\n");
  const errors = lines.filter((line) => ERROR_LINE.test(line) && !FAULT_OR_DELIVERY_LINE.test(line));
  if (errors.length === 0) return ["ok", "no errors in sandbox.log"];
  const lastErrorsText = errors.slice(-MAX_SHOWN_ERRORS).map(excerpt).join("; ");
  const finding = `${errors.length} errors in sandbox.log, the last: ${lastErrorsText}`;
  return ["warning", finding, "checkout sandbox logs shows the whole log"];
}
