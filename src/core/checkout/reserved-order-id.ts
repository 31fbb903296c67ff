import type { Checkout } from "./checkout.ts";

/** Outcomes that a reserved order_id can request (decision 37). */
export const PAY_OUTCOMES = ["succeeded", "declined", "failed", "cancelled", "expired"] as const;
export type PayOutcome = (typeof PAY_OUTCOMES)[number];

/** Outcomes that `sandbox pay` can request; `pending` starts an attempt that does not end (decision 38). */
export const SIMULATED_OUTCOMES = [...PAY_OUTCOMES, "pending"] as const;
export type SimulatedOutcome = (typeof SIMULATED_OUTCOMES)[number];

/** The delay before a checkout with a reserved order_id settles automatically, in milliseconds by the store's clock. */
const SETTLE_DELAY_MS = 1000;

/** The outcome and time of an automatic settlement; undefined for checkouts that wait for a payer. */
export function settlementOf(
  checkout: Pick<Checkout, "orderId" | "createdAt">,
): { readonly outcome: PayOutcome; readonly dueAt: number } | undefined {
  const outcome = outcomeOfOrderId(checkout.orderId);
  return outcome && { outcome, dueAt: checkout.createdAt + SETTLE_DELAY_MS };
}

/** The outcome that the suffix of an order_id requests: `order-1001~succeeded`. Undefined for other order_ids. */
export function outcomeOfOrderId(orderId: string): PayOutcome | undefined {
  return PAY_OUTCOMES.find((outcome) => orderId.endsWith(`~${outcome}`));
}
