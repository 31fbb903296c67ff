// Every table with rows of a store needs a step here that deletes the rows by an index; test/store/erasure.test.ts
// requires the step and the index. See also store/snapshot/rows.ts (tables without a column store_id).
import type { Connection } from "./connection/connection.ts";

/**
 * The DDL of resets and erasures. A row of `resets` names a store whose rows the open transaction may delete. It cannot
 * be committed, because its deferred reference is to a row that cannot exist. A row of `erasures` names a store whose
 * rows are being deleted, in several transactions. Every table has indexes to the rows of a store, and from a deleted
 * row to the rows that refer to it, so the cost of a deletion depends only on the store itself.
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

/** A store whose rows are being deleted. `reset`: its history; `delete`: also the store itself. */
export type Erasure = { readonly storeId: string; readonly kind: "reset" | "delete" };

/** A deletion of rows of a store: `some` takes a store id and a limit, `all` a store id. */
type Deletion = { readonly some: string; readonly all: string };

/** Deletes rows of a table, and first the rows that depend on them (`parts`). */
type Step = { readonly parts: readonly Deletion[]; readonly own: Deletion };

/** The deletion of a statement with a limit. */
function deletion(some: string): Deletion {
  return { some, all: some.replace(/( ORDER BY rowid)? LIMIT \?/, "") };
}

/** A step for a table whose rows have no dependent rows. */
function stepWithoutParts(table: string): Step {
  return { parts: [], own: deletion(`DELETE FROM ${table} WHERE store_id = ? LIMIT ?`) };
}

/**
 * The deletion of rows of a store's checkouts. The scalar subquery of `all` skips an empty table; SQLite would turn
 * EXISTS into a join. SQLite compares it for each checkout of the store, so `some` does without.
 */
function deletionOfCheckouts(table: string): Deletion {
  const before = `DELETE FROM ${table} WHERE checkout_id IN`;
  const checkouts = "SELECT id FROM checkouts WHERE store_id = ?";
  const isFilled = `(SELECT 1 FROM ${table} WHERE checkout_id >= '' LIMIT 1) IS NOT NULL`;
  return {
    some: `${before} (${checkouts} ORDER BY rowid LIMIT ?)`,
    all: `${before} (${checkouts} AND ${isFilled})`,
  };
}

/**
 * The steps that delete the history of a store, each table before the tables that it refers to. A step deletes at
 * most the given number of its rows, and first the rows that depend on them.
 */
export const HISTORY_STEPS: readonly Step[] = [
  ...["settlements", "idempotency_uses", "assumption_uses", "faults"].map(stepWithoutParts),
  {
    parts: [
      deletion(
        `DELETE FROM delivery_attempts WHERE delivery_id IN
         (SELECT id FROM deliveries WHERE store_id = ? ORDER BY rowid LIMIT ?)`,
      ),
    ],
    own: deletion("DELETE FROM deliveries WHERE store_id = ? ORDER BY rowid LIMIT ?"),
  },
  stepWithoutParts("events"),
  {
    // In the order of their index, idempotency keys are scattered over all pages; in the order of their checkouts, they
    // are deleted page by page.
    parts: ["late_results", "page_views", "attempts", "idempotency_keys"].map(deletionOfCheckouts),
    own: deletion("DELETE FROM checkouts WHERE store_id = ? ORDER BY rowid LIMIT ?"),
  },
  ...["drills", "waivers", "explorations", "admin_acts"].map(stepWithoutParts),
];

/** Statements for the transaction that deletes the last row of the history; each takes a store id. */
export const FINAL_STATEMENTS: Readonly<Record<Erasure["kind"], readonly string[]>> = {
  reset: [
    "UPDATE endpoints SET failing_since = NULL WHERE store_id = ?",
    "UPDATE stores SET clock_offset = 0, clock_frozen_at = NULL WHERE id = ?",
    "DELETE FROM erasures WHERE store_id = ?",
  ],
  delete: [
    ...[
      "signing_secrets",
      "endpoints",
      "credentials",
      "prices",
      "capabilities",
      "return_origins",
      "held_stores",
      "erasures",
    ].map((table) => `DELETE FROM ${table} WHERE store_id = ?`),
    "DELETE FROM stores WHERE id = ?",
  ],
};

/** Deletes the merchant of a deleted store, if it was the merchant's last store. */
export const LONE_MERCHANT =
  "DELETE FROM merchants WHERE id = ? AND NOT EXISTS (SELECT 1 FROM stores WHERE merchant_id = merchants.id)";

/** The deletion of all rows of a store within one transaction, for a caller that then writes new rows. */
export type StoreClearer = {
  /**
   * Deletes the rows. If the store is replaced, its drills continue: returns their API keys, for `putBack`. Otherwise
   * returns none.
   */
  readonly clear: (storeId: string, kind: "replaced" | "gone") => readonly DrillKey[];
  readonly putBack: (keys: readonly DrillKey[]) => void;
};

type DrillKey = Readonly<Record<string, unknown>>;

/** The approximate number of rows deleted in one transaction; other writes wait for the transaction. */
const ROWS_AT_ONCE = 2500;
/**
 * Number of rows with dependent rows that are deleted at a time; each delivery, for example, has a row for each
 * attempt.
 */
const ROWS_WITH_PARTS_AT_ONCE = 100;
const ROWS_WITHOUT_PARTS_AT_ONCE = 500;
/** If a step has at most this many rows, they are deleted without a LIMIT, in two thirds of the time. */
const FEW_ROWS = 500;

/** The stores that are being erased. `changed` is called after each change. */
export function erasuresTable(connection: Connection, changed: () => void) {
  const selectPending = connection.prepare<[], Erasure>("SELECT store_id AS storeId, kind FROM erasures");
  const statements = prepare(connection);

  return {
    /** The stores that are being erased; after a start, the stores whose erasure was interrupted. */
    pending: (): Erasure[] => selectPending.all(),

    /**
     * Begins an erasure. After its commit, nothing happens in the store until the last row is deleted. A pending
     * deletion of the store is not reduced to a reset.
     */
    begin: (erasure: Erasure): void => {
      statements.begin.run(erasure);
      statements.keepPositions.run();
      changed();
    },

    /**
     * Deletes rows of these stores, until `isEnough` returns true or the limit of a transaction is reached. Returns the
     * unfinished erasures.
     */
    eraseSome: (erasures: readonly Erasure[], isEnough = (): boolean => false): readonly Erasure[] => {
      let left = ROWS_AT_ONCE;
      const unfinished = erasures.filter((erasure) => {
        if (left > 0) left = eraseFrom(statements, erasure, { most: left, isEnough });
        return left <= 0;
      });
      changed();
      return unfinished;
    },
  };
}

/** Prepares the statements that delete all rows of a store within the caller's transaction. */
export function createStoreClearer(connection: Connection): StoreClearer {
  const statements = {
    ...prepare(connection),
    selectDrillKeys: connection.prepare<[string], DrillKey>(
      `SELECT ${CREDENTIAL_COLUMNS} FROM credentials WHERE store_id = ? AND for_drill = 1`,
    ),
    insertDrillKey: connection.prepare<DrillKey>(
      `INSERT INTO credentials (${CREDENTIAL_COLUMNS}) VALUES (${CREDENTIAL_COLUMNS.replaceAll(/\w+/g, "@$&")})`,
    ),
  };
  return {
    clear: (storeId, kind) => {
      const { keepPositions, allowDeletion, forbidDeletion, history, final, selectDrillKeys } = statements;
      const drillKeys = kind === "replaced" ? selectDrillKeys.all(storeId) : [];
      keepPositions.run();
      allowDeletion.run(storeId);
      for (const { few } of history) for (const step of few.steps) step.run(storeId);
      for (const last of final.delete) last.run(storeId);
      forbidDeletion.run(storeId);
      return drillKeys;
    },
    putBack: (keys) => {
      for (const key of keys) statements.insertDrillKey.run(key);
    },
  };
}

const CREDENTIAL_COLUMNS = "id, store_id, key_hash, last_four, scopes, created_at, revoked_at, for_drill";

type Statements = ReturnType<typeof prepare>;

/**
 * Deletes rows of a store, and ends its erasure after the last row. Returns how many more rows the transaction may
 * delete; 0 or less if the erasure has not ended.
 */
function eraseFrom(
  statements: Statements,
  { storeId, kind }: Erasure,
  { most, isEnough }: { readonly most: number; readonly isEnough: () => boolean },
): number {
  let left = most;
  const leftAfter = (gone: number): number => (isEnough() ? 0 : left - gone);
  statements.allowDeletion.run(storeId);
  for (const { parts, erase, few } of statements.history) {
    if (left <= 0) break;
    const atOnce = Math.min(left, FEW_ROWS);
    if (few.count(storeId, atOnce) <= atOnce) {
      left = leftAfter(few.steps.reduce((sum, step) => sum + step.run(storeId).changes, 0));
      continue;
    }
    for (let gone = 0, wanted = 0; gone === wanted && left > 0;) {
      wanted = Math.min(left, parts.length === 0 ? ROWS_WITHOUT_PARTS_AT_ONCE : ROWS_WITH_PARTS_AT_ONCE);
      const ofOthers = parts.reduce((sum, part) => sum + part.run(storeId, wanted).changes, 0);
      gone = erase.run(storeId, wanted).changes;
      left = leftAfter(gone + ofOthers);
    }
  }
  if (left > 0) {
    const merchantId = statements.merchantOf.get(storeId);
    for (const last of statements.final[kind]) last.run(storeId);
    if (kind === "delete" && merchantId !== undefined) statements.loneMerchant.run(merchantId);
  }
  statements.forbidDeletion.run(storeId);
  return left;
}

/** The statements of a step without their limits, for a store with few rows; `count` stops at one above its limit. */
function fewOf(connection: Connection, { parts, own }: Step) {
  const [, table = ""] = /^DELETE FROM (\w+)/.exec(own.all) ?? [];
  const select = connection
    .prepare<[string, number], number>(
      `SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE store_id = ? LIMIT ?)`,
    )
    .pluck();
  return {
    count: (storeId: string, most: number): number => select.get(storeId, most + 1) ?? 0,
    steps: [...parts, own].map(({ all }) => connection.prepare<[string]>(all)),
  };
}

function prepare(connection: Connection) {
  const ofStore = (sql: string) => connection.prepare<[string]>(sql);
  const some = (sql: string) => connection.prepare<[string, number]>(sql);
  return {
    begin: connection.prepare<Erasure>(
      `INSERT INTO erasures (store_id, kind) VALUES (@storeId, @kind)
       ON CONFLICT (store_id) DO UPDATE SET kind = excluded.kind WHERE kind = 'reset'`,
    ),
    keepPositions: connection.prepare(
      `INSERT INTO event_floor (id, position) SELECT 1, max(position) FROM events HAVING max(position) IS NOT NULL
       ON CONFLICT (id) DO UPDATE SET position = max(position, excluded.position)`,
    ),
    allowDeletion: ofStore("INSERT INTO resets (store_id) VALUES (?)"),
    forbidDeletion: ofStore("DELETE FROM resets WHERE store_id = ?"),
    history: HISTORY_STEPS.map((step) => ({
      parts: step.parts.map((part) => some(part.some)),
      erase: some(step.own.some),
      few: fewOf(connection, step),
    })),
    merchantOf: connection.prepare<[string], string>("SELECT merchant_id FROM stores WHERE id = ?").pluck(),
    final: { reset: FINAL_STATEMENTS.reset.map(ofStore), delete: FINAL_STATEMENTS.delete.map(ofStore) },
    loneMerchant: ofStore(LONE_MERCHANT),
  };
}
