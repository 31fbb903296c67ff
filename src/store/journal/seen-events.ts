import { SEEN_RETENTION_MS, type SeenEvent, type SeenEvents } from "../../core/webhook/seen-events.ts";
import { createTransactionRunner } from "../connection/group-commit.ts";
import type { WatchedDatabase } from "../connection/watched-database.ts";

export const SEEN_EVENTS_DDL = `
CREATE TABLE seen_events (
  event_id TEXT PRIMARY KEY CHECK (octet_length(event_id) BETWEEN 1 AND 1024),
  seen_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_events_by_age ON seen_events (seen_at);
`;

export const SEEN_EVENTS_INSTANCE_MIGRATION = `
ALTER TABLE seen_events ADD COLUMN instance TEXT;
`;

/**
 * Removes the CHECK with `octet_length`, which needs SQLite 3.43 (decision 60). Copies the table, because ALTER TABLE
 * would parse the old CHECK.
 */
export const SEEN_EVENTS_CHECK_MIGRATION = `
CREATE TABLE seen_events_before AS SELECT event_id, seen_at, instance FROM seen_events;
DROP TABLE seen_events;
CREATE TABLE seen_events (
  event_id TEXT PRIMARY KEY CHECK (length(CAST(event_id AS BLOB)) BETWEEN 1 AND 1024),
  seen_at  INTEGER NOT NULL,
  instance TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO seen_events (event_id, seen_at, instance) SELECT event_id, seen_at, instance FROM seen_events_before;
DROP TABLE seen_events_before;
CREATE INDEX seen_events_by_age ON seen_events (seen_at);
`;

/** Also deletes events older than `SEEN_RETENTION_MS`. */
export function seenEventsTable(database: WatchedDatabase, now: number): SeenEvents {
  const { connection, close } = database;
  const forget = connection.prepare<[number]>("DELETE FROM seen_events WHERE seen_at < ?");
  const select = connection.prepare<Pick<SeenEvent, "eventId" | "instance">>(
    `SELECT 1 FROM seen_events
     WHERE event_id = @eventId AND (instance IS NULL OR @instance IS NULL OR instance = @instance)`,
  );
  const insert = connection.prepare<SeenEvent & { readonly seenAt: number }>(
    `INSERT INTO seen_events (event_id, seen_at, instance) VALUES (@eventId, @seenAt, @instance)
     ON CONFLICT (event_id) DO UPDATE SET seen_at = excluded.seen_at, instance = excluded.instance
     WHERE excluded.instance IS NOT NULL AND excluded.instance IS NOT seen_events.instance`,
  );
  const transact = createTransactionRunner(database);
  transact(() => forget.run(now - SEEN_RETENTION_MS));
  return {
    has: ({ eventId, instance }) => select.get({ eventId, instance }) !== undefined,
    add: ({ eventId, instance }, seenAt) => void transact(() => insert.run({ eventId, instance, seenAt })),
    close,
  };
}
