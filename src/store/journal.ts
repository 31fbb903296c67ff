import { chooseKey, type Intent, type Journal, type JournalEntry, type Settlement } from "../core/journal.ts";
import type { LogicalCreate } from "../core/idempotency.ts";
import { accept, type Outcome } from "../core/outcome.ts";
import { openDatabase, type Connection, type FileKind, type FileRefusal } from "./database.ts";

type EntryRow = {
  readonly key: string;
  readonly service: string;
  readonly store_id: string | null;
  readonly endpoint: string;
  readonly order_id: string;
  readonly attempt: number | null;
  readonly body: string;
  readonly state: JournalEntry["state"];
  readonly checkout_id: string | null;
  readonly code: string | null;
  readonly first_sent_at: number;
  readonly updated_at: number;
};

const ENTRIES = `
CREATE TABLE entries (
  key           TEXT PRIMARY KEY CHECK (length(key) BETWEEN 8 AND 128),
  service      TEXT NOT NULL,
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

/** The kind of `journal.db`: "ckJL" in its header. */
const JOURNAL_FILE: FileKind = {
  name: "checkout journal",
  applicationId: 0x636b4a4c,
  migrations: [ENTRIES],
};

const COLUMNS =
  "key, service, store_id, endpoint, order_id, attempt, body, state, checkout_id, code, first_sent_at, updated_at";

/** Opens the client's journal, making it if it is not there. */
export function openJournal(path: string, nativeBinding?: string): Outcome<Journal, FileRefusal> {
  const opened = openDatabase(path, { kind: JOURNAL_FILE, nativeBinding });
  return opened.ok ? accept(journal(opened.value)) : opened;
}

function journal(connection: Connection): Journal {
  // An attempt that was refused made nothing: what a repeated command means is the one before it.
  const selectLatest = connection.prepare<[string, string | null, string, string], { latest: number | null }>(
    `SELECT max(attempt) AS latest FROM entries
     WHERE service = ? AND store_id IS ? AND endpoint = ? AND order_id = ? AND state <> 'refused'`,
  );
  // A key that is sent again after a refusal is pending again; when it was first sent is kept.
  const upsert = connection.prepare<EntryRow>(
    `INSERT INTO entries (${COLUMNS}) VALUES (@key, @service, @store_id, @endpoint, @order_id, @attempt, @body, @state,
     @checkout_id, @code, @first_sent_at, @updated_at)
     ON CONFLICT (key) DO UPDATE SET body = excluded.body, state = 'pending', code = NULL,
     in_doubt = max(in_doubt, state = 'pending'), updated_at = excluded.updated_at
     WHERE state <> 'created'`,
  );
  const select = connection.prepare<[string], EntryRow>(`SELECT ${COLUMNS} FROM entries WHERE key = ?`);
  const selectAll = connection.prepare<[], EntryRow>(
    `SELECT ${COLUMNS} FROM entries ORDER BY first_sent_at, key`,
  );
  // An answer that came late must not turn a known checkout into a refusal, nor a refusal take away a doubt.
  const update = connection.prepare<Settlement & { readonly key: string; readonly now: number }>(
    `UPDATE entries SET state = @state, checkout_id = @checkoutId, code = @code, updated_at = @now
     WHERE key = @key AND state <> 'created' AND (in_doubt = 0 OR @state = 'created')`,
  );
  const remove = connection.prepare<[string]>("DELETE FROM entries WHERE key = ?");

  const latestAttempt = (create: Omit<LogicalCreate, "attempt">): number | undefined =>
    selectLatest.get(create.service, create.storeId, create.endpoint, create.orderId)?.latest ?? undefined;

  const begin = connection.transaction((intent: Intent, body: string, now: number): JournalEntry => {
    const chosen = chooseKey(intent, latestAttempt(intent));
    upsert.run({
      ...chosen,
      service: intent.service,
      store_id: intent.storeId,
      endpoint: intent.endpoint,
      order_id: intent.orderId,
      body,
      state: "pending",
      checkout_id: null,
      code: null,
      first_sent_at: now,
      updated_at: now,
    });
    const row = select.get(chosen.key);
    if (row === undefined) throw new Error(`the journal lost ${chosen.key}`);
    return fromRow(row);
  });

  return {
    latestAttempt,
    begin: (intent, body, now) => begin.immediate(intent, body, now),
    settle: (key, settlement, now) => {
      update.run({ ...settlement, key, now });
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
    checkoutId: row.checkout_id,
    code: row.code,
    firstSentAt: row.first_sent_at,
    updatedAt: row.updated_at,
  };
}
