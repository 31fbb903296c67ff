import { camelCase, snakeCase } from "../../core/text.ts";

const COLUMN = /^ {2}([a-z_]+) +(?:TEXT|INTEGER|REAL|BLOB)\b|ADD COLUMN ([a-z_]+)/gm;

export function columnsOf<Row>(table: string, ddl: string) {
  const ownStatements = ddl.split(";\n").filter((text) => / TABLE (\w+)/.exec(text)?.[1] === table);
  const columns = ownStatements.flatMap((text) =>
    Array.from(text.matchAll(COLUMN), ([, createdColumn, addedColumn = ""]) => createdColumn ?? addedColumn),
  );
  const names = columns.map(camelCase);
  type Names = readonly (keyof Row & string)[];
  return {
    select: names.map(selectAs).join(", "),
    pick: (...wantedNames: Names): string => wantedNames.map(selectAs).join(", "),
    values: `(${columns.join(", ")}) VALUES (${names.map((name) => `@${name}`).join(", ")})`,
    omit: (...excludedNames: Names): readonly string[] =>
      columns.filter((_, index) => !excludedNames.some((name) => name === names[index])),
  };
}

function selectAs(name: string): string {
  const column = snakeCase(name);
  return column === name ? name : `${column} AS ${name}`;
}

/** String literals of SQL statements must not contain `@` before a word. */
const NAMED_PARAMETER = /@(\w+)/g;

type PositionalStatement = {
  readonly sql: string;
  readonly valuesOf: (bindings: readonly unknown[]) => readonly unknown[];
};

/**
 * better-sqlite3 looks up each named parameter twice per run, which made creates a quarter slower; the Workers runtime
 * has no named parameters.
 */
export function toPositionalStatement(sql: string): PositionalStatement {
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
