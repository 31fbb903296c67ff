import type Database from "better-sqlite3";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { isError } from "../../core/outcome.ts";
import { framesOf } from "./log.ts";

/**
 * The DDL of the mark that ties a database to its write-ahead log (decision 69): one row, which every commit changes,
 * so that every log contains it. `opening` is random for each commit, and `before` is the `opening` of the previous
 * commit. `commits` no longer changes; it counted commits when `opening` was the same for all commits of a connection.
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
 * Returns a function that changes the mark in the open transaction; by default only if the transaction has changed a
 * row. To be called at the end of the transaction.
 */
export function createMarker(connection: Database.Database): (when?: "always") => void {
  const totalChanges = connection.prepare<[], number>("SELECT total_changes()").pluck();
  const update = connection.prepare("UPDATE log_mark SET before = opening, opening = randomblob(16)");
  let marked = totalChanges.get() ?? 0;
  return (when) => {
    const changes = totalChanges.get() ?? 0;
    if (changes === marked && when === undefined) return;
    update.run();
    marked = changes + 1;
  };
}

/** Gives a new or copied database a mark that no log contains, so that no log of another file is used with it. */
export function renewMark(connection: Database.Database): void {
  const found = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_mark'").get();
  if (found !== undefined)
    connection.exec("UPDATE log_mark SET opening = randomblob(16), before = zeroblob(16)");
}

/** The mark of a commit, and the mark of the commit before it. */
type Mark = { readonly own: string; readonly before: string };

/** The marks of the commits in a log, oldest first, and the page of the last mark. */
type Log = { readonly isEmpty: boolean; readonly marks: readonly Mark[]; readonly page: number };

const MAX_LOOKS = 10;

/**
 * Whether the log next to a database may belong to another database, or to another copy: its first commit does not
 * follow the commit in the database, and the database contains none of its commits. SQLite would write such a log over
 * the database. Reads both without SQLite. `marked`: whether a database of a schema version has a mark.
 */
export function hasForeignLog(path: string, marked: (version: number) => boolean): boolean {
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0) return false;
  return isForeignUnder(marked, () => {
    const log = fromFile(`${path}-wal`, readLog) ?? NO_LOG;
    const database = fromFile(path, (file) => readDatabase(file, log.page)) ?? {
      version: 0,
      mark: undefined,
    };
    return { log, database };
  });
}

/**
 * Whether the log of a database follows it, by the marks in the log; both are open files. `marked`: whether a database
 * of a schema version has a mark.
 */
export function isOwnLog(
  { logFile, databaseFile }: { readonly logFile: number; readonly databaseFile: number },
  marked: (version: number) => boolean,
): boolean {
  const look = (): LogAndMark => {
    const log = readLog(logFile);
    return { log, database: readDatabase(databaseFile, log.page) };
  };
  // Another tool that writes to the database leaves no mark.
  return readLog(logFile).marks.length === 0 || !isForeignUnder(marked, look);
}

type LogAndMark = { readonly log: Log; readonly database: DatabaseMark };

/**
 * Whether a log is foreign, judged by two equal reads of log and database: a running process may change both files
 * between two reads, so only files that stay the same were left by a process that has ended.
 */
function isForeignUnder(marked: (version: number) => boolean, look: () => LogAndMark): boolean {
  let before = "";
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const found = look();
    if (isNext(found.log, found.database.mark, marked(found.database.version))) return false;
    const seen = JSON.stringify(found);
    if (seen === before) return true;
    before = seen;
  }
  return false;
}

function isNext({ isEmpty, marks }: Log, mark: Mark | undefined, isMarked: boolean): boolean {
  const [first] = marks;
  if (isEmpty) return true;
  // The log of an older version has no mark; the log of the migration that creates the mark has the first mark.
  if (!isMarked) return first === undefined || first.before === NO_MARK;
  if (first === undefined || mark === undefined) return false;
  return first.before === mark.own || marks.some(({ own }) => own === mark.own);
}

const MARK_BYTES = 16;
const NO_MARK = "00".repeat(MARK_BYTES);
const NO_LOG: Log = { isEmpty: true, marks: [], page: 0 };

/** Reads the marks in the committed frames of a log, without verifying checksums. */
function readLog(file: number): Log {
  const marks: Mark[] = [];
  // Frames after the last commit may be torn, or have the content of an older page.
  let pending: { readonly mark: Mark; readonly page: number } | undefined;
  let [isEmpty, page] = [true, 0];
  for (const frame of framesOf(file, "salts")) {
    const found = markOn(frame.content);
    if (found !== undefined) pending = { mark: found, page: frame.page };
    if (frame.pages === 0) continue;
    isEmpty = false;
    if (pending !== undefined) {
      marks.push(pending.mark);
      ({ page } = pending);
    }
    pending = undefined;
  }
  return { isEmpty, marks, page };
}

/** Reads a file; undefined if it does not exist: a process that closes the database removes its log. */
function fromFile<Value>(path: string, read: (file: number) => Value): Value | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (isError(error) && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return read(file);
  } finally {
    closeSync(file);
  }
}

const DATABASE = { headerBytes: 100, pageSize: 16, version: 60 } as const;

type DatabaseMark = { readonly version: number; readonly mark: Mark | undefined };

/** Reads the schema version of a database, and the mark on one of its pages, without using the log. */
function readDatabase(file: number, page: number): DatabaseMark {
  const header = Buffer.alloc(DATABASE.headerBytes);
  readSync(file, header, 0, header.length, 0);
  const pageSize = header.readUInt16BE(DATABASE.pageSize);
  const bytes = Buffer.alloc(pageSize === 1 ? 65_536 : pageSize);
  const isThere = page > 1 && readSync(file, bytes, 0, bytes.length, (page - 1) * bytes.length) > 0;
  return {
    version: header.readInt32BE(DATABASE.version),
    mark: isThere ? markOn(bytes) : undefined,
  };
}

/**
 * The beginning of the row as SQLite stores it: its length (43), its id (1), and the types of its columns (NULL for the
 * id, 16, 16, 6 bytes).
 */
const ROW_HEAD = Buffer.from([43, 1, 5, 0, 44, 44, 5]);
const LEAF = { kind: 0x0d, rows: 3, firstRow: 8 } as const;

/** The mark on a page, if it is the leaf of the mark's table with its single row. */
function markOn(page: Buffer): Mark | undefined {
  if (page.length < 512 || page[0] !== LEAF.kind || page.readUInt16BE(LEAF.rows) !== 1) return undefined;
  const at = page.readUInt16BE(LEAF.firstRow);
  const own = at + ROW_HEAD.length;
  const before = own + MARK_BYTES;
  if (before + MARK_BYTES > page.length || !page.subarray(at, own).equals(ROW_HEAD)) return undefined;
  return {
    own: page.toString("hex", own, before),
    before: page.toString("hex", before, before + MARK_BYTES),
  };
}
