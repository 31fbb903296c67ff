import type { PayOutcome } from "../../core/checkout/reserved-order-id.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

export type DueItem = {
  readonly checkoutId: string;
  readonly dueAt: number;
  /** Null if the item is the expiry of the checkout. */
  readonly outcome: PayOutcome | null;
};

type Settlement = DueItem & { readonly storeId: string; readonly outcome: PayOutcome };

export const SETTLEMENTS_DDL = `
CREATE TABLE settlements (
  checkout_id TEXT PRIMARY KEY REFERENCES checkouts (id),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  outcome     TEXT NOT NULL CHECK (outcome IN ('succeeded', 'declined', 'failed', 'cancelled', 'expired')),
  due_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX due_settlements ON settlements (store_id, due_at, checkout_id);
`;

const COLUMNS = columnsOf<Settlement>("settlements", SETTLEMENTS_DDL);
const DUE_COLUMNS = COLUMNS.pick("checkoutId", "dueAt", "outcome");

export function settlementsTable(connection: Connection) {
  const insert = connection.prepare<Settlement>(`INSERT INTO settlements ${COLUMNS.values}`);
  const remove = connection.prepare<[string]>("DELETE FROM settlements WHERE checkout_id = ?");
  const selectOf = connection.prepare<[string], DueItem>(
    `SELECT ${DUE_COLUMNS} FROM settlements WHERE checkout_id = ?`,
  );
  const selectUntil = connection.prepare<
    { readonly storeId: string; readonly until: number; readonly limit: number },
    DueItem
  >(
    `SELECT * FROM (
       SELECT * FROM (
         SELECT ${DUE_COLUMNS} FROM settlements
         WHERE store_id = @storeId AND due_at <= @until ORDER BY due_at, checkout_id LIMIT @limit
       ) UNION ALL SELECT * FROM (
         SELECT id AS checkoutId, expires_at AS dueAt, NULL AS outcome FROM checkouts
         WHERE store_id = @storeId AND status IN ('created', 'pending') AND expires_at <= @until
         ORDER BY expires_at, id LIMIT @limit
       )
     ) ORDER BY dueAt, outcome IS NULL LIMIT @limit`,
  );
  const selectDue = (storeId: string, moment: number, limit: number): DueItem[] =>
    selectUntil.all({ storeId, until: moment, limit });

  return {
    insert: (settlement: Settlement): void => void insert.run(settlement),

    remove: (checkoutId: string): void => void remove.run(checkoutId),

    of: (checkoutId: string): DueItem | undefined => selectOf.get(checkoutId),

    next: (storeId: string): DueItem | undefined => selectDue(storeId, Number.MAX_SAFE_INTEGER, 1)[0],

    dueBy: selectDue,
  };
}
