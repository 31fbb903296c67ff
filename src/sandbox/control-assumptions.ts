import { ASSUMPTIONS } from "../core/assumptions.ts";
import type { assumptionOperations, AssumptionWire } from "../core/control-assumptions.ts";
import type { AnswerOf, OperationName } from "../core/control-api.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import type { ServiceContext } from "./service.ts";

type AssumptionOperation = keyof typeof assumptionOperations & OperationName;

/** What the operation on assumptions does; from the wire to the log and back. */
export const ASSUMPTION_HANDLERS: {
  readonly [Name in AssumptionOperation]: (context: ServiceContext) => Promise<Outcome<AnswerOf<Name>>>;
} = {
  assumptions: async ({ store, assumptions }) => {
    const first = store.stores.first();
    if (first === undefined) return refuse("not_found", "there is no store yet");
    const uses = await assumptions.of(first.id);
    const listed = ASSUMPTIONS.map(({ number, title, chosen, setting, shownBy }): AssumptionWire => {
      const use = uses.find(({ decision }) => decision === number);
      const reliedOn = use && {
        since: new Date(use.firstAt).toISOString(),
        request_id: use.firstRequestId,
      };
      return { decision: number, title, chosen, setting, shown_by: shownBy, relied_on: reliedOn ?? null };
    });
    return accept({ store_id: first.id, assumptions: listed });
  },
};
