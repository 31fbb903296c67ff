// Statements of lists and their indexes; what `q` means: sandbox/checkout/list.ts. The plan of every statement:
// test/sandbox/lists.test.ts; short ids: cli/target/ids.ts; how tables fit: cli/table.ts.
import { PAYMENT_METHODS, STATUSES, type Checkout, type Status } from "../../core/checkout/checkout.ts";
import type { Connection } from "../connection/database.ts";
import { COLUMNS_OF_CHECKOUT } from "./checkouts.ts";

/** Where a checkout stands among all: the later it was created, the higher. */
export type Place = number;

/** Which checkouts of a store are meant; null for all. */
export type CheckoutFilter = Pick<Checkout, "storeId"> & {
  readonly status: Checkout["status"] | null;
  readonly object: Checkout["object"] | null;
  readonly paymentMethod: Checkout["paymentMethod"] | null;
  readonly orderId: string | null;
};

/** A part of a list, from the newest on: checkouts before a place, and how many at most. */
export type Span = { readonly before: Place; readonly limit: number };

/** What a look through checkouts has found, and how far it went. */
export type Look = {
  readonly places: readonly Place[];
  readonly last: Place | undefined;
  readonly isWhole: boolean;
};

/** Before it are all checkouts. */
export const AFTER_ALL: Place = Number.MAX_SAFE_INTEGER;

/** How many of the newest checkouts the end of an id is looked for among. */
const NEWEST_IDS = 1000;
/** How many checkouts one look reads at most. */
const MAX_LOOK = 20_000;
/** If at most this many times the wanted rows lie between, counting all stores, all are read in a row: half the time. */
const DENSE = 3;

const OBJECTS = ["order", "checkout_session"] as const;

/** Reads the checkouts of a store, newest first. Each statement names the index that serves it. */
export function checkoutLists(connection: Connection) {
  const sql = prepare(connection);

  return {
    /** The place of a checkout of the store; undefined if it has none of this id. */
    placeOf: (storeId: string, id: string): Place | undefined => sql.placeOf.get({ storeId, id }),

    /** The checkouts at places that were read, newest first. One statement for all takes half the time of one for each. */
    at: (places: readonly Place[]): Checkout[] => sql.at.all(JSON.stringify(places)),

    /** Of places in any order those of the newest checkouts that a filter lets through. */
    pick: (places: readonly Place[], filter: CheckoutFilter, span: Span): Place[] =>
      sql.pick.all({ ...filter, ...span, places: JSON.stringify(places) }),

    /** The places of the newest checkouts of a kind; the order_id of the filter is not looked at. */
    newest: (filter: CheckoutFilter, { before, limit }: Span): Place[] => {
      const { storeId, status, object, paymentMethod } = filter;
      if (status === null && object === null && paymentMethod === null)
        return sql.newest.all({ storeId, before, limit });
      const kinds = kindsOf(filter).map((kind) => sql.newestOfKind.all({ storeId, ...kind, before, limit }));
      return newestOf(kinds.flat()).slice(0, limit);
    },

    /** The places of the checkouts whose order_id is this one; unordered. */
    ofOrder: (storeId: string, orderId: string, limit: number): Place[] =>
      sql.ofOrder.all({ storeId, orderId, limit }),

    /** The places of those whose id ends so, among the newest, and how far that is. */
    endingIn: (storeId: string, ending: string): Place[] =>
      sql.endingIn.all({ storeId, ending, among: NEWEST_IDS }),

    /**
     * Looks through the newest checkouts before a place for a text in their order_id or their description (capital letters
     * of ASCII are as small ones). Null finds all. `last` is the oldest that was looked at,
     * `isWhole` whether there is none before it.
     */
    look: (filter: CheckoutFilter, text: string | null, { before, limit }: Span): Look => {
      const { storeId } = filter;
      const newest = sql.newest.get({ storeId, before, limit: 1 });
      const [end, beyond] = sql.endOfLook.all({ storeId, before, skipped: MAX_LOOK - 1 });
      const last = end ?? sql.oldest.get({ storeId, before });
      if (newest === undefined || last === undefined) return { places: [], last, isWhole: true };
      const like = text === null ? null : `%${text.replaceAll(/[%_\\]/g, "\\$&")}%`;
      const wanted = { ...filter, newest, last, like, limit };
      const isDense = newest - last < DENSE * MAX_LOOK;
      const places = (isDense ? sql.lookThroughAll : sql.look).all(wanted);
      return { places, last, isWhole: beyond === undefined };
    },

    /** How many checkouts of the store there are from a place on, before another. */
    count: (storeId: string, from: Place, before: Place): number =>
      sql.count.get({ storeId, from, before }) ?? 0,
  };
}

/** Places, the newest first. */
function newestOf(places: readonly Place[]): Place[] {
  return places.toSorted((left, right) => right - left);
}

type Kind = Pick<Checkout, "status" | "object" | "paymentMethod">;

/** Every kind of checkout that a filter lets through. */
function kindsOf({ status, object, paymentMethod }: CheckoutFilter): Kind[] {
  const statuses: readonly Status[] = status === null ? STATUSES : [status];
  const objects = object === null ? OBJECTS : [object];
  const methods = paymentMethod === null ? PAYMENT_METHODS : [paymentMethod];
  return statuses.flatMap((one) =>
    objects.flatMap((two) => methods.map((three) => ({ status: one, object: two, paymentMethod: three }))),
  );
}

type OfStore = Pick<Checkout, "storeId">;

/** What a filter lets through. */
const MEANT = `(@status IS NULL OR status = @status) AND (@object IS NULL OR object = @object)
  AND (@paymentMethod IS NULL OR payment_method = @paymentMethod) AND (@orderId IS NULL OR order_id = @orderId)`;

function prepare(connection: Connection) {
  return {
    placeOf: connection
      .prepare<OfStore & Pick<Checkout, "id">, Place>(
        "SELECT rowid FROM checkouts WHERE id = @id AND store_id = @storeId",
      )
      .pluck(),
    at: connection.prepare<[string], Checkout>(
      `SELECT ${COLUMNS_OF_CHECKOUT.select} FROM checkouts
       WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY rowid DESC`,
    ),
    pick: connection
      .prepare<CheckoutFilter & Span & { readonly places: string }, Place>(
        `SELECT rowid FROM checkouts
         WHERE rowid IN (SELECT value FROM json_each(@places)) AND store_id = @storeId AND rowid < @before AND ${MEANT}
         ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    newest: connection
      .prepare<OfStore & Span, Place>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid < @before ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    newestOfKind: connection
      .prepare<OfStore & Kind & Span, Place>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_kind
         WHERE store_id = @storeId AND status = @status AND object = @object AND payment_method = @paymentMethod
           AND rowid < @before
         ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    ofOrder: connection
      .prepare<OfStore & Pick<Checkout, "orderId"> & Pick<Span, "limit">, Place>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_order
         WHERE store_id = @storeId AND order_id = @orderId LIMIT @limit`,
      )
      .pluck(),
    endingIn: connection
      .prepare<OfStore & { readonly ending: string; readonly among: number }, Place>(
        `SELECT place FROM (
           SELECT rowid AS place, id FROM checkouts INDEXED BY checkouts_of_store
           WHERE store_id = @storeId ORDER BY rowid DESC LIMIT @among
         ) WHERE substr(id, -8) = @ending`,
      )
      .pluck(),
    ...prepareLook(connection),
  };
}

/** From where to where a look reads, and what it looks for. */
type Wanted = CheckoutFilter & {
  readonly newest: Place;
  readonly last: Place;
  readonly like: string | null;
  readonly limit: number;
};

/** The statements of a look: what it finds, where it ends, and how much it has read. */
function prepareLook(connection: Connection) {
  const found = `store_id = @storeId AND rowid BETWEEN @last AND @newest
    AND ${MEANT}
    AND (@like IS NULL OR order_id LIKE @like ESCAPE '\\' OR description LIKE @like ESCAPE '\\')
    ORDER BY rowid DESC LIMIT @limit`;
  return {
    look: connection
      .prepare<Wanted, Place>(`SELECT rowid FROM checkouts INDEXED BY checkouts_of_store WHERE ${found}`)
      .pluck(),
    lookThroughAll: connection
      .prepare<Wanted, Place>(`SELECT rowid FROM checkouts NOT INDEXED WHERE ${found}`)
      .pluck(),
    endOfLook: connection
      .prepare<OfStore & Pick<Span, "before"> & { readonly skipped: number }, Place>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid < @before ORDER BY rowid DESC LIMIT 2 OFFSET @skipped`,
      )
      .pluck(),
    oldest: connection
      .prepare<OfStore & Pick<Span, "before">, Place>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid < @before ORDER BY rowid LIMIT 1`,
      )
      .pluck(),
    count: connection
      .prepare<OfStore & { readonly from: Place; readonly before: Place }, number>(
        `SELECT count(*) FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid >= @from AND rowid < @before`,
      )
      .pluck(),
  };
}
