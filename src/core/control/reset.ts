import * as z from "zod";
import { sandboxOperation } from "./operation.ts";

/** The operation that resets stores. */
export const resetOperations = {
  reset: sandboxOperation({
    method: "POST",
    path: "/reset",
    summary: "Deletes everything that has happened in a store, or in all, and keeps what was set up",
    request: z.strictObject({ store: z.string().min(1).optional() }),
    answer: z.object({ stores: z.array(z.object({ storeId: z.uuid(), name: z.string() })) }),
    refusals: ["not_found", "state_conflict"],
  }),
};
