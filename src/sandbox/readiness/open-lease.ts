import { REAL_CLOCK } from "../../core/clock.ts";
import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import type { LeaseKind } from "../../core/readiness/names.ts";
import { refuseFact } from "../../core/refusals.ts";
import { withStore } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import { clearFaults, listFaults, removeFault } from "../fault/faults.ts";
import { moveClock, type ClockContext } from "../runtime/clock.ts";
import { createKey } from "../runtime/keys.ts";
import type { LeaseRef, Leases } from "./leases.ts";

type UndoContext = ClockContext & Parameters<typeof clearFaults>[0];

export type LeaseContext = UndoContext &
  Pick<ServiceContext, "wakeDispatcher" | "world"> & {
    readonly leases: Leases;
    readonly wakeStores: (storeIds: readonly string[]) => Promise<void>;
  };

/** `apiKey`: for the command that holds the lease. `end`: runs before the stored effects are undone. */
type LeaseStart = { readonly apiKey?: string; readonly end?: () => void | Promise<void> };

const LEASE_STARTERS: Readonly<
  Record<LeaseKind, (context: LeaseContext, lease: LeaseRef) => Outcome<LeaseStart>>
> = {
  duplicates: () => accept({}),
  explore: beginExplore,
  key: beginKey,
};

export function openLease(
  context: LeaseContext,
  { drill, ...ref }: LeaseRef & { readonly drill: LeaseKind },
  timeoutMs: number,
): Promise<Outcome<Pick<LeaseStart, "apiKey">>> {
  const { store, leases, wakeDispatcher, wakeStores } = context;
  const { storeId } = ref;
  return withStore(context, storeId, (_store, since) =>
    mapValue(LEASE_STARTERS[drill](context, ref), ({ end, ...leaseFields }) => {
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

/** The key is in no list or snapshot; if the sandbox is killed, its next start revokes the key. */
function beginKey(context: LeaseContext, { storeId }: LeaseRef): Outcome<LeaseStart> {
  const { store, world } = context;
  const { id, apiKey } = createKey(context, { storeId, isForDrill: true });
  return accept({ apiKey, end: () => store.write(() => store.credentials.revoke(id, world.now())) });
}

/**
 * The end of the lease resets the clock to real time and removes all faults, so a store with a moved clock, faults or
 * another drill is refused.
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
 * Call before due work is processed, because a moved clock makes more work due. Default: the leases of a killed
 * sandbox.
 */
export async function undoEffects(context: UndoContext, onlyLeaseId?: string): Promise<void> {
  const { leaseEffects, faults, write } = context.store;
  const effects = leaseEffects
    .all()
    .filter(({ leaseId }) => onlyLeaseId === undefined || leaseId === onlyLeaseId);
  const remainingIds = new Set(faults.all().map(({ id }) => id));
  for (const { storeId, faultId } of effects) {
    if (remainingIds.has(faultId)) await removeFault(context, storeId, faultId);
    if (faultId !== "") continue;
    await clearFaults(context, storeId);
    await moveClock(context, storeId, { action: "real" });
  }
  if (effects.length > 0) await write(() => effects.forEach(({ leaseId }) => leaseEffects.end(leaseId)));
}
