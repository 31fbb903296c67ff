// The id by which clients recognise an instance. Keys: `isOfInstance` in core/checkout/journal.ts; events:
// client/listen/seen-events.ts; where a create learns the id: cli/order/instance.ts.
import type { Connection } from "./connection/connection.ts";

/** The DDL of the instance's id (decision 96), and of a snapshot's facts (decision 95), a table that is empty in a sandbox. */
export const INSTANCE_DDL = `
CREATE TABLE instance (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  uuid TEXT NOT NULL CHECK (length(uuid) = 36)
) STRICT;
CREATE TABLE snapshot (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  -- Null for the whole sandbox.
  store_id TEXT,
  taken_at INTEGER NOT NULL,
  -- What the signing secrets in this file are sealed with.
  key      BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
`;

/** The id of the instance, which clients store with events and keys (decision 96). */
export function instanceTable(connection: Connection) {
  const select = connection.prepare<[], string>("SELECT uuid FROM instance").pluck();
  const upsert = connection.prepare<[string]>(
    "INSERT INTO instance (id, uuid) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET uuid = excluded.uuid",
  );
  return {
    /** The id; undefined until a sandbox has been started on this file. */
    id: (): string | undefined => select.get(),

    /** Starts a new instance: after the commit, events and keys of the previous instance no longer count. */
    renew: (uuid: string): void => void upsert.run(uuid),
  };
}

/** The DDL of the state's home folder: its real path, which a copy of the state contains too (decision 71). */
export const HOME_DDL = `
CREATE TABLE home (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  path TEXT NOT NULL
) STRICT;
`;

export function homeTable(connection: Connection) {
  const select = connection.prepare<[], string>("SELECT path FROM home").pluck();
  const upsert = connection.prepare<[string]>(
    "INSERT INTO home (id, path) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET path = excluded.path",
  );
  return {
    /** The real path; undefined if none was recorded. */
    path: (): string | undefined => select.get(),

    record: (path: string): void => void upsert.run(path),
  };
}
