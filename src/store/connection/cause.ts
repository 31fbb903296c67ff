import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { isError } from "../../core/outcome.ts";
import {
  causeOfError,
  hasCause,
  isSqliteError,
  causeByCode,
  noteCause,
  storageFailure,
  type Cause,
} from "./storage-failure.ts";

export type DatabaseFiles = {
  readonly path: string;
  /** Reads database and log to the end without SQLite; throws the disk's error. Default: opens both by name. */
  readonly readAll?: () => void;
  /** Whether this process has the database open; closing another descriptor would drop SQLite's locks. */
  readonly isOpen?: boolean;
  /** Whether SQLite finds every page intact when it reads the file again. */
  readonly isSound: () => boolean;
};

/** Undefined if it is not a disk failure. The cause is stored for every later catch of the error. */
export function causeOf(files: DatabaseFiles, error: unknown): Cause | undefined {
  const named = causeOfError(error);
  if (named === undefined || !isSqliteError(error) || hasCause(error)) return named;
  return noteCause(error, explainError(files, error, named) ?? named);
}

/** Repeats the operation: SQLite does not say why it cannot open or extend a file, and reports EIO as damage. */
function explainError(
  files: DatabaseFiles,
  error: { readonly code: string },
  named: Cause,
): Cause | undefined {
  const { path, readAll = () => readWithoutSqlite(path), isOpen = false, isSound } = files;
  const { code } = named.failure;
  if (code === "file_not_opened" || code === "file_read_only")
    return causeOfFailureIn(() => (isOpen ? checkAccess(path) : openAll(path)));
  if (code === "database_damaged" || READ_ERRORS.test(error.code))
    return (
      causeOfFailureIn(readAll) ??
      (code === "database_damaged" && isSound() ? causeOfMisread(named) : undefined)
    );
  if (isOfIndex(error)) return causeOfFailureIn(() => checkFreeSpace(path)) ?? ioError(named);
  return code === "disk_io_error" ? causeOfFailureIn(() => checkFreeSpace(path)) : undefined;
}

/** The cause for a failed read that succeeds when repeated: the bytes of the file are intact. */
export function causeOfMisread({ detail }: Pick<Cause, "detail">): Cause {
  return ioError({ detail: `a read failed, but succeeded when repeated: ${detail}` });
}

function ioError({ detail }: Pick<Cause, "detail">): Cause {
  return { failure: storageFailure("disk_io_error"), detail };
}

/** The cause of a failure in work on files; undefined if the work succeeds. */
export function causeOfFailureIn(work: () => void): Cause | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return causeByCode(error);
  }
}

/** SQLite's errors about reads; all other I/O errors are about space or writes. */
const READ_ERRORS = /^SQLITE_IOERR_(READ|SHORT_READ|CORRUPTFS|DATA|FSTAT)$/;

const PART_BYTES = 1024 * 1024;

/** Reads a database and its log to the end without SQLite; throws if the disk reports an error. */
export function readWithoutSqlite(path: string): void {
  for (const name of [path, `${path}-wal`]) {
    if (!existsSync(name)) continue;
    const file = openSync(name, "r");
    try {
      readToEnd(file);
    } finally {
      closeSync(file);
    }
  }
}

/** Reads an open file to the end; throws if the disk reports an error. */
export function readToEnd(file: number): void {
  const part = Buffer.allocUnsafe(PART_BYTES);
  // Read at a position, as SQLite does.
  for (let at = 0, length = -1; length !== 0; at += length) length = readSync(file, part, 0, part.length, at);
}

/** With descriptors of the folder: closing one of a database file would drop SQLite's locks. */
function checkAccess(path: string): void {
  for (const ending of ["", "-wal", "-shm"])
    if (ending === "" || existsSync(path + ending))
      accessSync(path + ending, constants.R_OK | constants.W_OK);
  accessSync(dirname(path), constants.W_OK);
  const opened: number[] = [];
  try {
    for (let files = 0; files < FILES_OF_SQLITE; files += 1) opened.push(openSync(dirname(path), "r"));
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** The database, its log and its index. */
const FILES_OF_SQLITE = 3;

/** Opens the files that SQLite opens, all at the same time. */
function openAll(path: string): void {
  const opened: number[] = [];
  try {
    for (const ending of ["", "-wal", "-shm"]) {
      try {
        opened.push(openSync(path + ending, "r+"));
      } catch (error) {
        const isToBeMade = ending !== "" && isError(error) && "code" in error && error.code === "ENOENT";
        if (!isToBeMade) throw error;
        accessSync(dirname(path), constants.W_OK);
      }
    }
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** Whether SQLite could not extend its index of the log. */
function isOfIndex(error: { readonly code: string }): boolean {
  return error.code === "SQLITE_IOERR_SHMSIZE";
}

/** The step by which SQLite extends its index of the log. */
const INDEX_STEP_BYTES = 32 * 1024;

/** As many bytes as SQLite adds to its index. The folder's name has the pid 0: a later command may remove it. */
function checkFreeSpace(path: string): void {
  const sizes = ["", "-wal", "-shm"].map(
    (ending) => statSync(path + ending, { throwIfNoEntry: false })?.size ?? 0,
  );
  const folder = mkdtempSync(`${path}.0.new-`);
  try {
    const file = openSync(join(folder, "room"), "wx");
    try {
      // Written at a position, as SQLite does; the hole before it takes no room.
      writeAt(file, new Uint8Array(INDEX_STEP_BYTES), Math.max(...sizes));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes all bytes. A disk without enough space writes some of them, and returns only their number. */
function writeAt(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
}
