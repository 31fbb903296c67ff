import type { ServiceContext } from "../context.ts";
import { storeTime } from "../with-store.ts";
import { createEndpointQueues, type DispatchContext, type FinishedAttempt } from "./endpoint-queues.ts";
import type { FinishedAttemptEntry } from "../../core/webhook/shapes.ts";

/** Deliveries to an endpoint run in parallel; deliveries of one checkout are sent one at a time (decisions 13, 93). */
export type Dispatcher = ReturnType<typeof createDispatcher>;

/** Queues are rows in the database, so that a crash loses no delivery. */
export function createDispatcher(context: DispatchContext, report: (error: unknown) => void) {
  const { store, world } = context;
  const listeners = new Set<(attempt: FinishedAttempt) => void>();
  const onEnd = (attempt: FinishedAttempt): void => listeners.forEach((listen) => listen(attempt));
  const { wake, idle, stop } = createEndpointQueues(context, { report, onEnd });
  return {
    wake,
    wakeStores: (storeIds: readonly string[]): void => {
      for (const storeId of storeIds) for (const { id } of store.endpoints.of(storeId)) wake(id);
    },
    drain: async (storeId: string, budgetMs: number): Promise<readonly FinishedAttemptEntry[]> => {
      const expectedCounts = countDueByEndpoint(context, storeId);
      if (expectedCounts.size === 0 || context.holdOf(storeId) !== undefined) return [];
      const collection = collectAttempts(listeners, expectedCounts);
      for (const id of expectedCounts.keys()) wake(id);
      const timeout = new Promise<void>((resolve) => world.after(budgetMs, resolve));
      await Promise.race([collection.completion, idle([...expectedCounts.keys()]), timeout]);
      return collection.end();
    },
    stop: async (graceMs: number): Promise<void> => {
      stop();
      await Promise.race([idle(), world.sleep(graceMs)]);
    },
  };
}

function countDueByEndpoint(context: DispatchContext, storeId: string): ReadonlyMap<string, number> {
  const { store } = context;
  const now = storeTime(context, storeId);
  const dueCounts = store.endpoints
    .of(storeId)
    .map(({ id }) => [id, store.deliveries.countDue(id, now)] as const);
  return new Map(dueCounts.filter(([, count]) => count > 0));
}

function collectAttempts(
  listeners: Set<(attempt: FinishedAttempt) => void>,
  expectedCounts: ReadonlyMap<string, number>,
) {
  const remainingCounts = new Map(expectedCounts);
  const attempts: FinishedAttempt[] = [];
  const { promise: completion, resolve: resolveComplete } = Promise.withResolvers<void>();
  const listen = (attempt: FinishedAttempt): void => {
    const { endpointId } = attempt.entry;
    const count = remainingCounts.get(endpointId);
    if (count === undefined) return;
    attempts.push(attempt);
    const { at, nextAt } = attempt.entry;
    if (nextAt !== null && nextAt <= at) return;
    if (count === 1) remainingCounts.delete(endpointId);
    else remainingCounts.set(endpointId, count - 1);
    if (remainingCounts.size === 0) resolveComplete();
  };
  listeners.add(listen);
  return {
    completion,
    end: () => {
      listeners.delete(listen);
      return attempts.toSorted((left, right) => left.ordinal - right.ordinal).map(({ entry }) => entry);
    },
  };
}

export function recoverDeliveries(context: ServiceContext): Promise<void> {
  const { store, world } = context;
  return store.write(
    () => {
      for (const { deliveryId, number } of store.deliveryAttempts.listOpen()) {
        const delivery = store.deliveries.find(deliveryId);
        const now = delivery === undefined ? world.now() : storeTime(context, delivery.storeId);
        store.deliveryAttempts.finish(
          { deliveryId, number },
          {
            finishedAt: now,
            milliseconds: null,
            address: null,
            status: null,
            error: "interrupted",
            answer: null,
            nextAt: now,
            facts: null,
          },
        );
      }
    },
    { isOftenIdle: true },
  );
}
