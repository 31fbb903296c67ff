import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

export type AssumptionUse = {
  readonly storeId: string;
  readonly decision: number;
  readonly firstRequestId: string;
  readonly firstAt: number;
};

export const ASSUMPTION_USES_DDL = `
CREATE TABLE assumption_uses (
  store_id         TEXT NOT NULL REFERENCES stores (id),
  decision         INTEGER NOT NULL,
  first_request_id TEXT NOT NULL,
  first_at         INTEGER NOT NULL,
  PRIMARY KEY (store_id, decision)
) STRICT, WITHOUT ROWID;
`;

const COLUMNS = columnsOf<AssumptionUse>("assumption_uses", ASSUMPTION_USES_DDL);

export function assumptionUsesTable(connection: Connection) {
  const insert = connection.prepare<AssumptionUse>(
    `INSERT INTO assumption_uses ${COLUMNS.values} ON CONFLICT DO NOTHING`,
  );
  const selectOf = connection.prepare<[string], AssumptionUse>(
    `SELECT ${COLUMNS.select} FROM assumption_uses WHERE store_id = ? ORDER BY decision`,
  );
  return {
    note: (use: AssumptionUse): void => {
      insert.run(use);
    },

    of: (storeId: string): AssumptionUse[] => selectOf.all(storeId),
  };
}
