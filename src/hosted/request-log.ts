import { DEFAULT_KEPT_REQUESTS } from "../core/request/logged-request.ts";
import { accept } from "../core/outcome.ts";
import { storeOfAnyKey } from "../sandbox/api/caller.ts";
import { createRequestLog, type RequestLog } from "../sandbox/runtime/request-log.ts";
import type { Connection } from "../store/connection/connection.ts";
import { requestsTable, type RequestBatch } from "../store/request/requests.ts";
import type { Store } from "../store/store.ts";
import type { WorkerWorld } from "./world.ts";

/** Keeps a row below the platform's maximum, even if each request has the longest details. */
const MAX_REQUESTS_IN_ROW = 50;

type LogParts = {
  readonly connection: Connection;
  readonly store: Store;
  readonly report: (work: string, problem: unknown) => void;
};

export function openRequestLog(world: WorkerWorld, { connection, store, report }: LogParts): RequestLog {
  const table = requestsTable(connection);
  const file = {
    ...table,
    append: (batches: readonly RequestBatch[], keptCount: number) =>
      table.append(batches.flatMap(splitBatch), keptCount),
    isPresent: () => true,
    closeAfterError: () => false,
    close: () => undefined,
  };
  return createRequestLog(world, {
    open: () => accept(file),
    ownerOf: (request) => storeOfAnyKey(store, request) ?? { storeId: store.stores.first()?.id },
    maxRequests: DEFAULT_KEPT_REQUESTS,
    report: (problem) => report("request log", problem),
  });
}

function splitBatch({ storeId, requests }: RequestBatch): readonly RequestBatch[] {
  const count = Math.ceil(requests.length / MAX_REQUESTS_IN_ROW);
  return Array.from({ length: count }, (_, index) => ({
    storeId,
    requests: requests.slice(index * MAX_REQUESTS_IN_ROW, (index + 1) * MAX_REQUESTS_IN_ROW),
  }));
}
