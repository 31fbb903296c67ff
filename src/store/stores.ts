import type { StoreFacts } from "../core/checkout.ts";
import type { Connection } from "./database.ts";

type StoreRow = { readonly id: string; readonly merchant_id: string; readonly active: number };
type CapabilityRow = { readonly kind: "payment_method" | "currency"; readonly name: string };

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
    "SELECT id, merchant_id, active FROM stores ORDER BY created_at, id LIMIT 1",
  );
  const selectStore = connection.prepare<[string], StoreRow>("SELECT id, merchant_id, active FROM stores WHERE id = ?");
  const selectCapabilities = connection.prepare<[string], CapabilityRow>(
    "SELECT kind, name FROM capabilities WHERE store_id = ? AND active = 1",
  );

  return {
    insertMerchant: (merchant: { id: string; name: string; createdAt: number }): void => {
      insertMerchant.run(merchant.id, merchant.name, merchant.createdAt);
    },

    /** Adds an active store with the capabilities it starts with. */
    insert: (store: StoreIdentity & Omit<StoreFacts, "active"> & { name: string; createdAt: number }): void => {
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
      const row = selectStore.get(storeId);
      if (row === undefined) return undefined;
      const capabilities = selectCapabilities.all(storeId);
      const named = (kind: CapabilityRow["kind"]): string[] =>
        capabilities.filter((capability) => capability.kind === kind).map(({ name }) => name);
      return {
        id: row.id,
        active: row.active === 1,
        paymentMethods: named("payment_method"),
        currencies: named("currency"),
      };
    },
  };
}
