import type { World } from "../world.ts";

type PollOptions<Result> = {
  readonly isEnough: (result: Result) => boolean;
  readonly waitMs: number;
  readonly firstPauseMs: number;
  readonly maxPauseMs?: number;
  readonly signal: AbortSignal;
};

const PAUSE_GROWTH = 1.5;

export async function poll<Result>(
  world: Pick<World, "sleep" | "monotonic">,
  read: () => Promise<Result>,
  options: PollOptions<Result>,
): Promise<Result> {
  const { firstPauseMs, maxPauseMs = firstPauseMs, signal } = options;
  const deadline = world.monotonic() + options.waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * PAUSE_GROWTH)) {
    const result = await read();
    const remainingMs = deadline - world.monotonic();
    if (options.isEnough(result) || remainingMs <= 0 || signal.aborted) return result;
    await world.sleep(Math.min(remainingMs, pauseMs), signal);
  }
}
