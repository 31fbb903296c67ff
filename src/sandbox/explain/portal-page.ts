import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { findHeader } from "../../core/request/logged-request.ts";
import { isUuid } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";
import { refuseUnknownStore } from "../with-store.ts";
import type { RequestLog } from "../runtime/request-log.ts";

type FindContext = {
  readonly store: Store;
  readonly requests: Pick<RequestLog, "search" | "find">;
};

const MAX_SEARCHED_IDS = 1000;
const MAX_STORES = 100;
const END_OF_ID = /^[\da-f]{8}$/i;
const SEARCH_ADDRESS = /^\/portal(?:\/([^/?]+))?\/find\?(.*)$/;

/** `text`: an id or its last 8 characters, an order_id, an idempotency key, or a price id. */
export function findPathInStore(context: FindContext, storeId: string, text: string): string | undefined {
  if (text === "") return undefined;
  const id = text.toLowerCase();
  if (id === storeId) return `/portal/${storeId}/start`;
  const path =
    (isUuid(id) ? pathOfId(context, storeId, id) : undefined) ??
    pathOfOrder(context, storeId, text) ??
    pathOfKey(context, storeId, text) ??
    (END_OF_ID.test(id) ? pathOfEnding(context, storeId, id) : undefined) ??
    pathOfPriceKeyOrFault(context, storeId, text) ??
    pathOfRefusedRequest(context, storeId, text);
  return path && `/portal/${storeId}${path}`;
}

export function findPathInAnyStore(context: FindContext, text: string): string | undefined {
  for (const { id } of context.store.stores.all().slice(0, MAX_STORES)) {
    const path = findPathInStore(context, id, text);
    if (path !== undefined) return path;
  }
  return undefined;
}

export function requireSearchTarget(context: FindContext, address: string): Outcome<void> {
  const { stores } = context.store;
  const [, storeId, query = ""] = SEARCH_ADDRESS.exec(address) ?? [];
  const id = new URLSearchParams(query).get("q")?.trim() ?? "";
  if (!isUuid(id)) return accept(undefined);
  if (storeId === undefined)
    return stores.all().length > MAX_STORES || findPathInAnyStore(context, id) !== undefined
      ? accept(undefined)
      : refuseFact("no_object_here", { object: id });
  if (stores.names(storeId) === undefined) return refuseUnknownStore(storeId);
  if (findPathInStore(context, storeId, id) !== undefined) return accept(undefined);
  return refuseFact("no_object_in_store", { object: id });
}

function pathOfOrder({ store }: FindContext, storeId: string, orderId: string): string | undefined {
  const [newestCheckout] = store.checkouts.ofOrder({ storeId, orderId, limit: 1 });
  return newestCheckout && `/checkouts/${newestCheckout.id}`;
}

function pathOfKey({ store }: FindContext, storeId: string, key: string): string | undefined {
  const checkoutId = store.idempotencyKeys.checkoutIdOf(storeId, key);
  return checkoutId && `/checkouts/${checkoutId}`;
}

function pathOfId({ store, requests }: FindContext, storeId: string, id: string): string | undefined {
  if (store.checkouts.find(storeId, id) !== undefined) return `/checkouts/${id}`;
  if (store.endpoints.find(id)?.storeId === storeId) return `/webhooks/endpoints/${id}`;
  if (store.deliveries.find(id)?.storeId === storeId) return `/webhooks/deliveries/${id}`;
  const event = store.events.find(id);
  if (event?.storeId === storeId)
    return event.checkoutId === null
      ? `/webhooks/events/${id}`
      : `/checkouts/${event.checkoutId}#event-${id}`;
  if (store.stores.details(storeId)?.merchantId === id) return "/settings";
  return requests.find(storeId, id) === undefined ? undefined : `/requests/${id}`;
}

function pathOfEnding(context: FindContext, storeId: string, ending: string): string | undefined {
  const { store, requests } = context;
  const limit = MAX_SEARCHED_IDS;
  const lists = store.checkoutLists;
  const ids = [
    ...lists.at(lists.endingIn(storeId, ending)),
    ...store.endpoints.of(storeId),
    ...store.events.latest({ storeId, type: null, checkoutId: null, limit }),
    ...store.deliveries.list({ storeId, limit }),
    ...requests.search(storeId, { limit }).hits.map(({ requestId: id }) => ({ id })),
  ].flatMap(({ id }) => (id.endsWith(ending) ? [id] : []));
  const [onlyId, ...otherIds] = new Set(ids);
  return onlyId === undefined || otherIds.length > 0 ? undefined : pathOfId(context, storeId, onlyId);
}

function pathOfRefusedRequest({ requests }: FindContext, storeId: string, key: string): string | undefined {
  const refusedRequest = requests
    .search(storeId, { limit: MAX_SEARCHED_IDS })
    .hits.find(({ refused }) => refused !== null && findHeader(refused.headers, "idempotency-key") === key);
  return refusedRequest && `/requests/${refusedRequest.requestId}`;
}

function pathOfPriceKeyOrFault({ store }: FindContext, storeId: string, text: string): string | undefined {
  const hasId = ({ id }: { readonly id: string }): boolean =>
    id === text || (END_OF_ID.test(text) && id.endsWith(text.toLowerCase()));
  if (store.prices.find(storeId, text) !== undefined) return "/catalog";
  if (store.credentials.of(storeId).some(hasId)) return "/keys";
  return store.faults.of(storeId).some(hasId) ? "/faults" : undefined;
}
