import type { Scheduler } from "./group-commit.ts";

/** A read whose result is remembered until the event loop turns. */
export type PerTurn<Value> = ((key: string) => Value) & {
  /** Forgets everything: for whoever changes what was read. */
  readonly forget: () => void;
};

/**
 * Reads a row once for all requests that arrived in one turn of the event loop. That is as if they had all been looked
 * at in the same moment, so nobody can tell; and what another process changes is seen in the next turn.
 */
export function perTurn<Value>(
  scheduler: Pick<Scheduler, "soon">,
  read: (key: string) => Value,
): PerTurn<Value> {
  const known = new Map<string, Value>();
  const forget = (): void => known.clear();
  const remember = (key: string): Value => {
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    if (known.size === 0) scheduler.soon(forget);
    const value = read(key);
    known.set(key, value);
    return value;
  };
  return Object.assign(remember, { forget });
}
