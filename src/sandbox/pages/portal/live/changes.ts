// Whether an open page has changed since it was read: the page asks each second, with a tag (`pollAttributes` in
// sandbox/pages/portal/live/parts.ts). Changes come from `notify` of sandbox/runtime/write-signals.ts and from the log.
import { LIVE_TOPICS, type LiveTopic, type PortalContext, type View } from "../view.ts";

type StoreChanges = {
  /** Increases when counting starts, and with each erasure of the store. Counts of different epochs cannot be compared. */
  epoch: number;
  count: number;
  /** The count at the last change of each key of an open page. */
  readonly lastCounts: Map<string, number>;
  readonly leave: () => void;
};

/** The changes of all stores with open pages (decision 101), kept in memory like the sessions. */
type LiveChanges = {
  /** Called before a page is read. The returned function starts to count changes of the page, and returns its tag. */
  readonly beginPage: (view: PageId) => (topic: LiveTopic) => string;
  /** What has happened since a page's tag; a tag of an earlier run counts as an erasure of the store. */
  readonly changesSince: (view: PageId, tag: string) => "nothing" | "something" | "erasure";
};

type PageId = Pick<View, "storeId" | "id">;
type ChangesContext = Pick<PortalContext, "writeSignals" | "requests" | "store" | "world">;

/** Maximum numbers of stores, and of keys in a store. The oldest are dropped; their pages are then read again. */
const MAX_STORES = 100;
const MAX_KEYS = 1000;
/** Number of missed changes above which a page about a whole store is updated less often. */
const BUSY_CHANGE_COUNT = 100;
const BUSY_INTERVAL_MS = 5000;

const EVERY_WRITE = "every write";
const EVERY_REQUEST = "every request";
/** The key of writes that concern no checkout, such as a move of the clock. */
const NO_CHECKOUT = "no checkout";

const CHANGES = new WeakMap<object, LiveChanges>();

/** The changes of a sandbox, which are counted from its first page on. */
export function changesOf(context: ChangesContext): LiveChanges {
  const changes = CHANGES.get(context.writeSignals) ?? createChanges(context);
  CHANGES.set(context.writeSignals, changes);
  return changes;
}

function createChanges(context: ChangesContext): LiveChanges {
  const { world } = context;
  const stores = new Map<string, StoreChanges>();
  // Starts at the current time, so that no tag of an earlier run is valid in this run.
  let lastEpoch = world.now();
  const nextEpoch = (): number => (lastEpoch += 1);

  const changesOfStore = (storeId: string): StoreChanges => {
    const knownChanges = stores.get(storeId);
    if (knownChanges !== undefined) {
      // The least recently used store is dropped first.
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
      // Requests that were answered so far are logged first, because the page shows them.
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

/** Counts the changes of a store, with little work, because each write and each request is counted. */
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
      // A missing notice means that the store was erased, unless the sandbox is stopping.
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

/** The keys whose changes concern a page; the key of a checkout is its id. */
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
