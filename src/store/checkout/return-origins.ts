import type { Connection } from "../connection/database.ts";

/** An origin that customers of a store may be sent back to (decision 19). Times are milliseconds by the store's clock. */
export type ReturnOrigin = { readonly storeId: string; readonly origin: string; readonly createdAt: number };

/** The DDL of return origins. */
export const RETURN_ORIGINS_DDL = `
CREATE TABLE return_origins (
  store_id   TEXT NOT NULL REFERENCES stores (id),
  origin     TEXT NOT NULL CHECK (
               octet_length(origin) BETWEEN 11 AND 261
               AND origin NOT GLOB '*[^]a-z0-9:/.[-]*' AND origin NOT GLOB '*://*/*'
               AND origin NOT GLOB '*:' AND origin NOT GLOB '*:0*'
               AND (
                 origin GLOB 'https://*'
                 OR origin IN ('http://localhost', 'http://127.0.0.1', 'http://[::1]')
                 OR rtrim(origin, '0123456789') IN ('http://localhost:', 'http://127.0.0.1:', 'http://[::1]:')
               )
             ),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (store_id, origin)
) STRICT;
`;

/** Where the customers of each store may be sent back to (decision 19). */
export function returnOriginsTable(connection: Connection) {
  const insert = connection.prepare<ReturnOrigin>(
    `INSERT INTO return_origins (store_id, origin, created_at) VALUES (@storeId, @origin, @createdAt)
     ON CONFLICT DO NOTHING`,
  );
  const remove = connection.prepare<Pick<ReturnOrigin, "storeId" | "origin">>(
    "DELETE FROM return_origins WHERE store_id = @storeId AND origin = @origin",
  );
  // By rowid and not by time: a store's clock can be put back.
  const select = connection
    .prepare<[string], string>("SELECT origin FROM return_origins WHERE store_id = ? ORDER BY rowid")
    .pluck();
  const selectWithTime = connection.prepare<[string], ReturnOrigin>(
    `SELECT store_id AS storeId, origin, created_at AS createdAt FROM return_origins
     WHERE store_id = ? ORDER BY rowid`,
  );

  return {
    /** Adds an origin; one that is there already keeps its place. */
    insert: (origin: ReturnOrigin): void => {
      insert.run(origin);
    },

    /** The origins of a store, in the order in which they were added. */
    list: (storeId: string): string[] => select.all(storeId),

    /** The same, with the time at which each was added. */
    of: (storeId: string): ReturnOrigin[] => selectWithTime.all(storeId),

    /** Removes an origin; false if the store does not have it. */
    remove: (storeId: string, origin: string): boolean => remove.run({ storeId, origin }).changes > 0,
  };
}
