import type { World } from "../../world.ts";

/** A timer that does something when it is due, and looks again where that failed. */
export type Alarm = {
  /** Something falls due at this real time. */
  readonly expect: (realTime: number) => void;
  readonly stop: () => void;
};

/** Timers run on while a laptop sleeps and clocks are set; looking again this often keeps the delay short. */
const MAX_WAIT_MS = 60_000;

/** After a failure, such as a locked database, it looks again so soon. */
const RETRY_MS = 1000;

/** Keeps at most one useful timer; none while nothing is expected. */
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
      // A timer that a nearer one overtook has nothing to say.
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
