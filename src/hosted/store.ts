import type { ObjectStorage } from "cloudflare:workers";
import type { Connection } from "../store/connection/connection.ts";
import type { Scheduler } from "../store/connection/group-commit.ts";
import { StorageUnavailable } from "../store/connection/storage-failure.ts";
import { REQUESTS_DDL } from "../store/request/requests.ts";
import { SANDBOX_FILE } from "../store/schema.ts";
import type { Snapshots } from "../store/snapshot/snapshots.ts";
import type { Store } from "../store/store.ts";
import { createTables } from "../store/tables.ts";
import { toStorageFailure } from "./connection.ts";

const MIGRATIONS_OF_FIRST_OBJECTS = 4;

const MIGRATIONS = [
  ...SANDBOX_FILE.migrations.slice(0, MIGRATIONS_OF_FIRST_OBJECTS),
  REQUESTS_DDL,
  ...SANDBOX_FILE.migrations.slice(MIGRATIONS_OF_FIRST_OBJECTS),
];

export function hasTables({ sql }: ObjectStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'").toArray().length > 0;
}

export function migrateTables(storage: ObjectStorage): void {
  const { sql } = storage;
  storage.transactionSync(() => {
    sql.exec("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT");
    const version = Number(sql.exec("SELECT version FROM schema_version").raw().next().value?.[0] ?? 0);
    if (version === MIGRATIONS.length) return;
    for (const migration of MIGRATIONS.slice(version)) sql.exec(migration);
    sql.exec("DELETE FROM schema_version");
    sql.exec("INSERT INTO schema_version (version) VALUES (?)", MIGRATIONS.length);
  });
}

type ObjectStore = Store & { readonly hasWritten: () => boolean };

/** Writes run immediately; the runtime holds back answers until the writes are on disk. */
export function openObjectStore(
  connection: Connection,
  options: {
    readonly storage: Pick<ObjectStorage, "transactionSync" | "sync">;
    readonly scheduler: Scheduler;
    readonly onWrite: () => void;
  },
): ObjectStore {
  const { storage, scheduler, onWrite } = options;
  let lastFailure: StorageUnavailable | undefined;
  let hasWritten = false;
  const countStatement = connection.prepare<[], number>("SELECT total_changes()").pluck();
  const tables = createTables(connection, { scheduler, createSnapshots: () => NO_SNAPSHOTS });
  return {
    ...tables,
    write: async (work) => {
      try {
        // A write that changes no row does not show that the disk works.
        const changeCountBefore = hasWritten ? undefined : countStatement.get();
        const value = storage.transactionSync(work);
        const hasChanged = changeCountBefore !== undefined && countStatement.get() !== changeCountBefore;
        onWrite();
        await storage.sync();
        lastFailure = undefined;
        hasWritten ||= hasChanged;
        return value;
      } catch (error) {
        tables.emptyCaches();
        const failure = toStorageFailure(error);
        lastFailure = failure instanceof StorageUnavailable ? failure : undefined;
        if (lastFailure !== undefined) hasWritten = false;
        throw failure;
      }
    },
    checkpoint: () => storage.sync(),
    failure: () => lastFailure,
    close: () => undefined,
    leave: () => undefined,
    hasWritten: () => hasWritten,
  };
}

const NO_SNAPSHOTS: Snapshots = {
  take: refuseSnapshot,
  write: refuseSnapshot,
  isOwn: refuseSnapshot,
  open: refuseSnapshot,
  restore: refuseSnapshot,
  format: 0,
};

function refuseSnapshot(): never {
  throw new Error("the database of an object has no snapshots");
}
