import type { AnswerOf, OperationName, RequestOf } from "../../core/control/operations.ts";
import type { idempotencyOperations, SeenCreateWire } from "../../core/control/idempotency.ts";
import { judgeIdempotencyDrill, type SeenCreate } from "../../core/readiness/drills/idempotency.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { keepDrill, type DrillsContext } from "../readiness/drills.ts";
import { inStore } from "../in-store.ts";
import type { IdempotencyWatch } from "../readiness/idempotency-watch.ts";

/** What the idempotency drill acts with. */
export type IdempotencyActs = DrillsContext & { readonly idempotencyWatch: IdempotencyWatch };

type IdempotencyOperation = keyof typeof idempotencyOperations & OperationName;
type Handler<Name extends IdempotencyOperation> = (
  context: IdempotencyActs,
  call: { readonly id: string; readonly body: RequestOf<Name> },
) => Promise<Outcome<AnswerOf<Name>>>;

/** What each operation of the idempotency drill does; from the wire to the watch and back. */
export const IDEMPOTENCY_HANDLERS: { readonly [Name in IdempotencyOperation]: Handler<Name> } = {
  beginIdempotencyDrill: (context, { body }) =>
    inStore(context, (storeId) =>
      accept({ id: context.idempotencyWatch.begin(storeId, body.timeout_ms), store_id: storeId }),
    ),
  closeIdempotencyDrill: (context, { id, body }) =>
    inStore<AnswerOf<"closeIdempotencyDrill">>(context, (storeId) => {
      const client = { ending: body.ending, exitCode: body.exit_code };
      const closed = context.idempotencyWatch.close({ storeId, id }, client);
      if (!closed.ok) return closed;
      const reuse = closed.value;
      if (reuse === null) return accept({ reuse });
      const { path, idempotencyKey, request } = reuse;
      return accept({ reuse: { path, idempotency_key: idempotencyKey, body: request } });
    }),
  judgeIdempotencyDrill: (context, { id }) =>
    inStore<AnswerOf<"judgeIdempotencyDrill">>(context, async (storeId) => {
      const concluded = context.idempotencyWatch.conclude({ storeId, id });
      if (!concluded.ok) return concluded;
      const { verdict, steps } = judgeIdempotencyDrill(concluded.value);
      const answer = { verdict, steps: [...steps], creates: concluded.value.seen.map(seenWire) };
      // What shows nothing is not kept: the last drill that showed something stands.
      if (verdict === "unknown") return accept({ ...answer, drill_id: null });
      const kept = await keepDrill(context, { storeId, kind: "idempotency", subject: storeId, steps });
      return kept.ok ? accept({ ...answer, drill_id: kept.value.id }) : kept;
    }),
};

function seenWire(create: SeenCreate): SeenCreateWire {
  const { requestId, idempotencyKey, orderId, result, checkoutId, lost } = create;
  return {
    request_id: requestId,
    idempotency_key: idempotencyKey,
    order_id: orderId,
    result,
    checkout_id: checkoutId,
    lost,
  };
}
