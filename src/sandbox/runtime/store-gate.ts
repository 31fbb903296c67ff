import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { World } from "../../world.ts";

/** An open request. Its store is looked up only when a store is erased, which is rare. */
export type OpenRequest = {
  /** Undefined if the request is not about a store, or is about an unknown store. */
  readonly storeOf: () => string | undefined;
};

/** Prevents requests to a store from running during its erasure (decision 91). */
export type StoreGate = {
  /** With a promise if its store is closed. Refuses with `storage_unavailable` if it does not reopen in time. */
  readonly enter: (visit: OpenRequest) => Promise<Outcome<void>> | undefined;
  readonly leave: (visit: OpenRequest) => void;
  /** Whether a store is closed. A request that waits for something in the store then answers without it. */
  readonly isClosed: (storeId: string) => boolean;
  /** Refuses with `state_conflict` if open requests take too long. Finally, opens the stores again. */
  readonly alone: <Value>(
    storeIds: readonly string[],
    work: () => Promise<Outcome<Value>>,
  ) => Promise<Outcome<Value>>;
};

/** Maximum time that a request waits for its store, and an erasure for requests to the store, in milliseconds. */
const MAX_WAIT_MS = 10_000;

export function refuseErased(): Outcome<never> {
  return refuseFact("store_erasing", {}, { retryAfterSeconds: 1 });
}

/** `closes` is called with each store that is closed, to wake requests that wait for something in it. */
export function createStoreGate(
  world: Pick<World, "after" | "monotonic">,
  closes: (storeId: string) => void,
): StoreGate {
  const open = new Set<OpenRequest>();
  /** The closed stores, each with a promise that resolves when it reopens. */
  const closed = new Map<string, Promise<void>>();
  /** Called when an open request leaves for which an erasure waits. */
  const leaving = new Map<OpenRequest, () => void>();

  const opening = ({ storeOf }: OpenRequest): Promise<void> | undefined => {
    const storeId = closed.size === 0 ? undefined : storeOf();
    return storeId === undefined ? undefined : closed.get(storeId);
  };
  const enter = (visit: OpenRequest): Promise<Outcome<void>> | undefined => {
    const opens = opening(visit);
    if (opens !== undefined) return enterLater(visit, opens);
    open.add(visit);
    return undefined;
  };

  async function enterLater(visit: OpenRequest, opens: Promise<void>): Promise<Outcome<void>> {
    const until = world.monotonic() + MAX_WAIT_MS;
    for (let next: Promise<void> | undefined = opens; next !== undefined; next = opening(visit))
      if (!(await resolvesWithin(world, until - world.monotonic(), next))) return refuseErased();
    open.add(visit);
    return accept(undefined);
  }

  /** Waits until the open requests of these stores have ended; false if some take too long. */
  async function emptied(storeIds: readonly string[]): Promise<boolean> {
    const inside = [...open].filter(({ storeOf }) => storeIds.includes(storeOf() ?? ""));
    const left = inside.map((visit) => new Promise<void>((resolve) => leaving.set(visit, resolve)));
    return left.length === 0 || resolvesWithin(world, MAX_WAIT_MS, Promise.all(left));
  }

  return {
    enter,
    leave: (visit) => {
      open.delete(visit);
      leaving.get(visit)?.();
      leaving.delete(visit);
    },
    isClosed: (storeId) => closed.has(storeId),
    alone: async (storeIds, work) => {
      while (storeIds.some((storeId) => closed.has(storeId)))
        await Promise.all(storeIds.flatMap((storeId) => closed.get(storeId) ?? []));
      const { promise, resolve } = Promise.withResolvers<void>();
      for (const storeId of storeIds) closed.set(storeId, promise);
      storeIds.forEach(closes);
      try {
        return (await emptied(storeIds)) ? await work() : refuseBusy();
      } finally {
        for (const storeId of storeIds) closed.delete(storeId);
        resolve();
      }
    },
  };
}

/** Whether a promise resolves within this many milliseconds. */
export function resolvesWithin(
  { after }: Pick<World, "after">,
  milliseconds: number,
  event: Promise<unknown>,
): Promise<boolean> {
  const timeIsUp = new Promise<false>((resolve) => after(Math.max(0, milliseconds), () => resolve(false)));
  return Promise.race([event.then(() => true), timeIsUp]);
}

function refuseBusy(): Outcome<never> {
  return refuseFact("requests_open", { seconds: MAX_WAIT_MS / 1000 }, { retryAfterSeconds: 1 });
}
