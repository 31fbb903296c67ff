import { hash } from "node:crypto";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { IN_MEMORY, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { REQUESTS_FILE } from "../../src/store/request/request-file.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { SNAPSHOT_FILE } from "../../src/store/snapshot/image.ts";
import { insertion, expression, type Row } from "../support/rows.ts";

/** The functions that the tables may call. SQLite 3.37, the first version with STRICT tables, has them all. */
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

/** A store with an endpoint, a checkout, an event and audit rows. */
function openFilled(): Database.Database {
  const connection = open(SANDBOX_FILE);
  connection.pragma("recursive_triggers = ON");
  connection.exec(
    [
      insertion("merchants"),
      insertion("stores"),
      insertion("return_origins"),
      insertion("prices"),
      insertion("endpoints", { id: id(1), in_order: 0 }),
      insertion("checkouts", { id: id(2) }),
      insertion("idempotency_keys", { request_id: id(6), checkout_id: id(2) }),
      insertion("events", { id: id(3), checkout_id: id(2) }),
      insertion("deliveries", {
        id: id(7),
        endpoint_id: id(1),
        event_id: id(3),
        checkout_id: id(2),
        state: "succeeded",
      }),
      insertion("delivery_attempts", { delivery_id: id(7), finished_at: 2, status: 200 }),
      insertion("admin_acts", { action: "approve_price", subject: "tea" }),
      insertion("drills", { id: id(4), kind: "duplicates" }),
      insertion("waivers", { drill: "duplicates" }),
      insertion("held_stores"),
      insertion("instance", { uuid: id(5) }),
    ].join(""),
  );
  return connection;
}

/** Functions and operators in the tables of a database that SQLite 3.37 may lack. */
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

test("the tables use only functions of SQLite 3.37, so that a system's sqlite3 can copy and check the files", () => {
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

test("the tables refuse rows that the core would refuse", () => {
  const connection = openFilled();
  const fault = (row: Row): string => insertion("faults", { id: id(8), ...row });
  const checkout = (row: Row): string => insertion("checkouts", { id: id(9), ...row });
  const other = (row: Row): string => checkout({ order_id: "p", ...row });
  const rows: readonly (readonly [string, RegExp])[] = [
    ["UPDATE endpoints SET in_order = 2", /CHECK/],
    ["UPDATE prices SET billing_model = 'monthly'", /CHECK/],
    ["UPDATE prices SET retired = 2", /CHECK/],
    ...["thanks", "//evil.example", "/?paid", "/a b", ""].map(
      (path) => [`UPDATE return_origins SET path = '${path}'`, /CHECK/] as const,
    ),
    ...["created", "pending", "succeeded"].map((status) => [checkout({ status }), /UNIQUE/] as const),
    ["UPDATE checkouts SET status = 'paid'", /cannot move/],
    [other({ amount_minor: 0 }), /CHECK/],
    [other({ amount_minor: "many" }), /TEXT value in INTEGER/],
    [other({ currency: "eur" }), /CHECK/],
    [other({ store_id: "x" }), /FOREIGN KEY/],
    ["UPDATE idempotency_keys SET body = 'x'", /first answer/],
    [insertion("admin_acts", { actor: "merchant" }), /CHECK/],
    [insertion("admin_acts", { action: "request_production" }), /CHECK/],
    [insertion("admin_acts", { action: "go_live" }), /CHECK/],
    [insertion("admin_acts", { store_id: "none" }), /FOREIGN/],
    [fault({ times: 0 }), /CHECK/],
    [fault({ times: null }), /CHECK/],
    [fault({ probability: 1.5 }), /CHECK/],
    [fault({ action: "reset", method: "PUT" }), /CHECK/],
    [fault({ action: "status", status: 200 }), /CHECK/],
    [insertion("erasures", { kind: "other" }), /CHECK/],
    [insertion("erasures", { store_id: "unknown" }), /FOREIGN KEY/],
    [insertion("event_floor", { id: 2 }), /CHECK/],
    [insertion("held_stores"), /UNIQUE/],
    [insertion("held_stores", { store_id: "t" }), /FOREIGN KEY/],
    ["DELETE FROM stores", /FOREIGN KEY/],
    [insertion("instance", { id: 2, uuid: id(5) }), /CHECK/],
    [insertion("snapshot", { key: expression("zeroblob(31)") }), /CHECK/],
    [insertion("resets"), /FOREIGN KEY/],
  ];
  for (const [sql, reason] of rows) expect(() => connection.exec(sql), sql).toThrow(reason);
  connection.exec("UPDATE checkouts SET status = 'cancelled'");
  connection.exec(checkout({}));
  connection.close();
});

test("audit rows never change, and can be deleted only in an erasure of their store", () => {
  const connection = openFilled();
  const kept = ["checkouts", "admin_acts", "drills", "waivers"];
  const audited = ["delivery_attempts", "deliveries", "events", ...kept];
  const act = insertion("admin_acts", { position: 1 });
  const event = insertion("events", { position: 2, id: id(3), checkout_id: id(2) });
  const replacing = (sql: string): string => sql.replace("INSERT", "INSERT OR REPLACE");
  const refused = [
    "UPDATE events SET body = 'x'",
    "UPDATE admin_acts SET at = 9",
    replacing(act),
    act.replace(";", " ON CONFLICT DO UPDATE SET note = 'x'"),
    "UPDATE delivery_attempts SET status = 500",
    "UPDATE deliveries SET state = 'due'",
    "UPDATE drills SET passed = 0",
    "UPDATE waivers SET reason = 'x'",
    ...audited.map((table) => `DELETE FROM ${table}`),
  ];
  const attempts = "INSERT OR REPLACE INTO delivery_attempts SELECT * FROM delivery_attempts";
  // The program's connections have recursive triggers; those of other programs may not.
  for (const [recursive, statements] of [
    ["OFF", refused],
    ["ON", [...refused, replacing(event), attempts]],
  ] as const) {
    connection.pragma(`recursive_triggers = ${recursive}`);
    for (const sql of statements)
      expect(() => connection.exec(sql), sql).toThrow(/immutable|never deleted|audited|final/);
  }
  const rows = (): unknown[] =>
    audited.map((table) => connection.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  expect(rows()).toEqual(audited.map(() => 1));
  const deleted = ["idempotency_keys", ...audited].map((table) => `DELETE FROM ${table};`).join("");
  connection.exec(`BEGIN; ${insertion("resets")} ${deleted} DELETE FROM resets; COMMIT`);
  expect(rows()).toEqual(audited.map(() => 0));
  connection.close();
});

test("only the status and the expiry of a checkout can change", () => {
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

test("the tables count the length of a text in bytes, even after a NUL", () => {
  const connection = openFilled();
  const journal = open(JOURNAL_FILE);
  const checkout = (row: Row): string =>
    insertion("checkouts", { id: id(9), order_id: "p", status: "failed", ...row });
  const rows: readonly (readonly [Database.Database, string, number])[] = [
    [connection, checkout({ order_id: expression("?") }), 128],
    [connection, checkout({ description: expression("?") }), 512],
    [
      connection,
      insertion("page_views", { checkout_id: id(2), kind: "returned", target: expression("?") }),
      1024,
    ],
    [connection, insertion("admin_acts", { note: expression("?") }), 2000],
    [connection, insertion("waivers", { reason: expression("?") }), 2000],
    [journal, "INSERT INTO seen_events (event_id, seen_at) VALUES (?, 1)", 1024],
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

test("a new file has the same tables as a file that went through all migrations", () => {
  const { tables, ...migratedOnly } = SANDBOX_FILE;
  const schemas = [SANDBOX_FILE, migratedOnly].map((kind) => {
    const opened = openDatabase(":memory:", { kind });
    if (!opened.ok) throw new Error(opened.refusal.message);
    const parts = opened.value.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name");
    return [opened.value.pragma("user_version", { simple: true }), parts.raw().all()];
  });
  expect(schemas[0]).toEqual(schemas[1]);
  expect([tables?.version]).toEqual([schemas[1]?.[0]]);
});

test("released migrations never change, and every new migration is listed in this test", () => {
  const digests = ({ migrations }: FileKind): string[] =>
    migrations.map((sql) => hash("sha256", sql).slice(0, 16));
  const kinds = [SANDBOX_FILE, SNAPSHOT_FILE, REQUESTS_FILE, JOURNAL_FILE];
  expect(kinds.map(({ firstVersion }) => firstVersion)).toEqual([30, 30, 30, 10]);
  expect(digests(SANDBOX_FILE)).toEqual([
    "e0779d9bc1155180",
    "f54eac9d57ec4964",
    "beb597c74df5454a",
    "0d00bca364a94c54",
    // The attempts that a replay made for a waiting delivery.
    "a2ecd1313a164fe5",
    // The observed facts of attempts.
    "1da31a1cf1131f94",
    // The CA certificates of an endpoint.
    "ce1b10b42992ee5f",
    // The file of openings beside a log.
    "f54aa06cbbf5a3f7",
    // The reasons for an endpoint's state by their names.
    "524995ba0cf4539d",
    // Fewer rows for a delivery and its attempts.
    "32f26226a65a3052",
    // Deliveries without an index of their store, checkout and queue, and payers' attempts without an index.
    "6ac8c83e19e3f9ea",
    // Later replays of an event wait behind its first replay.
    "bc02c29d9697edaa",
    // The dialect of a store.
    "71603e26e4517bd1",
    // Tokens, links and sessions with rights on one store.
    "d5041643b7e519a7",
    "2bdebe7ae8f28614",
    // The effects of leases.
    "ec0c4859af180a74",
  ]);
  expect(digests(REQUESTS_FILE)).toEqual(["b355ebca74f9a16f"]);
  expect(digests(JOURNAL_FILE)).toEqual([
    "818552a8a73ecc35",
    "7856f88629810d56",
    "79625687773e04c2",
    "37df8eafe5a0812d",
    "f54aa06cbbf5a3f7",
  ]);
});
