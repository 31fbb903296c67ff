/** Runs work with the same name one after the other, in the order of the calls. */
export type Mutex = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>;

/**
 * Creates a mutex for work that awaits between reading and writing, and so must not overlap with work of the same name.
 */
export function createMutex(): Mutex {
  const last = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const result = (last.get(name) ?? Promise.resolve()).then(work, work);
    last.set(name, result);
    const forget = (): void => {
      if (last.get(name) === result) last.delete(name);
    };
    result.then(forget, forget);
    return result;
  };
}
