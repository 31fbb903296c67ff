import type { SealedSecret } from "../../core/webhook/sealed-secret.ts";
import type { Connection, Statement } from "../connection/connection.ts";

/** Thrown if another store of the sandbox has an id or a key from the snapshot. */
export class SnapshotConflict extends Error {
  override readonly name = "SnapshotConflict";
}

/** Thrown for rows that no sandbox can have written: another program made or changed the snapshot. */
export class SnapshotDamage extends Error {
  override readonly name = "SnapshotDamage";
}

export type CopiedTable = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly integerColumns: readonly string[];
  readonly isOrdered: boolean;
  readonly positionIndex: number | undefined;
};

/** Restored only from the sandbox's own snapshots. */
export const EVIDENCE_TABLES: ReadonlySet<string> = new Set([
  "drills",
  "explorations",
  "waivers",
  "idempotency_uses",
  "assumption_uses",
]);

export type ResealSecret = (sealed: SealedSecret) => SealedSecret;

export type RowSelection = { readonly storeId: string } | "all";

type Row = unknown[];

const UNCOPIED_TABLES: ReadonlySet<string> = new Set([
  "home",
  "log_mark",
  "resets",
  "committed_resets",
  "erasures",
  "event_floor",
  "lease_effects",
  "instance",
  "snapshot",
  "tokens",
]);

const OWNED_TABLES: ReadonlyMap<string, { readonly owner: string; readonly column: string }> = new Map(
  Object.entries({
    attempts: { owner: "checkouts", column: "checkout_id" },
    page_views: { owner: "checkouts", column: "checkout_id" },
    late_results: { owner: "checkouts", column: "checkout_id" },
    delivery_attempts: { owner: "deliveries", column: "delivery_id" },
  }),
);

const STORE_CONDITIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    deliveries: "endpoint_id IN (SELECT id FROM endpoints WHERE store_id = ?)",
    merchants: "id = (SELECT merchant_id FROM stores WHERE id = ?)",
    stores: "id = ?",
  }),
);

const BATCH_ROWS = 200;

const KEPT_CONDITIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    credentials: "for_drill = 0",
    delivery_attempts: "finished_at IS NOT NULL",
  }),
);

export function tablesToCopy(connection: Connection): readonly CopiedTable[] {
  const selectTables = connection.prepare<[], { readonly name: string; readonly wr: number }>(
    "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
  );
  const selectColumns = connection.prepare<
    [string],
    { readonly name: string; readonly type: string; readonly pk: number }
  >("SELECT name, type, pk FROM pragma_table_info(?)");
  return selectTables
    .all()
    .filter(({ name }) => !UNCOPIED_TABLES.has(name))
    .map(({ name, wr }) => {
      const columns = selectColumns.all(name);
      const positionIndex = columns.findIndex(({ type, pk }) => pk === 1 && type === "INTEGER");
      const hasSingleKey = columns.filter(({ pk }) => pk > 0).length === 1;
      return {
        name,
        columns: columns.map((column) => column.name),
        integerColumns: columns.flatMap((column) => (column.type === "INTEGER" ? [column.name] : [])),
        isOrdered: wr === 0 && !OWNED_TABLES.has(name),
        positionIndex: positionIndex >= 0 && hasSingleKey ? positionIndex : undefined,
      };
    });
}

/** Deliveries repeat columns of their events, which no foreign key checks. */
export function hasStrayDeliveries(connection: Connection): boolean {
  const strayDelivery = connection.prepare(
    `SELECT 1 FROM deliveries AS delivery JOIN events AS event ON event.id = delivery.event_id
     WHERE (delivery.store_id, delivery.checkout_id, delivery.sequence)
       IS NOT (event.store_id, event.checkout_id, event.sequence) LIMIT 1`,
  );
  return strayDelivery.get() !== undefined;
}

export function hasReferencesAcrossStores(connection: Connection): boolean {
  const references = connection.prepare<
    [],
    { readonly [Part in "child" | "column" | "parent" | "id"]: string }
  >(
    `SELECT child.name AS child, reference."from" AS column, parent.name AS parent, reference."to" AS id
     FROM pragma_table_list AS child, pragma_foreign_key_list(child.name) AS reference, pragma_table_list AS parent
     WHERE child.schema = 'main' AND parent.schema = 'main' AND parent.name = reference."table"
       AND EXISTS (SELECT 1 FROM pragma_table_info(child.name) WHERE name = 'store_id')
       AND EXISTS (SELECT 1 FROM pragma_table_info(parent.name) WHERE name = 'store_id')`,
  );
  return references.all().some(
    ({ child, column, parent, id }) =>
      connection
        .prepare(
          `SELECT 1 FROM ${child} AS child JOIN ${parent} AS parent ON parent.${id} = child.${column}
           WHERE parent.store_id <> child.store_id LIMIT 1`,
        )
        .get() !== undefined,
  );
}

/** `NOT INDEXED`: with an index, SQLite would sort all rows before it returns the first. */
export function selectRows(
  connection: Connection,
  { name, columns, isOrdered }: CopiedTable,
  selection: RowSelection,
): IterableIterator<Row> {
  const conditions = [
    KEPT_CONDITIONS.get(name) ?? "true",
    selection === "all" ? "true" : storeCondition(name),
  ];
  const [indexClause, order] = isOrdered ? ["NOT INDEXED", "ORDER BY rowid"] : ["", ""];
  const sql = `SELECT ${columns.join(", ")} FROM ${name} ${indexClause} WHERE ${conditions.join(" AND ")} ${order}`;
  const select = statementOf(connection, sql);
  return select.raw().iterate(...(selection === "all" ? [] : [selection.storeId]));
}

function storeCondition(name: string): string {
  const ownership = OWNED_TABLES.get(name);
  if (ownership === undefined) return STORE_CONDITIONS.get(name) ?? "store_id = ?";
  return `${ownership.column} IN (SELECT id FROM ${ownership.owner} WHERE ${storeCondition(ownership.owner)})`;
}

export function* selectRowsInSteps(
  connection: Connection,
  table: CopiedTable,
  selection: RowSelection,
): Generator<readonly Row[]> {
  let slice: Row[] = [];
  for (const row of selectRows(connection, table, selection)) {
    if (slice.push(row) < BATCH_ROWS) continue;
    yield slice;
    slice = [];
  }
  yield slice;
}

export function insertRows(
  connection: Connection,
  table: CopiedTable,
  { rows, reseal }: { readonly rows: Iterable<Row>; readonly reseal: ResealSecret },
): void {
  const { name, columns } = table;
  const placeholders = columns.map(() => "?").join(", ");
  const conflictClause = name === "merchants" ? "ON CONFLICT (id) DO NOTHING" : "";
  const sql = `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${placeholders}) ${conflictClause}`;
  const statement = statementOf(connection, sql);
  const rowsToInsert = name === "signing_secrets" ? resealRows(table, rows, reseal) : rows;
  for (const row of rowsToInsert) statement.run(...row);
}

/** Preparing the statements again would take half of the time for a small store. */
const preparedStatements = new WeakMap<Connection, Map<string, RowStatement>>();

type RowStatement = Statement<unknown[], Row>;

function statementOf(connection: Connection, sql: string): RowStatement {
  const knownStatements = preparedStatements.get(connection) ?? new Map<string, RowStatement>();
  preparedStatements.set(connection, knownStatements);
  const statement = knownStatements.get(sql) ?? connection.prepare<unknown[], Row>(sql);
  knownStatements.set(sql, statement);
  return statement;
}

function* resealRows({ columns }: CopiedTable, rows: Iterable<Row>, reseal: ResealSecret): Generator<Row> {
  const [idIndex = 0, storeIndex = 0, nonceIndex = 0, sealedIndex = 0] = [
    "id",
    "store_id",
    "nonce",
    "sealed",
  ].map((name) => columns.indexOf(name));
  for (const row of rows) {
    const oldRow = {
      id: row[idIndex],
      storeId: row[storeIndex],
      nonce: row[nonceIndex],
      sealed: row[sealedIndex],
    } as SealedSecret;
    const newRow = reseal(oldRow);
    yield row.with(nonceIndex, newRow.nonce).with(sealedIndex, newRow.sealed);
  }
}
