import { accept, type Outcome } from "../../core/outcome.ts";
import {
  examineErrors,
  findCause,
  IN_MEMORY,
  openToRead,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { watchFiles } from "./file-watch.ts";
import { openDatabase } from "./open-database.ts";
import { NO_FILE_GUARDS, type FileGuards } from "./group-commit.ts";
import { createLogBinding } from "./opening.ts";

/** The database must be closed through this object. */
export type WatchedDatabase = FileGuards & {
  readonly connection: FileConnection;
  readonly close: () => void;
  /** Closes the database for a start that is refused: the log of a killed process stays as it is. */
  readonly leave: () => void;
};

export function openWatchedDatabase(
  path: string,
  options: OpenOptions,
): Outcome<WatchedDatabase, FileRefusal> {
  const result = openDatabase(path, options);
  if (!result.ok) return result;
  const connection = result.value;
  const close = (): void => void connection.close();
  if (path === IN_MEMORY) return accept({ connection, ...NO_FILE_GUARDS, close, leave: close });
  // The cause is determined while the database is open, because only then the limit of open files is exceeded.
  const outcome = withFileRefusal(path, options, () => {
    // SQLite opens the log at the first read.
    connection.pragma("user_version");
    const [watch, binding] = [watchFiles(path), createLogBinding(connection, path, options)];
    return accept({ connection, watch, binding, close, leave: () => leave(connection, path, options) });
  });
  if (!outcome.ok) close();
  let isDamaged = false;
  examineErrors(connection, (error) => {
    // A damaged database is not read again at each further error.
    isDamaged ||= findCause(path, { ...options, isOpen: true }, error)?.failure.code === "database_damaged";
  });
  return outcome;
}

/** The last connection, if it can write, would copy the log into the database, so it closes while a reader is open. */
function leave(connection: FileConnection, path: string, options: OpenOptions): void {
  const reader = openToRead(path, options);
  reader.pragma("user_version");
  connection.close();
  reader.close();
}
