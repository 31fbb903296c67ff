import type { World } from "../../world.ts";
import type { StoreGate } from "./store-gate.ts";

type WriteNotice = {
  readonly checkoutId: string | null;
};

export type WriteSignals<Notice = WriteNotice> = ReturnType<typeof createWriteSignals<Notice>>;

export function createWriteSignals<Notice = WriteNotice>({ sleep }: Pick<World, "sleep">) {
  type Listener = (notice: Notice | undefined) => void;
  const followers = new Map<string, Set<Listener>>();
  let hasEnded = false;
  const follow = (storeId: string, listener: Listener): (() => void) => {
    const listeners = followers.get(storeId) ?? new Set();
    followers.set(storeId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && followers.get(storeId) === listeners) followers.delete(storeId);
    };
  };
  return {
    /** Called when the sandbox stops: wakes waiting requests for the last time. */
    end: (): void => {
      hasEnded = true;
      for (const listeners of followers.values()) for (const listener of listeners) listener(undefined);
    },
    isOver: (): boolean => hasEnded,
    notify: (storeId: string, notice?: Notice): void =>
      followers.get(storeId)?.forEach((listener) => listener(notice)),
    next: async (storeId: string, waitMs: number): Promise<void> => {
      const controller = new AbortController();
      const unfollow = follow(storeId, () => controller.abort());
      await sleep(waitMs, controller.signal);
      unfollow();
    },
    follow,
  };
}

type WaitContext = {
  readonly world: Pick<World, "monotonic">;
  readonly storeGate: Pick<StoreGate, "isClosed">;
  readonly writeSignals: Pick<WriteSignals, "next" | "isOver">;
};

type WaitOptions<Result> = {
  readonly read: () => Result;
  readonly isEnough: (result: Result) => boolean;
  /** Signals after which another read may find more. Default: writes to the store. */
  readonly signals?: WaitContext["writeSignals"];
  readonly maxPauseMs?: number;
};

export async function pollUntil<Result>(
  { world, storeGate, writeSignals }: WaitContext,
  { storeId, waitMs = 0 }: { readonly storeId: string; readonly waitMs: number | undefined },
  { read, isEnough, signals = writeSignals, maxPauseMs = Infinity }: WaitOptions<Result>,
): Promise<Result> {
  const deadline = world.monotonic() + waitMs;
  for (;;) {
    const result = read();
    const remainingMs = deadline - world.monotonic();
    const isOver = remainingMs <= 0 || storeGate.isClosed(storeId) || signals.isOver();
    if (isOver || isEnough(result)) return result;
    await signals.next(storeId, Math.min(remainingMs, maxPauseMs));
  }
}
