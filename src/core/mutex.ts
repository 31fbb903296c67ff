export type Mutex = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>;

export function createMutex(): Mutex {
  const lastWork = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const result = (lastWork.get(name) ?? Promise.resolve()).then(work, work);
    lastWork.set(name, result);
    const forget = (): void => {
      if (lastWork.get(name) === result) lastWork.delete(name);
    };
    result.then(forget, forget);
    return result;
  };
}

export function createQueue(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const mutex = createMutex();
  return (work) => mutex("", work);
}

export type StepAside = (wait: () => Promise<void>) => Promise<void>;

export function createTurnQueue(): (work: (stepAside: StepAside) => Promise<void>) => Promise<void> {
  const queue = createQueue();
  const takeTurn = (): Promise<() => void> =>
    new Promise((begin) => {
      void queue(() => new Promise<void>(begin));
    });
  return async (work) => {
    let endTurn = await takeTurn();
    const stepAside: StepAside = async (pause) => {
      endTurn();
      try {
        await pause();
      } finally {
        endTurn = await takeTurn();
      }
    };
    await work(stepAside).finally(() => endTurn());
  };
}
