// Opens a lease on a store, and undoes the changes of the lease at its end (decision 66).
import { REAL_CLOCK } from "../../core/clock.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { LeaseKind } from "../../core/readiness/names.ts";
import { refuseFact } from "../../core/refusals.ts";
import { atStore, storeTime } from "../at-store.ts";
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

/** Opens a lease of each kind; the value is what its holder is given. */
export const openLease: Readonly<
  Record<
    LeaseKind,
    (context: LeaseContext, lease: LeaseRef, timeoutMs: number) => Outcome<Given> | Promise<Outcome<Given>>
  >
> = { duplicates: openDrillLease, explore: openExploreLease, key: openKeyLease };

type Given = { readonly apiKey?: string };

/** Until the lease ends, webhooks are held and retrieves watched. The lease's faults end with it. */
function openDrillLease(context: LeaseContext, lease: LeaseRef, timeoutMs: number): Outcome<Given> {
  const { leases, store, wakeDispatcher } = context;
  const { storeId } = lease;
  const undo = async (faults: readonly string[]): Promise<void> => {
    // Send the deliveries that were held back.
    store.endpoints.of(storeId).forEach(({ id }) => wakeDispatcher(id));
    await removeFaults(context, storeId, faults);
  };
  leases.open({ ...lease, drill: "duplicates", since: storeTime(context, storeId) }, { timeoutMs, undo });
  return accept({});
}

/** A fault that was applied as often as requested is gone. */
async function removeFaults(context: LeaseContext, storeId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) await removeFault(context, storeId, id);
}

/** Not a key of the merchant: no list or snapshot has it, and the start after a kill revokes it. */
function openKeyLease(context: LeaseContext, ref: LeaseRef, timeoutMs: number): Promise<Outcome<Given>> {
  const { storeId } = ref;
  return atStore(context, storeId, ({ credentials, write }, since) => {
    const { id, apiKey } = createKey(context, { storeId, forDrill: true });
    const undo = async (faults: readonly string[]): Promise<void> => {
      await write(() => credentials.revoke(id, context.world.now()));
      await removeFaults(context, storeId, faults);
    };
    context.leases.open({ ...ref, drill: "key", since }, { timeoutMs, undo });
    return accept({ apiKey });
  });
}

/**
 * The lease of `checkout explore --receiver`. When it ends, the store's clock is set to real time and its faults are
 * removed; if the sandbox is killed, its next start does both. Refuses with `state_conflict` a store whose clock was
 * moved, or that has faults or another lease, because the end of this lease would undo those too.
 */
function openExploreLease(context: LeaseContext, ref: LeaseRef, timeoutMs: number): Promise<Outcome<Given>> {
  const { storeId } = ref;
  const undo = async (): Promise<void> => {
    await undoExploration(context, storeId);
    await context.wakeStores([storeId]);
  };
  return atStore(context, storeId, ({ clocks, exploreLeases }, since) => {
    const clock = clocks.of(storeId) ?? REAL_CLOCK;
    if (clock.frozenAt !== null || clock.offsetMs !== 0) return refuseFact("clock_was_moved", {});
    if (listFaults(context, storeId).length > 0) return refuseFact("store_has_faults", {});
    if (context.leases.of(storeId).some(({ drill }) => drill !== "key"))
      return refuseFact("store_is_drilled", {});
    exploreLeases.begin(storeId);
    context.leases.open({ ...ref, drill: "explore", since }, { timeoutMs, undo });
    return accept({});
  });
}

/** Undoes explorations that ended without their lease, which was only in memory. Run it before due work: moved clocks make more work due. */
export async function undoLostExplorations(context: UndoContext): Promise<void> {
  for (const storeId of context.store.exploreLeases.all()) await undoExploration(context, storeId);
}

/** Removes the faults of a store and sets its clock to real time. A store that was deleted meanwhile needs neither. */
async function undoExploration(context: UndoContext, storeId: string): Promise<void> {
  await clearFaults(context, storeId);
  await moveClock(context, storeId, { action: "real" });
  await context.store.write(() => context.store.exploreLeases.end(storeId));
}
