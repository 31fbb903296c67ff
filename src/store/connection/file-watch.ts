import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";
import { readToEnd } from "./cause.ts";
import { INDEX_BYTES, isWholeLog } from "./log-index.ts";
import { isOwnLog } from "./log-mark.ts";
import { LOG } from "./log-replay.ts";

/** A watch over the files of an open database. */
export type FileWatch = {
  /**
   * Whether the files are the ones that were opened, and hold what was last written to them. If not, a write would
   * succeed, and nobody could read it again.
   */
  readonly isIntact: () => boolean;
  /** Records what a commit wrote; false if a file of it was deleted or replaced meanwhile. */
  readonly noteWritten: () => boolean;
  /**
   * Whether the files that were opened hold what SQLite wrote to them, whatever has become of their names. If not, a
   * checkpoint would copy what somebody else wrote over the rows of the database.
   */
  readonly holdsOwn: () => boolean;
  /** Reads the database and its log plainly to the end; throws the error of the disk. */
  readonly readAll: () => void;
  /** To be called after the connection was closed. */
  readonly close: () => void;
};

/** How many of the first bytes of a database are compared: those that hold the roots of its tables. */
const DATABASE_BYTES = 256 * 1024;

/** A watch over nothing: of a database in memory. */
export const NO_FILES: FileWatch = {
  isIntact: () => true,
  noteWritten: () => true,
  holdsOwn: () => true,
  readAll: () => undefined,
  close: () => undefined,
};

/**
 * Watches the three files of a database by identity (device and inode), size and time of change. None of them ever
 * shrinks, because nothing of ours truncates the WAL or vacuums. Where a time changed, or what the -shm says of the log,
 * the log has to be the one that the -shm describes. The files begin as they did, or the -shm tells of a commit or a
 * checkpoint of another process; then the log has to follow the database by its marks. `marked`: whether a database of a
 * format has a mark.
 */
export function watchFiles(path: string, marked: (format: number) => boolean): FileWatch {
  const { database, log, index } = openParts(path);
  const written = log === undefined ? [database] : [database, log];
  const parts = index === undefined ? written : [...written, index];

  const noteWritten = (): boolean => {
    index?.noteBytes();
    return written.every((part) => part.note());
  };
  const isIndexSame = (): boolean => index === undefined || index.holdsSame();
  const holdsSame = (): boolean => {
    if (log === undefined || index === undefined) return database.holdsSame();
    if (!isWholeLog(log.descriptor, index.descriptor)) return false;
    // What another process did is in the index; its log is still the database's own.
    return isIndexSame()
      ? written.every((part) => part.holdsSame())
      : isOwnLog({ logFile: log.descriptor, databaseFile: database.descriptor }, marked);
  };
  return {
    isIntact: () => {
      const states = parts.map((part) => part.look());
      if (states.includes("lost")) return false;
      const isUntouched = states.slice(0, written.length).every((state) => state === "same");
      return (isUntouched && isIndexSame()) || (holdsSame() && noteWritten());
    },
    noteWritten,
    holdsOwn: () => {
      const states = written.map((part) => part.lookInside());
      if (states.some((state) => state === "lost")) return false;
      return (states.every((state) => state === "same") && isIndexSame()) || holdsSame();
    },
    readAll: () => written.forEach((part) => readToEnd(part.descriptor)),
    close: () => parts.forEach((part) => closeSync(part.descriptor)),
  };
}

type State = "same" | "changed" | "lost";
type Part = {
  readonly descriptor: number;
  /** What became of the file of this name. */
  readonly look: () => State;
  /** What became of the file that was opened, also where it has lost its name. */
  readonly lookInside: () => State;
  readonly note: () => boolean;
  readonly noteBytes: () => void;
  readonly holdsSame: () => boolean;
};

type Parts = {
  readonly database: Part;
  /** Where a file system cannot have a WAL, there is only the database. */
  readonly log?: Part;
  /** It is changed through memory: its time and size tell nothing. */
  readonly index?: Part;
};

function openParts(path: string): Parts {
  const opened: Part[] = [];
  const open = (ending: string, comparedBytes: number): Part => {
    const part = watchPart(path + ending, comparedBytes);
    opened.push(part);
    return part;
  };
  try {
    const database = open("", DATABASE_BYTES);
    if (!existsSync(`${path}-wal`) || !existsSync(`${path}-shm`)) return { database };
    return { database, log: open("-wal", LOG.bytes), index: open("-shm", INDEX_BYTES) };
  } catch (error) {
    for (const { descriptor } of opened) closeSync(descriptor);
    throw error;
  }
}

/**
 * The descriptor stays open until the connection is closed: closing one of a database file earlier would drop SQLite's
 * own locks of this process.
 */
function watchPart(path: string, comparedBytes: number): Part {
  const descriptor = openSync(path, "r");
  let known = fstatSync(descriptor);
  let bytes = firstBytes();
  const stateOf = (found: Stats | undefined): State => {
    const isSameFile = found?.ino === known.ino && found.dev === known.dev && found.size >= known.size;
    if (!isSameFile) return "lost";
    return found.mtimeMs === known.mtimeMs ? "same" : "changed";
  };

  function firstBytes(): Buffer {
    const buffer = Buffer.allocUnsafe(Math.min(comparedBytes, known.size));
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, 0));
  }
  return {
    descriptor,
    look: () => stateOf(statOf(path)),
    lookInside: () => stateOf(fstatSync(descriptor)),
    // A file without a name was deleted or replaced; asking the descriptor takes a third of the time of a look.
    note: () => {
      const found = fstatSync(descriptor);
      if (found.nlink === 0 || found.size < known.size) return false;
      const changed = found.mtimeMs !== known.mtimeMs;
      known = found;
      if (changed) bytes = firstBytes();
      return true;
    },
    noteBytes: () => void (bytes = firstBytes()),
    holdsSame: () => firstBytes().equals(bytes),
  };
}

/** A file that cannot be checked cannot be opened by the next start either. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
