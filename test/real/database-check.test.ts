import Database from "better-sqlite3";
import { spawn } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkDatabase } from "../../src/store/connection/database-check.ts";
import type { FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { LOG_MARK_DDL, createMarker } from "../../src/store/connection/log-mark.ts";
import { applyLog } from "../../src/store/connection/log.ts";
import { seededRandom } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KIND: FileKind = {
  name: "test",
  applicationId: 77,
  firstVersion: 10,
  migrations: [`CREATE TABLE a (x INTEGER PRIMARY KEY, filling TEXT) STRICT; ${LOG_MARK_DDL}`],
  filesToMoveAway: "the file",
};

/** A database that is written to, with a log that often begins anew. */
function openWriter(random: () => number) {
  const path = join(tempFolder(), "a.db");
  const opened = openDatabase(path, { kind: KIND });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.pragma("synchronous = OFF");
  connection.pragma("wal_autocheckpoint = 5");
  const mark = createMarker(connection);
  const insert = connection.prepare<[string]>("INSERT INTO a (filling) VALUES (?)");
  const write = connection.transaction(() => {
    for (let row = 0; row < 1 + random() * 20; row += 1) insert.run("x".repeat(random() * 3000));
    if (random() < 0.2) connection.exec("DELETE FROM a WHERE x % 3 = 0");
    mark();
  });
  return { path, connection, write };
}

/** Everything in a database, with what SQLite says of its pages. */
function contentOf(database: string | Buffer): unknown {
  const connection = new Database(database);
  try {
    return [connection.pragma("quick_check"), connection.prepare("SELECT * FROM a ORDER BY x").all()];
  } catch (error) {
    // A log that was cut off after a part of it went into the file is damage, for both.
    return String(error);
  } finally {
    connection.close();
  }
}

test("a file with its log in memory is what SQLite reads of both, also where the log was cut off", () => {
  const random = seededRandom(7);
  const { path, connection, write } = openWriter(random);
  let logs = 0;
  for (let round = 0; round < 60; round += 1) {
    write();
    const copy = join(tempFolder(), "copy.db");
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    if (round % 3 === 1) truncateSync(`${copy}-wal`, Math.floor(random() * statSync(`${copy}-wal`).size));
    if (round % 3 === 2) appendFileSync(`${copy}-wal`, Buffer.alloc(5000, round));
    logs += statSync(`${copy}-wal`).size > 0 ? 1 : 0;
    const image = applyLog(readFileSync(copy), readFileSync(`${copy}-wal`));
    image.fill(1, 18, 20);
    expect([round, contentOf(image)]).toEqual([round, contentOf(copy)]);
  }
  expect(logs).toBeGreaterThan(40);
  connection.close();
});

test("a check makes, changes and locks nothing, whether the file is open, left by a kill, or closed", () => {
  const { path, connection, write } = openWriter(seededRandom(3));
  write();
  const folder = join(path, "..");
  const seen = (): unknown =>
    readdirSync(folder)
      .toSorted()
      .map((name) => [
        name,
        readFileSync(join(folder, name)).toString("hex"),
        statSync(join(folder, name)).mtimeMs,
      ]);
  const check = (at: string): unknown => checkDatabase(at, { kind: KIND });
  const whole = { ok: true, value: { checked: "whole", format: 10 } };
  let before = seen();
  expect(check(path)).toMatchObject(whole);
  expect(seen()).toEqual(before);
  const killed = join(tempFolder(), "killed.db");
  for (const end of ["", "-wal"]) copyFileSync(`${path}${end}`, `${killed}${end}`);
  expect(check(killed)).toMatchObject(whole);
  expect(existsSync(`${killed}-shm`)).toBe(false);
  // Nobody is kept from writing.
  write();
  connection.close();
  before = seen();
  expect(check(path)).toMatchObject(whole);
  expect(seen()).toEqual(before);
  expect(readdirSync(folder)).toEqual(["a.db"]);
});

test("a page that does not fit is found, in the file and in the log", () => {
  const { path, connection, write } = openWriter(seededRandom(5));
  for (let round = 0; round < 5; round += 1) write();
  connection.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, 4096, 8192);
  const copy = join(tempFolder(), "copy.db");
  appendFileSync(copy, bytes);
  const checked = checkDatabase(copy, { kind: KIND });
  expect(checked).toMatchObject({ ok: false, refusal: { reason: "damaged" } });
});

/** Writes without end, and puts the log into the file, and begins it anew, as often as it can. */
const WRITER = `
  const connection = new (require("better-sqlite3"))(process.argv[1]);
  connection.pragma("synchronous = OFF");
  connection.pragma("wal_autocheckpoint = 5");
  const insert = connection.prepare("INSERT INTO a (filling) VALUES (hex(randomblob(2000)))");
  const remove = connection.prepare("DELETE FROM a WHERE x % 7 = 0 OR x < (SELECT max(x) FROM a) - 500");
  const mark = connection.prepare("UPDATE log_mark SET commits = commits + 1");
  for (;;) connection.transaction(() => { insert.run(); insert.run(); remove.run(); mark.run(); })();
`;

test("a database that is written to without a pause is sound under every look, or says that it is busy", async () => {
  const { path, connection } = openWriter(seededRandom(1));
  connection.close();
  const writer = spawn(process.execPath, ["-e", WRITER, path], { cwd: join(import.meta.dirname, "../..") });
  onTestFinished(() => void writer.kill("SIGKILL"));
  await eventually("it writes", () => {
    if (!existsSync(`${path}-wal`) || statSync(path).size < 500_000) throw new Error("not yet");
  });
  const seen = { whole: 0, busy: 0 };
  for (let look = 0; look < 150; look += 1) {
    const checked = checkDatabase(path, { kind: KIND });
    expect([look, checked]).toMatchObject([look, { ok: true }]);
    if (checked.ok && checked.value?.checked !== "head") seen[checked.value?.checked ?? "busy"] += 1;
  }
  expect(seen.whole).toBeGreaterThan(0);
  expect(writer.exitCode).toBeNull();
});
