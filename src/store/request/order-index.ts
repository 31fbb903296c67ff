import type { LoggedRequest } from "../../core/request/logged-request.ts";
import type { Connection } from "../connection/connection.ts";

const MAX_INDEXED_REQUESTS = 50_000;

type StoreIndex = { newestBatch: number; entryCount: number; readonly batches: Map<string, number[]> };

/** In memory, because an index in the file would cost one more write for each create. */
export function createOrderIndex(
  connection: Connection,
  parse: (batch: string, text?: string) => readonly LoggedRequest[],
) {
  const cachedIndexes = new Map<string, StoreIndex>();
  const selectRange = connection.prepare<
    [string],
    { readonly oldest: number | null; readonly newest: number | null }
  >("SELECT min(last) AS oldest, max(last) AS newest FROM request_batches WHERE store_id = ?");
  const selectLaterBatches = connection.prepare<
    [string, number],
    { readonly last: number; readonly requests: string }
  >("SELECT last, requests FROM request_batches WHERE store_id = ? AND last > ? ORDER BY last");
  const select = connection
    .prepare<[string, number], string>("SELECT requests FROM request_batches WHERE store_id = ? AND last = ?")
    .pluck();

  const updateIndex = (storeId: string): StoreIndex | undefined => {
    const { oldest, newest } = selectRange.get(storeId) ?? {};
    if ((newest ?? 0) - (oldest ?? 0) > MAX_INDEXED_REQUESTS) return undefined;
    const cachedIndex = cachedIndexes.get(storeId);
    // Rebuilt if it has too many entries of deleted batches, or if another process started a new log.
    const isUsable =
      cachedIndex !== undefined &&
      cachedIndex.entryCount <= 2 * MAX_INDEXED_REQUESTS &&
      cachedIndex.newestBatch <= (newest ?? 0);
    const index: StoreIndex = isUsable ? cachedIndex : { newestBatch: 0, entryCount: 0, batches: new Map() };
    for (const { last, requests } of selectLaterBatches.iterate(storeId, index.newestBatch)) {
      for (const orderId of new Set(parse(requests).map((request) => request.orderId))) {
        if (orderId === null) continue;
        const batchNumbers = index.batches.get(orderId) ?? [];
        batchNumbers.push(last);
        index.batches.set(orderId, batchNumbers);
        index.entryCount += 1;
      }
      index.newestBatch = last;
    }
    cachedIndexes.set(storeId, index);
    return index;
  };

  function* requestsIn(
    storeId: string,
    orderId: string,
    batchNumbers: readonly number[],
  ): Generator<LoggedRequest> {
    for (const batchNumber of batchNumbers.toReversed()) {
      const batch = select.get(storeId, batchNumber);
      if (batch !== undefined) yield* parse(batch, orderId).toReversed();
    }
  }

  return {
    newestOf: (storeId: string, orderId: string | null): Iterable<LoggedRequest> | undefined => {
      if (orderId === null) return undefined;
      const index = updateIndex(storeId);
      return index && requestsIn(storeId, orderId, index.batches.get(orderId) ?? []);
    },

    forget: (storeId: string): void => void cachedIndexes.delete(storeId),
  };
}
