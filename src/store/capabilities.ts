import type { Capability } from "../core/checkout/checkout.ts";
import type { Connection } from "./connection/database.ts";

type CapabilityRow = Omit<Capability, "active"> & { readonly active: number };

/** The DDL of what stores may be paid with. */
export const CAPABILITIES_DDL = `
CREATE TABLE capabilities (
  store_id TEXT NOT NULL REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('payment_method', 'currency')),
  name     TEXT NOT NULL,
  active   INTEGER NOT NULL CHECK (active IN (0, 1)),
  PRIMARY KEY (store_id, kind, name)
) STRICT, WITHOUT ROWID;
`;

/** What each store may be paid with. `changed` hears of every change, for whoever remembers what a store may do. */
export function capabilitiesTable(connection: Connection, changed: () => void) {
  const selectOf = connection.prepare<[string], CapabilityRow>(
    "SELECT kind, name, active FROM capabilities WHERE store_id = ? ORDER BY kind DESC, name",
  );
  const update = connection.prepare<[number, string, string]>(
    "UPDATE capabilities SET active = ? WHERE store_id = ? AND name = ?",
  );
  const insert = connection.prepare<[string, string, string]>(
    "INSERT INTO capabilities (store_id, kind, name, active) VALUES (?, ?, ?, 1)",
  );
  return {
    /** Gives a store a capability, active. */
    insert: (storeId: string, { kind, name }: Omit<Capability, "active">): void => {
      insert.run(storeId, kind, name);
      changed();
    },

    /** The capabilities of a store, payment methods first. */
    of: (storeId: string): Capability[] =>
      selectOf.all(storeId).map(({ kind, name, active }) => ({ kind, name, active: active === 1 })),

    /** Switches one on or off; one that the store does not have stays away. */
    set: (storeId: string, { name, active }: Pick<Capability, "name" | "active">): void => {
      update.run(active ? 1 : 0, storeId, name);
      changed();
    },
  };
}
