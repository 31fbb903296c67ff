import type { World } from "../../world.ts";

/** What was written: an event, how a try of its delivery ended, or what somebody did. */
export type Written = {
  /** The checkout, or what else it is about; null where it is about the store. */
  readonly checkoutId: string | null;
};

/** Who waits for something of a store, and is woken by the write that concerns it. */
export type Arrivals<News = Written> = {
  /**
   * Something of a store was written, or is being written: who waits reads after the transaction. Without news the store
   * is being erased.
   */
  readonly tell: (storeId: string, news?: News) => void;
  /** Resolves when something of a store was written, or time is up. */
  readonly next: (storeId: string, waitMs: number) => Promise<void>;
  /** Calls back with everything that is told of a store, until the returned function is called. */
  readonly follow: (storeId: string, hear: (news: News | undefined) => void) => () => void;
  /** Wakes everybody for the last time: nothing is waited for any more, because the sandbox stops. */
  readonly end: () => void;
  readonly isOver: () => boolean;
};

/** Makes a place to wait, of which nobody waits yet. */
export function createArrivals<News = Written>({ sleep }: Pick<World, "sleep">): Arrivals<News> {
  const waiting = new Map<string, Set<(news: News | undefined) => void>>();
  let over = false;
  const follow: Arrivals<News>["follow"] = (storeId, hear) => {
    const ofStore = waiting.get(storeId) ?? new Set();
    waiting.set(storeId, ofStore.add(hear));
    return () => {
      ofStore.delete(hear);
      if (ofStore.size === 0 && waiting.get(storeId) === ofStore) waiting.delete(storeId);
    };
  };
  return {
    end: () => {
      over = true;
      for (const ofStore of waiting.values()) for (const hear of ofStore) hear(undefined);
    },
    isOver: () => over,
    tell: (storeId, news) => waiting.get(storeId)?.forEach((hear) => hear(news)),
    next: async (storeId, waitMs) => {
      const arrival = new AbortController();
      const unfollow = follow(storeId, () => arrival.abort());
      await sleep(waitMs, arrival.signal);
      unfollow();
    },
    follow,
  };
}
