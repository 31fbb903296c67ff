import type { World } from "../../world.ts";

/** Who waits for something of a store, and is woken by the write that concerns it. */
export type Arrivals = {
  /** Something of a store was written, or is being written: who waits reads after the transaction. */
  readonly tell: (storeId: string) => void;
  /** Resolves when something of a store was written, or time is up. */
  readonly next: (storeId: string, waitMs: number) => Promise<void>;
  /** Wakes everybody for the last time: nothing is waited for any more, because the sandbox stops. */
  readonly end: () => void;
  readonly isOver: () => boolean;
};

/** Makes a place to wait, of which nobody waits yet. */
export function createArrivals({ sleep }: Pick<World, "sleep">): Arrivals {
  const waiting = new Map<string, Set<AbortController>>();
  let over = false;
  return {
    end: () => {
      over = true;
      for (const ofStore of waiting.values()) for (const one of ofStore) one.abort();
    },
    isOver: () => over,
    tell: (storeId) => waiting.get(storeId)?.forEach((one) => one.abort()),
    next: async (storeId, waitMs) => {
      const arrival = new AbortController();
      const ofStore = waiting.get(storeId) ?? new Set();
      waiting.set(storeId, ofStore.add(arrival));
      await sleep(waitMs, arrival.signal);
      ofStore.delete(arrival);
      if (ofStore.size === 0) waiting.delete(storeId);
    },
  };
}
