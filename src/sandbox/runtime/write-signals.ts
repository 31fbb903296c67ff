import type { World } from "../../world.ts";
import type { StoreGate } from "./store-gate.ts";

/** A write in a store: an event, the end of a delivery attempt, or another change. */
type WriteNotice = {
  /** The id of the checkout or other object; null if the write is about the store. */
  readonly checkoutId: string | null;
};

/** Signals of writes, by store. Requests wait for them, and open pages follow them. */
export type WriteSignals<Notice = WriteNotice> = ReturnType<typeof createWriteSignals<Notice>>;

export function createWriteSignals<Notice = WriteNotice>({ sleep }: Pick<World, "sleep">) {
  type Listener = (notice: Notice | undefined) => void;
  const followers = new Map<string, Set<Listener>>();
  let hasEnded = false;
  /** Calls back with each write of a store, until the returned function is called. */
  const follow = (storeId: string, listener: Listener): (() => void) => {
    const listeners = followers.get(storeId) ?? new Set();
    followers.set(storeId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && followers.get(storeId) === listeners) followers.delete(storeId);
    };
  };
  return {
    /** Wakes all waiting requests for the last time, because the sandbox stops. */
    end: (): void => {
      hasEnded = true;
      for (const listeners of followers.values()) for (const listener of listeners) listener(undefined);
    },
    isOver: (): boolean => hasEnded,
    /** May be called inside the write, because readers read after it. Without `notice`, the store is being erased. */
    notify: (storeId: string, notice?: Notice): void =>
      followers.get(storeId)?.forEach((listener) => listener(notice)),
    /** Resolves at the next write of a store, or after `waitMs`. */
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
  /** Whether a result ends the wait before the timeout. */
  readonly isEnough: (result: Result) => boolean;
  /** The signals after which another read may find more. Default: the writes of the store. */
  readonly signals?: WaitContext["writeSignals"];
  /** Maximum pause between two reads, in milliseconds. Default: until the next signal. */
  readonly maxPauseMs?: number;
};

/** Reads until a result is enough, the time is up, the store is being erased or the sandbox stops. Returns the last. */
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
