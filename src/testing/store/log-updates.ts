/** Items that were read from a log, and a promise of the items that follow. */
export type LogUpdates<Item> = { readonly items: readonly Item[]; readonly next: Promise<LogUpdates<Item>> };

/** The source of a log: reads the items, and notifies readers of writes. */
export type LogUpdateSource<Item> = {
  /** Opens a reader, which returns all items, and at later calls the items that are new or may have changed since. */
  readonly open: () => () => Promise<readonly Item[]>;
  /** Calls `onWrite` when something is written, until the returned function is called. */
  readonly follow: (onWrite: () => void) => () => void;
};

/**
 * Follows a log for all its waits together: it is read once after a write, and without a wait not at all. The returned
 * function adds a wait, which receives all existing items and then new ones, until `leave` is called.
 */
export function createLogUpdates<Item>(source: LogUpdateSource<Item>) {
  let followedLog: ReturnType<typeof follow<Item>> | undefined;
  let waitingCount = 0;
  const readAll = async (next: Promise<LogUpdates<Item>>): Promise<LogUpdates<Item>> => ({
    items: await source.open()(),
    next,
  });
  return () => {
    const log = followedLog ?? follow(source);
    const next = log.nextUpdates();
    // The first wait gets all items anyway; a later one also needs the items that were read before it joined.
    const allUpdates = followedLog === undefined ? next : readAll(next);
    followedLog = log;
    waitingCount += 1;
    const leave = (): void => {
      waitingCount -= 1;
      if (waitingCount > 0) return;
      log.leave();
      followedLog = undefined;
    };
    return { all: allUpdates, leave };
  };
}

/** Reads a log after each write, until `leave` is called. */
function follow<Item>({ open, follow: followWrites }: LogUpdateSource<Item>) {
  const read = open();
  let nextWrite = Promise.withResolvers<void>();
  const readNext = (): Promise<LogUpdates<Item>> => {
    const update = nextWrite.promise.then(async () => {
      // A write during this read causes one more read.
      nextWrite = Promise.withResolvers();
      const items = await read();
      nextUpdates = readNext();
      return { items, next: nextUpdates };
    });
    // A wait gets the error at its own await. Without a wait, the error must not become an unhandled rejection.
    update.catch(() => undefined);
    return update;
  };
  let nextUpdates = readNext();
  nextWrite.resolve();
  return { nextUpdates: () => nextUpdates, leave: followWrites(() => nextWrite.resolve()) };
}
