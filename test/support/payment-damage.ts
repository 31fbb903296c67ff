import Database from "better-sqlite3";
import type { PROMISES } from "./payment-invariants.ts";
import { insertion, expression } from "./rows.ts";

/**
 * Changes to a database, each with the promise that it breaks. The database has one checkout: an order that was
 * declined, then paid, then paid late.
 */
export const DAMAGE: readonly (readonly [promise: keyof typeof PROMISES, sql: string])[] = [
  ["sequence counts from 1 without a gap", "UPDATE events SET sequence = 4 WHERE sequence = 3"],
  ["sequence counts from 1 without a gap", inBody(3, "$.sequence", "4")],
  ["the first event is created", inBody(1, "$.data.status", "pending")],
  ["previous_status is the status of the event before", inBody(3, "$.previous_status", "created")],
  ["previous_status is the status of the event before", inBody(1, "$.previous_status", "created")],
  ["an event is named after its status", "UPDATE events SET type = 'order.failed' WHERE sequence = 3"],
  ["an event is named after its status", inBody(3, "$.type", "checkout_session.succeeded")],
  ["no event follows a final status", inBody(2, "$.data.status", "failed")],
  ["a status changes only as decision 10 allows", inBody(2, "$.data.status", "created")],
  ["the events replay the status", "UPDATE checkouts SET status = 'failed'"],
  ["the events replay the status", "DELETE FROM events"],
  [
    "an order is open or paid once",
    insertion(
      "checkouts",
      {
        id: "other",
        store_id: expression("store_id"),
        object: expression("object"),
        order_id: expression("order_id"),
      },
      "checkouts",
    ),
  ],
  ["attempts count from 1 without a gap, to 5", "DELETE FROM attempts WHERE number = 1"],
  [
    "attempts count from 1 without a gap, to 5",
    insertion(
      "attempts",
      {
        checkout_id: expression("checkout_id"),
        number: expression("value"),
        outcome: "declined",
        finished_at: 1,
      },
      "attempts JOIN json_each('[3, 4, 5, 6]') WHERE number = 2",
    ),
  ],
  ["a next attempt follows only a decline", "UPDATE attempts SET outcome = 'failed' WHERE number = 1"],
  ["only a succeeded checkout has one succeeded attempt", "UPDATE attempts SET outcome = 'succeeded'"],
  ["only a succeeded checkout has one succeeded attempt", "UPDATE attempts SET outcome = 'declined'"],
  ["only a succeeded checkout has one succeeded attempt", "UPDATE checkouts SET status = 'expired'"],
  ["only a failed checkout has a failed attempt or 5 declines", "UPDATE checkouts SET status = 'failed'"],
  ["only a failed checkout has a failed attempt or 5 declines", "UPDATE attempts SET outcome = 'failed'"],
  ["a created checkout has no attempt, a paid or failed one has", "DELETE FROM attempts"],
  ["a created checkout has no attempt, a paid or failed one has", "UPDATE checkouts SET status = 'created'"],
  ["an attempt is open only while its checkout is", "UPDATE attempts SET outcome = NULL WHERE number = 2"],
  ["an attempt is abandoned only by a cancel or an expiry", "UPDATE attempts SET outcome = 'abandoned'"],
  ["a late result belongs to an ended checkout", "UPDATE checkouts SET status = 'pending'"],
  ["a late result differs from its attempt's outcome", "UPDATE late_results SET result = 'declined'"],
  ["a late result differs from its attempt's outcome", "UPDATE late_results SET attempt = 3"],
];

/** Opens a database without its triggers, unique indexes and checks, so that any row can be written. */
export function openUnguarded(path: string): Database.Database {
  const rows = new Database(path);
  rows.pragma("foreign_keys = OFF");
  rows.pragma("ignore_check_constraints = ON");
  const drops = rows.prepare<[], string>(
    `SELECT 'DROP ' || type || ' ' || name FROM sqlite_schema
     WHERE type = 'trigger' OR type = 'index' AND sql LIKE '%UNIQUE%'`,
  );
  for (const drop of drops.pluck().all()) rows.exec(drop);
  return rows;
}

/** The statement that changes a field in the body of an event. */
function inBody(sequence: number, path: string, value: string): string {
  const json = /^[0-9]+$/.test(value) ? value : `'${value}'`;
  return `UPDATE events SET body = json_set(body, '${path}', ${json}) WHERE sequence = ${sequence}`;
}
