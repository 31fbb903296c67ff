import { countMatch, type Fault } from "../../core/fault/fault.ts";
import type { ServiceContext } from "../context.ts";
import { removeEndedFaults } from "./active.ts";

/** Takes the first matching fault that applies. Every fault counts its matches, even if another fault is taken. */
export function takeFault<WantedFault extends Fault>(
  context: Pick<ServiceContext, "store">,
  storeId: string,
  { now, matches }: { readonly now: number; readonly matches: (fault: Fault) => fault is WantedFault },
): WantedFault | undefined {
  const { faults } = context.store;
  let takenFault: WantedFault | undefined;
  for (const candidate of removeEndedFaults(context, storeId, now).filter(matches)) {
    const { fault, applies } = countMatch(candidate);
    const isTaken = applies && takenFault === undefined;
    if (isTaken) takenFault = candidate;
    const appliedCount = fault.applied + (isTaken ? 1 : 0);
    if (fault.times !== null && appliedCount >= fault.times) faults.remove(fault.id);
    else faults.saveCounts({ ...fault, applied: appliedCount });
  }
  return takenFault;
}
