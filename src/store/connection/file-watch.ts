import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, type Stats } from "node:fs";
import type { Connection } from "./database.ts";

/** A watch over the files of an open database. */
export type FileWatch = {
  /**
   * Whether the files are the ones that were opened, and hold what was last written to them. If not, a write would
   * succeed, and nobody could read it again.
   */
  readonly isIntact: () => boolean;
  /** Records what a commit wrote; false if a file of it was deleted or replaced meanwhile. */
  readonly noteWritten: () => boolean;
  /** To be called after the connection was closed. */
  readonly close: () => void;
};

/**
 * The files of a database in WAL mode, and how many of their first bytes tell whether somebody else wrote to them:
 * those of the database hold the roots of its tables, those of the WAL its salt. The -shm is changed through memory.
 */
const PARTS = [
  { ending: "", comparedBytes: 256 * 1024 },
  { ending: "-wal", comparedBytes: 32 },
  { ending: "-shm", comparedBytes: 0 },
] as const;

/** A watch over nothing: of a database in memory. */
export const NO_FILES: FileWatch = {
  isIntact: () => true,
  noteWritten: () => true,
  close: () => undefined,
};

/**
 * Watches the three files of a database by identity (device and inode), size and time of change. None of them ever
 * shrinks, because nothing of ours truncates the WAL or vacuums. Where only the time changed, another process's commit
 * or the same first bytes explain it.
 */
export function watchFiles(connection: Connection, path: string): FileWatch {
  const dataVersion = connection.prepare("PRAGMA data_version").pluck();
  let version = dataVersion.get();
  // Where a file system cannot have a WAL, there is only the database.
  const parts = PARTS.filter(({ ending }) => existsSync(path + ending)).map(({ ending, comparedBytes }) =>
    watchPart(path + ending, comparedBytes),
  );

  const hasForeignCommit = (): boolean => {
    const before = version;
    version = dataVersion.get();
    return version !== before;
  };
  const noteWritten = (): boolean => parts.every((part) => part.note());
  return {
    isIntact: () => {
      const states = parts.map((part) => part.look());
      if (states.includes("lost")) return false;
      if (!states.includes("changed")) return true;
      const explained =
        hasForeignCommit() || parts.every((part, index) => states[index] === "same" || part.holdsSame());
      return explained && noteWritten();
    },
    noteWritten,
    close: () => parts.forEach((part) => part.close()),
  };
}

type Part = {
  readonly look: () => "same" | "changed" | "lost";
  readonly note: () => boolean;
  readonly holdsSame: () => boolean;
  readonly close: () => void;
};

/**
 * The descriptor stays open until the connection is closed: closing one of a database file earlier would drop SQLite's
 * own locks of this process.
 */
function watchPart(path: string, comparedBytes: number): Part {
  const descriptor = comparedBytes === 0 ? undefined : openSync(path, "r");
  let known = statSync(path);
  let bytes = firstBytes();
  const isSameFile = (found: Stats | undefined): found is Stats =>
    found !== undefined && found.ino === known.ino && found.dev === known.dev && found.size >= known.size;

  function firstBytes(): Buffer {
    if (descriptor === undefined) return Buffer.alloc(0);
    const buffer = Buffer.allocUnsafe(Math.min(comparedBytes, known.size));
    return buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, 0));
  }
  return {
    look: () => {
      const found = statOf(path);
      if (!isSameFile(found)) return "lost";
      return descriptor === undefined || found.mtimeMs === known.mtimeMs ? "same" : "changed";
    },
    // A file without a name was deleted or replaced; asking the descriptor takes a third of the time of a look.
    note: () => {
      if (descriptor === undefined) return true;
      const found = fstatSync(descriptor);
      if (found.nlink === 0 || found.size < known.size) return false;
      const changed = found.mtimeMs !== known.mtimeMs;
      known = found;
      if (changed) bytes = firstBytes();
      return true;
    },
    holdsSame: () => firstBytes().equals(bytes),
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor);
    },
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
