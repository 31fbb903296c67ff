import { existsSync, statSync, type Stats } from "node:fs";

export type FileWatch = ReturnType<typeof watchFiles>;

/**
 * Watches the three files of a database by identity (device and inode) and size. None of them shrinks while it is
 * watched: the log is truncated only by the close, and the database is never vacuumed. On file systems that do not
 * support a log, there is only the database.
 */
export function watchFiles(path: string) {
  const names = ["", "-wal", "-shm"].map((ending) => path + ending).filter((name) => existsSync(name));
  const knownStats = new Map(names.map((name) => [name, statSync(name)]));
  const isSame = (name: string): boolean => {
    const [stat, current] = [knownStats.get(name), statOf(name)];
    if (stat === undefined || current === undefined) return false;
    if (current.ino !== stat.ino || current.dev !== stat.dev || current.size < stat.size) return false;
    knownStats.set(name, current);
    return true;
  };
  return {
    /** Whether each file is the opened file, and is not shorter. If not, a write would succeed, but could not be read. */
    isIntact: (): boolean => names.every(isSame),
  };
}

/** The stats of a file; undefined if it is missing or cannot be read, because then the next start cannot open it either. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
