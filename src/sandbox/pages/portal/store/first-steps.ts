import { DRILL_KINDS } from "../../../../core/readiness/names.ts";
import { POSITION_AFTER_ALL } from "../../../../store/checkout/checkout-lists.ts";
import type { DeliveryState } from "../../../../core/webhook/delivery.ts";
import type { PortalContext } from "../view.ts";

export const FIRST_STEPS = ["ordered", "paid", "delivered", "verified", "checked"] as const;
export type FirstStep = (typeof FIRST_STEPS)[number];

const MAX_DELIVERIES = 20;

export function finishedFirstSteps(
  { store }: Pick<PortalContext, "store">,
  storeId: string,
): Readonly<Record<FirstStep, boolean>> {
  const lists = store.checkoutLists;
  const anyCheckout = { storeId, status: null, object: null, paymentMethod: null, orderId: null };
  const newestPage = { before: POSITION_AFTER_ALL, limit: 1 };
  const listDeliveries = (state: DeliveryState, limit: number) =>
    store.deliveries.list({ storeId, state, limit });
  const hasAnswer = (state: DeliveryState): boolean =>
    listDeliveries(state, MAX_DELIVERIES).some(({ id }) =>
      store.deliveryAttempts.of(id).some(({ status }) => status !== null),
    );
  const hasVerified = listDeliveries("succeeded", 1).length > 0;
  return {
    ordered: lists.newest(anyCheckout, newestPage).length > 0,
    paid: lists.newest({ ...anyCheckout, status: "succeeded" }, newestPage).length > 0,
    delivered: hasVerified || hasAnswer("due") || hasAnswer("failed"),
    verified: hasVerified,
    checked: DRILL_KINDS.some((kind) => store.drills.latest(storeId, kind) !== undefined),
  };
}

export function hasFinishedFirstSteps(context: Pick<PortalContext, "store">, storeId: string): boolean {
  return Object.values(finishedFirstSteps(context, storeId)).every((isDone) => isDone);
}
