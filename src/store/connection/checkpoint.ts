import {
  asUnavailable,
  filesLost,
  LOCK_RETRY_MS,
  lockFailure,
  lockWait,
  type Scheduler,
} from "./group-commit.ts";
import type { WatchedDatabase } from "./watched-database.ts";

/**
 * Copies every commit of the log into the file of the database, and resolves when that is on disk; a database without a
 * log has nothing to copy. Rejects with StorageUnavailable if another process keeps a lock, or the files are not ours.
 */
export async function checkpoint(
  database: WatchedDatabase,
  scheduler: Pick<Scheduler, "after">,
): Promise<void> {
  let isLockedOut: (() => boolean) | undefined;
  while (!isCopied(database)) {
    isLockedOut ??= lockWait(scheduler);
    if (isLockedOut()) throw lockFailure();
    await new Promise<void>((resolve) => scheduler.after(LOCK_RETRY_MS, resolve));
  }
}

/** Whether the whole log is in the file now. */
function isCopied({ connection, watch, findingCause }: WatchedDatabase): boolean {
  try {
    if (!watch.isIntact()) throw filesLost();
    // SQLite calls this number busy; it is 0 if no lock stopped the copying.
    const isWhole = findingCause(() => connection.pragma("wal_checkpoint(FULL)", { simple: true }) === 0);
    if (!watch.noteWritten()) throw filesLost();
    return isWhole;
  } catch (error) {
    throw asUnavailable(error);
  }
}
