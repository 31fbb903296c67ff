import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

export const EXPLORE_LEASES_DDL = `
CREATE TABLE explore_leases (
  -- Not a reference: a lease can outlive its store, and is in no snapshot.
  store_id TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
`;

export const LEASE_EFFECTS_DDL = `
CREATE TABLE lease_effects (
  lease_id TEXT NOT NULL,
  -- Not a reference: an effect can outlive its store, and is in no snapshot.
  store_id TEXT NOT NULL,
  -- The fault that was added; empty: all faults of the store, and its moved clock.
  fault_id TEXT NOT NULL,
  PRIMARY KEY (lease_id, fault_id)
) STRICT, WITHOUT ROWID;
INSERT INTO lease_effects SELECT store_id, store_id, '' FROM explore_leases;
DROP TABLE explore_leases;
`;

type LeaseEffect = Readonly<Record<"leaseId" | "storeId" | "faultId", string>>;

const COLUMNS = columnsOf<LeaseEffect>("lease_effects", LEASE_EFFECTS_DDL);

export function leaseEffectsTable(connection: Connection) {
  const insert = connection.prepare<LeaseEffect>(`INSERT INTO lease_effects ${COLUMNS.values}`);
  const remove = connection.prepare<[string]>("DELETE FROM lease_effects WHERE lease_id = ?");
  const selectAll = connection.prepare<[], LeaseEffect>(`SELECT ${COLUMNS.select} FROM lease_effects`);
  return {
    note: (effect: LeaseEffect): void => void insert.run(effect),
    end: (leaseId: string): void => void remove.run(leaseId),
    all: (): readonly LeaseEffect[] => selectAll.all(),
  };
}
