import type { CheckoutEvent } from "../../core/checkout/event.ts";
import { prepareByPosition } from "../connection/by-position.ts";
import type { Connection } from "../connection/database.ts";

/** An event without its bytes, as lists show it. */
export type EventEntry = Pick<CheckoutEvent, "id" | "type" | "sequence" | "createdAt">;

/** A whole event with its place among all events. */
export type StoredEvent = Omit<CheckoutEvent, "checkoutId" | "type"> & {
  readonly position: number;
  /** Null for an event that belongs to no checkout. */
  readonly checkoutId: string | null;
  readonly type: string;
};

/** Which events to list: those of a store after a position, of one type or all, of one checkout or all. */
export type EventFilter = {
  readonly storeId: string;
  readonly after: number;
  /** The earliest moment; default: all times. */
  readonly from?: number;
  readonly type: string | null;
  readonly checkoutId: string | null;
  readonly limit: number;
};

const COLUMNS =
  "position, id, store_id AS storeId, checkout_id AS checkoutId, type, sequence, body, created_at AS createdAt";

/** The DDL of events. */
export const EVENTS_DDL = `
CREATE TABLE events (
  position    INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  checkout_id TEXT REFERENCES checkouts (id),
  type        TEXT NOT NULL,
  sequence    INTEGER NOT NULL CHECK (sequence >= 1),
  body        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (checkout_id, sequence)
) STRICT;
CREATE TRIGGER events_are_immutable BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
`;

/** The outbox: what happened, in the transaction in which it happened (decision 11). */
export function eventsTable(connection: Connection) {
  const insert = prepareByPosition<Omit<StoredEvent, "position">>(
    connection,
    // Above every position that was ever given: one that reads on from a position misses nothing after a reset.
    `INSERT INTO events (position, id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES ((SELECT position + 1 FROM event_floor
              WHERE position >= ifnull((SELECT max(position) FROM events), 0)), @id, @storeId, @checkoutId, @type, @sequence, @body, @createdAt)`,
  );
  const selectLast = connection
    .prepare<[string], number | null>("SELECT max(sequence) FROM events WHERE checkout_id = ?")
    .pluck();
  const selectNewest = connection.prepare<[], number | null>("SELECT max(position) FROM events").pluck();
  const selectOf = connection.prepare<[string], EventEntry>(
    "SELECT id, type, sequence, created_at AS createdAt FROM events WHERE checkout_id = ? ORDER BY sequence",
  );
  const select = connection.prepare<[string], StoredEvent>(`SELECT ${COLUMNS} FROM events WHERE id = ?`);
  const selectLatest = connection.prepare<Omit<EventFilter, "after">, StoredEvent>(
    `SELECT * FROM (
       SELECT ${COLUMNS} FROM events
       WHERE store_id = @storeId AND (@type IS NULL OR type = @type)
         AND (@checkoutId IS NULL OR checkout_id = @checkoutId)
       ORDER BY position DESC LIMIT @limit
     ) ORDER BY position`,
  );
  const selectAfter = connection.prepare<Required<EventFilter>, StoredEvent>(
    `SELECT ${COLUMNS} FROM events
     WHERE position > @after AND created_at >= @from AND store_id = @storeId AND (@type IS NULL OR type = @type)
       AND (@checkoutId IS NULL OR checkout_id = @checkoutId)
     ORDER BY position LIMIT @limit`,
  );

  return {
    insert,

    /** How many events a checkout has: the sequence of its last one. */
    lastSequence: (checkoutId: string): number => selectLast.get(checkoutId) ?? 0,

    /** The position of the newest event of all stores; 0 if there is none. */
    lastPosition: (): number => selectNewest.get() ?? 0,

    find: (id: string): StoredEvent | undefined => select.get(id),

    /** Events after a position, in the order of all events. */
    after: (filter: EventFilter): StoredEvent[] => selectAfter.all({ from: 0, ...filter }),

    /** The newest matching events, oldest first. */
    latest: (filter: Omit<EventFilter, "after">): StoredEvent[] => selectLatest.all(filter),

    /** The events of a checkout, first to last. */
    of: (checkoutId: string): EventEntry[] => selectOf.all(checkoutId),
  };
}
