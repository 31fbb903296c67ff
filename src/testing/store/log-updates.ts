export type LogUpdates<Item> = { readonly items: readonly Item[]; readonly next: Promise<LogUpdates<Item>> };

export type LogUpdateSource<Item> = {
  /**
   * Opens a reader: its first call returns all items, later calls return the items that are new or may have changed
   * since.
   */
  readonly open: () => () => Promise<readonly Item[]>;
  readonly follow: (onWrite: () => void) => () => void;
};

/**
 * All waits on a log share one read after each write, and without a wait nothing is read. The returned function starts a
 * wait, which lasts until `leave` is called.
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

function follow<Item>({ open, follow: followWrites }: LogUpdateSource<Item>) {
  const read = open();
  let nextWrite = Promise.withResolvers<void>();
  const readNext = (): Promise<LogUpdates<Item>> => {
    const update = nextWrite.promise.then(async () => {
      nextWrite = Promise.withResolvers();
      const items = await read();
      nextUpdates = readNext();
      return { items, next: nextUpdates };
    });
    // A wait gets the error from its own await; without a wait, the error must not become an unhandled rejection.
    update.catch(() => undefined);
    return update;
  };
  let nextUpdates = readNext();
  nextWrite.resolve();
  return { nextUpdates: () => nextUpdates, leave: followWrites(() => nextWrite.resolve()) };
}
