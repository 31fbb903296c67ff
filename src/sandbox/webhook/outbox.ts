import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { matchesEventPatterns } from "../../core/checkout/event-types.ts";
import type { StoredEvent } from "../../store/checkout/events.ts";
import type { ServiceContext } from "../context.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";

/** Call inside a write. Disabled endpoints get no delivery; deliveries to paused endpoints wait. */
export function emitEvent(context: ServiceContext, event: Omit<StoredEvent, "position">): void {
  const { store } = context;
  store.events.insert(event);
  context.writeSignals.notify(event.storeId, event);
  const endpoints = store.endpoints
    .of(event.storeId)
    .filter(({ state, eventTypes }) => state !== "disabled" && matchesEventPatterns(eventTypes, event.type));
  for (const endpoint of endpoints)
    enqueueDelivery(context, { event, endpoint, cause: "event" }, event.createdAt);
}

export function enqueueDelivery(
  { store, world, wakeDispatcher }: ServiceContext,
  outboxInput: {
    readonly event: Omit<StoredEvent, "position">;
    readonly endpoint: Pick<Endpoint, "id">;
    readonly cause: DeliveryEntry["cause"];
    readonly dueAt?: number;
  },
  now: number,
): string {
  const { event, endpoint, cause, dueAt = now } = outboxInput;
  // A duplicate is created at an unpredictable time, when its delivery is sent. Its id comes from a separate sequence,
  // so that all other ids of a seed stay the same.
  const id = world.uuid(cause === "duplicate" ? `${event.id} ${endpoint.id}` : event.storeId);
  store.deliveries.insert({
    id,
    storeId: event.storeId,
    endpointId: endpoint.id,
    eventId: event.id,
    checkoutId: event.checkoutId,
    sequence: event.sequence,
    cause,
    inOrder: cause === "event",
    nextAt: dueAt,
    createdAt: now,
  });
  wakeDispatcher(endpoint.id);
  return id;
}
