import type { Terms } from "../../core/checkout/checkout.ts";
import type { Connection } from "../connection/database.ts";

/** A catalog price of a store: it sets amount, currency and method of a checkout (decision 7). */
export type Price = Pick<Terms, "amountMinor" | "currency" | "paymentMethod"> & {
  readonly id: string;
  readonly description: string;
};

const COLUMNS = "id, description, amount_minor AS amountMinor, currency, payment_method AS paymentMethod";

/** The DDL of catalog prices. */
export const PRICES_DDL = `
CREATE TABLE prices (
  store_id       TEXT NOT NULL REFERENCES stores (id),
  id             TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  description    TEXT NOT NULL,
  amount_minor   INTEGER NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
  currency       TEXT NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  payment_method TEXT NOT NULL CHECK (payment_method IN ('alipay_plus', 'wechat_pay')),
  approved       INTEGER NOT NULL CHECK (approved IN (0, 1)),
  PRIMARY KEY (store_id, id)
) STRICT, WITHOUT ROWID;
`;

/** The catalog of each store. */
export function pricesTable(connection: Connection) {
  const upsert = connection.prepare<Price & { readonly storeId: string; readonly approved: number }>(
    `INSERT INTO prices (store_id, id, description, amount_minor, currency, payment_method, approved)
     VALUES (@storeId, @id, @description, @amountMinor, @currency, @paymentMethod, @approved)
     ON CONFLICT (store_id, id) DO UPDATE SET description = excluded.description, currency = excluded.currency,
       amount_minor = excluded.amount_minor, payment_method = excluded.payment_method, approved = excluded.approved`,
  );
  const remove = connection.prepare<[string, string]>("DELETE FROM prices WHERE store_id = ? AND id = ?");
  const selectApproved = connection.prepare<[string, string], Price>(
    `SELECT ${COLUMNS} FROM prices WHERE store_id = ? AND id = ? AND approved = 1`,
  );
  const selectOf = connection.prepare<[string], Price & { readonly approved: number }>(
    `SELECT ${COLUMNS}, approved FROM prices WHERE store_id = ? ORDER BY id`,
  );

  return {
    /** Adds a price, or replaces the one of its id; checkouts keep the terms that they were created on. */
    put: (storeId: string, price: Price & { readonly approved: boolean }): void => {
      upsert.run({ ...price, storeId, approved: Number(price.approved) });
    },

    /** Removes a price; checkouts of it stay. */
    remove: (storeId: string, id: string): void => void remove.run(storeId, id),

    /** The approved price of this id, if the store has it. */
    approved: (storeId: string, id: string): Price | undefined => selectApproved.get(storeId, id),

    /** All prices of a store, approved or not. */
    of: (storeId: string): (Price & { readonly approved: boolean })[] =>
      selectOf.all(storeId).map((row) => Object.assign(row, { approved: row.approved === 1 })),
  };
}
