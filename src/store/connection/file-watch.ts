import { closeSync, existsSync, openSync, statSync, type Stats } from "node:fs";
import { readToEnd } from "./cause.ts";

export type FileWatch = {
  /** And none is shorter than before. If not, a write would succeed but could never be read. */
  readonly isIntact: () => boolean;
  /** Reads the database and its log to the end without SQLite; throws if the disk reports an error. */
  readonly readAll: () => void;
  /** Must be called after the connection was closed. */
  readonly close: () => void;
};

/** The watch of a database in memory, which has no files. */
export const NO_FILE_WATCH: FileWatch = {
  isIntact: () => true,
  readAll: () => undefined,
  close: () => undefined,
};

/**
 * Watches the three files of a database by identity (device and inode) and size. None of them ever shrinks, because we
 * never truncate the log or vacuum. On file systems that do not support a log, there is only the database.
 */
export function watchFiles(path: string): FileWatch {
  const names = ["", "-wal", "-shm"].map((ending) => path + ending).filter((name) => existsSync(name));
  const known = new Map(names.map((name) => [name, statSync(name)]));
  // Closing a descriptor of the database while the connection is open would drop SQLite's own locks of this process.
  const [database, log] = names.slice(0, 2).map((name) => openSync(name, "r"));
  const isSame = (name: string): boolean => {
    const [before, now] = [known.get(name), statOf(name)];
    if (now?.ino !== before?.ino || now?.dev !== before?.dev || now === undefined) return false;
    if (now.size < (before?.size ?? 0)) return false;
    known.set(name, now);
    return true;
  };
  const opened = [database, log].filter((file) => file !== undefined);
  return {
    isIntact: () => names.every(isSame),
    readAll: () => opened.forEach(readToEnd),
    close: () => opened.forEach((file) => closeSync(file)),
  };
}

/** Undefined if the file is missing, or cannot be checked: then the next start cannot open it either. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
