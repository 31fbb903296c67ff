import type { Migration } from "./connection/database.ts";

/**
 * The tables of `sandbox.db`. Everything but the merchant carries `store_id`; times are milliseconds since the epoch.
 * The CHECKs repeat the core's rules, so that no other program can write what the core would refuse. Lengths of texts
 * from outside are counted in bytes, four to a character, because SQLite's length() stops at a NUL.
 */
const FIRST_TABLES = `
CREATE TABLE merchants (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE stores (
  id          TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  name        TEXT NOT NULL,
  active      INTEGER NOT NULL CHECK (active IN (0, 1)),
  created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE capabilities (
  store_id TEXT NOT NULL REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('payment_method', 'currency')),
  name     TEXT NOT NULL,
  active   INTEGER NOT NULL CHECK (active IN (0, 1)),
  PRIMARY KEY (store_id, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE credentials (
  id         TEXT PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  key_hash   TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
  last_four  TEXT NOT NULL CHECK (length(last_four) = 4),
  scopes     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE signing_secrets (
  id         TEXT PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  nonce      BLOB NOT NULL UNIQUE CHECK (length(nonce) = 12),
  sealed     BLOB NOT NULL CHECK (length(sealed) > 16),
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT;

CREATE TABLE prices (
  store_id       TEXT NOT NULL REFERENCES stores (id),
  id             TEXT NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  description    TEXT NOT NULL,
  amount_minor   INTEGER NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
  currency       TEXT NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  payment_method TEXT NOT NULL CHECK (payment_method IN ('alipay_plus', 'wechat_pay')),
  approved       INTEGER NOT NULL CHECK (approved IN (0, 1)),
  PRIMARY KEY (store_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkouts (
  id             TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id       TEXT NOT NULL REFERENCES stores (id),
  object         TEXT NOT NULL CHECK (object IN ('order', 'checkout_session')),
  order_id       TEXT NOT NULL CHECK (octet_length(order_id) BETWEEN 1 AND 128),
  amount_minor   INTEGER NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
  currency       TEXT NOT NULL CHECK (currency GLOB '[A-Z][A-Z][A-Z]'),
  payment_method TEXT NOT NULL CHECK (payment_method IN ('alipay_plus', 'wechat_pay')),
  description    TEXT CHECK (octet_length(description) <= 512),
  price_id       TEXT,
  status         TEXT NOT NULL
                 CHECK (status IN ('created', 'pending', 'succeeded', 'failed', 'cancelled', 'expired')),
  created_at     INTEGER NOT NULL,
  expires_at     INTEGER NOT NULL CHECK (expires_at > created_at)
) STRICT;

-- Decision 8 as a constraint: no order_id of a store ever has two checkouts that are open or paid.
CREATE UNIQUE INDEX live_checkout_of_order ON checkouts (store_id, order_id)
  WHERE status IN ('created', 'pending', 'succeeded');

CREATE TRIGGER checkout_terms_are_immutable BEFORE UPDATE OF
  id, store_id, object, order_id, amount_minor, currency, payment_method, description, price_id, created_at
  ON checkouts BEGIN SELECT RAISE(ABORT, 'the terms of a checkout are immutable'); END;
CREATE TRIGGER checkouts_are_kept BEFORE DELETE ON checkouts
  BEGIN SELECT RAISE(ABORT, 'checkouts are never deleted'); END;

CREATE TABLE idempotency_keys (
  store_id    TEXT NOT NULL REFERENCES stores (id),
  key         TEXT NOT NULL CHECK (length(key) BETWEEN 8 AND 128),
  fingerprint TEXT NOT NULL CHECK (length(fingerprint) = 64),
  status      INTEGER NOT NULL CHECK (status = 201),
  request_id  TEXT NOT NULL CHECK (length(request_id) = 36),
  body        TEXT NOT NULL,
  checkout_id TEXT NOT NULL REFERENCES checkouts (id),
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (store_id, key)
) STRICT;
CREATE TRIGGER idempotency_keys_are_immutable BEFORE UPDATE ON idempotency_keys
  BEGIN SELECT RAISE(ABORT, 'an idempotency key keeps its first answer'); END;

CREATE TABLE events (
  id          TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  checkout_id TEXT NOT NULL REFERENCES checkouts (id),
  type        TEXT NOT NULL,
  sequence    INTEGER NOT NULL CHECK (sequence >= 1),
  body        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (checkout_id, sequence)
) STRICT;
CREATE TRIGGER events_are_immutable BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
`;

/** Payment attempts, results that came too late, stores' clocks, and checkouts that settle themselves (decisions 10, 18, 37). */
const PAYMENTS = `
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

-- Decision 10 once more: no program can move a checkout where the core would not.
CREATE TRIGGER checkout_moves BEFORE UPDATE OF status ON checkouts WHEN NOT (
  (OLD.status = 'created' AND NEW.status IN ('pending', 'cancelled', 'expired')) OR
  (OLD.status = 'pending' AND NEW.status IN ('pending', 'succeeded', 'failed', 'cancelled', 'expired'))
) BEGIN SELECT RAISE(ABORT, 'a checkout cannot move this way'); END;

CREATE TABLE settlements (
  checkout_id TEXT PRIMARY KEY REFERENCES checkouts (id),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  outcome     TEXT NOT NULL CHECK (outcome IN ('succeeded', 'declined', 'failed', 'cancelled', 'expired')),
  due_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX due_settlements ON settlements (store_id, due_at, checkout_id);
CREATE INDEX open_checkouts ON checkouts (store_id, expires_at, id) WHERE status IN ('created', 'pending');

ALTER TABLE stores ADD COLUMN clock_offset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE stores ADD COLUMN clock_frozen_at INTEGER;
`;

/** Where the customers of each store may be sent back to (decision 19). */
const RETURN_ORIGINS = `
CREATE TABLE return_origins (
  store_id   TEXT NOT NULL REFERENCES stores (id),
  origin     TEXT NOT NULL CHECK (
               octet_length(origin) BETWEEN 11 AND 261
               AND origin NOT GLOB '*[^]a-z0-9:/.[-]*' AND origin NOT GLOB '*://*/*'
               AND origin NOT GLOB '*:' AND origin NOT GLOB '*:0*'
               AND (
                 origin GLOB 'https://*'
                 OR origin IN ('http://localhost', 'http://127.0.0.1', 'http://[::1]')
                 OR rtrim(origin, '0123456789') IN ('http://localhost:', 'http://127.0.0.1:', 'http://[::1]:')
               )
             ),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (store_id, origin)
) STRICT;
`;

/**
 * Webhooks: endpoints, deliveries, their attempts, and trouble on purpose (decisions 11 to 14, 45). Events get a place in
 * the order of all events, and those that test an endpoint belong to no checkout.
 */
const WEBHOOKS = `
CREATE TABLE events_in_order (
  position    INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  checkout_id TEXT REFERENCES checkouts (id),
  type        TEXT NOT NULL,
  sequence    INTEGER NOT NULL CHECK (sequence >= 1),
  body        TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (checkout_id, sequence)
) STRICT;
INSERT INTO events_in_order (id, store_id, checkout_id, type, sequence, body, created_at)
  SELECT id, store_id, checkout_id, type, sequence, body, created_at FROM events ORDER BY rowid;
DROP TABLE events;
ALTER TABLE events_in_order RENAME TO events;
CREATE TRIGGER events_are_immutable BEFORE UPDATE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
  BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;

CREATE TABLE endpoints (
  id            TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id      TEXT NOT NULL REFERENCES stores (id),
  kind          TEXT NOT NULL CHECK (kind IN ('url', 'listener')),
  url           TEXT NOT NULL CHECK (url GLOB 'http*://*'),
  event_types   TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('enabled', 'paused', 'disabled')),
  reason        TEXT,
  failing_since INTEGER,
  created_at    INTEGER NOT NULL,
  removed_at    INTEGER
) STRICT;
CREATE INDEX endpoints_of_store ON endpoints (store_id) WHERE removed_at IS NULL;

-- Without an endpoint a secret is the store's own: endpoints that never got another one sign with it.
ALTER TABLE signing_secrets ADD COLUMN endpoint_id TEXT REFERENCES endpoints (id);
CREATE INDEX signing_secrets_of_endpoint ON signing_secrets (endpoint_id) WHERE endpoint_id IS NOT NULL;

CREATE TABLE deliveries (
  id          TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  event_id    TEXT NOT NULL REFERENCES events (id),
  checkout_id TEXT REFERENCES checkouts (id),
  sequence    INTEGER NOT NULL,
  cause       TEXT NOT NULL CHECK (cause IN ('event', 'replay', 'duplicate')),
  -- 1 where it waits for the earlier events of its checkout.
  in_order    INTEGER NOT NULL CHECK (in_order IN (0, 1)),
  state       TEXT NOT NULL CHECK (state IN ('due', 'succeeded', 'failed', 'dropped')),
  tries       INTEGER NOT NULL DEFAULT 0,
  next_at     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX due_deliveries ON deliveries (endpoint_id, next_at) WHERE state = 'due';
CREATE INDEX waiting_deliveries ON deliveries (endpoint_id, checkout_id, sequence) WHERE state = 'due';
CREATE INDEX deliveries_of_event ON deliveries (event_id);
CREATE TRIGGER settled_deliveries_are_final BEFORE UPDATE ON deliveries WHEN OLD.state <> 'due'
  BEGIN SELECT RAISE(ABORT, 'a settled delivery is final'); END;
CREATE TRIGGER deliveries_are_kept BEFORE DELETE ON deliveries
  BEGIN SELECT RAISE(ABORT, 'deliveries are audited'); END;

CREATE TABLE delivery_attempts (
  delivery_id  TEXT NOT NULL REFERENCES deliveries (id),
  number       INTEGER NOT NULL CHECK (number >= 1),
  started_at   INTEGER NOT NULL,
  url          TEXT NOT NULL,
  -- What was sent, without the signature.
  headers      TEXT NOT NULL,
  body_hash    TEXT NOT NULL CHECK (length(body_hash) = 64),
  trouble      TEXT,
  finished_at  INTEGER,
  milliseconds INTEGER,
  address      TEXT,
  status       INTEGER,
  error        TEXT,
  answer       BLOB CHECK (length(answer) <= 4096),
  next_at      INTEGER,
  PRIMARY KEY (delivery_id, number),
  CHECK ((finished_at IS NULL) = (status IS NULL AND error IS NULL))
) STRICT;
CREATE INDEX open_delivery_attempts ON delivery_attempts (delivery_id) WHERE finished_at IS NULL;
CREATE TRIGGER finished_delivery_attempts_are_immutable BEFORE UPDATE ON delivery_attempts WHEN OLD.finished_at IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'delivery attempts are audited'); END;
CREATE TRIGGER delivery_attempts_are_kept BEFORE DELETE ON delivery_attempts
  BEGIN SELECT RAISE(ABORT, 'delivery attempts are audited'); END;

CREATE TABLE troubles (
  id          TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  event_id    TEXT REFERENCES events (id),
  kind        TEXT NOT NULL CHECK (kind IN ('duplicate', 'reorder', 'delay', 'drop', 'stale_timestamp',
                'bad_signature', 'changed_body', 'old_secret')),
  delay_ms    INTEGER NOT NULL CHECK (delay_ms >= 0),
  remaining   INTEGER NOT NULL CHECK (remaining >= 0),
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX troubles_to_come ON troubles (endpoint_id) WHERE remaining > 0;
`;

/** Launch readiness: what was approved and by whom, what drills have shown, and what an integration relied on (decisions 20, 49 to 51). */
const READINESS = `
CREATE TABLE admin_acts (
  position INTEGER PRIMARY KEY,
  store_id TEXT NOT NULL REFERENCES stores (id),
  actor    TEXT NOT NULL CHECK (actor IN ('merchant', 'administrator')),
  action   TEXT NOT NULL CHECK (action IN ('request_production', 'approve_credential', 'revoke_credential', 'activate',
             'deactivate', 'enable_capability', 'disable_capability', 'open_gate', 'close_gate')),
  -- The capability that is meant, where the action is about one.
  subject  TEXT,
  note     TEXT CHECK (octet_length(note) <= 2000),
  at       INTEGER NOT NULL,
  CHECK ((actor = 'merchant') = (action = 'request_production'))
) STRICT;
CREATE INDEX admin_acts_of_store ON admin_acts (store_id, position);
-- A program without recursive_triggers would replace a row past the trigger that keeps it.
CREATE TRIGGER admin_acts_are_added BEFORE INSERT ON admin_acts
  WHEN EXISTS (SELECT 1 FROM admin_acts WHERE position = NEW.position)
  BEGIN SELECT RAISE(ABORT, 'the audit log is immutable'); END;
CREATE TRIGGER admin_acts_are_immutable BEFORE UPDATE ON admin_acts
  BEGIN SELECT RAISE(ABORT, 'the audit log is immutable'); END;
CREATE TRIGGER admin_acts_are_kept BEFORE DELETE ON admin_acts
  BEGIN SELECT RAISE(ABORT, 'the audit log is immutable'); END;

CREATE TABLE drills (
  id       TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id TEXT NOT NULL REFERENCES stores (id),
  kind     TEXT NOT NULL CHECK (kind IN ('webhook', 'idempotency', 'browser_return')),
  -- What it proves something of: it is void when that has changed.
  subject  TEXT NOT NULL,
  passed   INTEGER NOT NULL CHECK (passed IN (0, 1)),
  steps    TEXT NOT NULL,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX drills_of_store ON drills (store_id, kind, at);
CREATE TRIGGER drills_are_immutable BEFORE UPDATE ON drills
  BEGIN SELECT RAISE(ABORT, 'what a drill has shown is immutable'); END;
CREATE TRIGGER drills_are_kept BEFORE DELETE ON drills
  BEGIN SELECT RAISE(ABORT, 'what a drill has shown is immutable'); END;

CREATE TABLE idempotency_uses (
  position   INTEGER PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  key        TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('replayed', 'refused')),
  request_id TEXT NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_uses_of_store ON idempotency_uses (store_id, kind, at);

CREATE TABLE assumption_uses (
  store_id         TEXT NOT NULL REFERENCES stores (id),
  decision         INTEGER NOT NULL,
  first_request_id TEXT NOT NULL,
  first_at         INTEGER NOT NULL,
  PRIMARY KEY (store_id, decision)
) STRICT, WITHOUT ROWID;
`;

/** The schema's history: the number of the last entry is the file's `user_version`. Forward only; never edited. */
export const SANDBOX_MIGRATIONS: readonly Migration[] = [
  FIRST_TABLES,
  PAYMENTS,
  RETURN_ORIGINS,
  WEBHOOKS,
  READINESS,
];
