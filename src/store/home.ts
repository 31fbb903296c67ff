import type { Connection } from "./connection/database.ts";

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
