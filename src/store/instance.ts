import type { Connection } from "./connection/connection.ts";

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

export function instanceTable(connection: Connection) {
  const select = connection.prepare<[], string>("SELECT uuid FROM instance").pluck();
  const upsert = connection.prepare<[string]>(
    "INSERT INTO instance (id, uuid) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET uuid = excluded.uuid",
  );
  return {
    id: (): string | undefined => select.get(),

    renew: (uuid: string): void => void upsert.run(uuid),
  };
}

/** The path of the state folder, by which a copied folder is recognized (decision 71). */
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
    path: (): string | undefined => select.get(),

    record: (path: string): void => void upsert.run(path),
  };
}
