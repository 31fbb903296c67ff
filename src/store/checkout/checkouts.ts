import type { Checkout, Status } from "../../core/checkout/checkout.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

/** Empty for an open or paid checkout, so that the unique index `checkouts_of_order` allows one for each order. */
const ID_UNLESS_BLOCKER = "CASE WHEN status IN ('created', 'pending', 'succeeded') THEN '' ELSE id END";

const TABLE_DDL = `
CREATE TABLE checkouts (
  id             TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id       TEXT NOT NULL REFERENCES stores (id),
  object         TEXT NOT NULL CHECK (object IN ('order', 'checkout_session')),
  order_id       TEXT NOT NULL CHECK (length(CAST(order_id AS BLOB)) BETWEEN 1 AND 128),
  amount_minor   INTEGER NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
  currency       TEXT NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  payment_method TEXT NOT NULL CHECK (payment_method IN ('alipay_plus', 'wechat_pay')),
  description    TEXT CHECK (length(CAST(description AS BLOB)) <= 512),
  price_id       TEXT,
  status         TEXT NOT NULL
                 CHECK (status IN ('created', 'pending', 'succeeded', 'failed', 'cancelled', 'expired')),
  created_at     INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL CHECK (expires_at > created_at)
) STRICT;
`;

export const COLUMNS_OF_CHECKOUT = columnsOf<Checkout>("checkouts", TABLE_DDL);

/** SQLite appends the rowid to each index, so the indexes by store and by kind also sort checkouts by age. */
export const CHECKOUTS_DDL = `
${TABLE_DDL}CREATE INDEX open_checkouts ON checkouts (store_id, expires_at, id) WHERE status IN ('created', 'pending');
CREATE INDEX checkouts_of_store ON checkouts (store_id);
CREATE INDEX checkouts_of_kind ON checkouts (store_id, status, object, payment_method);
-- Decision 8 as a constraint: an order_id of a store never has two checkouts that are open or paid.
CREATE UNIQUE INDEX checkouts_of_order ON checkouts (store_id, order_id, (${ID_UNLESS_BLOCKER}));
CREATE TRIGGER checkout_terms_are_immutable BEFORE UPDATE OF
  ${COLUMNS_OF_CHECKOUT.omit("status", "expiresAt").join(", ")}
  ON checkouts BEGIN SELECT RAISE(ABORT, 'the terms of a checkout are immutable'); END;
CREATE TRIGGER checkouts_are_kept BEFORE DELETE ON checkouts
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'checkouts are never deleted'); END;
-- Decision 10 as a constraint: the transitions that the core allows.
CREATE TRIGGER checkout_moves BEFORE UPDATE OF status ON checkouts WHEN NOT (
  (OLD.status = 'created' AND NEW.status IN ('pending', 'cancelled', 'expired')) OR
  (OLD.status = 'pending' AND NEW.status IN ('pending', 'succeeded', 'failed', 'cancelled', 'expired'))
) BEGIN SELECT RAISE(ABORT, 'a checkout cannot move this way'); END;
`;

export function checkoutsTable(connection: Connection) {
  const insert = connection.prepare<Checkout>(`INSERT INTO checkouts ${COLUMNS_OF_CHECKOUT.values}`);
  const select = connection.prepare<[string, string], Checkout>(
    `SELECT ${COLUMNS_OF_CHECKOUT.select} FROM checkouts WHERE id = ? AND store_id = ?`,
  );
  const selectInAnyStore = connection.prepare<[string], Checkout>(
    `SELECT ${COLUMNS_OF_CHECKOUT.select} FROM checkouts WHERE id = ?`,
  );
  const updateStatus = connection.prepare<Pick<Checkout, "id" | "status">>(
    "UPDATE checkouts SET status = @status WHERE id = @id",
  );
  const updateExpiry = connection.prepare<Pick<Checkout, "id" | "expiresAt">>(
    "UPDATE checkouts SET expires_at = @expiresAt WHERE id = @id",
  );
  const selectBlocker = connection.prepare<[string, string], Checkout>(
    `SELECT ${COLUMNS_OF_CHECKOUT.select} FROM checkouts
     WHERE store_id = ? AND order_id = ? AND (${ID_UNLESS_BLOCKER}) = ''`,
  );
  const selectEnded = connection.prepare<OrderQuery, Checkout>(
    `SELECT ${COLUMNS_OF_CHECKOUT.select} FROM checkouts
     WHERE store_id = @storeId AND order_id = @orderId AND (${ID_UNLESS_BLOCKER}) > ''
     ORDER BY (${ID_UNLESS_BLOCKER}) DESC LIMIT @limit`,
  );

  return {
    insert: (checkout: Checkout): void => void insert.run(checkout),

    find: (storeId: string, id: string): Checkout | undefined => select.get(id, storeId),

    findInAnyStore: (id: string): Checkout | undefined => selectInAnyStore.get(id),

    setStatus: (id: string, status: Status): void => void updateStatus.run({ id, status }),

    setExpiry: (id: string, expiresAt: number): void => void updateExpiry.run({ id, expiresAt }),

    /** Returns the order's open or succeeded checkout; while it exists, decision 8 forbids another one. */
    findBlocker: (storeId: string, orderId: string): Checkout | undefined =>
      selectBlocker.get(storeId, orderId),

    ofOrder: (query: OrderQuery): Checkout[] => {
      // The blocker is the newest: it was created after all other checkouts of the order had ended.
      const blocker = selectBlocker.get(query.storeId, query.orderId);
      return [...(blocker === undefined ? [] : [blocker]), ...selectEnded.all(query)].slice(0, query.limit);
    },
  };
}

type OrderQuery = { readonly storeId: string; readonly orderId: string; readonly limit: number };
