import { closeSync, copyFileSync, existsSync, openSync, readFileSync, renameSync, rmSync } from "node:fs";
import { statSync, truncateSync, writeFileSync, writeSync } from "node:fs";
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
import { part } from "../support/campaign.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A database of the program: how it is opened, written to and closed, and what it holds. */
type Ours = {
  readonly name: string;
  readonly kind: FileKind;
  readonly select: string;
  readonly open: (path: string) => {
    readonly write: (row: string) => Promise<unknown>;
    readonly close: () => void;
  };
};

/** Rows are longer than a page, so that each is in other pages. */
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
        newAttempt: false,
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

/** A database with old rows, that is open and has new ones in its log; and the path of another one with a longer log. */
async function used({ open }: Ours) {
  const [path, other] = [join(tempFolder(), "a.db"), join(tempFolder(), "a.db")];
  const before = open(path);
  for (const row of OLD) await before.write(row);
  before.close();
  const database = open(path);
  for (const row of NEW.slice(0, 2)) await database.write(row);
  const snapshot = readFileSync(`${path}-wal`);
  for (const row of NEW.slice(2)) await database.write(row);
  const others = open(other);
  for (let row = 1; row <= 9; row += 1) await others.write(`other-${row}`);
  return { path, database, other, closeOther: others.close, snapshot };
}

type Used = Awaited<ReturnType<typeof used>>;

/** Overwrites a part of a file, and leaves the rest and the file itself. */
function overwrite(path: string, bytes: Uint8Array, at = 0): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

/** Changes one byte of a file; any fixed byte could be there already, because salts and sums are random. */
function invert(path: string, at: number): void {
  const bytes = readFileSync(path);
  overwrite(path, Buffer.from([bytes.readUInt8(at) ^ 0xff]), at);
}

/** A log has 32 bytes of its own, then pages of 4096 bytes with 24 before each. */
const FRAME_BYTES = 4096 + 24;
const CHANGES: readonly (readonly [string, (used: Used) => void])[] = [
  [
    "another's log, as a copy over it",
    ({ path, other }) => writeFileSync(`${path}-wal`, readFileSync(`${other}-wal`)),
  ],
  [
    "another's log, over its beginning",
    ({ path, other }) => overwrite(`${path}-wal`, readFileSync(`${other}-wal`)),
  ],
  ["its own log of before", ({ path, snapshot }) => writeFileSync(`${path}-wal`, snapshot)],
  [
    "its own log of before, over its beginning",
    ({ path, snapshot }) => {
      const cut = snapshot.length - FRAME_BYTES;
      overwrite(`${path}-wal`, Buffer.alloc(statSync(`${path}-wal`).size - cut), cut);
    },
  ],
  ["zeroes at the beginning", ({ path }) => overwrite(`${path}-wal`, Buffer.alloc(4096))],
  ["zeroes in one page", ({ path }) => overwrite(`${path}-wal`, Buffer.alloc(4096), 32 + 24)],
  [
    "zeroes behind the header",
    ({ path }) => overwrite(`${path}-wal`, Buffer.alloc(statSync(`${path}-wal`).size - 32), 32),
  ],
  ["one byte", ({ path }) => invert(`${path}-wal`, 32 + 24 + 100)],
  ["one byte of the sum of its header", ({ path }) => invert(`${path}-wal`, 24)],
  ["one byte of the salt of a page", ({ path }) => invert(`${path}-wal`, 32 + 8)],
  ["nothing at all", ({ path }) => truncateSync(`${path}-wal`)],
  ["the half of it", ({ path }) => truncateSync(`${path}-wal`, statSync(`${path}-wal`).size / 2)],
  ["another's index", ({ path, other }) => overwrite(`${path}-shm`, readFileSync(`${other}-shm`))],
  [
    "another's log and index",
    ({ path, other }) => {
      for (const ending of ["-wal", "-shm"]) overwrite(path + ending, readFileSync(other + ending));
    },
  ],
  [
    "another's log, where it was moved to",
    ({ path, other }) => {
      renameSync(`${path}-wal`, `${path}-moved`);
      overwrite(`${path}-moved`, readFileSync(`${other}-wal`));
    },
  ],
];

/** The rows of a file as the next process finds it: with its log alone, which is put aside where it is refused. */
function rowsLater(ours: Ours, path: string): readonly string[] {
  const copy = join(tempFolder(), "a.db");
  for (const ending of ["", "-wal"])
    if (existsSync(path + ending)) copyFileSync(path + ending, copy + ending);
  let opened = openDatabase(copy, { kind: ours.kind });
  if (!opened.ok) {
    expect(opened.refusal.reason).toBe("foreign_log");
    rmSync(`${copy}-wal`);
    opened = openDatabase(copy, { kind: ours.kind });
  }
  const connection = must(opened);
  const rows = connection.prepare<[], string>(ours.select).pluck().all();
  expect(connection.pragma("integrity_check", { simple: true })).toBe("ok");
  connection.close();
  return rows;
}

test("what others write into an open file is never written into the database: no older row is lost", async () => {
  for (const [place, ours] of OURS.entries()) {
    for (const [at, [how, change]] of CHANGES.entries()) {
      for (const end of part(["closed", "killed", "closed after a write"] as const, 3, place + at)) {
        const where = `${ours.name} log: ${how}, ${end}`;
        const one = await used(ours);
        change(one);
        if (end === "closed after a write")
          await expect(one.database.write("lost"), where).rejects.toBeInstanceOf(StorageUnavailable);
        if (end !== "killed") one.database.close();
        const rows = rowsLater(ours, one.path);
        expect([where, ...OLD.filter((row) => !rows.includes(row))]).toEqual([where]);
        expect([where, ...rows.filter((row) => ![...OLD, ...NEW].includes(row))]).toEqual([where]);
        if (end === "killed") one.database.close();
        one.closeOther();
      }
    }
  }
});

test("a write is refused once the database itself was written over or cut off, wherever that is", async () => {
  const changes: readonly (readonly [string, (used: Used) => void])[] = [
    ["another database, as a copy over it", ({ path, other }) => writeFileSync(path, readFileSync(other))],
    ["another database, over its beginning", ({ path, other }) => overwrite(path, readFileSync(other))],
    ["its last page cut off", ({ path }) => truncateSync(path, statSync(path).size - 4096)],
  ];
  for (const ours of OURS) {
    for (const [how, change] of changes) {
      const one = await used(ours);
      change(one);
      await expect(one.database.write("lost"), `${ours.name}: ${how}`).rejects.toBeInstanceOf(
        StorageUnavailable,
      );
      one.database.close();
      one.closeOther();
    }
  }
});

test("a commit to a file that has lost its name is told from one that can be read again", () => {
  for (const ending of ["", "-wal"]) {
    const path = join(tempFolder(), "a.db");
    for (const name of ["", "-wal", "-shm"]) writeFileSync(path + name, "x");
    const watch = watchFiles(path, () => false);
    expect([ending, watch.noteWritten()]).toEqual([ending, true]);
    rmSync(path + ending);
    expect([ending, watch.noteWritten()]).toEqual([ending, false]);
    watch.close();
  }
});

test("files that only lost their names keep what was written: the close writes it into the database", async () => {
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
