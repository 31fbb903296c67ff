import Database, { type Statement } from "better-sqlite3";
import { existsSync, statSync } from "node:fs";
import { isError, type Outcome } from "../../core/outcome.ts";
import { causeOfReadSuccessfulOnRetry, causeOfRawRead, causeOfRepeatedOpening } from "./cause.ts";
import { readFilePart, fileSizeOf } from "./durable-files.ts";
import { judgeLog, LOG_OPENINGS_MIGRATION, readOpenings } from "./opening.ts";
import { toPositionalStatement } from "./statements.ts";
import {
  causeByCode,
  causeOfError,
  failureInVerdict,
  hasCause,
  isSqliteError,
  noteCause,
  type Cause,
  type StorageFailureCode,
} from "./storage-failure.ts";

type Migration = string;

export type FileConnection = Database.Database;

export type FileKind = {
  readonly name: string;
  /** SQLite's `application_id`; files with another id are refused. */
  readonly applicationId: number;
  /** The `user_version` after the first migration; lower versions come from development builds and are refused. */
  readonly firstVersion: number;
  readonly migrations: readonly Migration[];
  /** Creates a new file faster than the migrations, which run if this is missing or its version is not current. */
  readonly tables?: { readonly version: number; readonly sql: string };
  /** The files that a refusal tells the user to move away together, because some are useless without the others. */
  readonly filesToMoveAway: string;
};

export type FileRefusal = {
  readonly reason:
    | "zero_bytes"
    | "foreign"
    | "damaged"
    | "foreign_log"
    | "newer"
    | "development_version"
    | StorageFailureCode;
  readonly message: string;
  readonly remedy: string;
};

export type OpenOptions = {
  readonly kind: FileKind;
  readonly nativeBinding?: string | undefined;
  /** Part of the names of temporary files, so that a later process can find and remove files that were left behind. */
  readonly pid?: number | undefined;
  readonly onMigrated?: ((file: MigratedFile) => void) | undefined;
  /** Called with the new path of a log that belonged to another database and was moved aside. */
  readonly onLogMoved?: ((logPath: string) => void) | undefined;
};

type MigratedFile = { readonly from: number; readonly to: number; readonly backupPath: string };

export const IN_MEMORY = ":memory:";

export const SQLITE_MAGIC = "SQLite format 3\0";
export const HEADER_BYTES = 100;
const SCHEMA_VERSION_OFFSET = 60;
export const APPLICATION_ID_OFFSET = 68;
const BUSY_TIMEOUT_MS = 5000;
/** When a file is opened, its pages are checked only up to this size, which takes about 20 ms. */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

export function withFileRefusal<Value>(
  path: string,
  options: Pick<OpenOptions, "nativeBinding">,
  work: () => Outcome<Value, FileRefusal>,
): Outcome<Value, FileRefusal> {
  try {
    return work();
  } catch (error) {
    const cause = findErrorCause(path, options, error);
    if (cause === undefined) throw error;
    return { ok: false, refusal: refuseFile(path, cause) };
  }
}

export function isLogEmpty(path: string): boolean {
  return existsSync(path) && fileSizeOf(`${path}-wal`) === 0;
}

/** The newest mark in the file `-opening`, or "" if the file has no valid mark. Undefined if the log is not empty. */
export function openingOfEmptyLog(path: string): string | undefined {
  return fileSizeOf(`${path}-wal`) === 0 ? (readOpenings(path)?.marks.at(-1) ?? "") : undefined;
}

/** A log without its database can contain acknowledged commits, so no new database is created beside it. */
export function refuseOrphanedLog(path: string): FileRefusal | undefined {
  const logPath = `${path}-wal`;
  if (fileSizeOf(logPath) === 0 || existsSync(path)) return undefined;
  return {
    reason: "file_missing",
    message: `${path} is missing, but its log ${logPath} exists`,
    remedy: "restore the file, or move the log away too, or use another folder with --dir",
  };
}

export function refuseFile(path: string, { failure, detail }: Cause): FileRefusal {
  const { code, sentence, next } = failure;
  return { reason: code, message: `${path} cannot be used: ${sentence} (${detail})`, remedy: next };
}

export function openConnection(
  path: string | Buffer,
  options: Pick<OpenOptions, "nativeBinding">,
  begin: (connection: FileConnection) => void,
): FileConnection {
  let connection: FileConnection | undefined;
  try {
    connection = new Database(path, databaseOptions(options));
    compileOnce(connection);
    // Without recursive triggers, INSERT OR REPLACE bypasses the triggers that forbid deletes.
    connection.exec("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF");
    begin(connection);
    return connection;
  } catch (error) {
    if (typeof path === "string" && path !== IN_MEMORY) findErrorCause(path, options, error);
    connection?.close();
    throw error;
  }
}

/**
 * Call before closing the database, because a close frees space and removes files. `isOpen`: the database stays in use,
 * so no descriptor of its files may be closed, which would drop SQLite's locks.
 */
export function findErrorCause(
  path: string,
  { isOpen = false, ...options }: Pick<OpenOptions, "nativeBinding"> & { readonly isOpen?: boolean },
  error: unknown,
): Cause | undefined {
  const namedCause = causeOfError(error);
  if (namedCause === undefined || !isSqliteError(error) || hasCause(error)) return namedCause;
  const { code } = namedCause.failure;
  let cause: Cause | undefined;
  // SQLite can report an I/O error as damage.
  if (code === "database_damaged")
    cause = causeOfRawRead(path, { isOpen }) ?? findDiskCause(path, options, namedCause);
  else if (REPEATED_CODES.has(code)) cause = causeOfRepeatedOpening(path, error, { isOpen });
  return noteCause(error, cause ?? namedCause);
}

const REPEATED_CODES: ReadonlySet<string> = new Set(["file_not_opened", "file_read_only", "disk_io_error"]);

function databaseOptions({ nativeBinding }: Pick<OpenOptions, "nativeBinding">): Database.Options {
  return { timeout: BUSY_TIMEOUT_MS, nativeBinding };
}

function findDiskCause(
  path: string,
  options: Pick<OpenOptions, "nativeBinding">,
  namedCause: Cause,
): Cause | undefined {
  try {
    const connection = openForReading(path, options);
    try {
      const detail = quickCheck(connection);
      const failure = failureInVerdict(detail);
      if (failure !== undefined) return { failure, detail };
      return detail === "ok" ? causeOfReadSuccessfulOnRetry(namedCause) : undefined;
    } finally {
      connection.close();
    }
  } catch (error) {
    return isDatabaseDamage(error) ? undefined : causeByCode(error);
  }
}

function quickCheck(connection: FileConnection): string {
  return String(connection.pragma("quick_check(1)", { simple: true }));
}

export function inspectFile(path: string, options: OpenOptions): FileRefusal | undefined {
  return inspectHead(path, options.kind) ?? inspectPages(path, options);
}

export function inspectPages(path: string, options: OpenOptions): FileRefusal | undefined {
  const checksPages = statSync(path).size <= MAX_CHECKED_BYTES;
  const open = (): FileConnection => openForReading(path, options);
  return checkForDamage(path, options.kind, () => inspectContent(path, options, { open, checksPages }));
}

export function openForReading(path: string, options: Pick<OpenOptions, "nativeBinding">): FileConnection {
  const readonly = !existsSync(`${path}-journal`);
  return new Database(path, { ...databaseOptions(options), readonly, fileMustExist: true });
}

export function inspectHead(path: string, kind: FileKind): FileRefusal | undefined {
  const refuseAs = (reason: FileRefusal["reason"], problem: string): FileRefusal =>
    refuse(reason, path, { kind, problem });
  // Opening a pipe would block forever.
  const stats = statSync(path);
  if (!stats.isFile() && !stats.isDirectory()) return refuseAs("foreign", "is not a regular file");
  const header = readFilePart(path, 0, HEADER_BYTES);
  if (header.length === 0)
    return refuseAs("zero_bytes", "is empty: it was truncated, or created by another program");
  if (header.subarray(0, 16).toString("latin1") !== SQLITE_MAGIC)
    return refuseAs("foreign", "is not an SQLite database");
  if (header.length < HEADER_BYTES) return refuseAs("damaged", "is truncated");
  if (header.readInt32BE(APPLICATION_ID_OFFSET) !== kind.applicationId)
    return refuseAs("foreign", `is a database of another program, not a ${kind.name}`);
  // The version is checked before the log, because another version may write the log differently.
  const refusal = inspectSchemaVersion(header.readInt32BE(SCHEMA_VERSION_OFFSET), path, kind);
  if (refusal !== undefined) return refusal;
  return judgeLog(path, firstBoundVersion(kind)) === "unknown" ? refuseUnknownLog(path) : undefined;
}

/**
 * Confirms damage by reading the file without SQLite and checking it again, because a failed read looks like damage.
 */
export function checkForDamage(
  path: string,
  kind: FileKind,
  check: () => FileRefusal | undefined,
): FileRefusal | undefined {
  const result = refuseMalformed(path, kind, check);
  if (result?.reason !== "damaged") return result;
  const readFailure = causeOfRawRead(path, { isOpen: false });
  if (readFailure !== undefined) return refuseFile(path, readFailure);
  return (
    refuseMalformed(path, kind, check) ??
    refuseFile(path, causeOfReadSuccessfulOnRetry({ detail: result.message }))
  );
}

function refuseMalformed(
  path: string,
  kind: FileKind,
  check: () => FileRefusal | undefined,
): FileRefusal | undefined {
  try {
    return check();
  } catch (error) {
    if (!isError(error) || !isDatabaseDamage(error)) throw error;
    return refuseDamaged(path, kind, `is damaged: ${error.message}`);
  }
}

export function isDatabaseDamage(error: unknown): boolean {
  const failure = causeByCode(error)?.failure;
  return failure === undefined ? isSqliteError(error) : failure.code === "database_damaged";
}

type ContentCheck = {
  readonly open: () => FileConnection;
  readonly checksPages: boolean;
  readonly read?: (connection: FileConnection) => void;
};

export function inspectContent(
  path: string,
  options: OpenOptions,
  { open, checksPages, read }: ContentCheck,
): FileRefusal | undefined {
  const { kind } = options;
  let connection: FileConnection | undefined;
  try {
    connection = open();
    const refusal = inspectSchemaVersion(schemaVersion(connection), path, kind);
    if (refusal !== undefined) return refusal;
    if (!checksPages) return undefined;
    const verdict = quickCheck(connection);
    if (verdict === "ok") {
      read?.(connection);
      return undefined;
    }
    const failure = failureInVerdict(verdict);
    return failure === undefined
      ? refuseDamaged(path, kind, `is damaged: ${verdict}`)
      : refuseFile(path, { failure, detail: verdict });
  } catch (error) {
    if (!isDatabaseDamage(error)) findErrorCause(path, options, error);
    throw error;
  } finally {
    connection?.close();
  }
}

function inspectSchemaVersion(version: number, path: string, kind: FileKind): FileRefusal | undefined {
  if (version < kind.firstVersion) {
    return refuse("development_version", path, {
      kind,
      problem: `was created by a development version of checkout (schema version ${version}; released versions start at ${kind.firstVersion})`,
    });
  }
  if (version <= currentSchemaVersion(kind)) return undefined;
  return {
    reason: "newer",
    message: `${path} was written by a newer version of checkout (schema version ${version}; this version supports up to ${currentSchemaVersion(kind)})`,
    remedy: "update checkout, or use another folder with --dir",
  };
}

function refuse(
  reason: FileRefusal["reason"],
  path: string,
  { kind, problem }: { readonly kind: FileKind; readonly problem: string },
): FileRefusal {
  return {
    reason,
    message: `${path} ${problem}; nothing was written to it`,
    remedy: `move ${kind.filesToMoveAway} away, or use another folder with --dir`,
  };
}

function refuseDamaged(path: string, kind: FileKind, damage: string): FileRefusal {
  return refuse("damaged", path, { kind, problem: damage });
}

function refuseUnknownLog(path: string): FileRefusal {
  return {
    reason: "foreign_log",
    message: `${path}-wal belongs to another database, or to another copy of ${path}: ${path}-opening, which is beside each log, does not name this file. Using the log would overwrite data in ${path}. Nothing was written to ${path}.`,
    remedy: `restore the database to which the log belongs (a copy needs ${path}, -wal and -opening), or move ${path}-wal away to open the database without it`,
  };
}

/**
 * The first schema version whose logs are bound to their database (see `createLogBinding`); Infinity if the kind has no
 * such version.
 */
export function firstBoundVersion({ firstVersion, migrations }: FileKind): number {
  const index = migrations.findIndex((migration) => migration.includes(LOG_OPENINGS_MIGRATION));
  return index < 0 ? Infinity : firstVersion + index;
}

export function currentSchemaVersion({ firstVersion, migrations }: FileKind): number {
  return firstVersion + migrations.length - 1;
}

export function schemaVersion(connection: FileConnection): number {
  return Number(connection.pragma("user_version", { simple: true }));
}

/** String literals of SQL statements must not contain `?`. */
const PARAMETER_PATTERN = /(\bLIMIT )?\?/g;

/**
 * SQLite plans by the values of some parameters and recompiles when these change; better-sqlite3 clears all values
 * after each run. Expressions such as `+?` hide the values, which makes runs up to nine times faster.
 */
function compileOnce(connection: FileConnection): void {
  const prepare = connection.prepare.bind(connection);
  const examine = (error: unknown): void => EXAMINERS.get(connection)?.(error);
  Object.assign(connection, {
    prepare: (namedSql: string) => {
      const { sql, valuesOf } = toPositionalStatement(namedSql);
      return compileAtFirstUse({ make: () => prepare(withExpressions(sql)), valuesOf, examine });
    },
  });
}

const EXAMINERS = new WeakMap<FileConnection, (error: unknown) => void>();

/** Calls `examine` where a statement throws, because the files may already be closed where the error is caught. */
export function onStatementError(connection: FileConnection, examine: (error: unknown) => void): void {
  EXAMINERS.set(connection, examine);
}

type LazyStatement = Pick<Statement, "run" | "get" | "all" | "iterate"> &
  Readonly<Record<"pluck" | "raw", () => LazyStatement>>;

type StatementParts = Pick<ReturnType<typeof toPositionalStatement>, "valuesOf"> & {
  readonly make: () => Statement;
  readonly examine: (error: unknown) => void;
};

/** A start uses a tenth of the statements; compiling all statements would take half of the start's time. */
function compileAtFirstUse({ make, valuesOf, examine }: StatementParts): LazyStatement {
  let compiledStatement: Statement | undefined;
  const pendingChanges: ((statement: Statement) => void)[] = [];
  const examineCall =
    <Value>(call: (...values: unknown[]) => Value) =>
    (...values: unknown[]): Value => {
      try {
        return call(...valuesOf(values));
      } catch (error) {
        examine(error);
        throw error;
      }
    };
  const getStatement = (): Statement => {
    if (compiledStatement === undefined) {
      compiledStatement = make();
      for (const change of pendingChanges) change(compiledStatement);
      // Later calls go directly to the statement: copying the values once more takes a fifth of an INSERT's time.
      for (const name of ["run", "get", "all"] as const)
        Object.assign(self, { [name]: examineCall(compiledStatement[name].bind(compiledStatement)) });
    }
    return compiledStatement;
  };
  const withChange = (change: (statement: Statement) => void): LazyStatement => {
    if (compiledStatement === undefined) pendingChanges.push(change);
    else change(compiledStatement);
    return self;
  };
  const self: LazyStatement = {
    run: examineCall((...values) => getStatement().run(...values)),
    get: examineCall((...values) => getStatement().get(...values)),
    all: examineCall((...values) => getStatement().all(...values)),
    *iterate(...values: unknown[]) {
      try {
        yield* getStatement().iterate(...valuesOf(values));
      } catch (error) {
        examine(error);
        throw error;
      }
    },
    pluck: () => withChange((query) => query.pluck()),
    raw: () => withChange((query) => query.raw()),
  };
  return self;
}

function withExpressions(sql: string): string {
  return sql.replaceAll(PARAMETER_PATTERN, (_, limit: string | undefined) =>
    limit === undefined ? "+?" : `${limit}? + 0`,
  );
}
