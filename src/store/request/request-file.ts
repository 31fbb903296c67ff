import { existsSync, rmSync, statSync } from "node:fs";
import { accept, type Outcome } from "../../core/outcome.ts";
import {
  IN_MEMORY,
  openDatabase,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "../connection/database.ts";
import { REQUEST_BATCHES_DDL, REQUEST_LINES_DDL, REQUESTS_DDL, requestsTable } from "./requests.ts";

/**
 * The kind of `requests.db`: "ckRQ" in its header. It is beside `sandbox.db`, so that this stays small and a full or
 * broken log never touches a create (decision 86).
 */
export const REQUESTS_FILE: FileKind = {
  name: "checkout request log",
  applicationId: 0x636b5251,
  migrations: [REQUESTS_DDL, REQUEST_BATCHES_DDL, REQUEST_LINES_DDL],
  aside: "the file",
};

/** An open request log. */
export type RequestFile = ReturnType<typeof requestsTable> & {
  /** Whether the file still has its name: what is written into a deleted one nobody can read again. */
  readonly isThere: () => boolean;
  readonly close: () => void;
};

/**
 * Opens the request log, making it if it is not there: what a deleted one has left beside it is deleted too. A power failure
 * may take its last requests.
 */
export function openRequestFile(
  path: string,
  options: Omit<OpenOptions, "kind">,
): Outcome<RequestFile, FileRefusal> {
  if (path !== IN_MEMORY && !existsSync(path))
    for (const part of ["-wal", "-shm"]) rmSync(`${path}${part}`, { force: true });
  const opened = openDatabase(path, { ...options, kind: REQUESTS_FILE });
  if (!opened.ok) return opened;
  const connection = opened.value;
  // Nothing that counts is in it, and a flush would stop the service for some milliseconds.
  connection.pragma("synchronous = OFF");
  connection.pragma("busy_timeout = 0");
  const inode = inodeOf(path);
  return accept({
    ...requestsTable(connection),
    isThere: () => inodeOf(path) === inode,
    close: () => connection.close(),
  });
}

/** Undefined where there is no file. */
function inodeOf(path: string): bigint | undefined {
  return path === IN_MEMORY ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
