import { realTimeOf, storeNow } from "../core/clock.ts";
import type { World } from "../world.ts";
import { settleDue } from "./payments.ts";
import type { ServiceContext } from "./service.ts";

/** Does what falls due without anybody asking. Reads do not rely on it: they look at the time themselves. */
export type Timekeeper = {
  /** Something falls due at this real time. */
  readonly expect: (realTime: number) => void;
  /** Does what is due now, and waits for what comes next: at the start, and after a clock was moved. */
  readonly wake: () => Promise<void>;
  readonly stop: () => void;
};

/** Timers run on while a laptop sleeps and clocks are set; looking again this often keeps the delay short. */
const MAX_WAIT_MS = 60_000;

/** After a failure, such as a locked database, it looks again so soon. */
const RETRY_MS = 1000;

/** Keeps at most one useful timer; none while nothing is open. */
export function createTimekeeper(
  world: Pick<World, "now" | "after">,
  options: { readonly context: () => ServiceContext; readonly report: (error: unknown) => void },
): Timekeeper {
  let armedFor = Number.POSITIVE_INFINITY;
  let stopped = false;

  const expect = (realTime: number): void => {
    const at = Math.min(realTime, world.now() + MAX_WAIT_MS);
    if (at >= armedFor || stopped) return;
    armedFor = at;
    world.after(Math.max(0, at - world.now()), () => {
      // A timer that a nearer one overtook has nothing to say.
      if (armedFor !== at || stopped) return;
      armedFor = Number.POSITIVE_INFINITY;
      wake().catch((error: unknown) => {
        options.report(error);
        expect(world.now() + RETRY_MS);
      });
    });
  };

  const wake = async (): Promise<void> => {
    const { store } = options.context();
    const next = await store.write(() =>
      store.clocks.storeIds().map((storeId) => catchUp(options.context(), storeId, world.now())),
    );
    for (const realTime of next) if (realTime !== undefined) expect(realTime);
  };

  return { expect, wake, stop: () => void (stopped = true) };
}

/** Does what is due in a store; returns the real time of what comes next, where the store's clock runs. */
function catchUp(context: ServiceContext, storeId: string, realNow: number): number | undefined {
  const clock = context.store.clocks.of(storeId);
  if (clock === undefined) return undefined;
  const { more } = settleDue(context, storeId, storeNow(clock, realNow));
  if (more) return realNow;
  const next = context.store.settlements.next(storeId);
  return next && realTimeOf(clock, next.dueAt);
}
