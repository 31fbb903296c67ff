import type { Scheduler } from "./group-commit.ts";

type CachedRead<Value> = ((key: string) => Value) & {
  /** Must be called when this process changes the cached rows. */
  readonly forget: () => void;
};

/** How long a change by another process can go unnoticed. */
const CACHE_LIFETIME_MS = 50;

/**
 * Avoids the locks of reads outside transactions, which take a twelfth of a create's time. Idempotency keys and
 * checkouts are not cached, because they are read in the transaction that changes them.
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
