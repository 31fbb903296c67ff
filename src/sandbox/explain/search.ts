import type { Checkout } from "../../core/checkout/checkout.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { EVENT_TYPES } from "../../core/checkout/event-types.ts";
import { listCheckouts, type CheckoutPage } from "../checkout/list.ts";
import type { ServiceContext } from "../context.ts";
import type { RequestLog } from "../runtime/request-log.ts";
import type { RefusedOrder } from "../../core/checkout/shapes.ts";

type SearchContext = ServiceContext & { readonly requests: Pick<RequestLog, "refusedOf"> };

export type SearchHits = Pick<CheckoutPage, "nextBefore" | "searched" | "searchedBackTo"> & {
  readonly checkouts: readonly Checkout[];
  readonly refusedOrders: readonly RefusedOrder[];
  readonly hasSearchedAllRefused: boolean;
  readonly endpoints: readonly Endpoint[];
  readonly eventTypes: readonly string[];
};

const MAX_CHECKOUTS = 20;
const MAX_REFUSED_ORDERS = 20;

/** Limited to recent checkouts and requests; `nextBefore` and `hasSearchedAllRefused` say whether there are more. */
export async function searchStore(
  context: SearchContext,
  storeId: string,
  text: string,
): Promise<SearchHits> {
  const { store } = context;
  const checkoutList = await listCheckouts(context, storeId, { q: text, limit: MAX_CHECKOUTS });
  const list = checkoutList.ok ? checkoutList.value : NO_LIST;
  const { orders: refusedOrders, isWhole: hasSearchedAllRefused } = findRefusedOrders(context, storeId, text);
  const lowerText = text.toLowerCase();
  return {
    ...list,
    refusedOrders,
    hasSearchedAllRefused,
    endpoints: store.endpoints
      .of(storeId)
      .filter(({ id, url }) => [url, id].some((field) => field.toLowerCase().includes(lowerText))),
    eventTypes: EVENT_TYPES.filter((type) => type.includes(lowerText) && hasEvent(context, storeId, type)),
  };
}

const NO_LIST = { checkouts: [], nextBefore: null, searched: null, searchedBackTo: null } as const;

export function findRefusedOrders(
  { store, requests }: SearchContext,
  storeId: string,
  text: string,
): { readonly orders: readonly RefusedOrder[]; readonly isWhole: boolean } {
  const result = requests.refusedOf(storeId, text);
  const groups = Map.groupBy(result.requests, ({ orderId }) => orderId ?? "");
  const orders = [...groups].flatMap(([orderId, [newestRequest, ...otherRequests]]) => {
    const hasCheckout = store.checkouts.ofOrder({ storeId, orderId, limit: 1 }).length > 0;
    if (newestRequest === undefined || hasCheckout) return [];
    const { requestId, status, code, storeAt: at } = newestRequest;
    return [{ orderId, requestId, status, code, at, count: 1 + otherRequests.length }];
  });
  return { orders: orders.slice(0, MAX_REFUSED_ORDERS), isWhole: result.isWhole };
}

function hasEvent({ store }: ServiceContext, storeId: string, type: string): boolean {
  return store.events.latest({ storeId, type, checkoutId: null, limit: 1 }).length > 0;
}
