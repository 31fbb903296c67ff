import type { World } from "../world.ts";

/** The interval and the duration of polling, in milliseconds. */
type PollOptions<Seen> = {
  readonly isEnough: (seen: Seen) => boolean;
  /** Timeout of the whole poll, in milliseconds; it then returns the last result. */
  readonly waitMs: number;
  readonly firstPauseMs: number;
  /** Each pause is 1.5 times the previous one, up to this maximum. Default: all pauses are equal. */
  readonly maxPauseMs?: number;
  readonly signal: AbortSignal;
};

const PAUSE_GROWTH = 1.5;

/**
 * Polls at least once, until the result is sufficient or the timeout expires; an abort ends a pause. Returns the last
 * result.
 */
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
