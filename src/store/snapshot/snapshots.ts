import type { Outcome } from "../../core/outcome.ts";
import type { Connection } from "../connection/connection.ts";
import { currentSchemaVersion, type FileConnection } from "../connection/database.ts";
import { lazyValue } from "../../core/lazy.ts";
import type { erasuresTable } from "../erasures.ts";
import { storageFailureOf, isSqliteError } from "../connection/storage-failure.ts";
import { hasValidOrigin, openImage, SNAPSHOT_FILE, type SnapshotImage } from "./image.ts";
import { createSnapshotTaker, type SnapshotSource } from "./take.ts";
import {
  EVIDENCE_TABLES,
  insertRows,
  selectRows,
  SnapshotConflict,
  SnapshotDamage,
  tablesToCopy,
  type CopiedTable,
  type ResealSecret,
  type RowSelection,
} from "./rows.ts";

type Replacement = {
  /** Whether this sandbox took the snapshot; evidence is restored only then. */
  readonly isOwn: boolean;
  readonly selection: RowSelection;
  readonly storeIds: readonly string[];
  readonly deletedStoreIds: readonly string[];
  readonly reseal: ResealSecret;
};

export type RestoreHooks = Pick<ReturnType<typeof erasuresTable>, "eraseAll"> & {
  readonly notifyChange: () => void;
};

export type Snapshots = ReturnType<typeof snapshotsTable>;

type Options = Omit<SnapshotSource, "connection"> & RestoreHooks;
type CopyContext = Options & {
  readonly connection: FileConnection;
  readonly tables: () => readonly CopiedTable[];
};

/** The database's schema determines the copied tables, so a new table needs no code here (decision 95). */
export function snapshotsTable(connection: FileConnection, options: Options) {
  const context = { ...options, connection, tables: lazyValue(() => tablesToCopy(connection)) };
  return {
    ...createSnapshotTaker({ ...options, connection }),

    isOwn: hasValidOrigin,

    open: (bytes: Uint8Array, isOwn = false): Outcome<SnapshotImage, string> =>
      openImage(bytes, { ...options, kind: SNAPSHOT_FILE, isOwn }),

    /**
     * Throws `SnapshotConflict` if another store has an id or key of the image, and `SnapshotDamage` for invalid rows.
     */
    restore: (image: SnapshotImage, replacement: Replacement): void => restore(context, image, replacement),

    format: currentSchemaVersion(SNAPSHOT_FILE),
  };
}

function restore(
  { connection, tables, eraseAll, notifyChange }: CopyContext,
  { connection: image }: SnapshotImage,
  { isOwn, selection, storeIds, deletedStoreIds, reseal }: Replacement,
): void {
  // References are checked at the commit, when all rows exist.
  connection.pragma("defer_foreign_keys = ON");
  const selectPosition = connection
    .prepare<[string], number>("SELECT rowid FROM stores WHERE id = ?")
    .pluck();
  const positions = selection === "all" ? [] : storeIds.map((id) => [selectPosition.get(id), id] as const);
  for (const id of storeIds) eraseAll(id, "replace");
  for (const id of deletedStoreIds) eraseAll(id, "delete");
  if (selection === "all") connection.exec("DELETE FROM merchants");
  try {
    for (const table of tables()) {
      if (!isOwn && EVIDENCE_TABLES.has(table.name)) continue;
      const rows = selectRows(image, table, selection);
      const numberedRows =
        table.positionIndex === undefined ? rows : renumberRows(connection, table, [...rows]);
      insertRows(connection, table, { rows: numberedRows, reseal });
    }
  } catch (error) {
    if (!isSqliteError(error) || storageFailureOf(error) !== undefined) throw error;
    const ErrorClass = DUPLICATE_ERRORS.has(error.code) ? SnapshotConflict : SnapshotDamage;
    throw new ErrorClass(error.message, { cause: error });
  }
  const updatePosition = connection.prepare("UPDATE stores SET rowid = ? WHERE id = ?");
  for (const [position, id] of positions) if (position !== undefined) updatePosition.run(position, id);
  notifyChange();
}

const DUPLICATE_ERRORS: ReadonlySet<string> = new Set([
  "SQLITE_CONSTRAINT_PRIMARYKEY",
  "SQLITE_CONSTRAINT_ROWID",
  "SQLITE_CONSTRAINT_UNIQUE",
]);

const MAX_POSITION = 2 ** 52;

function renumberRows(
  connection: Connection,
  { name, columns, positionIndex = 0 }: CopiedTable,
  rows: unknown[][],
): unknown[][] {
  const column = columns[positionIndex] ?? "";
  for (const row of rows) {
    const number = Number(row[positionIndex]);
    if (number < 1 || number > MAX_POSITION) throw new SnapshotDamage(`${name} has the ${column} ${number}`);
  }
  const selectExisting = connection.prepare(`SELECT 1 FROM ${name} WHERE ${column} = ?`);
  if (!rows.some((row) => selectExisting.get(row[positionIndex]) !== undefined)) return rows;
  const floor = name === "events" ? "ifnull((SELECT position FROM event_floor), 0)" : "0";
  const lastNumber = connection
    .prepare<[], number>(`SELECT max(ifnull((SELECT max(${column}) FROM ${name}), 0), ${floor})`)
    .pluck()
    .get();
  const shift = (lastNumber ?? 0) + 1 - Number(rows[0]?.[positionIndex]);
  return rows.map((row) => row.with(positionIndex, Number(row[positionIndex]) + shift));
}
