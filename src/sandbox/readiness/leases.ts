import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { DRILL_NAMES, type LeaseKind } from "../../core/readiness/names.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { HttpRequest, World } from "../../world.ts";
import { isOwnCommand } from "../api/caller.ts";
import type { RunningDrill } from "../../core/readiness/drill-shapes.ts";

export type LeaseRef = { readonly storeId: string; readonly id: string };

type Lease = LeaseRef & Omit<RunningDrill, "drill"> & { readonly drill: LeaseKind };

type LeaseEnd = { readonly timeoutMs: number; readonly undo: () => Promise<void> };

type OpenLease = Pick<LeaseEnd, "undo"> & {
  readonly lease: Lease;
  readonly retrievedIds: string[];
  announce: () => void;
};

export type Leases = ReturnType<typeof createLeases>;

/**
 * The effects of a drill end with its command, even if the command is killed (decision 66). If `undo` fails, the error
 * is reported and the lease ends anyway.
 */
export function createLeases(world: Pick<World, "after">, { report, onChange }: LeaseCallbacks) {
  const leases = new Map<string, OpenLease>();
  const finish = async (id: string): Promise<void> => {
    const openLease = leases.get(id);
    if (openLease === undefined) return;
    leases.delete(id);
    const undone = openLease.undo().catch(report);
    await undone.finally(() => {
      openLease.announce();
      onChange(openLease.lease.storeId);
    });
  };
  /** Refuses a lease that has ended, or that belongs to another store or drill. */
  const check = ({ storeId, id }: LeaseRef, drill?: LeaseKind): Outcome<void> => {
    const lease = leases.get(id)?.lease;
    const isValid = lease?.storeId === storeId && (drill === undefined || drill === lease.drill);
    return isValid ? accept(undefined) : refuseFact("lease_ended", { lease: id });
  };
  const leasesOf = (storeId: string): readonly Lease[] =>
    [...leases.values()].map(({ lease }) => lease).filter((lease) => lease.storeId === storeId);

  return {
    open: (lease: Lease, { timeoutMs, undo }: LeaseEnd): void => {
      leases.set(lease.id, { lease, undo, retrievedIds: [], announce: () => undefined });
      onChange(lease.storeId);
      // Ends the lease of a command that is connected but hangs, for example after Ctrl-Z.
      world.after(timeoutMs, () => void finish(lease.id));
    },
    hold: (id: string, text: string, isAllowed: () => boolean): AsyncIterable<Uint8Array> =>
      createLeaseBody(text, {
        isOver: async () => {
          if (!isAllowed()) await finish(id);
          return awaitHeartbeat(world, leases.get(id));
        },
        finish: () => finish(id),
      }),
    check,
    of: leasesOf,
    webhooksHeldBy: (storeId: string): string | undefined =>
      leasesOf(storeId).some(({ drill }) => drill === "duplicates") ? DRILL_NAMES.duplicates : undefined,
    /** Ignores retrieves by this program's own commands, and of checkouts that are not paid. */
    noteRetrieve: (
      request: Pick<HttpRequest, "rawHeaders">,
      { id, storeId, status }: Pick<Checkout, "id" | "storeId" | "status">,
    ): void => {
      if (leases.size === 0 || status !== "succeeded" || isOwnCommand(request)) return;
      for (const { lease, retrievedIds } of leases.values())
        if (lease.storeId === storeId && retrievedIds.length < MAX_RETRIEVED_IDS) retrievedIds.push(id);
    },
    retrievesOf: ({ id }: LeaseRef): readonly string[] => [...(leases.get(id)?.retrievedIds ?? [])],
    end: async (ref: LeaseRef): Promise<Outcome<void>> => {
      const leaseCheck = check(ref);
      if (leaseCheck.ok) await finish(ref.id);
      return leaseCheck;
    },
    endAll: async (): Promise<void> => {
      await Promise.all([...leases.keys()].map(finish));
    },
  };
}

type LeaseCallbacks = {
  readonly report: (error: unknown) => void;
  readonly onChange: (storeId: string) => void;
};

const MAX_RETRIEVED_IDS = 10_000;

function awaitHeartbeat(world: Pick<World, "after">, lease: OpenLease | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    if (lease === undefined) return resolve(true);
    lease.announce = () => resolve(true);
    world.after(HEARTBEAT_MS, () => resolve(false));
  });
}

/** Interval of the bytes that keep the answer open: without bytes, a Worker does not notice a closed connection. */
const HEARTBEAT_MS = 1000;

function createLeaseBody(
  text: string,
  lease: { readonly isOver: () => Promise<boolean>; readonly finish: () => Promise<void> },
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      let isSent = false;
      return {
        next: async () => {
          if (isSent && (await lease.isOver())) return { done: true, value: undefined };
          const value = Buffer.from(isSent ? "\n" : text);
          isSent = true;
          return { done: false, value };
        },
        return: async () => {
          await lease.finish();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
