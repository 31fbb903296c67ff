import type { DeliveryFault } from "../../core/webhook/fault.ts";
import type { Connection } from "../connection/database.ts";

const COLUMNS = `id, store_id AS storeId, endpoint_id AS endpointId, event_id AS eventId, kind, delay_ms AS delayMs, remaining,
  created_at AS createdAt`;

/** The DDL of scheduled faults. */
export const FAULTS_DDL = `
CREATE TABLE faults (
  id          TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  event_id    TEXT REFERENCES events (id),
  kind        TEXT NOT NULL CHECK (kind IN ('duplicate', 'reorder', 'delay', 'drop', 'stale_timestamp',
                'bad_signature', 'changed_body', 'old_secret')),
  delay_ms    INTEGER NOT NULL CHECK (delay_ms >= 0),
  remaining   INTEGER NOT NULL CHECK (remaining >= 0),
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX scheduled_faults ON faults (endpoint_id) WHERE remaining > 0;
`;

/** Faults that are scheduled for deliveries (decision 45). */
export function faultsTable(connection: Connection) {
  const insert = connection.prepare<DeliveryFault>(
    `INSERT INTO faults (id, store_id, endpoint_id, event_id, kind, delay_ms, remaining, created_at)
     VALUES (@id, @storeId, @endpointId, @eventId, @kind, @delayMs, @remaining, @createdAt)`,
  );
  const selectNext = connection.prepare<
    { readonly endpointId: string; readonly eventId: string },
    DeliveryFault
  >(
    `SELECT ${COLUMNS} FROM faults
     WHERE endpoint_id = @endpointId AND remaining > 0 AND (event_id IS NULL OR event_id = @eventId)
     ORDER BY created_at, id LIMIT 1`,
  );
  const decrement = connection.prepare<[string]>("UPDATE faults SET remaining = remaining - 1 WHERE id = ?");
  const selectOf = connection.prepare<[string], DeliveryFault>(
    `SELECT ${COLUMNS} FROM faults WHERE endpoint_id = ? AND remaining > 0 ORDER BY created_at, id`,
  );
  const clear = connection.prepare<[string]>(
    "UPDATE faults SET remaining = 0 WHERE endpoint_id = ? AND remaining > 0",
  );

  return {
    insert: (fault: DeliveryFault): void => {
      insert.run(fault);
    },

    /** Takes the next fault for an event on its way to an endpoint, and uses it up once. */
    take: (endpointId: string, eventId: string): DeliveryFault | undefined => {
      const fault = selectNext.get({ endpointId, eventId });
      if (fault !== undefined) decrement.run(fault.id);
      return fault;
    },

    /** The scheduled faults of an endpoint, in the order in which they come. */
    of: (endpointId: string): DeliveryFault[] => selectOf.all(endpointId),

    /** Removes the scheduled faults of an endpoint. */
    clear: (endpointId: string): void => {
      clear.run(endpointId);
    },
  };
}
