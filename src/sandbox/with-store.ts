import { STORES_HINT } from "../core/control/protocol.ts";
import type { Checkout } from "../core/checkout/checkout.ts";
import { storeNow } from "../core/clock.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { refuseFact } from "../core/refusals.ts";
import type { Endpoint } from "../core/webhook/endpoint.ts";
import type { Store } from "../store/store.ts";
import type { ServiceContext } from "./context.ts";

type StoreContext = Pick<ServiceContext, "store"> & { readonly world: Pick<ServiceContext["world"], "now"> };

export type CheckoutRef = { readonly storeId: string | null; readonly checkoutId: string };
export type EndpointRef = { readonly storeId: string; readonly endpointId: string };

/**
 * Runs `work` in one transaction with one `now`, the store's time. A store that is being erased is refused as unknown.
 */
export function withStore<Value>(
  context: StoreContext,
  storeId: string,
  work: (store: Store, now: number) => Outcome<Value>,
): Promise<Outcome<Value>> {
  const { store } = context;
  return store.write(() => {
    const now = storeTimeOf(context, storeId);
    return now === undefined ? refuseUnknownStore(storeId) : work(store, now);
  });
}

export function withEndpoint<Value>(
  context: StoreContext,
  { storeId, endpointId }: EndpointRef,
  work: (endpoint: Endpoint, now: number) => Outcome<Value>,
): Promise<Outcome<Value>> {
  return withStore(context, storeId, (store, now) => {
    const endpoint = findEndpoint(store, { storeId, endpointId });
    return endpoint.ok ? work(endpoint.value, now) : endpoint;
  });
}

export function withCheckout<Value>(
  context: StoreContext,
  ref: CheckoutRef,
  work: (checkout: Checkout, now: number) => Outcome<Value>,
): Promise<Outcome<Value>> {
  return context.store.write(() => {
    const checkout = findCheckout(context.store, ref);
    if (!checkout.ok) return checkout;
    const now = storeTimeOf(context, checkout.value.storeId);
    return now === undefined ? refuseUnknownStore(checkout.value.storeId) : work(checkout.value, now);
  });
}

export function findEndpoint(
  store: Pick<Store, "endpoints">,
  { storeId, endpointId }: EndpointRef,
): Outcome<Endpoint> {
  const endpoint = store.endpoints.find(endpointId);
  return endpoint === undefined || endpoint.storeId !== storeId
    ? refuseFact("no_endpoint", { endpoint: endpointId })
    : accept(endpoint);
}

export function findCheckout(
  store: Pick<Store, "checkouts">,
  { storeId, checkoutId }: CheckoutRef,
): Outcome<Checkout> {
  const checkout =
    storeId === null ? store.checkouts.findInAnyStore(checkoutId) : store.checkouts.find(storeId, checkoutId);
  return checkout === undefined ? refuseFact("no_checkout", { checkout: checkoutId }) : accept(checkout);
}

export function refuseUnknownStore(storeId: string): Outcome<never> {
  return refuseFact("no_store", { store: storeId }, { next: STORES_HINT });
}

export function refuseWithoutStore(): Outcome<never> {
  return refuseFact("no_store_yet", {}, { next: STORES_HINT });
}

/** In milliseconds. Real time if the store does not exist or is being erased. */
export function storeTime(context: StoreContext, storeId: string): number {
  return storeTimeOf(context, storeId) ?? context.world.now();
}

function storeTimeOf({ store, world }: StoreContext, storeId: string): number | undefined {
  const clock = store.clocks.of(storeId);
  return clock && storeNow(clock, world.now());
}
