import { hash } from "node:crypto";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { IN_MEMORY, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { REQUESTS_FILE } from "../../src/store/request/request-file.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { SNAPSHOT_FILE } from "../../src/store/snapshot/image.ts";

/** The functions that the tables may call: SQLite 3.37 has them all, which is the first with STRICT tables. */
const FUNCTIONS_OF_3_37: ReadonlySet<string> = new Set([
  "char",
  "coalesce",
  "instr",
  "length",
  "rtrim",
  "row_number",
]);

const id = (last: number): string => `0199a3c4-5d00-7000-8000-0000000000${String(last).padStart(2, "0")}`;

function open(kind: FileKind): Database.Database {
  const opened = openDatabase(IN_MEMORY, { kind });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

/** A store with an endpoint, a checkout, an event, and rows that are audited. */
function openFilled(): Database.Database {
  const connection = open(SANDBOX_FILE);
  connection.pragma("recursive_triggers = ON");
  connection.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);
    INSERT INTO return_origins (store_id, origin, created_at) VALUES ('s', 'https://shop.example', 1);
    INSERT INTO prices VALUES ('s', 'tea', 'Tea', 700, 'EUR', 'alipay_plus', 1, 'one_time', 0);
    INSERT INTO endpoints (id, store_id, kind, url, event_types, state, created_at)
      VALUES ('${id(1)}', 's', 'url', 'http://localhost/', '*', 'enabled', 1);
    INSERT INTO checkouts VALUES ('${id(2)}', 's', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2);
    INSERT INTO events VALUES (1, '${id(3)}', 's', '${id(2)}', 'order.created', 1, '{}', 1);
    INSERT INTO admin_acts (store_id, actor, action, subject, at)
      VALUES ('s', 'administrator', 'approve_price', 'tea', 1);
    INSERT INTO drills VALUES ('${id(4)}', 's', 'duplicates', 'it', 1, '[]', 1);
    INSERT INTO waivers (store_id, drill, reason, at) VALUES ('s', 'duplicates', 'by hand', 1);
    INSERT INTO held_stores VALUES ('s');
    INSERT INTO instance VALUES (1, '${id(5)}');`);
  return connection;
}

/** What the tables of a database call that came to SQLite later than 3.37. */
function calledLater(connection: Database.Database): readonly string[] {
  const known = new Set(
    connection.prepare<[], string>("SELECT DISTINCT name FROM pragma_function_list").pluck().all(),
  );
  const ddl = connection
    .prepare<[], string>("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
    .pluck()
    .all()
    .join("\n")
    .replaceAll(/--.*|'[^']*'/g, "");
  const called = [...ddl.matchAll(/\b(\w+)\s*\(/g)].map(([, name = ""]) => name.toLowerCase());
  // Operators of 3.38 and 3.39.
  const operators = ddl.match(/->|\bIS\s+(?:NOT\s+)?DISTINCT\b/g) ?? [];
  return [...called.filter((name) => known.has(name) && !FUNCTIONS_OF_3_37.has(name)), ...operators];
}

test("the tables call functions of SQLite 3.37 alone, so that the sqlite3 of a system can copy and check the files", () => {
  for (const kind of [SANDBOX_FILE, SNAPSHOT_FILE, REQUESTS_FILE, JOURNAL_FILE]) {
    const connection = open(kind);
    expect([kind.name, calledLater(connection)]).toEqual([kind.name, []]);
    connection.close();
  }
  const later = new Database(IN_MEMORY);
  later.exec(
    "CREATE TABLE a (x CHECK (length(x) > 1 AND octet_length(x) > 1)); CREATE INDEX b ON a (x->'y')",
  );
  expect(calledLater(later)).toEqual(["octet_length", "->"]);
});

test("what is refused elsewhere, the tables refuse too", () => {
  const connection = openFilled();
  const fault = (columns: string, values: string): string =>
    `INSERT INTO faults (id, store_id, nth, seed, matched, applied, created_at, ${columns})
     VALUES ('${id(8)}', 's', 1, '', 0, 0, 1, ${values})`;
  const checkout = (status: string): string =>
    `INSERT INTO checkouts VALUES ('${id(9)}', 's', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, '${status}', 1, 2)`;
  const rows: readonly (readonly [string, RegExp])[] = [
    ["UPDATE endpoints SET in_order = 2", /CHECK/],
    ["UPDATE prices SET billing_model = 'monthly'", /CHECK/],
    ["UPDATE prices SET retired = 2", /CHECK/],
    ...["thanks", "//evil.example", "/?paid", "/a b", ""].map(
      (path) => [`UPDATE return_origins SET path = '${path}'`, /CHECK/] as const,
    ),
    ...["created", "pending", "succeeded"].map((status) => [checkout(status), /UNIQUE/] as const),
    [fault("action, times", "'drop', 0"), /CHECK/],
    [fault("action", "'drop'"), /CHECK/],
    [fault("action, times, probability", "'drop', 1, 1.5"), /CHECK/],
    [fault("action, times, method", "'reset', 1, 'PUT'"), /CHECK/],
    [fault("action, times, status", "'status', 1, 200"), /CHECK/],
    ["INSERT INTO erasures VALUES ('s', 'other')", /CHECK/],
    ["INSERT INTO erasures VALUES ('unknown', 'reset')", /FOREIGN KEY/],
    ["INSERT INTO event_floor VALUES (2, 1)", /CHECK/],
    ["INSERT INTO held_stores VALUES ('s')", /UNIQUE/],
    ["INSERT INTO held_stores VALUES ('t')", /FOREIGN KEY/],
    ["DELETE FROM stores", /FOREIGN KEY/],
    [`INSERT INTO instance VALUES (2, '${id(5)}')`, /CHECK/],
    ["INSERT INTO snapshot VALUES (1, NULL, 1, zeroblob(31))", /CHECK/],
    ["INSERT INTO resets VALUES ('s')", /FOREIGN KEY/],
  ];
  for (const [sql, reason] of rows) expect(() => connection.exec(sql), sql).toThrow(reason);
  connection.exec("UPDATE checkouts SET status = 'cancelled'");
  connection.exec(checkout("created"));
  connection.close();
});

test("what is audited never changes, and goes with a reset of its store alone", () => {
  const connection = openFilled();
  const audited = ["events", "checkouts", "admin_acts", "drills", "waivers"];
  for (const sql of [
    "UPDATE events SET body = 'x'",
    "UPDATE admin_acts SET at = 9",
    `INSERT OR REPLACE INTO admin_acts (position, store_id, actor, action, at)
       VALUES (1, 's', 'administrator', 'activate', 1)`,
    "UPDATE drills SET passed = 0",
    "UPDATE waivers SET reason = 'x'",
    ...audited.map((table) => `DELETE FROM ${table}`),
  ])
    expect(() => connection.exec(sql), sql).toThrow(/immutable|never deleted/);
  const rows = (): unknown[] =>
    audited.map((table) => connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  expect(rows()).toEqual([1, 1, 1, 1, 1]);
  const deleted = audited.map((table) => `DELETE FROM ${table};`).join("");
  connection.exec(`BEGIN; INSERT INTO resets VALUES ('s'); ${deleted} DELETE FROM resets; COMMIT`);
  expect(rows()).toEqual([0, 0, 0, 0, 0]);
  connection.close();
});

test("no column of a checkout changes but its status and its expiry", () => {
  const connection = openFilled();
  const columns = connection.prepare("SELECT name FROM pragma_table_info('checkouts')").pluck().all();
  const refusalOf = (column: string): string => {
    try {
      connection.exec(`UPDATE checkouts SET ${column} = ${column}`);
      return "";
    } catch (error) {
      return String(error);
    }
  };
  const changed = columns.filter(
    (column) => !refusalOf(String(column)).endsWith("the terms of a checkout are immutable"),
  );
  expect(changed).toEqual(["status", "expires_at"]);
  connection.close();
});

test("lengths of texts are counted in bytes, also behind a NUL", () => {
  const connection = openFilled();
  const journal = open(JOURNAL_FILE);
  const rows: readonly (readonly [Database.Database, string, number])[] = [
    [
      connection,
      `INSERT INTO checkouts VALUES ('${id(9)}', 's', 'order', ?, 1, 'EUR', 'alipay_plus', NULL, NULL, 'failed', 1, 2)`,
      128,
    ],
    [
      connection,
      `INSERT INTO checkouts VALUES ('${id(9)}', 's', 'order', 'p', 1, 'EUR', 'alipay_plus', ?, NULL, 'failed', 1, 2)`,
      512,
    ],
    [connection, `INSERT INTO page_views VALUES ('${id(2)}', 'returned', 1, 1, ?)`, 1024],
    [
      connection,
      "INSERT INTO admin_acts (store_id, actor, action, note, at) VALUES ('s', 'administrator', 'activate', ?, 1)",
      2000,
    ],
    [connection, "INSERT INTO waivers (store_id, drill, reason, at) VALUES ('s', 'webhook', ?, 1)", 2000],
    [journal, "INSERT INTO seen_events VALUES (?, 1, NULL)", 1024],
  ];
  for (const [database, sql, most] of rows) {
    const insert = database.prepare<[string]>(sql);
    for (const start of ["", "a\0"]) {
      const text = start + "\u{1f375}".repeat((most - start.length) >> 2);
      const longest = text + "x".repeat(most - Buffer.byteLength(text));
      expect(() => insert.run(`${longest}x`), sql).toThrow(/CHECK/);
      database.exec("SAVEPOINT one");
      insert.run(longest);
      database.exec("ROLLBACK TO one; RELEASE one");
    }
  }
  connection.close();
  journal.close();
});

test("a format stays as it is: a change of a schema is one more migration, noted here and tested", () => {
  const digests = ({ migrations }: FileKind): string[] =>
    migrations.map((sql) => hash("sha256", sql.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ")).slice(0, 16));
  expect(digests(SANDBOX_FILE)).toEqual([
    "cef4bdbea9154906",
    "91080a0425e965ee",
    "20ca94afa571f048",
    "f6b9f90757a0d643",
  ]);
  expect(digests(REQUESTS_FILE)).toEqual(["e42b38f512779c7b"]);
  expect(digests(JOURNAL_FILE)).toEqual([
    "8cf5d8ba216ac025",
    "d86f3bb97423337b",
    "26d044b90b6a8f9c",
    "1be28265a8cd309e",
  ]);
});
