import type { DueItem } from "../../../../store/checkout/settlements.ts";
import type { PortalContext } from "../view.ts";

export type PendingItem = {
  /** Milliseconds by the store's clock. */
  readonly at: number;
  readonly kind: "delivery" | "expiry" | "settlement";
  readonly subject: string;
  readonly outcome: string;
  readonly path: string;
};

export type PendingItems = { readonly items: readonly PendingItem[]; readonly hasMore: boolean };

export const MAX_PENDING_ITEMS = 100;
const MAX_ENDPOINTS = 20;

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
