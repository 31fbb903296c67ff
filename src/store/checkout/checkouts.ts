import type { Checkout, CheckoutObject, PaymentMethod, Status } from "../../core/checkout/checkout.ts";
import type { Connection } from "../connection/database.ts";

type CheckoutRow = {
  readonly id: string;
  readonly store_id: string;
  readonly object: CheckoutObject;
  readonly order_id: string;
  readonly amount_minor: number;
  readonly currency: string;
  readonly payment_method: PaymentMethod;
  readonly description: string | null;
  readonly price_id: string | null;
  readonly status: Status;
  readonly created_at: number;
  readonly expires_at: number;
};

const COLUMNS =
  "id, store_id, object, order_id, amount_minor, currency, payment_method, description, price_id, status, created_at, expires_at";

/** The DDL of checkouts. */
export const CHECKOUTS_DDL = `
CREATE TABLE checkouts (
  id             TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id       TEXT NOT NULL REFERENCES stores (id),
  object         TEXT NOT NULL CHECK (object IN ('order', 'checkout_session')),
  order_id       TEXT NOT NULL CHECK (octet_length(order_id) BETWEEN 1 AND 128),
  amount_minor   INTEGER NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
  currency       TEXT NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  payment_method TEXT NOT NULL CHECK (payment_method IN ('alipay_plus', 'wechat_pay')),
  description    TEXT CHECK (octet_length(description) <= 512),
  price_id       TEXT,
  status         TEXT NOT NULL
                 CHECK (status IN ('created', 'pending', 'succeeded', 'failed', 'cancelled', 'expired')),
  created_at     INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL CHECK (expires_at > created_at)
) STRICT;
-- Decision 8 as a constraint: no order_id of a store ever has two checkouts that are open or paid.
CREATE UNIQUE INDEX live_checkout_of_order ON checkouts (store_id, order_id)
  WHERE status IN ('created', 'pending', 'succeeded');
CREATE INDEX open_checkouts ON checkouts (store_id, expires_at, id) WHERE status IN ('created', 'pending');
CREATE TRIGGER checkout_terms_are_immutable BEFORE UPDATE OF
  id, store_id, object, order_id, amount_minor, currency, payment_method, description, price_id, created_at
  ON checkouts BEGIN SELECT RAISE(ABORT, 'the terms of a checkout are immutable'); END;
CREATE TRIGGER checkouts_are_kept BEFORE DELETE ON checkouts
  BEGIN SELECT RAISE(ABORT, 'checkouts are never deleted'); END;
-- Decision 10 once more: no program can move a checkout where the core would not.
CREATE TRIGGER checkout_moves BEFORE UPDATE OF status ON checkouts WHEN NOT (
  (OLD.status = 'created' AND NEW.status IN ('pending', 'cancelled', 'expired')) OR
  (OLD.status = 'pending' AND NEW.status IN ('pending', 'succeeded', 'failed', 'cancelled', 'expired'))
) BEGIN SELECT RAISE(ABORT, 'a checkout cannot move this way'); END;
`;

/** Orders and checkout sessions. */
export function checkoutsTable(connection: Connection) {
  const insert = connection.prepare<(string | number | null)[]>(
    `INSERT INTO checkouts (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const selectById = connection.prepare<[string, string], CheckoutRow>(
    `SELECT ${COLUMNS} FROM checkouts WHERE id = ? AND store_id = ?`,
  );
  const selectAny = connection.prepare<[string], CheckoutRow>(
    `SELECT ${COLUMNS} FROM checkouts WHERE id = ?`,
  );
  const updateStatus = connection.prepare<[Status, string]>("UPDATE checkouts SET status = ? WHERE id = ?");
  const updateExpiry = connection.prepare<[number, string]>(
    "UPDATE checkouts SET expires_at = ? WHERE id = ?",
  );
  const selectLive = connection.prepare<[string, string], CheckoutRow>(
    `SELECT ${COLUMNS} FROM checkouts
     WHERE store_id = ? AND order_id = ? AND status IN ('created', 'pending', 'succeeded')`,
  );

  return {
    insert: (checkout: Checkout): void => {
      insert.run(
        checkout.id,
        checkout.storeId,
        checkout.object,
        checkout.orderId,
        checkout.amountMinor,
        checkout.currency,
        checkout.paymentMethod,
        checkout.description,
        checkout.priceId,
        checkout.status,
        checkout.createdAt,
        checkout.expiresAt,
      );
    },

    /** The checkout of this id, if it belongs to the store. */
    find: (storeId: string, id: string): Checkout | undefined => fromRow(selectById.get(id, storeId)),

    /** The checkout of this id, whichever store it belongs to. */
    findAny: (id: string): Checkout | undefined => fromRow(selectAny.get(id)),

    setStatus: (id: string, status: Status): void => {
      updateStatus.run(status, id);
    },

    /** Ends a checkout's time now. */
    setExpiry: (id: string, expiresAt: number): void => {
      updateExpiry.run(expiresAt, id);
    },

    /** The open or succeeded checkout of an order_id; there is at most one (decision 8). */
    live: (storeId: string, orderId: string): Checkout | undefined =>
      fromRow(selectLive.get(storeId, orderId)),
  };
}

function fromRow(row: CheckoutRow | undefined): Checkout | undefined {
  return (
    row && {
      id: row.id,
      storeId: row.store_id,
      object: row.object,
      orderId: row.order_id,
      amountMinor: row.amount_minor,
      currency: row.currency,
      paymentMethod: row.payment_method,
      description: row.description,
      priceId: row.price_id,
      status: row.status,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }
  );
}
