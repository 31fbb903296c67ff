import Database from "better-sqlite3";
import type { SnapshotOrigin } from "../../core/snapshot/origin.ts";
import type { SnapshotFacts } from "../../core/snapshot/snapshot.ts";
import type { FileConnection } from "../connection/database.ts";
import { filesLostError } from "../connection/group-commit.ts";
import {
  createImage,
  createImageFile,
  sealFile,
  SNAPSHOT_FILE,
  writeChecksum,
  writeOrigin,
} from "./image.ts";
import { tablesToCopy, insertRows, resealRows, selectRowsInSteps, type Resealer } from "./rows.ts";

/** The table whose rows are encrypted with another key in each copy. */
export const SECRETS_TABLE = "signing_secrets";

/** The facts about a snapshot to be taken, and the encryption of its secrets. */
type SnapshotPlan = Omit<SnapshotFacts, "format"> & {
  readonly key: Uint8Array;
  readonly reseal: Resealer;
  readonly origin: SnapshotOrigin;
};

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
      const image = createImage(options);
      try {
        // In one transaction, because another process may write meanwhile.
        const copying = copyTables(connection, image, plan);
        connection.transaction(() => Array.from(copying))();
        return writeChecksum(writeOrigin(image.serialize(), plan.origin));
      } finally {
        image.close();
      }
    },

    /** Writes the rows as of the call, a few at a time. Rejects if the state is closed before the snapshot is complete. */
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
  const view = new Database(state, { readonly: true, timeout: 0, nativeBinding: options.nativeBinding });
  let image: FileConnection | undefined;
  try {
    view.exec("BEGIN");
    image = createImageFile(path, options);
    yield* copyTables(view, image, options, "NOT INDEXED");
    return true;
  } finally {
    image?.close();
    view.close();
  }
}

/**
 * Copies the rows of a snapshot into an empty image; signing secrets are encrypted with the key of the snapshot.
 * `NOT INDEXED`: an ordered table is read in its own order. By an index, SQLite sorts all rows before the first.
 */
function* copyTables(
  from: FileConnection,
  image: FileConnection,
  { storeId, takenAt, key, reseal }: SnapshotPlan,
  how: "NOT INDEXED" | "" = "",
): Generator<void> {
  image.exec("BEGIN");
  for (const table of tablesToCopy(from))
    for (const rows of selectRowsInSteps(from, table, storeId === null ? "all" : { storeId }, how)) {
      insertRows(image, table, table.name === SECRETS_TABLE ? resealRows(table, rows, reseal) : rows);
      yield;
    }
  image
    .prepare("INSERT INTO snapshot (id, store_id, taken_at, key) VALUES (1, ?, ?, ?)")
    .run(storeId, takenAt, key);
  image.exec("COMMIT");
}
