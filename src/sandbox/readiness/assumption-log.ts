import type { DecisionNumbers } from "../../core/readiness/relied.ts";
import type { AssumptionUse } from "../../store/readiness/assumption-uses.ts";
import type { Store } from "../../store/store.ts";
import { createWorkers } from "../runtime/workers.ts";

type Reliance = {
  readonly storeId: string;
  readonly requestId: string;
  readonly at: number;
};

export type AssumptionLog = ReturnType<typeof createAssumptionLog>;

const WORKER_KEY = "assumptions";

/** Uses are written after the request; if a crash loses one, the next use is recorded instead. */
export function createAssumptionLog(
  store: Pick<Store, "assumptionUses" | "write">,
  report: (error: unknown) => void,
) {
  const knownUses = new Map<string, Set<number>>();
  let queue: readonly AssumptionUse[] = [];
  const workers = createWorkers({ work: flushQueue, onFailure: report });

  const decisionsOf = (storeId: string): Set<number> => {
    const knownDecisions = knownUses.get(storeId);
    if (knownDecisions !== undefined) return knownDecisions;
    const storedDecisions = new Set(store.assumptionUses.of(storeId).map(({ decision }) => decision));
    knownUses.set(storeId, storedDecisions);
    return storedDecisions;
  };

  async function flushQueue(): Promise<void> {
    const writtenUses = new Set(queue);
    if (writtenUses.size === 0) return;
    await store.write(() => queue.filter((use) => writtenUses.has(use)).forEach(store.assumptionUses.note));
    queue = queue.filter((use) => !writtenUses.has(use));
  }

  const awaitWrites = async (): Promise<void> => {
    if (queue.length > 0) workers.wake(WORKER_KEY);
    await workers.idle();
  };

  return {
    note: (reliedDecisions: DecisionNumbers, { storeId, requestId, at }: Reliance): void => {
      for (const decision of reliedDecisions) {
        const decisions = decisionsOf(storeId);
        if (decisions.has(decision)) continue;
        decisions.add(decision);
        queue = [...queue, { storeId, decision, firstRequestId: requestId, firstAt: at }];
        workers.wake(WORKER_KEY);
      }
    },
    of: async (storeId: string): Promise<readonly AssumptionUse[]> => {
      await awaitWrites();
      return store.assumptionUses.of(storeId);
    },
    /** Call inside the write that deletes the uses. */
    forget: (storeId: string): void => {
      knownUses.delete(storeId);
      queue = queue.filter((use) => use.storeId !== storeId);
    },
    idle: awaitWrites,
  };
}
