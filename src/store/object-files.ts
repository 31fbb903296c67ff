import { accept, type Outcome } from "../core/outcome.ts";
import {
  inspectFile,
  openForReading,
  withFileRefusal,
  type FileConnection,
  type FileKind,
  type FileRefusal,
  type OpenOptions,
} from "./connection/database.ts";
import { homeTable } from "./instance.ts";

type ReadOptions = Pick<OpenOptions, "nativeBinding">;

export type IndexRecord = {
  readonly storeIds: readonly string[];
  readonly home: string | undefined;
};

const OBJECT_FILE: FileKind = {
  name: "database of a hosted service",
  applicationId: 0,
  firstVersion: 0,
  migrations: [""],
  filesToMoveAway: "the state folder",
};

/** Call only while the service is stopped. Undefined if the file has no table `stores`. */
export function readIndexFile(
  path: string,
  options: ReadOptions,
): Outcome<IndexRecord | undefined, FileRefusal> {
  return readObjectFile(path, options, (connection) => {
    if (!hasTable(connection, "stores")) return undefined;
    const storeIds = connection
      .prepare<[], string>(
        "SELECT id FROM stores WHERE id NOT IN (SELECT store_id FROM erasures) ORDER BY rowid",
      )
      .pluck()
      .all();
    return { storeIds, home: homeTable(connection).path() };
  });
}

export function isStoreInFile(
  path: string,
  storeId: string,
  options: ReadOptions,
): Outcome<boolean, FileRefusal> {
  return readObjectFile(
    path,
    options,
    (connection) =>
      hasTable(connection, "stores") &&
      connection.prepare("SELECT 1 FROM stores WHERE id = ?").get(storeId) !== undefined,
  );
}

export function isAlarmFile(path: string, options: ReadOptions): Outcome<boolean, FileRefusal> {
  return readObjectFile(path, options, (connection) => hasTable(connection, "_cf_ALARM"));
}

function hasTable(connection: FileConnection, name: string): boolean {
  return connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(name) !== undefined;
}

function readObjectFile<Value>(
  path: string,
  options: ReadOptions,
  read: (connection: FileConnection) => Value,
): Outcome<Value, FileRefusal> {
  return withFileRefusal(path, options, () => {
    const refusal = inspectFile(path, { kind: OBJECT_FILE, ...options });
    if (refusal !== undefined) return { ok: false, refusal };
    const connection = openForReading(path, options);
    try {
      return accept(read(connection));
    } finally {
      connection.close();
    }
  });
}
