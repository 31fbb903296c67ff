import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { currentSchemaVersion, schemaVersion, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { JOURNAL_FILE, openJournal, openSeenEvents } from "../../src/store/journal/journal.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { inOrder } from "../support/in-order.ts";

/** The file kind of the journal at a schema version. */
function upTo(format: number): FileKind {
  return {
    ...JOURNAL_FILE,
    migrations: JOURNAL_FILE.migrations.slice(0, format - JOURNAL_FILE.firstVersion + 1),
  };
}

test("a journal of every earlier schema version keeps its entries and events, and gets the schema of a new journal", () => {
  const newest = currentSchemaVersion(JOURNAL_FILE);
  const schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
  const fresh = openDatabase(":memory:", { kind: JOURNAL_FILE });
  if (!fresh.ok) throw new Error(fresh.refusal.message);
  for (let format = JOURNAL_FILE.firstVersion; format <= newest; format += 1) {
    const path = join(tempFolder(), "journal.db");
    const old = openDatabase(path, { kind: upTo(format) });
    if (!old.ok) throw new Error(old.refusal.message);
    expect(schemaVersion(old.value)).toBe(format);
    old.value.exec(`
      INSERT INTO entries (key, service, store_id, endpoint, order_id, attempt, body, state, in_doubt, first_sent_at, updated_at)
        VALUES ('key-00001', 'https://shop.example', NULL, 'orders', 'o', 2, '{}', 'pending', 1, 5, 6);
      INSERT INTO seen_events (event_id, seen_at) VALUES ('event é', 7), ('older', 1)`);
    old.value.close();

    const journal = openJournal(path);
    if (!journal.ok) throw new Error(journal.refusal.message);
    expect(journal.value.list()).toEqual([
      {
        key: "key-00001",
        instance: null,
        service: "https://shop.example",
        storeId: null,
        endpoint: "orders",
        orderId: "o",
        attempt: 2,
        body: "{}",
        state: "pending",
        inDoubt: true,
        checkoutId: null,
        code: null,
        firstSentAt: 5,
        updatedAt: 6,
      },
    ]);
    journal.value.close();
    const seen = openSeenEvents(path, { now: 7 });
    if (!seen.ok) throw new Error(seen.refusal.message);
    expect(
      ["event é", "older", "other"].map((eventId) => seen.value.has({ eventId, instance: null })),
    ).toEqual([true, true, false]);
    seen.value.close();
    const backup = format === newest ? [] : [`journal.db.v${format}.backup`];
    expect(readdirSync(join(path, "..")).toSorted()).toEqual(["journal.db", "journal.db-opening", ...backup]);
    const migrated = openDatabase(path, { kind: JOURNAL_FILE });
    if (!migrated.ok) throw new Error(migrated.refusal.message);
    expect(schemaVersion(migrated.value)).toBe(newest);
    expect(migrated.value.prepare(schema).all()).toEqual(fresh.value.prepare(schema).all());
    expect(migrated.value.pragma("integrity_check", { simple: true })).toBe("ok");
    migrated.value.close();
  }
  fresh.value.close();
});

test("a journal from a development version before schema version 10 is refused and left unchanged", () => {
  for (const format of [1, 2]) {
    const path = join(tempFolder(), "journal.db");
    const old = openDatabase(path, {
      kind: { ...JOURNAL_FILE, firstVersion: format, migrations: ["CREATE TABLE a (x)"] },
    });
    if (!old.ok) throw new Error(old.refusal.message);
    old.value.close();
    const refusal = {
      reason: "development_version",
      message: expect.stringMatching(inOrder(path, format, 10)),
      remedy: expect.stringMatching(inOrder(JOURNAL_FILE.filesToMoveAway, "--dir")),
    };
    for (const opened of [openJournal(path), openSeenEvents(path, { now: 1 })])
      expect(opened.ok ? "opened" : opened.refusal).toEqual(refusal);
    expect(readdirSync(join(path, ".."))).toEqual(["journal.db"]);
  }
});
