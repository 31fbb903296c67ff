/**
 * A connection to a database with our tables, on any engine: better-sqlite3, for a file or memory (`database.ts`), or a
 * Durable Object (`hosted/connection.ts`). Tables use only these functions; work on files uses `FileConnection`.
 */
export type Connection = {
  /** A statement, compiled at its first use. Its parameters are values by position, or one object with `@names`. */
  prepare<Values extends object = unknown[], Row = unknown>(
    sql: string,
  ): Values extends unknown[] ? Statement<Values, Row> : Statement<[Values], Row>;
  /** Runs one or more statements without parameters. */
  exec(sql: string): unknown;
  /** A function that runs work in one transaction, which is rolled back if the work throws. */
  transaction<Values extends unknown[], Value>(
    work: (...values: Values) => Value,
  ): Transaction<Values, Value>;
};

/** A prepared statement. In parameters and rows, integers are numbers and blobs are byte arrays. */
export type Statement<Values extends unknown[] = unknown[], Row = unknown> = {
  /** Runs the statement to its end; `changes` is the number of rows that it changed, without its triggers. */
  run(...values: Values): { readonly changes: number };
  /** The first row; undefined if there is none. */
  get(...values: Values): Row | undefined;
  all(...values: Values): Row[];
  iterate(...values: Values): IterableIterator<Row>;
  /** Makes each row the value of its first column. */
  pluck(): Statement<Values, Row>;
  /** Makes each row an array of the values of its columns. */
  raw(): Statement<Values, Row>;
};

type Transaction<Values extends unknown[], Value> = {
  (...values: Values): Value;
  /** Takes the lock for writing at the start of the transaction. */
  immediate(...values: Values): Value;
};
