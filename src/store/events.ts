import type { CheckoutEvent } from "../core/event.ts";
import type { Connection } from "./database.ts";

type EventRow = {
  readonly id: string;
  readonly store_id: string;
  readonly checkout_id: string;
  readonly type: CheckoutEvent["type"];
  readonly sequence: number;
  readonly body: string;
  readonly created_at: number;
};

/** The outbox: what happened, in the transaction in which it happened (decision 11). */
export function eventsTable(connection: Connection) {
  const insert = connection.prepare<(string | number)[]>(
    `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const selectOf = connection.prepare<[string], EventRow>(
    `SELECT id, store_id, checkout_id, type, sequence, body, created_at FROM events
     WHERE checkout_id = ? ORDER BY sequence`,
  );
  const selectLast = connection
    .prepare<[string], number | null>("SELECT max(sequence) FROM events WHERE checkout_id = ?")
    .pluck();

  return {
    insert: (event: CheckoutEvent): void => {
      const { id, storeId, checkoutId, type, sequence, body, createdAt } = event;
      insert.run(id, storeId, checkoutId, type, sequence, body, createdAt);
    },

    /** How many events a checkout has: the sequence of its last one. */
    lastSequence: (checkoutId: string): number => selectLast.get(checkoutId) ?? 0,

    /** The events of a checkout, first to last. */
    of: (checkoutId: string): CheckoutEvent[] => selectOf.all(checkoutId).map(fromRow),
  };
}

function fromRow(row: EventRow): CheckoutEvent {
  return {
    id: row.id,
    storeId: row.store_id,
    checkoutId: row.checkout_id,
    type: row.type,
    sequence: row.sequence,
    body: row.body,
    createdAt: row.created_at,
  };
}
