import type { CheckoutEvent } from "../../core/checkout/event.ts";
import { EVENT_TYPES } from "../../core/checkout/event-types.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

export type EventSummary = Pick<CheckoutEvent, "id" | "type" | "sequence" | "createdAt">;

export type StoredEvent = Omit<CheckoutEvent, "checkoutId" | "type"> & {
  readonly position: number;
  readonly checkoutId: string | null;
  readonly type: string;
};

type EventFilter = {
  readonly storeId: string;
  readonly type: string | null;
  readonly checkoutId: string | null;
  readonly orderId?: string | undefined;
  readonly limit: number;
};
type EventRange = EventFilter & { readonly after: number; readonly from?: number };

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
CREATE INDEX events_of_store ON events (store_id, type);
CREATE TRIGGER events_are_immutable BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
`;

const COLUMNS = columnsOf<StoredEvent>("events", EVENTS_DDL);

/** An outbox: each event is written in the transaction of the change that it reports (decision 11). */
export function eventsTable(connection: Connection) {
  const insert = connection.prepare<Omit<StoredEvent, "position">>(
    // Positions are not reused after a reset, so that a saved cursor misses no event.
    `INSERT INTO events (position, id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES ((SELECT position + 1 FROM event_floor
              WHERE position >= ifnull((SELECT max(position) FROM events), 0)), @id, @storeId, @checkoutId, @type, @sequence, @body, @createdAt)`,
  );
  const selectLastSequence = connection
    .prepare<[string], number | null>("SELECT max(sequence) FROM events WHERE checkout_id = ?")
    .pluck();
  const selectNewest = connection.prepare<[], number | null>("SELECT max(position) FROM events").pluck();
  const selectOf = connection.prepare<[string], EventSummary>(
    `SELECT ${COLUMNS.pick("id", "type", "sequence", "createdAt")} FROM events WHERE checkout_id = ? ORDER BY sequence`,
  );
  const select = connection.prepare<[string], StoredEvent>(
    `SELECT ${COLUMNS.select} FROM events WHERE id = ?`,
  );
  const lists = prepareLists(connection);

  return {
    insert: (event: Omit<StoredEvent, "position">): void => void insert.run(event),

    lastSequence: (checkoutId: string): number => selectLastSequence.get(checkoutId) ?? 0,

    lastPosition: (): number => selectNewest.get() ?? 0,

    find: (id: string): StoredEvent | undefined => select.get(id),

    after: ({ from = 0, ...filter }: EventRange): StoredEvent[] => {
      const { selectAfter, selectAfterOf, selectOfOrder, at } = lists;
      const { checkoutId, orderId } = filter;
      if (checkoutId !== null && orderId === undefined) return selectAfterOf.all({ ...filter, from });
      const positions =
        orderId === undefined
          ? typesOf(filter).flatMap((type) => selectAfter.all({ ...filter, from, type }))
          : selectOfOrder.all({ ...filter, orderId, from, before: AFTER_ALL });
      const firstPositions = positions.toSorted((left, right) => left - right).slice(0, filter.limit);
      return firstPositions.flatMap((position) => at.get(position) ?? []);
    },

    /** Returns the newest matching events, oldest first. */
    latest: (query: EventFilter & { readonly before?: number | undefined }): StoredEvent[] => {
      const filter = { ...query, before: query.before ?? AFTER_ALL };
      const { selectLatest, selectLatestOf, selectOfOrder, at } = lists;
      const { checkoutId, orderId } = filter;
      if (checkoutId !== null && orderId === undefined) return selectLatestOf.all(filter).toReversed();
      const positions =
        orderId === undefined
          ? typesOf(filter).flatMap((type) => selectLatest.all({ ...filter, type }))
          : selectOfOrder.all({ ...filter, orderId, after: 0, from: 0 });
      const lastPositions = positions.toSorted((left, right) => left - right).slice(-filter.limit);
      return lastPositions.flatMap((position) => at.get(position) ?? []);
    },

    of: (checkoutId: string): EventSummary[] => selectOf.all(checkoutId),
  };
}

const AFTER_ALL = Number.MAX_SAFE_INTEGER;

function typesOf({ type }: EventFilter): readonly string[] {
  return type === null ? EVENT_TYPES : [type];
}

/** INDEXED BY and a unary + choose the index where SQLite's planner could choose a slower one. */
function prepareLists(connection: Connection) {
  type TypeQuery = EventFilter & { readonly type: string };
  type LaterQuery = EventRange & { readonly from: number };
  type OrderQuery = LaterQuery & { readonly orderId: string; readonly before: number };
  return {
    at: connection.prepare<[number], StoredEvent>(`SELECT ${COLUMNS.select} FROM events WHERE position = ?`),
    selectLatest: connection
      .prepare<TypeQuery & { readonly before: number }, number>(
        `SELECT position FROM events INDEXED BY events_of_store
         WHERE store_id = @storeId AND type = @type AND position < @before ORDER BY position DESC LIMIT @limit`,
      )
      .pluck(),
    selectAfter: connection
      .prepare<TypeQuery & LaterQuery, number>(
        `SELECT position FROM events INDEXED BY events_of_store
         WHERE store_id = @storeId AND type = @type AND position > @after AND (@from = 0 OR created_at >= @from)
         ORDER BY position LIMIT @limit`,
      )
      .pluck(),
    // Within a checkout, sequence and position sort events equally, and sequence has an index.
    selectLatestOf: connection.prepare<EventFilter & { readonly before: number }, StoredEvent>(
      `SELECT ${COLUMNS.select} FROM events
       WHERE checkout_id = @checkoutId AND +store_id = @storeId AND (@type IS NULL OR type = @type)
         AND +position < @before
       ORDER BY sequence DESC LIMIT @limit`,
    ),
    selectAfterOf: connection.prepare<LaterQuery, StoredEvent>(
      `SELECT ${COLUMNS.select} FROM events
       WHERE checkout_id = @checkoutId AND +store_id = @storeId AND (@type IS NULL OR type = @type)
         AND +position > @after AND created_at >= @from
       ORDER BY sequence LIMIT @limit`,
    ),
    selectOfOrder: connection
      .prepare<OrderQuery, number>(
        `SELECT position FROM events
         WHERE checkout_id IN (
             SELECT id FROM checkouts INDEXED BY checkouts_of_order WHERE store_id = @storeId AND order_id = @orderId)
           AND (@checkoutId IS NULL OR +checkout_id = @checkoutId) AND (@type IS NULL OR type = @type)
           AND +position > @after AND +position < @before AND created_at >= @from`,
      )
      .pluck(),
  };
}
