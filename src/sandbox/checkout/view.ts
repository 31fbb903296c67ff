import type { Checkout } from "../../core/checkout/checkout.ts";
import type { ReturnOrigin } from "../../core/checkout/return-origin.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { StoreNames } from "../../store/stores.ts";
import { currentCheckout, scheduledSettlement } from "./payments.ts";
import { findCheckout, refuseUnknownStore, storeTime, type CheckoutRef } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import type { Attempt, LateResult } from "../../core/checkout/shapes.ts";

export type CheckoutView = {
  readonly checkout: Checkout;
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly LateResult[];
  readonly names: StoreNames;
  /** The first registered address to which customers may be redirected (decision 19), or null. */
  readonly returnOrigin: ReturnOrigin | null;
  readonly now: number;
  readonly isClockFrozen: boolean;
  readonly isAutomatic: boolean;
};

/** Applies a due settlement or expiry first. */
export async function viewCheckout(
  context: ServiceContext,
  ref: CheckoutRef,
): Promise<Outcome<CheckoutView>> {
  const { store } = context;
  const foundCheckout = findCheckout(store, ref);
  if (!foundCheckout.ok) return foundCheckout;
  const { id: checkoutId, storeId } = foundCheckout.value;
  const clock = store.clocks.of(storeId);
  const names = store.stores.names(storeId);
  if (clock === undefined || names === undefined) return refuseUnknownStore(storeId);
  const now = storeTime(context, storeId);
  const checkout = await currentCheckout(context, foundCheckout.value, now);
  const [returnOrigin = null] = store.returnOrigins.list(storeId);
  return accept({
    checkout,
    attempts: store.attempts.of(checkoutId),
    lateResults: store.attempts.lateResults(checkoutId),
    names,
    returnOrigin,
    now,
    isClockFrozen: clock.frozenAt !== null,
    isAutomatic: scheduledSettlement(context, checkout) !== undefined,
  });
}
