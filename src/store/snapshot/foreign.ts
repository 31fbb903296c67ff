// Checks rows of another sandbox's snapshot. Rules apply to columns by name and type, so a new table needs no rule.
// Other texts are not checked, because pages escape them.
import { parseDialect } from "../../core/calibration/dialect-section.ts";
import { FIRST_MOMENT, LAST_MOMENT } from "../../core/clock.ts";
import type { Connection } from "../connection/connection.ts";
import { tablesToCopy, type CopiedTable } from "./rows.ts";

type RestoreFacts = { readonly now: number; readonly isAdministrator: boolean };

export function foreignFault(connection: Connection, facts: RestoreFacts): string | undefined {
  for (const table of tablesToCopy(connection)) {
    const fault = columnFault(connection, table);
    if (fault !== undefined) return `${table.name}: ${fault}`;
  }
  return storeFault(connection, facts);
}

function columnFault(
  connection: Connection,
  { name, columns, integerColumns }: CopiedTable,
): string | undefined {
  const rules = columns.flatMap((column): readonly ColumnRule[] => {
    if (TIME_COLUMN.test(column)) return [{ column, ...TIME_RULE }];
    if (integerColumns.includes(column)) return [{ column, ...INT_RULE }];
    return ID_COLUMN.test(column) && name !== "prices" ? [{ column, ...ID_RULE }] : [];
  });
  if (rules.length === 0) return undefined;
  const checks = rules.map(({ column, isWrong }) => `max(${isWrong(column)})`);
  const row = connection
    .prepare<[], (number | null)[]>(`SELECT ${checks.join(", ")} FROM ${name}`)
    .raw()
    .get();
  const brokenRule = rules.find((_, index) => row?.[index] === 1);
  return brokenRule && `${brokenRule.column} is not ${brokenRule.expected}`;
}

type ColumnRule = typeof INT_RULE & { readonly column: string };

const ID_COLUMN = /^(?:first_)?(?:request_)?id$/;
const UUID_GLOB = [8, 4, 4, 4, 12].map((digits) => "[0-9a-f]".repeat(digits)).join("-");
const ID_RULE = { isWrong: (column: string) => `${column} NOT GLOB '${UUID_GLOB}'`, expected: "an id" };
const TIME_COLUMN = /^(?:at|until|failing_since|\w+_at)$/;
const TIME_RULE = rangeRule(FIRST_MOMENT, LAST_MOMENT, "a time in the years 0 to 9999");
const INT_RULE = rangeRule(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "an exact number in JavaScript");

function rangeRule(minimum: number, maximum: number, expected: string) {
  return { isWrong: (column: string) => `${column} NOT BETWEEN ${minimum} AND ${maximum}`, expected };
}

function storeFault(connection: Connection, { now, isAdministrator }: RestoreFacts): string | undefined {
  const hasRow = (query: string): boolean =>
    connection.prepare<[], number>(`SELECT EXISTS (${query})`).pluck().get() === 1;
  if (
    hasRow(
      `SELECT 1 FROM stores WHERE ${rangeRule(FIRST_MOMENT - now, LAST_MOMENT - now, "").isWrong("clock_offset")}`,
    )
  )
    return "stores: a clock is beyond the years 0 to 9999";
  if (
    hasRow(
      `SELECT 1 FROM stores WHERE NOT EXISTS (SELECT 1 FROM signing_secrets
       WHERE store_id = stores.id AND endpoint_id IS NULL AND retired_at IS NULL)`,
    )
  )
    return "signing_secrets: a store has no active signing secret";
  if (hasRow("SELECT 1 FROM deliveries WHERE is_behind = 1 AND in_order = 1"))
    return "deliveries: a delivery in order is behind another";
  const dialects = connection
    .prepare<[], string>("SELECT dialect FROM stores WHERE dialect IS NOT NULL")
    .pluck();
  if (!dialects.all().every((text) => parseDialect(text).ok))
    return "stores: a dialect has a name or a status that is not allowed";
  if (
    !isAdministrator &&
    hasRow("SELECT 1 FROM admin_acts WHERE action IN ('approve_credential', 'open_gate')")
  )
    return "admin_acts: only an administrator of this sandbox may approve production or open its gate";
  return undefined;
}
