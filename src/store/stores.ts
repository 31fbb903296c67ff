import type { StoreFacts } from "../core/checkout.ts";
import type { Connection } from "./database.ts";

type StoreRow = { readonly id: string; readonly merchant_id: string };
/** A store beside one of its active capabilities; a store without any has one row. */
type FactRow = {
  readonly active: number;
  readonly kind: "payment_method" | "currency" | null;
  readonly name: string | null;
};

/** A store with its merchant. */
export type StoreIdentity = { readonly id: string; readonly merchantId: string };

/** Merchants, stores and what stores may do. */
export function storesTable(connection: Connection) {
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
  const selectFacts = connection.prepare<[string], FactRow>(
    `SELECT stores.active, kind, capabilities.name FROM stores
     LEFT JOIN capabilities ON store_id = stores.id AND capabilities.active = 1 WHERE stores.id = ?`,
  );

  return {
    insertMerchant: (merchant: { id: string; name: string; createdAt: number }): void => {
      insertMerchant.run(merchant.id, merchant.name, merchant.createdAt);
    },

    /** Adds an active store with the capabilities it starts with. */
    insert: (
      store: StoreIdentity & Omit<StoreFacts, "active"> & { name: string; createdAt: number },
    ): void => {
      insertStore.run(store.id, store.merchantId, store.name, store.createdAt);
      for (const name of store.paymentMethods) insertCapability.run(store.id, "payment_method", name);
      for (const name of store.currencies) insertCapability.run(store.id, "currency", name);
    },

    /** The oldest store, which `sandbox start` shows; undefined in a new file. */
    first: (): StoreIdentity | undefined => {
      const row = selectFirst.get();
      return row && { id: row.id, merchantId: row.merchant_id };
    },

    /** The facts that a create is decided by. */
    facts: (storeId: string): StoreFacts | undefined => {
      const rows = selectFacts.all(storeId);
      const [store] = rows;
      if (store === undefined) return undefined;
      const named = (wanted: FactRow["kind"]): string[] =>
        rows.flatMap(({ kind, name }) => (kind === wanted && name !== null ? [name] : []));
      const paymentMethods = named("payment_method");
      return { id: storeId, active: store.active === 1, paymentMethods, currencies: named("currency") };
    },
  };
}
