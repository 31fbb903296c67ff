import type { CheckoutEvent } from "../core/event.ts";
import type { Connection } from "./database.ts";

/** An event without its bytes, as lists show it. */
export type EventEntry = Pick<CheckoutEvent, "id" | "type" | "sequence" | "createdAt">;

/** The outbox: what happened, in the transaction in which it happened (decision 11). */
export function eventsTable(connection: Connection) {
  const insert = connection.prepare<(string | number)[]>(
    `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const selectLast = connection
    .prepare<[string], number | null>("SELECT max(sequence) FROM events WHERE checkout_id = ?")
    .pluck();
  const selectOf = connection.prepare<[string], EventEntry>(
    "SELECT id, type, sequence, created_at AS createdAt FROM events WHERE checkout_id = ? ORDER BY sequence",
  );

  return {
    insert: (event: CheckoutEvent): void => {
      const { id, storeId, checkoutId, type, sequence, body, createdAt } = event;
      insert.run(id, storeId, checkoutId, type, sequence, body, createdAt);
    },

    /** How many events a checkout has: the sequence of its last one. */
    lastSequence: (checkoutId: string): number => selectLast.get(checkoutId) ?? 0,

    /** The events of a checkout, first to last. */
    of: (checkoutId: string): EventEntry[] => selectOf.all(checkoutId),
  };
}
