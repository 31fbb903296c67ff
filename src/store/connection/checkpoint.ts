import {
  toStorageUnavailable,
  filesLostError,
  LOCK_RETRY_MS,
  lockError,
  beginLockWait,
  type Scheduler,
} from "./group-commit.ts";
import type { WatchedDatabase } from "./watched-database.ts";

/** Rejects with StorageUnavailable if another process keeps a lock, or if the files were replaced. */
export async function checkpoint(
  database: WatchedDatabase,
  scheduler: Pick<Scheduler, "after">,
): Promise<void> {
  let isLockedOut: (() => boolean) | undefined;
  while (!isCopied(database)) {
    isLockedOut ??= beginLockWait(scheduler);
    if (isLockedOut()) throw lockError();
    await new Promise<void>((resolve) => scheduler.after(LOCK_RETRY_MS, resolve));
  }
}

/** Whether the database file now contains the whole log. */
function isCopied({ connection, watch, findingCause }: WatchedDatabase): boolean {
  try {
    if (!watch.isIntact()) throw filesLostError();
    // The pragma returns a busy flag, which is 0 if no lock stopped the copying.
    const isWhole = findingCause(() => connection.pragma("wal_checkpoint(FULL)", { simple: true }) === 0);
    if (!watch.isIntact()) throw filesLostError();
    return isWhole;
  } catch (error) {
    throw toStorageUnavailable(error);
  }
}
