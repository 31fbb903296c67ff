import { copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Outcome } from "../../src/core/outcome.ts";
import type { FileKind, FileRefusal } from "../../src/store/connection/database.ts";
import { watchFiles } from "../../src/store/connection/file-watch.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { StorageUnavailable } from "../../src/store/connection/storage-failure.ts";
import { JOURNAL_FILE, openJournal, openSeenEvents } from "../../src/store/journal/journal.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openStore } from "../../src/store/store.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A database of the program: how to open, write and close it, and its rows. */
type Ours = {
  readonly name: string;
  readonly kind: FileKind;
  readonly select: string;
  readonly open: (path: string) => {
    readonly write: (row: string) => Promise<unknown>;
    readonly close: () => void;
  };
};

/** Longer than a page, so that no two rows share a page. */
const FILLING = "x".repeat(5000);
const OURS: readonly Ours[] = [
  {
    name: "the sandbox's",
    kind: SANDBOX_FILE,
    select: "SELECT id FROM merchants ORDER BY id",
    open: (path) => {
      const soon = (run: () => void): void => void setImmediate(run);
      const { stores, write, close } = must(
        openStore(path, { scheduler: { soon, after: (_, run) => soon(run) } }),
      );
      const insert = (id: string): void => stores.insertMerchant({ id, name: FILLING, createdAt: 1 });
      return { write: (row) => write(() => insert(row)), close };
    },
  },
  {
    name: "the journal of creates",
    kind: JOURNAL_FILE,
    select: "SELECT order_id FROM entries ORDER BY order_id",
    open: (path) => {
      const journal = must(openJournal(path));
      const intent = {
        service: "s",
        storeId: null,
        instance: null,
        endpoint: "orders",
        isNewAttempt: false,
      } as const;
      const begin = async (orderId: string): Promise<unknown> =>
        journal.begin({ ...intent, orderId, idempotencyKey: `key-of-${orderId}` }, FILLING, 1);
      return { write: begin, close: journal.close };
    },
  },
  {
    name: "the journal of events",
    kind: JOURNAL_FILE,
    select: "SELECT rtrim(event_id, '.') FROM seen_events ORDER BY event_id",
    open: (path) => {
      const seen = must(openSeenEvents(path, { now: 1 }));
      return {
        write: async (row) => seen.add({ eventId: row.padEnd(1000, "."), instance: null }, 1),
        close: seen.close,
      };
    },
  },
];

function must<Value>(opened: Outcome<Value, FileRefusal>): Value {
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.value;
}

const OLD = ["old-1", "old-2", "old-3", "old-4", "old-5"];
const NEW = ["new-1", "new-2", "new-3"];

/** An open database with old rows and with new rows in its log, and the path of another database with a longer log. */
async function used({ open }: Ours) {
  const [path, other] = [join(tempFolder(), "a.db"), join(tempFolder(), "a.db")];
  const before = open(path);
  for (const row of OLD) await before.write(row);
  before.close();
  const database = open(path);
  for (const row of NEW.slice(0, 2)) await database.write(row);
  for (const row of NEW.slice(2)) await database.write(row);
  const others = open(other);
  for (let row = 1; row <= 9; row += 1) await others.write(`other-${row}`);
  return { path, database, other, closeOther: others.close };
}

type Used = Awaited<ReturnType<typeof used>>;

/** The rows that the next process finds in a file. */
function rowsLater(ours: Ours, path: string): readonly string[] {
  const copy = join(tempFolder(), "a.db");
  for (const ending of ["", "-wal", "-opening"])
    if (existsSync(path + ending)) copyFileSync(path + ending, copy + ending);
  const connection = must(openDatabase(copy, { kind: ours.kind }));
  const rows = connection.prepare<[], string>(ours.select).pluck().all();
  expect(connection.pragma("integrity_check", { simple: true })).toBe("ok");
  connection.close();
  return rows;
}

test("a write is refused after a file of the open database was truncated, and a truncated log loses no older row", async () => {
  for (const ours of OURS)
    for (const ending of ["", "-wal"]) {
      const one = await used(ours);
      truncateSync(one.path + ending, statSync(one.path + ending).size - 4096);
      await expect(one.database.write("lost"), `${ours.name}: ${ending}`).rejects.toBeInstanceOf(
        StorageUnavailable,
      );
      one.database.close();
      one.closeOther();
      if (ending !== "") expect(rowsLater(ours, one.path)).toEqual(expect.arrayContaining(OLD));
    }
});

test("the file watch reports a database file or log that was unlinked", () => {
  for (const ending of ["", "-wal"]) {
    const path = join(tempFolder(), "a.db");
    for (const name of ["", "-wal", "-shm"]) writeFileSync(path + name, "x");
    const watch = watchFiles(path);
    expect([ending, watch.isIntact()]).toEqual([ending, true]);
    rmSync(path + ending);
    expect([ending, watch.isIntact()]).toEqual([ending, false]);
  }
});

test("rows in the log are in the database after the close, even if the log was unlinked, renamed or replaced", async () => {
  const losses: readonly (readonly [string, (used: Used) => void])[] = [
    ["nothing happens", () => undefined],
    ["rm -wal", ({ path }) => rmSync(`${path}-wal`)],
    ["rm -wal -shm", ({ path }) => ["-wal", "-shm"].forEach((ending) => rmSync(path + ending))],
    ["mv -wal", ({ path }) => renameSync(`${path}-wal`, `${path}-moved`)],
    [
      "mv other -wal",
      ({ path, other }) => {
        copyFileSync(`${other}-wal`, `${path}-other`);
        renameSync(`${path}-other`, `${path}-wal`);
      },
    ],
  ];
  for (const ours of OURS) {
    for (const [how, lose] of losses) {
      const one = await used(ours);
      lose(one);
      one.database.close();
      expect([ours.name, how, rowsLater(ours, one.path)]).toEqual([ours.name, how, [...NEW, ...OLD]]);
      one.closeOther();
    }
  }
});
