import { SEEN_RETENTION_MS, type SeenEvents } from "../../core/webhook/seen-events.ts";
import { transactor, type WatchedDatabase } from "../connection/watched-database.ts";

/** The DDL of the events that a target of `checkout listen` has taken. */
export const SEEN_EVENTS_DDL = `
CREATE TABLE seen_events (
  event_id TEXT PRIMARY KEY CHECK (octet_length(event_id) BETWEEN 1 AND 1024),
  seen_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_events_by_age ON seen_events (seen_at);
`;

/** The events that were forwarded already; those older than their retention are deleted when it is opened. */
export function seenEventsTable(database: WatchedDatabase, now: number): SeenEvents {
  const { connection, close } = database;
  const forget = connection.prepare<[number]>("DELETE FROM seen_events WHERE seen_at < ?");
  const select = connection.prepare<[string]>("SELECT 1 FROM seen_events WHERE event_id = ?");
  const insert = connection.prepare<{ readonly eventId: string; readonly seenAt: number }>(
    "INSERT INTO seen_events (event_id, seen_at) VALUES (@eventId, @seenAt) ON CONFLICT (event_id) DO NOTHING",
  );
  const transact = transactor(database);
  transact(() => forget.run(now - SEEN_RETENTION_MS));
  return {
    has: (eventId) => select.get(eventId) !== undefined,
    add: (eventId, seenAt) => void transact(() => insert.run({ eventId, seenAt })),
    close,
  };
}
