import type { Connection } from "../connection/connection.ts";
import type { Waiver } from "../../core/readiness/shapes.ts";

type WaiverOfStore = Waiver & { readonly storeId: string };

export const WAIVERS_DDL = `
CREATE TABLE waivers (
  position INTEGER PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  drill    TEXT NOT NULL CHECK (drill IN ('webhook', 'duplicates', 'idempotency', 'browser_return')),
  reason   TEXT NOT NULL CHECK (length(CAST(reason AS BLOB)) BETWEEN 1 AND 2000),
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX waivers_of_store ON waivers (store_id, drill, position);
CREATE TRIGGER waivers_are_immutable BEFORE UPDATE ON waivers
  BEGIN SELECT RAISE(ABORT, 'a waiver is immutable'); END;
CREATE TRIGGER waivers_are_kept BEFORE DELETE ON waivers
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'a waiver is immutable'); END;
`;

export function waiversTable(connection: Connection) {
  const insert = connection.prepare<WaiverOfStore>(
    "INSERT INTO waivers (store_id, drill, reason, at) VALUES (@storeId, @drill, @reason, @at)",
  );
  const selectOf = connection.prepare<[string], Waiver>(
    `SELECT drill, reason, at FROM waivers
     WHERE position IN (SELECT max(position) FROM waivers WHERE store_id = ? GROUP BY drill) ORDER BY position`,
  );
  return {
    insert: (waiver: WaiverOfStore): void => {
      insert.run(waiver);
    },

    of: (storeId: string): Waiver[] => selectOf.all(storeId),
  };
}
