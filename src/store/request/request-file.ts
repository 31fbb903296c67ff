import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { accept, type Outcome } from "../../core/outcome.ts";
import { causeOf } from "../connection/cause.ts";
import {
  IN_MEMORY,
  isSoundFile,
  orRefusal,
  type Connection,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "../connection/database.ts";
import { openDatabase } from "../connection/open-database.ts";
import { isSqliteError } from "../connection/storage-failure.ts";
import { REQUESTS_DDL, requestsTable } from "./requests.ts";

/**
 * The kind of `requests.db`: "ckRQ" in its header. It is beside `sandbox.db`, so that this stays small and a full or
 * broken log never touches a create (decision 86).
 */
export const REQUESTS_FILE: FileKind = {
  name: "checkout request log",
  applicationId: 0x636b5251,
  firstFormat: 30,
  migrations: [REQUESTS_DDL],
  aside: "the file",
};

/** An open request log. */
export type RequestFile = ReturnType<typeof requestsTable> & {
  /** Whether the file still has its name: what is written into a deleted one nobody can read again. */
  readonly isThere: () => boolean;
  /**
   * Closes the file after an error; true where the error means that the file is damaged, or another one: then it was set
   * aside, and opening it begins a new one.
   */
  readonly closeAfter: (error: unknown) => boolean;
  readonly close: () => void;
};

/** How a request log is opened. `report`: gets a sentence where the file was set aside, or lines of it were left out. */
type RequestFileOptions = Omit<OpenOptions, "kind"> & {
  readonly report?: (sentence: string) => void;
};

/** Why a file is set aside; with any other refusal it can be used again, by another version or when the disk can. */
const USELESS: ReadonlySet<FileRefusal["reason"]> = new Set<FileRefusal["reason"]>([
  "zero_bytes",
  "foreign",
  "damaged",
  "database_damaged",
]);

/** Whether the next use of a request log that is refused so sets it aside. */
export function isToBeSetAside({ reason }: Pick<FileRefusal, "reason">): boolean {
  return USELESS.has(reason);
}

/**
 * Opens the request log, making it if it is not there: what a deleted one has left beside it is deleted too. A file that
 * is damaged or no log is set aside, in the place of an older one, and a new one is begun (decision 86). A power failure
 * may take its last requests.
 */
export function openRequestFile(
  path: string,
  options: RequestFileOptions,
): Outcome<RequestFile, FileRefusal> {
  const opened = openFile(path, options);
  if (opened.ok || path === IN_MEMORY || !isToBeSetAside(opened.refusal)) return opened;
  return orRefusal(path, options, () => {
    setAside(path, options, opened.refusal.message);
    return openFile(path, options);
  });
}

function openFile(path: string, options: RequestFileOptions): Outcome<RequestFile, FileRefusal> {
  if (path !== IN_MEMORY && !existsSync(path))
    for (const part of ["-wal", "-shm"]) rmSync(`${path}${part}`, { force: true });
  const opened = openDatabase(path, { ...options, kind: REQUESTS_FILE });
  if (!opened.ok) return opened;
  const connection = opened.value;
  try {
    return accept(requestFile(path, connection, options));
  } catch (error) {
    connection.close();
    if (!isUseless(path, options, error)) throw error;
    return {
      ok: false,
      refusal: { reason: "damaged", message: `${path} is damaged: ${error.message}`, remedy: "" },
    };
  }
}

function requestFile(path: string, connection: Connection, options: RequestFileOptions): RequestFile {
  // Nothing that counts is in it, and a flush would stop the service for some milliseconds.
  connection.pragma("synchronous = OFF");
  connection.pragma("busy_timeout = 0");
  const inode = inodeOf(path);
  const isThere = (): boolean => inodeOf(path) === inode;
  let isTold = false;
  const noteUnreadable = (): void => {
    if (isTold) return;
    isTold = true;
    options.report?.(`lines of ${path} are no requests, and are left out`);
  };
  const table = requestsTable(connection, noteUnreadable);
  return {
    ...table,
    forget: (storeId) => {
      table.forget(storeId);
      // Nobody can tell which stores it has requests of.
      if (path !== IN_MEMORY)
        for (const ending of ["", "-wal"]) rmSync(`${path}${ASIDE}${ending}`, { force: true });
    },
    isThere,
    closeAfter: (error) => {
      const isBroken = isUseless(path, options, error);
      connection.close();
      if (isBroken && isThere()) setAside(path, options, error.message);
      return isBroken;
    },
    close: () => connection.close(),
  };
}

/** The ending of a damaged log: one of them is kept, for whoever wants to know what happened to it. */
const ASIDE = ".damaged";

function setAside(path: string, { report }: RequestFileOptions, why: string): void {
  for (const ending of ["", "-wal"]) {
    rmSync(`${path}${ASIDE}${ending}`, { force: true });
    if (existsSync(path + ending)) renameSync(path + ending, `${path}${ASIDE}${ending}`);
  }
  rmSync(`${path}-shm`, { force: true });
  report?.(`the log of requests was set aside as ${path}${ASIDE}, and a new one begun: ${why}`);
}

/** Whether an error means that a log is damaged, was cut off, or has other tables: no disk fails so. */
function isUseless(path: string, options: RequestFileOptions, error: unknown): error is Error {
  if (!isSqliteError(error) || path === IN_MEMORY) return false;
  // Another process has written a row of the same position.
  if (error.code.startsWith("SQLITE_CONSTRAINT")) return false;
  if (error.code === "SQLITE_IOERR_SHORT_READ") return true;
  const { code } = causeOf({ path, isSound: () => isSoundFile(path, options) }, error)?.failure ?? {};
  return code === undefined || code === "database_damaged" || code === "database_changed";
}

/** Undefined where there is no file. */
function inodeOf(path: string): bigint | undefined {
  return path === IN_MEMORY ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
