import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  currentSchemaVersion,
  type FileKind,
  type OpenOptions,
} from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { LOG_MARK_DDL, LOG_OPENINGS_MIGRATION } from "../../src/store/connection/opening.ts";
import { fileSizeOf } from "../../src/store/connection/durable-files.ts";
import {
  createGroupCommit,
  createTransactionRunner,
  NO_FILE_GUARDS,
} from "../../src/store/connection/group-commit.ts";
import { openWatchedDatabase } from "../../src/store/connection/watched-database.ts";
import { JOURNAL_FILE } from "../../src/store/journal/journal.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { inOrder } from "../support/in-order.ts";

const FAMILIES = size(1, 20);
/** The share of all pairs of a database and a log that is tried. */
const PAIRS = size(0.1, 0.5);

/** A version that marked each commit and had no sandbox.db-opening. */
const OLD: FileKind = {
  name: "test file",
  applicationId: 7,
  firstVersion: 10,
  migrations: [
    `CREATE TABLE a (x INTEGER PRIMARY KEY, filling TEXT) STRICT; CREATE INDEX b ON a (filling); ${LOG_MARK_DDL}`,
  ],
  filesToMoveAway: "the file",
};
const KIND: FileKind = { ...OLD, migrations: [...OLD.migrations, LOG_OPENINGS_MIGRATION] };
const NEXT: FileKind = { ...KIND, migrations: [...KIND.migrations, "ALTER TABLE a ADD COLUMN y TEXT"] };
const FILES = ["", "-wal", "-opening"] as const;

/** A database with its files as a process left them, its committed rows, and the number of its line of logs. */
type Left = {
  readonly name: string;
  readonly path: string;
  readonly rows: readonly number[];
  readonly line: number;
};

/** Opens a database for writes as the sandbox makes them. */
function openLine(path: string, kind = KIND) {
  const opened = openWatchedDatabase(path, { kind });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const { connection, close, binding } = opened.value;
  connection.pragma("synchronous = OFF");
  // The older version did not bind its log.
  const transact = createTransactionRunner({
    ...opened.value,
    binding: kind === OLD ? NO_FILE_GUARDS.binding : binding,
  });
  const insert = connection.prepare("INSERT INTO a (x, filling) VALUES (?, ?)");
  const write = (rows: readonly number[]): void =>
    transact(() => {
      for (const row of rows) insert.run(row, `${row}`.repeat(40));
      if (kind === OLD) connection.exec("UPDATE log_mark SET before = opening, opening = randomblob(16)");
    });
  const commit = createGroupCommit(connection, {
    soon: (run) => run(),
    after: () => undefined,
    ...opened.value,
  });
  /** Runs work as a start does whose work often changes nothing. */
  const runIdle = (work: () => unknown): void => void commit(work, { isOftenIdle: true });
  return { connection, write, runIdle, insert, binding, close };
}

function rowsOf(connection: Database.Database): readonly number[] {
  return connection.prepare<[], number>("SELECT x FROM a ORDER BY x").pluck().all();
}

/** Copies the files of a database as they are on disk, as a kill at this moment leaves them. */
function copy(from: string, to: string): void {
  if (from === to) return;
  // Not over an existing file: a file system may flush a replaced file.
  for (const ending of FILES) {
    rmSync(to + ending, { force: true });
    if (existsSync(from + ending)) copyFileSync(from + ending, to + ending);
  }
}

/** The logs that were moved aside next to a database. */
function logsAside(path: string): readonly string[] {
  return readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}-wal.aside-`));
}

/**
 * Opens, kills, closes and copies two copies of one database at random, and returns the files as each step left them.
 * `line` numbers the logs of a copy: a new number begins when the old log is gone, after a sealed close or, after any
 * other close, at the next opening.
 */
function live(random: () => number, folder: string): readonly Left[] {
  const left: Left[] = [];
  let [nextRow, lines] = [1, 0];
  const leave = (name: string, path: string, found: Pick<Left, "rows" | "line">): void => {
    const to = join(folder, `left-${left.length}.db`);
    copy(path, to);
    left.push({ name: `${name} ${left.length}`, path: to, ...found });
  };
  const places = [join(folder, "one.db"), join(folder, "two.db")] as const;
  const lineOf = new Map<string, number>();
  const first = openLine(places[0]);
  first.write([]);
  first.close();
  for (let round = 0; round < 14; round += 1) {
    const path = places[round % 2] ?? places[0];
    if (round < 2 || random() < 0.2) {
      const from = round < 2 ? places[0] : (places[(round + 1) % 2] ?? places[0]);
      copy(from, path);
      lineOf.set(path, lineOf.get(from) ?? 0);
    }
    if (!existsSync(`${path}-wal`)) lineOf.set(path, (lines += 1));
    const line = lineOf.get(path) ?? 0;
    const { connection, write, runIdle, insert, binding, close } = openLine(path);
    // So that a large change does not fit into the cache.
    connection.pragma("cache_size = -40");
    runIdle(() => 0);
    if (random() < 0.3) leave("idle", path, { rows: rowsOf(connection), line });
    const commitCount = random() < 0.3 ? 0 : 1 + Math.floor(random() * 5);
    if (commitCount > 0 && random() < 0.5) {
      const [rows, from] = [rowsOf(connection), nextRow];
      nextRow += 2000;
      runIdle(() => {
        for (let row = from; row < nextRow; row += 1) insert.run(row, `${row}`.repeat(40));
        if (binding.canWait()) leave("unbound", path, { rows, line });
      });
    }
    for (let commits = commitCount; commits > 0; commits -= 1) {
      const count = random() < 0.15 ? 1500 : 1 + Math.floor(random() * 20);
      write(Array.from({ length: count }, () => nextRow++));
      if (random() < 0.2) connection.pragma("wal_checkpoint(PASSIVE)");
      if (random() < 0.5) leave("killed", path, { rows: rowsOf(connection), line });
    }
    const rows = rowsOf(connection);
    const killed = join(folder, "killed.db");
    if (random() < 0.5) copy(path, killed);
    const isSealed = random() < 0.7;
    if (isSealed) binding.seal();
    close();
    if (existsSync(killed)) copy(killed, path);
    else {
      if (isSealed && commitCount > 0) lineOf.set(path, (lines += 1));
      leave("closed", path, { rows, line: lineOf.get(path) ?? 0 });
    }
    for (const ending of FILES) rmSync(killed + ending, { force: true });
  }
  return left;
}

/** The rows of a database without its log. */
function rowsAlone({ path }: Left, folder: string): readonly number[] {
  const alone = join(folder, "alone.db");
  for (const ending of FILES) rmSync(alone + ending, { force: true });
  copyFileSync(path, alone);
  const { connection, close } = openLine(alone);
  const rows = rowsOf(connection);
  close();
  return rows;
}

test("the log of another database is moved aside without losing a row, and a killed process's own log is always accepted", async ({
  annotate,
}) => {
  const folder = tempFolder();
  const random = seededRandom(SEED);
  const counts = { own: 0, aside: 0, unknown: 0 };
  for (let family = 0; family < FAMILIES; family += 1) {
    const place = join(folder, "tried.db");
    const all = live(random, tempFolder());
    // The log of an idle opening may contain only bindings, which change no row of any database.
    const logs = all.filter(({ name, path }) => !name.startsWith("idle") && fileSizeOf(`${path}-wal`) > 0);
    for (const database of all) {
      const own = openOutcome(copyOf(database, place));
      expect([SEED, database.name, own]).toEqual([SEED, database.name, database.rows]);
      counts.own += 1;
      const alone = rowsAlone(database, folder);
      for (const log of logs.filter(({ line }) => line !== database.line)) {
        if (random() > PAIRS) continue;
        const where = [SEED, database.name, log.name];
        // First with the database's own sandbox.db-opening, then with the log's.
        copyOf(database, place);
        copyFileSync(`${log.path}-wal`, `${place}-wal`);
        expect([...where, openOutcome(place), logsAside(place).length]).toEqual([...where, alone, 1]);
        for (const name of logsAside(place)) rmSync(join(folder, name));
        counts.aside += 1;
        copyOf(database, place);
        for (const ending of ["-wal", "-opening"]) copyFileSync(log.path + ending, place + ending);
        expect([...where, openOutcome(place)]).toEqual([...where, "foreign_log"]);
        expect(readFileSync(`${place}-wal`).equals(readFileSync(`${log.path}-wal`))).toBe(true);
        counts.unknown += 1;
      }
    }
  }
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(2);
  await annotate(
    `seed ${SEED}: ${counts.own} databases opened with their own log, ${counts.aside} logs of others moved aside, ${counts.unknown} refused`,
  );
});

function copyOf({ path }: Left, to: string): string {
  copy(path, to);
  return to;
}

/** The rows of a database, or the reason why it cannot be opened completely. */
function openOutcome(
  path: string,
  kind = KIND,
  options: Partial<OpenOptions> = {},
): readonly number[] | string {
  const opened = openDatabase(path, { kind, ...options });
  if (!opened.ok) return opened.refusal.reason;
  opened.value.pragma("synchronous = OFF");
  const verdict = String(opened.value.pragma("integrity_check(1)", { simple: true }));
  const rows = rowsOf(opened.value);
  opened.value.close();
  return verdict === "ok" ? rows : verdict;
}

/** A closed database with these rows. */
function closedWith(rows: readonly number[], kind = KIND): string {
  const path = join(tempFolder(), "a.db");
  const line = openLine(path, kind);
  for (const row of rows) line.write([row]);
  line.close();
  return path;
}

function killedWith(rows: readonly number[], kind = KIND, from = closedWith([], kind)): string {
  const line = openLine(from, kind);
  for (const row of rows) line.write([row]);
  const path = join(tempFolder(), "a.db");
  copy(from, path);
  line.close();
  return path;
}

test("a log without sandbox.db-opening, or next to another copy of its database, is refused with two remedies", () => {
  const before = closedWith([1, 2, 3]);
  const older = join(tempFolder(), "older.db");
  copy(before, older);
  const killed = killedWith([4, 5], KIND, before);
  const without = killedWith([4, 5], KIND, closedWith([1, 2, 3]));
  rmSync(`${without}-opening`);
  const laidOver = join(tempFolder(), "a.db");
  copy(killed, laidOver);
  copyFileSync(older, laidOver);
  // A copy that was opened again knows the opening of the killed database as its previous opening.
  const later = join(tempFolder(), "a.db");
  copy(killed, later);
  const went = openLine(later);
  went.write([6]);
  went.close();
  const newer = join(tempFolder(), "a.db");
  copy(killed, newer);
  copyFileSync(later, newer);
  for (const [name, path, alone] of [
    ["without the file of openings", without, [1, 2, 3]],
    ["an older copy of the database, laid over", laidOver, [1, 2, 3]],
    ["a newer copy of the database, laid over", newer, [1, 2, 3, 4, 5, 6]],
  ] as const) {
    const bytes = FILES.map((ending) => existsSync(path + ending) && readFileSync(path + ending, "hex"));
    const opened = openDatabase(path, { kind: KIND });
    expect([name, opened.ok || opened.refusal]).toMatchObject([
      name,
      { reason: "foreign_log", remedy: expect.stringMatching(inOrder(path, `${path}-wal`)) },
    ]);
    expect(FILES.map((ending) => existsSync(path + ending) && readFileSync(path + ending, "hex"))).toEqual(
      bytes,
    );
    expect(existsSync(`${path}-shm`)).toBe(false);
    rmSync(`${path}-wal`);
    const found = openOutcome(path);
    expect([name, found]).toEqual([name, expect.arrayContaining(alone.slice(0, 3))]);
  }
});

test("a foreign log that is moved aside is reported, and foreign logs that were moved earlier are kept", () => {
  const path = closedWith([1, 2, 3]);
  const moved: string[] = [];
  for (let times = 1; times <= 2; times += 1) {
    copyFileSync(`${killedWith([11, 12])}-wal`, `${path}-wal`);
    const options = { onLogMoved: (log: string) => void moved.push(log) };
    expect(openOutcome(path, KIND, options)).toEqual([1, 2, 3]);
  }
  expect(moved).toEqual([`${path}-wal.aside-1`, `${path}-wal.aside-2`]);
  expect(logsAside(path).map((name) => join(dirname(path), name))).toEqual(moved);
});

test("a truncated log of another database loses no row, and a truncated log of the database itself loses only its last rows", () => {
  const other = killedWith([11, 12, 13]);
  const { length } = readFileSync(`${other}-wal`);
  for (const end of [0, 16, 32, 56, 1000, ...Array.from({ length: 40 }, (_, at) => 32 + at * 2060)]) {
    if (end > length) continue;
    const path = closedWith([1, 2, 3]);
    copyFileSync(`${other}-wal`, `${path}-wal`);
    truncateSync(`${path}-wal`, end);
    expect([end, openOutcome(path)]).toEqual([end, [1, 2, 3]]);
    // A killed process's own log may end anywhere: the rows before its end remain.
    const own = join(tempFolder(), "a.db");
    copy(other, own);
    truncateSync(`${own}-wal`, end);
    const found = openOutcome(own);
    expect([end, found]).toEqual([end, [11, 12, 13].slice(0, found.length)]);
  }
  const path = closedWith([1, 2, 3]);
  writeFileSync(`${path}-wal`, "a note, not a log".repeat(1000));
  expect(openOutcome(path)).toEqual([1, 2, 3]);
});

test("a killed process's log is accepted even after thousands of log restarts", () => {
  const from = closedWith([]);
  const line = openLine(from);
  line.connection.pragma("wal_autocheckpoint = 1");
  for (let row = 1; row <= 10_000; row += 1) line.write([row]);
  const path = join(tempFolder(), "a.db");
  copy(from, path);
  line.close();
  expect([openOutcome(path).length, logsAside(path)]).toEqual([10_000, []]);
});

test("a killed process's log is accepted even if another process has restarted the log", () => {
  const from = closedWith([1]);
  const line = openLine(from);
  line.write([2]);
  const other = new Database(from);
  other.pragma("wal_checkpoint(RESTART)");
  other.close();
  line.write([3]);
  const path = join(tempFolder(), "a.db");
  copy(from, path);
  line.close();
  expect([openOutcome(path), logsAside(path)]).toEqual([[1, 2, 3], []]);
});

test("a database of a version without sandbox.db-opening opens with its log, even after a kill that follows the migration", () => {
  const killed = killedWith([1, 2, 3], OLD);
  expect(existsSync(`${killed}-opening`)).toBe(false);
  expect(openOutcome(killed)).toEqual([1, 2, 3]);
  for (const [from, to] of [
    [OLD, KIND],
    [OLD, NEXT],
    [KIND, NEXT],
  ] as const)
    // If the database was closed, the migration begins the log.
    for (const path of [killedWith([1, 2, 3], from), closedWith([1, 2, 3], from)]) {
      const migrated = openLine(path, to);
      const left = join(tempFolder(), "a.db");
      copy(path, left);
      migrated.write([4]);
      const leftLater = join(tempFolder(), "a.db");
      copy(path, leftLater);
      migrated.close();
      expect(openOutcome(left, to)).toEqual([1, 2, 3]);
      expect(openOutcome(leftLater, to)).toEqual([1, 2, 3, 4]);
    }
});

test("a kill right after a large migration leaves a log that is accepted", () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => at + 1);
  const large: FileKind = {
    ...KIND,
    migrations: [...KIND.migrations, "UPDATE a SET filling = filling || x"],
  };
  for (const path of [killedWith(rows, OLD), closedWith(rows, OLD)]) {
    const migrated = openLine(path, large);
    const left = join(tempFolder(), "a.db");
    copy(path, left);
    migrated.close();
    expect(openOutcome(left, large)).toEqual(rows);
  }
});

test("a backup from before a migration is refused next to the log of a killed database", () => {
  for (const [from, to] of [
    [OLD, KIND],
    [KIND, NEXT],
  ] as const)
    for (const path of [killedWith([1, 2, 3], from), closedWith([1, 2, 3], from)]) {
      const line = openLine(path, to);
      line.write([4]);
      const killed = join(tempFolder(), "a.db");
      copy(path, killed);
      line.close();
      copyFileSync(`${path}.v${currentSchemaVersion(from)}.backup`, killed);
      expect(openOutcome(killed, to)).toEqual("foreign_log");
      rmSync(`${killed}-wal`);
      expect(openOutcome(killed, to)).toEqual([1, 2, 3]);
    }
});

test("a VACUUM INTO copy that replaces a killed database is refused next to the old log", () => {
  for (const kind of [SANDBOX_FILE, JOURNAL_FILE]) {
    const path = join(tempFolder(), "a.db");
    const opened = openWatchedDatabase(path, { kind });
    if (!opened.ok) throw new Error(opened.refusal.message);
    const { connection, close } = opened.value;
    const transact = createTransactionRunner(opened.value);
    transact(() => connection.exec("UPDATE log_mark SET commits = commits"));
    connection.prepare("VACUUM INTO ?").run(`${path}.copy`);
    const killed = join(tempFolder(), "a.db");
    copy(path, killed);
    close();
    copyFileSync(`${path}.copy`, killed);
    const found = openDatabase(killed, { kind });
    expect([kind.name, found.ok || found.refusal.reason]).toEqual([kind.name, "foreign_log"]);
  }
});

test("a process that records its opening late does not claim a newer process's log, at whichever step both are killed", () => {
  const from = closedWith([1]);
  const holder = openLine(from);
  holder.write([2]);
  const slow = openWatchedDatabase(from, { kind: KIND });
  if (!slow.ok) throw new Error(slow.refusal.message);
  const copies: string[] = [];
  const kill = (): void => {
    const path = join(tempFolder(), "killed.db");
    copy(from, path);
    copies.push(path);
  };
  let others = 0;
  const outcome = slow.value.binding.bind((work) => {
    slow.value.connection.transaction(work).immediate();
    kill();
    // Another process opens the database, binds the log, and restarts it.
    const other = openLine(from);
    for (let commits = 0; commits < 3; commits += 1) {
      other.connection.pragma("wal_checkpoint(PASSIVE)");
      other.write([100 + (others += 1)]);
      kill();
    }
    other.close();
    return true;
  });
  kill();
  expect([outcome, copies.length]).toEqual([true, 9]);
  holder.write([3]);
  kill();
  slow.value.close();
  holder.close();
  const found = copies.map((path) => openOutcome(path));
  expect(found.map((rows) => (typeof rows === "string" ? rows : rows.slice(0, 2)))).toEqual(
    copies.map(() => [1, 2]),
  );
  expect(found.at(-1)).toEqual([1, 2, 3, 101, 102, 103, 104, 105, 106]);
});
