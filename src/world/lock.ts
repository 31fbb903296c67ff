import Database from "better-sqlite3";
import { existsSync } from "node:fs";
import { isError } from "../core/outcome.ts";
import type { FileLock } from "../world.ts";
import { errorCodeOf } from "./node.ts";

/** Waits for a command that only checks the lock, which holds the lock for a moment. */
const LOCK_TIMEOUT_MS = 250;

/** Uses a lock of SQLite, because Node has no file locks. The system releases the lock, however the process ends. */
export function lockFile(path: string, nativeBinding: string | undefined): FileLock {
  let connection: Database.Database | undefined;
  try {
    const database = new Database(path, { timeout: LOCK_TIMEOUT_MS, nativeBinding });
    connection = database;
    // Otherwise SQLite would create a journal next to the file.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return { state: "own", release: () => void database.close() };
  } catch (error) {
    connection?.close();
    if (isBusy(error)) return { state: "held" };
    const isRefused = isError(error) && REFUSAL_CODE_PATTERN.test(errorCodeOf(error) ?? "");
    return isRefused ? { state: "refused", reason: error.message } : { state: "unsupported" };
  }
}

export function isFileLocked(path: string, nativeBinding: string | undefined): boolean {
  if (!existsSync(path)) return false;
  let connection: Database.Database | undefined;
  try {
    connection = new Database(path, { readonly: true, timeout: 0, nativeBinding });
    connection.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    // A file that cannot be read does not prove a lock.
    return isBusy(error);
  } finally {
    connection?.close();
  }
}

function isBusy(error: unknown): boolean {
  return errorCodeOf(error)?.startsWith("SQLITE_BUSY") === true;
}

/** SQLite's codes for a file of another user or with other content; file systems without locks cause other codes. */
const REFUSAL_CODE_PATTERN = /^SQLITE_(?:CANTOPEN|NOTADB|CORRUPT|READONLY|AUTH)/;
