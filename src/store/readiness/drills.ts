import type { RecordedDrill } from "../../core/readiness/drills/drill.ts";
import type { DrillKind } from "../../core/readiness/names.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { DrillStep } from "../../core/readiness/drill-shapes.ts";

type DrillFilter = { readonly storeId: string; readonly kind: DrillKind | null; readonly limit: number };
type DrillRow = Omit<RecordedDrill, "passed" | "steps"> & { readonly passed: number; readonly steps: string };

export const DRILLS_DDL = `
CREATE TABLE drills (
  id       TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id TEXT NOT NULL REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('webhook', 'duplicates', 'idempotency', 'browser_return')),
  -- What the result is about: it no longer counts when that has changed.
  subject  TEXT NOT NULL,
  passed   INTEGER NOT NULL CHECK (passed IN (0, 1)),
  steps    TEXT NOT NULL,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX drills_of_store ON drills (store_id, kind, at);
CREATE TRIGGER drills_are_immutable BEFORE UPDATE ON drills
  BEGIN SELECT RAISE(ABORT, 'what a drill has shown is immutable'); END;
CREATE TRIGGER drills_are_kept BEFORE DELETE ON drills
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'what a drill has shown is immutable'); END;
`;

const COLUMNS = columnsOf<DrillRow>("drills", DRILLS_DDL);

export function drillsTable(connection: Connection) {
  const insert = connection.prepare<DrillRow>(`INSERT INTO drills ${COLUMNS.values}`);
  const selectMany = connection.prepare<DrillFilter, DrillRow>(
    `SELECT ${COLUMNS.select} FROM drills
     WHERE store_id = @storeId AND kind = ifnull(@kind, kind) ORDER BY rowid DESC LIMIT @limit`,
  );
  const selectLatest = connection.prepare<Pick<RecordedDrill, "storeId" | "kind">, DrillRow>(
    `SELECT ${COLUMNS.select} FROM drills WHERE store_id = @storeId AND kind = @kind ORDER BY rowid DESC LIMIT 1`,
  );
  const selectLatestOfEndpoint = connection.prepare<Pick<Endpoint, "id" | "storeId">, DrillRow>(
    `SELECT ${COLUMNS.select} FROM drills
     WHERE store_id = @storeId AND kind = 'webhook' AND subject GLOB @id || ' *' ORDER BY rowid DESC LIMIT 1`,
  );
  return {
    insert: (drill: RecordedDrill): void => {
      insert.run({ ...drill, passed: Number(drill.passed), steps: JSON.stringify(drill.steps) });
    },

    latest: (storeId: string, kind: DrillKind): RecordedDrill | undefined => {
      const row = selectLatest.get({ storeId, kind });
      return row && fromRow(row);
    },

    latestOfEndpoint: ({ id, storeId }: Pick<Endpoint, "id" | "storeId">): RecordedDrill | undefined => {
      const row = selectLatestOfEndpoint.get({ id, storeId });
      return row && fromRow(row);
    },

    list: (filter: DrillFilter): RecordedDrill[] => selectMany.all(filter).map(fromRow),
  };
}

function fromRow(row: DrillRow): RecordedDrill {
  return { ...row, passed: row.passed === 1, steps: JSON.parse(row.steps) as DrillStep[] };
}
