import { hasEnded, type Fault } from "../../core/fault/fault.ts";
import type { World } from "../../world.ts";
import { storeTime } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";

export function countActiveFaults(
  context: Pick<ServiceContext, "store"> & { readonly world: Pick<World, "now"> },
): number {
  const faults = context.store.faults.all();
  return faults.filter((fault) => !hasEnded(fault, storeTime(context, fault.storeId))).length;
}

/** Removes the faults of a store that have ended, and returns the active faults; runs inside a write. */
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
