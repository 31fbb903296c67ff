import Database from "better-sqlite3";
import type { SnapshotOrigin } from "../../core/snapshot/origin.ts";
import type { SnapshotFacts } from "../../core/snapshot/snapshot.ts";
import type { FileConnection } from "../connection/database.ts";
import { filesLostError } from "../connection/group-commit.ts";
import {
  createAttachedImage,
  createImageFile,
  sealFile,
  SNAPSHOT_FILE,
  writeChecksum,
  writeOrigin,
} from "./image.ts";
import {
  tablesToCopy,
  copyRows,
  insertRows,
  resealRows,
  selectRows,
  selectRowsInSteps,
  type CopiedTable,
  type Resealer,
  type RowSelection,
} from "./rows.ts";

/** The table whose rows are encrypted with another key in each copy. */
export const SECRETS_TABLE = "signing_secrets";

/** The facts about a snapshot to be taken, and the encryption of its secrets. */
type SnapshotPlan = Omit<SnapshotFacts, "format"> & {
  readonly key: Uint8Array;
  readonly reseal: Resealer;
  readonly origin: SnapshotOrigin;
};

/** The database from which a snapshot is taken. */
export type SnapshotSource = {
  readonly connection: FileConnection;
  readonly nativeBinding: string | undefined;
  /** Whether the paths still lead to the files that were opened. */
  readonly isIntact: () => boolean;
  /** Resolves once all requests that have already arrived have been read. */
  readonly pause: () => Promise<void>;
};

/** Creates the taker of snapshots; `end` aborts snapshots in progress. */
export function createSnapshotTaker({ connection, nativeBinding, isIntact, pause }: SnapshotSource) {
  const options = { kind: SNAPSHOT_FILE, nativeBinding };
  const underWay = new Set<Generator<void, boolean>>();
  return {
    /** The bytes of a snapshot of one store or all, taken in one synchronous step. */
    take: (plan: SnapshotPlan): Uint8Array => {
      const bytes = inAttached(connection, () => {
        const { tables, rest } = createAttachedImage(options, IMAGE);
        connection.exec(tables);
        // In one transaction, because another process may write meanwhile.
        connection.transaction(() => fillAtOnce(connection, plan))();
        connection.exec(rest);
        return connection.serialize({ attached: IMAGE });
      });
      return writeChecksum(writeOrigin(bytes, plan.origin));
    },

    /**
     * Writes a snapshot of a state on disk, as of the call, to a file. Writes a few rows at a time, so that other work
     * can run. Rejects if the state is closed before the snapshot is complete.
     */
    write: async (plan: SnapshotPlan, path: string): Promise<void> => {
      const writing = writeRows(connection.name, path, { ...options, ...plan });
      underWay.add(writing);
      try {
        // No pause before the first step: the moment of the snapshot is the moment of the call.
        let step = writing.next();
        if (!isIntact()) throw filesLostError();
        for (; step.done !== true; step = writing.next()) await pause();
        if (!step.value) throw new Error("the state was closed while a snapshot of it was written");
      } finally {
        underWay.delete(writing);
        writing.return(false);
      }
      await sealFile(path, plan.origin);
    },

    end: (): void => {
      for (const writing of underWay) writing.return(false);
    },
  };
}

type Options = SnapshotPlan & Parameters<typeof createImageFile>[1];

/** Copies rows into the file of a snapshot, on a separate connection whose transaction sees the state at one moment. */
function* writeRows(state: string, path: string, options: Options): Generator<void, boolean> {
  const { reseal, nativeBinding } = options;
  const view = new Database(state, { readonly: true, timeout: 0, nativeBinding });
  let image: FileConnection | undefined;
  try {
    view.exec("BEGIN");
    const tables = tablesToCopy(view);
    image = createImageFile(path, options);
    image.exec("BEGIN");
    for (const table of tables)
      for (const rows of selectRowsInSteps(view, table, rowsOf(options))) {
        insertRows(image, table, table.name === SECRETS_TABLE ? resealRows(table, rows, reseal) : rows);
        yield;
      }
    noteFacts(image, "main", options);
    image.exec("COMMIT");
    return true;
  } finally {
    image?.close();
    view.close();
  }
}

/** The name under which the image of a snapshot is attached. */
const IMAGE = "image";

/** Runs work with an empty database in memory attached to the state; detaches it at the end. */
function inAttached<Value>(connection: FileConnection, work: () => Value): Value {
  connection.exec(`ATTACH ':memory:' AS ${IMAGE}`);
  try {
    connection.pragma(`${IMAGE}.journal_mode = OFF`);
    // All referenced rows exist at the end, and checking each reference takes as long as copying the row.
    connection.pragma("foreign_keys = OFF");
    return work();
  } finally {
    connection.pragma("foreign_keys = ON");
    connection.exec(`DETACH ${IMAGE}`);
  }
}

function fillAtOnce(connection: FileConnection, plan: SnapshotPlan): void {
  const of = rowsOf(plan);
  for (const table of tablesToCopy(connection))
    if (table.name === SECRETS_TABLE) copySecrets(connection, table, plan);
    else copyRows(connection, table, { of, into: IMAGE });
  noteFacts(connection, IMAGE, plan);
}

/** Copies the signing secrets, not by SQL, because they must be encrypted with another key. */
function copySecrets(connection: FileConnection, table: CopiedTable, plan: SnapshotPlan): void {
  const rows = [...selectRows(connection, table, rowsOf(plan))];
  insertRows(connection, { ...table, name: `${IMAGE}.${table.name}` }, resealRows(table, rows, plan.reseal));
}

function noteFacts(
  connection: FileConnection,
  database: string,
  { storeId, takenAt, key }: SnapshotPlan,
): void {
  connection
    .prepare(`INSERT INTO ${database}.snapshot (id, store_id, taken_at, key) VALUES (1, ?, ?, ?)`)
    .run(storeId, takenAt, key);
}

function rowsOf({ storeId }: Pick<SnapshotPlan, "storeId">): RowSelection {
  return storeId === null ? "all" : { storeId };
}
