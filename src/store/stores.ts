import type { StoreFacts } from "../core/checkout/checkout.ts";
import type { StoreClock } from "../core/clock.ts";
import type { Connection } from "./connection/database.ts";
import type { Scheduler } from "./connection/group-commit.ts";
import { remembered } from "./connection/remembered.ts";

type StoreRow = { readonly id: string; readonly merchant_id: string };
type DetailRow = StoreRow & NameRow & { readonly active: number; readonly created_at: number };
type NameRow = { readonly merchant: string; readonly store: string };
type FactRow = {
  readonly active: number;
  readonly clock_offset: number;
  readonly clock_frozen_at: number | null;
  readonly payment_methods: string | null;
  readonly currencies: string | null;
};

/** A store with its merchant. */
export type StoreIdentity = { readonly id: string; readonly merchantId: string };

/** What customers know a store by: its merchant's name and its own. */
export type StoreNames = NameRow;

/** A store with its names, whether it is active, and since when it is there. */
export type StoreDetails = StoreIdentity &
  StoreNames & { readonly active: boolean; readonly createdAt: number };

/** What a create has to know of a store. */
export type StoreRecord = StoreFacts & { readonly clock: StoreClock };

/** The DDL of merchants and their stores. */
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
`;

/** Merchants, stores and what stores may do. */
export function storesTable(connection: Connection, scheduler: Scheduler) {
  const insertMerchant = connection.prepare<[string, string, number]>(
    "INSERT INTO merchants (id, name, created_at) VALUES (?, ?, ?)",
  );
  const insertStore = connection.prepare<[string, string, string, number]>(
    "INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES (?, ?, ?, 1, ?)",
  );
  const selectFirst = connection.prepare<[], StoreRow>(
    "SELECT id, merchant_id FROM stores ORDER BY created_at, id LIMIT 1",
  );
  const selectDetails = connection.prepare<[string], DetailRow>(
    `SELECT stores.id, merchant_id, merchants.name AS merchant, stores.name AS store, active, stores.created_at
     FROM stores JOIN merchants ON merchants.id = stores.merchant_id WHERE stores.id = ?`,
  );
  const updateActive = connection.prepare<[number, string]>("UPDATE stores SET active = ? WHERE id = ?");
  const selectFacts = connection.prepare<[string], FactRow>(
    `SELECT active, clock_offset, clock_frozen_at,
       (SELECT group_concat(name, ' ') FROM capabilities
        WHERE store_id = stores.id AND kind = 'payment_method' AND active = 1) AS payment_methods,
       (SELECT group_concat(name, ' ') FROM capabilities
        WHERE store_id = stores.id AND kind = 'currency' AND active = 1) AS currencies
     FROM stores WHERE id = ?`,
  );

  const facts = remembered(scheduler, (storeId): StoreRecord | undefined => {
    const row = selectFacts.get(storeId);
    return row && recordOf(storeId, row);
  });

  return {
    insertMerchant: (merchant: { id: string; name: string; createdAt: number }): void => {
      insertMerchant.run(merchant.id, merchant.name, merchant.createdAt);
    },

    /** Adds an active store, which has no capability yet. */
    insert: (store: StoreIdentity & { name: string; createdAt: number }): void => {
      insertStore.run(store.id, store.merchantId, store.name, store.createdAt);
      facts.forget();
    },

    /** The oldest store, which `sandbox start` shows; undefined in a new file. */
    first: (): StoreIdentity | undefined => {
      const row = selectFirst.get();
      return row && { id: row.id, merchantId: row.merchant_id };
    },

    names: (storeId: string): StoreNames | undefined => selectDetails.get(storeId),

    /** All that a store is, as it stands in this moment; undefined where there is none. */
    details: (storeId: string): StoreDetails | undefined => {
      const row = selectDetails.get(storeId);
      return row && detailsOf(row);
    },

    /** Switches a store on or off. */
    setActive: (storeId: string, active: boolean): void => {
      updateActive.run(active ? 1 : 0, storeId);
      facts.forget();
    },

    /** The facts that a create is decided by. */
    facts,
  };
}

function detailsOf(row: DetailRow): StoreDetails {
  const { id, merchant_id: merchantId, merchant, store, active, created_at: createdAt } = row;
  return { id, merchantId, merchant, store, active: active === 1, createdAt };
}

function recordOf(storeId: string, row: FactRow): StoreRecord {
  return {
    id: storeId,
    active: row.active === 1,
    paymentMethods: row.payment_methods?.split(" ") ?? [],
    currencies: row.currencies?.split(" ") ?? [],
    clock: { offsetMs: row.clock_offset, frozenAt: row.clock_frozen_at },
  };
}
