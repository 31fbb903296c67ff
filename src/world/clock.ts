import { setTimeout as sleep } from "node:timers/promises";
import type { World } from "../world.ts";
import { isError } from "../core/outcome.ts";

/** The clock of this machine and the timers of this process. */
export const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(ignoreAbort),
  after: (milliseconds, run) => void setTimeout(run, milliseconds),
  soon: (run) => void setImmediate(run),
} satisfies Partial<World>;

/** Ignores an abort, which ends a sleep early; the caller checks the signal. */
function ignoreAbort(error: unknown): void {
  if (!(isError(error) && error.name === "AbortError")) throw error;
}
