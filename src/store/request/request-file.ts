import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { accept, type Outcome } from "../../core/outcome.ts";
import {
  findErrorCause,
  IN_MEMORY,
  withFileRefusal,
  type FileConnection,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "../connection/database.ts";
import { openDatabase } from "../connection/open-database.ts";
import { isSqliteError } from "../connection/storage-failure.ts";
import { REQUESTS_DDL, requestsTable } from "./requests.ts";

/** A separate file keeps `sandbox.db` small, and a full or broken log cannot fail a create (decision 86). */
export const REQUESTS_FILE: FileKind = {
  name: "checkout request log",
  applicationId: 0x636b5251,
  firstVersion: 30,
  migrations: [REQUESTS_DDL],
  filesToMoveAway: "the file",
};

export type RequestFile = ReturnType<typeof requestsTable> & {
  /** False after the file was deleted or replaced; further writes would be lost. */
  readonly isPresent: () => boolean;
  /** Returns whether the file was unusable; an unusable file that still exists is moved aside. */
  readonly closeAfterError: (error: unknown) => boolean;
  readonly close: () => void;
};

type RequestFileOptions = Omit<OpenOptions, "kind"> & {
  readonly report?: (sentence: string) => void;
};

export function mustBeSetAside({ reason }: Pick<FileRefusal, "reason">): boolean {
  return ["zero_bytes", "foreign", "damaged", "database_damaged"].includes(reason);
}

/** Moves a file that is damaged or not a request log aside, and starts a new log (decision 86). */
export function openRequestFile(
  path: string,
  options: RequestFileOptions,
): Outcome<RequestFile, FileRefusal> {
  const outcome = openFile(path, options);
  if (outcome.ok || path === IN_MEMORY || !mustBeSetAside(outcome.refusal)) return outcome;
  return withFileRefusal(path, options, () => {
    moveAside(path, options, outcome.refusal.message);
    return openFile(path, options);
  });
}

function openFile(path: string, options: RequestFileOptions): Outcome<RequestFile, FileRefusal> {
  if (path !== IN_MEMORY && !existsSync(path))
    for (const part of ["-wal", "-shm"]) rmSync(`${path}${part}`, { force: true });
  const outcome = openDatabase(path, { ...options, kind: REQUESTS_FILE });
  if (!outcome.ok) return outcome;
  const connection = outcome.value;
  try {
    return accept(wrapConnection(path, connection, options));
  } catch (error) {
    connection.close();
    if (!isUseless(path, options, error)) throw error;
    return {
      ok: false,
      refusal: { reason: "damaged", message: `${path} is damaged: ${error.message}`, remedy: "" },
    };
  }
}

function wrapConnection(path: string, connection: FileConnection, options: RequestFileOptions): RequestFile {
  // Losing the newest requests in a power failure is acceptable; waiting for the disk would block the service for
  // milliseconds.
  connection.pragma("synchronous = OFF");
  connection.pragma("busy_timeout = 0");
  const inode = inodeOf(path);
  const isPresent = (): boolean => inodeOf(path) === inode;
  let isReported = false;
  const noteUnreadable = (): void => {
    if (isReported) return;
    isReported = true;
    options.report?.(`lines of ${path} are not requests, and are skipped`);
  };
  const table = requestsTable(connection, noteUnreadable);
  return {
    ...table,
    forget: (storeId) => {
      table.forget(storeId);
      // A log that was moved aside may contain requests of this store.
      if (path !== IN_MEMORY)
        for (const ending of ["", "-wal"]) rmSync(`${path}${ASIDE_SUFFIX}${ending}`, { force: true });
    },
    isPresent,
    closeAfterError: (error) => {
      const isBroken = isUseless(path, options, error);
      connection.close();
      if (isBroken && isPresent()) moveAside(path, options, error.message);
      return isBroken;
    },
    close: () => connection.close(),
  };
}

const ASIDE_SUFFIX = ".damaged";

function moveAside(path: string, { report }: RequestFileOptions, reason: string): void {
  for (const ending of ["", "-wal"]) {
    rmSync(`${path}${ASIDE_SUFFIX}${ending}`, { force: true });
    if (existsSync(path + ending)) renameSync(path + ending, `${path}${ASIDE_SUFFIX}${ending}`);
  }
  rmSync(`${path}-shm`, { force: true });
  report?.(`the request log was set aside as ${path}${ASIDE_SUFFIX}, and a new log was started: ${reason}`);
}

function isUseless(path: string, options: RequestFileOptions, error: unknown): error is Error {
  if (!isSqliteError(error) || path === IN_MEMORY) return false;
  // Another process wrote a row at the same position; the file is intact.
  if (error.code.startsWith("SQLITE_CONSTRAINT")) return false;
  if (error.code === "SQLITE_IOERR_SHORT_READ") return true;
  const { code } = findErrorCause(path, options, error)?.failure ?? {};
  return code === undefined || code === "database_damaged" || code === "database_changed";
}

function inodeOf(path: string): bigint | undefined {
  return path === IN_MEMORY ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
