import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { keptHeader } from "../../core/request/logged-request.ts";
import { isUuid } from "../../core/text.ts";
import type { Store } from "../../store/store.ts";
import { noStore } from "../at-store.ts";
import type { RequestLog } from "../runtime/request-log.ts";

/** Where things with an id are looked for: the state, and the log of requests. */
type FindContext = {
  readonly store: Store;
  readonly requests: Pick<RequestLog, "before" | "find">;
};

/** The end of an id is looked for among this many of the newest of each kind, as the commands do. */
const NEWEST = 1000;
/** How many stores are looked through for a request or an order where no store is named. */
const MAX_STORES = 100;
const END_OF_ID = /^[\da-f]{8}$/i;
/** Where the portal looks for something, in a store or in all. */
const FIND = /^\/portal(?:\/([^/?]+))?\/find\?(.*)$/;

/**
 * The page of what has this id, order_id or idempotency key in a store, of the store itself too; undefined if nothing
 * has.
 */
export function pageInStore(context: FindContext, storeId: string, text: string): string | undefined {
  if (text === "") return undefined;
  const id = text.toLowerCase();
  if (id === storeId) return `/portal/${storeId}/start`;
  const path =
    (isUuid(id) ? pathOfId(context, storeId, id) : undefined) ??
    pathOfOrder(context, storeId, text) ??
    pathOfKey(context, storeId, text) ??
    (END_OF_ID.test(id) ? pathOfEnding(context, storeId, id) : undefined) ??
    pathOfName(context, storeId, text) ??
    pathOfRefused(context, storeId, text);
  return path && `/portal/${storeId}${path}`;
}

/** The same in whichever store it is, the first one first. */
export function pageAnywhere(context: FindContext, text: string): string | undefined {
  for (const { id } of context.store.stores.all().slice(0, MAX_STORES)) {
    const path = pageInStore(context, id, text);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Refuses with `not_found` an address of the portal that looks for a UUID which nothing has. */
export function requireFound(context: FindContext, address: string): Outcome<void> {
  const { stores } = context.store;
  const [, storeId, query = ""] = FIND.exec(address) ?? [];
  const id = new URLSearchParams(query).get("q")?.trim() ?? "";
  if (!isUuid(id)) return accept(undefined);
  if (storeId === undefined)
    return stores.all().length > MAX_STORES || pageAnywhere(context, id) !== undefined
      ? accept(undefined)
      : refuse("not_found", `nothing in this sandbox has the id ${id}`);
  if (stores.names(storeId) === undefined) return noStore(storeId);
  if (pageInStore(context, storeId, id) !== undefined) return accept(undefined);
  return refuse("not_found", `nothing in this store has the id ${id}`);
}

function pathOfOrder({ store }: FindContext, storeId: string, orderId: string): string | undefined {
  const [newest] = store.checkouts.ofOrder({ storeId, orderId, limit: 1 });
  return newest && `/checkouts/${newest.id}`;
}

/** An idempotency key leads to what it made. */
function pathOfKey({ store }: FindContext, storeId: string, key: string): string | undefined {
  const checkoutId = store.idempotencyKeys.checkoutOf(storeId, key);
  return checkoutId && `/checkouts/${checkoutId}`;
}

/** The log is looked through last: it has no index of ids. */
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

/** The end of an id, as the terminal's tables show it: of one thing alone among the newest ones. */
function pathOfEnding(context: FindContext, storeId: string, ending: string): string | undefined {
  const { store, requests } = context;
  const none = { checkoutId: null, limit: NEWEST };
  const lists = store.checkoutLists();
  const anyDelivery = { ...none, storeId, endpointId: null, eventId: null, state: null };
  const ids = [
    ...lists.at(lists.endingIn(storeId, ending)),
    ...store.endpoints.of(storeId),
    ...store.events.latest({ ...none, storeId, type: null }),
    ...store.deliveries.list(anyDelivery),
    ...requests.before(storeId, undefined, NEWEST).map(({ requestId: id }) => ({ id })),
  ].flatMap(({ id }) => (id.endsWith(ending) ? [id] : []));
  const [only, ...others] = new Set(ids);
  return only === undefined || others.length > 0 ? undefined : pathOfId(context, storeId, only);
}

/** The key of a refused request leads to that, if it is among the newest. */
function pathOfRefused({ requests }: FindContext, storeId: string, key: string): string | undefined {
  const found = requests
    .before(storeId, undefined, NEWEST)
    .find(({ refused }) => refused !== null && keptHeader(refused.headers, "idempotency-key") === key);
  return found && `/requests/${found.requestId}`;
}

/** What has no page of its own is a row of the page of its kind. */
function pathOfName({ store }: FindContext, storeId: string, text: string): string | undefined {
  const isNamed = ({ id }: { readonly id: string }): boolean =>
    id === text || (END_OF_ID.test(text) && id.endsWith(text.toLowerCase()));
  if (store.prices.find(storeId, text) !== undefined) return "/catalog";
  if (store.credentials.of(storeId).some(isNamed)) return "/keys";
  return store.faults.of(storeId).some(isNamed) ? "/faults" : undefined;
}
