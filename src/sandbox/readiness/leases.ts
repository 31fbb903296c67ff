import { accept, mapValue, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { DRILL_NAMES, type LeaseKind } from "../../core/readiness/names.ts";
import type { Checkout } from "../../core/checkout/checkout.ts";
import type { HttpRequest, World } from "../../world.ts";
import { isOwnCommand } from "../api/caller.ts";
import type { RunningDrill } from "../../core/readiness/drill-shapes.ts";

export type LeaseRef = { readonly storeId: string; readonly id: string };

/** A drill's hold on a store. The hold lasts as long as the drill's command. */
type Lease = LeaseRef & Omit<RunningDrill, "drill"> & { readonly drill: LeaseKind };

/** Only in memory, as long as its connection: no effect of a drill outlives its command (decision 66). */
export type Leases = {
  /** Opens a lease for at most this long. `undo` runs once, when the lease ends for any reason. */
  readonly open: (lease: Lease, options: { readonly timeoutMs: number; readonly undo: Undo }) => void;
  /** Lets faults end with a lease. Refuses with `not_found` if the lease has ended, or belongs to another store. */
  readonly addFaults: (ref: LeaseRef, faults: readonly string[]) => Outcome<void>;
  /** The text, then a line break each second. The lease ends when the client disconnects, or may no longer hold it. */
  readonly hold: (id: string, text: string, isAllowed: () => boolean) => AsyncIterable<Uint8Array>;
  /** Refuses with `not_found` if a lease has ended, belongs to another store, or to another drill than this. */
  readonly check: (ref: LeaseRef, drill?: LeaseKind) => Outcome<void>;
  /** The leases of a store, oldest first. */
  readonly of: (storeId: string) => readonly Lease[];
  /** The name of the drill that holds the webhooks of a store; undefined if none does. */
  readonly webhooksHeldBy: (storeId: string) => string | undefined;
  /** Records a retrieve of a paid checkout from v1 under the leases of its store, except by this program's commands. */
  readonly noteRetrieve: (
    request: Pick<HttpRequest, "rawHeaders">,
    checkout: Pick<Checkout, "id" | "storeId" | "status">,
  ) => void;
  /** The paid checkouts that were retrieved since a lease began, one entry for each retrieve. */
  readonly retrievesOf: (ref: LeaseRef) => readonly string[];
  /** Ends a lease, and returns after its effects are undone. Refuses as `check` does. */
  readonly end: (ref: LeaseRef) => Promise<Outcome<void>>;
  /** Ends every lease and its open response, for which a stopping server would otherwise wait. */
  readonly endAll: () => Promise<void>;
};

/** Takes the ids of the faults that were added under the lease. */
type Undo = (faults: readonly string[]) => void | Promise<void>;

type OpenLease = {
  readonly lease: Lease;
  readonly undo: Undo;
  readonly faults: string[];
  readonly retrieved: string[];
  /** Tells the response that holds the lease, which waits for its next beat, that the lease has ended. */
  announce: () => void;
};

/** A failure of `undo` is reported, and the lease ends anyway. `changed`: the leases of a store have changed. */
export function createLeases(
  world: Pick<World, "after">,
  {
    report,
    changed,
  }: { readonly report: (error: unknown) => void; readonly changed: (storeId: string) => void },
): Leases {
  const held = new Map<string, OpenLease>();

  const finish = async (id: string): Promise<void> => {
    const one = held.get(id);
    if (one === undefined) return;
    held.delete(id);
    try {
      await one.undo(one.faults);
    } catch (error) {
      report(error);
    } finally {
      one.announce();
      changed(one.lease.storeId);
    }
  };
  const check = ({ storeId, id }: LeaseRef, drill?: LeaseKind): Outcome<void> => {
    const lease = held.get(id)?.lease;
    const isIt = lease?.storeId === storeId && (drill === undefined || drill === lease.drill);
    return isIt ? accept(undefined) : refuseFact("lease_ended", { lease: id });
  };
  const of = (storeId: string): Lease[] =>
    [...held.values()].map(({ lease }) => lease).filter((lease) => lease.storeId === storeId);

  return {
    open: (lease, { timeoutMs, undo }) => {
      held.set(lease.id, { lease, undo, faults: [], retrieved: [], announce: () => undefined });
      changed(lease.storeId);
      // For a command that is connected but hangs, such as a command that was stopped in its shell.
      world.after(timeoutMs, () => void finish(lease.id));
    },
    addFaults: (ref, faults) => mapValue(check(ref), () => void held.get(ref.id)?.faults.push(...faults)),
    hold: (id, text, isAllowed) =>
      createHeldBody(text, {
        isOver: () =>
          new Promise((resolve) => {
            const one = held.get(id);
            if (one === undefined) return resolve(true);
            if (!isAllowed()) return resolve(finish(id).then(() => true));
            one.announce = () => resolve(true);
            world.after(BEAT_MS, () => resolve(false));
          }),
        finish: () => finish(id),
      }),
    check,
    of,
    webhooksHeldBy: (storeId) =>
      of(storeId).some(({ drill }) => drill === "duplicates") ? DRILL_NAMES.duplicates : undefined,
    noteRetrieve: (request, { id, storeId, status }) => {
      if (held.size === 0 || status !== "succeeded" || isOwnCommand(request)) return;
      for (const { lease, retrieved } of held.values())
        if (lease.storeId === storeId && retrieved.length < MAX_RETRIEVED) retrieved.push(id);
    },
    retrievesOf: ({ id }) => [...(held.get(id)?.retrieved ?? [])],
    end: async (ref) => {
      const known = check(ref);
      if (known.ok) await finish(ref.id);
      return known;
    },
    endAll: async () => {
      await Promise.all([...held.keys()].map(finish));
    },
  };
}

/** Maximum number of recorded retrieves of a lease, so that a busy store does not fill the memory. */
const MAX_RETRIEVED = 10_000;

/** How often something is sent to the command, in milliseconds: only this lets a Worker notice a closed connection. */
const BEAT_MS = 1000;

/** Yields the text, then line breaks until the lease has ended; the lease ends when the client disconnects. */
function createHeldBody(
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
