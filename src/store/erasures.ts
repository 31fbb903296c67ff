import type { Connection } from "./connection/connection.ts";

/**
 * A row of `resets` lets one transaction delete rows of a store; its deferred reference makes a commit with the row
 * fail. A row of `erasures` marks a store whose deletion spans transactions.
 */
export const ERASURES_DDL = `
CREATE TABLE committed_resets (store_id TEXT PRIMARY KEY CHECK (false)) STRICT;
CREATE TABLE resets (
  store_id TEXT PRIMARY KEY REFERENCES committed_resets (store_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE TABLE erasures (
  store_id TEXT PRIMARY KEY REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('reset', 'delete'))
) STRICT, WITHOUT ROWID;
-- The highest position of an event that may have been deleted: new events have higher positions.
CREATE TABLE event_floor (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  position INTEGER NOT NULL
) STRICT;
`;

export type Erasure = { readonly storeId: string; readonly kind: "reset" | "delete" };

const deleteRows = (table: string, condition = "store_id = ? LIMIT ?"): string =>
  `DELETE FROM ${table} WHERE ${condition}`;

/** The fixed order makes all statements of a step select the same rows. */
const NEXT_CHECKOUTS = "store_id = ? ORDER BY rowid LIMIT ?";
const NEXT_DELIVERIES =
  "endpoint_id IN (SELECT id FROM endpoints WHERE store_id = ?) ORDER BY endpoint_id, state, rowid LIMIT ?";

/**
 * Tables come before the tables they refer to. The last statement of each step must delete from its main table: the
 * count shows whether rows remain.
 */
export const HISTORY_STEPS: readonly (readonly string[])[] = [
  ...["settlements", "idempotency_uses", "assumption_uses", "faults"].map((table) => [deleteRows(table)]),
  [
    deleteRows("delivery_attempts", `delivery_id IN (SELECT id FROM deliveries WHERE ${NEXT_DELIVERIES})`),
    deleteRows("deliveries", NEXT_DELIVERIES),
  ],
  [deleteRows("events")],
  [
    // Deleted in the order of their checkouts, which are close together on disk; in the order of keys, each delete
    // would touch another page.
    ...["late_results", "page_views", "attempts", "idempotency_keys"].map((table) =>
      deleteRows(table, `checkout_id IN (SELECT id FROM checkouts WHERE ${NEXT_CHECKOUTS})`),
    ),
    deleteRows("checkouts", NEXT_CHECKOUTS),
  ],
  ...["drills", "waivers", "explorations", "admin_acts"].map((table) => [deleteRows(table)]),
];

/** `replace`: the caller then writes the store again from a snapshot; tokens and drill keys stay valid. */
type ErasureEnd = Erasure["kind"] | "replace";

/** Not part of `replace`, because snapshots contain no tokens. */
const DELETE_TOKENS = "DELETE FROM tokens WHERE store_id = ?";

const DELETE_SETUP =
  "signing_secrets endpoints credentials prices capabilities return_origins held_stores erasures"
    .split(" ")
    .map((table) => `DELETE FROM ${table} WHERE store_id = ?`);
const DELETE_STORE = "DELETE FROM stores WHERE id = ?";

export const FINAL_STATEMENTS: Readonly<Record<ErasureEnd, readonly string[]>> = {
  reset: [
    "UPDATE endpoints SET failing_since = NULL WHERE store_id = ?",
    "UPDATE stores SET clock_offset = 0, clock_frozen_at = NULL WHERE id = ?",
    "DELETE FROM erasures WHERE store_id = ?",
  ],
  delete: [DELETE_TOKENS, ...DELETE_SETUP, DELETE_STORE],
  replace: [
    ...DELETE_SETUP.map((sql) => (sql.includes(" credentials ") ? `${sql} AND for_drill = 0` : sql)),
    DELETE_STORE,
  ],
};

export const DELETE_MERCHANT_WITHOUT_STORES =
  "DELETE FROM merchants WHERE id = ? AND NOT EXISTS (SELECT 1 FROM stores WHERE merchant_id = merchants.id)";

const BATCH_ROWS = 500;

export function erasuresTable(connection: Connection, notifyChange: () => void) {
  const prepareForStore = (sql: string) => connection.prepare<[string]>(sql);
  const selectAll = connection.prepare<[], Erasure>("SELECT store_id AS storeId, kind FROM erasures");
  const begin = connection.prepare<Erasure>(
    `INSERT INTO erasures (store_id, kind) VALUES (@storeId, @kind)
     ON CONFLICT (store_id) DO UPDATE SET kind = excluded.kind WHERE kind = 'reset'`,
  );
  const raiseEventFloor = connection.prepare(
    `INSERT INTO event_floor (id, position) SELECT 1, max(position) FROM events HAVING max(position) IS NOT NULL
     ON CONFLICT (id) DO UPDATE SET position = max(position, excluded.position)`,
  );
  const allowDeletion = prepareForStore("INSERT INTO resets (store_id) VALUES (?)");
  const forbidDeletion = prepareForStore("DELETE FROM resets WHERE store_id = ?");
  const historySteps = HISTORY_STEPS.map((step) =>
    step.map((sql) => connection.prepare<[string, number]>(sql)),
  );
  const selectMerchant = connection
    .prepare<[string], string>("SELECT merchant_id FROM stores WHERE id = ?")
    .pluck();
  const deleteMerchant = prepareForStore(DELETE_MERCHANT_WITHOUT_STORES);

  const eraseBatch = ({
    storeId,
    kind,
  }: Pick<Erasure, "storeId"> & { readonly kind: ErasureEnd }): boolean => {
    allowDeletion.run(storeId);
    const hasMoreRows = historySteps.some(
      (step) => step.map((sql) => sql.run(storeId, BATCH_ROWS).changes).at(-1) === BATCH_ROWS,
    );
    if (!hasMoreRows) {
      const merchantId = selectMerchant.get(storeId);
      for (const sql of FINAL_STATEMENTS[kind]) prepareForStore(sql).run(storeId);
      if (kind === "delete" && merchantId !== undefined) deleteMerchant.run(merchantId);
    }
    forbidDeletion.run(storeId);
    notifyChange();
    return !hasMoreRows;
  };

  return {
    pending: (): Erasure[] => selectAll.all(),

    /** A reset does not replace a pending deletion. */
    begin: (erasure: Erasure): void => {
      begin.run(erasure);
      raiseEventFloor.run();
      notifyChange();
    },

    eraseBatch,

    eraseAll: (storeId: string, kind: "delete" | "replace"): void => {
      raiseEventFloor.run();
      for (let isOver = false; !isOver;) isOver = eraseBatch({ storeId, kind });
    },
  };
}
