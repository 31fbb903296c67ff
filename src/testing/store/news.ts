/** What was read of a log, and what comes after it. */
export type LogUpdates<Item> = { readonly items: readonly Item[]; readonly next: Promise<LogUpdates<Item>> };

/** How a log is read, and how one hears that there is more. */
export type LogUpdateSource<Item> = {
  /**
   * Begins to read: the first call returns all items, each later one those that came since, and those that may have
   * changed.
   */
  readonly open: () => () => Promise<readonly Item[]>;
  /** Calls back when something is written, until the returned function is called. */
  readonly follow: (hear: () => void) => () => void;
};

/** A log that is followed; its reading goes on with each write until it is left. */
type Followed<Item> = { readonly coming: () => Promise<LogUpdates<Item>>; readonly leave: () => void };

/**
 * Follows a log for all who wait for something in it: after a write it is read once, however many they are, and not at all
 * while nobody waits.
 */
export function createLogUpdates<Item>(source: LogUpdateSource<Item>): {
  /** Joins them: first come all items that are there, then what is new, until one leaves. */
  readonly join: () => { readonly all: Promise<LogUpdates<Item>>; readonly leave: () => void };
} {
  let followed: Followed<Item> | undefined;
  let waiting = 0;
  const readAll = async (next: Promise<LogUpdates<Item>>): Promise<LogUpdates<Item>> => ({
    items: await source.open()(),
    next,
  });
  return {
    join: () => {
      const joined = followed ?? follow(source);
      const next = joined.coming();
      // What the first one reads is all; the others need what was read before they came.
      const all = followed === undefined ? next : readAll(next);
      followed = joined;
      waiting += 1;
      const leave = (): void => {
        waiting -= 1;
        if (waiting > 0) return;
        joined.leave();
        followed = undefined;
      };
      return { all, leave };
    },
  };
}

function follow<Item>({ open, follow: hear }: LogUpdateSource<Item>): Followed<Item> {
  const read = open();
  let written = Promise.withResolvers<void>();
  const come = (): Promise<LogUpdates<Item>> => {
    const news = written.promise.then(async () => {
      // What is written while this reads is read once more.
      written = Promise.withResolvers();
      const items = await read();
      coming = come();
      return { items, next: coming };
    });
    // Who waits hears that it failed; it may be that nobody does just now.
    news.catch(() => undefined);
    return news;
  };
  let coming = come();
  written.resolve();
  return { coming: () => coming, leave: hear(() => written.resolve()) };
}
