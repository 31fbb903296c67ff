import {
  accessSync,
  appendFileSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  truncateSync,
} from "node:fs";
import { dirname } from "node:path";
import { withTemporaryFolderBeside, fileSizeOf } from "./durable-files.ts";
import { causeByCode, storageFailure, type Cause } from "./storage-failure.ts";

export function causeOfRepeatedOpening(
  path: string,
  { code }: { readonly code: string },
  { isOpen }: { readonly isOpen: boolean },
): Cause | undefined {
  if (READ_ERROR_PATTERN.test(code)) return undefined;
  try {
    openDatabaseFiles(path, { isOpen });
    checkFreeSpace(path);
    return undefined;
  } catch (failure) {
    return causeByCode(failure);
  }
}

/** For a read that failed but succeeded when repeated: blames the disk, because the file is intact. */
export function causeOfReadSuccessfulOnRetry({ detail }: Pick<Cause, "detail">): Cause {
  const failure = storageFailure("disk_io_error");
  return { failure, detail: `a read failed, but succeeded when repeated: ${detail}` };
}

const PART_BYTES = 1024 * 1024;

/**
 * Reads the files without SQLite, which reports a failed read of the schema as damage. Descriptors of an open database
 * stay open, because closing one would drop SQLite's locks.
 */
export function causeOfRawRead(path: string, { isOpen }: { readonly isOpen: boolean }): Cause | undefined {
  const part = Buffer.allocUnsafe(PART_BYTES);
  try {
    for (const name of [path, `${path}-wal`].filter((file) => existsSync(file))) {
      const file = openSync(name, "r");
      try {
        for (let offset = 0, length = -1; length !== 0; offset += length)
          length = readSync(file, part, 0, PART_BYTES, offset);
      } finally {
        if (!isOpen) closeSync(file);
      }
    }
    return undefined;
  } catch (failure) {
    return causeByCode(failure);
  }
}

const READ_ERROR_PATTERN = /^SQLITE_IOERR_(READ|SHORT_READ|CORRUPTFS|DATA|FSTAT)$/;

const SUFFIXES = ["", "-wal", "-shm"] as const;

/**
 * If the database is open, opens its folder instead of its files: closing a file's descriptor would drop SQLite's
 * locks.
 */
function openDatabaseFiles(path: string, { isOpen }: { readonly isOpen: boolean }): void {
  const openedFiles: number[] = [];
  try {
    for (const ending of SUFFIXES) {
      const exists = ending === "" || existsSync(path + ending);
      if (exists) accessSync(path + ending, constants.R_OK | constants.W_OK);
      openedFiles.push(exists && !isOpen ? openSync(path + ending, "r+") : openSync(dirname(path), "r"));
    }
  } finally {
    for (const file of openedFiles) closeSync(file);
  }
}

const INDEX_STEP_BYTES = 32 * 1024;

/**
 * Throws if the disk is full or a limit of file sizes is reached: appends as many bytes as SQLite adds to its -shm file
 * to a sparse file as large as the largest of the database's files.
 */
function checkFreeSpace(path: string): void {
  const end = Math.max(...SUFFIXES.map((ending) => fileSizeOf(path + ending)));
  withTemporaryFolderBeside(path, {}, (temporaryPath) => {
    truncateSync(temporaryPath, end);
    appendFileSync(temporaryPath, new Uint8Array(INDEX_STEP_BYTES), { flush: true });
  });
}
