import Database from "better-sqlite3";
import { closeSync, existsSync, linkSync, mkdtempSync, openSync } from "node:fs";
import { readSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";

/** SQL that takes a file from one format to the next; runs in one transaction. The first makes the tables. */
export type Migration = string;

/** An open database file. */
export type Connection = Database.Database;

/** What a database file is for: its mark in the header and the history of its tables, which is only ever added to. */
export type FileKind = {
  readonly name: string;
  /** SQLite's `application_id`: a file with another one is not ours. */
  readonly applicationId: number;
  readonly migrations: readonly Migration[];
};

/** Why a file is refused, and what its owner can do. The file was not changed. */
export type FileRefusal = {
  readonly reason: "zero_bytes" | "foreign" | "damaged" | "newer" | "development_version";
  readonly message: string;
  readonly remedy: string;
};

/** The kind of the file, and the addon to open it with. */
export type OpenOptions = {
  readonly kind: FileKind;
  /** Path of the native addon; default: found by better-sqlite3. The single executable sets it. */
  readonly nativeBinding?: string | undefined;
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
const SYNCHRONOUS_FULL = 2;
/** How long a statement waits for another process's lock, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;
/** A file up to this size is checked page by page when it is opened; it takes about 20 ms. */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/**
 * Opens a database file, making it if it is not there and migrating it if it is older (decision 54).
 * Refuses a file that is empty, foreign, damaged, newer or of a development version, without writing to it. Throws only
 * if the disk fails.
 */
export function openDatabase(path: string, options: OpenOptions): Outcome<Connection, FileRefusal> {
  if (path === IN_MEMORY) return accept(create(path, options));
  if (!existsSync(path)) createWhole(path, options);
  const found = inspect(path, options);
  if (found !== undefined) return { ok: false, refusal: found };
  const connection = connect(path, options);
  migrate(connection, path, options.kind);
  makeDurable(connection);
  return accept(connection);
}

/**
 * Creates the file in a folder of its own and renames it when it is complete, unless another process was faster: so a
 * crash leaves no half-made file, and two processes that create it at once end with one.
 */
function createWhole(path: string, options: OpenOptions): void {
  const folder = mkdtempSync(`${path}.new-`);
  try {
    const unfinished = join(folder, "whole.db");
    create(unfinished, options).close();
    nameOnce(unfinished, path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function nameOnce(unfinished: string, path: string): void {
  try {
    linkSync(unfinished, path);
  } catch (error) {
    if (existsSync(path)) return;
    // Some file systems have no hard links: there the last process wins.
    if (!(error instanceof Error)) throw error;
    renameSync(unfinished, path);
  }
}

function create(path: string, options: OpenOptions): Connection {
  const connection = connect(path, options);
  connection.pragma(`application_id = ${options.kind.applicationId}`);
  applyMigrations(connection, options.kind);
  return connection;
}

function connect(path: string, { nativeBinding }: OpenOptions): Connection {
  const connection = new Database(path, {
    timeout: BUSY_TIMEOUT_MS,
    ...(nativeBinding === undefined ? {} : { nativeBinding }),
  });
  connection.pragma("journal_mode = WAL");
  connection.pragma("foreign_keys = ON");
  // Without it, INSERT OR REPLACE deletes a row without running the triggers that forbid it.
  connection.pragma("recursive_triggers = ON");
  connection.pragma("trusted_schema = OFF");
  return connection;
}

/** Checks a file without writing to it. */
function inspect(path: string, options: OpenOptions): FileRefusal | undefined {
  const header = readHeader(path);
  if (header.length === 0)
    return refusal("zero_bytes", path, "is empty: it was cut off or made by another program");
  if (header.subarray(0, 16).toString("latin1") !== SQLITE_MAGIC) {
    return refusal("foreign", path, "is not an SQLite database");
  }
  if (header.length < HEADER_BYTES) return refusal("damaged", path, "is cut off");
  if (header.readInt32BE(APPLICATION_ID_OFFSET) !== options.kind.applicationId) {
    return refusal("foreign", path, `is a database of another program, not a ${options.kind.name}`);
  }
  try {
    return inspectContent(path, options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return refusal("damaged", path, `is damaged: ${error.message}`);
  }
}

function inspectContent(path: string, { kind, nativeBinding }: OpenOptions): FileRefusal | undefined {
  const connection = new Database(path, {
    readonly: true,
    timeout: BUSY_TIMEOUT_MS,
    ...(nativeBinding === undefined ? {} : { nativeBinding }),
  });
  try {
    const refused = inspectFormat(formatOf(connection), path, kind);
    if (refused !== undefined) return refused;
    if (statSync(path).size > MAX_CHECKED_BYTES) return undefined;
    const verdict = String(connection.pragma("quick_check(1)", { simple: true }));
    return verdict === "ok" ? undefined : refusal("damaged", path, `is damaged: ${verdict}`);
  } finally {
    connection.close();
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

function refusal(reason: FileRefusal["reason"], path: string, what: string): FileRefusal {
  return {
    reason,
    message: `${path} ${what}; nothing was written to it`,
    remedy: "move the file away, or use another folder with --dir",
  };
}

function migrate(connection: Connection, path: string, kind: FileKind): void {
  const format = formatOf(connection);
  if (format === currentFormat(kind)) return;
  const backup = `${path}.v${format}.backup`;
  rmSync(backup, { force: true });
  connection.prepare("VACUUM INTO ?").run(backup);
  applyMigrations(connection, kind);
}

/** Applies the migrations that a file does not have yet; to a new file, which has format 0, all of them. */
function applyMigrations(connection: Connection, { migrations }: FileKind): void {
  for (const [index, migration] of migrations.entries()) {
    const step = connection.transaction(() => {
      // Read here, because another process may have been faster.
      if (formatOf(connection) >= FIRST_FORMAT + index) return;
      connection.exec(migration);
      connection.pragma(`user_version = ${FIRST_FORMAT + index}`);
    });
    step.immediate();
  }
}

function currentFormat({ migrations }: FileKind): number {
  return FIRST_FORMAT + migrations.length - 1;
}

function formatOf(connection: Connection): number {
  return Number(connection.pragma("user_version", { simple: true }));
}

/** Makes every commit wait for the disk. Without it, WAL mode falls back to NORMAL with the first write. */
function makeDurable(connection: Connection): void {
  connection.pragma("synchronous = FULL");
  const level = connection.pragma("synchronous", { simple: true });
  if (level !== SYNCHRONOUS_FULL)
    throw new Error(`SQLite did not keep synchronous=FULL: it reads ${String(level)}`);
}

/**
 * A check that an open file was not deleted or replaced: writes to such a file would succeed, and nobody could read
 * them again.
 */
export function createPresenceCheck(path: string): () => boolean {
  if (path === IN_MEMORY) return () => true;
  const { ino } = statSync(path);
  return () => {
    try {
      return statSync(path).ino === ino;
    } catch {
      // A file that cannot be checked cannot be opened by the next start either.
      return false;
    }
  };
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

function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB|CANTOPEN)/.test(error.code);
}
