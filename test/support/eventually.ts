import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/**
 * Timeout for an event that only needs time, even on a busy machine. `npm run mutate` has a shorter timeout, because
 * its waits often fail.
 */
const TIMEOUT_MS = Number(process.env["EVENTUALLY_MS"] ?? 60_000);
/**
 * The longest pause between two checks; until then, each pause is a tenth of the time that has passed, but at least 1
 * ms.
 */
const MAX_PAUSE_MS = 100;
/** More turns of the loop than a write or a delivery in this process takes. */
const TURNS = 100;

/**
 * Waits until a check throws nothing, and returns its result. After the timeout it fails with the awaited condition and
 * the last error. Not for conditions with a time limit of their own.
 */
export async function eventually<Seen>(what: string, look: () => Seen | Promise<Seen>): Promise<Seen> {
  const since = performance.now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      const waitedMs = performance.now() - since;
      if (waitedMs > TIMEOUT_MS) {
        const seen = error instanceof Error ? error.message : String(error);
        throw new Error(`waited ${Math.round(waitedMs / 1000)} s until ${what}; last seen: ${seen}`, {
          cause: error,
        });
      }
      await sleep(Math.min(MAX_PAUSE_MS, Math.max(1, waitedMs / 10)));
    }
  }
}

/** Runs more turns of the loop than the pending work of this process needs: for events that must not happen. */
export async function runOn(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
}
