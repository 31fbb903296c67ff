import { copyFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { expect, test } from "vitest";
import { currentSchemaVersion, schemaVersion, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { createLogBinding } from "../../src/store/connection/opening.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { REQUESTS_FILE } from "../../src/store/request/request-file.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { createImage, openImage, SNAPSHOT_FILE, writeChecksum } from "../../src/store/snapshot/image.ts";
import { openStore } from "../../src/store/store.ts";
import { NEXT_VERSIONS } from "../support/migrate.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { insertion } from "../support/rows.ts";
import { inOrder } from "../support/in-order.ts";

const PRESENT = currentSchemaVersion(SANDBOX_FILE);
const STORE = "00000000-0000-4000-8000-00000000000a";
const ROWS = [
  insertion("merchants"),
  insertion("stores", { id: STORE }),
  insertion("checkouts", { id: "00000000-0000-4000-8000-000000000011", store_id: STORE, order_id: "o-1" }),
].join("");

function open(path: string, kind: FileKind): Database.Database {
  const opened = openDatabase(path, { kind });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

/** A kind of file with one more migration, as in a later release. */
function withNext(kind: FileKind, migration = "CREATE TABLE planted (x INTEGER) STRICT"): FileKind {
  return { ...kind, migrations: [...kind.migrations, migration] };
}

/** Returns a function that runs work in its own transaction. */
function inTransactionOf(connection: Database.Database) {
  return (work: () => void): boolean => {
    connection.transaction(work).immediate();
    return true;
  };
}

/**
 * A closed `sandbox.db` of the current schema version with rows; or its copy with its log, as a killed process leaves
 * them.
 */
function sandboxFile({ killed = false } = {}): string {
  const path = join(tempFolder(), "sandbox.db");
  const file = open(path, SANDBOX_FILE);
  createLogBinding(file, path, {}).bind(inTransactionOf(file));
  file.transaction(() => file.exec(ROWS))();
  const copy = join(tempFolder(), "sandbox.db");
  if (killed) for (const end of ["", "-wal", "-opening"]) copyFileSync(path + end, copy + end);
  file.close();
  return killed ? copy : path;
}

test("new migrations are applied once, after a backup of the earlier version, also to the files of a killed process", () => {
  for (const killed of [false, true]) {
    const path = sandboxFile({ killed });
    for (let times = 0; times < 2; times += 1) {
      const migrated = open(path, NEXT_VERSIONS);
      expect(schemaVersion(migrated)).toBe(PRESENT + 2);
      expect(migrated.prepare("SELECT label FROM labels").pluck().all()).toEqual(["label of o-1"]);
      expect(migrated.prepare("SELECT order_id, label FROM checkouts").raw().all()).toEqual([["o-1", null]]);
      expect(migrated.pragma("integrity_check", { simple: true })).toBe("ok");
      migrated.close();
    }
    expect(readdirSync(join(path, "..")).toSorted()).toEqual([
      "sandbox.db",
      "sandbox.db-opening",
      `sandbox.db.v${PRESENT}.backup`,
    ]);
    const backup = open(`${path}.v${PRESENT}.backup`, SANDBOX_FILE);
    expect([schemaVersion(backup), backup.prepare("SELECT order_id FROM checkouts").pluck().all()]).toEqual([
      PRESENT,
      ["o-1"],
    ]);
    backup.close();
  }
});

test("migrations set new columns of attempts and endpoints to null, and replace the text of an endpoint's reason with the reason's name", () => {
  for (const format of [31, 33, 34, 35, 36, 38, 39]) {
    const path = join(tempFolder(), "sandbox.db");
    const older = open(path, {
      ...SANDBOX_FILE,
      migrations: SANDBOX_FILE.migrations.slice(0, format - SANDBOX_FILE.firstVersion + 1),
    });
    const [store_id, endpoint_id, event_id, delivery_id] = [
      STORE,
      "e".repeat(36),
      "v".repeat(36),
      "d".repeat(36),
    ];
    const end = { finished_at: 5, milliseconds: 4, status: null, error: "unreachable", next_at: 9 };
    older.exec(
      ROWS +
        insertion("endpoints", {
          id: endpoint_id,
          store_id,
          state: "disabled",
          reason: format < 38 ? "it was switched off" : "switched_off",
        }) +
        insertion("events", { id: event_id, store_id }) +
        insertion("deliveries", { id: delivery_id, store_id, endpoint_id, event_id }) +
        insertion("delivery_attempts", { delivery_id, ...end }) +
        insertion("delivery_attempts", { delivery_id, number: 2 }),
    );
    expect([format, schemaVersion(older)]).toEqual([format, format]);
    older.close();

    const opened = openStore(path, {
      nativeBinding: undefined,
      scheduler: { soon: setImmediate, after: () => undefined },
    });
    if (!opened.ok) throw new Error(opened.refusal.message);
    const { endpoints, deliveryAttempts, close } = opened.value;
    expect([format, endpoints.of(STORE)]).toMatchObject([
      format,
      [{ id: endpoint_id, ca: null, reason: "switched_off" }],
    ]);
    expect([format, deliveryAttempts.of(delivery_id)]).toMatchObject([
      format,
      [
        { number: 1, error: "unreachable", finishedAt: 5, nextAt: 9, facts: null, madeBy: null },
        { number: 2, finishedAt: null, facts: null, madeBy: null },
      ],
    ]);
    const facts = { fault: "refused", message: "connect ECONNREFUSED" } as const;
    const finished = deliveryAttempts.finish(
      { deliveryId: delivery_id, number: 2 },
      {
        milliseconds: 1,
        status: null,
        error: "unreachable",
        finishedAt: 6,
        address: null,
        answer: null,
        nextAt: null,
        facts,
      },
    );
    expect([finished, deliveryAttempts.last(delivery_id)?.facts]).toEqual([true, facts]);
    close();
  }
});

test("a failed migration leaves nothing behind, and the earlier schema version stays", () => {
  const path = sandboxFile();
  const broken = withNext(withNext(SANDBOX_FILE), "CREATE TABLE half (x INTEGER) STRICT; SELECT broken");
  expect(() => open(path, broken)).toThrow(/broken/);
  const left = open(path, withNext(SANDBOX_FILE));
  expect(schemaVersion(left)).toBe(PRESENT + 1);
  const tables = left
    .prepare("SELECT name FROM sqlite_schema WHERE name IN ('planted', 'half')")
    .pluck()
    .all();
  expect([tables, left.prepare("SELECT order_id FROM checkouts").pluck().all()]).toEqual([
    ["planted"],
    ["o-1"],
  ]);
  left.close();
});

test("a file of a later schema version is refused as written by a newer version, and left unchanged", () => {
  for (const kind of [SANDBOX_FILE, REQUESTS_FILE, JOURNAL_FILE]) {
    const path = join(tempFolder(), "later.db");
    const later = open(path, withNext(kind));
    const format = currentSchemaVersion(kind) + 1;
    later.exec("INSERT INTO planted VALUES (1)");
    later.close();
    // A file that is migrated only in its log, as a killed process leaves it.
    const log = join(tempFolder(), "later.db");
    open(log, kind).close();
    const writer = open(log, withNext(kind));
    const killed = join(tempFolder(), "later.db");
    for (const end of ["", "-wal", "-opening"])
      if (existsSync(log + end)) copyFileSync(log + end, killed + end);
    writer.close();
    expect(readFileSync(killed).readInt32BE(60)).toBe(format - 1);
    for (const file of [path, killed]) {
      const before = readFileSync(file);
      const opened = openDatabase(file, { kind });
      expect(opened.ok ? "opened" : opened.refusal).toEqual({
        reason: "newer",
        message: expect.stringMatching(inOrder(file, format, format - 1)),
        remedy: expect.stringContaining("--dir"),
      });
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(existsSync(`${file}.v${format - 1}.backup`)).toBe(false);
    }
  }
});

test("a snapshot is migrated in memory and its bytes stay unchanged, and a snapshot of a later schema version is refused", () => {
  const image = createImage({ kind: SNAPSHOT_FILE, nativeBinding: undefined });
  image.exec(ROWS + insertion("snapshot", { store_id: STORE }));
  const bytes = writeChecksum(image.serialize());
  image.close();
  const next = { ...SNAPSHOT_FILE, migrations: NEXT_VERSIONS.migrations };
  const before = Buffer.from(bytes);
  const migrated = openImage(bytes, { kind: next, nativeBinding: undefined });
  if (!migrated.ok) throw new Error(migrated.refusal);
  const { connection, storeIds } = migrated.value;
  expect([schemaVersion(connection), storeIds]).toEqual([PRESENT + 2, [STORE]]);
  expect(connection.prepare("SELECT label FROM labels").pluck().all()).toEqual(["label of o-1"]);
  const later = writeChecksum(connection.serialize());
  connection.close();
  expect(bytes.equals(before)).toBe(true);
  const refused = openImage(later, { kind: SNAPSHOT_FILE, nativeBinding: undefined });
  expect(refused.ok ? "opened" : refused.refusal).toMatch(inOrder(PRESENT + 2, PRESENT));
});

test("the migration for dialects gives an older store no dialect, and keeps the store's clock and name", () => {
  const path = join(tempFolder(), "sandbox.db");
  const older = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 12) });
  older.exec(ROWS);
  const selectStore = "SELECT id, name, active, clock_offset FROM stores";
  const before = older.prepare(selectStore).raw().all();
  older.close();
  const migrated = open(path, SANDBOX_FILE);
  expect(migrated.prepare(selectStore).raw().all()).toEqual(before);
  expect(migrated.prepare("SELECT DISTINCT dialect FROM stores").pluck().all()).toEqual([null]);
  expect(() => migrated.exec("UPDATE stores SET dialect = ''")).toThrow(/CHECK/);
  migrated.close();
});
