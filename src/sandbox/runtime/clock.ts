import { freeze, REAL_CLOCK, setTo, storeNow, type StoreClock } from "../../core/clock.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import type { Dispatched } from "../webhook/delivery-steps.ts";
import type { Dispatcher } from "../webhook/dispatcher.ts";
import { settleDue, type Move } from "../checkout/payments.ts";
import type { ServiceContext } from "../context.ts";
import type { World } from "../../world.ts";
import type { Mutex } from "../../core/mutex.ts";

/** What can be done to a store's clock (decision 18). Times and spans in milliseconds. */
export type ClockAct =
  | { readonly action: "show" | "freeze" | "real" }
  | { readonly action: "advance"; readonly by: number }
  | { readonly action: "set"; readonly to: number };

/** Where a clock stands, and what fired on the way: statuses that changed and deliveries that were tried, each in its order. */
export type ClockState = {
  readonly now: number;
  readonly frozen: boolean;
  readonly fired: readonly Move[];
  readonly delivered: readonly Dispatched[];
  /** Deliveries that are due and still on their way: receivers took longer than a move waits. */
  readonly undelivered: number;
};

/** So long a move waits for receivers, in real milliseconds; what they take longer for goes on without it. */
const DRAIN_BUDGET_MS = 20_000;

/** What moving a clock needs: what is due by then is also sent. */
export type ClockContext = ServiceContext & {
  readonly world: Pick<World, "now" | "uuid" | "monotonic">;
  readonly dispatcher: Pick<Dispatcher, "drain">;
  /** Two moves at once would start from the same time, and one be lost. */
  readonly clockMutex: Mutex;
};

/**
 * Moves a store's clock. Going forward does everything that falls due on the way, each thing at its own time, and sends
 * what is due to be delivered, before it returns. Going back undoes nothing. Refuses with `not_found` where there is no
 * such store.
 */
export function moveClock(
  context: ClockContext,
  storeId: string,
  act: ClockAct,
): Promise<Outcome<ClockState>> {
  return act.action === "show"
    ? move(context, storeId, act)
    : context.clockMutex(storeId, () => move(context, storeId, act));
}

async function move(context: ClockContext, storeId: string, act: ClockAct): Promise<Outcome<ClockState>> {
  const { store, world } = context;
  if (store.clocks.of(storeId) === undefined) return refuse("not_found", `there is no store ${storeId}`);
  const goesOn = act.action === "advance" || act.action === "set";
  const until = world.monotonic() + DRAIN_BUDGET_MS;
  const delivered: Dispatched[] = [];
  const drain = async (): Promise<void> => {
    const budgetMs = until - world.monotonic();
    if (goesOn && budgetMs > 0) delivered.push(...(await context.dispatcher.drain(storeId, budgetMs)));
  };
  await drain();
  // Read when the sending is over: it takes real time.
  const realNow = world.now();
  const before = store.clocks.of(storeId) ?? REAL_CLOCK;
  const after = moved(before, act, realNow);
  const now = storeNow(after, realNow);
  const fired: Move[] = [];
  let reached = storeNow(before, realNow);
  for (let arrived = act.action === "show"; !arrived;) {
    // On the way the clock stops wherever something is sent: what follows from it counts from there.
    const stop = nextStop(context, storeId, reached) ?? now;
    arrived = stop >= now || world.monotonic() >= until;
    const clock = arrived ? after : setTo(before, stop, realNow);
    fired.push(...(await moveTo(context, { storeId, clock }, arrived ? now : stop)));
    await drain();
    reached = stop;
  }
  const undelivered = goesOn ? countDue(context, storeId, now) : 0;
  return accept({ now, frozen: after.frozenAt !== null, fired, delivered, undelivered });
}

/** How many deliveries of a store are due and not sent yet, to endpoints that are on. */
function countDue({ store }: ServiceContext, storeId: string, now: number): number {
  const on = store.endpoints.of(storeId).filter(({ state }) => state === "enabled");
  return on.reduce((sum, { id }) => sum + store.deliveries.countDue(id, now), 0);
}

/** Does what falls due until a moment. The clock moves with the last of it, so that nobody sees the new time before that is done. */
async function moveTo(
  context: ServiceContext,
  { storeId, clock }: { readonly storeId: string; readonly clock: StoreClock },
  until: number,
): Promise<readonly Move[]> {
  const { store } = context;
  const fired: Move[] = [];
  for (let more = true; more;) {
    const step = await store.write(() => {
      const due = settleDue(context, storeId, until);
      if (!due.more) store.clocks.set(storeId, clock);
      return due;
    });
    fired.push(...step.moves);
    more = step.more;
  }
  return fired;
}

/** When something of a store is to be sent, or happens that is, after a moment; undefined where nobody gets anything. */
function nextStop({ store }: ServiceContext, storeId: string, after: number): number | undefined {
  const endpoints = store.endpoints.of(storeId).filter(({ state }) => state === "enabled");
  if (endpoints.length === 0) return undefined;
  const deliveries = endpoints.flatMap(({ id }) => store.deliveries.next(id)?.nextAt ?? []);
  const happens = store.settlements.next(storeId)?.dueAt ?? [];
  const times = [...deliveries, happens].flat().filter((at) => at > after);
  return times.length === 0 ? undefined : Math.min(...times);
}

function moved(clock: StoreClock, act: ClockAct, realNow: number): StoreClock {
  switch (act.action) {
    case "show":
      return clock;
    case "freeze":
      return freeze(clock, realNow);
    case "real":
      return REAL_CLOCK;
    case "advance":
      return setTo(clock, storeNow(clock, realNow) + act.by, realNow);
    case "set":
      return setTo(clock, act.to, realNow);
  }
}
