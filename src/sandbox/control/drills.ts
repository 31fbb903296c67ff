import { iso } from "../../core/clock.ts";
import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import type { DrillEntry, drillOperations } from "../../core/control/drills.ts";
import type { Drill } from "../../core/readiness/drills/drill.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { keepDrill, runWebhookDrill, type DrillsContext, type EndpointDrill } from "../readiness/drills.ts";
import { inStore } from "../in-store.ts";

type DrillOperation = keyof typeof drillOperations & OperationName;
type Handler<Name extends DrillOperation> = (
  context: DrillsContext,
  call: { readonly id: string; readonly body: RequestOf<Name> },
) => Promise<Outcome<AnswerOf<Name>>>;

/** So many are listed where nothing is said. */
const DEFAULT_PAGE = 100;

/** What each operation on drills does; from the wire to the verbs and back. */
export const DRILL_HANDLERS: { readonly [Name in DrillOperation]: Handler<Name> } = {
  listDrills: (context, { body }) =>
    inStore(context, (storeId) => {
      const { kind = null, limit = DEFAULT_PAGE } = body;
      return accept({ drills: context.store.drills.list({ storeId, kind, limit }).map(drillEntry) });
    }),
  runWebhookDrill: (context, { body }) =>
    inStore(context, async (storeId) => {
      const run = await runWebhookDrill(context, storeId, body.endpoint_id);
      if (!run.ok) return run;
      return accept({ drills: run.value.map(endpointDrillEntry) });
    }),
  recordBrowserReturn: (context, { body }) =>
    inStore(context, async (storeId) => {
      const { return_url: subject, steps } = body;
      const kept = await keepDrill(context, { storeId, kind: "browser_return", subject, steps });
      return kept.ok ? accept(drillEntry(kept.value)) : kept;
    }),
};

/** A drill as it goes out. */
export function drillEntry({ id, kind, subject, passed, at, steps }: Omit<Drill, "storeId">): DrillEntry {
  return { id, kind, subject, passed, at: iso(at), steps: [...steps] };
}

function endpointDrillEntry({ endpoint: { id, url }, drill }: EndpointDrill) {
  return { ...drillEntry(drill), endpoint_id: id, url };
}
