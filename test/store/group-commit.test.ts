import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { createGroupCommit } from "../../src/store/connection/group-commit.ts";
import { storageFailure, StorageUnavailable } from "../../src/store/connection/storage-failure.ts";
import { tempFolder } from "../support/temp-folder.ts";

type Observers = Omit<Parameters<typeof createGroupCommit>[1], "soon" | "after">;

/** A file with one table, whose writes wait for the test: `turn` ends a batch, `pass` moves the time. */
function openCommits(observers: Observers = {}) {
  const path = join(tempFolder(), "a.db");
  const connection = new Database(path);
  connection.pragma("journal_mode = WAL");
  connection.pragma("busy_timeout = 0");
  connection.exec("CREATE TABLE a (x INTEGER) STRICT");
  const reader = new Database(path);
  onTestFinished(() => [reader, connection].forEach((one) => one.close()));
  const soon: (() => void)[] = [];
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  let now = 0;
  const ended: unknown[] = [];
  const write = createGroupCommit(connection, {
    soon: (run) => void soon.push(run),
    after: (milliseconds, run) => void timers.push({ at: now + milliseconds, run }),
    onEnd: (failure) => ended.push(failure?.failure.code ?? "on disk"),
    ...observers,
  });
  const settled: string[] = [];
  const insert = connection.prepare("INSERT INTO a VALUES (?)");
  const told = (error: unknown): string =>
    error instanceof StorageUnavailable ? error.failure.code : String(error);
  return {
    connection,
    reader,
    insert,
    ended,
    settled,
    /** Writes, and records the result. */
    note: (work: () => unknown, options?: Parameters<typeof write>[1]): void =>
      void write(work, options).then(
        (value) => settled.push(`done ${String(value)}`),
        (error: unknown) => settled.push(told(error)),
      ),
    write,
    waiting: () => soon.length,
    /** One turn of the event loop. */
    oneTurn: (): void => soon.shift()?.(),
    turn: async (): Promise<void> => {
      for (const batchCount = ended.length; soon.length > 0 && ended.length === batchCount;) soon.shift()?.();
      await Promise.resolve();
    },
    pass: async (milliseconds: number): Promise<void> => {
      for (const until = now + milliseconds; ;) {
        const [next] = timers.filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at);
        now = next?.at ?? until;
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        next.run();
      }
      await new Promise((resolve) => setImmediate(resolve));
    },
    rows: () => reader.prepare<[], number>("SELECT x FROM a ORDER BY rowid").pluck().all(),
  };
}

test("waiting writes commit 256 at a time, in order, and are on disk before their callers are answered", async () => {
  const { insert, note, settled, turn, waiting, rows, ended } = openCommits();
  for (let x = 0; x < 300; x += 1) note(() => insert.run(x) && x);
  expect([waiting(), rows().length]).toEqual([1, 0]);
  await turn();
  expect([waiting(), rows().length, settled.length, ended]).toEqual([1, 256, 256, ["on disk"]]);
  note(() => insert.run(300) && 300);
  expect(waiting()).toBe(1);
  await turn();
  const all = Array.from({ length: 301 }, (_, x) => x);
  expect([waiting(), rows(), settled]).toEqual([0, all, all.map((x) => `done ${x}`)]);
  note(() => "later");
  expect(waiting()).toBe(1);
  await turn();
  expect([settled.at(-1), ended.length]).toEqual(["done later", 3]);
});

test("writes wait while each turn of the event loop brings more writes, and then share one commit", async () => {
  const { insert, note, settled, oneTurn, waiting, rows, ended } = openCommits();
  note(() => insert.run(1) && 1);
  oneTurn();
  note(() => insert.run(2) && 2);
  oneTurn();
  expect([waiting(), rows()]).toEqual([1, []]);
  oneTurn();
  await Promise.resolve();
  expect([waiting(), rows(), settled, ended]).toEqual([0, [1, 2], ["done 1", "done 2"], ["on disk"]]);
});

test("a failing write is rolled back alone and gets its own error; lock and disk errors are reported", async () => {
  const { insert, note, settled, turn, rows, ended, connection } = openCommits();
  const busy = new Database.SqliteError("locked", "SQLITE_BUSY");
  const full = new StorageUnavailable(storageFailure("disk_full"));
  const lost = new StorageUnavailable(storageFailure("database_changed"));
  const failing = (x: number, error: unknown) => () => {
    insert.run(x);
    throw error;
  };
  note(() => insert.run(1) && 1);
  note(failing(2, new RangeError("not this one")));
  note(() => insert.run(3) && 3);
  await turn();
  expect([rows(), settled.splice(0), ended.splice(0)]).toEqual([
    [1, 3],
    ["done 1", "RangeError: not this one", "done 3"],
    ["on disk"],
  ]);
  note(failing(4, busy));
  note(failing(5, full));
  note(failing(6, lost));
  note(() => insert.run(7) && 7);
  await turn();
  expect([rows(), settled, ended]).toEqual([
    [1, 3, 7],
    ["file_locked", "disk_full", "database_changed", "done 7"],
    ["file_locked"],
  ]);
  expect(connection.inTransaction).toBe(false);
});

test("an error that ended the transaction fails all its writes, and the next transaction works", async () => {
  const { insert, note, settled, turn, rows, ended, connection } = openCommits();
  note(() => insert.run(1));
  note(() => {
    connection.exec("ROLLBACK");
    throw new Database.SqliteError("database or disk is full", "SQLITE_FULL");
  });
  note(() => insert.run(2));
  await turn();
  expect([rows(), settled.splice(0), ended.splice(0)]).toEqual([
    [],
    ["disk_full", "disk_full", "disk_full"],
    ["disk_full"],
  ]);
  note(() => insert.run(3) && 3);
  await turn();
  expect([rows(), settled, ended]).toEqual([[3], ["done 3"], ["on disk"]]);
});

test("writes that wait for a lock fail together, none of them runs later, and the next writes wait equally long", async () => {
  const { insert, note, settled, turn, pass, rows, ended, reader, waiting } = openCommits();
  for (let round = 1; round <= 2; round += 1) {
    reader.exec("BEGIN IMMEDIATE");
    for (let x = 0; x < 300; x += 1) note(() => insert.run(x));
    await turn();
    // Less than every wait, then more than every wait.
    await pass(1500);
    expect([round, settled, waiting()]).toEqual([round, [], 0]);
    await pass(9000);
    expect([round, settled.splice(0), ended.splice(0)]).toEqual([
      round,
      Array.from({ length: 300 }, () => "file_locked"),
      ["file_locked"],
    ]);
    reader.exec("COMMIT");
    await pass(10_000);
    expect([round, rows(), waiting()]).toEqual([round, [], 0]);
  }
  reader.exec("BEGIN IMMEDIATE");
  note(() => insert.run(1) && 1);
  await turn();
  await pass(1500);
  reader.exec("COMMIT");
  await pass(100);
  expect([rows(), settled, ended]).toEqual([[1], ["done 1"], ["on disk"]]);
});

test("a job that usually changes nothing does not bind the log until the job changes a row", async () => {
  let isBound = false;
  const seal = (): void => undefined;
  const commits = openCommits({ binding: { canWait: () => !isBound, bind: () => (isBound = true), seal } });
  const { connection, insert, note, settled, turn, rows } = commits;
  const update = connection.prepare("UPDATE a SET x = 3 WHERE x = 2");
  const runs = { idle: 0, insert: 0 };
  const idle = (): number => (runs.idle += 1) && update.run().changes;
  note(idle, { isOftenIdle: true });
  await turn();
  expect([isBound, runs.idle, settled]).toEqual([false, 1, ["done 0"]]);
  note(() => (runs.insert += 1) && insert.run(2).changes);
  await turn();
  expect([isBound, runs.insert, rows()]).toEqual([true, 1, [2]]);
  isBound = false;
  note(idle, { isOftenIdle: true });
  await turn();
  expect([isBound, runs.idle, rows()]).toEqual([true, 3, [3]]);
});

test("the log is bound to its database before the first commit, and no write to changed files is reported as stored", async () => {
  const seen: unknown[] = [];
  const answers = [true, true, true, false, false];
  const rows = (): number[] => commits.rows();
  const commits = openCommits({
    binding: {
      canWait: () => false,
      bind: (inTransaction) => {
        seen.push(commits.connection.inTransaction, rows().length);
        return inTransaction?.(() => void seen.push(commits.connection.inTransaction)) ?? false;
      },
      seal: () => undefined,
    },
    watch: { isIntact: () => answers.shift() ?? false },
  });
  const { insert, note, settled, turn, ended } = commits;
  note(() => insert.run(1) && 1);
  await turn();
  expect([rows(), seen]).toEqual([[1], [false, 0, true]]);
  note(() => insert.run(2));
  await turn();
  note(() => insert.run(3));
  await turn();
  expect([rows(), settled, ended]).toEqual([
    [1, 2],
    ["done 1", "database_changed", "database_changed"],
    ["on disk", "database_changed", "database_changed"],
  ]);
});

test("the 10,001st waiting write is refused with the reason, and the others commit", async () => {
  const { write, note, settled, turn, waiting } = openCommits();
  const most = 10_000;
  for (let x = 0; x < most; x += 1) note(() => x);
  await expect(write(() => "one too many")).rejects.toMatchObject({
    failure: { code: "file_locked" },
    message: expect.stringContaining(String(most)) as string,
  });
  while (waiting() > 0) await turn();
  expect([settled.length, settled.at(-1)]).toEqual([most, `done ${most - 1}`]);
});

test("a disk error while checking the files fails the current write, and no later write", async () => {
  const answers = [
    () => {
      throw new Error("i/o error");
    },
    () => true,
  ];
  const { note, insert, turn, settled, rows } = openCommits({
    watch: { isIntact: () => answers.shift()?.() ?? true },
  });
  note(() => insert.run(1));
  await turn();
  note(() => insert.run(2) && 2);
  await turn();
  expect([settled, rows()]).toEqual([["Error: i/o error", "done 2"], [2]]);
});

test("a job that runs again after a rollback reads no rows that the first run has cached", async () => {
  let cachedRows: readonly number[] | undefined;
  let isBound = false;
  const { connection, note, settled, turn } = openCommits({
    binding: { canWait: () => !isBound, bind: () => (isBound = true), seal: () => undefined },
    onUndone: () => (cachedRows = undefined),
  });
  connection.exec("INSERT INTO a VALUES (1)");
  const read = connection.prepare<[], number>("SELECT x FROM a").pluck();
  const remove = connection.prepare("DELETE FROM a");
  const lengths: number[] = [];
  const takeRow = (): void => {
    cachedRows ??= read.all();
    lengths.push(cachedRows.length);
    cachedRows = undefined;
    remove.run();
    cachedRows = read.all();
  };
  // The first run is undone because the log is not bound, and a batch because one of its jobs throws.
  note(takeRow, { isOftenIdle: true });
  await turn();
  connection.exec("INSERT INTO a VALUES (1)");
  cachedRows = undefined;
  note(takeRow);
  note(() => {
    throw new Error("a mistake");
  });
  note(() => lengths.push((cachedRows ?? read.all()).length));
  await turn();
  expect([lengths, settled.slice(0, 2)]).toEqual([
    [1, 1, 1, 1, 0],
    ["done undefined", "done undefined"],
  ]);
});
