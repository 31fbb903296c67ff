import type Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { FileKind } from "../../src/store/connection/database.ts";
import { createImage, openImage, SNAPSHOT_FILE, writeChecksum } from "../../src/store/snapshot/image.ts";
import { changedSnapshot } from "../support/changed-snapshot.ts";
import { NEXT_VERSIONS } from "../support/migrate.ts";
import { insertion } from "../support/rows.ts";

const STORE = "00000000-0000-4000-8000-00000000000a";
const checkout = (last: number): string => `00000000-0000-4000-8000-00000000001${last}`;
/** The file kind of a later version, which migrates the files of this version. */
const LATER: FileKind = { ...SNAPSHOT_FILE, migrations: NEXT_VERSIONS.migrations };

/** A snapshot of a store with two orders. */
function snapshotOf(): Buffer {
  const image = createImage({ kind: SNAPSHOT_FILE, nativeBinding: undefined });
  image.exec(
    [
      insertion("merchants"),
      insertion("stores", { id: STORE }),
      ...[1, 2].map((last) =>
        insertion("checkouts", { id: checkout(last), store_id: STORE, order_id: `o-${last}` }),
      ),
      insertion("snapshot", { store_id: STORE }),
    ].join(""),
  );
  const bytes = writeChecksum(image.serialize());
  image.close();
  return bytes;
}

/** The refusal of a snapshot; "" if it can be restored. */
function saidOf(bytes: Uint8Array, kind = SNAPSHOT_FILE): string {
  const opened = openImage(bytes, { kind, nativeBinding: undefined });
  if (!opened.ok) return opened.refusal;
  opened.value.connection.close();
  return "";
}

/** Replaces the SQL text of a part of the schema; the part itself stays as it is. */
function disguise(copy: Database.Database, name: string, sql: string): void {
  copy.unsafeMode(true);
  copy.pragma("writable_schema = ON");
  copy.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = ?").run(sql, name);
  copy.pragma("writable_schema = RESET");
  copy.unsafeMode(false);
}

function sqlOf(copy: Database.Database, name: string): string {
  return String(copy.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").pluck().get(name));
}

test("a snapshot with a changed schema is refused because of its schema, also by a later version", () => {
  const hostile: Readonly<Record<string, (copy: Database.Database) => void>> = {
    "a table with a check that fails": (copy) =>
      copy.exec(
        "CREATE TABLE more (x CHECK (x > 1)); PRAGMA ignore_check_constraints = ON; INSERT INTO more VALUES (0)",
      ),
    "a view": (copy) =>
      copy.exec(
        "CREATE VIEW more AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n",
      ),
    "a trigger": (copy) =>
      copy.exec("CREATE TRIGGER more AFTER INSERT ON stores BEGIN DELETE FROM checkouts; END"),
    "an index of an expression": (copy) => copy.exec("CREATE INDEX more ON checkouts (length(order_id))"),
    "a generated column": (copy) =>
      copy.exec("ALTER TABLE checkouts ADD COLUMN more TEXT AS (hex(order_id)) VIRTUAL"),
    "a virtual table": (copy) => copy.exec("CREATE VIRTUAL TABLE more USING fts5 (x)"),
    statistics: (copy) => copy.exec("ANALYZE"),
    "a column with another default": (copy) => {
      copy.exec("DROP TABLE waivers");
      copy.exec(
        "CREATE TABLE waivers (position INTEGER PRIMARY KEY, store_id TEXT, drill TEXT, reason TEXT, at INTEGER)",
      );
    },
  };
  const whole = snapshotOf();
  const refusals = new Set<string>();
  for (const kind of [SNAPSHOT_FILE, LATER]) {
    expect(saidOf(whole, kind)).toBe("");
    for (const [what, work] of Object.entries(hostile)) {
      const said = saidOf(changedSnapshot(whole, work), kind);
      expect([what, said]).not.toEqual([what, ""]);
      refusals.add(said);
    }
  }
  // All for the same reason, which is not that of another damage.
  expect(refusals.size).toBe(1);
  expect(refusals).not.toContain(saidOf(whole.subarray(0, -1)));
});

test("a snapshot with an index that differs from its table is refused as damaged", () => {
  const whole = snapshotOf();
  const hidden = changedSnapshot(whole, (copy) => {
    const sql = sqlOf(copy, "checkouts_of_store");
    copy.exec("DROP INDEX checkouts_of_store");
    // As many entries as rows, but none under the store's id.
    copy.exec("CREATE INDEX checkouts_of_store ON checkouts (order_id)");
    disguise(copy, "checkouts_of_store", sql);
  });
  expect(saidOf(hidden)).toContain("checkouts_of_store");
});

test("an expression in a snapshot's schema cannot call functions that a program adds to its connection", () => {
  const opened = openImage(snapshotOf(), { kind: SNAPSHOT_FILE, nativeBinding: undefined });
  if (!opened.ok) throw new Error(opened.refusal);
  const { connection } = opened.value;
  connection.function("act", () => 1);
  connection.exec("CREATE VIEW more AS SELECT act() AS done");
  expect(() => connection.prepare("SELECT done FROM more").all()).toThrow("unsafe use of act()");
  connection.close();
});
