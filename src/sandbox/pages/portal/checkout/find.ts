import { DEFAULT_STORE } from "../../../../core/control/operation.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import type { Answer } from "../../../answer.ts";
import type { Call } from "../../../area.ts";
import { noStore } from "../../../at-store.ts";
import { sentOn } from "../route.ts";
import type { PortalContext, Viewer } from "../view.ts";

const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
/** How many stores are looked through for a request or an order where no store is named. */
const MAX_STORES = 100;

/** Leads from any id, or an order_id, to its page; else to the list of what a text finds. */
export function findInStore(context: PortalContext, call: Call<Viewer>): Outcome<Answer> {
  const storeId = call.params["store_id"] ?? DEFAULT_STORE;
  if (context.store.stores.names(storeId) === undefined) return noStore(storeId);
  const text = wanted(call);
  return accept(sentOn(call, pageOf(context, storeId, text) ?? listPath(storeId, text)));
}

/** The same for who names no store: each is looked in, the first one first. */
export function findAnywhere(context: PortalContext, call: Call<Viewer>): Outcome<Answer> {
  const stores = context.store.stores.all().slice(0, MAX_STORES);
  const text = wanted(call);
  for (const { id } of stores) {
    const path = pageOf(context, id, text);
    if (path !== undefined) return accept(sentOn(call, path));
  }
  const [first] = stores;
  if (first === undefined) return refuse("not_found", "this sandbox has no store");
  return accept(sentOn(call, listPath(first.id, text)));
}

function wanted({ query }: Call<Viewer>): string {
  return new URLSearchParams(query).get("q")?.trim() ?? "";
}

function listPath(storeId: string, text: string): string {
  return `/portal/${storeId}/checkouts${text === "" ? "" : `?q=${encodeURIComponent(text)}`}`;
}

/** The page of what has this id or order_id in a store; undefined if nothing has. */
function pageOf(context: PortalContext, storeId: string, text: string): string | undefined {
  if (text === "") return undefined;
  const id = text.toLowerCase();
  const path =
    (ID.test(id) ? pathOfId(context, storeId, id) : undefined) ?? pathOfOrder(context, storeId, text);
  return path && `/portal/${storeId}${path}`;
}

function pathOfOrder({ store }: PortalContext, storeId: string, orderId: string): string | undefined {
  const [newest] = store.checkouts.ofOrder({ storeId, orderId, limit: 1 });
  return newest && `/checkouts/${newest.id}`;
}

/** The log is looked through last: it has no index of ids. */
function pathOfId({ store, requests }: PortalContext, storeId: string, id: string): string | undefined {
  if (store.checkouts.find(storeId, id) !== undefined) return `/checkouts/${id}`;
  if (store.deliveries.find(id)?.storeId === storeId) return `/webhooks/deliveries/${id}`;
  const event = store.events.find(id);
  if (event?.storeId === storeId)
    return event.checkoutId === null ? `/webhooks#event-${id}` : `/checkouts/${event.checkoutId}#event-${id}`;
  return requests.find(storeId, id) === undefined ? undefined : `/requests/${id}`;
}
