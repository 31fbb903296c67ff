import type { Checkout } from "../../core/checkout/checkout.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Store } from "../../store/store.ts";

/** A checkout and an event of it that an endpoint has accepted, so that the endpoint's receiver knows the checkout. */
export type AcceptedOrder = { readonly checkout: Checkout; readonly event: StoredEvent };

/** How many of the last accepted deliveries are searched for an order's event: the newest may all be tests. */
const SEARCHED_DELIVERIES = 1000;

/** The newest accepted event of a checkout; null if none is among the last deliveries of the endpoint. */
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
