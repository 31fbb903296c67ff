import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { FIRST_FORMAT, openDatabase, type FileKind } from "../../src/store/connection/database.ts";
import { createGroupCommit } from "../../src/store/connection/group-commit.ts";
import { StorageUnavailable } from "../../src/store/connection/storage-failure.ts";
import { failureInVerdict, storageFailureOf } from "../../src/store/connection/storage-failure.ts";
import { REAL } from "../support/real.ts";
import { JOURNAL_FILE, openJournal, openSeenEvents } from "../../src/store/journal/journal.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { openWatched } from "../../src/store/connection/watched-database.ts";
import { tempFolder } from "../support/temp-folder.ts";

const scheduler = {
  soon: (run: () => void) => void setImmediate(run),
  after: (ms: number, run: () => void) => void setTimeout(run, ms),
};
const KIND: FileKind = {
  name: "test file",
  applicationId: 7,
  migrations: ["CREATE TABLE a (x INTEGER) STRICT"],
  aside: "the file",
};
const NEXT: FileKind = { ...KIND, migrations: [...KIND.migrations, "ALTER TABLE a ADD COLUMN y TEXT"] };

function open(path: string, kind = KIND): Database.Database {
  const opened = openDatabase(path, { kind });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

/** A file as a crashed development version left it: its mark, and a write that is only in the write-ahead log. */
function developmentFile(kind: FileKind, format: number): string {
  const [running, crashed] = [join(tempFolder(), "old.db"), join(tempFolder(), "old.db")];
  const file = new Database(running);
  file.pragma(`application_id = ${kind.applicationId}`);
  file.pragma(`user_version = ${format}`);
  file.pragma("journal_mode = WAL");
  file.exec("CREATE TABLE merchants (id TEXT PRIMARY KEY) STRICT; INSERT INTO merchants VALUES ('m')");
  for (const end of ["", "-wal"]) copyFileSync(running + end, crashed + end);
  file.close();
  return crashed;
}

function hashes(path: string): readonly string[] {
  return [path, `${path}-wal`].map((file) => hash("sha256", readFileSync(file)));
}

function openSandboxStore(path: string): Store {
  const opened = openStore(path, { nativeBinding: undefined, scheduler });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

test("a file that is not ours, or not whole, is refused with the reason and never written to", () => {
  const folder = tempFolder();
  const newer = open(join(folder, "newer.db"), NEXT);
  newer.close();
  const whole = open(join(folder, "whole.db"), KIND);
  const insert = whole.prepare("INSERT INTO a VALUES (?)");
  whole.transaction(() => Array.from({ length: 5000 }, (_, x) => insert.run(x)))();
  whole.close();
  const bytes = readFileSync(join(folder, "whole.db"));
  const foreign = new Database(join(folder, "foreign.db"));
  foreign.exec("CREATE TABLE b (x)");
  foreign.close();
  const scrambled = Buffer.from(bytes).fill(0xa5, 4096, 20_000);
  const rows: readonly (readonly [string, string, Uint8Array?])[] = [
    ["zero_bytes", "empty.db", Buffer.alloc(0)],
    [
      "foreign",
      "text.db",
      Buffer.from("hello, this is no database, but it is long enough to be read as one".repeat(3)),
    ],
    ["foreign", "foreign.db"],
    ["foreign", "short.db", Buffer.from("hi")],
    ["damaged", "header.db", bytes.subarray(0, 60)],
    ["damaged", "cut.db", bytes.subarray(0, 9000)],
    ["damaged", "scrambled.db", scrambled],
    ["newer", "newer.db"],
  ];
  for (const [reason, name, content] of rows) {
    const path = join(folder, name);
    if (content !== undefined) writeFileSync(path, content);
    const before = readFileSync(path);
    const opened = openDatabase(path, { kind: KIND });
    expect([name, opened.ok ? "opened" : opened.refusal.reason]).toEqual([name, reason]);
    expect(opened.ok ? "" : opened.refusal.remedy).toContain("--dir");
    expect(readFileSync(path).equals(before)).toBe(true);
  }
});

test("an older file is backed up, then migrated; a failing migration leaves it as it was", () => {
  const folder = tempFolder();
  const path = join(folder, "a.db");
  const old = open(path);
  old.exec("INSERT INTO a VALUES (42)");
  old.close();

  const broken: FileKind = {
    ...KIND,
    migrations: [...KIND.migrations, "ALTER TABLE a ADD COLUMN y TEXT; SELECT broken"],
  };
  expect(() => open(path, broken)).toThrow(/broken/);
  const untouched = open(path);
  expect(untouched.prepare("SELECT * FROM a").all()).toEqual([{ x: 42 }]);
  untouched.close();

  const migrated = open(path, NEXT);
  expect(migrated.prepare("SELECT * FROM a").all()).toEqual([{ x: 42, y: null }]);
  expect(migrated.pragma("user_version", { simple: true })).toBe(FIRST_FORMAT + 1);
  migrated.close();
  const backup = new Database(join(folder, `a.db.v${FIRST_FORMAT}.backup`), { readonly: true });
  expect(backup.prepare("SELECT * FROM a").all()).toEqual([{ x: 42 }]);
  backup.close();
});

test("a file of a development version is refused with reason and remedy, and never written to", () => {
  const rows = [
    {
      kind: SANDBOX_FILE,
      formats: [1, 2, 3, 4, 5],
      openers: [(path: string) => openStore(path, { nativeBinding: undefined, scheduler })],
    },
    {
      kind: JOURNAL_FILE,
      formats: [1, 2],
      openers: [
        (path: string) => openJournal(path),
        (path: string) => openSeenEvents(path, { now: Date.now() }),
      ],
    },
  ];
  for (const { kind, formats, openers } of rows) {
    for (const format of formats) {
      const path = developmentFile(kind, format);
      const before = hashes(path);
      for (const openIt of openers) {
        const opened = openIt(path);
        expect(opened.ok ? "opened" : opened.refusal).toEqual({
          reason: "development_version",
          message: `${path} was made by a development version of checkout (format ${format}; released versions start at ${FIRST_FORMAT}); nothing was written to it`,
          remedy: "move its folder away, or use a new folder with --dir",
        });
      }
      expect(hashes(path)).toEqual(before);
    }
  }
});

test("format 12 keeps the drills and API keys of format 11, and takes the new kinds", () => {
  const path = join(tempFolder(), "sandbox.db");
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 2) });
  const id = "0199a3c4-5d00-7000-8000-000000000001";
  old.exec(`
    INSERT INTO merchants (id, name, created_at) VALUES ('m', 'Merchant', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('${id}', 'm', 'Store', 1, 2);
    INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at)
      VALUES ('k', '${id}', '${"a".repeat(64)}', 'last', 'orders:write', 3)`);
  const insert =
    "INSERT INTO drills (id, store_id, kind, subject, passed, steps, at) VALUES (?, ?, ?, ?, ?, ?, ?)";
  const drill = (last: number, kind: string) => [
    id.slice(0, -1) + String(last),
    id,
    kind,
    "it",
    1,
    "[]",
    last,
  ];
  for (const [last, kind] of ["webhook", "idempotency", "browser_return"].entries())
    old.prepare(insert).run(...drill(last, kind));
  expect(() => old.prepare(insert).run(...drill(4, "duplicates"))).toThrow(/CHECK/);
  const before = old.prepare("SELECT rowid, * FROM drills ORDER BY rowid").all();
  old.close();

  const migrated = open(path, SANDBOX_FILE);
  expect(migrated.prepare("SELECT rowid, * FROM drills ORDER BY rowid").all()).toEqual(before);
  expect(migrated.prepare("SELECT id, for_drill FROM credentials").all()).toEqual([
    { id: "k", for_drill: 0 },
  ]);
  migrated.prepare(insert).run(...drill(4, "duplicates"));
  for (const sql of ["UPDATE drills SET passed = 0", "DELETE FROM drills"])
    expect(() => migrated.exec(sql)).toThrow(/immutable/);
  migrated.exec(
    `INSERT INTO waivers (store_id, drill, reason, at) VALUES ('${id}', 'duplicates', 'by hand', 1)`,
  );
  for (const sql of ["UPDATE waivers SET reason = 'x'", "DELETE FROM waivers"])
    expect(() => migrated.exec(sql)).toThrow(/immutable/);
  migrated.close();
});

test("format 13 keeps what format 12 holds, and lets it go with a reset of its store alone", () => {
  const path = join(tempFolder(), "sandbox.db");
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 3) });
  const id = (last: number): string => `0199a3c4-5d00-7000-8000-00000000000${last}`;
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);
    INSERT INTO checkouts VALUES ('${id(1)}', 's', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2);
    INSERT INTO events VALUES (1, '${id(3)}', 's', '${id(1)}', 'order.created', 1, '{}', 1);`);
  const read = (file: Database.Database): unknown[] =>
    ["checkouts", "events"].map((name) => file.prepare(`SELECT rowid, * FROM ${name}`).all());
  const before = read(old);
  old.close();
  const migrated = open(path, SANDBOX_FILE);
  expect(read(migrated)).toEqual(before);
  const goes = "DELETE FROM events; DELETE FROM checkouts;";
  expect(() => migrated.exec(goes)).toThrow(/immutable/);
  migrated.exec(`BEGIN; INSERT INTO resets VALUES ('s'); ${goes} DELETE FROM resets; COMMIT`);
  expect(read(migrated)).toEqual([[], []]);
  migrated.close();
});

test("format 14 keeps the return origins of format 13, each with the root as its path", () => {
  const path = join(tempFolder(), "sandbox.db");
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 4) });
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);
    INSERT INTO return_origins VALUES ('s', 'https://shop.example', 2), ('s', 'http://localhost:3000', 1);`);
  const select = "SELECT rowid, store_id, origin, created_at FROM return_origins ORDER BY rowid";
  const before = old.prepare(select).all();
  old.close();
  const migrated = open(path, SANDBOX_FILE);
  expect([before.length, migrated.prepare(select).all()]).toEqual([2, before]);
  expect(migrated.prepare("SELECT DISTINCT path FROM return_origins").pluck().all()).toEqual(["/"]);
  migrated.exec("UPDATE return_origins SET path = '/thanks'");
  for (const wrong of ["thanks", "//evil.example", "/?paid", "/a b", ""])
    expect(() => migrated.exec(`UPDATE return_origins SET path = '${wrong}'`)).toThrow(/CHECK/);
  migrated.close();
});

test("format 15 keeps prices and the audit log of format 14, and takes approvals of prices", () => {
  const path = join(tempFolder(), "sandbox.db");
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 5) });
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);
    INSERT INTO prices VALUES ('s', 'tea', 'Tea', 700, 'EUR', 'alipay_plus', 1), ('s', 'mate', '', 1, 'JPY', 'wechat_pay', 0);
    INSERT INTO admin_acts (store_id, actor, action, subject, note, at)
      VALUES ('s', 'administrator', 'enable_capability', 'EUR', 'why', 1), ('s', 'merchant', 'request_production', NULL, NULL, 2);`);
  const insert = `INSERT INTO admin_acts (store_id, actor, action, subject, at)
    VALUES ('s', 'administrator', 'approve_price', 'tea', 3)`;
  expect(() => old.exec(insert)).toThrow(/CHECK/);
  const read = (file: Database.Database, name: string): object[] =>
    file.prepare<[], object>(`SELECT * FROM ${name}`).all();
  const [prices, acts] = [read(old, "prices"), read(old, "admin_acts")];
  old.close();

  const migrated = open(path, SANDBOX_FILE);
  const added = { billing_model: "one_time", retired: 0 };
  expect(read(migrated, "prices")).toEqual(prices.map((price) => Object.assign(price, added)));
  expect(read(migrated, "admin_acts")).toEqual(acts);
  for (const change of ["billing_model = 'monthly'", "retired = 2"])
    expect(() => migrated.exec(`UPDATE prices SET ${change}`)).toThrow(/CHECK/);
  migrated.exec(insert);
  expect(read(migrated, "admin_acts").at(-1)).toMatchObject({ position: 3, action: "approve_price" });
  // The log is as immutable as before, and goes with a reset of its store alone.
  const other = `INSERT OR REPLACE INTO admin_acts (position, store_id, actor, action, at)
    VALUES (1, 's', 'administrator', 'activate', 1)`;
  for (const sql of ["UPDATE admin_acts SET at = 9", "DELETE FROM admin_acts", other])
    expect(() => migrated.exec(sql)).toThrow(/immutable/);
  migrated.exec("BEGIN; INSERT INTO resets VALUES ('s'); DELETE FROM admin_acts; DELETE FROM resets; COMMIT");
  expect(read(migrated, "admin_acts")).toEqual([]);
  expect(
    migrated
      .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'admin_acts%' ORDER BY name")
      .pluck()
      .all(),
  ).toEqual([
    "admin_acts",
    "admin_acts_are_added",
    "admin_acts_are_immutable",
    "admin_acts_are_kept",
    "admin_acts_of_store",
  ]);
  migrated.close();
});

test("format 17 keeps what format 16 holds, and what an erasure needs is there", async () => {
  const path = join(tempFolder(), "sandbox.db");
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 7) });
  const id = (last: number): string => `0199a3c4-5d00-7000-8000-00000000000${last}`;
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('r', 'm', 'r', 1, 1), ('s', 'm', 's', 1, 1);
    INSERT INTO endpoints VALUES ('${id(1)}', 's', 'url', 'http://localhost/', '*', 'enabled', NULL, NULL, 1, 2);
    INSERT INTO checkouts VALUES ('${id(2)}', 's', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2);
    INSERT INTO events VALUES (7, '${id(3)}', 's', '${id(2)}', 'order.created', 1, '{}', 1);`);
  const read = (file: Database.Database): unknown[] =>
    ["stores", "endpoints", "checkouts", "events"].map((name) =>
      file.prepare(`SELECT rowid, * FROM ${name}`).all(),
    );
  const before = read(old);
  old.close();
  const migrated = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 8) });
  expect(read(migrated)).toEqual(before);
  for (const sql of [
    "INSERT INTO erasures VALUES ('s', 'other')",
    "INSERT INTO erasures VALUES ('unknown', 'reset')",
    "INSERT INTO event_floor VALUES (2, 1)",
  ])
    expect(() => migrated.exec(sql)).toThrow(/CHECK|FOREIGN KEY/);
  migrated.close();
  const store = openSandboxStore(path);
  const erasure = { storeId: "s", kind: "delete" } as const;
  await store.write(() => store.erasures.begin(erasure));
  expect(await store.write(() => store.erasures.eraseSome([erasure]))).toEqual([]);
  await store.write(() =>
    store.events.insert({
      id: id(3),
      storeId: "r",
      checkoutId: null,
      type: "webhook.test",
      sequence: 1,
      body: "{}",
      createdAt: 1,
    }),
  );
  expect(store.events.find(id(3))?.position).toBe(8);
  expect(store.clocks.storeIds()).toEqual(["r"]);
  store.close();
});

test("the format with endpoints that get one delivery at a time keeps those that are there as they were", () => {
  const path = join(tempFolder(), "sandbox.db");
  const at = SANDBOX_FILE.migrations.findIndex((sql) => sql.includes("in_order INTEGER NOT NULL DEFAULT 0"));
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, at) });
  const id = (last: number): string => `0199a3c4-5d00-7000-8000-00000000000${last}`;
  const insert = (last: number, more = "") =>
    `INSERT INTO endpoints VALUES ('${id(last)}', 's', 'url', 'http://localhost/', '*', 'paused', 'why', 3, 1, NULL${more})`;
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);`);
  old.exec(insert(1));
  const read = (file: Database.Database) => file.prepare<[], object>("SELECT rowid, * FROM endpoints").all();
  const before = read(old);
  old.close();
  const migrated = open(path, SANDBOX_FILE);
  expect(read(migrated)).toEqual(before.map((row) => Object.assign(row, { in_order: 0 })));
  migrated.exec(insert(2, ", 1"));
  expect(() => migrated.exec(insert(3, ", 2"))).toThrow(/CHECK/);
  migrated.close();
});

test("the format with faults of v1 too keeps those that could still hit, and what deliveries had met", () => {
  const path = join(tempFolder(), "sandbox.db");
  const at = SANDBOX_FILE.migrations.findIndex((sql) => sql.includes("lose_answer"));
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, at) });
  const id = (last: number): string => `0199a3c4-5d00-7000-8000-00000000000${last}`;
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);
    INSERT INTO endpoints VALUES ('${id(1)}', 's', 'url', 'http://localhost/', '*', 'enabled', NULL, NULL, 1, NULL, 0);
    INSERT INTO events VALUES (7, '${id(2)}', 's', NULL, 'webhook.test', 1, '{}', 1);
    INSERT INTO deliveries VALUES ('${id(3)}', 's', '${id(1)}', '${id(2)}', NULL, 1, 'event', 1, 'failed', 1, 1, 1);
    INSERT INTO delivery_attempts (delivery_id, number, started_at, url, headers, body_hash, fault)
      VALUES ('${id(3)}', 1, 1, 'u', '{}', '${"e".repeat(64)}', 'stale_timestamp');
    INSERT INTO faults VALUES ('${id(5)}', 's', '${id(1)}', '${id(2)}', 'stale_timestamp', 2000, 3, 9),
      ('${id(4)}', 's', '${id(1)}', NULL, 'delay', 5000, 1, 8), ('${id(6)}', 's', '${id(1)}', NULL, 'drop', 0, 0, 7);`);
  old.close();
  open(path, SANDBOX_FILE).close();
  const store = openSandboxStore(path);
  const any = { method: null, path: null, eventType: null, orderId: null, nth: 1, probability: null };
  const rest = { ...any, status: null, retryAfterS: null, until: null, matched: 0, applied: 0 };
  const shared = { ...rest, storeId: "s", endpointId: id(1) };
  expect(store.faults.now("s")).toEqual([
    {
      ...shared,
      id: id(4),
      action: "delay",
      eventId: null,
      latencyMs: 5000,
      times: 1,
      seed: id(4),
      createdAt: 8,
    },
    {
      ...shared,
      id: id(5),
      action: "stale",
      eventId: id(2),
      latencyMs: null,
      times: 3,
      seed: id(5),
      createdAt: 9,
    },
  ]);
  expect(store.deliveries.find(id(3))).toMatchObject({ fault: null, state: "failed" });
  expect(store.deliveryAttempts.of(id(3))).toMatchObject([{ fault: "stale" }]);
  store.close();
  const raw = new Database(path);
  const insert = (columns: string, values: string): void =>
    void raw.exec(
      `INSERT INTO faults (id, store_id, nth, seed, matched, applied, created_at, ${columns})
       VALUES ('${id(8)}', 's', 1, '', 0, 0, 1, ${values})`,
    );
  for (const [columns, values] of [
    ["action, times", "'rain', 1"],
    ["action, times", "'drop', 0"],
    ["action", "'drop'"],
    ["action, times, probability", "'drop', 1, 1.5"],
    ["action, times, method", "'reset', 1, 'PUT'"],
    ["action, times, status", "'status', 1, 200"],
  ] as const)
    expect(() => insert(columns, values)).toThrow("CHECK");
  raw.close();
});

test("the format with the indexes of lists keeps what is there, and one open or paid checkout of an order", () => {
  const path = join(tempFolder(), "sandbox.db");
  const at = SANDBOX_FILE.migrations.findIndex((sql) => sql.includes("checkouts_of_kind"));
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, at) });
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);`);
  const insert = (status: string, last: number) =>
    `INSERT INTO checkouts VALUES ('0199a3c4-5d00-7000-8000-00000000000${last}', 's', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, '${status}', 1, 2)`;
  for (const [last, status] of ["failed", "cancelled", "expired", "succeeded"].entries())
    old.exec(insert(status, last));
  const read = (file: Database.Database): unknown[] => file.prepare("SELECT rowid, * FROM checkouts").all();
  const before = read(old);
  old.close();
  const migrated = open(path, SANDBOX_FILE);
  expect(read(migrated)).toEqual(before);
  for (const status of ["created", "pending", "succeeded"])
    expect(() => migrated.exec(insert(status, 5))).toThrow(/UNIQUE/);
  for (const [last, status] of ["failed", "cancelled", "expired"].entries())
    migrated.exec(insert(status, 5 + last));
  expect(migrated.pragma("integrity_check", { simple: true })).toBe("ok");
  migrated.close();
});

test("the format with an instance makes room for it, and the journal's format 12 keeps its entries and events as of none", () => {
  const path = join(tempFolder(), "sandbox.db");
  open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, -1) }).close();
  const migrated = open(path, SANDBOX_FILE);
  migrated.exec("INSERT INTO instance VALUES (1, '00000000-0000-4000-8000-000000000001')");
  expect(() =>
    migrated.exec("INSERT INTO instance VALUES (2, '00000000-0000-4000-8000-000000000001')"),
  ).toThrow(/CHECK/);
  expect(() => migrated.exec("INSERT INTO snapshot VALUES (1, NULL, 1, zeroblob(31))")).toThrow(/CHECK/);
  migrated.close();
  const journal = join(tempFolder(), "journal.db");
  const old = open(journal, { ...JOURNAL_FILE, migrations: JOURNAL_FILE.migrations.slice(0, 2) });
  old.exec(`
    INSERT INTO entries (key, service, endpoint, order_id, attempt, body, state, first_sent_at, updated_at)
      VALUES ('key-00001', 's', 'orders', 'o', 1, '{}', 'pending', 1, 1);
    INSERT INTO seen_events VALUES ('e', 1)`);
  const read = (file: Database.Database): unknown[] =>
    ["entries", "seen_events"].map((table) => file.prepare(`SELECT * FROM ${table}`).get());
  const before = read(old);
  old.close();
  const renewed = open(journal, JOURNAL_FILE);
  expect(read(renewed)).toEqual(before.map((row) => Object.assign({}, row, { instance: null })));
  renewed.close();
});

test("the format with stores that are held back holds none of those that are there", () => {
  const path = join(tempFolder(), "sandbox.db");
  const at = SANDBOX_FILE.migrations.findIndex((sql) => sql.includes("held_stores"));
  const old = open(path, { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, at) });
  old.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);`);
  old.close();
  const migrated = open(path, SANDBOX_FILE);
  migrated.pragma("foreign_keys = ON");
  expect(migrated.prepare("SELECT * FROM held_stores").all()).toEqual([]);
  migrated.exec("INSERT INTO held_stores VALUES ('s')");
  expect(() => migrated.exec("INSERT INTO held_stores VALUES ('s')")).toThrow(/UNIQUE/);
  expect(() => migrated.exec("INSERT INTO held_stores VALUES ('t')")).toThrow(/FOREIGN KEY/);
  expect(() => migrated.exec("DELETE FROM stores")).toThrow(/FOREIGN KEY/);
  migrated.close();
});

test("a format stays as it is: a change of the schema is one more migration, noted here and tested", () => {
  const digests = ({ migrations }: FileKind): string[] =>
    migrations.map((sql) => hash("sha256", sql.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ")).slice(0, 16));
  expect(digests(SANDBOX_FILE)).toEqual([
    "5ee9c330d7ea0b2f",
    "08060b2d92e7fca1",
    "20934aba08d5560b",
    "ccfd7eb606cc70cd",
    "f9db9c000c5f0cc1",
    "70cf94ed037eb99c",
    "a241c849bb57a22d",
    "d5dc72552f62ea19",
    "7090641bde7eb4f6",
    "4fb999c25cff6f50",
    "fe99a2891e4e4a41",
    "551741e8defb9031",
    "7267d819e50cb0f4",
    "f44334b3a6c16073",
  ]);
  expect(digests(JOURNAL_FILE)).toEqual(["8cf5d8ba216ac025", "d86f3bb97423337b", "26d044b90b6a8f9c"]);
});

test("what a crash left half-written is in nobody's way, and goes with the next start; a live process keeps its own", () => {
  const folder = tempFolder();
  const path = join(folder, "a.db");
  const dead = spawnSync(process.execPath, ["--version"]).pid;
  mkdirSync(`${path}.${dead}.new-abc123`);
  writeFileSync(join(`${path}.${dead}.new-abc123`, "whole.db"), "half a file");
  writeFileSync(join(folder, `run.json.${dead}.new-0x1y`), "half a file");
  writeFileSync(join(folder, `run.json.${process.pid}.new-0x1y`), "half a file");
  open(path).close();
  REAL.files.removeUnfinished(folder);
  expect(readdirSync(folder).toSorted()).toEqual(["a.db", `run.json.${process.pid}.new-0x1y`]);
});

test("a new file has its name only when all of it is in there, and nothing is left beside it", () => {
  const folder = tempFolder();
  const path = join(folder, "a.db");
  const broken: FileKind = { ...KIND, migrations: [...KIND.migrations, "SELECT broken"] };
  expect(() => open(path, broken)).toThrow(/broken/);
  expect(readdirSync(folder)).toEqual([]);
  const whole = open(path);
  expect(readdirSync(folder).toSorted()).toEqual(["a.db", "a.db-shm", "a.db-wal"]);
  // All that matters is in the file itself: what a lost -wal would take with it was never only there.
  expect(statSync(`${path}-wal`).size).toBe(0);
  whole.close();
});

test("a log whose file is gone is never given to a new file", async () => {
  const { store, path } = await usedStore();
  rmSync(path);
  const before = readFileSync(`${path}-wal`);
  const opened = openStore(path, { scheduler });
  expect(opened.ok ? "opened" : opened.refusal.reason).toBe("file_missing");
  expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
  expect(readdirSync(dirname(path))).not.toContain("sandbox.db");
  store.close();
});

test("a disk that fails is named, and never called damage", () => {
  const folder = tempFolder();
  writeFileSync(join(folder, "file"), "");
  const rows: readonly (readonly [string, string])[] = [
    ["missing/a.db", "file_missing"],
    ["file/a.db", "file_missing"],
    [`${"x".repeat(300)}.db`, "path_not_usable"],
    ["folder.db", "path_not_usable"],
  ];
  mkdirSync(join(folder, "folder.db"));
  for (const [name, reason] of rows) {
    const opened = openDatabase(join(folder, name), { kind: KIND });
    expect([name, opened.ok ? "opened" : opened.refusal.reason]).toEqual([name, reason]);
    expect(opened.ok ? "" : opened.refusal.message).toContain(folder);
  }
});

test("every error of a file system or of SQLite that is no bug has a cause and a remedy", () => {
  const rows = {
    disk_full: ["ENOSPC", "EDQUOT", "SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"],
    disk_io_error: ["EIO", "SQLITE_IOERR", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHORT_READ"],
    file_not_permitted: ["EACCES", "EPERM", "SQLITE_PERM"],
    file_read_only: ["EROFS", "SQLITE_READONLY", "SQLITE_READONLY_ROLLBACK"],
    file_locked: ["EBUSY", "ETXTBSY", "SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED"],
    too_many_open_files: ["EMFILE", "ENFILE"],
    file_missing: ["ENOENT", "ENOTDIR"],
    file_too_large: ["EFBIG", "SQLITE_NOLFS", "ERR_FS_FILE_TOO_LARGE"],
    path_not_usable: ["ENAMETOOLONG", "ELOOP", "EISDIR"],
    file_not_opened: ["SQLITE_CANTOPEN", "SQLITE_CANTOPEN_ISDIR"],
    out_of_memory: ["ENOMEM", "SQLITE_NOMEM", "SQLITE_IOERR_NOMEM"],
    database_changed: ["SQLITE_READONLY_DBMOVED"],
    database_damaged: ["SQLITE_CORRUPT", "SQLITE_CORRUPT_INDEX", "SQLITE_NOTADB"],
    program_incomplete: ["ERR_DLOPEN_FAILED"],
  } as const;
  for (const [code, errors] of Object.entries(rows)) {
    for (const error of errors) {
      const failure = storageFailureOf(Object.assign(new Error("x"), { code: error }));
      expect([error, failure?.code]).toEqual([error, code]);
      expect([failure?.sentence, failure?.next]).not.toContain("");
    }
  }
  for (const other of ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_ERROR", "ECONNREFUSED", "ERR_INVALID_ARG_TYPE"])
    expect(storageFailureOf(Object.assign(new Error("x"), { code: other }))).toBeUndefined();
});

test("a check that could not read a file does not call it damaged", () => {
  const verdict = (code: number): string =>
    `*** in database main ***\nTree 33 page 33: unable to get the page. error code=${code}`;
  // With the extended codes of SQLITE_IOERR_CORRUPTFS and SQLITE_CORRUPT_INDEX.
  const rows = {
    10: "disk_io_error",
    8458: "disk_io_error",
    7: "out_of_memory",
    11: undefined,
    779: undefined,
  };
  for (const [code, expected] of Object.entries(rows))
    expect([code, failureInVerdict(verdict(Number(code)))?.code]).toEqual([code, expected]);
  expect(failureInVerdict("wrong # of entries in index i")).toBeUndefined();
});

test("commits wait for the disk, also after the first write", () => {
  const connection = open(join(tempFolder(), "a.db"));
  connection.exec("INSERT INTO a VALUES (1)");
  const pragma = (name: string): unknown => connection.pragma(name, { simple: true });
  expect([pragma("journal_mode"), pragma("synchronous")]).toEqual(["wal", 2]);
  expect([pragma("foreign_keys"), pragma("recursive_triggers")]).toEqual([1, 1]);
  connection.close();
});

test("writes of one moment share a commit; the one that fails is undone alone", async () => {
  const connection = open(join(tempFolder(), "a.db"));
  let commits = 0;
  const counted = new Proxy(connection, {
    get: (target, name) =>
      name === "prepare"
        ? (sql: string) => count(target.prepare(sql), sql)
        : Reflect.get(target, name, target),
  });
  const count = (statement: Database.Statement, sql: string): Database.Statement => {
    const execute = statement.run.bind(statement);
    statement.run = (...values: unknown[]) => {
      if (sql === "COMMIT") commits += 1;
      return execute(...values);
    };
    return statement;
  };
  const write = createGroupCommit(counted, scheduler);
  const insert = connection.prepare("INSERT INTO a VALUES (?)");
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, x) =>
      write(() => {
        insert.run(x);
        if (x === 7) throw new Error("not this one");
        return x;
      }),
    ),
  );
  expect(commits).toBe(1);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(connection.prepare("SELECT count(*) FROM a WHERE x <> 7").pluck().get()).toBe(49);
  expect(connection.prepare("SELECT count(*) FROM a").pluck().get()).toBe(49);
  connection.close();
});

test("a commit that fails rejects every caller of its batch, and the next one is taken", async () => {
  const connection = open(join(tempFolder(), "a.db"), {
    ...KIND,
    migrations: [
      `CREATE TABLE stores (id INTEGER PRIMARY KEY) STRICT;
       CREATE TABLE orders (store INTEGER REFERENCES stores (id) DEFERRABLE INITIALLY DEFERRED) STRICT`,
    ],
  });
  const write = createGroupCommit(connection, scheduler);
  const addStore = connection.prepare("INSERT INTO stores VALUES (?)");
  // What it refers to is looked for at the commit, and is not there.
  const addOrder = connection.prepare("INSERT INTO orders VALUES (99)");
  const batch = [() => addStore.run(1), () => addOrder.run(), () => addStore.run(2)].map((job) => write(job));
  const ended = await Promise.allSettled(batch);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await write(() => addStore.run(3));
  expect(connection.prepare("SELECT id FROM stores").pluck().all()).toEqual([3]);
  expect(connection.prepare("SELECT store FROM orders").all()).toEqual([]);
  connection.close();
});

test("10,000 writes may wait; one more is refused at once, and those that wait are done", async () => {
  const connection = open(join(tempFolder(), "a.db"));
  const write = createGroupCommit(connection, scheduler);
  const insert = connection.prepare("INSERT INTO a VALUES (?)");
  const waiting = Array.from({ length: 10_000 }, (_, x) => write(() => insert.run(x)));
  await expect(write(() => insert.run(-1))).rejects.toMatchObject({ failure: { code: "file_locked" } });
  await Promise.all(waiting);
  await write(() => insert.run(10_000));
  const count = connection.prepare("SELECT count(*), min(x), max(x) FROM a").raw();
  expect(count.get()).toEqual([10_001, 0, 10_000]);
  connection.close();
});

test("a disk that cannot say whether the files are there refuses the write, and ends nothing", async () => {
  const connection = new Database(":memory:");
  connection.exec("CREATE TABLE a (x INTEGER) STRICT");
  const insert = connection.prepare("INSERT INTO a VALUES (1)");
  const fail = (): never => {
    throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
  };
  const ended: unknown[] = [];
  for (const watch of [
    { isIntact: fail, noteWritten: () => true, close: () => undefined },
    { isIntact: () => true, noteWritten: fail, close: () => undefined },
  ]) {
    const write = createGroupCommit(connection, { ...scheduler, watch, ended: (how) => ended.push(how) });
    for (const job of [write(() => insert.run()), write(() => insert.run())])
      await expect(job).rejects.toMatchObject({ failure: { code: "disk_io_error" } });
  }
  expect(ended).toEqual([expect.any(StorageUnavailable), expect.any(StorageUnavailable)]);
  connection.close();
});

test("a write waits for another process's lock, reads go on, and a lock that stays is said", async () => {
  const path = join(tempFolder(), "sandbox.db");
  const store = openSandboxStore(path);
  const other = new Database(path);
  other.exec("BEGIN IMMEDIATE");
  const waiting = store.write(() => store.stores.insertMerchant({ id: "m1", name: "m", createdAt: 1 }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(store.stores.first()).toBeUndefined();
  other.exec("COMMIT");
  await waiting;
  expect(other.prepare("SELECT id FROM merchants").pluck().all()).toEqual(["m1"]);
  other.exec("BEGIN IMMEDIATE");
  const impatient = openStore(path, {
    nativeBinding: undefined,
    scheduler: { ...scheduler, after: (_, run) => void setImmediate(run) },
  });
  if (!impatient.ok) throw new Error(impatient.refusal.message);
  await expect(impatient.value.write(() => 1)).rejects.toBeInstanceOf(StorageUnavailable);
  other.close();
  impatient.value.close();
  store.close();
});

/** A store with a row, and another sandbox's file of the same size. */
async function usedStore(): Promise<{ store: Store; path: string; other: string }> {
  const folder = tempFolder();
  const [path, other] = [join(folder, "sandbox.db"), join(folder, "other.db")];
  for (const [file, id] of [
    [path, "m1"],
    [other, "m2"],
  ] as const) {
    const made = openSandboxStore(file);
    await made.write(() => made.stores.insertMerchant({ id, name: "m", createdAt: 1 }));
    made.close();
  }
  const store = openSandboxStore(path);
  await store.write(() => store.stores.insertMerchant({ id: "m3", name: "m", createdAt: 1 }));
  return { store, path, other };
}

test("a database whose files vanish, are replaced or are written to by others takes no more writes", async () => {
  const lost: readonly (readonly [string, (path: string, other: string) => void])[] = [
    ["rm", (path) => rmSync(path)],
    ["rm -wal", (path) => rmSync(`${path}-wal`)],
    ["rm -shm", (path) => rmSync(`${path}-shm`)],
    ["rm -wal -shm", (path) => ["-wal", "-shm"].forEach((end) => rmSync(path + end))],
    ["mv other", (path, other) => renameSync(other, path)],
    ["mv copy", (path) => (copyFileSync(path, `${path}.copy`), renameSync(`${path}.copy`, path))],
    ["mv other -wal", (path, other) => renameSync(other, `${path}-wal`)],
    ["mv other -shm", (path, other) => renameSync(other, `${path}-shm`)],
    ["truncate", (path) => truncateSync(path)],
    ["truncate -wal", (path) => truncateSync(`${path}-wal`)],
    ["cut -wal", (path) => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 1)],
    ["cp other", (path, other) => copyFileSync(other, path)],
    ["cp other -wal", (path, other) => writeFileSync(`${path}-wal`, readFileSync(other))],
  ];
  for (const [how, doIt] of lost) {
    const { store, path, other } = await usedStore();
    expect([how, store.failure()]).toEqual([how, undefined]);
    doIt(path, other);
    expect([how, store.failure()?.failure.code]).toEqual([how, "database_changed"]);
    await expect(
      store.write(() => 1),
      how,
    ).rejects.toBeInstanceOf(StorageUnavailable);
    expect([how, store.failure()?.failure.code]).toEqual([how, "database_changed"]);
    store.close();
  }
});

test("what others may do to the files of an open database is no loss", async () => {
  const harmless: readonly (readonly [string, (path: string) => void])[] = [
    ["touch", (path) => ["", "-wal", "-shm"].forEach((end) => utimesSync(path + end, 1, 1))],
    ["chmod", (path) => ["", "-wal", "-shm"].forEach((end) => chmodSync(path + end, 0o600))],
    ["move away and back", (path) => (renameSync(path, `${path}.x`), renameSync(`${path}.x`, path))],
    ["a commit of another process", (path) => writeAs(path, "wal_checkpoint(PASSIVE)")],
    ["a reader that closes", (path) => openSandboxStore(path).close()],
  ];
  for (const [how, doIt] of harmless) {
    const { store, path } = await usedStore();
    doIt(path);
    expect([how, store.failure()]).toEqual([how, undefined]);
    await store.write(() => store.stores.insertMerchant({ id: "m4", name: "m", createdAt: 1 }));
    doIt(path);
    await expect(
      store.write(() => 1),
      how,
    ).resolves.toBe(1);
    store.close();
  }
});

function writeAs(path: string, pragma: string): void {
  const other = new Database(path);
  other.exec("UPDATE merchants SET name = name || 'x'");
  other.pragma(pragma);
  other.close();
}

test("a write that the disk refuses is said until one succeeds", async () => {
  const { store, path } = await usedStore();
  const other = new Database(path);
  other.exec("BEGIN IMMEDIATE");
  const impatient = openStore(path, {
    nativeBinding: undefined,
    scheduler: { ...scheduler, after: (_, run) => void setImmediate(run) },
  });
  if (!impatient.ok) throw new Error(impatient.refusal.message);
  await expect(impatient.value.write(() => 1)).rejects.toBeInstanceOf(StorageUnavailable);
  expect(impatient.value.failure()?.failure.code).toBe("file_locked");
  other.exec("COMMIT");
  await impatient.value.write(() => 1);
  expect(impatient.value.failure()).toBeUndefined();
  for (const one of [other, impatient.value, store]) one.close();
});

test("what the core promises, the schema keeps: nothing immutable changes, not even by REPLACE", async () => {
  const path = join(tempFolder(), "sandbox.db");
  openSandboxStore(path).close();
  const connection = open(path, SANDBOX_FILE);
  const id = (last: number): string => `00000000-0000-7000-8000-00000000000${last}`;
  connection.exec(`
    INSERT INTO merchants VALUES ('m', 'm', 1);
    INSERT INTO stores (id, merchant_id, name, active, created_at) VALUES ('s', 'm', 's', 1, 1);
    INSERT INTO checkouts VALUES ('${id(1)}', 's', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2);
    INSERT INTO idempotency_keys VALUES ('s', 'key-0001', '${"f".repeat(64)}', 201, '${id(2)}', '{}', '${id(1)}', 1);
    INSERT INTO events VALUES (1, '${id(3)}', 's', '${id(1)}', 'order.created', 1, '{}', 1);`);
  const event = `VALUES (2, '${id(3)}', 's', '${id(1)}', 'order.paid', 1, '{}', 1)`;
  const rows: readonly (readonly [string, RegExp])[] = [
    ["UPDATE events SET body = 'x'", /immutable/],
    ["DELETE FROM events", /immutable/],
    [`INSERT OR REPLACE INTO events ${event}`, /immutable/],
    ["UPDATE checkouts SET amount_minor = 2", /immutable/],
    ["DELETE FROM checkouts", /never deleted/],
    ["UPDATE idempotency_keys SET body = 'x'", /first answer/],
    [
      `INSERT INTO checkouts SELECT '${id(4)}', store_id, object, order_id, 1, 'EUR', 'alipay_plus', NULL, NULL, 'pending', 1, 2 FROM checkouts`,
      /UNIQUE/,
    ],
    ["UPDATE checkouts SET status = 'paid'", /cannot move/],
    [
      `INSERT INTO checkouts VALUES ('${id(5)}', 's', 'order', 'p', 0, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2)`,
      /CHECK/,
    ],
    [
      `INSERT INTO checkouts VALUES ('${id(5)}', 's', 'order', 'p', 1, 'eur', 'alipay_plus', NULL, NULL, 'created', 1, 2)`,
      /CHECK/,
    ],
    [
      `INSERT INTO checkouts VALUES ('${id(5)}', 'x', 'order', 'p', 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2)`,
      /FOREIGN KEY/,
    ],
    [
      `INSERT INTO checkouts VALUES ('${id(5)}', 's', 'order', 'p', 'many', 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2)`,
      /TEXT value in INTEGER/,
    ],
  ];
  for (const [sql, reason] of rows) expect(() => connection.exec(sql), sql).toThrow(reason);
  connection.exec("UPDATE checkouts SET status = 'cancelled'");
  connection.exec(
    `INSERT INTO checkouts SELECT '${id(4)}', store_id, object, order_id, 1, 'EUR', 'alipay_plus', NULL, NULL, 'created', 1, 2 FROM checkouts`,
  );
  connection.close();
});

test.runIf(process.platform === "linux")("finding the cause of an error keeps the locks of SQLite", () => {
  const path = join(tempFolder(), "watched.db");
  const opened = openWatched(path, { kind: KIND });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const { connection, close } = opened.value;
  const { dev, ino } = statSync(path);
  const hex = (number: number): string => (number & 0xff).toString(16).padStart(2, "0");
  // Other file systems have files of the same number.
  const name = ` ${hex(dev >> 8)}:${hex(dev)}:${ino} `;
  const locks = (): number => readFileSync("/proc/locks", "utf8").split(name).length - 1;
  connection.prepare("SELECT 1 FROM sqlite_schema").get();
  const before = locks();
  expect(before).toBeGreaterThan(0);
  const attach = connection.prepare("ATTACH ? AS missing");
  expect(() => attach.run(join(tempFolder(), "nowhere/x.db"))).toThrow("unable to open database");
  expect(locks()).toBe(before);
  close();
});
