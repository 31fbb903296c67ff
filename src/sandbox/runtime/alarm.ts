import type { World } from "../../world.ts";

/** Limits how late the alarm rings after the machine slept or its clock was set. */
const MAX_WAIT_MS = 60_000;

const RETRY_DELAY_MS = 1000;

export function createAlarm(
  world: Pick<World, "now" | "after">,
  options: {
    readonly ring: (keys: readonly string[]) => Promise<void>;
    readonly report: (error: unknown) => void;
  },
) {
  const dueTimes = new Map<string, number>();
  let nextRingAt = Number.POSITIVE_INFINITY;
  let isStopped = false;

  const expect = (key: string, realTime: number): void => {
    dueTimes.set(key, Math.min(realTime, dueTimes.get(key) ?? realTime));
    arm(realTime);
  };

  const arm = (realTime: number): void => {
    const at = Math.min(realTime, world.now() + MAX_WAIT_MS);
    if (at >= nextRingAt || isStopped) return;
    nextRingAt = at;
    world.after(Math.max(0, at - world.now()), () => {
      if (nextRingAt === at && !isStopped) ring();
    });
  };

  const ring = (): void => {
    nextRingAt = Number.POSITIVE_INFINITY;
    const now = world.now();
    const keys = [...dueTimes].filter(([, at]) => at <= now).map(([key]) => key);
    for (const key of keys) dueTimes.delete(key);
    if (dueTimes.size > 0) arm([...dueTimes.values()].reduce((earliest, at) => Math.min(earliest, at)));
    if (keys.length === 0) return;
    options.ring(keys).catch((error: unknown) => {
      options.report(error);
      for (const key of keys) expect(key, world.now() + RETRY_DELAY_MS);
    });
  };

  return { expect, stop: (): void => void (isStopped = true) };
}
