import type { World } from "../../world.ts";

/** A timer that runs work when it is due, and tries again after a failure. */
export type Alarm = {
  /** Sets the timer to this real time, if it is earlier. */
  readonly expect: (realTime: number) => void;
  readonly stop: () => void;
};

/** Timers are wrong after a laptop slept or a clock was set; checking this often keeps the delay short. */
const MAX_WAIT_MS = 60_000;

/** Delay before the next try after a failure, such as a locked database. */
const RETRY_MS = 1000;

/** Keeps at most one timer; none while nothing is expected. */
export function createAlarm(
  world: Pick<World, "now" | "after">,
  options: { readonly ring: () => Promise<void>; readonly report: (error: unknown) => void },
): Alarm {
  let armedFor = Number.POSITIVE_INFINITY;
  let stopped = false;

  const expect = (realTime: number): void => {
    const at = Math.min(realTime, world.now() + MAX_WAIT_MS);
    if (at >= armedFor || stopped) return;
    armedFor = at;
    world.after(Math.max(0, at - world.now()), () => {
      // A timer for an earlier time has replaced this one.
      if (armedFor !== at || stopped) return;
      armedFor = Number.POSITIVE_INFINITY;
      options.ring().catch((error: unknown) => {
        options.report(error);
        expect(world.now() + RETRY_MS);
      });
    });
  };

  return { expect, stop: () => void (stopped = true) };
}
