/** Tables use only these functions, which every engine has: better-sqlite3 and a Durable Object. */
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
  /** Runs the statement to its end; `changes` is the number of rows that it changed, without its triggers. */
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
