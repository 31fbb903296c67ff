import { StorageUnavailable } from "../../store/connection/storage-failure.ts";
import { createAlarm } from "../runtime/alarm.ts";
import {
  recordEnd,
  send,
  takeNext,
  type DispatchContext,
  type Dispatched,
  type Ended,
  type Started,
} from "./delivery-steps.ts";
import type { ServiceContext } from "../context.ts";
import { storeTime } from "../at-store.ts";
import { createWorkers } from "../runtime/workers.ts";

/** Sends due deliveries: one at a time for each endpoint, endpoints in parallel (decision 13). */
export type Dispatcher = {
  /** A delivery to an endpoint may be due. */
  readonly wake: (endpointId: string) => void;
  /** Checks all endpoints of these stores; for the start, and after a clock was moved. */
  readonly wakeStores: (storeIds: readonly string[]) => void;
  /** Sends all due deliveries of a store, waits at most this long, and returns the tries in order. */
  readonly drain: (storeId: string, budgetMs: number) => Promise<readonly Dispatched[]>;
  /** Starts nothing new, and waits for running deliveries, at most this long. */
  readonly stop: (graceMs: number) => Promise<void>;
};

/** Delay after a failure, such as a locked database. */
const RETRY_MS = 1000;

/** Makes the dispatcher of a sandbox. Rows are its queue, so a crash loses nothing. */
export function createDispatcher(context: DispatchContext, report: (error: unknown) => void): Dispatcher {
  const { store, world } = context;
  const listeners = new Set<(dispatched: Dispatched) => void>();
  let stopped = false;

  const workers = createWorkers({
    work: deliverAll,
    onFailure: (error, endpointId) => {
      report(error);
      alarm.expect(endpointId, world.now() + RETRY_MS);
    },
  });
  const wake = (endpointId: string): void => {
    // What is held back stays due, without a try.
    if (!stopped && context.heldBack === undefined) workers.wake(endpointId);
  };
  const alarm = createAlarm(world, { ring: async (endpointIds) => endpointIds.forEach(wake), report });

  /** One endpoint's work until nothing is due: the end of one try and the start of the next share a transaction. */
  async function deliverAll(endpointId: string): Promise<void> {
    let ended: Ended | undefined;
    for (;;) {
      const { told, next } = await recordAndTake(endpointId, ended);
      if (told !== undefined) for (const listen of listeners) listen(told);
      if (next === undefined) return;
      ended = await send(context, next);
    }
  }

  /** A sent try must be recorded: while the database cannot be written, it is tried again. */
  async function recordAndTake(endpointId: string, ended: Ended | undefined): Promise<Step> {
    for (;;) {
      try {
        return await store.write(() => {
          const told = ended && recordEnd(context, ended);
          return { told, next: stopped ? undefined : takeNext(context, endpointId, alarm.expect) };
        });
      } catch (error) {
        if (ended === undefined || stopped || !(error instanceof StorageUnavailable)) throw error;
        report(error);
        await world.sleep(RETRY_MS);
      }
    }
  }

  return {
    wake,
    wakeStores: (storeIds) => {
      for (const storeId of storeIds) for (const { id } of store.endpoints.of(storeId)) wake(id);
    },
    drain: async (storeId, budgetMs) => {
      const expected = countDue(context, storeId);
      if (expected.size === 0 || context.heldBack !== undefined) return [];
      // Deliveries that become due later must not extend the wait.
      const tries = collectTries(listeners, expected);
      for (const id of expected.keys()) wake(id);
      const timeIsUp = new Promise<void>((resolve) => world.after(budgetMs, resolve));
      await Promise.race([tries.complete, workers.idle([...expected.keys()]), timeIsUp]);
      return tries.end();
    },
    stop: async (graceMs) => {
      stopped = true;
      alarm.stop();
      await Promise.race([workers.idle(), world.sleep(graceMs)]);
    },
  };
}

/** Number of due deliveries for each endpoint that has some. */
function countDue(context: DispatchContext, storeId: string): ReadonlyMap<string, number> {
  const { store } = context;
  const now = storeTime(context, storeId);
  const due = store.endpoints.of(storeId).map(({ id }) => [id, store.deliveries.countDue(id, now)] as const);
  return new Map(due.filter(([, count]) => count > 0));
}

/** Waits until each endpoint has had its expected number of tries. */
function collectTries(
  listeners: Set<(dispatched: Dispatched) => void>,
  expected: ReadonlyMap<string, number>,
): { readonly complete: Promise<void>; readonly end: () => readonly Dispatched[] } {
  const left = new Map(expected);
  const tried: Dispatched[] = [];
  let complete = (): void => undefined;
  const completed = new Promise<void>((resolve) => (complete = resolve));
  const listen = (dispatched: Dispatched): void => {
    const count = left.get(dispatched.endpointId);
    if (count === undefined) return;
    tried.push(dispatched);
    if (count === 1) left.delete(dispatched.endpointId);
    else left.set(dispatched.endpointId, count - 1);
    if (left.size === 0) complete();
  };
  listeners.add(listen);
  return {
    complete: completed,
    end: () => {
      listeners.delete(listen);
      return tried;
    },
  };
}

/** The recorded end of one try, and the next try to send. */
type Step = { readonly told: Dispatched | undefined; readonly next: Started | undefined };

/**
 * Records that the last process ended during deliveries: each may have been received, and is sent again. Runs once,
 * before the first delivery.
 */
export function recoverDeliveries(context: ServiceContext): Promise<void> {
  const { store, world } = context;
  return store.write(() => {
    for (const { deliveryId, number } of store.deliveryAttempts.open()) {
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
        },
      );
    }
  });
}
