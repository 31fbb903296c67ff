import type { Status } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import type { CheckoutResponse } from "../../core/checkout/wire-shapes.ts";
import type { World } from "../../world.ts";
import { poll } from "../poll.ts";
import { sendRetrieve, type ClientWorld, type ServiceTarget } from "./client.ts";
import type { Exchange, ExchangeOptions } from "./exchange.ts";

export type WaitGoal = "final" | Status;

/** `unreachable_goal`: the checkout has another final status, so it can no longer reach the goal. */
export type WaitResult =
  | { readonly end: "reached" | "unreachable_goal"; readonly response: CheckoutResponse }
  | { readonly end: "out_of_time"; readonly response: CheckoutResponse | undefined }
  | { readonly end: "failed"; readonly exchange: Exclude<Exchange, { end: "success" }> };

export const WAIT_TIMEOUT_MS = 60_000;

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 2000;

export async function waitForGoal(
  world: ClientWorld & Pick<World, "after" | "monotonic">,
  target: ServiceTarget,
  options: ExchangeOptions & { readonly id: string; readonly goal: WaitGoal; readonly waitMs: number },
): Promise<WaitResult> {
  const deadlineController = new AbortController();
  world.after(options.waitMs, () => deadlineController.abort());
  const signals = [deadlineController.signal, options.signal].filter((signal) => signal !== undefined);
  const signal = AbortSignal.any(signals);
  let response: CheckoutResponse | undefined;
  const look = async (): Promise<Exchange> => {
    const exchange = await sendRetrieve(world, target, { ...options, signal });
    if (exchange.end === "success") response = exchange.response;
    return exchange;
  };
  const exchange = await poll(world, look, {
    isEnough: (lookResult) => {
      if (lookResult.end !== "success") return true;
      const { status } = lookResult.response.data;
      return isReached(options.goal, status) || isFinal(status);
    },
    waitMs: options.waitMs,
    firstPauseMs: FIRST_PAUSE_MS,
    maxPauseMs: MAX_PAUSE_MS,
    signal,
  });
  if (exchange.end !== "success") {
    const isTimeout = exchange.end === "interrupted" && deadlineController.signal.aborted;
    return isTimeout ? { end: "out_of_time", response } : { end: "failed", exchange };
  }
  const { status } = exchange.response.data;
  if (isReached(options.goal, status)) return { end: "reached", response: exchange.response };
  return { end: isFinal(status) ? "unreachable_goal" : "out_of_time", response: exchange.response };
}

function isReached(goal: WaitGoal, status: Status): boolean {
  return goal === "final" ? isFinal(status) : goal === status;
}
