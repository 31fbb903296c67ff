import type { AdminAct, RecordedAct } from "../../core/readiness/admin-act.ts";
import type { Connection } from "../connection/database.ts";

/** The audit log of what administrators did and merchants asked for: append-only. */
export function adminActsTable(connection: Connection) {
  const insert = connection.prepare<(string | number | null)[]>(
    "INSERT INTO admin_acts (store_id, actor, action, subject, note, at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const selectOf = connection.prepare<[string], RecordedAct>(
    `SELECT position AS number, store_id AS storeId, actor, action, subject, note, at FROM admin_acts
     WHERE store_id = ? ORDER BY position`,
  );
  return {
    /** Adds an entry at the end, and answers it with its place. */
    insert: (act: AdminAct): RecordedAct => {
      const { storeId, actor, action, subject, note, at } = act;
      const { lastInsertRowid } = insert.run(storeId, actor, action, subject, note, at);
      return { ...act, number: Number(lastInsertRowid) };
    },

    /** Everything that was done to a store, first to last. */
    of: (storeId: string): RecordedAct[] => selectOf.all(storeId),
  };
}
