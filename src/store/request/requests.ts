import { isAskedFor, type LoggedRequest, type RequestFilter } from "../../core/request/logged-request.ts";
import type { Connection } from "../connection/database.ts";
import { lazily } from "../connection/lazily.ts";
import { createOrderIndex } from "./order-index.ts";

/** The DDL of a log with a row for each request. */
export const REQUESTS_DDL = `
CREATE TABLE requests (
  store_id    TEXT NOT NULL,
  position    INTEGER NOT NULL,
  request_id  TEXT NOT NULL,
  at          INTEGER NOT NULL,
  store_at    INTEGER NOT NULL,
  method      TEXT NOT NULL,
  path        TEXT NOT NULL,
  status      INTEGER NOT NULL,
  code        TEXT,
  order_id    TEXT,
  duration_ms REAL NOT NULL,
  decisions   TEXT NOT NULL,
  refused     TEXT,
  PRIMARY KEY (store_id, position)
) STRICT, WITHOUT ROWID;
`;

/**
 * The migration to a row for each batch of a store: a JSON array of its requests in the order of their positions, of which
 * the row has the last. A row for each request cost a create a tenth of its time.
 */
export const REQUEST_BATCHES_DDL = `
CREATE TABLE request_batches (
  store_id TEXT NOT NULL,
  last     INTEGER NOT NULL,
  requests TEXT NOT NULL,
  PRIMARY KEY (store_id, last)
) STRICT, WITHOUT ROWID;
INSERT INTO request_batches (store_id, last, requests)
  SELECT store_id, position, json_array(json_object(
    'position', position, 'requestId', request_id, 'at', at, 'storeAt', store_at, 'method', method, 'path', path,
    'status', status, 'code', code, 'orderId', order_id, 'durationMs', duration_ms,
    'decisions', json('[' || decisions || ']'), 'refused', json(ifnull(refused, 'null'))))
  FROM requests;
DROP TABLE requests;
`;

/** A batch has the positions up to its last one: the first that reaches a position is the last that is needed. */
const BATCHES = `SELECT requests FROM request_batches
  WHERE store_id = @storeId AND last > @after
    AND last <= ifnull((SELECT min(last) FROM request_batches WHERE store_id = @storeId AND last >= @before), @before)`;

/** As written; before there were faults of v1 none was. */
type WrittenRequest = Omit<LoggedRequest, "fault"> & Partial<Pick<LoggedRequest, "fault">>;

/** Requests of one store that are written together, in the order of their positions. */
export type RequestBatch = { readonly storeId: string; readonly requests: readonly LoggedRequest[] };

/** The requests of each store, the newest ones. */
export function requestsTable(connection: Connection) {
  const { insert, trim, remove, last, newestBatches, oldestBatches } = statements(connection);
  // A start must not wait for what only stories of orders need.
  const orders = lazily(() => createOrderIndex(connection, parsed));
  const append = connection.transaction((batches: readonly RequestBatch[], kept: number) => {
    for (const { storeId, requests } of batches) {
      const newest = requests.at(-1)?.position ?? 0;
      insert.run(storeId, newest, JSON.stringify(requests.slice(-kept)));
      trim.run(storeId, newest - kept);
    }
  });

  /** The requests of a store, newest first; with a text, those of batches that hold it as a JSON string. */
  function* newestFirst(part: Part, text: string | null): Generator<LoggedRequest> {
    for (const batch of holding(newestBatches.iterate(part), text)) yield* parsed(batch).toReversed();
  }

  /** Those on an order with others beside them, newest first: only from the batches that hold some, where that is known. */
  function* newestOfOrder(part: Part, orderId: string | null): Generator<LoggedRequest> {
    const batches = orderId === null ? undefined : orders().batchesOf(part.storeId, orderId);
    if (batches === undefined) yield* newestFirst(part, orderId);
    else for (const batch of batches) yield* parsed(batch).toReversed();
  }

  /** The requests of a store, oldest first; with a text, those of batches that hold it as a JSON string. */
  function* oldestFirst(part: Part, text: string | null): Generator<LoggedRequest> {
    for (const batch of holding(oldestBatches.iterate(part), text)) yield* parsed(batch);
  }

  return {
    /** Writes batches, and forgets those of their stores that hold none of the newest `kept` requests. */
    append: (batches: readonly RequestBatch[], kept: number): void => append.immediate(batches, kept),

    /** Forgets the requests of a store. */
    forget: (storeId: string): void => {
      remove.run(storeId);
      orders().forget(storeId);
    },

    /** The position of a store's newest request; 0 if it has none. */
    last: (storeId: string): number => last.get(storeId) ?? 0,

    /** The newest request with an id. */
    find: (storeId: string, requestId: string): LoggedRequest | undefined => {
      for (const request of newestFirst({ storeId, after: 0, before: LAST }, requestId))
        if (request.requestId === requestId) return request;
      return undefined;
    },

    /**
     * Requests after a position, newest first: the newest ones, or those that come next after the position of the filter,
     * so that who goes on from there misses none.
     */
    list: (storeId: string, filter: RequestFilter, after = 0): LoggedRequest[] => {
      const start = Math.max(after, filter.after ?? 0);
      const found: LoggedRequest[] = [];
      const read = filter.after === null ? newestOfOrder : oldestFirst;
      const { before = LAST } = filter;
      for (const request of read({ storeId, after: start, before }, filter.orderId)) {
        if (found.length >= filter.limit) break;
        if (request.position > start && request.position < before && isAskedFor(filter, request))
          found.push(request);
      }
      return filter.after === null ? found : found.toReversed();
    },
  };
}

/** The batches that hold a text as a JSON string. To look here takes a fifth of the time that SQLite takes to. */
function* holding(batches: Iterable<string>, text: string | null): Generator<string> {
  const held = text === null ? "" : JSON.stringify(text);
  for (const batch of batches) if (batch.includes(held)) yield batch;
}

/** Written by us. */
function parsed(batch: string): LoggedRequest[] {
  const written = JSON.parse(batch) as WrittenRequest[];
  return written.map((request) => Object.assign(request, { fault: request.fault ?? null }));
}

/** Above every position. */
const LAST = Number.MAX_SAFE_INTEGER;

/** The positions of a store between two, neither of which is meant. */
type Part = { readonly storeId: string; readonly after: number; readonly before: number };

function statements(connection: Connection) {
  return {
    insert: connection.prepare<[string, number, string]>(
      "INSERT INTO request_batches (store_id, last, requests) VALUES (?, ?, ?)",
    ),
    trim: connection.prepare<[string, number]>(
      "DELETE FROM request_batches WHERE store_id = ? AND last <= ?",
    ),
    remove: connection.prepare<[string]>("DELETE FROM request_batches WHERE store_id = ?"),
    last: connection
      .prepare<[string], number | null>("SELECT max(last) FROM request_batches WHERE store_id = ?")
      .pluck(),
    newestBatches: connection.prepare<Part, string>(`${BATCHES} ORDER BY last DESC`).pluck(),
    oldestBatches: connection.prepare<Part, string>(`${BATCHES} ORDER BY last`).pluck(),
  };
}
