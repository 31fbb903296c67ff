import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { addFaults, clearFaults, listFaults, removeFault } from "../fault/faults.ts";
import type { HandlersOf } from "./handler.ts";

export const faultHandlers = {
  addFault: async (context, { storeId, leaseId, body }) => {
    const added = await addFaults(context, storeId, body);
    const [first] = added.ok ? added.value : [];
    if (!added.ok || first === undefined) return added as Outcome<never>;
    const faults = added.value;
    if (leaseId === undefined) return accept({ fault: first, faults });
    const ids = faults.map(({ id }) => id);
    const known = context.leases.addFaults({ id: leaseId, storeId }, ids);
    if (known.ok) return accept({ fault: first, faults });
    // The lease has ended while the faults were written.
    for (const id of ids) await removeFault(context, storeId, id);
    return known;
  },
  listFaults: async (context, { storeId }) => accept({ storeId, faults: listFaults(context, storeId) }),
  removeFault: async (context, { storeId, id }) =>
    mapValue(await removeFault(context, storeId, id), (fault) => ({ fault })),
  clearFaults: async (context, { storeId }) =>
    mapValue(await clearFaults(context, storeId), (faults) => ({ storeId, faults })),
} satisfies HandlersOf<"faults">;
