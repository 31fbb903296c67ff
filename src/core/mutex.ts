/** Runs pieces of work with the same name one after the other, in the order in which they came. */
export type Mutex = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>;

/** For work with an await between reading and writing, which must not be mixed with another of its kind. */
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
