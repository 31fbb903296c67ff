import {
  chooseKey,
  keyRefusal,
  type Intent,
  type Journal,
  type JournalEntry,
  type KeyRefusal,
  type LatestAttempt,
  type Settlement,
} from "../../core/checkout/journal.ts";
import type { LogicalCreate } from "../../core/checkout/idempotency-key.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Connection } from "../connection/database.ts";

type EntryRow = {
  readonly key: string;
  readonly service: string;
  readonly store_id: string | null;
  readonly endpoint: string;
  readonly order_id: string;
  readonly attempt: number | null;
  readonly body: string;
  readonly state: JournalEntry["state"];
  readonly in_doubt: number;
  readonly checkout_id: string | null;
  readonly code: string | null;
  readonly first_sent_at: number;
  readonly updated_at: number;
};

/** The DDL of the journal's entries. */
export const ENTRIES_DDL = `
CREATE TABLE entries (
  key           TEXT PRIMARY KEY CHECK (length(key) BETWEEN 8 AND 128),
  service       TEXT NOT NULL,
  store_id      TEXT,
  endpoint      TEXT NOT NULL CHECK (endpoint IN ('orders', 'checkout-sessions')),
  order_id      TEXT NOT NULL,
  attempt       INTEGER CHECK (attempt >= 1),
  body          TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('pending', 'created', 'refused')),
  checkout_id   TEXT,
  code          TEXT,
  -- 1 once a run ended without a final answer: then a later refusal does not prove that nothing was made.
  in_doubt      INTEGER NOT NULL DEFAULT 0 CHECK (in_doubt IN (0, 1)),
  first_sent_at INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX attempts ON entries (service, endpoint, order_id, attempt);
`;

const COLUMNS =
  "key, service, store_id, endpoint, order_id, attempt, body, state, in_doubt, checkout_id, code, first_sent_at, updated_at";

/** What the client knows of its creates. */
export function entriesTable(connection: Connection): Journal {
  // An attempt that was refused made nothing: what a repeated command means is the one before it.
  const selectLatest = connection.prepare<[string, string | null, string, string], LatestAttempt>(
    `SELECT attempt, state FROM entries
     WHERE service = ? AND store_id IS ? AND endpoint = ? AND order_id = ? AND state <> 'refused' AND attempt IS NOT NULL
     ORDER BY attempt DESC LIMIT 1`,
  );
  const upsert = connection.prepare<EntryRow>(
    `INSERT INTO entries (${COLUMNS}) VALUES (@key, @service, @store_id, @endpoint, @order_id, @attempt, @body, @state,
     @in_doubt, @checkout_id, @code, @first_sent_at, @updated_at)
     ON CONFLICT (key) DO UPDATE SET body = excluded.body, state = 'pending', code = NULL,
     in_doubt = max(in_doubt, state = 'pending'),
     first_sent_at = CASE state WHEN 'refused' THEN excluded.first_sent_at ELSE first_sent_at END,
     updated_at = excluded.updated_at
     WHERE state <> 'created'`,
  );
  const select = connection.prepare<[string], EntryRow>(`SELECT ${COLUMNS} FROM entries WHERE key = ?`);
  const selectAll = connection.prepare<[], EntryRow>(
    `SELECT ${COLUMNS} FROM entries ORDER BY first_sent_at, key`,
  );
  // A late answer must not turn a known checkout into a refusal, nor a refusal take away a doubt, unless it proves itself.
  const update = connection.prepare<Omit<Settlement, "proof"> & { proof: number; key: string; now: number }>(
    `UPDATE entries SET state = @state, checkout_id = @checkoutId, code = @code, updated_at = @now
     WHERE key = @key AND (@state = 'created' OR (state <> 'created' AND (in_doubt = 0 OR @proof = 1)))`,
  );
  const remove = connection.prepare<[string]>("DELETE FROM entries WHERE key = ?");

  const latestAttempt = (create: Omit<LogicalCreate, "attempt">): LatestAttempt | undefined =>
    selectLatest.get(create.service, create.storeId, create.endpoint, create.orderId);

  const begin = connection.transaction(
    (intent: Intent, body: string, now: number): Outcome<JournalEntry, KeyRefusal> => {
      const { key, attempt } = chooseKey(intent, latestAttempt(intent));
      const known = select.get(key);
      const refusal = known && keyRefusal(fromRow(known), intent, now);
      if (refusal !== undefined) return { ok: false, refusal };
      upsert.run(newRow(intent, { key, attempt, body, now }));
      const row = select.get(key);
      if (row === undefined) throw new Error(`the journal lost ${key}`);
      return accept(fromRow(row));
    },
  );

  return {
    latestAttempt,
    begin: (intent, body, now) => begin.immediate(intent, body, now),
    settle: (key, settlement, now) => {
      update.run({ ...settlement, proof: settlement.proof ? 1 : 0, key, now });
    },
    list: () => selectAll.all().map(fromRow),
    find: (key) => {
      const row = select.get(key);
      return row && fromRow(row);
    },
    forget: (key) => remove.run(key).changes === 1,
    close: () => connection.close(),
  };
}

function newRow(
  intent: Intent,
  sent: {
    readonly key: string;
    readonly attempt: number | null;
    readonly body: string;
    readonly now: number;
  },
): EntryRow {
  return {
    key: sent.key,
    service: intent.service,
    store_id: intent.storeId,
    endpoint: intent.endpoint,
    order_id: intent.orderId,
    attempt: sent.attempt,
    body: sent.body,
    state: "pending",
    in_doubt: 0,
    checkout_id: null,
    code: null,
    first_sent_at: sent.now,
    updated_at: sent.now,
  };
}

function fromRow(row: EntryRow): JournalEntry {
  return {
    key: row.key,
    service: row.service,
    storeId: row.store_id,
    endpoint: row.endpoint,
    orderId: row.order_id,
    attempt: row.attempt,
    body: row.body,
    state: row.state,
    inDoubt: row.in_doubt === 1,
    checkoutId: row.checkout_id,
    code: row.code,
    firstSentAt: row.first_sent_at,
    updatedAt: row.updated_at,
  };
}
