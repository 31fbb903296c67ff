import type { Scheduler } from "./group-commit.ts";

/** A read whose results are cached briefly, by key. */
type CachedRead<Value> = ((key: string) => Value) & {
  /** Empties the cache; must be called after every change of the cached rows. */
  readonly forget: () => void;
};

/** How long another process's change can go unnoticed, in milliseconds; our own changes are visible immediately. */
const REMEMBER_MS = 50;

/**
 * Caches what a read returns, because each read outside a transaction takes two locks, which was a twelfth of the time
 * of a create. Only credentials, signing secrets, and the facts, names, holds, endpoints and faults of stores are cached;
 * idempotency keys, orders and their statuses are read in the transaction that changes them.
 */
export function cacheBriefly<Value>(
  scheduler: Pick<Scheduler, "after">,
  read: (key: string) => Value,
): CachedRead<Value> {
  const knownValues = new Map<string, Value>();
  const forget = (): void => knownValues.clear();
  const look = (key: string): Value => {
    const found = knownValues.get(key);
    if (found !== undefined) return found;
    const value = read(key);
    if (value === undefined) return value;
    if (knownValues.size === 0) scheduler.after(REMEMBER_MS, forget);
    knownValues.set(key, value);
    return value;
  };
  return Object.assign(look, { forget });
}
