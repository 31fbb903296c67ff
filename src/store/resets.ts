import type { Connection } from "./connection/database.ts";

/** The trigger that keeps the rows of a table, but for those of a store that is being reset. */
function keptUnlessReset(table: string, said: string, storeOfRow = "OLD.store_id"): string {
  return `
DROP TRIGGER ${table}_are_kept;
CREATE TRIGGER ${table}_are_kept BEFORE DELETE ON ${table}
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = ${storeOfRow})
  BEGIN SELECT RAISE(ABORT, '${said}'); END;`;
}

/**
 * The migration that brings resets. A row of `resets` names a store whose rows may be deleted, and cannot be committed:
 * it refers to a row that cannot exist, which is checked at the commit. The indexes are those of references that a
 * deletion follows; without them it would take the square of the number of rows.
 */
export const RESETS_DDL = `
CREATE TABLE committed_resets (store_id TEXT PRIMARY KEY CHECK (false)) STRICT;
CREATE TABLE resets (
  store_id TEXT PRIMARY KEY REFERENCES committed_resets (store_id) DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE INDEX idempotency_keys_of_checkout ON idempotency_keys (checkout_id);
CREATE INDEX deliveries_of_checkout ON deliveries (checkout_id) WHERE checkout_id IS NOT NULL;
CREATE INDEX faults_of_event ON faults (event_id) WHERE event_id IS NOT NULL;
${[
  keptUnlessReset("checkouts", "checkouts are never deleted"),
  keptUnlessReset("events", "events are immutable"),
  keptUnlessReset("deliveries", "deliveries are audited"),
  keptUnlessReset(
    "delivery_attempts",
    "delivery attempts are audited",
    "(SELECT store_id FROM deliveries WHERE id = OLD.delivery_id)",
  ),
  keptUnlessReset("admin_acts", "the audit log is immutable"),
  keptUnlessReset("drills", "what a drill has shown is immutable"),
  keptUnlessReset("waivers", "a waiver is immutable"),
].join("")}
`;

const CHECKOUTS_OF_STORE = "(SELECT id FROM checkouts WHERE store_id = ?)";

/** What has happened in a store, each table before those that it refers to. */
const HAPPENED = [
  `DELETE FROM late_results WHERE checkout_id IN ${CHECKOUTS_OF_STORE}`,
  `DELETE FROM attempts WHERE checkout_id IN ${CHECKOUTS_OF_STORE}`,
  "DELETE FROM settlements WHERE store_id = ?",
  "DELETE FROM idempotency_keys WHERE store_id = ?",
  "DELETE FROM idempotency_uses WHERE store_id = ?",
  "DELETE FROM assumption_uses WHERE store_id = ?",
  "DELETE FROM faults WHERE store_id = ?",
  "DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE store_id = ?)",
  "DELETE FROM deliveries WHERE store_id = ?",
  "DELETE FROM events WHERE store_id = ?",
  "DELETE FROM checkouts WHERE store_id = ?",
  "DELETE FROM drills WHERE store_id = ?",
  "DELETE FROM waivers WHERE store_id = ?",
  "DELETE FROM admin_acts WHERE store_id = ?",
  "UPDATE endpoints SET failing_since = NULL WHERE store_id = ?",
  "UPDATE stores SET clock_offset = 0, clock_frozen_at = NULL WHERE id = ?",
];

/** Resets of stores: the only deletion of what has happened. `changed` is called after each. */
export function resetsTable(connection: Connection, changed: () => void) {
  const open = connection.prepare<[string]>("INSERT INTO resets (store_id) VALUES (?)");
  const selectStores = connection.prepare<[], { readonly storeId: string; readonly name: string }>(
    "SELECT id AS storeId, name FROM stores ORDER BY created_at, id",
  );
  const close = connection.prepare<[string]>("DELETE FROM resets WHERE store_id = ?");

  return {
    /** The stores that can be reset, oldest first. */
    stores: () => selectStores.all(),

    /** Deletes what has happened in a store, and sets its clock to real time; what was set up stays. */
    reset: (storeId: string): void => {
      open.run(storeId);
      // Prepared here, because a start must not wait for what is seldom needed.
      for (const sql of HAPPENED) connection.prepare<[string]>(sql).run(storeId);
      close.run(storeId);
      changed();
    },
  };
}
