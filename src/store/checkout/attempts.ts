import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { Attempt, LateResult } from "../../core/checkout/shapes.ts";

type CheckoutKey = { readonly checkoutId: string };
type AttemptRow = Attempt & CheckoutKey;
type LateResultRow = LateResult & CheckoutKey;

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

export const OPEN_ATTEMPTS_DDL = `
DROP INDEX open_attempt_of_checkout;
CREATE TRIGGER attempts_are_one_at_a_time BEFORE INSERT ON attempts
  WHEN NEW.outcome IS NULL AND EXISTS (
    SELECT 1 FROM attempts WHERE checkout_id = NEW.checkout_id AND number <> NEW.number AND outcome IS NULL)
  BEGIN SELECT RAISE(ABORT, 'a checkout has one open attempt at most'); END;
`;

const LATE_RESULT_COLUMNS = columnsOf<LateResultRow>("late_results", ATTEMPTS_DDL);

const ATTEMPT_COLUMNS = columnsOf<AttemptRow>("attempts", ATTEMPTS_DDL);

export function attemptsTable(connection: Connection) {
  const select = connection.prepare<[string], Attempt>(
    `SELECT ${ATTEMPT_COLUMNS.pick("number", "startedAt", "outcome", "finishedAt")} FROM attempts
     WHERE checkout_id = ? ORDER BY number`,
  );
  const upsert = connection.prepare<AttemptRow>(
    `INSERT INTO attempts ${ATTEMPT_COLUMNS.values}
     ON CONFLICT (checkout_id, number) DO UPDATE SET outcome = excluded.outcome, finished_at = excluded.finished_at`,
  );
  const insertLateResult = connection.prepare<LateResultRow>(
    `INSERT INTO late_results ${LATE_RESULT_COLUMNS.values} ON CONFLICT DO NOTHING`,
  );
  const selectLateResults = connection.prepare<[string], LateResultRow>(
    `SELECT ${LATE_RESULT_COLUMNS.select} FROM late_results WHERE checkout_id = ? ORDER BY recorded_at, attempt`,
  );

  return {
    of: (checkoutId: string): Attempt[] => select.all(checkoutId),

    save: (checkoutId: string, attempt: Attempt): void => void upsert.run({ ...attempt, checkoutId }),

    recordLateResult: (row: LateResultRow): void => void insertLateResult.run(row),

    lateResults: (checkoutId: string): LateResultRow[] => selectLateResults.all(checkoutId),
  };
}
