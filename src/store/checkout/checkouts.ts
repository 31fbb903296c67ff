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
