import { spawn } from "node:child_process";
import { appendFileSync, copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkDatabase } from "../../src/store/connection/database-check.ts";
import type { FileKind } from "../../src/store/connection/database.ts";
import { LOG_MARK_DDL, LOG_OPENINGS_MIGRATION } from "../../src/store/connection/opening.ts";
import { createTransactionRunner } from "../../src/store/connection/group-commit.ts";
import { openWatchedDatabase } from "../../src/store/connection/watched-database.ts";
import { seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KIND: FileKind = {
  name: "test",
  applicationId: 77,
  firstVersion: 10,
  migrations: [
    `CREATE TABLE a (x INTEGER PRIMARY KEY, filling TEXT) STRICT; ${LOG_MARK_DDL}${LOG_OPENINGS_MIGRATION}`,
  ],
  filesToMoveAway: "the file",
};

/** A database with a function that writes to it; its small checkpoint interval restarts the log often. */
function openWriter(random: () => number) {
  const path = join(tempFolder(), "a.db");
  const opened = openWatchedDatabase(path, { kind: KIND });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const { connection, close } = opened.value;
  connection.pragma("synchronous = OFF");
  connection.pragma("wal_autocheckpoint = 5");
  const transact = createTransactionRunner(opened.value);
  const insert = connection.prepare<[string]>("INSERT INTO a (filling) VALUES (?)");
  const write = (): void =>
    transact(() => {
      for (let row = 0; row < 1 + random() * 20; row += 1) insert.run("x".repeat(random() * 3000));
      if (random() < 0.2) connection.exec("DELETE FROM a WHERE x % 3 = 0");
    });
  return { path, close, write };
}

test("a database check creates, changes and locks nothing, whether the file is open, closed or left by a kill", () => {
  const { path, close, write } = openWriter(seededRandom(3));
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
  const check = (at: string): unknown =>
    checkDatabase(at, { kind: KIND, scratchFolder: join(tempFolder(), "scratch") });
  const whole = { ok: true, value: { schemaVersion: 10 } };
  let before = seen();
  expect(check(path)).toMatchObject(whole);
  expect(seen()).toEqual(before);
  const killed = join(tempFolder(), "killed.db");
  for (const end of ["", "-wal", "-opening"]) copyFileSync(`${path}${end}`, `${killed}${end}`);
  expect(check(killed)).toMatchObject(whole);
  expect(existsSync(`${killed}-shm`)).toBe(false);
  write();
  close();
  before = seen();
  expect(check(path)).toMatchObject(whole);
  expect(seen()).toEqual(before);
  expect(readdirSync(folder)).toEqual(["a.db", "a.db-opening"]);
});

test("a database check finds a damaged page", () => {
  const { path, close, write } = openWriter(seededRandom(5));
  for (let round = 0; round < 5; round += 1) write();
  close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, 4096, 8192);
  const copy = join(tempFolder(), "copy.db");
  appendFileSync(copy, bytes);
  const checked = checkDatabase(copy, { kind: KIND, scratchFolder: join(tempFolder(), "scratch") });
  expect(checked).toMatchObject({ ok: false, refusal: { reason: "damaged" } });
});

/** Writes without end, and checkpoints and restarts the log as often as possible. */
const WRITER = `
  import { createTransactionRunner } from "./src/store/connection/group-commit.ts";
  import { openWatchedDatabase } from "./src/store/connection/watched-database.ts";
  const opened = openWatchedDatabase(process.argv[1], { kind: JSON.parse(process.argv[2]) });
  const { connection } = opened.value;
  connection.pragma("synchronous = OFF");
  connection.pragma("wal_autocheckpoint = 5");
  const insert = connection.prepare("INSERT INTO a (filling) VALUES (hex(randomblob(2000)))");
  const remove = connection.prepare("DELETE FROM a WHERE x % 7 = 0 OR x < (SELECT max(x) FROM a) - 500");
  const transact = createTransactionRunner(opened.value);
  for (;;) transact(() => { insert.run(); insert.run(); remove.run(); });
`;

/** Number of checks while another process writes. */
const CHECK_COUNT = size(40, 150);

test("every check of a busy database finds the database sound, or reports that it is busy", async () => {
  const { path, close, write } = openWriter(seededRandom(1));
  write();
  const cwd = join(import.meta.dirname, "../..");
  const args = ["--input-type=module", "-e", WRITER, path, JSON.stringify(KIND)];
  const writer = spawn(process.execPath, args, { cwd });
  onTestFinished(() => void writer.kill("SIGKILL"));
  await eventually("it writes", () => {
    if (!existsSync(`${path}-wal`) || statSync(path).size < 500_000) throw new Error("not yet");
  });
  const seen = { whole: 0, busy: 0 };
  for (let look = 0; look < CHECK_COUNT; look += 1) {
    const checked = checkDatabase(path, { kind: KIND, scratchFolder: join(tempFolder(), "scratch") });
    expect([look, checked]).toMatchObject([look, { ok: true }]);
    if (checked.ok) seen[checked.value?.schemaVersion === 10 ? "whole" : "busy"] += 1;
  }
  expect(seen.whole).toBeGreaterThan(0);
  expect(writer.exitCode).toBeNull();
  close();
});
