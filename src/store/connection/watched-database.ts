import Database from "better-sqlite3";
import { accept, type Outcome } from "../../core/outcome.ts";
import { causeOf, type DatabaseFiles } from "./cause.ts";
import {
  IN_MEMORY,
  isMarked,
  isSound,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { openDatabase } from "./open-database.ts";
import { NO_FILE_WATCH, watchFiles, type FileWatch } from "./file-watch.ts";
import { filesLostError } from "./group-commit.ts";
import { createMarker } from "./log-mark.ts";

/** An open database with the watch over its files. It must be closed through this object. */
export type WatchedDatabase = {
  readonly connection: FileConnection;
  readonly watch: FileWatch;
  /** Runs work on the connection without a statement, such as a pragma, and stores the cause of an error. */
  readonly findingCause: <Value>(work: () => Value) => Value;
  /** Closes it; the log stays unchanged if another program has written to the files (decision 63). */
  readonly close: () => void;
  /** Closes it and leaves the log unchanged, for a start that is refused. */
  readonly leave: () => void;
};

/** Opens a database file as `openDatabase` does, and watches its files; a database in memory has none. */
export function openWatchedDatabase(
  path: string,
  options: OpenOptions,
): Outcome<WatchedDatabase, FileRefusal> {
  const opened = openDatabase(path, options);
  if (!opened.ok) return opened;
  const connection = opened.value;
  if (path === IN_MEMORY) {
    const close = (): void => void connection.close();
    return accept({ connection, watch: NO_FILE_WATCH, findingCause: (work) => work(), close, leave: close });
  }
  // The cause is determined while the database is open, because the limit of open files is only exceeded then.
  const outcome = withFileRefusal(path, options, () => accept(watchConnection(connection, path, options)));
  if (!outcome.ok) connection.close();
  return outcome;
}

/**
 * Watches a connection. SQLite writes the log into the database when the last connection is closed, and better-sqlite3
 * does not expose the setting for that. A read-only connection cannot do it, so the connection that is closed last
 * decides.
 */
function watchConnection(
  connection: FileConnection,
  path: string,
  { nativeBinding, kind }: OpenOptions,
): WatchedDatabase {
  const reader = new Database(path, { readonly: true, nativeBinding });
  const watch = closeIfFailed(reader, () => {
    // The reader holds its lock on the database from its first read on.
    reader.pragma("user_version");
    return watchFiles(path, isMarked(kind));
  });
  const files: DatabaseFiles = {
    path,
    readAll: watch.readAll,
    isOpen: true,
    isSound: createSoundnessCheck(reader),
  };
  findCauses(connection, files);
  const closeWith = (last: FileConnection): void => {
    for (const one of [connection, reader]) if (one !== last) one.close();
    last.close();
    watch.close();
  };
  const close = (): void => closeWith(holdsOwn(watch) ? connection : reader);
  const leave = (): void => closeWith(reader);
  return { connection, watch, findingCause: (work) => findingCause(files, work), close, leave };
}

/** Whether SQLite finds every page intact. A damaged database is not read again for each of its errors. */
function createSoundnessCheck(reader: FileConnection): () => boolean {
  let isDamaged = false;
  return () => {
    isDamaged ||= !isSound(reader);
    return !isDamaged;
  };
}

/**
 * Determines the cause of a statement's error where it is thrown, because the files may be closed where it is caught.
 */
function findCauses(connection: FileConnection, files: DatabaseFiles): void {
  const watching =
    <Values extends unknown[], Value>(call: (...values: Values) => Value) =>
    (...values: Values): Value => {
      // No closure for each call, because every statement of a create passes here.
      try {
        return call(...values);
      } catch (error) {
        causeOf(files, error);
        throw error;
      }
    };
  const prepare = watching(connection.prepare.bind(connection));
  Object.assign(connection, {
    prepare: (sql: string) => {
      const statement = prepare(sql);
      const iterate = statement.iterate.bind(statement);
      return Object.assign(statement, {
        run: watching(statement.run.bind(statement)),
        get: watching(statement.get.bind(statement)),
        all: watching(statement.all.bind(statement)),
        *iterate(...values: unknown[]) {
          try {
            yield* iterate(...values);
          } catch (error) {
            causeOf(files, error);
            throw error;
          }
        },
      });
    },
  });
}

function findingCause<Value>(files: DatabaseFiles, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    causeOf(files, error);
    throw error;
  }
}

function closeIfFailed<Value>(connection: FileConnection, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Whether the files still have the content that this process wrote. False if that cannot be checked: the log is then
 * left for the next start, which uses it.
 */
function holdsOwn(watch: FileWatch): boolean {
  try {
    return watch.holdsOwn();
  } catch {
    return false;
  }
}

/**
 * Runs work in a transaction that is on disk when the call returns; throws `StorageUnavailable` if the files were
 * replaced.
 */
type Transact = <Value>(work: () => Value) => Value;

/** Creates a `Transact` on a database; each transaction changes the log mark at its end. */
export function createTransactor({ connection, watch, findingCause: finding }: WatchedDatabase): Transact {
  const mark = createMarker(connection);
  return <Value>(work: () => Value): Value => {
    if (!watch.isIntact()) throw filesLostError();
    const run = connection.transaction(() => {
      const value = work();
      mark();
      return value;
    });
    // `finding` also covers BEGIN and COMMIT, which better-sqlite3 runs itself.
    const value = finding(() => run.immediate());
    if (!watch.noteWritten()) throw filesLostError();
    return value;
  };
}
