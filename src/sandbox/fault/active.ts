import { isOver, type Fault } from "../../core/fault/fault.ts";
import type { World } from "../../world.ts";
import { storeTime } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";

/** How many faults of all stores can still hit. */
export function countFaults(
  context: Pick<ServiceContext, "store"> & { readonly world: Pick<World, "now"> },
): number {
  const faults = context.store.faults.all();
  return faults.filter((fault) => !isOver(fault, storeTime(context, fault.storeId))).length;
}

/** Removes the faults of a store that can no longer hit, and returns the others; runs inside a write. */
export function forgetOver(
  { store }: Pick<ServiceContext, "store">,
  storeId: string,
  now: number,
): readonly Fault[] {
  return store.faults.now(storeId).filter((fault) => {
    const over = isOver(fault, now);
    if (over) store.faults.remove(fault.id);
    return !over;
  });
}
