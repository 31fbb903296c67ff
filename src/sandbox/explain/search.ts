import type { Checkout } from "../../core/checkout/checkout.ts";
import type { RefusedOrder } from "../../core/control/checkout.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { EVENT_TYPES } from "../../core/webhook/event-types.ts";
import { listCheckouts } from "../checkout/list.ts";
import type { ServiceContext } from "../context.ts";
import type { RequestLog } from "../runtime/request-log.ts";

/** Where a text is looked for: the state, and the log of requests. */
type SearchContext = ServiceContext & { readonly requests: Pick<RequestLog, "refusedOf"> };

/** What a text finds in a store, by kind. */
export type SearchHits = {
  /** The newest first. */
  readonly checkouts: readonly Checkout[];
  /** `before` of the next part of the list of checkouts; null where there is none. */
  readonly nextBefore: string | null;
  /** How many checkouts were looked through, and when the oldest of these was created; null where an index knew. */
  readonly searched: number | null;
  readonly searchedBackTo: number | null;
  readonly refused: readonly RefusedOrder[];
  /** Whether the look through refused requests came to its end. */
  readonly isRefusedWhole: boolean;
  readonly endpoints: readonly Endpoint[];
  /** Types of events that have happened in the store. */
  readonly eventTypes: readonly string[];
};

/** How many checkouts are found at most. */
const MAX_CHECKOUTS = 20;
/** How many refused orders are found at most. */
const MAX_REFUSED = 20;

/**
 * What has a text in it: the order_id or the description of checkouts, the order_id of requests that made none, the
 * address or the id of endpoints, the type of events. Capital letters of ASCII are as small ones. Bounded: the newest
 * 20,000 of each.
 */
export async function search(context: SearchContext, storeId: string, text: string): Promise<SearchHits> {
  const { store } = context;
  const listed = await listCheckouts(context, storeId, { q: text, limit: MAX_CHECKOUTS });
  const list = listed.ok ? listed.value : NO_LIST;
  const { orders: refused, isWhole: isRefusedWhole } = refusedOrders(context, storeId, text);
  const small = text.toLowerCase();
  return {
    ...list,
    refused,
    isRefusedWhole,
    endpoints: store.endpoints
      .of(storeId)
      .filter(({ id, url }) => [url, id].some((one) => one.includes(small))),
    eventTypes: EVENT_TYPES.filter((type) => type.includes(small) && hasHappened(context, storeId, type)),
  };
}

const NO_LIST = { checkouts: [], nextBefore: null, searched: null, searchedBackTo: null } as const;

/** Order_ids with a text in them of which every create was refused; one that has a checkout is found by that. */
export function refusedOrders(
  { store, requests }: SearchContext,
  storeId: string,
  text: string,
): { readonly orders: readonly RefusedOrder[]; readonly isWhole: boolean } {
  const looked = requests.refusedOf(storeId, text);
  const groups = Map.groupBy(looked.requests, ({ orderId }) => orderId ?? "");
  const orders = [...groups].flatMap(([orderId, [newest, ...others]]) => {
    const isMade = store.checkouts.ofOrder({ storeId, orderId, limit: 1 }).length > 0;
    if (newest === undefined || isMade) return [];
    const { requestId, status, code, storeAt: at } = newest;
    return [{ orderId, requestId, status, code, at, count: 1 + others.length }];
  });
  return { orders: orders.slice(0, MAX_REFUSED), isWhole: looked.isWhole };
}

function hasHappened({ store }: ServiceContext, storeId: string, type: string): boolean {
  return store.events.latest({ storeId, type, checkoutId: null, limit: 1 }).length > 0;
}
