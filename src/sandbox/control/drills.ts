import { accept, mapValue } from "../../core/outcome.ts";
import { judgeIdempotencyDrill } from "../../core/readiness/drills/idempotency.ts";
import { openDrillLease } from "../readiness/drill-lease.ts";
import { openExploreLease } from "../readiness/explore-lease.ts";
import { deliverForDrill, recordDuplicatesDrill } from "../readiness/duplicates.ts";
import { recordDrill, runWebhookDrill } from "../readiness/drills.ts";
import type { HandlersOf } from "./handler.ts";

/** Default length of a list. */
const DEFAULT_PAGE = 100;

/** The handlers of operations on drills. */
export const drillHandlers = {
  listDrills: async ({ store }, { storeId, body: { kind = null, limit = DEFAULT_PAGE } }) =>
    accept({ drills: store.drills.list({ storeId, kind, limit }) }),
  // The id of the lease is the id of the request that opens and holds it.
  openLease: async (context, { storeId, requestId: id, body: { drill, timeoutMs } }) => {
    if (drill === "explore")
      return mapValue(await openExploreLease(context, { storeId, id }, timeoutMs), (apiKey) => ({
        id,
        storeId,
        apiKey,
      }));
    const apiKey = await openDrillLease(context, { storeId, id, drill }, timeoutMs);
    return accept({ id, storeId, apiKey });
  },
  endLease: async ({ leases }, { storeId, id }) => mapValue(await leases.end({ storeId, id }), () => ({})),
  runWebhookDrill: async (context, { storeId, body }) =>
    mapValue(await runWebhookDrill(context, storeId, body), (drills) => ({ drills })),
  recordBrowserReturn: (context, { storeId, body: { returnUrl, steps } }) =>
    recordDrill(context, { storeId, kind: "browser_return", subject: returnUrl, steps }),
  beginClientRun: async ({ idempotencyWatch }, { storeId, id, body }) =>
    mapValue(idempotencyWatch.beginRun({ storeId, id }, body), () => ({})),
  endClientRun: async ({ idempotencyWatch }, { storeId, id, body }) =>
    idempotencyWatch.endRun({ storeId, id }, body),
  awaitClientRun: async ({ idempotencyWatch }, { storeId, id }) =>
    mapValue(await idempotencyWatch.awaitLoss({ storeId, id }), (lost) => ({ lost })),
  listRetrieves: async ({ leases, retrieveWatch }, { storeId, id }) =>
    mapValue(leases.check({ storeId, id }), () => ({ paidCheckouts: retrieveWatch.of({ storeId, id }) })),
  deliverForDrill: (context, { storeId, body }) => deliverForDrill(context, storeId, body),
  recordDuplicates: (context, { storeId, body }) => recordDuplicatesDrill(context, storeId, body),
  closeIdempotencyDrill: async ({ idempotencyWatch }, { storeId, id }) =>
    mapValue(idempotencyWatch.close({ storeId, id }), (reuse) => ({ reuse })),
  judgeIdempotencyDrill: async (context, { storeId, id, body: { steps: more = [] } }) => {
    const concluded = context.idempotencyWatch.conclude({ storeId, id });
    if (!concluded.ok) return concluded;
    const { seen: creates } = concluded.value;
    const judged = judgeIdempotencyDrill(concluded.value);
    const steps = [...judged.steps, ...more];
    const verdict =
      judged.verdict === "passed" && more.some(({ passed }) => !passed) ? "failed" : judged.verdict;
    // A drill without a verdict is not recorded; it does not replace the last drill with a verdict.
    if (verdict === "unknown") return accept({ verdict, steps, creates, drillId: null });
    const kept = await recordDrill(context, { storeId, kind: "idempotency", subject: storeId, steps });
    return mapValue(kept, ({ id: drillId }) => ({ verdict, steps, creates, drillId }));
  },
} satisfies HandlersOf<"drills">;
