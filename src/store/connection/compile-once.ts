import type Database from "better-sqlite3";

/** A parameter, and what says that it is a limit. No text in our statements has one of these characters. */
const PARAMETER = /(\bLIMIT )?(\?|@\w+)/g;

/**
 * Makes a connection compile each of its statements once. While SQLite plans, it looks at the values of some parameters:
 * of a LIMIT, and with ORDER BY of what a column is compared with. It compiles such a statement again when they change,
 * and better-sqlite3 clears them after each run, so that it took up to nine times as long. SQLite does not look into an
 * expression.
 */
export function compileOnce(connection: Database.Database): void {
  const prepare = connection.prepare.bind(connection);
  Object.assign(connection, { prepare: (sql: string) => prepare(withExpressions(sql)) });
}

/** The same statement, each parameter of which is an expression. */
function withExpressions(sql: string): string {
  return sql.replaceAll(PARAMETER, (_, limit: string | undefined, name: string) =>
    limit === undefined ? `+${name}` : `${limit}${name} + 0`,
  );
}
