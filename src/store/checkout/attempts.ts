import type { Attempt, AttemptOutcome, AttemptResult } from "../../core/checkout/payment.ts";
import type { Connection } from "../connection/database.ts";

type AttemptRow = {
  readonly number: number;
  readonly started_at: number;
  readonly outcome: AttemptOutcome | null;
  readonly finished_at: number | null;
};

/** A result that came after its checkout had ended (decision 10). */
export type LateResult = {
  readonly checkoutId: string;
  readonly attempt: number;
  readonly result: AttemptResult;
  readonly recordedAt: number;
};

/** The DDL of payment attempts and late results. */
export const ATTEMPTS_DDL = `
CREATE TABLE attempts (
  checkout_id TEXT NOT NULL REFERENCES checkouts (id),
  number      INTEGER NOT NULL CHECK (number BETWEEN 1 AND 5),
  started_at  INTEGER NOT NULL,
  outcome     TEXT CHECK (outcome IN ('succeeded', 'declined', 'failed', 'abandoned')),
  finished_at INTEGER CHECK ((finished_at IS NULL) = (outcome IS NULL)),
  PRIMARY KEY (checkout_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX open_attempt_of_checkout ON attempts (checkout_id) WHERE outcome IS NULL;
CREATE TRIGGER finished_attempts_are_immutable BEFORE UPDATE ON attempts WHEN OLD.outcome IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'a finished attempt is immutable'); END;

CREATE TABLE late_results (
  checkout_id TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  result      TEXT NOT NULL CHECK (result IN ('succeeded', 'declined', 'failed')),
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (checkout_id, attempt, result),
  FOREIGN KEY (checkout_id, attempt) REFERENCES attempts (checkout_id, number)
) STRICT, WITHOUT ROWID;
`;

/** The payers' tries, and the results that came too late for them. */
export function attemptsTable(connection: Connection) {
  const select = connection.prepare<[string], AttemptRow>(
    "SELECT number, started_at, outcome, finished_at FROM attempts WHERE checkout_id = ? ORDER BY number",
  );
  const upsert = connection.prepare<[string, number, number, AttemptOutcome | null, number | null]>(
    `INSERT INTO attempts (checkout_id, number, started_at, outcome, finished_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (checkout_id, number) DO UPDATE SET outcome = excluded.outcome, finished_at = excluded.finished_at`,
  );
  const insertLate = connection.prepare<[string, number, AttemptResult, number]>(
    "INSERT INTO late_results (checkout_id, attempt, result, recorded_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const selectLate = connection.prepare<[string], LateResult>(
    `SELECT checkout_id AS checkoutId, attempt, result, recorded_at AS recordedAt FROM late_results
     WHERE checkout_id = ? ORDER BY recorded_at, attempt`,
  );

  return {
    /** The attempts of a checkout, first to last. */
    of: (checkoutId: string): Attempt[] =>
      select.all(checkoutId).map((row) => ({
        number: row.number,
        startedAt: row.started_at,
        outcome: row.outcome,
        finishedAt: row.finished_at,
      })),

    /** Writes a new attempt, or the end of an open one. */
    save: (checkoutId: string, { number, startedAt, outcome, finishedAt }: Attempt): void => {
      upsert.run(checkoutId, number, startedAt, outcome, finishedAt);
    },

    /** Records a late result, once. */
    recordLate: ({ checkoutId, attempt, result, recordedAt }: LateResult): void => {
      insertLate.run(checkoutId, attempt, result, recordedAt);
    },

    lateResults: (checkoutId: string): LateResult[] => selectLate.all(checkoutId),
  };
}
