import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { undoEffects } from "../readiness/open-lease.ts";
import { addFaults, clearFaults, listFaults, removeFault } from "../fault/faults.ts";
import type { HandlersOf } from "./handler.ts";

export const faultHandlers = {
  addFault: async (context, { storeId, leaseId, body }) => {
    const addedFaults = await addFaults(context, { storeId, leaseId }, body);
    const [fault] = addedFaults.ok ? addedFaults.value : [];
    if (!addedFaults.ok || fault === undefined) return addedFaults as Outcome<never>;
    const lease = leaseId === undefined ? accept(undefined) : context.leases.check({ id: leaseId, storeId });
    if (!lease.ok) await undoEffects(context, leaseId);
    return mapValue(lease, () => ({ fault, faults: addedFaults.value }));
  },
  listFaults: async (context, { storeId }) => accept({ storeId, faults: listFaults(context, storeId) }),
  removeFault: async (context, { storeId, id }) =>
    mapValue(await removeFault(context, storeId, id), (fault) => ({ fault })),
  clearFaults: async (context, { storeId }) =>
    mapValue(await clearFaults(context, storeId), (faults) => ({ storeId, faults })),
} satisfies HandlersOf<"faults">;
