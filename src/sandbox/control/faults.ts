import type { faultOperations, FaultEntry } from "../../core/fault/operations.ts";
import type { Fault } from "../../core/fault/fault.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { addFaults, clearFaults, listFaults, removeFault } from "../fault/faults.ts";
import type { Handlers } from "./handler.ts";

/** What each operation on faults does. */
export const faultHandlers = {
  addFault: async (context, { storeId, body }) => {
    const added = await addFaults(context, storeId, body);
    const [first] = added.ok ? added.value : [];
    if (!added.ok || first === undefined) return added as Outcome<never>;
    return accept({ fault: faultEntry(first), faults: added.value.map(faultEntry) });
  },
  listFaults: async (context, { storeId }) =>
    accept({ faults: listFaults(context, storeId).map(faultEntry) }),
  removeFault: async (context, { storeId, id }) => {
    const removed = await removeFault(context, storeId, id);
    return removed.ok ? accept({ fault: faultEntry(removed.value) }) : removed;
  },
  clearFaults: async (context, { storeId }) => {
    const cleared = await clearFaults(context, storeId);
    return cleared.ok ? accept({ faults: cleared.value.map(faultEntry) }) : cleared;
  },
} satisfies Pick<Handlers, keyof typeof faultOperations>;

function faultEntry(fault: Fault): FaultEntry {
  const { method, path, eventType, eventId, endpointId, orderId, nth, probability } = fault;
  return { ...fault, match: { method, path, eventType, eventId, endpointId, orderId, nth, probability } };
}
