import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { expect, test } from "vitest";
import { currentSchemaVersion, type FileKind } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { createGroupCommit } from "../../src/store/connection/group-commit.ts";
import { LOG_MARK_DDL, createMarker } from "../../src/store/connection/log-mark.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { tempFolder } from "../support/temp-folder.ts";

const FAMILIES = size(1, 20);
/** The part of all pairs of a database and a log that is tried. */
const PAIRS = size(0.1, 0.5);

const OLD: FileKind = {
  name: "test file",
  applicationId: 7,
  firstVersion: 10,
  migrations: ["CREATE TABLE a (x INTEGER PRIMARY KEY, filling TEXT) STRICT; CREATE INDEX b ON a (filling)"],
  filesToMoveAway: "the file",
};
const KIND: FileKind = { ...OLD, migrations: [...OLD.migrations, LOG_MARK_DDL] };
const NEXT: FileKind = { ...KIND, migrations: [...KIND.migrations, "ALTER TABLE a ADD COLUMN y TEXT"] };

/** A database file and its log as a process left them, and the rows that were committed. */
type Left = { readonly name: string; readonly path: string; readonly rows: readonly number[] };

/** A database that is written to, as our stores do it. */
function openLine(path: string, kind = KIND) {
  const opened = openDatabase(path, { kind });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.pragma("synchronous = OFF");
  const mark = kind === OLD ? () => undefined : createMarker(connection);
  const insert = connection.prepare("INSERT INTO a (x, filling) VALUES (?, ?)");
  const write = connection.transaction((rows: readonly number[]) => {
    for (const row of rows) insert.run(row, `${row}`.repeat(40));
    mark();
  });
  return { connection, write: (rows: readonly number[]) => write.immediate(rows) };
}

function rowsOf(connection: Database.Database): readonly number[] {
  return connection.prepare<[], number>("SELECT x FROM a ORDER BY x").pluck().all();
}

/** Copies database and log, as they are on disk: what a process leaves that is killed now. */
function copy(from: string, to: string): void {
  if (from === to) return;
  // Onto no file that is there: a file system may flush what replaces one.
  for (const ending of ["", "-wal"]) rmSync(to + ending, { force: true });
  copyFileSync(from, to);
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`);
}

/**
 * Everything that became of one database in two copies of it that went on: killed, closed, opened and copied at random.
 */
function live(random: () => number, folder: string): readonly Left[] {
  const left: Left[] = [];
  let nextRow = 1;
  const leave = (name: string, path: string, rows: readonly number[]): void => {
    const to = join(folder, `left-${left.length}.db`);
    copy(path, to);
    left.push({ name: `${name} ${left.length}`, path: to, rows });
  };
  const lines = [join(folder, "one.db"), join(folder, "two.db")] as const;
  openLine(lines[0]).connection.close();
  for (let round = 0; round < 14; round += 1) {
    const path = lines[round % 2] ?? lines[0];
    if (round < 2 || random() < 0.2) copy(round < 2 ? lines[0] : (lines[(round + 1) % 2] ?? lines[0]), path);
    const line = openLine(path);
    for (let commits = Math.floor(random() * 5); commits >= 0; commits -= 1) {
      const count = random() < 0.15 ? 1500 : 1 + Math.floor(random() * 20);
      line.write(Array.from({ length: count }, () => nextRow++));
      if (random() < 0.2) line.connection.pragma("wal_checkpoint(PASSIVE)");
      if (random() < 0.5) leave("killed", path, rowsOf(line.connection));
    }
    const rows = rowsOf(line.connection);
    const killed = join(folder, "killed.db");
    if (random() < 0.5) copy(path, killed);
    line.connection.close();
    if (existsSync(killed)) copy(killed, path);
    else leave("closed", path, rows);
    rmSync(killed, { force: true });
    rmSync(`${killed}-wal`, { force: true });
  }
  return left;
}

/** The rows of a database without its log. */
function rowsAlone({ path }: Left, folder: string): readonly number[] {
  const alone = join(folder, "alone.db");
  for (const ending of ["", "-wal"]) rmSync(alone + ending, { force: true });
  copyFileSync(path, alone);
  const { connection } = openLine(alone);
  const rows = rowsOf(connection);
  connection.close();
  return rows;
}

test("a log loses no row of the database that it is put beside, and a killed process's own is always taken", async ({
  annotate,
}) => {
  const folder = tempFolder();
  const random = seededRandom(SEED);
  const counts = { own: 0, refused: 0, opened: 0 };
  for (let family = 0; family < FAMILIES; family += 1) {
    const place = join(folder, "tried.db");
    const all = live(random, tempFolder());
    const logs = all.filter(({ path }) => existsSync(`${path}-wal`));
    for (const database of all) {
      const own = openOutcome(copyOf(database, place));
      expect([SEED, database.name, own]).toEqual([SEED, database.name, database.rows]);
      counts.own += 1;
      const alone = rowsAlone(database, folder);
      for (const log of logs) {
        if (random() > PAIRS) continue;
        copyOf(database, place);
        rmSync(`${place}-wal`, { force: true });
        copyFileSync(`${log.path}-wal`, `${place}-wal`);
        const before = [readFileSync(place), readFileSync(`${place}-wal`)] as const;
        const found = openOutcome(place);
        if (found === "foreign_log") {
          counts.refused += 1;
          expect(
            before[0].equals(readFileSync(place)) && before[1].equals(readFileSync(`${place}-wal`)),
          ).toBe(true);
          continue;
        }
        counts.opened += 1;
        const where = [SEED, database.name, log.name];
        expect([...where, Array.isArray(found)]).toEqual([...where, true]);
        const kept = new Set<unknown>(found as readonly number[]);
        expect([...where, alone.filter((row) => !kept.has(row))]).toEqual([...where, []]);
        // What is there is one of the states that really were.
        const states = all.map(({ rows }) => rows.join());
        expect(states.includes((found as readonly number[]).join())).toBe(true);
      }
    }
  }
  expect(counts.own).toBeGreaterThan(10);
  expect(counts.refused).toBeGreaterThan(10);
  expect(counts.opened).toBeGreaterThan(0);
  await annotate(
    `seed ${SEED}: ${counts.own} databases opened with their own log, ${counts.refused} logs of others refused, ${counts.opened} taken without a loss`,
  );
});

function copyOf({ path }: Left, to: string): string {
  copy(path, to);
  return to;
}

/** The rows of a database that opens whole, or why it does not. */
function openOutcome(path: string, kind = KIND): readonly number[] | string {
  const opened = openDatabase(path, { kind });
  if (!opened.ok) return opened.refusal.reason;
  opened.value.pragma("synchronous = OFF");
  const verdict = String(opened.value.pragma("integrity_check(1)", { simple: true }));
  const rows = rowsOf(opened.value);
  opened.value.close();
  return verdict === "ok" ? rows : verdict;
}

/** A database with some rows, closed; and what another process left that was killed after some commits. */
function closedWith(rows: readonly number[], kind = KIND): string {
  const path = join(tempFolder(), "a.db");
  const line = openLine(path, kind);
  for (const row of rows) line.write([row]);
  line.connection.close();
  return path;
}

function killedWith(rows: readonly number[], kind = KIND, from = closedWith([], kind)): string {
  const line = openLine(from, kind);
  for (const row of rows) line.write([row]);
  const path = join(tempFolder(), "a.db");
  copy(from, path);
  line.connection.close();
  return path;
}

test("a process that is killed at any moment of a commit leaves a log that is taken, with all that was acknowledged", async () => {
  const folder = tempFolder();
  const line = openLine(closedWith([1]));
  const { connection } = line;
  const left: { readonly path: string; readonly acknowledged: readonly number[] }[] = [];
  const acknowledged = [1];
  const leave = (): void => {
    const path = join(folder, `killed-${left.length}.db`);
    copy(connection.name, path);
    left.push({ path, acknowledged: [...acknowledged] });
  };
  const leaving = <Value>(value: Value): Value => {
    leave();
    return value;
  };
  const mark = createMarker(connection);
  const write = createGroupCommit(connection, {
    soon: setImmediate,
    after: () => undefined,
    mark: () => leaving(mark(leaving(undefined))),
    watch: { isIntact: () => leaving(true), noteWritten: () => leaving(true) },
  });
  const insert = connection.prepare("INSERT INTO a (x, filling) VALUES (?, '')");
  for (const row of [2, 3, 4]) {
    await write(() => insert.run(row));
    acknowledged.push(row);
    leave();
  }
  connection.close();
  expect(left.length).toBeGreaterThan(12);
  for (const { path, acknowledged: rows } of left) {
    const next = [...rows, rows.length + 1];
    expect([rows, next]).toContainEqual(openOutcome(path));
  }
});

test("the log of another database, of an older copy or of an older version is refused, with what to do", () => {
  const base = closedWith([]);
  const older = join(tempFolder(), "a.db");
  copy(base, older);
  const rows = [
    ["another database", closedWith([1, 2, 3, 4, 5]), killedWith([11, 12])],
    ["a copy from before", killedThenClosed(base), killedWith([11, 12], KIND, older)],
    ["an older version", closedWith([1, 2, 3, 4, 5]), killedWith([11, 12], OLD)],
  ] as const;
  for (const [name, path, other] of rows) {
    copyFileSync(`${other}-wal`, `${path}-wal`);
    const before = readFileSync(path);
    const opened = openDatabase(path, { kind: KIND });
    expect([name, opened.ok || opened.refusal]).toMatchObject([
      name,
      { reason: "foreign_log", remedy: expect.stringContaining(`move ${path}-wal away`) },
    ]);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(existsSync(`${path}-shm`)).toBe(false);
    rmSync(`${path}-wal`);
    expect([name, openOutcome(path)]).toEqual([name, [1, 2, 3, 4, 5]]);
  }
});

function killedThenClosed(path: string): string {
  const line = openLine(path);
  for (const row of [1, 2, 3, 4, 5]) line.write([row]);
  line.connection.close();
  return path;
}

test("a log that is empty, cut off or no log at all loses no row", () => {
  const other = killedWith([11, 12, 13]);
  const { length } = readFileSync(`${other}-wal`);
  for (const end of [0, 16, 32, 56, 1000, ...Array.from({ length: 40 }, (_, at) => 32 + at * 2060)]) {
    if (end > length) continue;
    const path = closedWith([1, 2, 3]);
    copyFileSync(`${other}-wal`, `${path}-wal`);
    truncateSync(`${path}-wal`, end);
    expect([end, openOutcome(path)]).toEqual([end, expect.toSatisfy(isRefusedOr([1, 2, 3]))]);
    // A killed process's own log may end anywhere: what was committed before is there.
    copy(other, path);
    truncateSync(`${path}-wal`, end);
    const found = openOutcome(path);
    expect([end, found]).toEqual([end, [11, 12, 13].slice(0, found.length)]);
  }
  const path = closedWith([1, 2, 3]);
  writeFileSync(`${path}-wal`, "a note, not a log".repeat(1000));
  expect(openOutcome(path)).toEqual([1, 2, 3]);
});

test("a torn frame behind the last commit, which has the content of an older page, refuses no own log", () => {
  const path = killedWith([11, 12, 13], KIND, closedWith([1, 2, 3]));
  const [log, database] = [readFileSync(`${path}-wal`), readFileSync(path)];
  const head = Buffer.alloc(24);
  head.writeUInt32BE(2, 0);
  log.copy(head, 8, 16, 24);
  for (let at = 0; at < database.length; at += 4096) {
    const torn = Buffer.concat([log, head, database.subarray(at, at + 4096)]);
    writeFileSync(`${path}-wal`, torn);
    writeFileSync(path, database);
    expect([at, openOutcome(path)]).toEqual([at, [1, 2, 3, 11, 12, 13]]);
  }
});

function isRefusedOr(rows: readonly number[]) {
  return (found: readonly number[] | string): boolean =>
    found === "foreign_log" || (Array.isArray(found) && found.join() === rows.join());
}

test("a database of before the mark opens with its log, and gets its mark; so does one killed while it migrates", () => {
  const killed = killedWith([1, 2, 3], OLD);
  expect(openOutcome(killed)).toEqual([1, 2, 3]);
  for (const [from, to] of [
    [OLD, KIND],
    [OLD, NEXT],
    [KIND, NEXT],
  ] as const)
    // Where it was closed, the migration begins the log.
    for (const path of [killedWith([1, 2, 3], from), closedWith([1, 2, 3], from)]) {
      const migrated = openLine(path, to);
      const left = join(tempFolder(), "a.db");
      copy(path, left);
      migrated.write([4]);
      const leftLater = join(tempFolder(), "a.db");
      copy(path, leftLater);
      migrated.connection.close();
      expect(openOutcome(left, to)).toEqual([1, 2, 3]);
      expect(openOutcome(leftLater, to)).toEqual([1, 2, 3, 4]);
    }
});

test("a backup from before a migration does not take the log of what was migrated", () => {
  for (const [from, to] of [
    [OLD, KIND],
    [KIND, NEXT],
  ] as const) {
    const path = closedWith([1, 2, 3], from);
    const backup = `${path}.v${currentSchemaVersion(from)}.backup`;
    openLine(path, to).connection.close();
    const line = openLine(path, to);
    line.write([4]);
    copyFileSync(`${path}-wal`, `${backup}-wal`);
    expect([backup, openOutcome(backup)]).toEqual([backup, "foreign_log"]);
    line.connection.close();
  }
});
