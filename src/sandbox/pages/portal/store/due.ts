import type { DueItem } from "../../../../store/checkout/settlements.ts";
import type { PortalContext } from "../view.ts";

/** An item that becomes due when the store's clock reaches its time. */
export type PendingItem = {
  /** Milliseconds by the store's clock. */
  readonly at: number;
  readonly kind: "delivery" | "expiry" | "settlement";
  /** The subject: an event type and an address, or an order_id. */
  readonly subject: string;
  /** The outcome of an automatic settlement; empty for other items. */
  readonly outcome: string;
  /** The path of the subject's page, below the path of the store. */
  readonly path: string;
};

/** The items that are due by a time, soonest first. `hasMore`: whether there may be further items. */
export type PendingItems = { readonly items: readonly PendingItem[]; readonly hasMore: boolean };

/** Maximum number of items in the list, and read for the checkouts and for each endpoint. */
export const MAX_PENDING_ITEMS = 100;
/** Maximum number of enabled endpoints whose deliveries are read. */
const MAX_ENDPOINTS = 20;

/** The items of a store that are due by a time on its clock: at most `MAX_PENDING_ITEMS`. */
export function dueItemsUntil({ store }: PortalContext, storeId: string, until: number): PendingItems {
  const limit = MAX_PENDING_ITEMS;
  const checkouts = store.settlements.dueBy(storeId, until, limit);
  const endpoints = store.endpoints.of(storeId).filter(({ state }) => state === "enabled");
  const deliveries = endpoints.slice(0, MAX_ENDPOINTS).flatMap(({ id, url, kind }) =>
    store.deliveries.dueUntil(id, until, limit).map((delivery): PendingItem => {
      const type = store.events.find(delivery.eventId)?.type ?? "";
      const receiver = kind === "listener" ? "checkout listen" : url;
      const path = `/webhooks/deliveries/${delivery.id}`;
      return { at: delivery.nextAt, kind: "delivery", subject: `${type} → ${receiver}`, outcome: "", path };
    }),
  );
  const items = [...checkouts.map((item) => dueCheckout(store, storeId, item)), ...deliveries];
  const hasMore = items.length > limit || checkouts.length === limit;
  return { items: items.toSorted((left, right) => left.at - right.at).slice(0, limit), hasMore };
}

function dueCheckout(
  store: PortalContext["store"],
  storeId: string,
  { checkoutId, dueAt, outcome }: DueItem,
): PendingItem {
  const subject = store.checkouts.find(storeId, checkoutId)?.orderId ?? checkoutId;
  const kind = outcome === null ? "expiry" : "settlement";
  return { at: dueAt, kind, subject, outcome: outcome ?? "", path: `/checkouts/${checkoutId}` };
}
