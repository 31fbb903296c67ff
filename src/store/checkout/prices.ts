import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { Price } from "../../core/checkout/shapes.ts";

type PriceRow = Omit<Price, "approved" | "retired"> & {
  readonly storeId: string;
  readonly approved: number;
  readonly retired: number;
};

export const PRICES_DDL = `
CREATE TABLE prices (
  store_id       TEXT NOT NULL REFERENCES stores (id),
  id             TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  description    TEXT NOT NULL,
  amount_minor   INTEGER NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
  currency       TEXT NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  payment_method TEXT NOT NULL CHECK (payment_method IN ('alipay_plus', 'wechat_pay')),
  approved       INTEGER NOT NULL CHECK (approved IN (0, 1)),
  billing_model  TEXT NOT NULL CHECK (billing_model = 'one_time'),
  retired        INTEGER NOT NULL CHECK (retired IN (0, 1)),
  PRIMARY KEY (store_id, id)
) STRICT, WITHOUT ROWID;
`;

const COLUMNS = columnsOf<PriceRow>("prices", PRICES_DDL);

export function pricesTable(connection: Connection) {
  const assignments = COLUMNS.omit("storeId", "id").map((column) => `${column} = excluded.${column}`);
  const upsert = connection.prepare<PriceRow>(
    `INSERT INTO prices ${COLUMNS.values} ON CONFLICT (store_id, id) DO UPDATE SET ${assignments.join(", ")}`,
  );
  const remove = connection.prepare<[string, string]>("DELETE FROM prices WHERE store_id = ? AND id = ?");
  const select = connection.prepare<[string, string], PriceRow>(
    `SELECT ${COLUMNS.select} FROM prices WHERE store_id = ? AND id = ?`,
  );
  const selectOf = connection.prepare<[string], PriceRow>(
    `SELECT ${COLUMNS.select} FROM prices WHERE store_id = ? ORDER BY id`,
  );

  return {
    /** Replaces a price with the same id; existing checkouts keep the old terms. */
    put: (storeId: string, price: Price): void => {
      const { approved, retired } = price;
      upsert.run({ ...price, storeId, approved: Number(approved), retired: Number(retired) });
    },

    remove: (storeId: string, id: string): void => void remove.run(storeId, id),

    /** Also returns unapproved and retired prices. */
    find: (storeId: string, id: string): Price | undefined => {
      const row = select.get(storeId, id);
      return row && priceOf(row);
    },

    of: (storeId: string): Price[] => selectOf.all(storeId).map(priceOf),
  };
}

function priceOf({ storeId: _storeId, ...row }: PriceRow): Price {
  return { ...row, approved: row.approved === 1, retired: row.retired === 1 };
}
