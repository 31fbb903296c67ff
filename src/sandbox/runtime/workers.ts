/** Work that is done for each key by one worker at a time, workers of different keys beside each other. */
export type Workers = {
  /** Does the work of a key; where it is being done already, once more after that. */
  readonly wake: (key: string) => void;
  /** Settles when nobody works for these keys, or for any. */
  readonly idle: (keys?: readonly string[]) => Promise<void>;
};

/** Makes workers. `work` is told to stop by itself; `onFailure` hears of what it throws. */
export function createWorkers(options: {
  readonly work: (key: string) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}): Workers {
  const running = new Map<string, Promise<void>>();
  const wanted = new Set<string>();

  const wake = (key: string): void => {
    if (running.has(key)) wanted.add(key);
    else running.set(key, run(key));
  };

  async function run(key: string): Promise<void> {
    try {
      await options.work(key);
    } catch (error) {
      options.onFailure(error);
    }
    running.delete(key);
    if (wanted.delete(key)) wake(key);
  }

  return {
    wake,
    idle: async (keys) => {
      for (;;) {
        const left = [...running].filter(([key]) => keys === undefined || keys.includes(key));
        if (left.length === 0) return;
        await Promise.all(left.map(([, worker]) => worker));
      }
    },
  };
}
