import type { AdminAction } from "../../core/readiness/admin-action.ts";
import type { Connection } from "../connection/connection.ts";
import type { RecordedAction } from "../../core/readiness/shapes.ts";

export const ADMIN_ACTIONS_DDL = `
CREATE TABLE admin_acts (
  position INTEGER PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  actor    TEXT NOT NULL CHECK (actor IN ('merchant', 'administrator')),
  action   TEXT NOT NULL CHECK (action IN ('request_production', 'approve_credential', 'revoke_credential', 'activate',
             'deactivate', 'enable_capability', 'disable_capability', 'approve_price', 'revoke_price', 'open_gate',
             'close_gate')),
  -- The capability or the price, if the action is about one.
  subject  TEXT,
  note     TEXT CHECK (length(CAST(note AS BLOB)) <= 2000),
  at       INTEGER NOT NULL,
  CHECK ((actor = 'merchant') = (action = 'request_production'))
) STRICT;
CREATE INDEX admin_acts_of_store ON admin_acts (store_id, position);
-- Without recursive_triggers, a program could replace a row without running the trigger that forbids it.
CREATE TRIGGER admin_acts_are_added BEFORE INSERT ON admin_acts
  WHEN EXISTS (SELECT 1 FROM admin_acts WHERE position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'the audit log is immutable'); END;
CREATE TRIGGER admin_acts_are_immutable BEFORE UPDATE ON admin_acts
  BEGIN SELECT RAISE(ABORT, 'the audit log is immutable'); END;
CREATE TRIGGER admin_acts_are_kept BEFORE DELETE ON admin_acts
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'the audit log is immutable'); END;
`;

export function adminActionsTable(connection: Connection) {
  const insert = connection
    .prepare<AdminAction, number>(
      `INSERT INTO admin_acts (store_id, actor, action, subject, note, at)
       VALUES (@storeId, @actor, @action, @subject, @note, @at) RETURNING position`,
    )
    .pluck();
  const selectOf = connection.prepare<[string], RecordedAction>(
    `SELECT position AS number, store_id AS storeId, actor, action, subject, note, at FROM admin_acts
     WHERE store_id = ? ORDER BY position`,
  );
  return {
    insert: (act: AdminAction): RecordedAction => {
      const number = insert.get(act);
      if (number === undefined) throw new Error("an inserted row returns its position");
      return { ...act, number };
    },

    of: (storeId: string): RecordedAction[] => selectOf.all(storeId),
  };
}
