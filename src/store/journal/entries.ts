import {
  chooseKey,
  isOfInstance,
  keyRefusal,
  type CreateIntent,
  type Journal,
  type JournalEntry,
  type KeyRefusal,
  type LatestAttempt,
  type FinalAnswer,
} from "../../core/checkout/journal.ts";
import type { LogicalCreate } from "../../core/checkout/idempotency-key.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import type { Connection } from "../connection/connection.ts";
import { createTransactionRunner } from "../connection/group-commit.ts";
import type { WatchedDatabase } from "../connection/watched-database.ts";

type EntryRow = Omit<JournalEntry, "inDoubt"> & { readonly inDoubt: number };
type NewEntry = Omit<
  JournalEntry,
  "state" | "inDoubt" | "checkoutId" | "code" | "firstSentAt" | "updatedAt"
> & {
  readonly now: number;
};
type SettledEntry = Omit<FinalAnswer, "isProven"> & {
  readonly proof: number;
  readonly key: string;
  readonly now: number;
};

const COLUMNS = `key, instance, service, store_id AS storeId, endpoint, order_id AS orderId, attempt, body, state, in_doubt AS inDoubt,
  checkout_id AS checkoutId, code, first_sent_at AS firstSentAt, updated_at AS updatedAt`;

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
  -- 1 after a run ended without a final answer: a later refusal does not prove then that nothing was created.
  in_doubt      INTEGER NOT NULL DEFAULT 0 CHECK (in_doubt IN (0, 1)),
  first_sent_at INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX attempts ON entries (service, endpoint, order_id, attempt);
`;

export const ENTRIES_INSTANCE_MIGRATION = `
ALTER TABLE entries ADD COLUMN instance TEXT;
`;

export function entriesTable(database: WatchedDatabase): Journal {
  const sql = prepare(database.connection);
  const transact = createTransactionRunner(database);

  const begin = (intent: CreateIntent, body: string, now: number): Outcome<JournalEntry, KeyRefusal> => {
    const { key, attempt } = chooseKey(intent, sql.selectLatest.get(intent));
    const row = sql.select.get(key);
    const entry = row && fromRow(row);
    const knownEntry = entry !== undefined && isOfInstance(entry, intent) ? entry : undefined;
    if (entry !== undefined && knownEntry === undefined) sql.remove.run(key);
    const refusal = knownEntry && keyRefusal(knownEntry, intent, now);
    if (refusal !== undefined) return { ok: false, refusal };
    const { instance, service, storeId, endpoint, orderId } = intent;
    sql.upsert.run({ key, instance, service, storeId, endpoint, orderId, attempt, body, now });
    const storedRow = sql.select.get(key);
    if (storedRow === undefined) throw new Error(`the journal lost ${key}`);
    return accept(fromRow(storedRow));
  };

  return {
    latestAttempt: (create) => sql.selectLatest.get(create),
    begin: (intent, body, now) => transact(() => begin(intent, body, now)),
    settle: (key, settlement, now) => {
      const entry: SettledEntry = { ...settlement, proof: Number(settlement.isProven), key, now };
      transact(() => sql.update.run(entry));
    },
    list: () => sql.selectAll.all().map(fromRow),
    find: (key) => {
      const row = sql.select.get(key);
      return row && fromRow(row);
    },
    forget: (key) => transact(() => sql.remove.run(key).changes === 1),
    close: database.close,
  };
}

function prepare(connection: Connection) {
  return {
    // A refused attempt created nothing, so a repeated command continues with the attempt before it.
    selectLatest: connection.prepare<
      Omit<LogicalCreate, "attempt"> & Pick<CreateIntent, "instance">,
      LatestAttempt
    >(
      `SELECT attempt, state FROM entries
       WHERE service = @service AND store_id IS @storeId AND endpoint = @endpoint AND order_id = @orderId
         AND state <> 'refused' AND attempt IS NOT NULL
         AND (instance IS NULL OR @instance IS NULL OR instance = @instance)
       ORDER BY attempt DESC LIMIT 1`,
    ),
    upsert: connection.prepare<NewEntry>(
      `INSERT INTO entries (key, instance, service, store_id, endpoint, order_id, attempt, body, state, first_sent_at,
         updated_at)
       VALUES (@key, @instance, @service, @storeId, @endpoint, @orderId, @attempt, @body, 'pending', @now, @now)
       ON CONFLICT (key) DO UPDATE SET body = excluded.body, state = 'pending', code = NULL,
       instance = ifnull(excluded.instance, instance),
       in_doubt = max(in_doubt, state = 'pending'),
       first_sent_at = CASE state WHEN 'refused' THEN excluded.first_sent_at ELSE first_sent_at END,
       updated_at = excluded.updated_at
       WHERE state <> 'created'`,
    ),
    select: connection.prepare<[string], EntryRow>(`SELECT ${COLUMNS} FROM entries WHERE key = ?`),
    selectAll: connection.prepare<[], EntryRow>(`SELECT ${COLUMNS} FROM entries ORDER BY first_sent_at, key`),
    // A late refusal must not replace a known checkout, and settles an entry in doubt only if the refusal proves that
    // nothing was created.
    update: connection.prepare<SettledEntry>(
      `UPDATE entries SET state = @state, checkout_id = @checkoutId, code = @code, updated_at = @now
       WHERE key = @key AND (@state = 'created' OR (state <> 'created' AND (in_doubt = 0 OR @proof = 1)))`,
    ),
    remove: connection.prepare<[string]>("DELETE FROM entries WHERE key = ?"),
  };
}

function fromRow(row: EntryRow): JournalEntry {
  return { ...row, inDoubt: row.inDoubt === 1 };
}
