import type { Journal } from "../../core/checkout/journal.ts";
import { mapValue, type Outcome } from "../../core/outcome.ts";
import type { SeenEvents } from "../../core/webhook/seen-events.ts";
import type { FileKind, FileRefusal, OpenOptions } from "../connection/database.ts";
import { LOG_MARK_DDL, LOG_OPENINGS_MIGRATION } from "../connection/opening.ts";
import { openWatchedDatabase } from "../connection/watched-database.ts";
import { ENTRIES_DDL, ENTRIES_INSTANCE_MIGRATION, entriesTable } from "./entries.ts";
import {
  SEEN_EVENTS_DDL,
  SEEN_EVENTS_CHECK_MIGRATION,
  SEEN_EVENTS_INSTANCE_MIGRATION,
  seenEventsTable,
} from "./seen-events.ts";

/**
 * Never edit a migration; append one. Earlier versions must stay readable, because the stored keys prevent double
 * creates (decision 60).
 */
export const JOURNAL_FILE: FileKind = {
  name: "checkout journal",
  applicationId: 0x636b4a4c,
  firstVersion: 10,
  migrations: [
    ENTRIES_DDL + SEEN_EVENTS_DDL,
    LOG_MARK_DDL,
    ENTRIES_INSTANCE_MIGRATION + SEEN_EVENTS_INSTANCE_MIGRATION,
    SEEN_EVENTS_CHECK_MIGRATION,
    LOG_OPENINGS_MIGRATION,
  ],
  filesToMoveAway: "the file",
};

export function openJournal(
  path: string,
  options: Omit<OpenOptions, "kind"> = {},
): Outcome<Journal, FileRefusal> {
  return mapValue(openWatchedDatabase(path, { ...options, kind: JOURNAL_FILE }), (database) =>
    entriesTable(database),
  );
}

export function openSeenEvents(
  path: string,
  { now, ...options }: Omit<OpenOptions, "kind"> & { readonly now: number },
): Outcome<SeenEvents, FileRefusal> {
  return mapValue(openWatchedDatabase(path, { ...options, kind: JOURNAL_FILE }), (database) =>
    seenEventsTable(database, now),
  );
}
