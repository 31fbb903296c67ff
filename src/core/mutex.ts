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

/** Pauses a turn, so that another turn can run during the pause. */
export type StepAside = (pause: () => Promise<void>) => Promise<void>;

type TurnQueue = {
  readonly run: (work: (stepAside: StepAside) => Promise<void>) => Promise<void>;
  /** Changes how many turns run at the same time. */
  readonly setLimit: (limit: number) => void;
};

export function createTurnQueue(firstLimit = 1): TurnQueue {
  let limit = firstLimit;
  let runningCount = 0;
  const waitingTurns: (() => void)[] = [];
  const beginTurns = (): void => {
    for (; runningCount < limit && waitingTurns.length > 0; runningCount += 1) waitingTurns.shift()?.();
  };
  const takeTurn = (): Promise<void> =>
    new Promise((begin) => {
      waitingTurns.push(begin);
      beginTurns();
    });
  const endTurn = (): void => {
    runningCount -= 1;
    beginTurns();
  };
  return {
    run: async (work) => {
      await takeTurn();
      const stepAside: StepAside = async (pause) => {
        endTurn();
        try {
          await pause();
        } finally {
          await takeTurn();
        }
      };
      await work(stepAside).finally(endTurn);
    },
    setLimit: (newLimit) => {
      limit = newLimit;
      beginTurns();
    },
  };
}
