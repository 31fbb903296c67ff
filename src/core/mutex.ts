/** Runs work with the same name one after the other, in the order of the calls. */
export type Mutex = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>;

/** A mutex for work that awaits between reading and writing. */
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

/** Runs all work one after the other, in the order of the calls. */
export function oneAtATime(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const mutex = createMutex();
  return (work) => mutex("", work);
}
