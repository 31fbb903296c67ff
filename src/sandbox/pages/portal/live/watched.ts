import type { WriteNotice } from "../../../runtime/arrivals.ts";
import type { LivePosition, LiveTopic } from "../view.ts";

/** Counts the changes of a store with open pages, and notifies their topics. */
export type StoreWatch = {
  readonly position: () => LivePosition;
  /** Whether one of these keys changed after a position; also true if the record does not reach back so far. */
  readonly wasToldOf: (keys: readonly string[], since: number) => boolean;
  /** Calls `touch` for each change of a key, until the returned function is called. */
  readonly hear: (key: string, touch: () => void) => () => void;
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

/** The key of an order; the key of a checkout is its id. */
export function orderKey(orderId: string): string {
  return `order ${orderId}`;
}

/** Number of keys whose last change is remembered; at most twice as many are kept. */
const MAX_REMEMBERED = 1000;

/** Creates the counts of a store, starting now. */
export function createWatched(firstEpoch: number): StoreWatch {
  const counts = { epoch: firstEpoch, told: 0, written: 0 };
  const hearers = new Map<string, Set<() => void>>();
  /** The position of each key's last change. */
  let recent = new Map<string, number>();
  let older: ReadonlyMap<string, number> = new Map();
  let [forgotten, endOfOlder] = [0, 0];

  const touch = (key: string): void => hearers.get(key)?.forEach((one) => one());
  const tellOf = (key: string): void => {
    recent.set(key, counts.told);
    if (recent.size >= MAX_REMEMBERED) forgetOlder();
    touch(key);
  };
  /** Forgets half of the keys at once: one by one would cost a create more than all its other work. */
  const forgetOlder = (): void => {
    [forgotten, endOfOlder] = [endOfOlder, counts.told];
    [older, recent] = [recent, new Map()];
  };
  const lastOf = (key: string): number => recent.get(key) ?? older.get(key) ?? 0;

  return {
    position: () => ({ ...counts }),
    wasToldOf: (keys, since) => forgotten > since || keys.some((key) => lastOf(key) > since),
    hear: (key, one) => {
      hearers.set(key, (hearers.get(key) ?? new Set()).add(one));
      return () => {
        const ofKey = hearers.get(key);
        ofKey?.delete(one);
        if (ofKey?.size === 0) hearers.delete(key);
      };
    },
    write: ({ checkoutId }) => {
      counts.told += 1;
      counts.written += 1;
      touch(EVERY_WRITE);
      tellOf(checkoutId ?? NO_CHECKOUT);
    },
    log: (requests) => {
      counts.told += 1;
      touch(EVERY_REQUEST);
      for (const { orderId } of requests) if (orderId !== null) tellOf(orderKey(orderId));
    },
    beginEpoch: (epoch) => void (counts.epoch = epoch),
  };
}

/** The position of each kind of page. */
const COUNTS = {
  checkouts: "written",
  requests: "told",
  checkout: "told",
  delivery: "told",
  webhooks: "written",
  store: "told",
} as const satisfies Record<LiveTopic["kind"], keyof LivePosition>;

/** The number of a position that counts for a kind of page. */
export function countFor(kind: LiveTopic["kind"], position: LivePosition): number {
  return position[COUNTS[kind]];
}

/** The position of a page of this kind, as in its address. */
export function sinceOf(kind: LiveTopic["kind"], position: LivePosition): string {
  return `${position.epoch}-${countFor(kind, position)}`;
}

/** Parses the number in a position written by `sinceOf`; undefined if the position is from another epoch. */
export function readSince(since: string, { epoch }: Pick<LivePosition, "epoch">): number | undefined {
  const [, ofEpoch, count] = /^(\d+)-(\d+)$/.exec(since) ?? [];
  return Number(ofEpoch) === epoch ? Number(count) : undefined;
}
