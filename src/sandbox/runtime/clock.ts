import { freezeClock, isMoment, REAL_CLOCK, setClock, storeNow, type StoreClock } from "../../core/clock.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import type { Dispatcher } from "../webhook/dispatcher.ts";
import { applyDueItems } from "../checkout/payments.ts";
import { refuseUnknownStore } from "../with-store.ts";
import type { ClockMoves } from "../clock-moves.ts";
import type { ServiceContext } from "../context.ts";
import type { World } from "../../world.ts";
import type { Mutex } from "../../core/mutex.ts";
import type { FinishedAttemptEntry } from "../../core/webhook/shapes.ts";
import type { StatusChangeEntry } from "../../core/checkout/shapes.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";

type ClockAction = RequestOf<"moveClock">;
type ClockState = AnswerOf<"moveClock">;

/** In real time; deliveries that take longer continue after the move. */
const DRAIN_TIMEOUT_MS = 20_000;

export type ClockContext = ServiceContext & {
  readonly world: Pick<World, "now" | "uuid" | "monotonic">;
  readonly dispatcher: Pick<Dispatcher, "drain">;
  /** Moves of a clock run one after the other: if two started from the same time, one would be lost. */
  readonly clockMutex: Mutex;
  readonly clockMoves: ClockMoves;
};

export function showClock({ store, world }: ClockContext, storeId: string): Outcome<ClockState> {
  const clock = store.clocks.of(storeId);
  if (clock === undefined) return refuseUnknownStore(storeId);
  const now = storeNow(clock, world.now());
  return accept({ now, frozen: clock.frozenAt !== null, fired: [], delivered: [], undelivered: 0 });
}

/**
 * A move forward processes everything that falls due, at its own time, and waits up to `DRAIN_TIMEOUT_MS` for the
 * deliveries. A move back undoes nothing. Refuses times outside the years 0 to 9999.
 */
export function moveClock(
  context: ClockContext,
  storeId: string,
  change: ClockAction,
): Promise<Outcome<ClockState>> {
  return context.clockMutex(storeId, () => move(context, storeId, change));
}

async function move(
  context: ClockContext,
  storeId: string,
  change: ClockAction,
): Promise<Outcome<ClockState>> {
  const { store, world, clockMoves } = context;
  const storeClock = store.clocks.of(storeId);
  if (storeClock === undefined) return refuseUnknownStore(storeId);
  const timeOf = (clock: StoreClock): number => storeNow(clock, world.now());
  using progress = clockMoves.begin(storeId, {
    from: timeOf(storeClock),
    to: timeOf(moveStoreClock(storeClock, change, world.now())),
  });
  const isTimeMove = change.action === "advance" || change.action === "set";
  const deadline = world.monotonic() + DRAIN_TIMEOUT_MS;
  const deliveredAttempts: FinishedAttemptEntry[] = [];
  const drain = async (): Promise<void> => {
    const budgetMs = deadline - world.monotonic();
    if (!isTimeMove || budgetMs <= 0) return;
    const attempts = await context.dispatcher.drain(storeId, budgetMs);
    deliveredAttempts.push(...attempts);
    progress.addAttempts(attempts);
  };
  await drain();
  const realNow = world.now();
  const oldClock = store.clocks.of(storeId) ?? REAL_CLOCK;
  const newClock = moveStoreClock(oldClock, change, realNow);
  const now = storeNow(newClock, realNow);
  if (!isMoment(now)) return refuseFact("clock_years", {});
  const statusChanges: StatusChangeEntry[] = [];
  const clockAt = (at: number): StoreClock => setClock(oldClock, at, realNow);
  for (let [reachedTime, isOver] = [storeNow(oldClock, realNow), false]; !isOver;) {
    // The clock stops at each due time, because the delay of a retry counts from the time of the failed attempt.
    const stopTime = nextDueTime(context, storeId, reachedTime);
    const isLast = stopTime >= now || world.monotonic() >= deadline;
    // One write applies the changes and moves the clock, so that even after a crash nothing is later than the store's
    // time.
    const { changes, hasMore } = await store.write(() => {
      const dueWork = applyDueItems(context, storeId, { until: isLast ? now : stopTime });
      const at = dueWork.hasMore ? dueWork.changes.at(-1)?.at : stopTime;
      if (isLast && !dueWork.hasMore) store.clocks.set(storeId, newClock);
      else if (at !== undefined) store.clocks.set(storeId, clockAt(at));
      return dueWork;
    });
    statusChanges.push(...changes);
    progress.addChanges(changes);
    if (hasMore) continue;
    await drain();
    [reachedTime, isOver] = [stopTime, isLast];
  }
  const undeliveredCount = isTimeMove ? countDueDeliveries(context, storeId, now) : 0;
  return accept({
    now,
    frozen: newClock.frozenAt !== null,
    fired: statusChanges,
    delivered: deliveredAttempts,
    undelivered: undeliveredCount,
  });
}

export function countDueDeliveries(
  { store }: Pick<ServiceContext, "store">,
  storeId: string,
  now: number,
): number {
  const enabledEndpoints = store.endpoints.of(storeId).filter(({ state }) => state === "enabled");
  return enabledEndpoints.reduce((sum, { id }) => sum + store.deliveries.countDue(id, now), 0);
}

function nextDueTime({ store }: ServiceContext, storeId: string, time: number): number {
  const endpoints = store.endpoints.of(storeId).filter(({ state }) => state === "enabled");
  if (endpoints.length === 0) return Infinity;
  const deliveries = endpoints.flatMap(({ id }) => store.deliveries.next(id).map(({ nextAt }) => nextAt));
  const settlementTime = store.settlements.next(storeId)?.dueAt ?? [];
  return Math.min(...[...deliveries, settlementTime].flat().filter((at) => at > time));
}

function moveStoreClock(clock: StoreClock, change: ClockAction, realNow: number): StoreClock {
  switch (change.action) {
    case "freeze":
      return freezeClock(clock, realNow);
    case "real":
      return REAL_CLOCK;
    case "advance":
      return setClock(clock, storeNow(clock, realNow) + change.byMs, realNow);
    case "set":
      return setClock(clock, change.to, realNow);
  }
}
