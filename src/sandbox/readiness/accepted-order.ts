import type { Checkout } from "../../core/checkout/checkout.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Store } from "../../store/store.ts";

/** A checkout of which an endpoint has accepted an event, so its receiver knows it, and that event. */
export type AcceptedOrder = { readonly checkout: Checkout; readonly event: StoredEvent };

/** How many accepted deliveries are searched for one of an order: after it there may be tests. */
const SEARCHED_DELIVERIES = 1000;

/** The newest event of a checkout that an endpoint has accepted; null if there is none among its last deliveries. */
export function acceptedOrder(
  { deliveries, events, checkouts }: Pick<Store, "deliveries" | "events" | "checkouts">,
  { id: endpointId, storeId }: Pick<Endpoint, "id" | "storeId">,
): AcceptedOrder | null {
  const accepted = deliveries.list({
    storeId,
    endpointId,
    eventId: null,
    checkoutId: null,
    state: "succeeded",
    limit: SEARCHED_DELIVERIES,
  });
  const newest = accepted.find(({ checkoutId }) => checkoutId !== null);
  const event = events.find(newest?.eventId ?? "");
  const checkout = checkouts.find(storeId, newest?.checkoutId ?? "");
  return event === undefined || checkout === undefined ? null : { event, checkout };
}
