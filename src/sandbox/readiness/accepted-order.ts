import type { Checkout } from "../../core/checkout/checkout.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Store } from "../../store/store.ts";

/**
 * A checkout and one of its events that an endpoint has accepted, so that the endpoint's receiver knows the checkout.
 */
export type AcceptedOrder = {
  readonly checkout: Checkout;
  readonly event: StoredEvent;
  /** The newest accepted event of each other type, of this checkout and of the newest checkout of the other kind. */
  readonly others: readonly StoredEvent[];
};

/** Number of last accepted deliveries that are searched for an order's event: the newest may all be tests. */
const SEARCHED_DELIVERIES = 1000;

/** The newest checkout with an event that the endpoint accepted; null if its last deliveries contain none. */
export function findAcceptedOrder(
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
  const ids = [...new Set(accepted.map(({ checkoutId }) => checkoutId ?? ""))];
  const known = ids.flatMap((id) => checkouts.find(storeId, id) ?? []);
  const [checkout] = known;
  const other = known.find(({ object }) => object !== checkout?.object);
  const shown = accepted
    .filter(({ checkoutId }) => checkoutId !== null && [checkout?.id, other?.id].includes(checkoutId))
    .flatMap(({ eventId }) => events.find(eventId) ?? []);
  const byType = new Map(shown.toReversed().map((one) => [one.type, one]));
  const event = shown.find(({ checkoutId }) => checkoutId === checkout?.id);
  if (checkout === undefined || event === undefined) return null;
  return { checkout, event, others: [...byType.values()].filter(({ type }) => type !== event.type) };
}
