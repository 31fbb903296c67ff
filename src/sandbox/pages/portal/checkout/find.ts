import { DEFAULT_STORE } from "../../../../core/control/operation.ts";
import { accept, refuse, type Outcome } from "../../../../core/outcome.ts";
import type { Answer } from "../../../answer.ts";
import type { Call } from "../../../area.ts";
import { noStore } from "../../../at-store.ts";
import { sentOn } from "../route.ts";
import type { PortalContext, Viewer } from "../view.ts";

const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const END_OF_ID = /^[\da-f]{8}$/i;
/** The end of an id is looked for among this many of the newest of each kind, as the commands do. */
const NEWEST = 1000;
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

/** The page of what has this id or order_id in a store, of the store itself too; undefined if nothing has. */
function pageOf(context: PortalContext, storeId: string, text: string): string | undefined {
  if (text === "") return undefined;
  const id = text.toLowerCase();
  if (id === storeId) return `/portal/${storeId}/start`;
  const path =
    (ID.test(id) ? pathOfId(context, storeId, id) : undefined) ??
    pathOfOrder(context, storeId, text) ??
    (END_OF_ID.test(id) ? pathOfEnding(context, storeId, id) : undefined) ??
    pathOfName(context, storeId, text);
  return path && `/portal/${storeId}${path}`;
}

function pathOfOrder({ store }: PortalContext, storeId: string, orderId: string): string | undefined {
  const [newest] = store.checkouts.ofOrder({ storeId, orderId, limit: 1 });
  return newest && `/checkouts/${newest.id}`;
}

/** The log is looked through last: it has no index of ids. */
function pathOfId({ store, requests }: PortalContext, storeId: string, id: string): string | undefined {
  if (store.checkouts.find(storeId, id) !== undefined) return `/checkouts/${id}`;
  if (store.endpoints.find(id)?.storeId === storeId) return `/webhooks/endpoints/${id}`;
  if (store.deliveries.find(id)?.storeId === storeId) return `/webhooks/deliveries/${id}`;
  const event = store.events.find(id);
  if (event?.storeId === storeId)
    return event.checkoutId === null
      ? `/webhooks/events/${id}`
      : `/checkouts/${event.checkoutId}#event-${id}`;
  return requests.find(storeId, id) === undefined ? undefined : `/requests/${id}`;
}

/** The end of an id, as the terminal's tables show it: of one thing alone among the newest ones. */
function pathOfEnding(context: PortalContext, storeId: string, ending: string): string | undefined {
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

/** What has no page of its own is a row of the page of its kind. */
function pathOfName({ store }: PortalContext, storeId: string, text: string): string | undefined {
  const isNamed = ({ id }: { readonly id: string }): boolean =>
    id === text || (END_OF_ID.test(text) && id.endsWith(text.toLowerCase()));
  if (store.prices.find(storeId, text) !== undefined) return "/catalog";
  if (store.credentials.of(storeId).some(isNamed)) return "/keys";
  return store.faults.of(storeId).some(isNamed) ? "/faults" : undefined;
}
