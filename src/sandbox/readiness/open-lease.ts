// Opens a lease on a store, and undoes the changes of the lease at its end (decision 66).
import { REAL_CLOCK } from "../../core/clock.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import type { LeaseKind } from "../../core/readiness/names.ts";
import { refuseFact } from "../../core/refusals.ts";
import { atStore } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import { clearFaults, listFaults, removeFault } from "../fault/faults.ts";
import { moveClock, type ClockContext } from "../runtime/clock.ts";
import { createKey } from "../runtime/keys.ts";
import type { LeaseRef, Leases } from "./leases.ts";

type UndoContext = ClockContext & Parameters<typeof clearFaults>[0];

/** The state that leases change. */
export type LeaseContext = UndoContext &
  Pick<ServiceContext, "wakeDispatcher" | "world"> & {
    readonly leases: Leases;
    readonly wakeStores: (storeIds: readonly string[]) => Promise<void>;
  };

/** The key for the holder of a lease, and the work at its end, before the effects on disk are undone. */
type LeaseStart = { readonly apiKey?: string; readonly end?: () => void | Promise<void> };

const LEASE_STARTS: Readonly<
  Record<LeaseKind, (context: LeaseContext, lease: LeaseRef) => Outcome<LeaseStart>>
> = {
  duplicates: () => accept({}),
  explore: beginExplore,
  key: beginKey,
};

/** Opens a lease. Its end undoes its faults and the changes of its kind, and sends the webhooks that it held. */
export function openLease(
  context: LeaseContext,
  { drill, ...ref }: LeaseRef & { readonly drill: LeaseKind },
  timeoutMs: number,
): Promise<Outcome<Pick<LeaseStart, "apiKey">>> {
  const { store, leases, wakeDispatcher, wakeStores } = context;
  const { storeId } = ref;
  return atStore(context, storeId, (_store, since) =>
    mapValue(LEASE_STARTS[drill](context, ref), ({ end, ...leaseFields }) => {
      const undo = async (): Promise<void> => {
        await end?.();
        await undoEffects(context, ref.id);
        store.endpoints.of(storeId).forEach(({ id }) => wakeDispatcher(id));
        if (drill === "explore") await wakeStores([storeId]);
      };
      leases.open({ ...ref, drill, since }, { timeoutMs, undo });
      return leaseFields;
    }),
  );
}

/** Creates a key that no list or snapshot contains, unlike the merchant's keys; the start after a kill revokes it. */
function beginKey(context: LeaseContext, { storeId }: LeaseRef): Outcome<LeaseStart> {
  const { store, world } = context;
  const { id, apiKey } = createKey(context, { storeId, forDrill: true });
  return accept({ apiKey, end: () => store.write(() => store.credentials.revoke(id, world.now())) });
}

/**
 * The lease of `checkout explore --receiver`, at whose end the store's clock is set to real time and all its faults are
 * removed. Refuses with `state_conflict` a store with a moved clock, faults or another lease, because the end of this
 * lease would undo all of these.
 */
function beginExplore(context: LeaseContext, { storeId, id: leaseId }: LeaseRef): Outcome<LeaseStart> {
  const { clocks, leaseEffects } = context.store;
  const clock = clocks.of(storeId) ?? REAL_CLOCK;
  if (clock.frozenAt !== null || clock.offsetMs !== 0) return refuseFact("clock_was_moved", {});
  if (listFaults(context, storeId).length > 0) return refuseFact("store_has_faults", {});
  if (context.leases.of(storeId).some(({ drill }) => drill !== "key"))
    return refuseFact("store_is_drilled", {});
  leaseEffects.note({ leaseId, storeId, faultId: "" });
  return accept({});
}

/**
 * Undoes the effects of a lease, or of all leases that a killed sandbox had. Must run before due work, because moved
 * clocks make more work due.
 */
export async function undoEffects(context: UndoContext, onlyLeaseId?: string): Promise<void> {
  const { leaseEffects, faults, write } = context.store;
  const effects = leaseEffects
    .all()
    .filter(({ leaseId }) => onlyLeaseId === undefined || leaseId === onlyLeaseId);
  const remainingIds = new Set(faults.all().map(({ id }) => id));
  for (const { storeId, faultId } of effects) {
    // A fault that was applied its number of times is already removed, and a deleted store has no faults.
    if (remainingIds.has(faultId)) await removeFault(context, storeId, faultId);
    if (faultId !== "") continue;
    await clearFaults(context, storeId);
    await moveClock(context, storeId, { action: "real" });
  }
  if (effects.length > 0) await write(() => effects.forEach(({ leaseId }) => leaseEffects.end(leaseId)));
}
