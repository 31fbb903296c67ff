// Which log belongs to a database (decision 69), without parsing the log. The crash points of `createTie`, and what the
// next start finds after each: test/real/log-ties.test.ts.
import type Database from "better-sqlite3";
import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync } from "node:fs";
import { isError } from "../../core/outcome.ts";
import { replaceFile } from "./durable-files.ts";

/**
 * The DDL of the row that identifies the last opening of a database: `opening` is random for each opening that writes,
 * and `before` is the `opening` of the one before. Up to `LOG_OPENINGS_MIGRATION` every commit changed the row.
 */
export const LOG_MARK_DDL = `
CREATE TABLE log_mark (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  opening BLOB NOT NULL CHECK (length(opening) = 16),
  before  BLOB NOT NULL CHECK (length(before) = 16),
  commits INTEGER NOT NULL CHECK (commits >= 1099511627776)
) STRICT;
INSERT INTO log_mark (id, opening, before, commits) VALUES (1, randomblob(16), zeroblob(16), 1099511627776);
`;

/**
 * The migration from which on a log is only used if the file of openings beside it says so. It changes nothing: the file
 * of openings names the mark that the row has while a migration runs.
 */
export const LOG_OPENINGS_MIGRATION = `
UPDATE log_mark SET commits = commits;
`;

/** Gives a new or copied database an id that no other file has. */
export function renewMark(connection: Database.Database): void {
  if (hasMark(connection))
    connection.exec("UPDATE log_mark SET opening = randomblob(16), before = zeroblob(16)");
}

export function hasMark(connection: Database.Database): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_mark'").get() !== undefined;
}

/** The file of openings: the place of the row's page in the database, the salt of the log, and marks of openings. */
type Openings = {
  readonly offset: number;
  readonly length: number;
  /** Null before the log has its first frame. */
  readonly salt: number | null;
  /** Oldest first: `opening` and `before` of the row, in hex; `ANY` for every database. */
  readonly marks: readonly string[];
};

/** Stands for the unknown mark of a file of a version before the file of openings. */
const ANY = "any";
const FORM = /^(\d+) (\d+) (\d+|-)((?: (?:any|[0-9a-f]{64}))+)\n$/;
/** SQLite adds 1 to the salt whenever it begins the log anew. The file of openings is at most this far behind. */
const MAX_RESTARTS = 4096;
/** The distance at which the salt is written again, before the commit is acknowledged. */
const RESTARTS_PER_SALT = 1024;
/** After so many commits of its own a process looks at the salt: each commit begins the log anew at most once. */
const COMMITS_PER_LOOK = 256;
const MAX_LOOKS = 10;
/** Number of hex digits of an opening. */
const ID_DIGITS = 32;
const [LOG_HEADER_BYTES, FRAME_HEADER_BYTES, SALT_OFFSET] = [32, 24, 16];
const [DATABASE_HEADER_BYTES, SCHEMA_VERSION_OFFSET] = [100, 60];

/** `own`: may be replayed; `other`: the database is the right one, but not its log; `unknown`: the database is not. */
type LogVerdict = "own" | "other" | "unknown";

/**
 * Whether the log next to a database belongs to it: SQLite would replay any log over the database. Reads both without
 * SQLite. `firstVersion`: the first schema version whose logs need a file of openings. A running process may change the
 * files between two reads, so only an equal second look counts.
 */
export function judgeLog(path: string, firstVersion: number): LogVerdict {
  let before = "";
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const found = lookAt(path);
    const verdict = verdictOn(found, firstVersion);
    const seen = JSON.stringify(found);
    if (verdict === "own" || seen === before) return verdict;
    before = seen;
  }
  return "own";
}

/** Moves the log of another database aside, and returns its new path. */
export function moveLogAside(path: string): string {
  for (let number = 1; ; number += 1) {
    const aside = `${path}-wal.aside-${number}`;
    if (existsSync(aside)) continue;
    renameSync(`${path}-wal`, aside);
    return aside;
  }
}

type Look = ReturnType<typeof lookAt>;

/** What identifies a database and its log, in hex. */
function lookAt(path: string) {
  const openings = readOpenings(path);
  const { offset = 0, length = 0 } = openings ?? {};
  const header = readPart(path, 0, DATABASE_HEADER_BYTES);
  return {
    openings,
    version: header.length < DATABASE_HEADER_BYTES ? 0 : header.readInt32BE(SCHEMA_VERSION_OFFSET),
    page: readPart(path, offset, length).toString("hex"),
    // The header and the first frame.
    log: readPart(`${path}-wal`, 0, LOG_HEADER_BYTES + FRAME_HEADER_BYTES + length).toString("hex"),
  };
}

function verdictOn({ openings, version, page, log }: Look, firstVersion: number): LogVerdict {
  if (log === "") return "own";
  if (openings === undefined) return version < firstVersion ? "own" : "unknown";
  // Without a whole frame nothing is replayed.
  if (log.length < 2 * (LOG_HEADER_BYTES + FRAME_HEADER_BYTES + openings.length)) return "own";
  const { marks, salt } = openings;
  if (!marks.some((mark) => mark === ANY || page.includes(mark))) return "unknown";
  const last = marks.at(-1)?.slice(0, ID_DIGITS) ?? ANY;
  const isLater = salt !== null && (saltOf(log) - salt) >>> 0 < MAX_RESTARTS;
  return isLater || log.includes(last) ? "own" : "other";
}

type Checkpoint = { readonly busy: number; readonly log: number; readonly checkpointed: number };

/** Runs work in a transaction of its own; false if another process has the lock. */
type InTransaction = (work: () => void) => boolean;

/** What ties the log to the database before the first commit that changes a row. */
export type Tie = {
  /** Asked at the end of each transaction: whether it must be rolled back and run again after `make`. */
  readonly isDue: () => boolean;
  /** Whether the file is new, so that its first transaction changes it, and can be tied without being run twice. */
  readonly isNew: () => boolean;
  /** False if another process has the lock. */
  readonly make: (inTransaction: InTransaction) => boolean;
  /** Called after each commit, before it is acknowledged: another process may have begun the log anew. */
  readonly noteCommit: (inTransaction: InTransaction) => void;
};

/** The tie of a database without a log. */
export const NO_TIE: Tie = {
  isDue: () => false,
  isNew: () => false,
  make: () => true,
  noteCommit: () => undefined,
};

/** Thrown to roll back a transaction that must be run again, after its log was tied. */
export class Untied extends Error {
  override readonly name = "Untied";
}

/** A tie for a connection. A connection that changes no row is no opening, and changes no file. */
export function createTie(
  connection: Database.Database,
  path: string,
  options: { readonly pid?: number | undefined },
): Tie {
  const select = connection.prepare<[], { opening: string; before: string; next: string }>(
    `SELECT lower(hex(opening)) AS opening, lower(hex(before)) AS before, lower(hex(randomblob(16))) AS next
     FROM log_mark`,
  );
  const update = connection.prepare<[Buffer]>("UPDATE log_mark SET before = opening, opening = ?");
  const write = ({ offset, length, salt, marks }: Openings): void => {
    replaceFile(openingsFile(path), `${offset} ${length} ${salt ?? "-"} ${marks.join(" ")}\n`, options);
    writtenSalt = salt ?? 0;
  };
  const currentSalt = (): number | null => {
    const header = readPart(`${path}-wal`, 0, LOG_HEADER_BYTES);
    return header.length < LOG_HEADER_BYTES ? null : saltOf(header.toString("hex"));
  };
  // A first transaction that is larger than the cache would write to the log before it is tied.
  connection.pragma("cache_spill = OFF");
  const totalChanges = connection.prepare<[], number>("SELECT total_changes()").pluck();
  const changesBefore = totalChanges.get();
  let [isTied, writtenSalt, commits] = [false, 0, 0];
  let opened: Openings | undefined;

  /** Changes the row. Before that, the file of openings names each mark that the database file may have from then on. */
  const renew = (): void => {
    const row = select.get();
    if (row === undefined) throw new Error(`${path} has lost the row of log_mark`);
    const [present, next] = [row.opening + row.before, row.next + row.opening];
    const salt = currentSalt();
    const earlier = salt === null ? [] : (readOpenings(path)?.marks ?? [ANY]);
    const marks = [...earlier.filter((mark) => mark !== present), present, next];
    opened = { ...placeOfMark(connection), salt, marks };
    write(opened);
    update.run(Buffer.from(row.next, "hex"));
  };

  /** Records the salt of the log, and with `isCopied` forgets older marks; leaves both to an opening that came later. */
  const record = ({ marks, ...place }: Openings, isCopied: boolean): void => {
    const row = select.get();
    const own = marks.at(-1);
    if (row === undefined || own !== row.opening + row.before) return;
    write({ ...place, salt: currentSalt(), marks: isCopied ? [own] : marks });
  };

  return {
    isNew: () => !isTied && !existsSync(openingsFile(path)),
    isDue: () => !isTied && totalChanges.get() !== changesBefore,
    make: (inTransaction) => {
      if (!inTransaction(renew)) return false;
      const isCopied = checkpoint(connection);
      const tied = opened;
      isTied = tied === undefined || inTransaction(() => record(tied, isCopied));
      if (isTied) connection.pragma("cache_spill = ON");
      return isTied;
    },
    noteCommit: (inTransaction) => {
      commits += 1;
      if (!isTied || commits % COMMITS_PER_LOOK !== 0) return;
      const salt = currentSalt();
      if (salt === null || (salt - writtenSalt) >>> 0 < RESTARTS_PER_SALT) return;
      inTransaction(() => {
        const known = readOpenings(path);
        if (known !== undefined) write({ ...known, salt: currentSalt() });
      });
    },
  };
}

/** Copies the log into the database; whether all of it was copied. */
function checkpoint(connection: Database.Database): boolean {
  const [done] = connection.pragma("wal_checkpoint(PASSIVE)") as Checkpoint[];
  return done !== undefined && done.busy === 0 && done.log === done.checkpointed;
}

function placeOfMark(connection: Database.Database): Pick<Openings, "offset" | "length"> {
  const root = connection.prepare<[], number>("SELECT rootpage FROM sqlite_schema WHERE name = 'log_mark'");
  const length = Number(connection.pragma("page_size", { simple: true }));
  return { offset: ((root.pluck().get() ?? 1) - 1) * length, length };
}

function openingsFile(path: string): string {
  return `${path}-opening`;
}

/** The file of openings of a database; undefined if it is missing or unreadable. */
function readOpenings(path: string): Openings | undefined {
  const file = openingsFile(path);
  if (!existsSync(file)) return undefined;
  const [, offset, length, salt, marks = ""] = FORM.exec(readFileSync(file, "latin1")) ?? [];
  if (offset === undefined) return undefined;
  return {
    offset: Number(offset),
    length: Number(length),
    salt: salt === "-" ? null : Number(salt),
    marks: marks.trim().split(" "),
  };
}

/** SQLite's salt in the header of a log, which is in hex. */
function saltOf(log: string): number {
  return Number.parseInt(log.slice(2 * SALT_OFFSET, 2 * SALT_OFFSET + 8), 16);
}

/** A part of a file; fewer bytes if the file is shorter or missing. */
function readPart(path: string, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (isError(error) && "code" in error && error.code === "ENOENT") return bytes.subarray(0, 0);
    throw error;
  }
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, length, at));
  } finally {
    closeSync(file);
  }
}
