import type Database from "better-sqlite3";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { isError } from "../../core/outcome.ts";

/**
 * The DDL of the mark that ties a database to its write-ahead log (decision 69): one row, which every commit changes, so
 * that it is in every log. `opening` is random for each connection that writes, `before` that of the connection before,
 * and `commits` goes up by one. It starts at 2^40, so that its row always has the same length.
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

const FIRST_COMMIT = 2 ** 40;

/**
 * Changes the mark in the transaction that is open; unless told to do so always, only if the transaction has changed a
 * row. To be called at its end.
 */
export function marker(connection: Database.Database): (when?: "always") => void {
  const totalChanges = connection.prepare<[], number>("SELECT total_changes()").pluck();
  const opening = connection.prepare<[], Buffer>("SELECT randomblob(16)").pluck().get();
  const update = connection.prepare<{ readonly opening: Buffer | undefined }>(
    `UPDATE log_mark SET before = CASE opening WHEN @opening THEN before ELSE opening END,
       opening = @opening, commits = commits + 1`,
  );
  let marked = totalChanges.get() ?? 0;
  return (when) => {
    const changes = totalChanges.get() ?? 0;
    if (changes === marked && when === undefined) return;
    update.run({ opening });
    marked = changes + 1;
  };
}

/** Gives a database a mark that no log knows: for a copy whose pages are elsewhere. */
export function renewMark(connection: Database.Database): void {
  const found = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_mark'").get();
  if (found !== undefined)
    connection.exec("UPDATE log_mark SET opening = randomblob(16), before = zeroblob(16)");
}

type Mark = { readonly opening: string; readonly before: string; readonly commits: number };

/** The marks of the commits in a log, the oldest first, with the page that they are on; `commits`: with or without one. */
type Log = {
  readonly header: string;
  readonly commits: number;
  readonly marks: readonly Mark[];
  readonly page: number;
};

const MAX_LOOKS = 10;

/**
 * Whether the log beside a database can be that of another one, or of another copy of it: its first commit does not
 * follow the one that the database holds, and the database holds none of its commits. SQLite would write such a log over
 * the database. Reads both without SQLite. `marked`: whether a database of a format has a mark.
 */
export function hasForeignLog(path: string, marked: (format: number) => boolean): boolean {
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) <= LOG_HEADER_BYTES) return false;
  return isForeignUnder(marked, () => {
    const log = fromFile(`${path}-wal`, readLog) ?? { header: "", ...NO_FRAMES };
    const database = fromFile(path, (file) => readDatabase(file, log.page)) ?? { format: 0, mark: undefined };
    return { log, database };
  });
}

/** Whether the log of a database follows it by the marks that the log has; both are open files. `marked`: as above. */
export function isOwnLog(
  { logFile, databaseFile }: { readonly logFile: number; readonly databaseFile: number },
  marked: (format: number) => boolean,
): boolean {
  const look = (): Look => {
    const log = readLog(logFile);
    return { log, database: readDatabase(databaseFile, log.page) };
  };
  // A tool that somebody uses on the live database leaves no mark.
  return readLog(logFile).marks.length === 0 || !isForeignUnder(marked, look);
}

type Look = { readonly log: Log; readonly database: DatabaseMark };

/** A process that writes meanwhile may change both between two reads; what stays as it is was left by nobody alive. */
function isForeignUnder(marked: (format: number) => boolean, look: () => Look): boolean {
  let before = "";
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const found = look();
    if (isNext(found.log, found.database, marked(found.database.format))) return false;
    const seen = JSON.stringify(found);
    if (seen === before) return true;
    before = seen;
  }
  return false;
}

function isNext(
  { commits, marks }: Log,
  { mark }: { readonly mark: Mark | undefined },
  isMarked: boolean,
): boolean {
  const [first] = marks;
  if (commits === 0) return true;
  // A log of an older version has none; one of the migration that makes the mark has the first.
  if (!isMarked) return first === undefined || first.commits <= FIRST_COMMIT + 1;
  if (first === undefined || mark === undefined) return false;
  if (marks.some((one) => isSame(one, mark))) return true;
  const follows = first.opening === mark.opening || first.before === mark.opening;
  return follows && first.commits === mark.commits + 1;
}

function isSame(one: Mark, other: Mark): boolean {
  return one.commits === other.commits && one.opening === other.opening && one.before === other.before;
}

const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const SALT_BYTES = 8;
/** Where a frame of a log has its page, the size of the database after a commit (else 0), and the salt of its log. */
const FRAME = { page: 0, commit: 4, salt: 8 } as const;
const LOG = { magic: 0, pageSize: 8, salt: 16 } as const;
/** SQLite's mark of a log; its last bit tells how checksums are made. */
const LOG_MAGIC = 0x377f0682;

/** Reads the committed frames of a log, as far as they are of its header. SQLite's checksums are not needed for this. */
function readLog(file: number): Log {
  const header = Buffer.alloc(LOG_HEADER_BYTES);
  readSync(file, header, 0, header.length, 0);
  const pageSize = header.readUInt32BE(LOG.pageSize);
  const isLog = (header.readUInt32BE(LOG.magic) & ~1) === LOG_MAGIC && pageSize >= 512 && pageSize <= 65_536;
  const frames = isLog ? readFrames(file, { pageSize, salt: saltOf(header, LOG.salt) }) : NO_FRAMES;
  return { header: header.toString("hex"), ...frames };
}

/** What is read of a file; undefined where it is not there: another process that closes the database removes its log. */
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

type Frames = Omit<Log, "header">;

const NO_FRAMES: Frames = { commits: 0, marks: [], page: 0 };

function readFrames(
  file: number,
  { pageSize, salt }: { readonly pageSize: number; readonly salt: Buffer },
): Frames {
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageSize);
  const marks: Mark[] = [];
  let pending: Mark | undefined;
  let [commits, page] = [0, 0];
  for (let at = LOG_HEADER_BYTES; ; at += frame.length) {
    const isWhole = readSync(file, frame, 0, frame.length, at) === frame.length;
    if (!isWhole || !saltOf(frame, FRAME.salt).equals(salt)) return { commits, marks, page };
    const found = markOn(frame.subarray(FRAME_HEADER_BYTES));
    if (found !== undefined) [pending, page] = [found, frame.readUInt32BE(FRAME.page)];
    if (frame.readUInt32BE(FRAME.commit) === 0) continue;
    commits += 1;
    if (pending !== undefined) marks.push(pending);
    pending = undefined;
  }
}

function saltOf(bytes: Buffer, at: number): Buffer {
  return bytes.subarray(at, at + SALT_BYTES);
}

const DATABASE = { headerBytes: 100, pageSize: 16, format: 60 } as const;

type DatabaseMark = { readonly format: number; readonly mark: Mark | undefined };

/** Reads the format of a database, and the mark on one of its pages, as they are without the log. */
function readDatabase(file: number, page: number): DatabaseMark {
  const header = Buffer.alloc(DATABASE.headerBytes);
  readSync(file, header, 0, header.length, 0);
  const pageSize = header.readUInt16BE(DATABASE.pageSize);
  const bytes = Buffer.alloc(pageSize === 1 ? 65_536 : pageSize);
  const isThere = page > 1 && readSync(file, bytes, 0, bytes.length, (page - 1) * bytes.length) > 0;
  return {
    format: header.readInt32BE(DATABASE.format),
    mark: isThere ? markOn(bytes) : undefined,
  };
}

/** How SQLite stores the row: its length (43), its id (1), and what its columns are (NULL for the id, 16, 16, 6 bytes). */
const ROW_HEAD = Buffer.from([43, 1, 5, 0, 44, 44, 5]);
const OPENING_BYTES = 16;
const COMMITS_BYTES = 6;
const LEAF = { kind: 0x0d, rows: 3, firstRow: 8 } as const;

/** The mark on a page, if it is the page of the mark: a leaf of a table with this one row. */
function markOn(page: Buffer): Mark | undefined {
  if (page.length < 512 || page[0] !== LEAF.kind || page.readUInt16BE(LEAF.rows) !== 1) return undefined;
  const at = page.readUInt16BE(LEAF.firstRow);
  const opening = at + ROW_HEAD.length;
  const before = opening + OPENING_BYTES;
  const commits = before + OPENING_BYTES;
  if (commits + COMMITS_BYTES > page.length || !page.subarray(at, opening).equals(ROW_HEAD)) return undefined;
  return {
    opening: page.toString("hex", opening, before),
    before: page.toString("hex", before, commits),
    commits: page.readUIntBE(commits, COMMITS_BYTES),
  };
}
