import type { ControlTarget } from "../../client/control/control.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import type { Context } from "../command.ts";
import { catchRefusal } from "../problem.ts";
import { callAt } from "../target/call.ts";

export type FaultBatch = readonly RequestOf<"addFault">[];

export function createScopedFaults(context: Context, target: ControlTarget) {
  const addedIds: string[] = [];
  return {
    add: async (requests: FaultBatch): Promise<void> => {
      for (const body of requests) {
        const { faults } = await callAt(context, target, { name: "addFault", body });
        addedIds.push(...faults.map(({ id }) => id));
      }
    },
    keep: (): void => void addedIds.splice(0),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      for (const id of addedIds)
        await catchRefusal(callAt(context, target, { name: "removeFault", id, body: undefined }));
    },
  };
}
