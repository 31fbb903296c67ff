import { accept, type Outcome } from "../../core/outcome.ts";
import {
  onStatementError,
  findErrorCause,
  IN_MEMORY,
  openForReading,
  withFileRefusal,
  type FileConnection,
  type FileRefusal,
  type OpenOptions,
} from "./database.ts";
import { watchFiles } from "./file-watch.ts";
import { openDatabase } from "./open-database.ts";
import { NO_FILE_GUARDS, type FileGuards } from "./group-commit.ts";
import { createLogBinding } from "./opening.ts";

export type WatchedDatabase = FileGuards & {
  readonly connection: FileConnection;
  readonly close: () => void;
  /** Closes the database without copying the log into it, for a start that is refused. */
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
  // An error is examined while the database is open: after a close, a limit of open files would no longer be exceeded.
  const outcome = withFileRefusal(path, options, () => {
    // SQLite opens the log only at the first read.
    connection.pragma("user_version");
    const [watch, binding] = [watchFiles(path), createLogBinding(connection, path, options)];
    return accept({ connection, watch, binding, close, leave: () => leave(connection, path, options) });
  });
  if (!outcome.ok) close();
  let isDamaged = false;
  onStatementError(connection, (error) => {
    // After damage is found, further errors do not read the file again.
    isDamaged ||=
      findErrorCause(path, { ...options, isOpen: true }, error)?.failure.code === "database_damaged";
  });
  return outcome;
}

/**
 * Closing the last connection copies the log into the database, unless this connection is read-only; so a read-only
 * connection is closed last.
 */
function leave(connection: FileConnection, path: string, options: OpenOptions): void {
  const reader = openForReading(path, options);
  reader.pragma("user_version");
  connection.close();
  reader.close();
}
