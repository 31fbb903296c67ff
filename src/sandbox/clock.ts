import { freeze, REAL_CLOCK, setTo, storeNow, type StoreClock } from "../core/clock.ts";
import { accept, refuse, type Outcome } from "../core/outcome.ts";
import { settleDue, type Move } from "./payments.ts";
import type { ServiceContext } from "./service.ts";

/** What can be done to a store's clock (decision 18). Times and spans in milliseconds. */
export type ClockAct =
  | { readonly action: "show" | "freeze" | "real" }
  | { readonly action: "advance"; readonly by: number }
  | { readonly action: "set"; readonly to: number };

/** Where a clock stands, and what fired on the way, in its order. */
export type ClockState = { readonly now: number; readonly frozen: boolean; readonly fired: readonly Move[] };

/**
 * Moves a store's clock. Going forward does everything that falls due on the way, each thing at its own time, before it
 * returns. Going back undoes nothing. Refuses with `not_found` where there is no such store.
 */
export async function moveClock(
  context: ServiceContext,
  storeId: string,
  act: ClockAct,
): Promise<Outcome<ClockState>> {
  const { store, world } = context;
  const before = store.clocks.of(storeId);
  if (before === undefined) return refuse("not_found", `there is no store ${storeId}`);
  const realNow = world.now();
  const after = moved(before, act, realNow);
  const now = storeNow(after, realNow);
  const fired: Move[] = [];
  for (let more = true; more;) {
    // The clock moves with the last of what falls due, so that nobody sees the new time before that is done.
    const step = await store.write(() => {
      const due = settleDue(context, storeId, now);
      if (!due.more) store.clocks.set(storeId, after);
      return due;
    });
    fired.push(...step.moves);
    more = step.more;
  }
  return accept({ now, frozen: after.frozenAt !== null, fired });
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
