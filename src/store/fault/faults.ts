import type { Fault } from "../../core/fault/fault.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { Scheduler } from "../connection/group-commit.ts";
import { cacheBriefly } from "../connection/remembered.ts";

/** `action` has no CHECK, because new versions may add actions. */
export const FAULTS_DDL = `
CREATE TABLE faults (
  id            TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id      TEXT NOT NULL REFERENCES stores (id),
  action        TEXT NOT NULL,
  method        TEXT CHECK (method IN ('GET', 'POST')),
  path          TEXT,
  event_type    TEXT,
  event_id      TEXT REFERENCES events (id),
  endpoint_id   TEXT REFERENCES endpoints (id),
  order_id      TEXT,
  nth           INTEGER NOT NULL CHECK (nth >= 1),
  probability   REAL CHECK (probability BETWEEN 0 AND 1),
  seed          TEXT NOT NULL,
  status        INTEGER CHECK (status BETWEEN 400 AND 599),
  latency_ms    INTEGER CHECK (latency_ms >= 0),
  retry_after_s INTEGER CHECK (retry_after_s >= 0),
  times         INTEGER CHECK (times >= 1),
  until         INTEGER,
  matched       INTEGER NOT NULL CHECK (matched >= 0),
  applied       INTEGER NOT NULL CHECK (applied >= 0),
  created_at    INTEGER NOT NULL,
  CHECK (times IS NOT NULL OR until IS NOT NULL)
) STRICT;
CREATE INDEX faults_of_store ON faults (store_id);
CREATE INDEX faults_of_event ON faults (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX faults_of_endpoint ON faults (endpoint_id) WHERE endpoint_id IS NOT NULL;
`;

type FaultRow = Omit<Fault, "match"> & Fault["match"];
const COLUMNS = columnsOf<FaultRow>("faults", FAULTS_DDL);

export function faultsTable(connection: Connection, scheduler: Scheduler) {
  const selectOf = connection.prepare<[string], FaultRow>(
    `SELECT ${COLUMNS.select} FROM faults WHERE store_id = ? ORDER BY rowid`,
  );
  const insert = connection.prepare<FaultRow>(`INSERT INTO faults ${COLUMNS.values}`);
  const updateCounts = connection.prepare<Pick<Fault, "id" | "matched" | "applied">>(
    "UPDATE faults SET matched = @matched, applied = @applied WHERE id = @id",
  );
  const remove = connection.prepare<[string]>("DELETE FROM faults WHERE id = ?");
  const selectAll = connection.prepare<[], FaultRow>(`SELECT ${COLUMNS.select} FROM faults`);
  const of = cacheBriefly(scheduler, (storeId): readonly Fault[] => selectOf.all(storeId).map(fromRow));

  return {
    of,

    readUncached: (storeId: string): Fault[] => selectOf.all(storeId).map(fromRow),

    all: (): Fault[] => selectAll.all().map(fromRow),

    insert: ({ match, ...fault }: Fault): void => {
      of.forget();
      insert.run({ ...fault, ...match });
    },

    saveCounts: ({ id, matched, applied }: Fault): void => {
      of.forget();
      updateCounts.run({ id, matched, applied });
    },

    remove: (id: string): void => {
      of.forget();
      remove.run(id);
    },
  };
}

function fromRow({
  method,
  path,
  eventType,
  eventId,
  endpointId,
  orderId,
  nth,
  probability,
  ...fault
}: FaultRow): Fault {
  return { ...fault, match: { method, path, eventType, eventId, endpointId, orderId, nth, probability } };
}
