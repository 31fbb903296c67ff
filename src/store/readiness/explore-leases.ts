import type { Connection } from "../connection/connection.ts";

export const EXPLORE_LEASES_DDL = `
CREATE TABLE explore_leases (
  -- Not a reference: a lease can outlive its store, and is in no snapshot.
  store_id TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** The next start undoes the effects of an exploration if the sandbox is killed (decision 66). */
export function exploreLeasesTable(connection: Connection) {
  const insert = connection.prepare<[string]>(
    "INSERT INTO explore_leases (store_id) VALUES (?) ON CONFLICT DO NOTHING",
  );
  const remove = connection.prepare<[string]>("DELETE FROM explore_leases WHERE store_id = ?");
  const selectAll = connection
    .prepare<[], string>("SELECT store_id FROM explore_leases ORDER BY store_id")
    .pluck();
  return {
    begin: (storeId: string): void => void insert.run(storeId),
    end: (storeId: string): void => void remove.run(storeId),
    all: (): readonly string[] => selectAll.all(),
  };
}
