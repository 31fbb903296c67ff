import { accept, type Outcome } from "../../core/outcome.ts";
import { causeOf, type DatabaseFiles } from "./cause.ts";
import {
  examineErrors,
  IN_MEMORY,
  isSoundFile,
  openToRead,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { NO_FILE_WATCH, watchFiles, type FileWatch } from "./file-watch.ts";
import { filesLostError } from "./group-commit.ts";
import { openDatabase } from "./open-database.ts";
import { createTie, NO_TIE, Untied, type Tie } from "./opening.ts";

/** An open database with the watch over its files. It must be closed through this object. */
export type WatchedDatabase = {
  readonly connection: FileConnection;
  readonly watch: FileWatch;
  readonly tie: Tie;
  /** Runs work on the connection without a statement, such as a pragma, and stores the cause of an error. */
  readonly findingCause: <Value>(work: () => Value) => Value;
  readonly close: () => void;
  /** Closes it and leaves the log of a killed process unchanged, for a start that is refused. */
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
    return accept({
      connection,
      watch: NO_FILE_WATCH,
      tie: NO_TIE,
      findingCause: (work) => work(),
      close,
      leave: close,
    });
  }
  // The cause is determined while the database is open, because the limit of open files is only exceeded then.
  const outcome = withFileRefusal(path, options, () => accept(watchConnection(connection, path, options)));
  if (!outcome.ok) connection.close();
  return outcome;
}

function watchConnection(connection: FileConnection, path: string, options: OpenOptions): WatchedDatabase {
  // SQLite has its log open from its first read on.
  connection.pragma("user_version");
  const watch = watchFiles(path);
  let isDamaged = false;
  const files: DatabaseFiles = {
    path,
    readAll: watch.readAll,
    isOpen: true,
    // A damaged database is not read again for each of its errors.
    isSound: () => {
      isDamaged ||= !isSoundFile(path, options);
      return !isDamaged;
    },
  };
  examineErrors(connection, (error) => causeOf(files, error));
  const tie = createTie(connection, path, options);
  const close = (): void => {
    connection.close();
    watch.close();
  };
  const leave = (): void => {
    // SQLite copies the log into the database when the last connection is closed, unless that can only read.
    const reader = openToRead(path, options);
    reader.pragma("user_version");
    close();
    reader.close();
  };
  const finding = <Value>(work: () => Value): Value => findingCause(files, work);
  const make: Tie["make"] = (run) => finding(() => tie.make(run));
  return { connection, watch, tie: { ...tie, make }, findingCause: finding, close, leave };
}

function findingCause<Value>(files: DatabaseFiles, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    causeOf(files, error);
    throw error;
  }
}

/** On disk when the call returns; throws `StorageUnavailable` if the files were replaced. */
type Transact = <Value>(work: () => Value) => Value;

/** Creates a `Transact` on a database, which waits for other processes' locks. */
export function createTransactor({
  connection,
  watch,
  tie,
  findingCause: finding,
}: WatchedDatabase): Transact {
  const inTransaction = (work: () => void): boolean => {
    connection.transaction(work).immediate();
    return true;
  };
  return <Value>(work: () => Value): Value => {
    if (!watch.isIntact()) throw filesLostError();
    const run = connection.transaction(() => {
      const value = work();
      if (tie.isDue()) throw new Untied();
      return value;
    });
    // `finding` also covers BEGIN and COMMIT, which better-sqlite3 runs itself.
    const value = finding(() => {
      try {
        return run.immediate();
      } catch (error) {
        if (!(error instanceof Untied)) throw error;
        tie.make(inTransaction);
        return run.immediate();
      }
    });
    tie.noteCommit(inTransaction);
    if (!watch.isIntact()) throw filesLostError();
    return value;
  };
}
