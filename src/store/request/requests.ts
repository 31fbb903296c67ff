import type { LoggedRequest, RefusedRequest, RequestFilter } from "../../core/request/logged-request.ts";
import { prepareByPosition } from "../connection/by-position.ts";
import type { Connection } from "../connection/database.ts";

/**
 * The DDL of the request log. It is read from its newest end and trimmed at its oldest, so that it needs no index beside
 * its key.
 */
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

/** A request and its store. */
export type StoredRequest = LoggedRequest & { readonly storeId: string };

/** As stored: numbers joined by commas, and JSON. */
type Row = Omit<StoredRequest, "decisions" | "refused"> & {
  readonly decisions: string;
  readonly refused: string | null;
};
type ReadRow = Omit<Row, "storeId">;

const COLUMNS = `position, request_id AS requestId, at, store_at AS storeAt, method, path, status, code,
  order_id AS orderId, duration_ms AS durationMs, decisions, refused`;

/** The requests of each store, the newest ones. */
export function requestsTable(connection: Connection) {
  const insert = prepareByPosition<Row>(
    connection,
    `INSERT INTO requests (store_id, position, request_id, at, store_at, method, path, status, code, order_id, duration_ms, decisions, refused)
     VALUES (@storeId, @position, @requestId, @at, @storeAt, @method, @path, @status, @code, @orderId, @durationMs, @decisions, @refused)`,
  );
  const { trim, remove, last, select, list } = statements(connection);
  const append = connection.transaction((requests: readonly StoredRequest[], kept: number) => {
    const newest = new Map<string, number>();
    for (const request of requests) {
      insert({
        ...request,
        decisions: request.decisions.join(","),
        refused: request.refused === null ? null : JSON.stringify(request.refused),
      });
      newest.set(request.storeId, request.position);
    }
    for (const [storeId, position] of newest) trim.run(storeId, position - kept);
  });

  return {
    /** Writes requests with growing positions, and forgets all of their stores but the newest `kept`. */
    append: (requests: readonly StoredRequest[], kept: number): void => append.immediate(requests, kept),

    /** Forgets the requests of a store. */
    forget: (storeId: string): void => {
      remove.run(storeId);
    },

    /** The position of a store's newest request; 0 if it has none. */
    last: (storeId: string): number => last.get(storeId) ?? 0,

    /** The newest request with an id. */
    find: (storeId: string, requestId: string): LoggedRequest | undefined => {
      const row = select.get(storeId, requestId);
      return row && fromRow(row);
    },

    /** Requests, newest first. */
    list: (storeId: string, filter: RequestFilter): LoggedRequest[] => {
      const [lowest, highest] = filter.statuses ?? [0, 999];
      const { after, from, method, path, orderId, limit } = filter;
      const asked = {
        storeId,
        after: after ?? 0,
        from: from ?? 0,
        lowest,
        highest,
        method,
        path,
        orderId,
        limit,
      };
      return list.all(asked).map(fromRow);
    },
  };
}

type Asked = Pick<RequestFilter, "method" | "path" | "orderId" | "limit"> &
  Readonly<Record<"after" | "from" | "lowest" | "highest", number>> & { readonly storeId: string };

function fromRow({ decisions, refused, ...row }: ReadRow): LoggedRequest {
  return {
    ...row,
    decisions: decisions === "" ? [] : decisions.split(",").map(Number),
    // Written by us.
    refused: refused === null ? null : (JSON.parse(refused) as RefusedRequest),
  };
}

/** What is read and deleted. */
function statements(connection: Connection) {
  const trim = connection.prepare<[string, number]>(
    "DELETE FROM requests WHERE store_id = ? AND position <= ?",
  );
  const remove = connection.prepare<[string]>("DELETE FROM requests WHERE store_id = ?");
  const last = connection
    .prepare<[string], number | null>("SELECT max(position) FROM requests WHERE store_id = ?")
    .pluck();
  const select = connection.prepare<[string, string], ReadRow>(
    `SELECT ${COLUMNS} FROM requests WHERE store_id = ? AND request_id = ? ORDER BY position DESC LIMIT 1`,
  );
  const list = connection.prepare<Asked, ReadRow>(
    `SELECT ${COLUMNS} FROM requests
     WHERE store_id = @storeId AND position > @after AND at >= @from AND status BETWEEN @lowest AND @highest
       AND (@method IS NULL OR method = @method) AND (@path IS NULL OR substr(path, 1, length(@path)) = @path)
       AND (@orderId IS NULL OR order_id = @orderId)
     ORDER BY position DESC LIMIT @limit`,
  );
  return { trim, remove, last, select, list };
}
