import type { Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { World } from "../../world.ts";

/** Returns the id of a request's store, and identifies the open request. It is called only when a store is erased. */
export type ReadStoreId = () => string | undefined;

/** Prevents requests to a store from running during its erasure (decision 91). */
export type StoreGate = ReturnType<typeof createStoreGate>;

/** Maximum time that an erasure waits for open requests to its stores, in milliseconds. */
const MAX_WAIT_MS = 10_000;

/** `onClose` is called with each store that is closed, and wakes the requests that wait for a change in that store. */
export function createStoreGate(world: Pick<World, "after">, onClose: (storeId: string) => void) {
  /** The open requests, each with a function that is called at its end. */
  const openRequests = new Map<ReadStoreId, () => void>();
  /** The closed stores, each with a promise that resolves when the store reopens. */
  const closedStores = new Map<string, Promise<void>>();

  const openingOf = (readId: ReadStoreId): Promise<void> | undefined =>
    closedStores.size === 0 ? undefined : closedStores.get(readId() ?? "");

  async function enterLater(readId: ReadStoreId): Promise<void> {
    for (let opening = openingOf(readId); opening !== undefined; opening = openingOf(readId)) await opening;
    openRequests.set(readId, () => undefined);
  }

  /** Waits until the open requests of these stores have ended; false if some take too long. */
  async function awaitEmpty(storeIds: readonly string[]): Promise<boolean> {
    const requests = [...openRequests.keys()].filter((readId) => storeIds.includes(readId() ?? ""));
    const requestEnds = requests.map(
      (readId) => new Promise<void>((resolve) => openRequests.set(readId, resolve)),
    );
    return requestEnds.length === 0 || resolvesWithin(world, MAX_WAIT_MS, Promise.all(requestEnds));
  }

  return {
    /** Admits a request. If its store is closed, returns a promise that resolves once the request is admitted. */
    enter: (readId: ReadStoreId): Promise<void> | undefined => {
      if (openingOf(readId) !== undefined) return enterLater(readId);
      openRequests.set(readId, () => undefined);
      return undefined;
    },

    leave: (readId: ReadStoreId): void => {
      openRequests.get(readId)?.();
      openRequests.delete(readId);
    },

    /** Whether a store is closed. A request that waits for a change in the store must then stop waiting. */
    isClosed: (storeId: string): boolean => closedStores.has(storeId),

    /** Closes stores while work runs. Refuses with `state_conflict` if open requests to the stores do not end in time. */
    runAlone: async <Value>(
      storeIds: readonly string[],
      work: () => Promise<Outcome<Value>>,
    ): Promise<Outcome<Value>> => {
      while (storeIds.some((storeId) => closedStores.has(storeId)))
        await Promise.all(storeIds.flatMap((storeId) => closedStores.get(storeId) ?? []));
      const { promise, resolve } = Promise.withResolvers<void>();
      for (const storeId of storeIds) closedStores.set(storeId, promise);
      storeIds.forEach(onClose);
      try {
        if (await awaitEmpty(storeIds)) return await work();
        return refuseFact("requests_open", { seconds: MAX_WAIT_MS / 1000 }, { retryAfterSeconds: 1 });
      } finally {
        for (const storeId of storeIds) closedStores.delete(storeId);
        resolve();
      }
    },
  };
}

/** Whether a promise resolves within this many milliseconds. Rejects if the promise rejects first. */
export function resolvesWithin(
  { after }: Pick<World, "after">,
  milliseconds: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  const timeout = new Promise<false>((resolve) => after(Math.max(0, milliseconds), () => resolve(false)));
  return Promise.race([promise.then(() => true), timeout]);
}
