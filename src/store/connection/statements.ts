import { camelCase, snakeCase } from "../../core/text.ts";

/** Matches a line of a table's DDL that begins with the name of a column, or a migration that adds a column. */
const COLUMN = /^ {2}([a-z_]+) +(?:TEXT|INTEGER|REAL|BLOB)\b|ADD COLUMN ([a-z_]+)/gm;

/**
 * The columns of a table as parts of its statements, from its DDL, with one line per column, and from the migrations that
 * add columns. The column of a property `storeId` is `store_id`.
 */
export function columnsOf<Row>(table: string, ddl: string) {
  const ownStatements = ddl.split(";\n").filter((text) => / TABLE (\w+)/.exec(text)?.[1] === table);
  const columns = ownStatements.flatMap((text) =>
    Array.from(text.matchAll(COLUMN), ([, createdColumn, addedColumn = ""]) => createdColumn ?? addedColumn),
  );
  const names = columns.map(camelCase);
  type Names = readonly (keyof Row & string)[];
  return {
    /** For a SELECT: each column, named in camelCase. */
    select: names.map(selectAs).join(", "),
    /** For a SELECT: some of the columns, named in camelCase. */
    pick: (...wantedNames: Names): string => wantedNames.map(selectAs).join(", "),
    /** For an INSERT: the columns and their values, by name. */
    values: `(${columns.join(", ")}) VALUES (${names.map((name) => `@${name}`).join(", ")})`,
    /** The names of all columns, except the columns of these properties. */
    omit: (...excludedNames: Names): readonly string[] =>
      columns.filter((_, index) => !excludedNames.some((name) => name === names[index])),
  };
}

function selectAs(name: string): string {
  const column = snakeCase(name);
  return column === name ? name : `${column} AS ${name}`;
}

/** Matches a named parameter. No string literal in our statements contains a match. */
const NAMED_PARAMETER = /@(\w+)/g;

/** A statement with `?` as its only parameters, and a function that puts the values in their order. */
type PositionalStatement = {
  readonly sql: string;
  readonly valuesOf: (bindings: readonly unknown[]) => readonly unknown[];
};

/**
 * Binds a statement with `@names` by position. For each named parameter of each run, better-sqlite3 creates a new string
 * and looks it up twice, which made a create in the store a quarter slower. The Workers runtime supports no names at all.
 */
export function toPositional(sql: string): PositionalStatement {
  const names = Array.from(sql.matchAll(NAMED_PARAMETER), ([, name = ""]) => name);
  if (names.length === 0) return { sql, valuesOf: (values) => values };
  return {
    sql: sql.replaceAll(NAMED_PARAMETER, "?"),
    valuesOf: ([bindings]) => {
      const values = bindings as Readonly<Record<string, unknown>>;
      return names.map((name) => values[name]);
    },
  };
}
