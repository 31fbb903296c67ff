import { accept, mapValue } from "../../core/outcome.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import type { RecordedDrill } from "../../core/readiness/drills/drill.ts";
import { stepInEnglish } from "../../core/readiness/drills/said.ts";
import { openLease } from "../readiness/open-lease.ts";
import { postToEndpoint, recordDrill } from "../readiness/drills.ts";
import type { HandlersOf } from "./handler.ts";

function drillInEnglish(drill: RecordedDrill): AnswerOf<"recordDrill"> {
  return { ...drill, steps: drill.steps.map(stepInEnglish) };
}

const DEFAULT_LIMIT = 100;

export const drillHandlers = {
  listDrills: async ({ store }, { storeId, body: { kind = null, limit = DEFAULT_LIMIT } }) =>
    accept({ drills: store.drills.list({ storeId, kind, limit }).map(drillInEnglish) }),
  openLease: async (context, { storeId, requestId: id, body: { drill, timeoutMs } }) => {
    const lease = await openLease(context, { storeId, id, drill }, timeoutMs);
    return mapValue(lease, (leaseFields) => ({ id, storeId, ...leaseFields }));
  },
  endLease: async ({ leases }, { storeId, id }) => mapValue(await leases.end({ storeId, id }), () => ({})),
  recordDrill: async (context, { storeId, body }) =>
    mapValue(await recordDrill(context, storeId, body), drillInEnglish),
  listRetrieves: async ({ leases }, { storeId, id }) =>
    mapValue(leases.check({ storeId, id }), () => ({ paidCheckouts: leases.retrievesOf({ storeId, id }) })),
  postToEndpoint: (context, { storeId, body }) => postToEndpoint(context, storeId, body),
} satisfies HandlersOf<"drills">;
