import type { Scheduler } from "./group-commit.ts";

/** A read whose result is cached for a moment. */
type CachedRead<Value> = ((key: string) => Value) & {
  /** Empties the cache; must be called after every change of the cached rows. */
  readonly forget: () => void;
};

/** How long another process's change can go unnoticed, in milliseconds; our own changes are visible immediately. */
const REMEMBER_MS = 50;

/**
 * Caches a row for all requests within a moment: outside a transaction each read takes two locks, which was a twelfth
 * of the time of a create. Only credentials, stores with their endpoints and faults, and signing secrets are cached;
 * keys, orders and states are read in the transaction that changes them.
 */
export function cacheBriefly<Value>(
  scheduler: Pick<Scheduler, "after">,
  read: (key: string) => Value,
): CachedRead<Value> {
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
