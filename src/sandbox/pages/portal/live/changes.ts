import { LIVE_TOPICS, type LiveTopic, type PortalContext, type View } from "../view.ts";

type StoreChanges = {
  /** A new epoch begins after an erasure, because counts of different epochs cannot be compared. */
  epoch: number;
  count: number;
  readonly lastCounts: Map<string, number>;
  readonly leave: () => void;
};

type LiveChanges = {
  readonly beginPage: (view: PageId) => (topic: LiveTopic) => string;
  readonly changesSince: (view: PageId, tag: string) => "nothing" | "something" | "erasure";
};

type PageId = Pick<View, "storeId" | "id">;
type ChangesContext = Pick<PortalContext, "writeSignals" | "requests" | "store" | "world">;

/** Least recently used stores are dropped; their open pages are then loaded again. */
const MAX_STORES = 100;
const MAX_KEYS = 1000;
const BUSY_CHANGE_COUNT = 100;
const BUSY_INTERVAL_MS = 5000;

const EVERY_WRITE = "every write";
const EVERY_REQUEST = "every request";
/** Stands for writes that concern no checkout, such as a move of the clock. */
const NO_CHECKOUT = "no checkout";

const CHANGES = new WeakMap<object, LiveChanges>();

export function liveChangesOf(context: ChangesContext): LiveChanges {
  const changes = CHANGES.get(context.writeSignals) ?? createChanges(context);
  CHANGES.set(context.writeSignals, changes);
  return changes;
}

function createChanges(context: ChangesContext): LiveChanges {
  const { world } = context;
  const stores = new Map<string, StoreChanges>();
  let lastEpoch = world.now();
  const nextEpoch = (): number => (lastEpoch += 1);

  const changesOfStore = (storeId: string): StoreChanges => {
    const knownChanges = stores.get(storeId);
    if (knownChanges !== undefined) {
      stores.delete(storeId);
      stores.set(storeId, knownChanges);
      return knownChanges;
    }
    const changes = countChanges(context, storeId, nextEpoch);
    stores.set(storeId, changes);
    const [oldestStore] = stores;
    if (stores.size > MAX_STORES && oldestStore !== undefined) {
      oldestStore[1].leave();
      stores.delete(oldestStore[0]);
    }
    return changes;
  };

  return {
    beginPage: (view) => {
      context.requests.last(view.storeId);
      const { epoch, count } = changesOfStore(view.storeId);
      const at = Math.trunc(world.monotonic());
      return (topic) => {
        const { lastCounts, count: currentCount } = changesOfStore(view.storeId);
        for (const key of keysOf(context, view, topic))
          if (!lastCounts.has(key)) lastCounts.set(key, currentCount);
        for (const oldestKey of lastCounts.keys()) {
          if (lastCounts.size <= MAX_KEYS) break;
          lastCounts.delete(oldestKey);
        }
        return `"${topic}-${epoch}-${count}-${at}"`;
      };
    },
    changesSince: (view, tag) => {
      const [, topicName, epoch, sinceCount, at] = /^"(\w+)-(\d+)-(\d+)-(\d+)"$/.exec(tag) ?? [];
      const topic = LIVE_TOPICS.find((candidate) => candidate === topicName);
      const { epoch: currentEpoch, count, lastCounts } = changesOfStore(view.storeId);
      if (topic === undefined || Number(epoch) !== currentEpoch) return "erasure";
      const lastChange = (key: string): number => lastCounts.get(key) ?? Number.POSITIVE_INFINITY;
      if (!keysOf(context, view, topic).some((key) => lastChange(key) > Number(sinceCount))) return "nothing";
      const isBusy = ["store", "writes"].includes(topic) && count - Number(sinceCount) > BUSY_CHANGE_COUNT;
      return isBusy && world.monotonic() < Number(at) + BUSY_INTERVAL_MS ? "nothing" : "something";
    },
  };
}

function countChanges(
  { writeSignals, requests }: ChangesContext,
  storeId: string,
  nextEpoch: () => number,
): StoreChanges {
  const lastCounts = new Map<string, number>();
  const touch = (key: string): void => {
    if (lastCounts.has(key)) lastCounts.set(key, changes.count);
  };
  const cleanups = [
    writeSignals.follow(storeId, (notice) => {
      changes.count += 1;
      if (notice === undefined && !writeSignals.isOver()) changes.epoch = nextEpoch();
      touch(EVERY_WRITE);
      touch(notice?.checkoutId ?? NO_CHECKOUT);
    }),
    requests.follow(storeId, (entries = []) => {
      changes.count += 1;
      touch(EVERY_REQUEST);
      for (const { orderId } of entries) if (orderId !== null) touch(orderKey(orderId));
    }),
  ];
  const changes = { epoch: nextEpoch(), count: 0, lastCounts, leave: () => cleanups.forEach((end) => end()) };
  return changes;
}

function keysOf({ store }: ChangesContext, { storeId, id }: PageId, topic: LiveTopic): readonly string[] {
  switch (topic) {
    case "store":
      return [EVERY_WRITE, EVERY_REQUEST];
    case "writes":
      return [EVERY_WRITE];
    case "checkout": {
      const orderId = store.checkouts.find(storeId, id)?.orderId;
      return [NO_CHECKOUT, id, ...(orderId === undefined ? [] : [orderKey(orderId)])];
    }
    case "delivery":
      return [NO_CHECKOUT, store.deliveries.find(id)?.checkoutId ?? NO_CHECKOUT];
  }
}

function orderKey(orderId: string): string {
  return `order ${orderId}`;
}
