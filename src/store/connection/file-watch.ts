import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";
import { readToEnd } from "./cause.ts";
import { INDEX_BYTES, isWholeLog } from "./log.ts";
import { isOwnLog } from "./log-mark.ts";

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
 * Watches the three files of a database by identity (device and inode) and size. None of them ever shrinks, because
 * nothing of ours truncates the WAL or vacuums. Database and log are changed where their time is, the -shm where what it
 * says of the log is. Then the log has to be the one that the -shm describes, and either the -shm is the same and the
 * database begins as it did, or another process has committed or checkpointed, and the log follows the database by its
 * marks. `marked`: whether a database of a format has a mark.
 */
export function watchFiles(path: string, marked: (format: number) => boolean): FileWatch {
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
  /** What became of the file of this name. */
  readonly look: () => State;
  /** What became of the file that was opened, also where it has lost its name. */
  readonly lookInside: () => State;
  /** Records what the file is now; false if it was deleted, replaced or cut off. */
  readonly note: () => boolean;
  readonly holdsSame: () => boolean;
};

type Parts = {
  readonly database: Part;
  /** Where a file system cannot have a WAL, there is only the database. */
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
 * `comparedBytes`: how many of its first bytes are compared. `isMapped`: it is written through memory, so that its time
 * tells nothing. The descriptor stays open until the connection is closed: closing one of a database file earlier would
 * drop SQLite's own locks of this process.
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
    // A file without a name was deleted or replaced; asking the descriptor takes a third of the time of a look.
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

/** A file that cannot be checked cannot be opened by the next start either. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
