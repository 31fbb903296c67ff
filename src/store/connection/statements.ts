import { camelCase, snakeCase } from "../../core/text.ts";
import type { Connection } from "./connection.ts";

/** The columns of a table, as parts of its statements. The column of a property `storeId` is `store_id`. */
type Columns<Row> = {
  /** For a SELECT: each column, named in camelCase. */
  readonly select: string;
  /** For a SELECT: some of the columns, named in camelCase. */
  readonly some: (...names: readonly (keyof Row & string)[]) => string;
  /** For an INSERT: the columns and their values, by name. */
  readonly values: string;
  /** The names of all columns, except the columns of these properties. */
  readonly but: (...names: readonly (keyof Row & string)[]) => readonly string[];
};

/** A line of a table's DDL that begins with the name of a column, or a migration that adds a column. */
const COLUMN = /^ {2}([a-z_]+) +(?:TEXT|INTEGER|REAL|BLOB)\b|ADD COLUMN ([a-z_]+)/gm;

/** The columns of a table, from its DDL, with one line per column, and from the migrations that add columns. */
export function columnsOf<Row>(table: string, ddl: string): Columns<Row> {
  const own = ddl.split(";\n").filter((text) => / TABLE (\w+)/.exec(text)?.[1] === table);
  const columns = own.flatMap((text) =>
    Array.from(text.matchAll(COLUMN), ([, created, added = ""]) => created ?? added),
  );
  const names = columns.map(camelCase);
  return {
    select: names.map(selectAs).join(", "),
    some: (...wanted) => wanted.map(selectAs).join(", "),
    values: `(${columns.join(", ")}) VALUES (${names.map((name) => `@${name}`).join(", ")})`,
    but: (...left) => columns.filter((_, at) => !left.some((name) => name === names[at])),
  };
}

function selectAs(name: string): string {
  const column = snakeCase(name);
  return column === name ? name : `${column} AS ${name}`;
}

type Insert<Value> = (value: Value) => void;

/**
 * Prepares an INSERT on the hot path of a create. It is written like every other INSERT, with the properties of a value
 * as its `@names`, but bound by position. With named parameters, better-sqlite3 creates a new string for each parameter
 * of each run, which made a create in the store a quarter slower.
 */
export function prepareByPosition<Value extends object>(connection: Connection, sql: string): Insert<Value> {
  const names: (keyof Value)[] = [];
  const positional = sql.replaceAll(/@(\w+)/g, (_, name: string) => {
    names.push(name as keyof Value);
    return "?";
  });
  const statement = connection.prepare(positional);
  return (value) => {
    statement.run(...names.map((name) => value[name]));
  };
}
