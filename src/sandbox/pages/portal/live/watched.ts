import type { WriteNotice } from "../../../runtime/write-signals.ts";
import type { LivePosition, LiveTopic } from "../view.ts";

/** Counts the changes of a store with open pages, and notifies their topics. */
export type StoreWatch = {
  readonly position: () => LivePosition;
  /** Whether one of these keys changed after a position; also true if the record does not reach back so far. */
  readonly hasChanged: (keys: readonly string[], since: number) => boolean;
  /** Calls `touch` for each change of a key, until the returned function is called. */
  readonly subscribe: (key: string, touch: () => void) => () => void;
  /** Counts a write. */
  readonly write: (written: WriteNotice) => void;
  /** Counts logged requests. */
  readonly log: (requests: readonly { readonly orderId: string | null }[]) => void;
  /** Starts a new epoch: earlier positions are no longer valid. */
  readonly beginEpoch: (epoch: number) => void;
};

/** The key that every write changes. */
export const EVERY_WRITE = "every write";
/** The key of every request. */
export const EVERY_REQUEST = "every request";
/** The key of writes that concern no checkout. */
export const NO_CHECKOUT = "no checkout";

const ORDER = "order ";

/** The key of an order; the key of a checkout is its id. */
export function orderKey(orderId: string): string {
  return `${ORDER}${orderId}`;
}

/** Number of remembered changes of checkouts, and of orders. */
const MAX_REMEMBERED = 2000;

/** Creates the counts of a store, starting now. Each write and each request is counted, so counting must stay cheap. */
export function createStoreWatch(firstEpoch: number): StoreWatch {
  const counts = { epoch: firstEpoch, changes: 0, written: 0 };
  const [writes, orders] = [createChanges(), createChanges()];
  const changesOf = (key: string) =>
    key.startsWith(ORDER) ? ([orders, key.slice(ORDER.length)] as const) : ([writes, key] as const);

  return {
    position: () => ({ ...counts }),
    hasChanged: (keys, since) =>
      [writes, orders].some(({ forgotten }) => forgotten() > since) ||
      keys.some((key) => {
        const [changes, name] = changesOf(key);
        return changes.lastOf(name) > since;
      }),
    subscribe: (key, touch) => {
      const [changes, name] = changesOf(key);
      return changes.subscribe(name, touch);
    },
    write: ({ checkoutId }) => {
      counts.changes += 1;
      counts.written += 1;
      writes.touch(EVERY_WRITE);
      writes.change(checkoutId ?? NO_CHECKOUT, counts.changes);
    },
    log: (requests) => {
      counts.changes += 1;
      writes.touch(EVERY_REQUEST);
      for (const { orderId } of requests) if (orderId !== null) orders.change(orderId, counts.changes);
    },
    beginEpoch: (epoch) => void (counts.epoch = epoch),
  };
}

/**
 * The last changes by their keys, and the callbacks for each key. The changes are a ring, which is searched only when a
 * page connects: a map would make recording a change five times as slow.
 */
function createChanges() {
  const subscribers = new Map<string, Set<() => void>>();
  const names: string[] = [];
  const places: number[] = [];
  let next = 0;
  let forgotten = 0;
  const touch = (name: string): void => subscribers.get(name)?.forEach((one) => one());
  return {
    touch,
    change: (name: string, position: number): void => {
      forgotten = places[next] ?? forgotten;
      names[next] = name;
      places[next] = position;
      next = next + 1 === MAX_REMEMBERED ? 0 : next + 1;
      touch(name);
    },
    /** The position of the newest change that is forgotten. */
    forgotten: (): number => forgotten,
    /** The position of a key's last change; 0 if none is remembered. */
    lastOf: (name: string): number => {
      let last = 0;
      names.forEach((one, at) => {
        if (one === name) last = Math.max(last, places[at] ?? 0);
      });
      return last;
    },
    subscribe: (name: string, one: () => void) => {
      subscribers.set(name, (subscribers.get(name) ?? new Set()).add(one));
      return (): void => {
        const ofName = subscribers.get(name);
        ofName?.delete(one);
        if (ofName?.size === 0) subscribers.delete(name);
      };
    },
  };
}

/** The field of a position that each kind of page follows. */
const COUNTS = {
  checkouts: "written",
  requests: "changes",
  checkout: "changes",
  delivery: "changes",
  webhooks: "written",
  store: "changes",
} as const satisfies Record<LiveTopic["kind"], keyof LivePosition>;

/** The count in a position that a kind of page follows. */
export function countForPage(kind: LiveTopic["kind"], position: LivePosition): number {
  return position[COUNTS[kind]];
}

/** Formats the position of a page of this kind for its address. */
export function formatPosition(kind: LiveTopic["kind"], position: LivePosition): string {
  return `${position.epoch}-${countForPage(kind, position)}`;
}

/** Parses the number in the text of a position; undefined for a position of another epoch. */
export function parsePosition(since: string, { epoch }: Pick<LivePosition, "epoch">): number | undefined {
  const [, ofEpoch, count] = /^(\d+)-(\d+)$/.exec(since) ?? [];
  return Number(ofEpoch) === epoch ? Number(count) : undefined;
}
