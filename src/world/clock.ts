import type { World } from "../world.ts";
import { clearTimeout, monotonic, now, setImmediate, setTimeout } from "./timers.ts";

/** The clock of this machine and the timers of this process. */
export const clock = {
  now,
  monotonic,
  sleep,
  after: (milliseconds, run) => void setTimeout(run, milliseconds),
  soon: (run) => void setImmediate(run),
} satisfies Partial<World>;

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
  });
}
