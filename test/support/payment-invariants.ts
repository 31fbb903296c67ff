import type Database from "better-sqlite3";
import type { Status } from "../../src/core/checkout/checkout.ts";
import type { PayOutcome } from "../../src/core/checkout/reserved-order-id.ts";
import type { Attempt } from "../../src/core/checkout/shapes.ts";

/** A checkout as stored in the tables; `late` holds `<attempt> <result>`, in order. */
export type PaymentRow = {
  readonly orderId: string;
  readonly status: Status;
  readonly attempts: readonly Attempt["outcome"][];
  readonly late: readonly string[];
  readonly events: number;
  /** The outcome of the automatic settlement; null if the checkout waits for a payer. */
  readonly settles: PayOutcome | null;
};

const OPEN = "('created', 'pending')";
const ENDS = "('succeeded', 'failed', 'cancelled', 'expired')";

/** Every event with the status in the event before it. */
const STEPS = `
  WITH steps AS (
    SELECT checkout_id AS id, sequence, type, body ->> '$.sequence' AS told, body ->> '$.type' AS told_type,
      body ->> '$.data.object' AS object, body ->> '$.data.status' AS status,
      body ->> '$.previous_status' AS previous, lag(body ->> '$.data.status') OVER steps_of AS before,
      row_number() OVER steps_of AS place
    FROM events WINDOW steps_of AS (PARTITION BY checkout_id ORDER BY sequence)
  ) SELECT id FROM steps WHERE`;

/** The invariants of the tables (decisions 8, 10, 11), each with the query that finds violations. */
export const PROMISES = {
  "sequence counts from 1 without a gap": `${STEPS} sequence <> place OR told IS NOT sequence`,
  "the first event is created": `${STEPS} place = 1 AND status <> 'created'`,
  "previous_status is the status of the event before": `${STEPS} previous IS NOT before`,
  "an event is named after its status": `${STEPS} type IS NOT object || '.' || status OR type IS NOT told_type`,
  "no event follows a final status": `${STEPS} before IN ${ENDS}`,
  "a status changes only as decision 10 allows": `${STEPS} before IS NOT NULL AND NOT (
    before = 'created' AND status IN ('pending', 'cancelled', 'expired') OR before = 'pending' AND status IN ${ENDS})`,
  "the events replay the status": `SELECT id FROM checkouts WHERE status IS NOT (
    SELECT body ->> '$.data.status' FROM events WHERE checkout_id = checkouts.id ORDER BY sequence DESC LIMIT 1)`,
  "an order is open or paid once": `SELECT order_id AS id FROM checkouts WHERE status IN ('created', 'pending', 'succeeded')
    GROUP BY store_id, order_id HAVING count(*) > 1`,
  "attempts count from 1 without a gap, to 5": `SELECT checkout_id AS id FROM attempts
    GROUP BY checkout_id HAVING min(number) <> 1 OR max(number) <> count(*) OR count(*) > 5`,
  "a next attempt follows only a decline": `SELECT earlier.checkout_id AS id FROM attempts AS earlier
    JOIN attempts AS later ON later.checkout_id = earlier.checkout_id AND later.number > earlier.number
    WHERE earlier.outcome IS NOT 'declined'`,
  "only a succeeded checkout has one succeeded attempt": `SELECT id FROM checkouts WHERE (status = 'succeeded') <> (
    SELECT count(*) FROM attempts WHERE checkout_id = id AND outcome = 'succeeded')`,
  "only a failed checkout has a failed attempt or 5 declines": `SELECT id FROM checkouts WHERE (status = 'failed') <> (
    SELECT count(*) FROM attempts WHERE checkout_id = id AND (outcome = 'failed' OR number = 5 AND outcome = 'declined'))`,
  "a created checkout has no attempt, a paid or failed one has": `SELECT id FROM checkouts
    WHERE (status = 'created') = (id IN (SELECT checkout_id FROM attempts)) AND status NOT IN ('cancelled', 'expired')`,
  "an attempt is open only while its checkout is": `SELECT id FROM attempts JOIN checkouts ON id = checkout_id
    WHERE outcome IS NULL AND status <> 'pending'`,
  "an attempt is abandoned only by a cancel or an expiry": `SELECT id FROM attempts JOIN checkouts ON id = checkout_id
    WHERE outcome = 'abandoned' AND status NOT IN ('cancelled', 'expired')`,
  "a late result belongs to an ended checkout": `SELECT checkout_id AS id FROM late_results
    LEFT JOIN checkouts ON id = checkout_id WHERE status IS NULL OR status IN ${OPEN}`,
  "a late result differs from its attempt's outcome": `SELECT late_results.checkout_id AS id FROM late_results
    LEFT JOIN attempts ON attempts.checkout_id = late_results.checkout_id AND number = attempt
    WHERE outcome IS NULL OR outcome = result`,
} as const satisfies Readonly<Record<string, string>>;

/** Violations of the promises, as `<id>: <promise>`; all tables are read in one transaction. */
export function brokenPromises(rows: Database.Database): string[] {
  const look = rows.transaction(() =>
    Object.entries(PROMISES).flatMap(([promise, sql]) =>
      rows
        .prepare<[], { readonly id: string }>(sql)
        .all()
        .map(({ id }) => `${id}: ${promise}`),
    ),
  );
  return [...new Set(look())];
}

/** Every checkout of the tables by its id, or only the given checkout. */
export function paymentRows(rows: Database.Database, only?: string): Map<string, PaymentRow> {
  type Row = Omit<PaymentRow, "attempts" | "late"> & Record<"id" | "attempts" | "late", string>;
  const select = rows.prepare<string[], Row>(
    `SELECT id, order_id AS orderId, status,
       (SELECT json_group_array(outcome ORDER BY number) FROM attempts WHERE checkout_id = id) AS attempts,
       (SELECT json_group_array(attempt || ' ' || result ORDER BY attempt, result)
        FROM late_results WHERE checkout_id = id) AS late,
       (SELECT count(*) FROM events WHERE checkout_id = checkouts.id) AS events,
       (SELECT outcome FROM settlements WHERE checkout_id = id) AS settles
     FROM checkouts ${only === undefined ? "" : "WHERE id = ?"} ORDER BY id`,
  );
  const found = only === undefined ? select.all() : select.all(only);
  return new Map(
    found.map(({ id, attempts, late, ...row }) => [id, { ...row, ...parse({ attempts, late }) }]),
  );
}

/** The status in the last event of every checkout. */
export function lastStatuses(rows: Database.Database): Map<string, string> {
  const select = rows.prepare<[], { readonly id: string; readonly status: string }>(
    `SELECT checkout_id AS id, body ->> '$.data.status' AS status, max(sequence)
     FROM events GROUP BY checkout_id ORDER BY checkout_id`,
  );
  return new Map(select.all().map(({ id, status }) => [id, status]));
}

function parse(row: Readonly<Record<"attempts" | "late", string>>): Pick<PaymentRow, "attempts" | "late"> {
  return {
    attempts: JSON.parse(row.attempts) as PaymentRow["attempts"],
    late: JSON.parse(row.late) as PaymentRow["late"],
  };
}
