import { StorageUnavailable } from "../../store/connection/storage-failure.ts";
import type { World } from "../../world.ts";
import { createAlarm } from "../runtime/alarm.ts";
import { createWorkers } from "../runtime/workers.ts";
import { recordAttemptResult, type RecordContext } from "./record-result.ts";
import { sendAttempt, type AttemptWithResult, type SendContext } from "./send.ts";
import {
  NO_DELIVERIES,
  takeDueDeliveries,
  type StartedAttempt,
  type AttemptBatch,
  type TakeContext,
} from "./take-due.ts";
import type { FinishedAttemptEntry } from "../../core/webhook/shapes.ts";

export type DispatchContext = TakeContext &
  SendContext &
  RecordContext & { readonly world: Pick<World, "sleep" | "after" | "soon"> };

export type FinishedAttempt = { readonly ordinal: number; readonly entry: FinishedAttemptEntry };

type EndpointQueue = {
  readonly posts: Set<Promise<void>>;
  readonly results: { readonly ordinal: number; readonly attempt: AttemptWithResult }[];
  /** The newest attempt of each delivery: after a restore, the result of an older attempt must not be recorded. */
  readonly ordinals: Map<string, number>;
  isFull: boolean;
};

const RETRY_DELAY_MS = 1000;
/** Turns of the event loop in which no attempt ends; 50 turns take about 0.2 ms. */
const MAX_QUIET_ITERATIONS = 50;

/** Attempts in flight are rows; only their order and unrecorded results are in memory. */
export function createEndpointQueues(
  context: DispatchContext,
  options: { readonly report: (error: unknown) => void; readonly onEnd: (entry: FinishedAttempt) => void },
) {
  const { world } = context;
  const { report, onEnd } = options;
  const queues = new Map<string, EndpointQueue>();
  let startCount = 0;
  let isStopped = false;

  const workers = createWorkers({
    work: deliverDue,
    onFailure: (error, endpointId) => {
      report(error);
      alarm.expect(endpointId, world.now() + RETRY_DELAY_MS);
    },
  });
  const wake = (endpointId: string): void => {
    if (!isStopped) workers.wake(endpointId);
  };
  const alarm = createAlarm(world, { ring: async (endpointIds) => endpointIds.forEach(wake), report });

  async function deliverDue(endpointId: string): Promise<void> {
    const queue = queues.get(endpointId) ?? newQueue();
    queues.set(endpointId, queue);
    if (queue.isFull && queue.results.length === 0) return;
    const expect = (realTime: number): void => alarm.expect(endpointId, realTime);
    const { endedCount, finished, attempts, isFull } = await recordAndTake(context, queue, {
      take: (inFlightCount) =>
        isStopped ? NO_DELIVERIES : takeDueDeliveries(context, endpointId, { inFlightCount, expect }),
      isStopped: () => isStopped,
      report,
    });
    dropResults(queue, endedCount);
    queue.isFull = isFull;
    for (const attempt of attempts) launch(queue, attempt);
    if (queue.posts.size === 0 && queue.results.length === 0) queues.delete(endpointId);
    finished.forEach(onEnd);
  }

  function launch(queue: EndpointQueue, attempt: StartedAttempt): void {
    const ordinal = (startCount += 1);
    queue.ordinals.set(attempt.delivery.id, ordinal);
    const send = sendAttempt(context, attempt, report).then((endedAttempt) => {
      queue.posts.delete(send);
      queue.results.push({ ordinal, attempt: endedAttempt });
      workers.wake(attempt.endpoint.id);
    });
    queue.posts.add(send);
  }

  return {
    wake,
    idle: async (endpointIds?: readonly string[]): Promise<void> => {
      do await workers.idle(endpointIds);
      while (await awaitAnyEnd(queues, endpointIds));
    },
    stop: (): void => {
      isStopped = true;
      alarm.stop();
    },
  };
}

function newQueue(): EndpointQueue {
  return { posts: new Set(), results: [], ordinals: new Map(), isFull: false };
}

/** Waits for attempts that end at nearly the same time, because recording several in one commit is faster. */
async function awaitOtherEnds(
  { soon }: Pick<World, "soon">,
  { posts, results }: EndpointQueue,
): Promise<void> {
  for (let quietCount = 0; posts.size > 0 && quietCount < MAX_QUIET_ITERATIONS; quietCount += 1) {
    const endedCount = results.length;
    await new Promise<void>((resolve) => soon(resolve));
    if (results.length > endedCount) quietCount = 0;
  }
}

async function awaitAnyEnd(
  queues: ReadonlyMap<string, EndpointQueue>,
  endpointIds: readonly string[] = [...queues.keys()],
): Promise<boolean> {
  const attempts = endpointIds.flatMap((id) => Array.from(queues.get(id)?.posts ?? []));
  if (attempts.length > 0) await Promise.race(attempts);
  return attempts.length > 0;
}

function dropResults({ results, ordinals }: EndpointQueue, count: number): void {
  for (const { ordinal, attempt } of results.splice(0, count))
    if (ordinals.get(attempt.delivery.id) === ordinal) ordinals.delete(attempt.delivery.id);
}

/** All attempts of a queue belong to one store, so the store's clock is read once. */
function recordResults(context: DispatchContext, { results, ordinals }: EndpointQueue): FinishedAttempt[] {
  const [firstResult] = results;
  const clock = firstResult && context.store.clocks.of(firstResult.attempt.delivery.storeId);
  if (clock === undefined) return [];
  return results.flatMap(({ ordinal, attempt }) => {
    const isNewest = ordinals.get(attempt.delivery.id) === ordinal;
    const entry = isNewest ? recordAttemptResult(context, attempt, clock) : undefined;
    return entry === undefined ? [] : [{ ordinal, entry }];
  });
}

/**
 * While storage fails, retries a write that contains results until the sandbox stops, because a sent attempt must be
 * recorded.
 */
async function recordAndTake(
  context: DispatchContext,
  queue: EndpointQueue,
  options: {
    readonly take: (inFlightCount: number) => AttemptBatch;
    readonly isStopped: () => boolean;
    readonly report: (error: unknown) => void;
  },
): Promise<AttemptBatch & { readonly finished: readonly FinishedAttempt[]; readonly endedCount: number }> {
  const { store, world } = context;
  if (queue.results.length > 0) await awaitOtherEnds(world, queue);
  for (;;) {
    try {
      return await store.write(
        () => {
          const endedCount = queue.results.length;
          return { endedCount, finished: recordResults(context, queue), ...options.take(queue.posts.size) };
        },
        { isOftenIdle: true },
      );
    } catch (error) {
      if (queue.results.length === 0 || options.isStopped() || !(error instanceof StorageUnavailable))
        throw error;
      options.report(error);
      await world.sleep(RETRY_DELAY_MS);
    }
  }
}
