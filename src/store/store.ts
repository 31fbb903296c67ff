import { accept, type Outcome } from "../core/outcome.ts";
import type { FileRefusal, OpenOptions } from "./connection/database.ts";
import {
  startLockTimeout,
  createGroupCommit,
  filesLostError,
  lockError,
  LOCK_RETRY_DELAY_MS,
  toStorageError,
  type Scheduler,
} from "./connection/group-commit.ts";
import { copyLog } from "./connection/opening.ts";
import { StorageUnavailable } from "./connection/storage-failure.ts";
import { SANDBOX_FILE } from "./schema.ts";
import { snapshotsTable } from "./snapshot/snapshots.ts";
import { createTables } from "./tables.ts";
import { openWatchedDatabase } from "./connection/watched-database.ts";

export type Store = ReturnType<typeof createTables> & {
  readonly write: ReturnType<typeof createGroupCommit>;
  /** Copies the log into the database. Rejects with StorageUnavailable if another process prevents it for 2 s. */
  readonly checkpoint: () => Promise<void>;
  /** The failure of the last write, or of the database files; undefined if there is none. */
  readonly failure: () => StorageUnavailable | undefined;
  readonly close: () => void;
  /** Closes an unused store without copying the log into the database. */
  readonly leave: () => void;
};

/** SQLite's busy timeout is 0, because the group commit retries without blocking the event loop. */
export function openStore(
  path: string,
  options: Omit<OpenOptions, "kind"> & { readonly scheduler: Scheduler },
): Outcome<Store, FileRefusal> {
  const { scheduler, ...fileOptions } = options;
  const { nativeBinding } = fileOptions;
  const database = openWatchedDatabase(path, { kind: SANDBOX_FILE, ...fileOptions });
  if (!database.ok) return database;
  const { connection, watch, binding, close, leave } = database.value;
  connection.pragma("busy_timeout = 0");
  let lastFailure: StorageUnavailable | undefined;
  const noteEnd = (failure: StorageUnavailable | undefined): void => void (lastFailure = failure);
  const checkpoint = async (): Promise<void> => {
    let isWaitOver: (() => boolean) | undefined;
    try {
      while (!copyLog(connection)) {
        isWaitOver ??= startLockTimeout(scheduler);
        if (isWaitOver()) throw lockError();
        await new Promise<void>((resolve) => scheduler.after(LOCK_RETRY_DELAY_MS, resolve));
      }
      if (!watch.isIntact()) throw filesLostError();
    } catch (error) {
      throw toStorageError(error);
    }
  };
  const tables = createTables(connection, {
    scheduler,
    createSnapshots: (hooks) =>
      snapshotsTable(connection, {
        ...hooks,
        nativeBinding,
        pause: () => new Promise((resolve) => scheduler.soon(resolve)),
      }),
  });
  const { emptyCaches: onUndone } = tables;
  return accept({
    ...tables,
    write: createGroupCommit(connection, { ...scheduler, watch, onEnd: noteEnd, onUndone, binding }),
    checkpoint,
    failure: () => (watch.isIntact() ? lastFailure : filesLostError()),
    close: () => {
      try {
        if (watch.isIntact()) binding.seal();
      } catch (error) {
        if (!(toStorageError(error) instanceof StorageUnavailable)) throw error;
      } finally {
        close();
      }
    },
    leave,
  });
}
