import type { Trouble, TroubleKind } from "../../core/webhook/fault.ts";
import type { Connection } from "../connection/database.ts";

const COLUMNS = `id, store_id AS storeId, endpoint_id AS endpointId, event_id AS eventId, kind, delay_ms AS delayMs, remaining,
  created_at AS createdAt`;

/** Trouble on purpose that is still to come (decision 45). */
export function troublesTable(connection: Connection) {
  const insert = connection.prepare<
    [string, string, string, string | null, TroubleKind, number, number, number]
  >(
    `INSERT INTO troubles (id, store_id, endpoint_id, event_id, kind, delay_ms, remaining, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const selectNext = connection.prepare<[string, string], Trouble>(
    `SELECT ${COLUMNS} FROM troubles
     WHERE endpoint_id = ? AND remaining > 0 AND (event_id IS NULL OR event_id = ?) ORDER BY created_at, id LIMIT 1`,
  );
  const decrement = connection.prepare<[string]>(
    "UPDATE troubles SET remaining = remaining - 1 WHERE id = ?",
  );
  const selectOf = connection.prepare<[string], Trouble>(
    `SELECT ${COLUMNS} FROM troubles WHERE store_id = ? AND remaining > 0 ORDER BY created_at, id`,
  );
  const clear = connection.prepare<[string]>("UPDATE troubles SET remaining = 0 WHERE endpoint_id = ?");

  return {
    insert: (trouble: Trouble): void => {
      const { id, storeId, endpointId, eventId, kind, delayMs, remaining, createdAt } = trouble;
      insert.run(id, storeId, endpointId, eventId, kind, delayMs, remaining, createdAt);
    },

    /** Takes the next trouble for an event on its way to an endpoint: it is used up by that. */
    take: (endpointId: string, eventId: string): Trouble | undefined => {
      const trouble = selectNext.get(endpointId, eventId);
      if (trouble !== undefined) decrement.run(trouble.id);
      return trouble;
    },

    /** What is still to come in a store, in its order. */
    of: (storeId: string): Trouble[] => selectOf.all(storeId),

    /** Takes back what is still to come for an endpoint. */
    clear: (endpointId: string): void => {
      clear.run(endpointId);
    },
  };
}
