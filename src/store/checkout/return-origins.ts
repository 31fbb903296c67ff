import type { ReturnOrigin } from "../../core/checkout/return-origin.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

type RegisteredOrigin = ReturnOrigin & { readonly storeId: string; readonly createdAt: number };

export const RETURN_ORIGINS_DDL = `
CREATE TABLE return_origins (
  store_id   TEXT NOT NULL REFERENCES stores (id),
  origin     TEXT NOT NULL CHECK (
               length(CAST(origin AS BLOB)) BETWEEN 11 AND 261
               AND origin NOT GLOB '*[^]a-z0-9:/.[-]*' AND origin NOT GLOB '*://*/*'
               AND origin NOT GLOB '*:' AND origin NOT GLOB '*:0*'
               AND (
                 origin GLOB 'https://*'
                 OR origin IN ('http://localhost', 'http://127.0.0.1', 'http://[::1]')
                 OR rtrim(origin, '0123456789') IN ('http://localhost:', 'http://127.0.0.1:', 'http://[::1]:')
               )
             ),
  path       TEXT NOT NULL DEFAULT '/' CHECK (
               length(CAST(path AS BLOB)) BETWEEN 1 AND 256 AND instr(path, char(0)) = 0
               AND path GLOB '/*' AND path NOT GLOB '//*' AND path NOT GLOB '*[^!-~]*' AND path NOT GLOB '*[?#\\]*'
             ),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (store_id, origin)
) STRICT;
`;

const COLUMNS = columnsOf<RegisteredOrigin>("return_origins", RETURN_ORIGINS_DDL);

export function returnOriginsTable(connection: Connection) {
  const put = connection.prepare<RegisteredOrigin>(
    `INSERT INTO return_origins ${COLUMNS.values} ON CONFLICT DO UPDATE SET path = excluded.path`,
  );
  const remove = connection.prepare<Pick<RegisteredOrigin, "storeId" | "origin">>(
    "DELETE FROM return_origins WHERE store_id = @storeId AND origin = @origin",
  );
  // By rowid instead of created_at, because a store's clock can be set back.
  const select = connection.prepare<[string], ReturnOrigin>(
    "SELECT origin, path FROM return_origins WHERE store_id = ? ORDER BY rowid",
  );
  const selectWithTime = connection.prepare<[string], RegisteredOrigin>(
    `SELECT ${COLUMNS.select} FROM return_origins WHERE store_id = ? ORDER BY rowid`,
  );

  return {
    /** If the origin exists, replaces only its path; the origin keeps its place in the list. */
    put: (origin: RegisteredOrigin): void => void put.run(origin),

    list: (storeId: string): ReturnOrigin[] => select.all(storeId),

    listWithTimes: (storeId: string): RegisteredOrigin[] => selectWithTime.all(storeId),

    remove: (storeId: string, origin: string): boolean => remove.run({ storeId, origin }).changes > 0,
  };
}
