import type { Capability } from "../core/checkout/checkout.ts";
import type { Connection } from "./connection/connection.ts";

type CapabilityRow = Omit<Capability, "active"> & { readonly active: number };

export const CAPABILITIES_DDL = `
CREATE TABLE capabilities (
  store_id TEXT NOT NULL REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('payment_method', 'currency')),
  name     TEXT NOT NULL,
  active   INTEGER NOT NULL CHECK (active IN (0, 1)),
  PRIMARY KEY (store_id, kind, name)
) STRICT, WITHOUT ROWID;
`;

export function capabilitiesTable(connection: Connection, notifyChange: () => void) {
  const selectOf = connection.prepare<[string], CapabilityRow>(
    "SELECT kind, name, active FROM capabilities WHERE store_id = ? ORDER BY kind DESC, name",
  );
  const update = connection.prepare<Omit<CapabilityRow, "kind"> & { readonly storeId: string }>(
    "UPDATE capabilities SET active = @active WHERE store_id = @storeId AND name = @name",
  );
  const insert = connection.prepare<Omit<Capability, "active"> & { readonly storeId: string }>(
    "INSERT INTO capabilities (store_id, kind, name, active) VALUES (@storeId, @kind, @name, 1)",
  );
  return {
    insert: (storeId: string, capability: Omit<Capability, "active">): void => {
      insert.run({ ...capability, storeId });
      notifyChange();
    },

    of: (storeId: string): Capability[] =>
      selectOf.all(storeId).map((row) => Object.assign(row, { active: row.active === 1 })),

    set: (storeId: string, { name, active }: Pick<Capability, "name" | "active">): void => {
      update.run({ storeId, name, active: Number(active) });
      notifyChange();
    },
  };
}
