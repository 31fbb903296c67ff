import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { readIndexFile } from "../../src/store/object-files.ts";
import { tempFolder } from "../support/temp-folder.ts";

test("the index of hosted stores is read without the uncommitted transaction of a killed runtime", () => {
  const [written, left] = [join(tempFolder(), "index.sqlite"), join(tempFolder(), "index.sqlite")];
  const db = new Database(written);
  try {
    // A cache of two pages: the transaction is in the file before it is committed.
    db.exec("PRAGMA cache_size = 2; CREATE TABLE filler (text); BEGIN");
    const insert = db.prepare("INSERT INTO filler VALUES (?)");
    for (let row = 0; row < 100; row += 1) insert.run("x".repeat(500));
    for (const end of ["", "-journal"]) copyFileSync(written + end, left + end);
  } finally {
    db.close();
  }
  expect(readIndexFile(left, { nativeBinding: undefined })).toEqual({ ok: true, value: undefined });
  expect(existsSync(`${left}-journal`)).toBe(false);
});
