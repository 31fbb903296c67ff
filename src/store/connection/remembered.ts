import type { Scheduler } from "./group-commit.ts";

/** A read whose result is remembered for a moment. */
export type Remembered<Value> = ((key: string) => Value) & {
  /** Forgets everything: for whoever changes what was read. */
  readonly forget: () => void;
};

/** So long at most can another process's change go unseen; our own are seen at once. */
const REMEMBER_MS = 10;

/**
 * Reads a row once for all requests of a moment: outside a transaction each read costs two locks, which was a twelfth
 * of the time of a create. Nothing but credentials, stores and their endpoints is read this way; what a create must not get wrong is read in its transaction.
 */
export function remembered<Value>(
  scheduler: Pick<Scheduler, "after">,
  read: (key: string) => Value,
): Remembered<Value> {
  const known = new Map<string, Value>();
  const forget = (): void => known.clear();
  const look = (key: string): Value => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const value = read(key);
    if (value === undefined) return value;
    if (known.size === 0) scheduler.after(REMEMBER_MS, forget);
    known.set(key, value);
    return value;
  };
  return Object.assign(look, { forget });
}
