/**
 * The part of better-sqlite3's interface that tables may use; hosted/connection.ts implements this part for Durable
 * Objects.
 */
export type Connection = {
  prepare<Values extends object = unknown[], Row = unknown>(
    sql: string,
  ): Values extends unknown[] ? Statement<Values, Row> : Statement<[Values], Row>;
  exec(sql: string): unknown;
  transaction<Values extends unknown[], Value>(
    work: (...values: Values) => Value,
  ): Transaction<Values, Value>;
};

export type Statement<Values extends unknown[] = unknown[], Row = unknown> = {
  /** `changes` excludes rows that triggers changed. */
  run(...values: Values): { readonly changes: number };
  get(...values: Values): Row | undefined;
  all(...values: Values): Row[];
  iterate(...values: Values): IterableIterator<Row>;
  pluck(): Statement<Values, Row>;
  raw(): Statement<Values, Row>;
};

type Transaction<Values extends unknown[], Value> = {
  (...values: Values): Value;
  immediate(...values: Values): Value;
};
