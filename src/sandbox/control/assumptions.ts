import { iso } from "../../core/clock.ts";
import { ASSUMPTIONS } from "../../core/readiness/assumptions.ts";
import type { assumptionOperations, AssumptionWire } from "../../core/control/assumptions.ts";
import type { AnswerOf, OperationName } from "../../core/control/operations.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { inStore } from "../in-store.ts";
import type { ServiceContext } from "../context.ts";

type AssumptionOperation = keyof typeof assumptionOperations & OperationName;

/** What the operation on assumptions does; from the wire to the log and back. */
export const ASSUMPTION_HANDLERS: {
  readonly [Name in AssumptionOperation]: (context: ServiceContext) => Promise<Outcome<AnswerOf<Name>>>;
} = {
  assumptions: (context) =>
    inStore(context, async (storeId) => {
      const uses = await context.assumptions.of(storeId);
      const listed = ASSUMPTIONS.map(({ number, title, chosen, setting, shownBy }): AssumptionWire => {
        const use = uses.find(({ decision }) => decision === number);
        const reliedOn = use && { since: iso(use.firstAt), request_id: use.firstRequestId };
        return { decision: number, title, chosen, setting, shown_by: shownBy, relied_on: reliedOn ?? null };
      });
      return accept({ store_id: storeId, assumptions: listed });
    }),
};
