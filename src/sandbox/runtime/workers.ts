/**
 * Runs the work of a key only once at a time; the work of different keys runs in parallel. `work` must end by
 * itself.
 */
export function createWorkers(options: {
  readonly work: (key: string) => Promise<void>;
  readonly onFailure: (error: unknown, key: string) => void;
}) {
  const runningWork = new Map<string, Promise<void>>();
  const rerunKeys = new Set<string>();

  /** If the work is already running, it may have missed the newest change, so it runs again afterwards. */
  const wake = (key: string): void => {
    if (runningWork.has(key)) rerunKeys.add(key);
    else runningWork.set(key, run(key));
  };

  async function run(key: string): Promise<void> {
    try {
      await options.work(key);
    } catch (error) {
      options.onFailure(error, key);
    }
    runningWork.delete(key);
    if (rerunKeys.delete(key)) wake(key);
  }

  return {
    wake,
    idle: async (keys?: readonly string[]): Promise<void> => {
      for (;;) {
        const activeWorkers = [...runningWork].filter(([key]) => keys === undefined || keys.includes(key));
        if (activeWorkers.length === 0) return;
        await Promise.all(activeWorkers.map(([, worker]) => worker));
      }
    },
  };
}
