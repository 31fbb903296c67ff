import { accept } from "../../core/outcome.ts";
import { judgeIdempotencyDrill } from "../../core/readiness/drills/idempotency.ts";
import { openDrillLease } from "../readiness/drill-lease.ts";
import { deliverForDrill, keepDuplicates } from "../readiness/duplicates.ts";
import { keepDrill, runWebhookDrill, type EndpointDrill } from "../readiness/drills.ts";
import type { HandlersOf } from "./handler.ts";

/** Default length of a list. */
const DEFAULT_PAGE = 100;

/** What each operation on drills does. */
export const drillHandlers = {
  listDrills: async ({ store }, { storeId, body: { kind = null, limit = DEFAULT_PAGE } }) =>
    accept({ drills: store.drills.list({ storeId, kind, limit }) }),
  // The request that opens a lease holds it, so it gives it its id.
  openLease: async (context, { storeId, requestId: id, body: { drill, timeoutMs } }) => {
    const apiKey = await openDrillLease(context, { storeId, id, drill }, timeoutMs);
    return accept({ id, storeId, apiKey });
  },
  endLease: async ({ leases }, { storeId, id }) => {
    const ended = await leases.end({ storeId, id });
    return ended.ok ? accept({}) : ended;
  },
  runWebhookDrill: async (context, { storeId, body }) => {
    const run = await runWebhookDrill(context, storeId, body);
    if (!run.ok) return run;
    return accept({ drills: run.value.map(endpointDrill) });
  },
  recordBrowserReturn: (context, { storeId, body: { returnUrl, steps } }) =>
    keepDrill(context, { storeId, kind: "browser_return", subject: returnUrl, steps }),
  beginClientRun: async ({ idempotencyWatch }, { storeId, id, body }) => {
    const begun = idempotencyWatch.beginRun({ storeId, id }, body);
    return begun.ok ? accept({}) : begun;
  },
  endClientRun: async ({ idempotencyWatch }, { storeId, id, body }) => {
    const lost = idempotencyWatch.endRun({ storeId, id }, body);
    return lost.ok ? accept({ lost: lost.value }) : lost;
  },
  awaitClientRun: async ({ idempotencyWatch }, { storeId, id }) => {
    const lost = await idempotencyWatch.awaitLoss({ storeId, id });
    return lost.ok ? accept({ lost: lost.value }) : lost;
  },
  listRetrieves: async ({ leases, retrieveWatch }, { storeId, id }) => {
    const held = leases.check({ storeId, id });
    return held.ok ? accept({ paidCheckouts: retrieveWatch.of({ storeId, id }) }) : held;
  },
  deliverForDrill: (context, { storeId, body }) => deliverForDrill(context, storeId, body),
  recordDuplicates: (context, { storeId, body }) => keepDuplicates(context, storeId, body),
  closeIdempotencyDrill: async ({ idempotencyWatch }, { storeId, id }) => {
    const closed = idempotencyWatch.close({ storeId, id });
    if (!closed.ok) return closed;
    const reuse = closed.value;
    return accept({ reuse: reuse && { ...reuse, body: reuse.request } });
  },
  judgeIdempotencyDrill: async (context, { storeId, id }) => {
    const concluded = context.idempotencyWatch.conclude({ storeId, id });
    if (!concluded.ok) return concluded;
    const { seen: creates } = concluded.value;
    const { verdict, steps } = judgeIdempotencyDrill(concluded.value);
    // What shows nothing is not kept: the last drill that showed something stands.
    if (verdict === "unknown") return accept({ verdict, steps, creates, drillId: null });
    const kept = await keepDrill(context, { storeId, kind: "idempotency", subject: storeId, steps });
    return kept.ok ? accept({ verdict, steps, creates, drillId: kept.value.id }) : kept;
  },
} satisfies HandlersOf<"drills">;

function endpointDrill({ endpoint: { id: endpointId, url }, drill, order }: EndpointDrill) {
  const shown = drill.passed ? "passed" : "failed";
  return { ...drill, verdict: drill.id === null ? "unknown" : shown, endpointId, url, order } as const;
}
