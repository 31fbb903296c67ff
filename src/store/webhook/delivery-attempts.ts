import { parseJson } from "../../core/json.ts";
import { attemptFacts, type AttemptFacts } from "../../core/network/connection-fault.ts";
import type { DeliveryState } from "../../core/webhook/delivery.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";

type AttemptEntry = DeliveryEntry["attempts"][number];
export type DeliveryAttempt = Omit<AttemptEntry, "headers" | "bodySha256" | "answer" | "by"> & {
  readonly deliveryId: string;
  /** `replay` if a replay of the event caused this attempt; otherwise null. */
  readonly madeBy: AttemptEntry["by"];
  readonly headers: string;
  readonly bodyHash: string;
  readonly answer: Uint8Array | null;
};

export type RecordedAttemptResult = Pick<
  DeliveryAttempt,
  "milliseconds" | "address" | "status" | "error" | "answer" | "nextAt" | "facts"
> & { readonly finishedAt: number };

export type LastAnswer = Pick<DeliveryAttempt, "status" | "error"> & {
  readonly checkoutId: string;
  readonly endpointId: string;
  readonly finishedAt: number;
  readonly state: DeliveryState;
};

const MAX_READ_DELIVERIES = 40;

type NewAttempt = Pick<
  DeliveryAttempt,
  "deliveryId" | "number" | "startedAt" | "url" | "headers" | "bodyHash" | "fault"
>;
export type LastAttempt = Pick<
  DeliveryAttempt,
  "number" | "startedAt" | "url" | "milliseconds" | "status" | "error" | "answer" | "facts"
>;
type StoredFacts<Attempt extends { readonly facts: AttemptFacts | null }> = Omit<Attempt, "facts"> & {
  readonly facts: string | null;
};
type AttemptKey = Pick<DeliveryAttempt, "deliveryId" | "number">;

export const ATTEMPT_TRIGGERS = `
CREATE TRIGGER finished_delivery_attempts_are_immutable BEFORE UPDATE ON delivery_attempts WHEN OLD.finished_at IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'delivery attempts are audited'); END;
CREATE TRIGGER delivery_attempts_are_kept BEFORE DELETE ON delivery_attempts
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = (SELECT store_id FROM deliveries WHERE id = OLD.delivery_id))
  BEGIN SELECT RAISE(ABORT, 'delivery attempts are audited'); END;
`;

const columnsSql = (deliveriesTable: string, addedColumns = ""): string => `
  delivery_id  TEXT NOT NULL REFERENCES ${deliveriesTable} (id),
  number       INTEGER NOT NULL CHECK (number >= 1),
  started_at   INTEGER NOT NULL,
  url          TEXT NOT NULL,
  -- What was sent, without the signature.
  headers      TEXT NOT NULL,
  body_hash    TEXT NOT NULL CHECK (length(body_hash) = 64),
  fault        TEXT,
  finished_at  INTEGER,
  milliseconds INTEGER,
  address      TEXT,
  status       INTEGER,
  error        TEXT,
  answer       BLOB CHECK (length(answer) <= 4096),
  next_at      INTEGER,${addedColumns}
  PRIMARY KEY (delivery_id, number),
  CHECK ((finished_at IS NULL) = (status IS NULL AND error IS NULL))
`;

export const DELIVERY_ATTEMPTS_DDL = `
CREATE TABLE delivery_attempts (${columnsSql("deliveries")}) STRICT;
CREATE INDEX open_delivery_attempts ON delivery_attempts (delivery_id) WHERE finished_at IS NULL;${ATTEMPT_TRIGGERS}`;

export const REPLAYED_ATTEMPTS_DDL = `
ALTER TABLE delivery_attempts ADD COLUMN made_by TEXT;
`;
export const ATTEMPT_FACTS_DDL = `
ALTER TABLE delivery_attempts ADD COLUMN facts TEXT;
`;

export function createAttemptsSql(table: string, deliveriesTable: string): string {
  const columns = columnsSql(deliveriesTable, "\n  made_by      TEXT,\n  facts        TEXT,");
  return `\nCREATE TABLE ${table} (${columns}) STRICT, WITHOUT ROWID;`;
}

export function moveAttemptsSql(deliveriesTable: string): string {
  return `${createAttemptsSql("attempts_by_delivery", deliveriesTable)}
INSERT INTO attempts_by_delivery SELECT delivery_id, number, started_at, url, headers, body_hash, fault, finished_at,
  milliseconds, address, status, error, answer, next_at, made_by, facts FROM delivery_attempts;
DROP TABLE delivery_attempts;
ALTER TABLE attempts_by_delivery RENAME TO delivery_attempts;`;
}

/**
 * Since this migration, an attempt writes one row instead of several: WITHOUT ROWID needs no index of the key, and open
 * attempts are found through their deliveries.
 */
export const ATTEMPT_ROWS_DDL = moveAttemptsSql("deliveries") + ATTEMPT_TRIGGERS;

const COLUMNS = columnsOf<DeliveryAttempt>(
  "delivery_attempts",
  DELIVERY_ATTEMPTS_DDL + REPLAYED_ATTEMPTS_DDL + ATTEMPT_FACTS_DDL,
);
const COPIED_COLUMNS = COLUMNS.omit("deliveryId", "number", "madeBy").join(", ");

/** A row is inserted before its attempt is sent, and is immutable once the attempt has ended. */
export function deliveryAttemptsTable(connection: Connection) {
  const insert = connection.prepare<NewAttempt>(
    `INSERT INTO delivery_attempts (delivery_id, number, started_at, url, headers, body_hash, fault)
     VALUES (@deliveryId, @number, @startedAt, @url, @headers, @bodyHash, @fault)`,
  );
  const finish = connection.prepare<AttemptKey & StoredFacts<RecordedAttemptResult>>(
    `UPDATE delivery_attempts SET finished_at = @finishedAt, milliseconds = @milliseconds, address = @address,
       status = @status, error = @error, answer = @answer, next_at = @nextAt, facts = @facts
     WHERE delivery_id = @deliveryId AND number = @number AND finished_at IS NULL`,
  );
  const selectOf = connection.prepare<[string], StoredFacts<DeliveryAttempt>>(
    `SELECT ${COLUMNS.select} FROM delivery_attempts WHERE delivery_id = ? ORDER BY number`,
  );
  const selectOpenAttempts = prepareOpen(connection);
  const copy = prepareCopy(connection);
  const selectLastAnswers = connection.prepare<[string], LastAnswer>(
    `SELECT json_each.value AS checkoutId, delivery.endpoint_id AS endpointId, attempt.status, attempt.error,
         attempt.finished_at AS finishedAt, delivery.state
       FROM json_each(?)
       JOIN deliveries AS delivery ON delivery.rowid IN (
         SELECT rowid FROM deliveries INDEXED BY deliveries_of_event
         WHERE event_id IN (SELECT id FROM events WHERE checkout_id = json_each.value)
         ORDER BY rowid DESC LIMIT ${MAX_READ_DELIVERIES})
       JOIN delivery_attempts AS attempt ON attempt.delivery_id = delivery.id AND attempt.number = (
         SELECT max(number) FROM delivery_attempts WHERE delivery_id = delivery.id AND finished_at IS NOT NULL)`,
  );
  const selectLast = connection.prepare<[string], StoredFacts<LastAttempt>>(
    `SELECT number, started_at AS startedAt, url, milliseconds, status, error, answer, facts FROM delivery_attempts
     WHERE delivery_id = ? ORDER BY number DESC LIMIT 1`,
  );

  return {
    lastAnswers: (checkoutIds: readonly string[]): ReadonlyMap<string, readonly LastAnswer[]> => {
      const answers = new Map<string, LastAnswer>();
      for (const answer of selectLastAnswers.all(JSON.stringify(checkoutIds))) {
        const key = `${answer.checkoutId} ${answer.endpointId}`;
        const lastAnswer = answers.get(key);
        if (lastAnswer === undefined || lastAnswer.finishedAt <= answer.finishedAt) answers.set(key, answer);
      }
      return Map.groupBy(answers.values(), ({ checkoutId }) => checkoutId);
    },

    start: (attempt: NewAttempt): void => void insert.run(attempt),

    finish: ({ deliveryId, number }: AttemptKey, result: RecordedAttemptResult): boolean =>
      finish.run({ ...result, facts: result.facts && JSON.stringify(result.facts), deliveryId, number })
        .changes > 0,

    copyAttempt: (attempt: AttemptKey, to: string): void => void copy.run({ ...attempt, to }),

    of: (deliveryId: string): DeliveryAttempt[] => selectOf.all(deliveryId).map(withFacts),

    last: (deliveryId: string): LastAttempt | undefined => {
      const row = selectLast.get(deliveryId);
      return row && withFacts(row);
    },

    listOpen: (): DeliveryAttempt[] => selectOpenAttempts.all().map(withFacts),
  };
}

function prepareOpen(connection: Connection) {
  return connection.prepare<[], StoredFacts<DeliveryAttempt>>(
    `SELECT ${COLUMNS.select} FROM delivery_attempts
     WHERE finished_at IS NULL AND delivery_id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_of_endpoint
       WHERE endpoint_id IN (SELECT id FROM endpoints) AND state IN ('due', 'dropped'))`,
  );
}

function prepareCopy(connection: Connection) {
  return connection.prepare<AttemptKey & { readonly to: string }>(
    `INSERT INTO delivery_attempts (delivery_id, number, made_by, ${COPIED_COLUMNS})
     SELECT @to, (SELECT coalesce(max(number), 0) + 1 FROM delivery_attempts WHERE delivery_id = @to), 'replay',
       ${COPIED_COLUMNS}
     FROM delivery_attempts WHERE delivery_id = @deliveryId AND number = @number`,
  );
}

function withFacts<Attempt extends { readonly facts: string | null }>(
  attempt: Attempt,
): Omit<Attempt, "facts"> & { readonly facts: AttemptFacts | null } {
  const facts = attemptFacts().safeParse(parseJson(attempt.facts ?? "")).data;
  // `facts` from another sandbox's snapshot can be any text, which is shown as a message.
  return { ...attempt, facts: facts ?? (attempt.facts === null ? null : { message: attempt.facts }) };
}
