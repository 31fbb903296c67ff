import type { ObjectStorage } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createConnection } from "../../src/hosted/connection.ts";
import { storageFailure } from "../../src/store/connection/storage-failure.ts";

/** The SQL storage of an object, which only records its calls. */
function notingStorage(changes: number) {
  const asked: (readonly unknown[])[] = [];
  const exec = (...call: readonly unknown[]) => {
    asked.push(call);
    return { toArray: () => [], raw: () => [[changes]].values() };
  };
  const storage = { sql: { exec }, transactionSync: <Value>(work: () => Value) => work() };
  return { asked, storage: storage as unknown as ObjectStorage };
}

test("named SQL parameters become positional, with a value for each occurrence, and missing parameters become null", () => {
  const { asked, storage } = notingStorage(0);
  const insert = createConnection(storage).prepare<object>("INSERT INTO t VALUES (@b, @a, @b)");
  insert.run({ a: 1, b: "two", c: 3 });
  insert.run({ a: new Uint8Array([7]) });
  expect(asked).toEqual([
    ["INSERT INTO t VALUES (?, ?, ?)", "two", 1, "two"],
    ["INSERT INTO t VALUES (?, ?, ?)", null, new Uint8Array([7]).buffer, null],
  ]);
});

test("the number of rows that an SQL statement changed can be read until the next statement runs", () => {
  const { storage } = notingStorage(3);
  const update = createConnection(storage).prepare("UPDATE t SET a = 1");
  expect(update.run().changes).toBe(3);
  const first = update.run();
  update.run();
  expect(() => first.changes).toThrow(Error);
});

test("a row of more than 2 MB is refused before it is written", () => {
  const { asked, storage } = notingStorage(0);
  const insert = createConnection(storage).prepare("INSERT INTO t VALUES (?, ?)");
  insert.run("a".repeat(1_999_000), 1);
  for (const values of [
    ["a".repeat(2_000_001)],
    ["é".repeat(1_000_001)],
    [new Uint8Array(1_500_000), "a".repeat(600_000)],
  ])
    expect(() => insert.run(...values)).toThrow(storageFailure("row_too_large").sentence);
  expect(asked).toHaveLength(1);
});
