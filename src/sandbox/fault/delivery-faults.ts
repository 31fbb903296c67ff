import { isHoldingAction } from "../../core/fault/actions.ts";
import { matchesWildcard, isDeliveryFault, type DeliveryFault, type Fault } from "../../core/fault/fault.ts";
import { matchesEventPatterns } from "../../core/checkout/event-types.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { Delivery } from "../../store/webhook/deliveries.ts";
import type { ServiceContext } from "../context.ts";
import { takeFault } from "./active.ts";

export function takeDeliveryFault(
  context: Pick<ServiceContext, "store">,
  { delivery, event }: { readonly delivery: Delivery; readonly event: StoredEvent },
  now: number,
): DeliveryFault | undefined {
  const { store } = context;
  const { storeId } = delivery;
  // A duplicate was created by a fault, and must not be duplicated again.
  if (delivery.cause === "duplicate" || !store.faults.of(storeId).some(isDeliveryFault)) return undefined;
  const matches = (fault: Fault): fault is DeliveryFault =>
    isDeliveryFault(fault) &&
    (fault.match.endpointId ?? delivery.endpointId) === delivery.endpointId &&
    (fault.match.eventId ?? event.id) === event.id &&
    (fault.match.eventType === null || matchesEventPatterns([fault.match.eventType], event.type)) &&
    (fault.match.orderId === null || matchesWildcard(fault.match.orderId, orderIdOf(context, delivery))) &&
    // A delivery is delayed only once: otherwise it might never be sent.
    !(isHoldingAction(fault.action) && delivery.fault !== null);
  return takeFault(context, storeId, { now, matches });
}

function orderIdOf({ store }: Pick<ServiceContext, "store">, { storeId, checkoutId }: Delivery): string {
  return checkoutId === null ? "" : (store.checkouts.find(storeId, checkoutId)?.orderId ?? "");
}
