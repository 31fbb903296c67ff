import { storeTime } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import { removeFault } from "../fault/faults.ts";
import type { LeaseRef, Leases } from "./leases.ts";
import type { RetrieveWatch } from "./retrieve-watch.ts";

/** The state that drill leases change. */
export type LeaseContext = Pick<ServiceContext, "wakeDispatcher"> &
  Parameters<typeof removeFault>[0] & {
    readonly leases: Leases;
    readonly retrieveWatch: RetrieveWatch;
  };

/** Until it ends, webhooks are held and retrieves watched. The lease's faults end with it (decision 66). */
export function openDrillLease(context: LeaseContext, lease: LeaseRef, timeoutMs: number): void {
  const { leases, store, retrieveWatch, wakeDispatcher } = context;
  const since = storeTime(context, lease.storeId);
  const undo = async (faults: readonly string[]): Promise<void> => {
    retrieveWatch.forget(lease);
    // Send the deliveries that were held back.
    store.endpoints.of(lease.storeId).forEach(({ id }) => wakeDispatcher(id));
    // One that was applied as often as it should be is gone.
    for (const id of faults) await removeFault(context, lease.storeId, id);
  };
  leases.open({ ...lease, drill: "duplicates", since }, { timeoutMs, undo });
  retrieveWatch.begin(lease);
}

/** Revokes the keys of drills that an older version left behind when it was killed. */
export function revokeDrillKeys({ store, world }: Pick<LeaseContext, "store" | "world">): Promise<void> {
  return store.write(() => store.credentials.revokeDrills(world.now()));
}
