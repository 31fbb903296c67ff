import type { Relied } from "../../core/readiness/assumptions.ts";
import type { AssumptionUse } from "../../store/readiness/assumption-uses.ts";
import type { Store } from "../../store/store.ts";
import { createWorkers } from "../runtime/workers.ts";

/** What relied on a decision, and when: milliseconds by the store's clock. */
export type Reliance = {
  readonly storeId: string;
  /** The request; where there was none, the event or the checkout. */
  readonly requestId: string;
  readonly at: number;
};

/** Notes what integrations relied on that the interface leaves open. */
export type AssumptionLog = {
  /** Costs a look into memory, but for the first time of a decision in a store. */
  readonly note: (relied: Relied, reliance: Reliance) => void;
  /** What was relied on in a store, with everything that was noted before. */
  readonly of: (storeId: string) => Promise<readonly AssumptionUse[]>;
  /** Settles when everything that was noted is on disk, or could not be written. */
  readonly idle: () => Promise<void>;
};

const WORK = "assumptions";

/**
 * Keeps what is known in memory, so that requests do not write it again. A note is written in the commit after the one
 * that it belongs to: a crash in between forgets it, and the next use notes it.
 */
export function createAssumptionLog(
  store: Pick<Store, "assumptionUses" | "write">,
  report: (error: unknown) => void,
): AssumptionLog {
  const known = new Map<string, Set<number>>();
  let waiting: readonly AssumptionUse[] = [];
  const workers = createWorkers({ work: writeDown, onFailure: report });

  const knownOf = (storeId: string): Set<number> => {
    const found = known.get(storeId);
    if (found !== undefined) return found;
    const read = new Set(store.assumptionUses.of(storeId).map(({ decision }) => decision));
    known.set(storeId, read);
    return read;
  };

  async function writeDown(): Promise<void> {
    const written = waiting;
    if (written.length === 0) return;
    await store.write(() => written.forEach(store.assumptionUses.note));
    // What came meanwhile is behind it.
    waiting = waiting.slice(written.length);
  }

  const settle = async (): Promise<void> => {
    if (waiting.length > 0) workers.wake(WORK);
    await workers.idle();
  };

  return {
    note: (relied, { storeId, requestId, at }) => {
      for (const decision of relied) {
        const decisions = knownOf(storeId);
        if (decisions.has(decision)) continue;
        decisions.add(decision);
        waiting = [...waiting, { storeId, decision, firstRequestId: requestId, firstAt: at }];
        workers.wake(WORK);
      }
    },
    of: async (storeId) => {
      await settle();
      return store.assumptionUses.of(storeId);
    },
    idle: settle,
  };
}
