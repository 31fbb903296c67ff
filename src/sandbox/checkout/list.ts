import type { Checkout } from "../../core/checkout/checkout.ts";
import type { AnswerOf, RequestOf } from "../../core/control/operations.ts";
import { lastChange } from "../../core/explain/last.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { refuseFact } from "../../core/refusals.ts";
import { isUuid } from "../../core/text.ts";
import {
  POSITION_AFTER_ALL,
  type CheckoutFilter,
  type CheckoutSearchResult,
  type CheckoutPosition,
  type ListRange,
} from "../../store/checkout/checkout-lists.ts";
import type { Store } from "../../store/store.ts";
import { storeTime } from "../with-store.ts";
import type { ServiceContext } from "../context.ts";
import { applyDueItems } from "./payments.ts";
import type { LastChange } from "../../core/checkout/shapes.ts";

/**
 * A page that is not full can have a next page. `searched` and `searchedBackTo`: how many checkouts were searched, and
 * when the oldest was created; null if an index was used.
 */
export type CheckoutPage = Omit<AnswerOf<"listCheckouts">, "storeId" | "refused" | "checkouts"> & {
  readonly checkouts: readonly (Checkout & { readonly last: LastChange })[];
};

type Lists = Store["checkoutLists"];

type FindResult = {
  readonly positions: readonly CheckoutPosition[];
  readonly olderPositions?: readonly CheckoutPosition[];
  readonly search?: Omit<CheckoutSearchResult, "positions">;
};

const DEFAULT_LIMIT = 50;
const MAX_SORTED_CHECKOUTS = 500;

const MAX_OLDER_MATCHES = 5;

const END_OF_ID = /^[0-9a-f]{8}$/i;

/**
 * `q` matches an id, its last 8 characters, or part of an order_id or description (decision 92). Refuses `before` if it
 * is not a checkout of the store.
 */
export async function listCheckouts(
  context: ServiceContext,
  storeId: string,
  query: RequestOf<"listCheckouts">,
): Promise<Outcome<CheckoutPage>> {
  await applyAllDueChanges(context, storeId);
  const lists = context.store.checkoutLists;
  const cursor = query.before === undefined ? POSITION_AFTER_ALL : lists.positionOf(storeId, query.before);
  if (cursor === undefined) return refuseFact("no_checkout_before", { checkout: String(query.before) });
  const { status = null, object = null, paymentMethod = null, orderId = null, limit = DEFAULT_LIMIT } = query;
  const filter = { storeId, status, object, paymentMethod, orderId };
  const findResult = find(lists, filter, { text: query.q, range: { before: cursor, limit: limit + 1 } });
  const { checkouts, ...pageFields } = pageOf(lists, findResult, { storeId, before: cursor, limit });
  const listedCheckouts = checkouts.map((checkout) =>
    Object.assign({}, checkout, { last: lastChangeOf(context.store, checkout) }),
  );
  return accept({ ...pageFields, checkouts: listedCheckouts, now: storeTime(context, storeId) });
}

export function lastChangeOf({ attempts, events }: Store, checkout: Checkout): LastChange {
  const { id, status, createdAt } = checkout;
  const isNew = status === "created";
  return lastChange({
    checkout,
    attempts: isNew ? [] : attempts.of(id),
    lateResults: isNew ? [] : attempts.lateResults(id),
    newestEventAt: isNew ? createdAt : (events.of(id).at(-1)?.createdAt ?? createdAt),
  });
}

async function applyAllDueChanges(context: ServiceContext, storeId: string): Promise<void> {
  const now = storeTime(context, storeId);
  for (let hasMore = true; hasMore;) {
    const next = context.store.settlements.next(storeId);
    if (next === undefined || next.dueAt > now) return;
    ({ hasMore } = await context.store.write(() => applyDueItems(context, storeId, { until: now })));
  }
}

function find(
  lists: Lists,
  filter: CheckoutFilter,
  { text, range }: { readonly text: string | undefined; readonly range: ListRange },
): FindResult {
  const { storeId, orderId } = filter;
  if (text === undefined && orderId === null) return { positions: lists.newest(filter, range) };
  const namedPositions =
    text === undefined ? findByOrder(lists, storeId, orderId ?? "") : findById(lists, storeId, text);
  if (namedPositions !== undefined) return { positions: lists.pick(namedPositions, filter, range) };
  const { positions, ...search } = lists.search(filter, text ?? null, range);
  if (text === undefined || search.lastPosition === undefined) return { positions, search };
  if (range.before !== POSITION_AFTER_ALL) return { positions, search };
  // A search may stop before it reaches old checkouts. If the text is a complete order_id, an index finds some of the
  // old checkouts for the first page.
  const orderPositions = findByOrder(lists, storeId, text) ?? [];
  const olderPositions = lists.pick(orderPositions, filter, {
    before: search.lastPosition,
    limit: Math.min(MAX_OLDER_MATCHES, range.limit - 1),
  });
  return { positions, search, olderPositions };
}

function findById(lists: Lists, storeId: string, text: string): readonly CheckoutPosition[] | undefined {
  const id = text.toLowerCase();
  if (isUuid(text)) {
    const position = lists.positionOf(storeId, id);
    if (position !== undefined) return [position];
  }
  const positions = END_OF_ID.test(text) ? lists.endingIn(storeId, id) : [];
  return positions.length > 0 ? positions : undefined;
}

function findByOrder(
  lists: Lists,
  storeId: string,
  orderId: string,
): readonly CheckoutPosition[] | undefined {
  const positions = lists.ofOrder(storeId, orderId, MAX_SORTED_CHECKOUTS + 1);
  return positions.length > MAX_SORTED_CHECKOUTS ? undefined : positions;
}

function pageOf(
  lists: Lists,
  { positions, search, olderPositions = [] }: FindResult,
  { storeId, before, limit }: ListRange & { readonly storeId: string },
): Omit<CheckoutPage, "checkouts" | "now"> & { readonly checkouts: readonly Checkout[] } {
  const shownPositions = positions.slice(0, limit - olderPositions.length);
  const checkouts = lists.at(shownPositions.concat(olderPositions));
  const isTruncated = positions.length > shownPositions.length;
  const nextBefore = isTruncated ? (checkouts.at(-1 - olderPositions.length)?.id ?? null) : null;
  if (search === undefined) return { checkouts, nextBefore, searched: null, searchedBackTo: null };
  const oldestPosition = isTruncated ? shownPositions.at(-1) : search.lastPosition;
  const searchedCount = isTruncated ? undefined : search.count;
  const [oldestCheckout] = oldestPosition === undefined ? [] : lists.at([oldestPosition]);
  return {
    checkouts,
    nextBefore: isTruncated || search.isWhole ? nextBefore : (oldestCheckout?.id ?? null),
    searched:
      oldestPosition === undefined ? 0 : (searchedCount ?? lists.count(storeId, oldestPosition, before)),
    searchedBackTo: oldestCheckout?.createdAt ?? null,
  };
}
