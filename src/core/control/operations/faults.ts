import * as z from "zod/mini";
import { faultEntry, faultRequest } from "../../fault/shapes.ts";
import { nameSchemas } from "../../shape/wire-names.ts";
import { storeOperation } from "../operation.ts";

const faultList = z.object({ storeId: z.uuid(), faults: z.array(faultEntry) });

nameSchemas({ FaultList: faultList });

export const faultOperations = {
  addFault: storeOperation("store", {
    route: ["POST", "/faults"],
    summary: "Adds a fault, or the faults of a profile",
    description:
      "Adds a fault of v1 or of deliveries, or all faults of a profile, and returns them. Refuses fields that do not apply to the action, an end in the past, an unknown event or endpoint, and more than 100 faults.",
    request: () => faultRequest,
    answer: () => z.object({ fault: faultEntry, faults: z.array(faultEntry) }),
    refusals: ["state_conflict"],
  }),
  listFaults: storeOperation("viewer", {
    route: ["GET", "/faults"],
    summary: "Lists the active faults",
    description:
      "Returns the faults that can still apply to a request or a delivery, oldest first, and how often each was applied. Used-up faults are not listed.",
    answer: () => faultList,
  }),
  removeFault: storeOperation("store", {
    route: ["DELETE", "/faults/{id}"],
    summary: "Removes a fault",
    description: "Removes one fault and returns it. Refuses a fault that is unknown or used up.",
    answer: () => z.object({ fault: faultEntry }),
  }),
  clearFaults: storeOperation("store", {
    route: ["DELETE", "/faults"],
    summary: "Removes all faults",
    description:
      "Removes every fault of the store, and returns the removed faults. A store without faults is not an error.",
    answer: () => faultList,
  }),
};
