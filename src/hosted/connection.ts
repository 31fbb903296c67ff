import { Buffer } from "node:buffer";
import type { ObjectStorage } from "cloudflare:workers";
import type { Connection, Statement } from "../store/connection/connection.ts";
import { isError } from "../core/outcome.ts";
import { toStorageError } from "../store/connection/group-commit.ts";
import { toPositionalStatement } from "../store/connection/statements.ts";
import { storageFailure, StorageUnavailable } from "../store/connection/storage-failure.ts";

/** The platform's limit of a row, which the open-source runtime does not enforce. */
const MAX_ROW_BYTES = 2_000_000;

type Value = string | number | ArrayBuffer | null;
type RowShape = "object" | "first column" | "columns";

export function createConnection(storage: ObjectStorage): Connection {
  const { sql } = storage;
  let runCount = 0;
  const prepare = (text: string): Statement => {
    const positionalStatement = toPositionalStatement(text);
    let shape: RowShape = "object";
    const run = (bindings: readonly unknown[]): ReturnType<typeof sql.exec> => {
      runCount += 1;
      return sql.exec(positionalStatement.sql, ...valuesIn(positionalStatement.valuesOf(bindings)));
    };
    const rowsOf = (bindings: readonly unknown[]): unknown[] => {
      const cursor = run(bindings);
      if (shape === "object") return cursor.toArray().map(convertBlobs);
      const rows = Array.from(cursor.raw(), (row) => row.map(bytesOf));
      return shape === "columns" ? rows : rows.map(([cell]) => cell);
    };
    const statement: Statement = {
      run: (...bindings) => {
        run(bindings).toArray();
        const ownCount = runCount;
        return {
          get changes() {
            if (runCount !== ownCount) throw new Error("another statement has run since");
            return Number(sql.exec("SELECT changes()").raw().next().value?.[0]);
          },
        };
      },
      get: (...bindings) => rowsOf(bindings)[0],
      all: (...bindings) => rowsOf(bindings),
      iterate: (...bindings) => rowsOf(bindings).values(),
      pluck: () => {
        shape = "first column";
        return statement;
      },
      raw: () => {
        shape = "columns";
        return statement;
      },
    };
    return statement;
  };
  const transaction: Connection["transaction"] = (work) => {
    const run = (...values: Parameters<typeof work>) => storage.transactionSync(() => work(...values));
    return Object.assign(run, { immediate: run });
  };
  // The types are unchecked, as in better-sqlite3: each table declares the types of its rows and parameters.
  return { prepare, exec: (text) => void sql.exec(text), transaction } as Connection;
}

function valuesIn(bindings: readonly unknown[]): Value[] {
  const values = bindings.map(valueOf);
  if (values.reduce((sum: number, value) => sum + sizeOf(value), 0) > MAX_ROW_BYTES)
    throw new StorageUnavailable(storageFailure("row_too_large"));
  return values;
}

function valueOf(value: unknown): Value {
  if (value instanceof Uint8Array) return Uint8Array.from(value).buffer;
  return value === undefined ? null : (value as Value);
}

/** In bytes. A text that fits in any encoding counts one byte per character, which saves encoding the text. */
function sizeOf(value: Value): number {
  if (typeof value === "string")
    return value.length * 3 <= MAX_ROW_BYTES ? value.length : Buffer.byteLength(value);
  return value instanceof ArrayBuffer ? value.byteLength : 8;
}

function bytesOf(value: Value): unknown {
  return value instanceof ArrayBuffer ? Buffer.from(value) : value;
}

function convertBlobs(row: Record<string, Value>): Readonly<Record<string, unknown>> {
  for (const name in row)
    if (row[name] instanceof ArrayBuffer)
      return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, bytesOf(value)]));
  return row;
}

/** The runtime's errors contain SQLite's code only in their message. */
const SQLITE_CODE = /\bSQLITE_[A-Z_]+/;

/** Turns storage errors into StorageUnavailable, as for a state file; other errors stay unchanged. */
export function toStorageFailure(error: unknown): unknown {
  const [code] = (isError(error) ? SQLITE_CODE.exec(error.message) : null) ?? [];
  return code === undefined || !isError(error)
    ? error
    : toStorageError(Object.assign(new Error(error.message, { cause: error }), { code }));
}

const HIDDEN_ERROR = /^internal error; reference = /;

/**
 * The runtime hides the message of database errors (`HIDDEN_ERROR`); errors of the object's own code keep their
 * message.
 */
export function toObjectFailure(error: unknown): unknown {
  if (!isError(error) || !HIDDEN_ERROR.test(error.message)) return toStorageFailure(error);
  return new StorageUnavailable(storageFailure("file_operation_failed"), { cause: error });
}
