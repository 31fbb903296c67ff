import { accessSync, closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { storageFailure, storageFailureOf, type StorageFailure } from "./storage-failure.ts";
import { isError } from "../../core/outcome.ts";

/** Why the files of a database cannot be used, and what the system says about it. */
export type Cause = { readonly failure: StorageFailure; readonly detail: string };

/**
 * The cause of an error at a database that is opened; undefined where it is no failure of the disk. SQLite does not say
 * why it cannot open or extend a file; what is tried here says it.
 */
export function causeOf(path: string, error: unknown): Cause | undefined {
  const cause = namedBy(error);
  if (cause === undefined) return undefined;
  if (cause.failure.code === "file_not_opened" || cause.failure.code === "file_read_only")
    return causeIn(() => openAll(path)) ?? cause;
  if (!isOfIndex(error)) return cause;
  const isRoomless = causeIn(() => takeRoom(path));
  return isRoomless ?? { ...cause, failure: storageFailure("disk_io_error") };
}

function namedBy(error: unknown): Cause | undefined {
  const failure = storageFailureOf(error);
  return failure && { failure, detail: isError(error) ? error.message : String(error) };
}

function causeIn(work: () => void): Cause | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return namedBy(error);
  }
}

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
function isOfIndex(error: unknown): boolean {
  return isError(error) && "code" in error && error.code === "SQLITE_IOERR_SHMSIZE";
}

/** By how much SQLite extends its index of the log at a time. */
const INDEX_STEP_BYTES = 32 * 1024;

/** Writes as much beside the database as SQLite needs for its index, and removes it; it is named as no live process's. */
function takeRoom(path: string): void {
  const folder = mkdtempSync(`${path}.0.new-`);
  try {
    const file = openSync(join(folder, "room"), "wx");
    try {
      // At a position, as SQLite does.
      writeSync(file, new Uint8Array(INDEX_STEP_BYTES), 0, INDEX_STEP_BYTES, 0);
    } finally {
      closeSync(file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
