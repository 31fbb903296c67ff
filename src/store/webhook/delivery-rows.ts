import { moveAttemptsSql, ATTEMPT_TRIGGERS, createAttemptsSql } from "./delivery-attempts.ts";

const createDeliveriesSql = (table: string): string => `
CREATE TABLE ${table} (
  id          TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id    TEXT NOT NULL,
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  event_id    TEXT NOT NULL REFERENCES events (id),
  checkout_id TEXT,
  sequence    INTEGER NOT NULL,
  cause       TEXT NOT NULL CHECK (cause IN ('event', 'replay', 'duplicate')),
  in_order    INTEGER NOT NULL CHECK (in_order IN (0, 1)),
  state       TEXT NOT NULL CHECK (state IN ('due', 'succeeded', 'failed', 'dropped')),
  tries       INTEGER NOT NULL DEFAULT 0,
  next_at     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  fault       TEXT
) STRICT;`;

export const DELIVERY_TRIGGERS = `
CREATE TRIGGER settled_deliveries_are_final BEFORE UPDATE ON deliveries WHEN OLD.state <> 'due'
  BEGIN SELECT RAISE(ABORT, 'a settled delivery is final'); END;
CREATE TRIGGER deliveries_are_kept BEFORE DELETE ON deliveries
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'deliveries are audited'); END;
`;

const DELIVERY_RULES = `
CREATE INDEX due_deliveries ON deliveries (endpoint_id, next_at) WHERE state = 'due';
CREATE INDEX deliveries_of_event ON deliveries (event_id);
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, state);
CREATE INDEX tried_deliveries ON deliveries (endpoint_id) WHERE state = 'due' AND tries > 0;${DELIVERY_TRIGGERS}`;

/**
 * Since this migration, a delivery writes fewer index rows: deliveries of a checkout are found by its events, and
 * deliveries of a store by its endpoints.
 */
export const DELIVERY_ROWS_DDL = `${createDeliveriesSql("deliveries_by_event")}
INSERT INTO deliveries_by_event (rowid, id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order,
  state, tries, next_at, created_at, fault)
  SELECT rowid, id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order,
    state, tries, next_at, created_at, fault FROM deliveries;
${moveAttemptsSql("deliveries_by_event")}
DROP TABLE deliveries;
ALTER TABLE deliveries_by_event RENAME TO deliveries;
${DELIVERY_RULES}${ATTEMPT_TRIGGERS}`;

/**
 * Quoted names, because SQLite quotes the names of renamed tables, and new and migrated files must have the same
 * schema.
 */
export const NEW_DELIVERIES_DDL =
  createDeliveriesSql('"deliveries"') +
  createAttemptsSql('"delivery_attempts"', '"deliveries"') +
  DELIVERY_RULES +
  ATTEMPT_TRIGGERS;
