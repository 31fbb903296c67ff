import { accept, type Outcome } from "../../core/outcome.ts";
import { addFaults, clearFaults, listFaults, removeFault } from "../fault/faults.ts";
import type { HandlersOf } from "./handler.ts";

/** What each operation on faults does. */
export const faultHandlers = {
  addFault: async (context, { storeId, body }) => {
    const added = await addFaults(context, storeId, body);
    const [first] = added.ok ? added.value : [];
    if (!added.ok || first === undefined) return added as Outcome<never>;
    return accept({ fault: first, faults: added.value });
  },
  listFaults: async (context, { storeId }) => accept({ faults: listFaults(context, storeId) }),
  removeFault: async (context, { storeId, id }) => {
    const removed = await removeFault(context, storeId, id);
    return removed.ok ? accept({ fault: removed.value }) : removed;
  },
  clearFaults: async (context, { storeId }) => {
    const cleared = await clearFaults(context, storeId);
    return cleared.ok ? accept({ faults: cleared.value }) : cleared;
  },
} satisfies HandlersOf<"faults">;
