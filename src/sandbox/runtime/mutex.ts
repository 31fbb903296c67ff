/** Runs one piece of work after the other, in the order in which they came. */
export type Turns = <Value>(work: () => Promise<Value>) => Promise<Value>;

/** For work that reads and writes in more than one transaction, and must not be mixed with another of its kind. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}
