import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/**
 * Timeout for an event that only needs time, on a busy machine. `npm run mutate` has a shorter one, because its waits
 * often fail.
 */
const WITHIN_MS = Number(process.env["EVENTUALLY_MS"] ?? 60_000);
/** The longest pause between two looks; before that a look comes when a tenth more time has passed. */
const MAX_PAUSE_MS = 100;
/** More turns of the loop than a write or a delivery in this process takes. */
const TURNS = 100;

/**
 * Waits until a look throws nothing, and returns what it saw. After this time it fails with what was waited for and with
 * what the last look said. For what only has to happen: what has to be fast is measured in the bench.
 */
export async function eventually<Seen>(what: string, look: () => Seen | Promise<Seen>): Promise<Seen> {
  const since = performance.now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      const waitedMs = performance.now() - since;
      if (waitedMs > WITHIN_MS) {
        const seen = error instanceof Error ? error.message : String(error);
        throw new Error(`waited ${Math.round(waitedMs / 1000)} s until ${what}; last seen: ${seen}`, {
          cause: error,
        });
      }
      await sleep(Math.min(MAX_PAUSE_MS, Math.max(1, waitedMs / 10)));
    }
  }
}

/** Lets what was begun in this process run to its end, however long that takes: for what must not happen then. */
export async function runOn(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
}
