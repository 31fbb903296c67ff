import Database from "better-sqlite3";
import type { ObjectStorage } from "cloudflare:workers";
import { expect, onTestFinished, test } from "vitest";
import { createConnection } from "../../src/hosted/connection.ts";
import { migrateTables, openObjectStore } from "../../src/hosted/store.ts";
import { storageFailureOf } from "../../src/store/connection/storage-failure.ts";
import { REQUESTS_DDL } from "../../src/store/request/requests.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";

const INSTANCE_ID = "01a22475-9306-7b14-8c3c-2690229545a0";

/** The database of an object, in memory; `sync` waits until its writes are on disk. */
function objectDatabase(sync: () => Promise<void> = () => Promise.resolve()) {
  const database = new Database(":memory:");
  onTestFinished(() => void database.close());
  const exec = (text: string, ...values: readonly unknown[]) => {
    // Only a single statement can have values or rows.
    const isRead = text.startsWith("SELECT");
    const rows = isRead
      ? database
          .prepare(text)
          .raw()
          .all(...values)
      : [];
    if (!isRead && values.length > 0) database.prepare(text).run(...values);
    else if (!isRead) database.exec(text);
    return { toArray: () => rows, raw: () => rows.values() };
  };
  const transactionSync = <Value>(work: () => Value) => database.transaction(work)();
  return { database, storage: { sql: { exec }, transactionSync, sync } as unknown as ObjectStorage };
}

function tablesOf({ database }: ReturnType<typeof objectDatabase>): readonly unknown[] {
  return database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
}

function versionOf({ database }: ReturnType<typeof objectDatabase>): unknown {
  return database.prepare("SELECT version FROM schema_version").pluck().all();
}

test("a store's Durable Object from the first release gets only the later migrations, and keeps its rows", () => {
  const [fresh, older] = [objectDatabase(), objectDatabase()];
  const { database } = older;
  const first = [...SANDBOX_FILE.migrations.slice(0, 4), REQUESTS_DDL];
  for (const migration of first) database.exec(migration);
  database.exec("CREATE TABLE schema_version (version INTEGER NOT NULL) STRICT");
  database.prepare("INSERT INTO schema_version (version) VALUES (?)").run(first.length);
  database.exec("INSERT INTO request_batches (store_id, last, requests) VALUES ('a', 1, '{}')");
  for (const object of [fresh, older]) migrateTables(object.storage);
  expect(tablesOf(older)).toEqual(tablesOf(fresh));
  expect(versionOf(older)).toEqual(versionOf(fresh));
  expect(database.prepare("SELECT requests FROM request_batches").pluck().all()).toEqual(["{}"]);
  migrateTables(older.storage);
  expect(versionOf(older)).toEqual([SANDBOX_FILE.migrations.length + 1]);
});

test("a hosted store reports whether a write has succeeded since its start or last failed write, and reads do not change the answer", async () => {
  let isFull = false;
  const { storage } = objectDatabase(() =>
    isFull ? Promise.reject(new Error("database or disk is full: SQLITE_FULL")) : Promise.resolve(),
  );
  migrateTables(storage);
  const scheduler = { soon: () => undefined, after: () => undefined };
  const store = openObjectStore(createConnection(storage), { storage, scheduler, onWrite: () => undefined });
  const read = (): void => undefined;
  const write = (): void => store.instance.renew(INSTANCE_ID);
  const seen: boolean[] = [];
  for (const [work, full] of [
    [read, false],
    [write, false],
    [read, false],
    [write, true],
    [read, false],
    [write, false],
  ] as const) {
    isFull = full;
    await store
      .write(work)
      .catch((error: unknown) => expect(storageFailureOf(error)?.code).toBe("disk_full"));
    seen.push(store.hasWritten());
  }
  expect(seen).toEqual([false, true, true, false, false, true]);
});
