import type { Drill, DrillKind, DrillStep } from "../../core/readiness/drills/drill.ts";
import type { Endpoint } from "../../core/webhook/endpoint.ts";
import type { Connection } from "../connection/database.ts";

type DrillRow = Omit<Drill, "passed" | "steps"> & { readonly passed: number; readonly steps: string };

/** The DDL of results of drills. */
export const DRILLS_DDL = `
CREATE TABLE drills (
  id       TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id TEXT NOT NULL REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('webhook', 'idempotency', 'browser_return')),
  -- What it proves something of: it is void when that has changed.
  subject  TEXT NOT NULL,
  passed   INTEGER NOT NULL CHECK (passed IN (0, 1)),
  steps    TEXT NOT NULL,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX drills_of_store ON drills (store_id, kind, at);
CREATE TRIGGER drills_are_immutable BEFORE UPDATE ON drills
  BEGIN SELECT RAISE(ABORT, 'what a drill has shown is immutable'); END;
CREATE TRIGGER drills_are_kept BEFORE DELETE ON drills
  BEGIN SELECT RAISE(ABORT, 'what a drill has shown is immutable'); END;
`;

/** What drills have shown. */
export function drillsTable(connection: Connection) {
  const insert = connection.prepare<(string | number)[]>(
    "INSERT INTO drills (id, store_id, kind, subject, passed, steps, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const selectLatest = connection.prepare<[string, DrillKind], DrillRow>(
    `SELECT id, store_id AS storeId, kind, subject, passed, steps, at FROM drills
     WHERE store_id = ? AND kind = ? ORDER BY rowid DESC LIMIT 1`,
  );
  const selectAll = connection.prepare<[string, DrillKind | null, number], DrillRow>(
    `SELECT id, store_id AS storeId, kind, subject, passed, steps, at FROM drills
     WHERE store_id = ? AND kind = ifnull(?, kind) ORDER BY rowid DESC LIMIT ?`,
  );
  const selectLatestOf = connection.prepare<[string, DrillKind, string], DrillRow>(
    `SELECT id, store_id AS storeId, kind, subject, passed, steps, at FROM drills
     WHERE store_id = ? AND kind = ? AND subject GLOB ? || ' *' ORDER BY rowid DESC LIMIT 1`,
  );
  return {
    insert: ({ id, storeId, kind, subject, passed, steps, at }: Drill): void => {
      insert.run(id, storeId, kind, subject, passed ? 1 : 0, JSON.stringify(steps), at);
    },

    /** The last drill of a kind in a store; undefined where there was none. */
    latest: (storeId: string, kind: DrillKind): Drill | undefined => {
      const row = selectLatest.get(storeId, kind);
      return row && fromRow(row);
    },

    /** The last webhook drill of an endpoint, whatever its address and its secret were then. */
    latestOf: ({ id, storeId }: Pick<Endpoint, "id" | "storeId">): Drill | undefined => {
      const row = selectLatestOf.get(storeId, "webhook", id);
      return row && fromRow(row);
    },

    /** The drills of a store, newest first; of any kind where none is said. */
    list: (wanted: {
      readonly storeId: string;
      readonly kind: DrillKind | null;
      readonly limit: number;
    }): Drill[] => selectAll.all(wanted.storeId, wanted.kind, wanted.limit).map(fromRow),
  };
}

function fromRow(row: DrillRow): Drill {
  // Written by us as drill steps.
  return { ...row, passed: row.passed === 1, steps: JSON.parse(row.steps) as DrillStep[] };
}
