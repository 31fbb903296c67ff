import type { StoreFacts } from "../core/checkout/checkout.ts";
import type { StoreClock } from "../core/clock.ts";
import type { Dialect } from "../core/shape/dialect.ts";
import type { Connection } from "./connection/connection.ts";
import type { Scheduler } from "./connection/group-commit.ts";
import { cacheBriefly } from "./connection/remembered.ts";

type Merchant = { readonly id: string; readonly name: string; readonly createdAt: number };

export type StoreWithMerchant = { readonly id: string; readonly merchantId: string };

export type StoreNames = { readonly merchant: string; readonly store: string };

export type StoreDetails = StoreWithMerchant &
  StoreNames & { readonly active: boolean; readonly createdAt: number };

type StoreRecord = StoreFacts & { readonly clock: StoreClock };

type DetailsRow = Omit<StoreDetails, "active"> & { readonly active: number };
type FactsRow = Pick<StoreFacts, "id"> &
  StoreClock & {
    readonly active: number;
    readonly paymentMethods: string | null;
    readonly currencies: string | null;
  };

export const STORES_DDL = `
CREATE TABLE merchants (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE stores (
  id              TEXT PRIMARY KEY,
  merchant_id     TEXT NOT NULL REFERENCES merchants (id),
  name            TEXT NOT NULL,
  active          INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at      INTEGER NOT NULL,
  clock_offset    INTEGER NOT NULL DEFAULT 0,
  clock_frozen_at INTEGER
) STRICT;
CREATE INDEX stores_of_merchant ON stores (merchant_id);
`;

/** JSON; null for a store without a dialect (decision 148). */
export const STORE_DIALECT_DDL = `
ALTER TABLE stores ADD COLUMN dialect TEXT CHECK (length(CAST(dialect AS BLOB)) BETWEEN 2 AND 65536);
`;

/** Safe as a text replacement: quotes inside JSON strings are escaped, so `"eventFields":` can only be a key. */
export const STORE_DIALECT_NAMES_MIGRATION = [
  ["eventFields", "event_fields"],
  ["signatureForm", "signature_form"],
  ["unknownSession", "unknown_session"],
  ["bothForms", "both_forms"],
  ["eventId", "event_id"],
]
  .map(([oldName, name]) => `UPDATE stores SET dialect = replace(dialect, '"${oldName}":', '"${name}":');\n`)
  .join("");

const FIRST_STORE = "";

export function storesTable(connection: Connection, scheduler: Scheduler) {
  const insertMerchant = connection.prepare<Merchant>(
    `INSERT INTO merchants (id, name, created_at) VALUES (@id, @name, @createdAt) ON CONFLICT (id) DO NOTHING`,
  );
  const selectMerchant = connection
    .prepare<[string], string>("SELECT id FROM merchants WHERE id = ?")
    .pluck();
  const insert = connection.prepare<Merchant & StoreWithMerchant & { readonly dialect: string | null }>(
    `INSERT INTO stores (id, merchant_id, name, active, created_at, dialect)
     VALUES (@id, @merchantId, @name, 1, @createdAt, @dialect)`,
  );
  const updateActive = connection.prepare<{ readonly id: string; readonly active: number }>(
    "UPDATE stores SET active = @active WHERE id = @id",
  );
  const selectFacts = connection.prepare<[string], FactsRow>(
    `SELECT id, active, clock_offset AS offsetMs, clock_frozen_at AS frozenAt,
       (SELECT group_concat(name, ' ') FROM capabilities
        WHERE store_id = stores.id AND kind = 'payment_method' AND active = 1) AS paymentMethods,
       (SELECT group_concat(name, ' ') FROM capabilities
        WHERE store_id = stores.id AND kind = 'currency' AND active = 1) AS currencies
     FROM stores WHERE id = ? AND NOT EXISTS (SELECT 1 FROM erasures WHERE store_id = stores.id)`,
  );

  const facts = cacheBriefly(scheduler, (storeId): StoreRecord | undefined => {
    const row = selectFacts.get(storeId);
    return row && factsOf(row);
  });

  const dialects = storeDialects(connection, scheduler);
  const details = storeDetails(connection, scheduler);
  const forget = (): void => {
    facts.forget();
    dialects.forget();
    details.names.forget();
  };

  return {
    ...details,

    insertMerchant: (merchant: Merchant): void => void insertMerchant.run(merchant),

    hasMerchant: (id: string): boolean => selectMerchant.get(id) !== undefined,

    insert: (store: Merchant & StoreWithMerchant, dialect?: Dialect): void => {
      insert.run({ ...store, dialect: dialect === undefined ? null : JSON.stringify(dialect) });
      forget();
    },

    /** The dialect of a store (default: the first), or undefined if it has none. */
    dialect: (storeId = FIRST_STORE): Dialect | undefined => dialects(storeId) ?? undefined,

    /** Call after a restore, which bypasses this table. */
    forget,

    setActive: (id: string, isActive: boolean): void => {
      updateActive.run({ id, active: Number(isActive) });
      facts.forget();
    },

    facts,
  };
}

function storeDialects(connection: Connection, scheduler: Scheduler) {
  const select = connection
    .prepare<[string | null], string | null>(
      "SELECT dialect FROM stores WHERE id = coalesce(?, (SELECT id FROM stores ORDER BY rowid LIMIT 1))",
    )
    .pluck();
  // Null instead of undefined, which would not be cached. Dialects are validated when they are written, so not here.
  return cacheBriefly(scheduler, (storeId): Dialect | null =>
    JSON.parse(select.get(storeId === FIRST_STORE ? null : storeId) ?? "null"),
  );
}

function factsOf({ id, active, paymentMethods, currencies, offsetMs, frozenAt }: FactsRow): StoreRecord {
  return {
    id,
    active: active === 1,
    paymentMethods: paymentMethods?.split(" ") ?? [],
    currencies: currencies?.split(" ") ?? [],
    clock: { offsetMs, frozenAt },
  };
}

function storeDetails(connection: Connection, scheduler: Scheduler) {
  const selectFirst = connection.prepare<[], StoreWithMerchant>(
    "SELECT id, merchant_id AS merchantId FROM stores ORDER BY rowid LIMIT 1",
  );
  const selectNames = connection.prepare<[string], StoreNames>(
    `SELECT merchants.name AS merchant, stores.name AS store
     FROM stores JOIN merchants ON merchants.id = stores.merchant_id WHERE stores.id = ?`,
  );
  const detailsSql = `SELECT stores.id, merchant_id AS merchantId, merchants.name AS merchant, stores.name AS store,
       active, stores.created_at AS createdAt
     FROM stores JOIN merchants ON merchants.id = stores.merchant_id`;
  const selectDetails = connection.prepare<[string], DetailsRow>(`${detailsSql} WHERE stores.id = ?`);
  // Ordered by rowid, because stores that are created together have the same time.
  const selectAll = connection.prepare<[], DetailsRow>(`${detailsSql} ORDER BY stores.rowid`);
  const updateName = connection.prepare<Pick<Merchant, "id" | "name">>(
    "UPDATE stores SET name = @name WHERE id = @id",
  );
  const updateMerchantName = connection.prepare<Pick<Merchant, "id" | "name">>(
    "UPDATE merchants SET name = @name WHERE id = @id",
  );
  const names = cacheBriefly(scheduler, (storeId): StoreNames | undefined => selectNames.get(storeId));

  return {
    first: (): StoreWithMerchant | undefined => selectFirst.get(),

    names,

    details: (storeId: string): StoreDetails | undefined => {
      const row = selectDetails.get(storeId);
      return row && detailsOf(row);
    },

    all: (): StoreDetails[] => selectAll.all().map(detailsOf),

    rename: (id: string, name: string): void => {
      names.forget();
      updateName.run({ id, name });
    },

    renameMerchant: (id: string, name: string): void => {
      names.forget();
      updateMerchantName.run({ id, name });
    },
  };
}

function detailsOf(row: DetailsRow): StoreDetails {
  return { ...row, active: row.active === 1 };
}
