import type { StoreFacts } from "../core/checkout.ts";
import type { StoreClock } from "../core/clock.ts";
import type { Connection } from "./database.ts";
import type { Scheduler } from "./group-commit.ts";
import { remembered } from "./remembered.ts";

type StoreRow = { readonly id: string; readonly merchant_id: string };
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

/** What a create has to know of a store. */
export type StoreRecord = StoreFacts & { readonly clock: StoreClock };

/** Merchants, stores and what stores may do. */
export function storesTable(connection: Connection, scheduler: Scheduler) {
  const insertMerchant = connection.prepare<[string, string, number]>(
    "INSERT INTO merchants (id, name, created_at) VALUES (?, ?, ?)",
  );
  const insertStore = connection.prepare<[string, string, string, number]>(
    "INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES (?, ?, ?, 1, ?)",
  );
  const insertCapability = connection.prepare<[string, string, string]>(
    "INSERT INTO capabilities (store_id, kind, name, active) VALUES (?, ?, ?, 1)",
  );
  const selectFirst = connection.prepare<[], StoreRow>(
    "SELECT id, merchant_id FROM stores ORDER BY created_at, id LIMIT 1",
  );
  const selectNames = connection.prepare<[string], NameRow>(
    `SELECT merchants.name AS merchant, stores.name AS store
     FROM stores JOIN merchants ON merchants.id = stores.merchant_id WHERE stores.id = ?`,
  );
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
    if (row === undefined) return undefined;
    return {
      id: storeId,
      active: row.active === 1,
      paymentMethods: row.payment_methods?.split(" ") ?? [],
      currencies: row.currencies?.split(" ") ?? [],
      clock: { offsetMs: row.clock_offset, frozenAt: row.clock_frozen_at },
    };
  });

  return {
    insertMerchant: (merchant: { id: string; name: string; createdAt: number }): void => {
      insertMerchant.run(merchant.id, merchant.name, merchant.createdAt);
    },

    /** Adds an active store with the capabilities it starts with. */
    insert: (
      store: StoreIdentity & Omit<StoreFacts, "active"> & { name: string; createdAt: number },
    ): void => {
      facts.forget();
      insertStore.run(store.id, store.merchantId, store.name, store.createdAt);
      for (const name of store.paymentMethods) insertCapability.run(store.id, "payment_method", name);
      for (const name of store.currencies) insertCapability.run(store.id, "currency", name);
    },

    /** The oldest store, which `sandbox start` shows; undefined in a new file. */
    first: (): StoreIdentity | undefined => {
      const row = selectFirst.get();
      return row && { id: row.id, merchantId: row.merchant_id };
    },

    names: (storeId: string): StoreNames | undefined => selectNames.get(storeId),

    /** The facts that a create is decided by. */
    facts,
  };
}
