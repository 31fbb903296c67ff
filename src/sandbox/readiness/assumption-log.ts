import type { DecisionNumbers } from "../../core/readiness/relied.ts";
import type { AssumptionUse } from "../../store/readiness/assumption-uses.ts";
import type { Store } from "../../store/store.ts";
import { createWorkers } from "../runtime/workers.ts";

/** The first use of a decision, and its time: milliseconds by the store's clock. */
type Reliance = {
  readonly storeId: string;
  /** The id of the request; without a request, of the event or the checkout. */
  readonly requestId: string;
  readonly at: number;
};

/** Records which gaps of the interface integrations rely on. */
export type AssumptionLog = {
  /** A look-up in memory, except for the first use of a decision in a store. */
  readonly note: (relied: DecisionNumbers, reliance: Reliance) => void;
  /** The decisions that a store's integration relied on, including all earlier notes. */
  readonly of: (storeId: string) => Promise<readonly AssumptionUse[]>;
  /** Forgets a store's uses, written or not: inside the write that deletes them. */
  readonly forget: (storeId: string) => void;
  /** Resolves when all notes are on disk, or could not be written. */
  readonly idle: () => Promise<void>;
};

const WORK = "assumptions";

/**
 * Keeps known uses in memory, so that requests do not write them again. A note is written in a commit of its own, after
 * that of its request: a crash in between loses it, and the next use records it.
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
    const written = new Set(waiting);
    if (written.size === 0) return;
    // Those that were forgotten before the write are not among them any more.
    await store.write(() => waiting.filter((use) => written.has(use)).forEach(store.assumptionUses.note));
    waiting = waiting.filter((use) => !written.has(use));
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
    forget: (storeId) => {
      known.delete(storeId);
      waiting = waiting.filter((use) => use.storeId !== storeId);
    },
    idle: settle,
  };
}
