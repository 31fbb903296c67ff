import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { accept, isError, type Outcome } from "../../core/outcome.ts";
import {
  currentSchemaVersion,
  schemaVersion,
  IN_MEMORY,
  inspectFile,
  refuseOrphanedLog,
  firstMarkedVersion,
  openConnection,
  withFileRefusal,
  unusableFile,
  type FileConnection,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { createMarker, renewMark } from "./log-mark.ts";
import { storageFailure } from "./storage-failure.ts";

const SYNCHRONOUS_FULL = 2;
/**
 * The offset in the header of the two bytes that say how a file is written and read, and their value for a file with a
 * log.
 */
const [VERSIONS_OFFSET, WITH_LOG] = [18, 2];

/**
 * Opens a database file, creating it if it does not exist and migrating it if it is older (decision 54). Refuses a file
 * that is empty, foreign, damaged, newer or of a development version, without writing to it, and names the disk failure
 * that makes it unusable. A failed operation leaves nothing behind.
 */
export function openDatabase(path: string, options: OpenOptions): Outcome<FileConnection, FileRefusal> {
  if (path === IN_MEMORY) return accept(openInMemory(options));
  return withFileRefusal(path, options, () => {
    const refused = existsSync(path)
      ? inspectFile(path, options)
      : (refuseOrphanedLog(path) ?? createWhole(path, options));
    return refused === undefined ? accept(openWhole(path, options)) : { ok: false, refusal: refused };
  });
}

function openWhole(path: string, options: OpenOptions): FileConnection {
  return openConnection(path, options, (connection) => {
    connection.pragma("journal_mode = WAL");
    makeDurable(connection);
    migrate(connection, path, options);
  });
}

/**
 * Creates the file in a temporary folder, and gives it its name when it is complete and on disk, unless another process
 * was faster. So neither a crash nor a failing disk leaves a partial file, and two processes that create it at once end
 * up with one file. Refuses a file that the disk did not store correctly.
 */
function createWhole(path: string, options: OpenOptions): FileRefusal | undefined {
  return inFolderBeside(path, options, (unfinished) => {
    const bytes = newFile(options);
    writeFileSync(unfinished, bytes);
    flush(unfinished);
    if (!readFileSync(unfinished).equals(bytes))
      return unusableFile(path, {
        failure: storageFailure("disk_io_error"),
        detail: `${unfinished} reads back differently than it was written`,
      });
    nameOnce(unfinished, path);
    flushFolder(dirname(path));
    return undefined;
  });
}

/** Runs work with a path in a new folder next to a file, and removes the folder at the end. */
function inFolderBeside<Value>(
  path: string,
  { pid = 0 }: Pick<OpenOptions, "pid">,
  make: (unfinished: string) => Value,
): Value {
  const folder = mkdtempSync(`${path}.${pid}.new-`);
  const unfinished = join(folder, "whole.db");
  try {
    // SQLite would create the file with the umask of the process. Its log and index get the mode of the file.
    closeSync(openSync(unfinished, "wx", 0o600));
    return make(unfinished);
  } finally {
    discard(folder);
  }
}

/**
 * Removes a temporary folder; false if that fails. Such a failure must not hide another failure, and a later command
 * removes the folder, because its name contains the pid of its owner.
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

/**
 * A new database of each kind. Its tables take longer to create than to copy, and a test suite starts many sandboxes.
 */
const NEW_DATABASES = new WeakMap<FileKind, Buffer>();

/** The bytes of a new database, with all tables and no rows. */
function newDatabase(options: OpenOptions): Buffer {
  const { kind } = options;
  const made = NEW_DATABASES.get(kind);
  if (made !== undefined) return made;
  const connection = openConnection(IN_MEMORY, options, (fresh) => {
    withoutFiles(fresh);
    fresh.pragma(`application_id = ${kind.applicationId}`);
    applyMigrations(fresh, kind);
  });
  const bytes = connection.serialize();
  connection.close();
  NEW_DATABASES.set(kind, bytes);
  return bytes;
}

/** The bytes of a new file in WAL mode, with a mark that no other file has. */
function newFile(options: OpenOptions): Buffer {
  const connection = openInMemory(options);
  renewMark(connection);
  const bytes = connection.serialize();
  connection.close();
  bytes.fill(WITH_LOG, VERSIONS_OFFSET, VERSIONS_OFFSET + 2);
  return bytes;
}

function openInMemory(options: OpenOptions): FileConnection {
  return openConnection(newDatabase(options), options, withoutFiles);
}

/** Disables the journal file and flushing, for a database in memory. */
function withoutFiles(connection: FileConnection): void {
  connection.pragma("journal_mode = MEMORY");
  connection.pragma("synchronous = OFF");
}

function flush(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Makes a file name survive a power failure. Windows has no such call, and some file systems refuse it. */
function flushFolder(folder: string): void {
  let file: number | undefined;
  try {
    file = openSync(folder, "r");
    fsyncSync(file);
  } catch (error) {
    const refused = isError(error) && "code" in error && REFUSED_FLUSH_CODES.has(error.code);
    if (!refused) throw error;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const REFUSED_FLUSH_CODES: ReadonlySet<unknown> = new Set(["EISDIR", "EPERM", "EACCES", "EINVAL", "ENOTSUP"]);

function migrate(connection: FileConnection, path: string, options: OpenOptions): void {
  const [from, to] = [schemaVersion(connection), currentSchemaVersion(options.kind)];
  if (from === to) return;
  const backup = `${path}.v${from}.backup`;
  backUp(connection, path, { ...options, backup });
  applyMigrations(connection, options.kind);
  options.migrated?.({ from, to, backup });
}

/** Thrown if the disk returned bytes that differ from the written bytes. */
class CorruptCopy extends Error {
  override readonly name = "CorruptCopy";
  readonly code = "EIO";
}

/** Writes a backup that gets its name when it is complete and on disk; an older backup is kept until then. */
function backUp(
  connection: FileConnection,
  path: string,
  { backup, ...options }: OpenOptions & { readonly backup: string },
): void {
  inFolderBeside(path, options, (unfinished) => {
    connection.prepare("VACUUM INTO ?").run(unfinished);
    openConnection(unfinished, options, renewMark).close();
    const refused = inspectFile(unfinished, options);
    if (refused !== undefined) throw new CorruptCopy(`the backup is incomplete: ${refused.message}`);
    flush(unfinished);
    renameSync(unfinished, backup);
    flushFolder(dirname(path));
  });
}

/** Applies the missing migrations to a file; all of them to a new file, whose version is 0. */
export function applyMigrations(connection: FileConnection, kind: FileKind): void {
  for (const [index, migration] of kind.migrations.entries()) {
    const version = kind.firstVersion + index;
    const step = connection.transaction(() => {
      // Read inside the transaction, because another process may have been faster.
      if (schemaVersion(connection) >= version) return;
      connection.exec(migration);
      connection.pragma(`user_version = ${version}`);
      // The commit of the migration may be the only commit in the log.
      if (version > firstMarkedVersion(kind)) createMarker(connection)("always");
    });
    step.immediate();
  }
}

/** Makes every commit wait for the disk. Otherwise WAL mode falls back to NORMAL at the first write. */
function makeDurable(connection: FileConnection): void {
  connection.pragma("synchronous = FULL");
  const level = connection.pragma("synchronous", { simple: true });
  if (level !== SYNCHRONOUS_FULL)
    throw new Error(`SQLite did not keep synchronous=FULL: it reads ${String(level)}`);
}
