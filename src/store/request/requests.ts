import {
  selectOriginal,
  matchesFilter,
  type FoundRequest,
  type LoggedRequest,
  type RequestFilter,
} from "../../core/request/logged-request.ts";
import { parseRequestLine } from "../../core/request/read-request.ts";
import type { Connection } from "../connection/connection.ts";
import { createOrderIndex } from "./order-index.ts";
import { createRefusedIndex } from "./refused-index.ts";

/** One row for each batch, with one JSON line per request: a row for each request slowed creates by a tenth. */
export const REQUESTS_DDL = `
CREATE TABLE request_batches (
  store_id TEXT NOT NULL,
  last     INTEGER NOT NULL,
  requests TEXT NOT NULL,
  PRIMARY KEY (store_id, last)
) STRICT, WITHOUT ROWID;
`;

const SELECT_CONTAINING = `SELECT requests FROM request_batches
  WHERE store_id = @storeId AND last > @after AND (@term IS NULL OR instr(requests, @term) > 0)`;

export type RequestSearch = {
  /** Only requests before this position are searched. Default: all. */
  readonly before?: number | undefined;
  readonly limit: number;
  readonly maxRead?: number;
  readonly isMatch?: (request: LoggedRequest) => boolean;
};

export type RequestSearchResult = {
  readonly hits: readonly LoggedRequest[];
  readonly readCount: number;
  readonly nextBefore: number | null;
};

type PositionRange = { readonly storeId: string; readonly after: number; readonly before: number };

export type RequestBatch = { readonly storeId: string; readonly requests: readonly LoggedRequest[] };

export function requestsTable(connection: Connection, noteUnreadable = (): void => undefined) {
  const readBatch = createBatchReader(noteUnreadable);
  const { insert, trim, remove, selectLastPosition, selectNewestFirst, selectOldestFirst } =
    prepareStatements(connection);
  const orderIndex = createOrderIndex(connection, readBatch);
  const refusedIndex = createRefusedIndex(connection, readBatch);
  const append = connection.transaction((batches: readonly RequestBatch[], limit: number) => {
    for (const { storeId, requests } of batches) {
      const newestPosition = requests.at(-1)?.position ?? 0;
      // JSON.stringify escapes line breaks, so each request is one line.
      const lines = requests.slice(-limit).map((request) => JSON.stringify(request));
      insert.run(storeId, newestPosition, lines.join("\n"));
      trim.run(storeId, newestPosition - limit);
    }
  });

  function* newestFirst(storeId: string, start: number, text: string | null): Generator<LoggedRequest> {
    for (const batch of selectNewestFirst.iterate({ storeId, after: start, term: searchTextOf(text) }))
      yield* readBatch(batch, text).toReversed();
  }

  function* oldestFirst(storeId: string, start: number, text: string | null): Generator<LoggedRequest> {
    for (const batch of selectOldestFirst.iterate({ storeId, after: start, term: searchTextOf(text) }))
      yield* readBatch(batch, text);
  }

  return {
    append: (batches: readonly RequestBatch[], limit: number): void => append.immediate(batches, limit),

    forget: (storeId: string): void => {
      remove.run(storeId);
      orderIndex.forget(storeId);
      refusedIndex.forget(storeId);
    },

    lastPosition: (storeId: string): number => selectLastPosition.get(storeId) ?? 0,

    search: createSearch(connection, readBatch),

    find: (storeId: string, requestId: string): FoundRequest | undefined =>
      selectOriginal([...oldestFirst(storeId, 0, requestId)].filter((item) => item.requestId === requestId)),

    findRefused: refusedIndex.find,

    /**
     * With `filter.after`, selects the oldest matches instead of the newest, so that a caller who pages misses none.
     */
    list: (storeId: string, filter: RequestFilter, after = 0): LoggedRequest[] => {
      const start = Math.max(after, filter.after ?? 0);
      const matches: LoggedRequest[] = [];
      const read = filter.after === null ? newestFirst : oldestFirst;
      const indexedRequests =
        filter.after === null ? orderIndex.newestOf(storeId, filter.orderId) : undefined;
      for (const request of indexedRequests ?? read(storeId, start, filter.orderId)) {
        if (matches.length >= filter.limit) break;
        if (request.position > start && matchesFilter(filter, request)) matches.push(request);
      }
      return filter.after === null ? matches : matches.toReversed();
    },
  };
}

function searchTextOf(text: string | null): string | null {
  return text === null ? null : JSON.stringify(text);
}

/** With `text`, parses only lines that contain it as a JSON string, which is faster. Skips invalid lines. */
function createBatchReader(noteUnreadable: () => void) {
  return (batch: string, text: string | null = null): LoggedRequest[] => {
    const [lines, term] = [batch.split("\n"), searchTextOf(text)];
    return (term === null ? lines : lines.filter((line) => line.includes(term))).flatMap((line) => {
      const request = parseRequestLine(line);
      if (request === undefined) noteUnreadable();
      return request ?? [];
    });
  };
}

export function countUnreadableRequests(connection: Connection): number {
  let count = 0;
  const readBatch = createBatchReader(() => (count += 1));
  const batches = connection.prepare<[], string>("SELECT requests FROM request_batches").pluck();
  for (const batch of batches.iterate()) readBatch(batch);
  return count;
}

type TextQuery = { readonly storeId: string; readonly after: number; readonly term: string | null };

function prepareStatements(connection: Connection) {
  return {
    insert: connection.prepare<[string, number, string]>(
      "INSERT INTO request_batches (store_id, last, requests) VALUES (?, ?, ?)",
    ),
    trim: connection.prepare<[string, number]>(
      "DELETE FROM request_batches WHERE store_id = ? AND last <= ?",
    ),
    remove: connection.prepare<[string]>("DELETE FROM request_batches WHERE store_id = ?"),
    selectLastPosition: connection
      .prepare<[string], number | null>("SELECT max(last) FROM request_batches WHERE store_id = ?")
      .pluck(),
    selectNewestFirst: connection
      .prepare<TextQuery, string>(`${SELECT_CONTAINING} ORDER BY last DESC`)
      .pluck(),
    selectOldestFirst: connection.prepare<TextQuery, string>(`${SELECT_CONTAINING} ORDER BY last`).pluck(),
  };
}

function createSearch(
  connection: Connection,
  readBatch: ReturnType<typeof createBatchReader>,
): (storeId: string, after: number, search: RequestSearch) => RequestSearchResult {
  const batches = connection
    .prepare<PositionRange, string>(
      `SELECT requests FROM request_batches WHERE store_id = @storeId AND last > @after AND last <= ifnull(
           (SELECT min(last) FROM request_batches WHERE store_id = @storeId AND last >= @before), @before)
         ORDER BY last DESC`,
    )
    .pluck();
  return (storeId, start, { before = Number.MAX_SAFE_INTEGER, limit, maxRead = Infinity, isMatch }) => {
    const matches: LoggedRequest[] = [];
    let readCount = 0;
    let position = before;
    for (const batch of batches.iterate({ storeId, after: start, before }))
      for (const request of readBatch(batch).toReversed()) {
        if (request.position <= start || request.position >= before) continue;
        if (readCount === maxRead) return { hits: matches, readCount, nextBefore: position };
        readCount += 1;
        ({ position } = request);
        if (isMatch?.(request) === false) continue;
        if (matches.length === limit)
          return { hits: matches, readCount, nextBefore: matches.at(-1)?.position ?? null };
        matches.push(request);
      }
    return { hits: matches, readCount, nextBefore: null };
  };
}
