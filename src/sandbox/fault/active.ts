import { recordMatch, hasEnded, type Fault } from "../../core/fault/fault.ts";
import type { World } from "../../world.ts";
import { storeTime } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";

export function countActiveFaults(
  context: Pick<ServiceContext, "store"> & { readonly world: Pick<World, "now"> },
): number {
  const faults = context.store.faults.all();
  return faults.filter((fault) => !hasEnded(fault, storeTime(context, fault.storeId))).length;
}

export function removeEndedFaults(
  { store }: Pick<ServiceContext, "store">,
  storeId: string,
  now: number,
): readonly Fault[] {
  return store.faults.readUncached(storeId).filter((fault) => {
    const isOver = hasEnded(fault, now);
    if (isOver) store.faults.remove(fault.id);
    return !isOver;
  });
}

/** Returns the first matching fault that applies. Other matching faults count the match too, for their `nth`. */
export function takeFault<WantedFault extends Fault>(
  context: Pick<ServiceContext, "store">,
  storeId: string,
  { now, matches }: { readonly now: number; readonly matches: (fault: Fault) => fault is WantedFault },
): WantedFault | undefined {
  const { faults } = context.store;
  let takenFault: WantedFault | undefined;
  for (const candidate of removeEndedFaults(context, storeId, now).filter(matches)) {
    const { fault, applies } = recordMatch(candidate);
    const isTaken = applies && takenFault === undefined;
    if (isTaken) takenFault = candidate;
    const appliedCount = fault.applied + (isTaken ? 1 : 0);
    if (fault.times !== null && appliedCount >= fault.times) faults.remove(fault.id);
    else faults.saveCounts({ ...fault, applied: appliedCount });
  }
  return takenFault;
}
