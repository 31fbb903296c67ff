import type Database from "better-sqlite3";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { readFilePart, replaceFile, fileSizeOf } from "./durable-files.ts";

/**
 * Each process that opens the database and writes stores a random `opening` here, and the previous one as `before`
 * (decision 69).
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
 * Since this migration, a log is used only if the file `-opening` names its database. The statement must not change
 * a value, because `-opening` would not contain a new mark.
 */
export const LOG_OPENINGS_MIGRATION = `
UPDATE log_mark SET commits = commits;
`;

export function renewLogMark(connection: Database.Database): void {
  if (hasLogMark(connection))
    connection.exec("UPDATE log_mark SET opening = randomblob(16), before = zeroblob(16)");
}

export function hasLogMark(connection: Database.Database): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log_mark'").get() !== undefined;
}

type Openings = {
  readonly offset: number;
  readonly length: number;
  readonly salt: number | null;
  /** Oldest first; each is `opening` and `before` of `log_mark` in hex, or `ANY_DATABASE`. */
  readonly marks: readonly string[];
};

type Mark = Pick<Openings, "offset" | "length"> & Record<"present" | "next", string>;

/** The mark of a database written by a version that kept no `-opening` file. */
const ANY_DATABASE = "any";
const OPENINGS_PATTERN = /^(\d+) (\d+) (\d+|-)((?: (?:any|[0-9a-f]{64}))+)\n$/;
/** SQLite adds 1 to the salt at each restart of the log; the recorded salt is at most this many restarts old. */
const MAX_RESTARTS = 4096;
const COMMITS_PER_SALT = 1024;
const MAX_READS = 10;
const OPENING_DIGITS = 32;
export const LOG_HEADER_BYTES = 32;
const [FRAME_HEADER_BYTES, SALT_OFFSET] = [24, 16];
const SCHEMA_VERSION_OFFSET = 60;

/**
 * `own`: SQLite may replay the log. `other`: the log belongs to another database. `unknown`: `-opening` is missing or
 * does not name this database.
 */
type LogVerdict = "own" | "other" | "unknown";

/**
 * Reads the files without SQLite, which would replay any log. Only `own` is accepted after one read, because a running
 * process may change the files meanwhile. `firstVersion`: the first schema version that needs `-opening`.
 */
export function judgeLog(path: string, firstVersion: number): LogVerdict {
  for (let readCount = 1; ; readCount += 1) {
    const verdict = readVerdict(path, firstVersion);
    if (verdict === "own" || readCount === MAX_READS) return verdict;
  }
}

export function moveLogAside(path: string): string {
  let number = 1;
  while (existsSync(`${path}-wal.aside-${number}`)) number += 1;
  const asidePath = `${path}-wal.aside-${number}`;
  renameSync(`${path}-wal`, asidePath);
  return asidePath;
}

function readVerdict(path: string, firstVersion: number): LogVerdict {
  const openings = readOpenings(path);
  if (openings === undefined) {
    const version = readFilePart(path, SCHEMA_VERSION_OFFSET, 4);
    const isOlder = version.length < 4 || version.readInt32BE() < firstVersion;
    return isOlder || readFilePart(`${path}-wal`, 0, 1).length === 0 ? "own" : "unknown";
  }
  const { offset, length, salt, marks } = openings;
  const page = readFilePart(path, offset, length).toString("hex");
  const frameEnd = LOG_HEADER_BYTES + FRAME_HEADER_BYTES + length;
  const log = readFilePart(`${path}-wal`, 0, frameEnd);
  // SQLite ignores a log without a complete frame.
  if (log.length < frameEnd) return "own";
  if (!marks.some((mark) => mark === ANY_DATABASE || page.includes(mark))) return "unknown";
  const isLater = salt !== null && (log.readUInt32BE(SALT_OFFSET) - salt) >>> 0 < MAX_RESTARTS;
  const lastOpening = marks.at(-1)?.slice(0, OPENING_DIGITS) ?? ANY_DATABASE;
  return isLater || log.toString("hex").includes(lastOpening) ? "own" : "other";
}

export type RunInTransaction = (work: () => void) => boolean;

/**
 * Binds the log before the first change instead of at the start, because a refused start must change no file; later,
 * records the salt every `COMMITS_PER_SALT` commits.
 */
export function createLogBinding(
  connection: Database.Database,
  path: string,
  options: { readonly pid?: number | undefined },
) {
  const select = connection.prepare<[], Mark>(
    `SELECT lower(hex(opening || before)) AS present, lower(hex(randomblob(16))) AS next,
       (rootpage - 1) * page_size AS offset, page_size AS length
     FROM log_mark, sqlite_schema, pragma_page_size WHERE name = 'log_mark'`,
  );
  const update = connection.prepare<[Buffer]>("UPDATE log_mark SET before = opening, opening = ?");
  let [ownMark, changeCount] = ["", 0];
  const write = ({ offset, length, salt, marks }: Openings): void =>
    replaceFile(`${path}-opening`, `${offset} ${length} ${salt ?? "-"} ${marks.join(" ")}\n`, options);

  const renew = (): void => {
    const row = select.get();
    if (row === undefined) throw new Error(`${path} has lost the row of log_mark`);
    const { present, next, ...pageRange } = row;
    ownMark = next + present.slice(0, OPENING_DIGITS);
    const salt = currentSalt(path);
    const earlierMarks = salt === null ? [] : (readOpenings(path)?.marks ?? [ANY_DATABASE]);
    const marks = [...earlierMarks.filter((mark) => mark !== present), present, ownMark];
    write({ ...pageRange, salt, marks });
    update.run(Buffer.from(next, "hex"));
  };

  const record = (copiedMark?: string): void => {
    const openings = readOpenings(path);
    if (openings === undefined) return;
    const firstIndex = copiedMark === undefined ? 0 : Math.max(openings.marks.indexOf(copiedMark), 0);
    write({ ...openings, salt: currentSalt(path), marks: openings.marks.slice(firstIndex) });
  };

  const alone: RunInTransaction = (work) => {
    connection.transaction(work).immediate();
    return true;
  };
  const rebind = (transact: RunInTransaction, mode?: "TRUNCATE"): boolean => {
    if (!transact(renew)) return false;
    const copiedMark = copyLog(connection, mode) ? ownMark : undefined;
    return transact(() => record(copiedMark));
  };
  const bind = (transact = alone): boolean => {
    if (changeCount === 0 && !rebind(transact)) return false;
    if (changeCount > 0 && changeCount % COMMITS_PER_SALT === 0) transact(record);
    changeCount += 1;
    return true;
  };
  /** Renews the mark and empties the log when the database is closed, so that no copy of the log is accepted later. */
  const seal = (): void => void (changeCount > 0 && rebind(alone, "TRUNCATE"));
  const wasSealed = fileSizeOf(`${path}-wal`) === 0 && readOpenings(path)?.salt === null;
  const canWait = (): boolean => wasSealed && changeCount === 0;
  return { bind, canWait, seal };
}

/** Returns false if a lock of another process prevented a complete checkpoint. */
export function copyLog(connection: Database.Database, mode: "FULL" | "TRUNCATE" = "FULL"): boolean {
  return connection.prepare<[], number>(`PRAGMA wal_checkpoint(${mode})`).pluck().get() === 0;
}

export function readOpenings(path: string): Openings | undefined {
  const file = `${path}-opening`;
  if (!existsSync(file)) return undefined;
  const [, offset, length, salt, marks = ""] = OPENINGS_PATTERN.exec(readFileSync(file, "latin1")) ?? [];
  if (offset === undefined) return undefined;
  return {
    offset: Number(offset),
    length: Number(length),
    salt: salt === "-" ? null : Number(salt),
    marks: marks.trim().split(" "),
  };
}

function currentSalt(path: string): number | null {
  const header = readFilePart(`${path}-wal`, 0, LOG_HEADER_BYTES);
  return header.length < LOG_HEADER_BYTES ? null : header.readUInt32BE(SALT_OFFSET);
}
