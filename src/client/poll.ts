import type { World } from "../world.ts";

/** How often something is looked at, and for how long. Times in milliseconds. */
type PollOptions<Seen> = {
  readonly isEnough: (seen: Seen) => boolean;
  /** Timeout of all looks together; what was seen last is the result then. */
  readonly waitMs: number;
  readonly firstPauseMs: number;
  /** Each pause is 1.5 times the one before, up to this. Default: all are the same. */
  readonly maxPauseMs?: number;
  readonly signal: AbortSignal;
};

const PAUSE_GROWTH = 1.5;

/** Looks at least once, and until it has seen enough or time is up; an abort ends a pause. Returns what it saw last. */
export async function poll<Seen>(
  world: Pick<World, "sleep" | "monotonic">,
  look: () => Promise<Seen>,
  options: PollOptions<Seen>,
): Promise<Seen> {
  const { firstPauseMs, maxPauseMs = firstPauseMs, signal } = options;
  const until = world.monotonic() + options.waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * PAUSE_GROWTH)) {
    const seen = await look();
    const leftMs = until - world.monotonic();
    if (options.isEnough(seen) || leftMs <= 0) return seen;
    await world.sleep(Math.min(leftMs, pauseMs), signal);
  }
}
