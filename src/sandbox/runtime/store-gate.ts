import type { Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { World } from "../../world.ts";

/** An open request, as a function that returns its store's id, or undefined. It is called only when a store is erased. */
export type OpenRequest = () => string | undefined;

/** Prevents requests to a store from running during its erasure (decision 91). */
export type StoreGate = ReturnType<typeof createStoreGate>;

/** Maximum time that an erasure waits for open requests to its stores, in milliseconds. */
const MAX_WAIT_MS = 10_000;

/** `onClose` is called with each store that is closed, and wakes the requests that wait for a change in that store. */
export function createStoreGate(world: Pick<World, "after">, onClose: (storeId: string) => void) {
  /** The open requests, each with a function that is called at its end. */
  const openRequests = new Map<OpenRequest, () => void>();
  /** The closed stores, each with a promise that resolves when the store reopens. */
  const closedStores = new Map<string, Promise<void>>();

  const openingOf = (request: OpenRequest): Promise<void> | undefined =>
    closedStores.size === 0 ? undefined : closedStores.get(request() ?? "");

  async function enterLater(request: OpenRequest): Promise<void> {
    for (let opening = openingOf(request); opening !== undefined; opening = openingOf(request)) await opening;
    openRequests.set(request, () => undefined);
  }

  /** Waits until the open requests of these stores have ended; false if some take too long. */
  async function awaitEmpty(storeIds: readonly string[]): Promise<boolean> {
    const requests = [...openRequests.keys()].filter((request) => storeIds.includes(request() ?? ""));
    const requestEnds = requests.map(
      (request) => new Promise<void>((resolve) => openRequests.set(request, resolve)),
    );
    return requestEnds.length === 0 || resolvesWithin(world, MAX_WAIT_MS, Promise.all(requestEnds));
  }

  return {
    /** Admits a request. If its store is closed, returns a promise that resolves once the request is admitted. */
    enter: (request: OpenRequest): Promise<void> | undefined => {
      if (openingOf(request) !== undefined) return enterLater(request);
      openRequests.set(request, () => undefined);
      return undefined;
    },

    leave: (request: OpenRequest): void => {
      openRequests.get(request)?.();
      openRequests.delete(request);
    },

    /** Whether a store is closed. A request that waits for a change in the store must then stop waiting. */
    isClosed: (storeId: string): boolean => closedStores.has(storeId),

    /** Closes stores while work runs. Refuses with `state_conflict` if open requests to the stores do not end in time. */
    alone: async <Value>(
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

/** Whether a promise resolves within this many milliseconds. */
export function resolvesWithin(
  { after }: Pick<World, "after">,
  milliseconds: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  const timeout = new Promise<false>((resolve) => after(Math.max(0, milliseconds), () => resolve(false)));
  return Promise.race([promise.then(() => true), timeout]);
}
