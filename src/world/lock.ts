import Database from "better-sqlite3";
import { existsSync } from "node:fs";
import type { FileLock } from "../world.ts";
import { codeOf } from "./node.ts";

/** How long a lock is waited for, in milliseconds: a command that looks at it holds it for a moment. */
const WAIT_MS = 250;

/**
 * Implements `World.lockFile` with SQLite's lock of an empty database, because Node has no call to lock a file. The
 * system releases the lock when the process ends, however it ends.
 */
export function lockFile(path: string, nativeBinding: string | undefined): FileLock {
  let connection: Database.Database | undefined;
  try {
    const opened = new Database(path, { timeout: WAIT_MS, nativeBinding });
    connection = opened;
    // A journal would be created next to the file.
    opened.pragma("journal_mode = MEMORY");
    opened.exec("BEGIN EXCLUSIVE");
    return { state: "own", release: () => void opened.close() };
  } catch (error) {
    connection?.close();
    return { state: isBusy(error) ? "held" : "unsupported" };
  }
}

/** Implements `World.isFileLocked`. */
export function isFileLocked(path: string, nativeBinding: string | undefined): boolean {
  if (!existsSync(path)) return false;
  const connection = new Database(path, { readonly: true, timeout: 0, nativeBinding });
  try {
    connection.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return isBusy(error);
  } finally {
    connection.close();
  }
}

function isBusy(error: unknown): boolean {
  return codeOf(error)?.startsWith("SQLITE_BUSY") === true;
}
