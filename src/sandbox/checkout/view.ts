import type { Checkout } from "../../core/checkout/checkout.ts";
import { storeNow } from "../../core/clock.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import type { Attempt } from "../../core/checkout/payment.ts";
import type { LateResult } from "../../store/checkout/attempts.ts";
import type { StoreNames } from "../../store/stores.ts";
import { currentCheckout, waitsToSettle } from "./payments.ts";
import type { ServiceContext } from "../context.ts";

/** Everything that there is to see of a checkout, at one moment of its store's clock. */
export type CheckoutView = {
  readonly checkout: Checkout;
  readonly attempts: readonly Attempt[];
  readonly lateResults: readonly LateResult[];
  readonly names: StoreNames;
  /** Where its customers may be sent back to (decision 19); null where the store has registered nothing. */
  readonly returnOrigin: string | null;
  /** Milliseconds by the store's clock. */
  readonly now: number;
  readonly clockStands: boolean;
  /** Whether it will settle itself (decision 37). */
  readonly settlesItself: boolean;
};

/**
 * Looks at a checkout of any store: whoever knows its address may see it. What time has brought it is done first; nothing
 * else changes. Refuses with `session_not_found`.
 */
export async function viewCheckout(
  context: ServiceContext,
  checkoutId: string,
): Promise<Outcome<CheckoutView>> {
  const { store, world } = context;
  const found = store.checkouts.findAny(checkoutId);
  const clock = found && store.clocks.of(found.storeId);
  const names = found && store.stores.names(found.storeId);
  if (found === undefined || clock === undefined || names === undefined) {
    return refuse("session_not_found", `there is no checkout session or order ${checkoutId}`);
  }
  const now = storeNow(clock, world.now());
  const checkout = await currentCheckout(context, found, now);
  const [returnOrigin = null] = store.returnOrigins.list(found.storeId);
  return accept({
    checkout,
    attempts: store.attempts.of(checkoutId),
    lateResults: store.attempts.lateResults(checkoutId),
    names,
    returnOrigin,
    now,
    clockStands: clock.frozenAt !== null,
    settlesItself: waitsToSettle(context, checkout) !== undefined,
  });
}
