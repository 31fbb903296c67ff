import type { Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { World } from "../../world.ts";

/** The function object identifies the request; the store id is read only while a store is closed. */
export type ReadStoreId = () => string | undefined;

export type StoreGate = ReturnType<typeof createStoreGate>;

const MAX_WAIT_MS = 10_000;

/** `onClose` wakes the requests that wait for a change in the closed store. */
export function createStoreGate(world: Pick<World, "after">, onClose: (storeId: string) => void) {
  const openRequests = new Map<ReadStoreId, () => void>();
  const closedStores = new Map<string, Promise<void>>();

  const openingOf = (readId: ReadStoreId): Promise<void> | undefined =>
    closedStores.size === 0 ? undefined : closedStores.get(readId() ?? "");

  async function enterLater(readId: ReadStoreId): Promise<void> {
    for (let opening = openingOf(readId); opening !== undefined; opening = openingOf(readId)) await opening;
    openRequests.set(readId, () => undefined);
  }

  async function awaitEmpty(storeIds: readonly string[]): Promise<boolean> {
    const requests = [...openRequests.keys()].filter((readId) => storeIds.includes(readId() ?? ""));
    const requestEnds = requests.map(
      (readId) => new Promise<void>((resolve) => openRequests.set(readId, resolve)),
    );
    return requestEnds.length === 0 || resolvesWithin(world, MAX_WAIT_MS, Promise.all(requestEnds));
  }

  return {
    enter: (readId: ReadStoreId): Promise<void> | undefined => {
      if (openingOf(readId) !== undefined) return enterLater(readId);
      openRequests.set(readId, () => undefined);
      return undefined;
    },

    leave: (readId: ReadStoreId): void => {
      openRequests.get(readId)?.();
      openRequests.delete(readId);
    },

    /** While this is true, requests that wait for a change in the store must stop waiting. */
    isClosed: (storeId: string): boolean => closedStores.has(storeId),

    /**
     * Closes the stores to new requests while `work` runs. Refuses if open requests do not end within `MAX_WAIT_MS`.
     */
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

export function resolvesWithin(
  { after }: Pick<World, "after">,
  milliseconds: number,
  promise: Promise<unknown>,
): Promise<boolean> {
  const timeout = new Promise<false>((resolve) => after(Math.max(0, milliseconds), () => resolve(false)));
  return Promise.race([promise.then(() => true), timeout]);
}
