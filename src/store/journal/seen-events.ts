import { accept, type Outcome } from "../../core/outcome.ts";
import { SEEN_RETENTION_MS, type SeenEvents } from "../../core/webhook/seen-events.ts";
import { openDatabase, type FileRefusal } from "../connection/database.ts";
import { JOURNAL_FILE } from "./journal.ts";

/**
 * Opens the listener's memory of events, a table of the client's journal, and forgets what is older than its retention.
 * Every call is on disk when it returns. Throws only where the disk fails.
 */
export function openSeenEvents(
  path: string,
  options: { readonly now: number; readonly nativeBinding?: string | undefined },
): Outcome<SeenEvents, FileRefusal> {
  const { now, nativeBinding } = options;
  const opened = openDatabase(path, { kind: JOURNAL_FILE, nativeBinding });
  if (!opened.ok) return opened;
  const connection = opened.value;
  const forget = connection.prepare<[number]>("DELETE FROM seen_events WHERE seen_at < ?");
  const select = connection.prepare<[string]>("SELECT 1 FROM seen_events WHERE event_id = ?");
  const insert = connection.prepare<[string, number]>(
    "INSERT INTO seen_events (event_id, seen_at) VALUES (?, ?) ON CONFLICT (event_id) DO NOTHING",
  );
  forget.run(now - SEEN_RETENTION_MS);
  return accept({
    has: (eventId) => select.get(eventId) !== undefined,
    add: (eventId, at) => void insert.run(eventId, at),
    close: () => void connection.close(),
  });
}
