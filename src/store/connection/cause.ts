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
  isFound,
  isSqliteError,
  namedByCode,
  noteCause,
  storageFailure,
  type Cause,
} from "./storage-failure.ts";

/** The files of a database, for the question why SQLite cannot use them. */
export type Questioned = {
  readonly path: string;
  /** Reads the database and its log plainly to the end; throws the error of the disk. Default: by their names. */
  readonly readAll?: () => void;
  /** Whether this process has the database open: closing another descriptor of it would drop the locks of SQLite. */
  readonly isOpen?: boolean;
  /** Whether SQLite finds every page sound when it reads the file once more. */
  readonly isSound: () => boolean;
};

/**
 * The cause of an error at a database; undefined where it is no failure of the disk. It is kept for everybody who catches
 * the error later.
 */
export function causeOf(files: Questioned, error: unknown): Cause | undefined {
  const named = causeOfError(error);
  if (named === undefined || !isSqliteError(error) || isFound(error)) return named;
  return noteCause(error, explained(files, error, named) ?? named);
}

/**
 * The cause that SQLite hides, as the system tells it when the same is tried plainly; undefined where it tells no other.
 * SQLite does not say why it cannot open or extend a file, and calls a read that fails with EIO damage.
 */
function explained(files: Questioned, error: { readonly code: string }, named: Cause): Cause | undefined {
  const { path, readAll = () => readByName(path), isOpen = false, isSound } = files;
  const { code } = named.failure;
  if (code === "file_not_opened" || code === "file_read_only")
    return causeIn(() => (isOpen ? tryAll(path) : openAll(path)));
  if (code === "database_damaged" || OF_READS.test(error.code))
    return causeIn(readAll) ?? (code === "database_damaged" && isSound() ? misread(named) : undefined);
  if (isOfIndex(error)) return causeIn(() => takeRoom(path)) ?? ioError(named);
  return code === "disk_io_error" ? causeIn(() => takeRoom(path)) : undefined;
}

/** What a failed read of the disk is called that does not fail again: the bytes of the file are sound. */
export function misread({ detail }: Pick<Cause, "detail">): Cause {
  return ioError({ detail: `a read failed, and not when it was tried again: ${detail}` });
}

function ioError({ detail }: Pick<Cause, "detail">): Cause {
  return { failure: storageFailure("disk_io_error"), detail };
}

/** The cause for which work on files fails; undefined if it succeeds. */
export function causeIn(work: () => void): Cause | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return namedByCode(error);
  }
}

/** The errors of SQLite about reads; all others about input and output are about room or writes. */
const OF_READS = /^SQLITE_IOERR_(READ|SHORT_READ|CORRUPTFS|DATA|FSTAT)$/;

const PART_BYTES = 1024 * 1024;

/** Reads a database and its log plainly to the end; throws the error of the disk. */
export function readByName(path: string): void {
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

/** Reads an open file to the end; throws the error of the disk. */
export function readToEnd(file: number): void {
  const part = Buffer.allocUnsafe(PART_BYTES);
  // At a position, as SQLite does.
  for (let at = 0, length = -1; length !== 0; at += length) length = readSync(file, part, 0, part.length, at);
}

/** Asks for the rights to the files that SQLite opens, and opens as many others at once. */
function tryAll(path: string): void {
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

/** Opens the files that SQLite opens, and as many at once. */
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

/** Whether SQLite could not make room for its index of the log, for whatever reason. */
function isOfIndex(error: { readonly code: string }): boolean {
  return error.code === "SQLITE_IOERR_SHMSIZE";
}

/** By how much SQLite extends its index of the log at a time. */
const INDEX_STEP_BYTES = 32 * 1024;

/**
 * Writes as much beside the database as SQLite needs for its index, at the end that its largest file has, and removes it;
 * it is named as no live process's.
 */
function takeRoom(path: string): void {
  const sizes = ["", "-wal", "-shm"].map(
    (ending) => statSync(path + ending, { throwIfNoEntry: false })?.size ?? 0,
  );
  const folder = mkdtempSync(`${path}.0.new-`);
  try {
    const file = openSync(join(folder, "room"), "wx");
    try {
      // At a position, as SQLite does; what is before it takes no room.
      writeAt(file, new Uint8Array(INDEX_STEP_BYTES), Math.max(...sizes));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes all bytes: a disk that has room for some takes these, and says no more than their number. */
function writeAt(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
}
