import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { Exploration } from "../../core/readiness/shapes.ts";

type ExplorationOfStore = Exploration & { readonly storeId: string };
type ExplorationRow = Omit<ExplorationOfStore, "places"> & { readonly places: string };

export const EXPLORATIONS_DDL = `
CREATE TABLE explorations (
  store_id  TEXT PRIMARY KEY NOT NULL REFERENCES stores (id),
  schedules INTEGER NOT NULL CHECK (schedules >= 1),
  broken    INTEGER NOT NULL CHECK (broken >= 0),
  places    TEXT NOT NULL,
  at        INTEGER NOT NULL
) STRICT;
`;

const COLUMNS = columnsOf<ExplorationRow>("explorations", EXPLORATIONS_DDL);

export function explorationsTable(connection: Connection) {
  const replace = connection.prepare<ExplorationRow>(`INSERT OR REPLACE INTO explorations ${COLUMNS.values}`);
  const selectOf = connection.prepare<[string], Omit<ExplorationRow, "storeId">>(
    `SELECT ${COLUMNS.pick("schedules", "broken", "places", "at")} FROM explorations WHERE store_id = ?`,
  );
  return {
    record: (exploration: ExplorationOfStore): void => {
      replace.run({ ...exploration, places: JSON.stringify(exploration.places) });
    },

    of: (storeId: string): Exploration | undefined => {
      const row = selectOf.get(storeId);
      return row && { ...row, places: JSON.parse(row.places) as Exploration["places"] };
    },
  };
}
