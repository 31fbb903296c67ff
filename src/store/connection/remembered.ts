import type { Scheduler } from "./group-commit.ts";

type CachedRead<Value> = ((key: string) => Value) & {
  /** Must be called with each change of the cached rows. */
  readonly forget: () => void;
};

/** A change by another process can go unnoticed for this time; our own changes are visible immediately. */
const CACHE_LIFETIME_MS = 50;

/**
 * Each read outside a transaction takes two locks, which was a twelfth of a create's time. Idempotency keys,
 * orders and their statuses are never cached: they are read in the transaction that changes them.
 */
export function cacheBriefly<Value>(
  scheduler: Pick<Scheduler, "after">,
  read: (key: string) => Value,
): CachedRead<Value> {
  const knownValues = new Map<string, Value>();
  const forget = (): void => knownValues.clear();
  const readCached = (key: string): Value => {
    const cachedValue = knownValues.get(key);
    if (cachedValue !== undefined) return cachedValue;
    const value = read(key);
    if (value === undefined) return value;
    if (knownValues.size === 0) scheduler.after(CACHE_LIFETIME_MS, forget);
    knownValues.set(key, value);
    return value;
  };
  return Object.assign(readCached, { forget });
}
