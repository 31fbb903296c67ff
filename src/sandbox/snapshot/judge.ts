import { printableLiteral } from "../../core/text.ts";
import type { SnapshotImage } from "../../store/snapshot/image.ts";
import type { CopiedTable, NamedRow } from "../../store/snapshot/rows.ts";
import { COLUMN_RULES } from "../../core/snapshot/columns.ts";
import { ROW_LIMITS, ROW_RULES, type RuleContext } from "./row-rules.ts";
import { judgeDeliveries, judgeStories, type RowReader } from "./stories.ts";

/** The tables that are read together with the checkouts or deliveries they belong to. */
const STORY_TABLES: ReadonlySet<string> = new Set([
  "checkouts",
  "attempts",
  "events",
  "idempotency_keys",
  "late_results",
  "settlements",
  "page_views",
  "deliveries",
  "delivery_attempts",
]);

/**
 * Validates every row of a snapshot before any row is copied, with the rules of the functions that write such rows
 * (decision 95). Returns table, row and rule of the first violation; undefined if there is none.
 */
export function judgeRows(image: SnapshotImage, context: Omit<RuleContext, "key">): string | undefined {
  const tables = new Map(image.tables().map((table) => [table.name, table]));
  const rules = { ...context, key: image.key };
  const reading: Generator<NamedRow>[] = [];
  const read: RowReader = (name) => {
    const rows = judgeRowsOf(image, tableOf(tables, name), rules);
    reading.push(rows);
    return rows;
  };
  try {
    for (const name of tables.keys()) if (!STORY_TABLES.has(name)) readAll(read(name));
    const stray = image.strayDelivery();
    if (stray !== undefined)
      return `deliveries: ${stray} does not match the checkout or sequence of its event`;
    const secrets = tableOf(tables, "signing_secrets");
    return judgeStories(read) ?? judgeDeliveries(read) ?? secretFault(image, secrets);
  } catch (error) {
    if (error instanceof BrokenRule) return error.message;
    throw error;
  } finally {
    // An unfinished read would keep the image open.
    for (const rows of reading) rows.return(undefined);
  }
}

function readAll(rows: Iterator<NamedRow>): void {
  while (rows.next().done !== true) continue;
}

/** Thrown for a row that breaks a rule: no later row is read. */
class BrokenRule extends Error {
  override readonly name = "BrokenRule";
}

/** Reads the rows of a table, and throws at the first row that breaks a rule of its table. */
function* judgeRowsOf(image: SnapshotImage, table: CopiedTable, rules: RuleContext): Generator<NamedRow> {
  const columns = columnRulesOf(table);
  const rowRule = ROW_RULES[table.name];
  const limits = ROW_LIMITS[table.name] ?? [];
  const counts = new Map<string, number>();
  for (const row of image.rows(table)) {
    const broken = (said: string): BrokenRule =>
      new BrokenRule(`${table.name}, row ${nameOf(table, row)}, ${said}`);
    for (const [column, rule] of columns) {
      const said = rule(row[column]);
      if (said !== undefined) throw broken(`${column}: ${said}`);
    }
    const said = rowRule?.(row, rules);
    if (said !== undefined) throw broken(said);
    for (const { most, of } of limits) {
      const what = of(row);
      if (what === undefined) continue;
      const name = `${String(row["store_id"])} ${what}`;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count > most) throw broken(`store_id: a store has at most ${most} ${what}`);
    }
    yield row;
  }
}

/** The rules of a table's columns. A column without a rule cannot be restored. */
function columnRulesOf({ name, columns }: CopiedTable) {
  const rules = COLUMN_RULES[name] ?? {};
  return columns.map((column) => {
    const rule = rules[column];
    if (rule === undefined) throw new Error(`there is no rule for ${name}.${column} of a snapshot`);
    return [column, rule] as const;
  });
}

/** The name of a row in messages: its key. */
function nameOf({ key }: CopiedTable, row: NamedRow): string {
  return key.map((column) => printableLiteral(row[column])).join(" ");
}

/** Requires a signing secret for every store. */
function secretFault(image: SnapshotImage, table: CopiedTable): string | undefined {
  const signing = new Set<unknown>();
  for (const { store_id: storeId, endpoint_id: endpointId, retired_at: retiredAt } of image.rows(table))
    if (endpointId === null && retiredAt === null) signing.add(storeId);
  const bare = image.storeIds.find((storeId) => !signing.has(storeId));
  return bare && `signing_secrets: store ${bare} has no active signing secret`;
}

function tableOf(tables: ReadonlyMap<string, CopiedTable>, name: string): CopiedTable {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`a snapshot has no table ${name}`);
  return table;
}
