import type { Status } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import type { CheckoutResponse } from "../../core/checkout/wire.ts";
import type { World } from "../../world.ts";
import { retrieve, type ClientWorld, type Target } from "./client.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";

/** What a wait is for: any final status, or a certain one. */
export type Goal = "final" | Status;

/** How a wait ended. `unreachable_goal`: the status is final and not the expected one. */
export type WaitResult =
  | { readonly end: "reached" | "unreachable_goal"; readonly response: CheckoutResponse }
  /** `response` is the last answer; undefined if there was none. */
  | { readonly end: "out_of_time"; readonly response: CheckoutResponse | undefined }
  | { readonly end: "failed"; readonly exchange: Exclude<Exchange, { end: "success" }> };

/** Default timeout of a wait, in milliseconds. */
export const DEFAULT_WAIT_MS = 60_000;

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 2000;
const PAUSE_GROWTH = 1.5;

/** Polls a checkout until it has the expected status, can no longer get it, or time is up. */
export async function waitFor(
  world: ClientWorld & Pick<World, "after">,
  target: Target,
  options: ExchangeOptions & { readonly id: string; readonly goal: Goal; readonly waitMs: number },
): Promise<WaitResult> {
  const deadline = new AbortController();
  world.after(options.waitMs, () => deadline.abort());
  const signals = options.signal === undefined ? [deadline.signal] : [deadline.signal, options.signal];
  const signal = AbortSignal.any(signals);
  let response: CheckoutResponse | undefined;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * PAUSE_GROWTH)) {
    const exchange = await retrieve(world, target, { ...options, signal });
    if (exchange.end !== "success") {
      const outOfTime = exchange.end === "interrupted" && deadline.signal.aborted;
      return outOfTime ? { end: "out_of_time", response } : { end: "failed", exchange };
    }
    response = exchange.response;
    const { status } = response.data;
    if (isReached(options.goal, status)) return { end: "reached", response };
    if (isFinal(status)) return { end: "unreachable_goal", response };
    await world.sleep(pauseMs, signal);
  }
}

function isReached(goal: Goal, status: Status): boolean {
  return goal === "final" ? isFinal(status) : goal === status;
}
