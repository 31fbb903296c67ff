import type { Checkout } from "../../core/checkout/checkout.ts";
import type { LastChange } from "../../core/control/checkout.ts";
import type { RequestOf } from "../../core/control/operations.ts";
import { lastChange } from "../../core/explain/last.ts";
import { accept, refuse, type Outcome } from "../../core/outcome.ts";
import { isUuid } from "../../core/text.ts";
import {
  AFTER_ALL,
  type CheckoutFilter,
  type SearchResult,
  type CheckoutPosition,
  type Span,
} from "../../store/checkout/checkout-lists.ts";
import type { Store } from "../../store/store.ts";
import { storeTime } from "../at-store.ts";
import type { ServiceContext } from "../context.ts";
import { settleDue } from "./payments.ts";

/** A part of a list of checkouts, newest first. */
type CheckoutPage = {
  readonly checkouts: readonly (Checkout & { readonly last: LastChange })[];
  /** The store's time. */
  readonly now: number;
  /** `before` of the next part; null where there is none. A part that is short can have a next one. */
  readonly nextBefore: string | null;
  /** How many checkouts were looked through, newest first; null where an index knew where to look. */
  readonly searched: number | null;
  /** When the oldest of these was created, by the store's clock. */
  readonly searchedBackTo: number | null;
};

type Lists = ReturnType<Store["checkoutLists"]>;

/** Checkouts that an index has found, or those that a look through the newest ones has. */
type SearchPart = {
  /** The newest first, one more than the page shows where there are more. */
  readonly places: readonly CheckoutPosition[];
  /** What is older than a look went, and is shown all the same. */
  readonly older?: readonly CheckoutPosition[];
  readonly look?: Omit<SearchResult, "places">;
};

const DEFAULT_PAGE = 50;
/** How many checkouts that an index found in another order are sorted to pick the newest. */
const MAX_PICKED = 500;

/** How many checkouts of an order_id are shown that a look did not come to. */
const MAX_OLDER = 5;

const END_OF_ID = /^[0-9a-f]{8}$/i;

/**
 * Lists the checkouts of a store, newest first, as they are by its clock now. `q` is an id or its last 8 characters, or
 * else a part of order_ids or descriptions (decision 92). Refuses with `session_not_found` where
 * `before` is no checkout of the store.
 */
export async function listCheckouts(
  context: ServiceContext,
  storeId: string,
  query: RequestOf<"listCheckouts">,
): Promise<Outcome<CheckoutPage>> {
  await doWhatIsDue(context, storeId);
  const lists = context.store.checkoutLists();
  const before = query.before === undefined ? AFTER_ALL : lists.placeOf(storeId, query.before);
  if (before === undefined)
    return refuse("session_not_found", [
      `there is no checkout ${query.before} to go on from`,
      `没有可以继续的收款单 ${query.before}`,
    ]);
  const { status = null, object = null, paymentMethod = null, orderId = null, limit = DEFAULT_PAGE } = query;
  const filter = { storeId, status, object, paymentMethod, orderId };
  const found = find(lists, filter, { text: query.q, span: { before, limit: limit + 1 } });
  const { checkouts, ...rest } = pageOf(lists, found, { storeId, before, limit });
  const told = checkouts.map((checkout) =>
    Object.assign({}, checkout, { last: lastOf(context.store, checkout) }),
  );
  return accept({ ...rest, checkouts: told, now: storeTime(context, storeId) });
}

/** What happened last to a checkout. */
export function lastOf({ attempts, events }: Store, checkout: Checkout): LastChange {
  const { id, status, createdAt } = checkout;
  // Nothing has happened to most of a list.
  const isNew = status === "created";
  return lastChange({
    checkout,
    attempts: isNew ? [] : attempts.of(id),
    lateResults: isNew ? [] : attempts.lateResults(id),
    newestEventAt: isNew ? createdAt : (events.of(id).at(-1)?.createdAt ?? createdAt),
  });
}

/** What time has brought is done first, so that no status in a list is one of the past. */
async function doWhatIsDue(context: ServiceContext, storeId: string): Promise<void> {
  const now = storeTime(context, storeId);
  for (let more = true; more;) {
    const next = context.store.settlements.next(storeId);
    if (next === undefined || next.dueAt > now) return;
    ({ more } = await context.store.write(() => settleDue(context, storeId, { until: now })));
  }
}

function find(
  lists: Lists,
  filter: CheckoutFilter,
  { text, span }: { readonly text: string | undefined; readonly span: Span },
): SearchPart {
  const { storeId, orderId } = filter;
  if (text === undefined && orderId === null) return { places: lists.newest(filter, span) };
  const named = text === undefined ? ofOrder(lists, storeId, orderId ?? "") : byId(lists, storeId, text);
  if (named !== undefined) return { places: lists.pick(named, filter, span) };
  const { places, ...look } = lists.look(filter, text ?? null, span);
  if (text === undefined || look.last === undefined) return { places, look };
  if (span.before !== AFTER_ALL) return { places, look };
  // An order_id that somebody types whole is found wherever it stands, on the first part.
  const known = ofOrder(lists, storeId, text) ?? [];
  const older = lists.pick(known, filter, { before: look.last, limit: Math.min(MAX_OLDER, span.limit - 1) });
  return { places, look, older };
}

/** The checkouts whose id a text is, or ends; undefined where it is none. */
function byId(lists: Lists, storeId: string, text: string): readonly CheckoutPosition[] | undefined {
  const id = text.toLowerCase();
  if (isUuid(text)) {
    const place = lists.placeOf(storeId, id);
    if (place !== undefined) return [place];
  }
  const ending = END_OF_ID.test(text) ? lists.endingIn(storeId, id) : [];
  return ending.length > 0 ? ending : undefined;
}

/** The checkouts of an order_id; undefined where they are too many to pick the newest of. */
function ofOrder(lists: Lists, storeId: string, orderId: string): readonly CheckoutPosition[] | undefined {
  const places = lists.ofOrder(storeId, orderId, MAX_PICKED + 1);
  return places.length > MAX_PICKED ? undefined : places;
}

function pageOf(
  lists: Lists,
  { places, look, older = [] }: SearchPart,
  { storeId, before, limit }: Span & { readonly storeId: string },
): Omit<CheckoutPage, "checkouts" | "now"> & { readonly checkouts: readonly Checkout[] } {
  const shown = places.slice(0, limit - older.length);
  const checkouts = lists.at(shown.concat(older));
  const isCut = places.length > shown.length;
  const nextBefore = isCut ? (checkouts.at(-1 - older.length)?.id ?? null) : null;
  if (look === undefined) return { checkouts, nextBefore, searched: null, searchedBackTo: null };
  const from = isCut ? shown.at(-1) : look.last;
  const [oldest] = from === undefined ? [] : lists.at([from]);
  return {
    checkouts,
    nextBefore: isCut || look.isWhole ? nextBefore : (oldest?.id ?? null),
    searched: from === undefined ? 0 : lists.count(storeId, from, before),
    searchedBackTo: oldest?.createdAt ?? null,
  };
}
