import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { createGroupCommit } from "../../src/store/connection/group-commit.ts";
import { StorageUnavailable } from "../../src/store/connection/storage-failure.ts";
import { failureInVerdict, storageFailureOf } from "../../src/store/connection/storage-failure.ts";
import { REAL } from "../support/real.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { createTransactionRunner } from "../../src/store/connection/group-commit.ts";
import { openWatchedDatabase } from "../../src/store/connection/watched-database.ts";
import { tempFolder } from "../support/temp-folder.ts";

const scheduler = {
  soon: (run: () => void) => void setImmediate(run),
  after: (ms: number, run: () => void) => void setTimeout(run, ms),
};
const KIND: FileKind = {
  name: "test file",
  applicationId: 7,
  firstVersion: 10,
  migrations: ["CREATE TABLE a (x INTEGER) STRICT"],
  filesToMoveAway: "the file",
};
const NEXT: FileKind = { ...KIND, migrations: [...KIND.migrations, "ALTER TABLE a ADD COLUMN y TEXT"] };

function open(path: string, kind = KIND): Database.Database {
  const opened = openDatabase(path, { kind });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

function openSandboxStore(path: string): Store {
  const opened = openStore(path, { nativeBinding: undefined, scheduler });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

test("a foreign, damaged or newer database is refused with the reason and never written to", () => {
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

test("the next start removes half-written files of a crash, but not the files of a running process", () => {
  const folder = tempFolder();
  const path = join(folder, "a.db");
  const dead = spawnSync(process.execPath, ["--version"]).pid;
  mkdirSync(`${path}.${dead}.new-abc123`);
  writeFileSync(join(`${path}.${dead}.new-abc123`, "whole.db"), "half a file");
  writeFileSync(join(folder, `run.json.${dead}.new-0x1y`), "half a file");
  writeFileSync(join(folder, `run.json.${process.pid}.new-0x1y`), "half a file");
  open(path).close();
  REAL.files.removeUnfinishedFiles(folder);
  expect(readdirSync(folder).toSorted()).toEqual(["a.db", `run.json.${process.pid}.new-0x1y`]);
});

test("a new database gets its name when it is complete, and a failed creation leaves no file", () => {
  const folder = tempFolder();
  const path = join(folder, "a.db");
  const broken: FileKind = { ...KIND, migrations: [...KIND.migrations, "SELECT broken"] };
  expect(() => open(path, broken)).toThrow(/broken/);
  expect(readdirSync(folder)).toEqual([]);
  const whole = open(path);
  expect(readdirSync(folder).toSorted()).toEqual(["a.db", "a.db-shm", "a.db-wal"]);
  // All content is in the file itself, so a lost -wal would lose nothing.
  expect(statSync(`${path}-wal`).size).toBe(0);
  whole.close();
});

test("a write-ahead log without its database is never used for a new database", async () => {
  const { store, path } = await openUsedStore();
  rmSync(path);
  const before = readFileSync(`${path}-wal`);
  const opened = openStore(path, { scheduler });
  expect(opened.ok ? "opened" : opened.refusal.reason).toBe("file_missing");
  expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
  expect(readdirSync(dirname(path))).not.toContain("sandbox.db");
  store.close();
});

test("a database at a missing or unusable path is refused for that reason, not as damaged", () => {
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

test("every error of the file system or SQLite has a cause and a remedy, unless it is a bug", () => {
  const rows = {
    disk_full: ["ENOSPC", "EDQUOT", "SQLITE_FULL"],
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
    no_cache_folder: ["ERR_ADDON_NOT_WRITTEN"],
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

test("a database check that could not read a file does not report the file as damaged", () => {
  const verdict = (code: number): string =>
    `*** in database main ***\nTree 33 page 33: unable to get the page. error code=${code}`;
  // 8458 and 779 are the extended codes SQLITE_IOERR_CORRUPTFS and SQLITE_CORRUPT_INDEX.
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

test("every commit waits for the disk, also after the first commit", () => {
  const connection = open(join(tempFolder(), "a.db"));
  connection.exec("INSERT INTO a VALUES (1)");
  const pragma = (name: string): unknown => connection.pragma(name, { simple: true });
  expect([pragma("journal_mode"), pragma("synchronous")]).toEqual(["wal", 2]);
  expect([pragma("foreign_keys"), pragma("recursive_triggers")]).toEqual([1, 1]);
  connection.close();
});

test("a failed commit rejects every caller of its batch, and the next commit works", async () => {
  const connection = open(join(tempFolder(), "a.db"), {
    ...KIND,
    migrations: [
      `CREATE TABLE stores (id INTEGER PRIMARY KEY) STRICT;
       CREATE TABLE orders (store INTEGER REFERENCES stores (id) DEFERRABLE INITIALLY DEFERRED) STRICT`,
    ],
  });
  const write = createGroupCommit(connection, scheduler);
  const addStore = connection.prepare("INSERT INTO stores VALUES (?)");
  // The commit checks the referenced row, which is missing.
  const addOrder = connection.prepare("INSERT INTO orders VALUES (99)");
  const batch = [() => addStore.run(1), () => addOrder.run(), () => addStore.run(2)].map((job) => write(job));
  const ended = await Promise.allSettled(batch);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await write(() => addStore.run(3));
  expect(connection.prepare("SELECT id FROM stores").pluck().all()).toEqual([3]);
  expect(connection.prepare("SELECT store FROM orders").all()).toEqual([]);
  connection.close();
});

test("if the check of the database files fails, the store refuses that write and accepts the next write", async () => {
  const connection = new Database(":memory:");
  connection.exec("CREATE TABLE a (x INTEGER) STRICT");
  const insert = connection.prepare("INSERT INTO a VALUES (1)");
  const fail = (): never => {
    throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
  };
  const ended: unknown[] = [];
  for (const answers of [[fail], [() => true, fail]]) {
    const watch = { isIntact: () => answers.shift()?.() ?? true };
    const write = createGroupCommit(connection, { ...scheduler, watch, onEnd: (how) => ended.push(how) });
    for (const job of [write(() => insert.run()), write(() => insert.run())])
      await expect(job).rejects.toMatchObject({ failure: { code: "disk_io_error" } });
    await write(() => insert.run());
  }
  const refused: unknown = expect.any(StorageUnavailable);
  expect(ended).toEqual([refused, undefined, refused, undefined]);
  connection.close();
});

test("a write waits for another process's lock, reads continue, and a lasting lock is reported", async () => {
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

test("no write waits more than 2 s for another process's lock, however many wait", async () => {
  const path = join(tempFolder(), "sandbox.db");
  openSandboxStore(path).close();
  // A clock that advances only when no other work is left.
  const timers: { readonly at: number; readonly run: () => void }[] = [];
  let now = 0;
  const after = (milliseconds: number, run: () => void): void =>
    void timers.push({ at: now + milliseconds, run });
  const opened = openStore(path, { scheduler: { soon: setImmediate, after } });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const other = new Database(path);
  other.exec("BEGIN IMMEDIATE");
  const ends = Array.from({ length: 1000 }, () =>
    opened.value
      .write(() => 1)
      .then(
        () => -1,
        () => now,
      ),
  );
  const ended = Promise.all(ends);
  // Enough turns for all polls of the wait and the work between them.
  for (let turn = 0; turn < 2000; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    const next = timers.toSorted((one, two) => one.at - two.at)[0];
    if (next === undefined) break;
    timers.splice(timers.indexOf(next), 1);
    now = next.at;
    next.run();
  }
  const waited = await ended;
  expect([Math.min(...waited), Math.max(...waited)]).toEqual([2000, 2000]);
  other.close();
  opened.value.close();
});

/** A store with rows, and another sandbox's file of the same size; both are larger than the part that is compared. */
async function openUsedStore(): Promise<{ store: Store; path: string; other: string }> {
  const folder = tempFolder();
  const [path, other] = [join(folder, "sandbox.db"), join(folder, "other.db")];
  for (const [file, id] of [
    [path, "m1"],
    [other, "m2"],
  ] as const) {
    const made = openSandboxStore(file);
    await made.write(() => made.stores.insertMerchant({ id, name: "m".repeat(300_000), createdAt: 1 }));
    made.close();
  }
  const store = openSandboxStore(path);
  await store.write(() => store.stores.insertMerchant({ id: "m3", name: "m", createdAt: 1 }));
  return { store, path, other };
}

test("a database whose files vanish, are replaced or truncated accepts no more writes", async () => {
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
    ["cut", (path) => truncateSync(path, statSync(path).size - 4096)],
    ["truncate -wal", (path) => truncateSync(`${path}-wal`)],
    ["cut -wal", (path) => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 1)],
  ];
  for (const [how, doIt] of lost) {
    const { store, path, other } = await openUsedStore();
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

test("a write is not acknowledged if a database file is deleted, replaced or truncated during the write", async () => {
  const lost: readonly (readonly [string, (path: string, other: string) => void])[] = [
    ["rm", (path) => rmSync(path)],
    ["rm -wal", (path) => rmSync(`${path}-wal`)],
    ["mv other", (path, other) => renameSync(other, path)],
    ["cut", (path) => truncateSync(path, statSync(path).size - 4096)],
  ];
  for (const [how, doIt] of lost) {
    const { store, path, other } = await openUsedStore();
    const write = store.write(() => {
      store.stores.insertMerchant({ id: "m4", name: "m", createdAt: 1 });
      doIt(path, other);
    });
    await expect(write, how).rejects.toMatchObject({ failure: { code: "database_changed" } });
    store.close();
    const journal = openWatchedDatabase(join(tempFolder(), "journal.db"), { kind: JOURNAL_FILE });
    if (!journal.ok) throw new Error(journal.refusal.message);
    const { name: journalPath } = journal.value.connection;
    const transact = createTransactionRunner(journal.value);
    const copy = `${journalPath}.copy`;
    copyFileSync(journalPath, copy);
    expect(() => transact(() => doIt(journalPath, copy)), how).toThrow(StorageUnavailable);
    journal.value.close();
  }
});

test("an open database accepts writes after permitted changes to its files", async () => {
  const harmless: readonly (readonly [string, (path: string) => void])[] = [
    ["touch", (path) => ["", "-wal", "-shm"].forEach((end) => utimesSync(path + end, 1, 1))],
    ["chmod", (path) => ["", "-wal", "-shm"].forEach((end) => chmodSync(path + end, 0o600))],
    ["move away and back", (path) => (renameSync(path, `${path}.x`), renameSync(`${path}.x`, path))],
    ["a commit of another process", (path) => commitElsewhere(path, "wal_checkpoint(PASSIVE)")],
    [
      "a commit of another process, first in its log",
      (path) => (checkpointLog(path), commitElsewhere(path, "user_version")),
    ],
    ["a reader that closes", (path) => openSandboxStore(path).close()],
  ];
  for (const [how, doIt] of harmless) {
    const { store, path } = await openUsedStore();
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

/** Checkpoints the log, so that the next commit restarts it. */
function checkpointLog(path: string): void {
  const other = new Database(path);
  other.pragma("wal_checkpoint(RESTART)");
  other.close();
}

function commitElsewhere(path: string, pragma: string): void {
  const other = new Database(path);
  other.exec("UPDATE merchants SET name = name || 'x'");
  other.pragma(pragma);
  other.close();
}

test("a refused write is reported until a write succeeds", async () => {
  const { store, path } = await openUsedStore();
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

test.runIf(process.platform === "linux")("the search for an error's cause keeps SQLite's locks", () => {
  const path = join(tempFolder(), "watched.db");
  const opened = openWatchedDatabase(path, { kind: KIND });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const { connection, close } = opened.value;
  const { dev, ino } = statSync(path);
  const hex = (number: number): string => (number & 0xff).toString(16).padStart(2, "0");
  // The device is part of the name, because files of other file systems may have the same inode number.
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
