import { existsSync, statSync, type Stats } from "node:fs";

export type FileWatch = ReturnType<typeof watchFiles>;

/**
 * A smaller file was truncated or replaced by another program: only a close truncates the log, and the database is
 * never vacuumed.
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
    isIntact: (): boolean => names.every(isSame),
  };
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
