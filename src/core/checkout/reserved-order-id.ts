import type { Checkout } from "./checkout.ts";

export const PAY_OUTCOMES = ["succeeded", "declined", "failed", "cancelled", "expired"] as const;
export type PayOutcome = (typeof PAY_OUTCOMES)[number];

/** Outcomes that `sandbox pay` can request; `pending` starts an attempt and leaves it open (decision 38). */
export const SIMULATED_OUTCOMES = [...PAY_OUTCOMES, "pending"] as const;
export type SimulatedOutcome = (typeof SIMULATED_OUTCOMES)[number];

/** By the store's clock. */
const SETTLE_DELAY_MS = 1000;

export function settlementOf(
  checkout: Pick<Checkout, "orderId" | "createdAt">,
): { readonly outcome: PayOutcome; readonly dueAt: number } | undefined {
  const outcome = outcomeOfOrderId(checkout.orderId);
  return outcome && { outcome, dueAt: checkout.createdAt + SETTLE_DELAY_MS };
}

export function outcomeOfOrderId(orderId: string): PayOutcome | undefined {
  return PAY_OUTCOMES.find((outcome) => orderId.endsWith(`~${outcome}`));
}
