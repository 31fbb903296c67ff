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
  const insert = connection.prepare<EventRow>(
    `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES (@id, @store_id, @checkout_id, @type, @sequence, @body, @created_at)`,
  );
  const selectOf = connection.prepare<[string], EventRow>(
    `SELECT id, store_id, checkout_id, type, sequence, body, created_at FROM events
     WHERE checkout_id = ? ORDER BY sequence`,
  );

  return {
    insert: (event: CheckoutEvent): void => {
      insert.run({
        id: event.id,
        store_id: event.storeId,
        checkout_id: event.checkoutId,
        type: event.type,
        sequence: event.sequence,
        body: event.body,
        created_at: event.createdAt,
      });
    },

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
