import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { accept, type Outcome } from "../../core/outcome.ts";
import {
  currentSchemaVersion,
  firstBoundVersion,
  schemaVersion,
  IN_MEMORY,
  inspectFile,
  inspectHead,
  inspectPages,
  refuseOrphanedLog,
  openConnection,
  withFileRefusal,
  refuseFile,
  type FileConnection,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { flush, flushFolder, withTemporaryFolderBeside, publishNewFile } from "./durable-files.ts";
import { createLogBinding, hasLogMark, judgeLog, moveLogAside, renewLogMark } from "./opening.ts";
import { storageFailure } from "./storage-failure.ts";

const SYNCHRONOUS_FULL = 2;
const [VERSIONS_OFFSET, WAL_VERSION] = [18, 2];

/**
 * Refuses a file that is empty, foreign, damaged, newer or of a development version, and leaves the file unchanged
 * (decision 54).
 */
export function openDatabase(path: string, options: OpenOptions): Outcome<FileConnection, FileRefusal> {
  if (path === IN_MEMORY) return accept(openInMemory(options));
  return withFileRefusal(path, options, () => {
    const refusal = existsSync(path)
      ? inspectAndMoveLog(path, options)
      : (refuseOrphanedLog(path) ?? createDatabase(path, options));
    return refusal === undefined ? accept(openCheckedFile(path, options)) : { ok: false, refusal };
  });
}

/** Moves away a log of another database before SQLite can replay it (decision 69). */
function inspectAndMoveLog(path: string, options: OpenOptions): FileRefusal | undefined {
  const refusal = inspectHead(path, options.kind);
  if (refusal !== undefined) return refusal;
  if (judgeLog(path, firstBoundVersion(options.kind)) === "other") {
    const asidePath = moveLogAside(path);
    options.onLogMoved?.(asidePath);
  }
  return inspectPages(path, options);
}

function openCheckedFile(path: string, options: OpenOptions): FileConnection {
  return openConnection(path, options, (connection) => {
    connection.pragma("journal_mode = WAL");
    makeDurable(connection);
    // 4,000 pages instead of 1,000, for fewer checkpoints, each of which writes every changed page and flushes the disk
    // twice.
    connection.pragma("wal_autocheckpoint = 4000");
    // 4,000 KiB instead of 16,000: a commit that moves rows between pages scans the whole cache.
    connection.pragma("cache_size = -4000");
    migrate(connection, path, options);
  });
}

/**
 * The file gets its name only when it is complete and on disk, so that a crash leaves no partial file. Refuses if the
 * disk returns other bytes than were written.
 */
function createDatabase(path: string, options: OpenOptions): FileRefusal | undefined {
  return withTemporaryFolderBeside(path, options, (temporaryPath) => {
    const bytes = newFileBytes(options);
    writeFileSync(temporaryPath, bytes);
    flush(temporaryPath);
    if (!readFileSync(temporaryPath).equals(bytes))
      return refuseFile(path, {
        failure: storageFailure("disk_io_error"),
        detail: `${temporaryPath} reads back differently than it was written`,
      });
    publishNewFile(temporaryPath, path);
    flushFolder(dirname(path));
    return undefined;
  });
}

function newFileBytes(options: OpenOptions): Buffer {
  const connection = openInMemory(options);
  renewLogMark(connection);
  const bytes = connection.serialize();
  connection.close();
  bytes.fill(WAL_VERSION, VERSIONS_OFFSET, VERSIONS_OFFSET + 2);
  return bytes;
}

/** Copying a new database is faster than creating its tables, and test suites start many sandboxes. */
const NEW_DATABASE_BYTES = new WeakMap<FileKind, Buffer>();

function openInMemory(options: OpenOptions): FileConnection {
  const { kind } = options;
  const knownBytes = NEW_DATABASE_BYTES.get(kind);
  if (knownBytes !== undefined) return openConnection(knownBytes, options, disableFiles);
  return openConnection(IN_MEMORY, options, (connection) => {
    disableFiles(connection);
    connection.pragma(`application_id = ${kind.applicationId}`);
    if (kind.tables?.version === currentSchemaVersion(kind))
      connection.exec(`${kind.tables.sql}; PRAGMA user_version = ${kind.tables.version}`);
    else applyMigrations(connection, kind);
    NEW_DATABASE_BYTES.set(kind, connection.serialize());
  });
}

function disableFiles(connection: FileConnection): void {
  connection.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
}

function migrate(connection: FileConnection, path: string, options: OpenOptions): void {
  const [from, to] = [schemaVersion(connection), currentSchemaVersion(options.kind)];
  if (from === to) return;
  const backupPath = `${path}.v${from}.backup`;
  backUp(connection, path, { ...options, backup: backupPath });
  // A file of an old version may have no `log_mark` yet.
  if (hasLogMark(connection)) createLogBinding(connection, path, options).bind();
  applyMigrations(connection, options.kind);
  options.onMigrated?.({ from, to, backupPath });
}

/** Thrown if a backup is unreadable after it was written. The code `EIO` makes commands report a disk I/O error. */
class CorruptCopy extends Error {
  override readonly name = "CorruptCopy";
  readonly code = "EIO";
}

/** The backup gets its name when it is complete and on disk; until then, an older backup is kept. */
function backUp(
  connection: FileConnection,
  path: string,
  { backup, ...options }: OpenOptions & { readonly backup: string },
): void {
  withTemporaryFolderBeside(path, options, (temporaryPath) => {
    connection.prepare("VACUUM INTO ?").run(temporaryPath);
    openConnection(temporaryPath, options, renewLogMark).close();
    const refusal = inspectFile(temporaryPath, options);
    if (refusal !== undefined) throw new CorruptCopy(`the backup is incomplete: ${refusal.message}`);
    flush(temporaryPath);
    renameSync(temporaryPath, backup);
    flushFolder(dirname(path));
  });
}

export function applyMigrations(connection: FileConnection, kind: FileKind): void {
  for (const [index, migration] of kind.migrations.entries()) {
    const version = kind.firstVersion + index;
    const step = connection.transaction(() => {
      // Read inside the transaction, because another process may have migrated the file meanwhile.
      if (schemaVersion(connection) >= version) return;
      connection.exec(migration);
      connection.pragma(`user_version = ${version}`);
    });
    step.immediate();
  }
}

/** better-sqlite3 defaults to NORMAL in WAL mode, where a power failure can lose the last commits. */
function makeDurable(connection: FileConnection): void {
  connection.pragma("synchronous = FULL");
  const level = connection.pragma("synchronous", { simple: true });
  if (level !== SYNCHRONOUS_FULL)
    throw new Error(`SQLite did not keep synchronous=FULL: it reads ${String(level)}`);
}
