import Database from "better-sqlite3";
import type { SnapshotOrigin } from "../../core/snapshot/origin.ts";
import type { SnapshotFacts } from "../../core/snapshot/snapshot.ts";
import type { FileConnection } from "../connection/database.ts";
import {
  createImage,
  createImageFile,
  sealFile,
  SNAPSHOT_FILE,
  writeChecksum,
  writeOrigin,
} from "./image.ts";
import { tablesToCopy, insertRows, selectRowsInSteps, type ResealSecret } from "./rows.ts";

type SnapshotPlan = Omit<SnapshotFacts, "format"> & {
  readonly key: Uint8Array;
  readonly reseal: ResealSecret;
  readonly origin: SnapshotOrigin;
};

export type SnapshotSource = {
  readonly connection: FileConnection;
  readonly nativeBinding: string | undefined;
  readonly pause: () => Promise<void>;
};

export function createSnapshotTaker({ connection, nativeBinding, pause }: SnapshotSource) {
  const options = { kind: SNAPSHOT_FILE, nativeBinding };
  return {
    take: (plan: SnapshotPlan): Uint8Array => {
      const image = createImage(options);
      try {
        // One transaction, because another process may write meanwhile.
        const steps = copyTables(connection, image, plan);
        connection.transaction(() => Array.from(steps))();
        return writeChecksum(writeOrigin(image.serialize(), plan.origin));
      } finally {
        image.close();
      }
    },

    /**
     * Writes the rows as they are at the call, although the service goes on. Rejects if the sandbox's database is
     * closed before all rows are copied.
     */
    write: async (plan: SnapshotPlan, path: string): Promise<void> => {
      // Not read-only: if the service closes its connection during the copy, this connection must copy the log into the
      // database.
      const reader = new Database(connection.name, { timeout: 0, nativeBinding });
      let image: FileConnection | undefined;
      try {
        reader.exec("BEGIN");
        image = createImageFile(path, options);
        // No pause before the first step: the first read fixes the state that the snapshot shows.
        const steps = copyTables(reader, image, plan);
        while (steps.next().done !== true) {
          await pause();
          if (!connection.open) steps.throw(new Error("the state was closed during the snapshot"));
        }
      } finally {
        image?.close();
        reader.close();
      }
      await sealFile(path, plan.origin);
    },
  };
}

function* copyTables(
  source: FileConnection,
  image: FileConnection,
  { storeId, takenAt, key, reseal }: SnapshotPlan,
): Generator<void> {
  image.exec("BEGIN");
  for (const table of tablesToCopy(source))
    for (const rows of selectRowsInSteps(source, table, storeId === null ? "all" : { storeId })) {
      insertRows(image, table, { rows, reseal });
      yield;
    }
  image
    .prepare("INSERT INTO snapshot (id, store_id, taken_at, key) VALUES (1, ?, ?, ?)")
    .run(storeId, takenAt, key);
  image.exec("COMMIT");
}
