import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";
import { readToEnd } from "./cause.ts";
import { INDEX_BYTES, isWholeLog } from "./log.ts";
import { isOwnLog } from "./log-mark.ts";

/** A watch over the files of an open database. */
export type FileWatch = {
  /**
   * Whether the files are still the files that were opened, with the content last written to them. If not, a write
   * would succeed but could never be read.
   */
  readonly isIntact: () => boolean;
  /** Records the state after a commit; false if a file was deleted or replaced meanwhile. */
  readonly noteWritten: () => boolean;
  /**
   * Whether the opened files have the content that SQLite wrote, even if their names are gone. If not, a checkpoint
   * would copy another program's bytes over the database.
   */
  readonly holdsOwn: () => boolean;
  /** Reads the database and its log to the end without SQLite; throws if the disk reports an error. */
  readonly readAll: () => void;
  /** Must be called after the connection was closed. */
  readonly close: () => void;
};

/** Number of bytes at the beginning of a database that are compared; they contain the roots of its tables. */
const DATABASE_BYTES = 256 * 1024;

/** The watch of a database in memory, which has no files. */
export const NO_FILE_WATCH: FileWatch = {
  isIntact: () => true,
  noteWritten: () => true,
  holdsOwn: () => true,
  readAll: () => undefined,
  close: () => undefined,
};

/**
 * Watches the three files of a database by identity (device and inode) and size. None of them ever shrinks, because we
 * never truncate the WAL or vacuum. Database and log count as changed if their time changed, the -shm if its
 * description of the log changed. Changed files are intact if the log is the log that the -shm describes, and either
 * the -shm and the beginning of the database are the same, or the marks show that the log follows the database, because
 * another process has committed or checkpointed. `marked`: whether a database of a schema version has a mark.
 */
export function watchFiles(path: string, marked: (version: number) => boolean): FileWatch {
  const { database, log, index } = openParts(path);
  const parts = [database, log, index].filter((part) => part !== undefined);

  const noteWritten = (): boolean => parts.every((part) => part.note());
  const isUntouched = (states: readonly State[]): boolean => states.every((state) => state === "same");
  const holdsSame = (states: readonly State[]): boolean => {
    if (states.includes("lost")) return false;
    if (isUntouched(states)) return true;
    if (log === undefined || index === undefined) return database.holdsSame();
    if (!isWholeLog(log.descriptor, index.descriptor)) return false;
    if (index.holdsSame()) return database.holdsSame();
    return isOwnLog({ logFile: log.descriptor, databaseFile: database.descriptor }, marked);
  };
  return {
    isIntact: () => {
      const states = parts.map((part) => part.look());
      return holdsSame(states) && (isUntouched(states) || noteWritten());
    },
    noteWritten,
    holdsOwn: () => holdsSame(parts.map((part) => part.lookInside())),
    readAll: () => [database, log].forEach((part) => part && readToEnd(part.descriptor)),
    close: () => parts.forEach((part) => closeSync(part.descriptor)),
  };
}

type State = "same" | "changed" | "lost";
type Part = {
  readonly descriptor: number;
  /** The state of the file with this name. */
  readonly look: () => State;
  /** The state of the opened file, even if it has lost its name. */
  readonly lookInside: () => State;
  /** Records the current state; false if the file was deleted, replaced or truncated. */
  readonly note: () => boolean;
  readonly holdsSame: () => boolean;
};

type Parts = {
  readonly database: Part;
  /** Undefined on file systems that do not support a WAL. */
  readonly log?: Part;
  readonly index?: Part;
};

function openParts(path: string): Parts {
  const opened: Part[] = [];
  const open = (ending: string, how: Parameters<typeof watchPart>[1]): Part => {
    const part = watchPart(path + ending, how);
    opened.push(part);
    return part;
  };
  try {
    const database = open("", { comparedBytes: DATABASE_BYTES, isMapped: false });
    if (!existsSync(`${path}-wal`) || !existsSync(`${path}-shm`)) return { database };
    const log = open("-wal", { comparedBytes: 0, isMapped: false });
    return { database, log, index: open("-shm", { comparedBytes: INDEX_BYTES, isMapped: true }) };
  } catch (error) {
    for (const { descriptor } of opened) closeSync(descriptor);
    throw error;
  }
}

/**
 * `comparedBytes`: the number of bytes at the beginning to compare. `isMapped`: the file is written through memory, so
 * its time is meaningless. The descriptor stays open until the connection is closed: closing a descriptor of a database
 * file earlier would drop SQLite's own locks of this process.
 */
function watchPart(
  path: string,
  { comparedBytes, isMapped }: { readonly comparedBytes: number; readonly isMapped: boolean },
): Part {
  const descriptor = openSync(path, "r");
  let known = fstatSync(descriptor);
  let bytes = firstBytes();
  const holdsSame = (): boolean => firstBytes().equals(bytes);
  const stateOf = (found: Stats | undefined): State => {
    const isSameFile = found?.ino === known.ino && found.dev === known.dev && found.size >= known.size;
    if (!isSameFile) return "lost";
    return (isMapped ? holdsSame() : found.mtimeMs === known.mtimeMs) ? "same" : "changed";
  };

  function firstBytes(): Buffer {
    const buffer = Buffer.allocUnsafe(Math.min(comparedBytes, known.size));
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, 0));
  }
  return {
    descriptor,
    look: () => stateOf(statOf(path)),
    lookInside: () => stateOf(fstatSync(descriptor)),
    // A file without a name was deleted or replaced; asking the descriptor takes a third of the time of checking the
    // name.
    note: () => {
      const found = isMapped ? known : fstatSync(descriptor);
      if (found.nlink === 0 || found.size < known.size) return false;
      if (isMapped || found.mtimeMs !== known.mtimeMs) {
        known = found;
        bytes = firstBytes();
      }
      return true;
    },
    holdsSame,
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
