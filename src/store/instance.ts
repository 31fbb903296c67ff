// The id by which clients remember an instance. Keys: `isOfInstance` in core/checkout/journal.ts; events:
// client/listen/seen-events.ts; where a create learns the id: cli/order/instance.ts.
import type { Connection } from "./connection/database.ts";

/**
 * The DDL of the id of the instance (decision 96), and of what a snapshot says of itself (decision 95): a
 * snapshot has the tables of a sandbox, so that what migrates the one migrates the other; a sandbox has no row in
 * `snapshot`.
 */
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

/** The id of the instance: who remembers events or keys of the sandbox remembers them for it (decision 96). */
export function instanceTable(connection: Connection) {
  const select = connection.prepare<[], string>("SELECT uuid FROM instance").pluck();
  const upsert = connection.prepare<[string]>(
    "INSERT INTO instance (id, uuid) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET uuid = excluded.uuid",
  );
  return {
    /** Undefined only until a sandbox was started on this file. */
    id: (): string | undefined => select.get(),

    /** Makes it another instance: from the commit on, what was remembered of the one before counts no more. */
    renew: (uuid: string): void => void upsert.run(uuid),
  };
}

/** The DDL of the folder that the state belongs in: its real path, copied with the state (decision 71). */
export const HOME_DDL = `
CREATE TABLE home (
  id   INTEGER PRIMARY KEY CHECK (id = 1),
  path TEXT NOT NULL
) STRICT;
`;

/** The folder that the state belongs in. */
export function homeTable(connection: Connection) {
  const select = connection.prepare<[], string>("SELECT path FROM home").pluck();
  const upsert = connection.prepare<[string]>(
    "INSERT INTO home (id, path) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET path = excluded.path",
  );
  return {
    /** Its real path; undefined if none was recorded yet. */
    path: (): string | undefined => select.get(),

    record: (path: string): void => void upsert.run(path),
  };
}
