import type { LoggedRequest } from "../../core/request/logged-request.ts";
import type { Connection } from "../connection/connection.ts";

/** Only lines of refused requests contain this text: other codes are null, and quotes inside strings are escaped. */
const REFUSED_TEXT = '"code":"';

type RefusedLine = Pick<LoggedRequest, "position" | "requestId" | "orderId" | "status" | "code" | "storeAt">;

type StoreIndex = { readonly newestBatch: number; readonly lines: readonly RefusedLine[] };

const MAX_SEARCHED_LINES = 1000;

type RefusedQuery = { readonly after: number; readonly limit: number };

/** Caches refused requests, because reading the whole log for a search would take longer than the rest of the page. */
export function createRefusedIndex(
  connection: Connection,
  parse: (line: string) => readonly LoggedRequest[],
) {
  const cachedIndexes = new Map<string, StoreIndex>();
  const selectNewestBatch = connection
    .prepare<[string], number | null>("SELECT max(last) FROM request_batches WHERE store_id = ?")
    .pluck();
  const selectLaterBatches = connection
    .prepare<[string, number], string>(
      "SELECT requests FROM request_batches WHERE store_id = ? AND last > ? ORDER BY last DESC",
    )
    .pluck();

  const readLater = (storeId: string, start: number): RefusedLine[] => {
    const lines: RefusedLine[] = [];
    for (const batch of selectLaterBatches.iterate(storeId, start)) {
      if (!batch.includes(REFUSED_TEXT)) continue;
      for (const line of batch.split("\n").toReversed()) {
        if (lines.length > MAX_SEARCHED_LINES) return lines;
        if (line.includes(REFUSED_TEXT)) lines.push(...parse(line).map(summaryOf));
      }
    }
    return lines;
  };

  const updateLines = (storeId: string, start: number): readonly RefusedLine[] => {
    const cachedIndex = cachedIndexes.get(storeId);
    const newestBatch = selectNewestBatch.get(storeId) ?? 0;
    const index =
      cachedIndex !== undefined && cachedIndex.newestBatch <= newestBatch
        ? cachedIndex
        : { newestBatch: start, lines: [] };
    const addedLines = index.newestBatch === newestBatch ? [] : readLater(storeId, index.newestBatch);
    const lines = addedLines
      .concat(index.lines)
      .filter(({ position }) => position > start)
      .slice(0, MAX_SEARCHED_LINES + 1);
    cachedIndexes.set(storeId, { newestBatch, lines });
    return lines;
  };

  return {
    /** Matches part of an order id case-insensitively; newest first. `isWhole`: all refused requests were searched. */
    find: (
      storeId: string,
      text: string,
      { after, limit }: RefusedQuery,
    ): { readonly requests: readonly RefusedLine[]; readonly isWhole: boolean } => {
      const lowerText = text.toLowerCase();
      const requests: RefusedLine[] = [];
      for (const [index, line] of updateLines(storeId, after).entries()) {
        if (index >= MAX_SEARCHED_LINES || requests.length >= limit) return { requests, isWhole: false };
        if (line.orderId?.toLowerCase().includes(lowerText) === true) requests.push(line);
      }
      return { requests, isWhole: true };
    },

    forget: (storeId: string): void => void cachedIndexes.delete(storeId),
  };
}

function summaryOf({ position, requestId, orderId, status, code, storeAt }: LoggedRequest): RefusedLine {
  return { position, requestId, orderId, status, code, storeAt };
}
