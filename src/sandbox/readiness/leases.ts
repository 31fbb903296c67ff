import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { DRILL_NAMES, type LeaseKind } from "../../core/readiness/names.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { HttpRequest, World } from "../../world.ts";
import { isOwnCommand } from "../api/caller.ts";
import type { RunningDrill } from "../../core/readiness/drill-shapes.ts";

export type LeaseRef = { readonly storeId: string; readonly id: string };

/** A drill's lease on a store, which lasts as long as the drill's command. */
type Lease = LeaseRef & Omit<RunningDrill, "drill"> & { readonly drill: LeaseKind };

/** `undo`: undoes the effects of a lease; called once, whatever ends the lease, at the latest after `timeoutMs`. */
type LeaseEnd = { readonly timeoutMs: number; readonly undo: () => Promise<void> };

type OpenLease = Pick<LeaseEnd, "undo"> & {
  readonly lease: Lease;
  readonly retrievedIds: string[];
  /** Called when the lease ends, to wake the response that waits for its next beat. */
  announce: () => void;
};

export type Leases = ReturnType<typeof createLeases>;

/**
 * Leases are in memory, and end with their connections, so that a drill's effects end with its command (decision 66).
 * An error of `undo` is reported, and the lease ends anyway. `onChange` is called when a store's leases have changed.
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
  /** Refuses with `not_found` a lease that has ended, or that belongs to another store or drill. */
  const check = ({ storeId, id }: LeaseRef, drill?: LeaseKind): Outcome<void> => {
    const lease = leases.get(id)?.lease;
    const isValid = lease?.storeId === storeId && (drill === undefined || drill === lease.drill);
    return isValid ? accept(undefined) : refuseFact("lease_ended", { lease: id });
  };
  /** The leases of a store, oldest first. */
  const leasesOf = (storeId: string): readonly Lease[] =>
    [...leases.values()].map(({ lease }) => lease).filter((lease) => lease.storeId === storeId);

  return {
    /** Opens a lease for at most `timeoutMs`. */
    open: (lease: Lease, { timeoutMs, undo }: LeaseEnd): void => {
      leases.set(lease.id, { lease, undo, retrievedIds: [], announce: () => undefined });
      onChange(lease.storeId);
      // Ends the lease of a command that is connected but hangs, for example after Ctrl-Z.
      world.after(timeoutMs, () => void finish(lease.id));
    },
    /**
     * The body of the response that holds a lease: the text, then a line break each second. The lease ends when the
     * client disconnects, or when `isAllowed` returns false.
     */
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
    /** The name of the drill that holds the webhooks of a store; undefined if none does. */
    webhooksHeldBy: (storeId: string): string | undefined =>
      leasesOf(storeId).some(({ drill }) => drill === "duplicates") ? DRILL_NAMES.duplicates : undefined,
    /** Records, for `retrievesOf`, a v1 retrieve of a paid checkout that this program's own commands did not make. */
    noteRetrieve: (
      request: Pick<HttpRequest, "rawHeaders">,
      { id, storeId, status }: Pick<Checkout, "id" | "storeId" | "status">,
    ): void => {
      if (leases.size === 0 || status !== "succeeded" || isOwnCommand(request)) return;
      for (const { lease, retrievedIds } of leases.values())
        if (lease.storeId === storeId && retrievedIds.length < MAX_RETRIEVED_IDS) retrievedIds.push(id);
    },
    /** The paid checkouts of the first `MAX_RETRIEVED_IDS` retrieves during a lease. */
    retrievesOf: ({ id }: LeaseRef): readonly string[] => [...(leases.get(id)?.retrievedIds ?? [])],
    /** Ends a lease, and returns after its effects are undone. Refuses as `check` does. */
    end: async (ref: LeaseRef): Promise<Outcome<void>> => {
      const leaseCheck = check(ref);
      if (leaseCheck.ok) await finish(ref.id);
      return leaseCheck;
    },
    /** Ends every lease and its open response, because a server that stops would wait for the responses. */
    endAll: async (): Promise<void> => {
      await Promise.all([...leases.keys()].map(finish));
    },
  };
}

type LeaseCallbacks = {
  readonly report: (error: unknown) => void;
  readonly onChange: (storeId: string) => void;
};

/** Maximum number of retrieves recorded for a lease, so that a busy store does not fill the memory. */
const MAX_RETRIEVED_IDS = 10_000;

/** Waits for the next beat of a lease, or for its end; returns whether it has ended. */
function awaitHeartbeat(world: Pick<World, "after">, lease: OpenLease | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    if (lease === undefined) return resolve(true);
    lease.announce = () => resolve(true);
    world.after(HEARTBEAT_MS, () => resolve(false));
  });
}

/** Interval of the bytes sent to the command, in milliseconds: without bytes, a Worker notices no closed connection. */
const HEARTBEAT_MS = 1000;

/** Yields the text, then line breaks until the lease has ended; the lease ends when the client disconnects. */
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
