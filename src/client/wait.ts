import type { Status } from "../core/checkout.ts";
import { isFinal } from "../core/payment.ts";
import type { CheckoutResponse } from "../core/wire.ts";
import { retrieve, type ClientWorld, type Target } from "./client.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";

/** What a wait is for: any final status, or a certain one. */
export type Goal = "final" | Status;

/** How a wait ended. `unreachable_goal`: the status is final, and another one than was waited for. */
export type WaitResult =
  | { readonly end: "reached" | "unreachable_goal" | "out_of_time"; readonly response: CheckoutResponse }
  | { readonly end: "failed"; readonly exchange: Exclude<Exchange, { end: "success" }> };

/** A wait takes this long at most unless it is told otherwise, in milliseconds. */
export const DEFAULT_WAIT_MS = 60_000;

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 2000;
const PAUSE_GROWTH = 1.5;

/** Asks for a checkout again and again until it is what was waited for, can no longer be, or time is up. */
export async function waitFor(
  world: ClientWorld & { readonly monotonic: () => number },
  target: Target,
  options: ExchangeOptions & { readonly id: string; readonly goal: Goal; readonly waitMs: number },
): Promise<WaitResult> {
  const deadline = world.monotonic() + options.waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * PAUSE_GROWTH)) {
    const exchange = await retrieve(world, target, options);
    if (exchange.end !== "success") return { end: "failed", exchange };
    const { response } = exchange;
    const { status } = response.data;
    if (isReached(options.goal, status)) return { end: "reached", response };
    if (isFinal(status)) return { end: "unreachable_goal", response };
    const leftMs = deadline - world.monotonic();
    if (leftMs <= 0) return { end: "out_of_time", response };
    await world.sleep(Math.min(pauseMs, leftMs), options.signal);
  }
}

function isReached(goal: Goal, status: Status): boolean {
  return goal === "final" ? isFinal(status) : goal === status;
}
