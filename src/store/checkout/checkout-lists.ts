import { PAYMENT_METHODS, STATUSES, type Checkout, type Status } from "../../core/checkout/checkout.ts";
import type { Connection } from "../connection/connection.ts";
import { COLUMNS_OF_CHECKOUT } from "./checkouts.ts";

export type CheckoutPosition = number;

export type CheckoutFilter = Pick<Checkout, "storeId"> & {
  readonly [Field in "status" | "object" | "paymentMethod" | "orderId"]: Checkout[Field] | null;
};

export type ListRange = { readonly before: CheckoutPosition; readonly limit: number };

export type CheckoutSearchResult = {
  readonly positions: readonly CheckoutPosition[];
  readonly lastPosition: CheckoutPosition | undefined;
  readonly isWhole: boolean;
  readonly count: number | undefined;
};

export const POSITION_AFTER_ALL: CheckoutPosition = Number.MAX_SAFE_INTEGER;

const MAX_SEARCHED_IDS = 1000;
const MAX_SEARCH_ROWS = 20_000;
const MAX_POSITIONS_PER_ROW = 3;

const OBJECTS = ["order", "checkout_session"] as const;

export function checkoutLists(connection: Connection) {
  const sql = prepare(connection);

  return {
    positionOf: (storeId: string, id: string): CheckoutPosition | undefined =>
      sql.positionOf.get({ storeId, id }),

    at: (positions: readonly CheckoutPosition[]): Checkout[] => sql.at.all(JSON.stringify(positions)),

    pick: (
      positions: readonly CheckoutPosition[],
      filter: CheckoutFilter,
      range: ListRange,
    ): CheckoutPosition[] => sql.pick.all({ ...filter, ...range, positions: JSON.stringify(positions) }),

    newest: (filter: CheckoutFilter, { before, limit }: ListRange): CheckoutPosition[] => {
      const { storeId, status, object, paymentMethod } = filter;
      if (status === null && object === null && paymentMethod === null)
        return sql.newest.all({ storeId, before, limit });
      const positionLists = kindsOf(filter).map((kind) =>
        sql.newestOfKind.all({ storeId, ...kind, before, limit }),
      );
      const newestFirst = positionLists.flat().toSorted((left, right) => right - left);
      return newestFirst.slice(0, limit);
    },

    ofOrder: (storeId: string, orderId: string, limit: number): CheckoutPosition[] =>
      sql.ofOrder.all({ storeId, orderId, limit }),

    endingIn: (storeId: string, ending: string): CheckoutPosition[] =>
      sql.endingIn.all({ storeId, ending, maxSearched: MAX_SEARCHED_IDS }),

    /**
     * Compares ASCII letters case-insensitively. Searches at most `MAX_SEARCH_ROWS` checkouts; `lastPosition` is the
     * oldest searched checkout, and `isWhole` means that no older checkout exists.
     */
    search: (
      filter: CheckoutFilter,
      text: string | null,
      { before, limit }: ListRange,
    ): CheckoutSearchResult => {
      const { storeId } = filter;
      const newestPosition = sql.newest.get({ storeId, before, limit: 1 });
      const [end, olderPosition] = sql.endOfSearch.all({ storeId, before, offset: MAX_SEARCH_ROWS - 1 });
      const lastPosition = end ?? sql.oldest.get({ storeId, before });
      const count = end === undefined ? undefined : MAX_SEARCH_ROWS;
      if (newestPosition === undefined || lastPosition === undefined)
        return { positions: [], lastPosition, isWhole: true, count };
      const pattern = text === null ? null : `%${text.replaceAll("%", "_")}%`;
      const bindings = { ...filter, newest: newestPosition, last: lastPosition, text, like: pattern, limit };
      const isDense = newestPosition - lastPosition < MAX_POSITIONS_PER_ROW * MAX_SEARCH_ROWS;
      const positions = (isDense ? sql.searchWithoutIndex : sql.search).all(bindings);
      return { positions, lastPosition, isWhole: olderPosition === undefined, count };
    },

    count: (storeId: string, from: CheckoutPosition, end: CheckoutPosition): number =>
      sql.count.get({ storeId, from, before: end }) ?? 0,
  };
}

type Kind = Pick<Checkout, "status" | "object" | "paymentMethod">;

function kindsOf({ status, object, paymentMethod }: CheckoutFilter): Kind[] {
  const statuses: readonly Status[] = status === null ? STATUSES : [status];
  const objects = object === null ? OBJECTS : [object];
  const methods = paymentMethod === null ? PAYMENT_METHODS : [paymentMethod];
  return statuses.flatMap((statusName) =>
    objects.flatMap((objectKind) =>
      methods.map((method) => ({ status: statusName, object: objectKind, paymentMethod: method })),
    ),
  );
}

type StoreKey = Pick<Checkout, "storeId">;

const FILTER_CONDITION = `(@status IS NULL OR status = @status) AND (@object IS NULL OR object = @object)
  AND (@paymentMethod IS NULL OR payment_method = @paymentMethod) AND (@orderId IS NULL OR order_id = @orderId)`;

function prepare(connection: Connection) {
  return {
    positionOf: connection
      .prepare<StoreKey & Pick<Checkout, "id">, CheckoutPosition>(
        "SELECT rowid FROM checkouts WHERE id = @id AND store_id = @storeId",
      )
      .pluck(),
    at: connection.prepare<[string], Checkout>(
      `SELECT ${COLUMNS_OF_CHECKOUT.select} FROM checkouts
       WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY rowid DESC`,
    ),
    pick: connection
      .prepare<CheckoutFilter & ListRange & { readonly positions: string }, CheckoutPosition>(
        `SELECT rowid FROM checkouts
         WHERE rowid IN (SELECT value FROM json_each(@positions)) AND store_id = @storeId AND rowid < @before
           AND ${FILTER_CONDITION}
         ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    newest: connection
      .prepare<StoreKey & ListRange, CheckoutPosition>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid < @before ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    newestOfKind: connection
      .prepare<StoreKey & Kind & ListRange, CheckoutPosition>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_kind
         WHERE store_id = @storeId AND status = @status AND object = @object AND payment_method = @paymentMethod
           AND rowid < @before
         ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    ofOrder: connection
      .prepare<StoreKey & Pick<Checkout, "orderId"> & Pick<ListRange, "limit">, CheckoutPosition>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_order
         WHERE store_id = @storeId AND order_id = @orderId LIMIT @limit`,
      )
      .pluck(),
    endingIn: connection
      .prepare<StoreKey & { readonly ending: string; readonly maxSearched: number }, CheckoutPosition>(
        `SELECT position FROM (
           SELECT rowid AS position, id FROM checkouts INDEXED BY checkouts_of_store
           WHERE store_id = @storeId ORDER BY rowid DESC LIMIT @maxSearched
         ) WHERE substr(id, -8) = @ending`,
      )
      .pluck(),
    ...prepareSearch(connection),
  };
}

type SearchQuery = CheckoutFilter & {
  readonly newest: CheckoutPosition;
  readonly last: CheckoutPosition;
  readonly text: string | null;
  readonly like: string | null;
  readonly limit: number;
};

/** LIKE is a third slower with ESCAPE, so `search` replaces each % with _, and `instr` compares the text exactly. */
function prepareSearch(connection: Connection) {
  const condition = `store_id = @storeId AND rowid BETWEEN @last AND @newest
    AND ${FILTER_CONDITION}
    AND (@like IS NULL OR (order_id LIKE @like AND instr(lower(order_id), lower(@text)))
      OR (description LIKE @like AND instr(lower(description), lower(@text))))
    ORDER BY rowid DESC LIMIT @limit`;
  return {
    search: connection
      .prepare<SearchQuery, CheckoutPosition>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store WHERE ${condition}`,
      )
      .pluck(),
    searchWithoutIndex: connection
      .prepare<SearchQuery, CheckoutPosition>(`SELECT rowid FROM checkouts NOT INDEXED WHERE ${condition}`)
      .pluck(),
    endOfSearch: connection
      .prepare<StoreKey & Pick<ListRange, "before"> & { readonly offset: number }, CheckoutPosition>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid < @before ORDER BY rowid DESC LIMIT 2 OFFSET @offset`,
      )
      .pluck(),
    oldest: connection
      .prepare<StoreKey & Pick<ListRange, "before">, CheckoutPosition>(
        `SELECT rowid FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid < @before ORDER BY rowid LIMIT 1`,
      )
      .pluck(),
    count: connection
      .prepare<StoreKey & { readonly from: CheckoutPosition; readonly before: CheckoutPosition }, number>(
        `SELECT count(*) FROM checkouts INDEXED BY checkouts_of_store
         WHERE store_id = @storeId AND rowid >= @from AND rowid < @before`,
      )
      .pluck(),
  };
}
