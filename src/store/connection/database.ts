import Database from "better-sqlite3";
import { closeSync, existsSync, fsyncSync, linkSync, mkdtempSync, openSync } from "node:fs";
import { readSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isError, accept, type Outcome } from "../../core/outcome.ts";
import { causeIn, causeOf, misread, readByName } from "./cause.ts";
import { compileOnce } from "./compile-once.ts";
import { tellsOfLogAlone } from "./log-index.ts";
import { hasForeignLog, LOG_MARK_DDL, marker, renewMark } from "./log-mark.ts";
import { failureInVerdict, isSqliteError, namedByCode, storageFailure } from "./storage-failure.ts";
import type { Cause, StorageFailureCode } from "./storage-failure.ts";

/** SQL that takes a file from one format to the next; runs in one transaction. The first makes the tables. */
type Migration = string;

/** An open database file. */
export type Connection = Database.Database;

/** What a database file is for: its mark in the header and the history of its tables, which is only ever added to. */
export type FileKind = {
  readonly name: string;
  /** SQLite's `application_id`: a file with another one is not ours. */
  readonly applicationId: number;
  readonly migrations: readonly Migration[];
  /** What its owner moves away to begin anew: files beside it may be of no use without it. */
  readonly aside: "the file" | "its folder";
};

/** Why a file is refused, or cannot be used now, and what its owner can do. What it holds was not changed. */
export type FileRefusal = {
  readonly reason:
    | "zero_bytes"
    | "foreign"
    | "damaged"
    | "foreign_log"
    | "newer"
    | "development_version"
    | StorageFailureCode;
  readonly message: string;
  readonly remedy: string;
};

/** The kind of the file, and the addon to open it with. */
export type OpenOptions = {
  readonly kind: FileKind;
  /** Path of the native addon; default: found by better-sqlite3. The single executable sets it. */
  readonly nativeBinding?: string | undefined;
  /** The process that opens it: what it leaves unfinished is named after it, so that a later one can remove it. */
  readonly pid?: number | undefined;
};

/** The path of a database in memory. */
export const IN_MEMORY = ":memory:";

/**
 * The format that the first migration leads to, kept as `user_version`. Development versions before the first release
 * counted up from 1, so a lower number is always one of theirs (decision 60).
 */
export const FIRST_FORMAT = 10;

const SQLITE_MAGIC = "SQLite format 3\0";
const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;
/** Where the header tells how the file is written, and the value that means with a write-ahead log. */
const WRITE_VERSION_OFFSET = 18;
const WITH_LOG = 2;
const SYNCHRONOUS_FULL = 2;
/** How long a statement waits for another process's lock, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;
/** A file up to this size is checked page by page when it is opened; it takes about 20 ms. */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/**
 * Opens a database file, making it if it is not there and migrating it if it is older (decision 54).
 * Refuses a file that is empty, foreign, damaged, newer or of a development version, without writing to it, and says
 * which failure of the disk keeps it from being used. What could not be done whole leaves nothing behind.
 */
export function openDatabase(path: string, options: OpenOptions): Outcome<Connection, FileRefusal> {
  if (path === IN_MEMORY) return accept(openInMemory(options));
  return orRefusal(path, options, () => {
    const refused = existsSync(path) ? inspect(path, options) : (lost(path) ?? createWhole(path, options));
    return refused === undefined ? accept(openWhole(path, options)) : { ok: false, refusal: refused };
  });
}

/** What was done with a file, or which failure of the disk kept it from being done. */
export function orRefusal<Value>(
  path: string,
  options: Pick<OpenOptions, "nativeBinding">,
  work: () => Outcome<Value, FileRefusal>,
): Outcome<Value, FileRefusal> {
  try {
    return work();
  } catch (error) {
    const cause = findCause(path, options, error);
    if (cause === undefined) throw error;
    return { ok: false, refusal: unusable(path, cause) };
  }
}

/**
 * Whether the log of a database that nobody has closed was removed or emptied, so that its commits may be lost: the index
 * beside it tells which commits were in the log alone, and without an index nobody knows.
 */
export function hasLostLog(path: string): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (!existsSync(path) || (log?.size ?? 0) > 0) return false;
  const isInLogAlone = tellsOfLogAlone(`${path}-shm`);
  return isInLogAlone ?? (log === undefined && readHeader(path)[WRITE_VERSION_OFFSET] === WITH_LOG);
}

/** A log without its file holds what was acknowledged: beside a new file it would be taken for that one's. */
export function lost(path: string): FileRefusal | undefined {
  const log = `${path}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  return {
    reason: "file_missing",
    message: `${path} is missing, but its log ${log} is there`,
    remedy: "restore the file, or move the log away too, or use another folder with --dir",
  };
}

function openWhole(path: string, options: OpenOptions): Connection {
  return openAnd(path, options, (connection) => {
    connection.pragma("journal_mode = WAL");
    makeDurable(connection);
    migrate(connection, path, options);
  });
}

function unusable(path: string, { failure, detail }: Cause): FileRefusal {
  const { code, sentence, next } = failure;
  return { reason: code, message: `${path} cannot be used: ${sentence} (${detail})`, remedy: next };
}

/**
 * Creates the file in a folder of its own, and names it only when it is whole and on disk, unless another process was
 * faster: so neither a crash nor a failing disk leaves a half-made file, and two processes that create it at once end
 * with one. Refuses what the disk did not keep.
 */
function createWhole(path: string, options: OpenOptions): FileRefusal | undefined {
  return inFolderBeside(path, options, (unfinished) => {
    writeFileSync(unfinished, newDatabase(options));
    // No other file may have its mark. The mode is kept in the file, and set last: no part of it is in a log beside it.
    openAnd(unfinished, options, (connection) => {
      withoutFiles(connection);
      renewMark(connection);
      connection.pragma("journal_mode = WAL");
    }).close();
    const refused = inspect(unfinished, options);
    if (refused !== undefined)
      return unusable(path, { failure: storageFailure("disk_io_error"), detail: refused.message });
    flush(unfinished);
    nameOnce(unfinished, path);
    flushFolder(dirname(path));
    return undefined;
  });
}

/** Passes a path in a new folder beside a file, and removes that folder in the end. */
function inFolderBeside<Value>(
  path: string,
  { pid = 0 }: Pick<OpenOptions, "pid">,
  make: (unfinished: string) => Value,
): Value {
  const folder = mkdtempSync(`${path}.${pid}.new-`);
  const unfinished = join(folder, "whole.db");
  try {
    // SQLite would make it with the umask, which is a guest's host's; what it makes beside a file has that file's mode.
    closeSync(openSync(unfinished, "wx", 0o600));
    return make(unfinished);
  } finally {
    discard(folder);
  }
}

/**
 * Removes what is not needed any more; false where that fails. It is no reason to fail, and must not hide the reason for
 * which something else has failed: a later command removes it, because its name says whose it was.
 */
function discard(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

function nameOnce(unfinished: string, path: string): void {
  try {
    linkSync(unfinished, path);
  } catch (error) {
    if (existsSync(path)) return;
    // Some file systems have no hard links: there the last process wins.
    if (!isError(error)) throw error;
    renameSync(unfinished, path);
  }
}

/** A new database of each kind. Its tables take longer to make than to copy, and a test suite starts many sandboxes. */
const NEW_ONES = new WeakMap<FileKind, Buffer>();

/** The bytes of a new database, with all tables and no rows of anybody. */
function newDatabase(options: OpenOptions): Buffer {
  const { kind } = options;
  const made = NEW_ONES.get(kind);
  if (made !== undefined) return made;
  const connection = openAnd(IN_MEMORY, options, (fresh) => {
    withoutFiles(fresh);
    fresh.pragma(`application_id = ${kind.applicationId}`);
    applyMigrations(fresh, kind);
  });
  const bytes = connection.serialize();
  connection.close();
  NEW_ONES.set(kind, bytes);
  return bytes;
}

function openInMemory(options: OpenOptions): Connection {
  return openAnd(newDatabase(options), options, withoutFiles);
}

/** Nothing is flushed: of what nobody else knows yet, or what ends with the process. */
function withoutFiles(connection: Connection): void {
  connection.pragma("journal_mode = MEMORY");
  connection.pragma("synchronous = OFF");
}

/** A connection on which the first steps succeeded; it is closed if one fails. */
function openAnd(
  path: string | Buffer,
  options: Pick<OpenOptions, "nativeBinding">,
  begin: (connection: Connection) => void,
): Connection {
  let connection: Connection | undefined;
  try {
    connection = new Database(path, timed(options));
    compileOnce(connection);
    connection.pragma("foreign_keys = ON");
    // Without it, INSERT OR REPLACE deletes a row without running the triggers that forbid it.
    connection.pragma("recursive_triggers = ON");
    connection.pragma("trusted_schema = OFF");
    begin(connection);
    return connection;
  } catch (error) {
    if (typeof path === "string" && path !== IN_MEMORY) findCause(path, options, error);
    connection?.close();
    throw error;
  }
}

/**
 * Finds the cause of an error before the connection is closed: SQLite gives room and descriptors back then, and removes
 * the files beside the database.
 */
function findCause(
  path: string,
  options: Pick<OpenOptions, "nativeBinding">,
  error: unknown,
): Cause | undefined {
  return causeOf({ path, isSound: () => isSoundFile(path, options) }, error);
}

function timed({ nativeBinding }: Pick<OpenOptions, "nativeBinding">): Database.Options {
  return { timeout: BUSY_TIMEOUT_MS, ...(nativeBinding === undefined ? {} : { nativeBinding }) };
}

/** Whether SQLite finds every page of a file sound that it opens for this. */
export function isSoundFile(path: string, options: Pick<OpenOptions, "nativeBinding">): boolean {
  try {
    const connection = new Database(path, { ...timed(options), readonly: true });
    try {
      return isSound(connection);
    } finally {
      connection.close();
    }
  } catch {
    return false;
  }
}

/** Whether SQLite finds every page of a database sound. */
export function isSound(connection: Connection): boolean {
  try {
    return connection.pragma("quick_check(1)", { simple: true }) === "ok";
  } catch {
    // It cannot be read.
    return false;
  }
}

function flush(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a name survive a power failure. Windows has no such call, and some file systems refuse it. */
function flushFolder(folder: string): void {
  let file: number | undefined;
  try {
    file = openSync(folder, "r");
    fsyncSync(file);
  } catch (error) {
    const refused = isError(error) && "code" in error && REFUSED_FLUSH.has(error.code);
    if (!refused) throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const REFUSED_FLUSH: ReadonlySet<unknown> = new Set(["EISDIR", "EPERM", "EACCES", "EINVAL", "ENOTSUP"]);

/** Checks a file without writing to it. */
function inspect(path: string, options: OpenOptions): FileRefusal | undefined {
  return (
    inspectHead(path, options.kind) ??
    orDamaged(path, options.kind, () =>
      inspectContent(path, options, () => new Database(path, { ...timed(options), readonly: true })),
    )
  );
}

/** Checks what can be read of a file without SQLite: whose it is, and whether the log beside it is its own. */
export function inspectHead(path: string, kind: FileKind): FileRefusal | undefined {
  // Opening a pipe would wait for ever.
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory())
    return refusal("foreign", path, { kind, what: "is no ordinary file" });
  const header = readHeader(path);
  if (header.length === 0)
    return refusal("zero_bytes", path, { kind, what: "is empty: it was cut off or made by another program" });
  if (header.subarray(0, 16).toString("latin1") !== SQLITE_MAGIC) {
    return refusal("foreign", path, { kind, what: "is not an SQLite database" });
  }
  if (header.length < HEADER_BYTES) return damaged(path, kind, "is cut off");
  if (header.readInt32BE(APPLICATION_ID_OFFSET) !== kind.applicationId) {
    return refusal("foreign", path, { kind, what: `is a database of another program, not a ${kind.name}` });
  }
  return hasForeignLog(path, isMarked(kind)) ? foreignLog(path) : undefined;
}

/**
 * What a check says, or that the file is damaged where SQLite cannot read it. SQLite calls a failed read damage too: so
 * the bytes are read plainly to the end, and checked once more, before anything is called damaged.
 */
export function orDamaged(
  path: string,
  kind: FileKind,
  check: () => FileRefusal | undefined,
): FileRefusal | undefined {
  const first = orMalformed(path, kind, check);
  if (first?.reason !== "damaged") return first;
  const unreadable = causeIn(() => readByName(path));
  if (unreadable !== undefined) return unusable(path, unreadable);
  return orMalformed(path, kind, check) ?? unusable(path, misread({ detail: first.message }));
}

function orMalformed(
  path: string,
  kind: FileKind,
  check: () => FileRefusal | undefined,
): FileRefusal | undefined {
  try {
    return check();
  } catch (error) {
    if (!isError(error) || !isMalformed(error)) throw error;
    return damaged(path, kind, `is damaged: ${error.message}`);
  }
}

/** Whether an error of a check is about the content of a file: SQLite has many for a header that makes no sense. */
function isMalformed(error: unknown): boolean {
  const failure = namedByCode(error)?.failure;
  return failure === undefined ? isSqliteError(error) : failure.code === "database_damaged";
}

/** Opens a database, checks its format and its pages, and closes it. */
export function inspectContent(
  path: string,
  options: OpenOptions,
  open: () => Connection,
): FileRefusal | undefined {
  const { kind } = options;
  let connection: Connection | undefined;
  try {
    connection = open();
    const refused = inspectFormat(formatOf(connection), path, kind);
    if (refused !== undefined) return refused;
    if (!connection.memory && statSync(path).size > MAX_CHECKED_BYTES) return undefined;
    const verdict = String(connection.pragma("quick_check(1)", { simple: true }));
    if (verdict === "ok") return undefined;
    const failure = failureInVerdict(verdict);
    return failure === undefined
      ? damaged(path, kind, `is damaged: ${verdict}`)
      : unusable(path, { failure, detail: verdict });
  } catch (error) {
    // Damage is judged by who called this.
    if (!isMalformed(error)) findCause(path, options, error);
    throw error;
  } finally {
    connection?.close();
  }
}

function inspectFormat(format: number, path: string, kind: FileKind): FileRefusal | undefined {
  if (format < FIRST_FORMAT) {
    return {
      reason: "development_version",
      message: `${path} was made by a development version of checkout (format ${format}; released versions start at ${FIRST_FORMAT}); nothing was written to it`,
      remedy: "move its folder away, or use a new folder with --dir",
    };
  }
  if (format <= currentFormat(kind)) return undefined;
  return {
    reason: "newer",
    message: `${path} was written by a newer version of checkout (format ${format}; this one knows up to ${currentFormat(kind)})`,
    remedy: "update checkout, or use another folder with --dir",
  };
}

function refusal(
  reason: FileRefusal["reason"],
  path: string,
  { kind, what }: { readonly kind: FileKind; readonly what: string },
): FileRefusal {
  return {
    reason,
    message: `${path} ${what}; nothing was written to it`,
    remedy: `move ${kind.aside} away, or use another folder with --dir`,
  };
}

function damaged(path: string, kind: FileKind, what: string): FileRefusal {
  return refusal("damaged", path, { kind, what });
}

function foreignLog(path: string): FileRefusal {
  return {
    reason: "foreign_log",
    message: `${path}-wal is not the log of ${path}, but of another database or another copy of it: it would overwrite what ${path} holds; nothing was written to it`,
    remedy: `put back the database that it belongs to, or move ${path}-wal away to open the database without it`,
  };
}

/** Whether the databases of a format carry a mark of their log. */
export function isMarked(kind: FileKind): (format: number) => boolean {
  const from = markedFrom(kind);
  return (format) => format >= from;
}

/** The first format whose databases carry a mark of their log; of a kind without one, none. */
function markedFrom({ migrations }: FileKind): number {
  const index = migrations.findIndex((migration) => migration.includes(LOG_MARK_DDL));
  return index < 0 ? Infinity : FIRST_FORMAT + index;
}

function migrate(connection: Connection, path: string, options: OpenOptions): void {
  const format = formatOf(connection);
  if (format === currentFormat(options.kind)) return;
  backUp(connection, path, { ...options, backup: `${path}.v${format}.backup` });
  applyMigrations(connection, options.kind);
}

/** The disk gave back something else than was written to it. */
class NotKept extends Error {
  override readonly name = "NotKept";
  readonly code = "EIO";
}

/** Writes a copy that gets its name when it is whole and on disk; an older copy is kept until then. */
function backUp(
  connection: Connection,
  path: string,
  { backup, ...options }: OpenOptions & { readonly backup: string },
): void {
  inFolderBeside(path, options, (unfinished) => {
    connection.prepare("VACUUM INTO ?").run(unfinished);
    openAnd(unfinished, options, renewMark).close();
    const refused = inspect(unfinished, options);
    if (refused !== undefined) throw new NotKept(`the backup is not whole: ${refused.message}`);
    flush(unfinished);
    renameSync(unfinished, backup);
    flushFolder(dirname(path));
  });
}

/** Applies the migrations that a file does not have yet; to a new file, which has format 0, all of them. */
export function applyMigrations(connection: Connection, kind: FileKind): void {
  const { migrations } = kind;
  for (const [index, migration] of migrations.entries()) {
    const step = connection.transaction(() => {
      // Read here, because another process may have been faster.
      if (formatOf(connection) >= FIRST_FORMAT + index) return;
      connection.exec(migration);
      connection.pragma(`user_version = ${FIRST_FORMAT + index}`);
      // Its commit may be the only one in the log.
      if (FIRST_FORMAT + index > markedFrom(kind)) marker(connection)("always");
    });
    step.immediate();
  }
}

/** The format that this program writes. */
export function currentFormat({ migrations }: FileKind): number {
  return FIRST_FORMAT + migrations.length - 1;
}

/** The format that a database says it has. */
export function formatOf(connection: Connection): number {
  return Number(connection.pragma("user_version", { simple: true }));
}

/** Makes every commit wait for the disk. Without it, WAL mode falls back to NORMAL with the first write. */
function makeDurable(connection: Connection): void {
  connection.pragma("synchronous = FULL");
  const level = connection.pragma("synchronous", { simple: true });
  if (level !== SYNCHRONOUS_FULL)
    throw new Error(`SQLite did not keep synchronous=FULL: it reads ${String(level)}`);
}

function readHeader(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    return header.subarray(0, readSync(file, header, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(file);
  }
}
