import { IDEMPOTENCY_RETENTION_MS, type StoredResponse } from "../../core/checkout/idempotency-key.ts";
import type { Connection } from "../connection/database.ts";

/** The DDL of idempotency keys. */
export const IDEMPOTENCY_KEYS_DDL = `
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
`;

/** The answers that keys are bound to (decision 5). */
export function idempotencyKeysTable(connection: Connection) {
  const insert = connection.prepare<[string, string, string, number, string, string, string, number]>(
    `INSERT INTO idempotency_keys (store_id, key, fingerprint, status, request_id, body, checkout_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const select = connection.prepare<[string, string], StoredResponse & { readonly createdAt: number }>(
    `SELECT fingerprint, status, request_id AS requestId, body, created_at AS createdAt FROM idempotency_keys
     WHERE store_id = ? AND key = ?`,
  );
  const remove = connection.prepare<[string, string]>(
    "DELETE FROM idempotency_keys WHERE store_id = ? AND key = ?",
  );

  return {
    /** Binds a key to its answer. */
    insert: (
      record: { storeId: string; key: string; checkoutId: string; response: StoredResponse },
      now: number,
    ): void => {
      const { storeId, key, checkoutId, response } = record;
      const { fingerprint, status, requestId, body } = response;
      insert.run(storeId, key, fingerprint, status, requestId, body, checkoutId, now);
    },

    /** Takes the answer of a key; one past its 30 days is removed, as if the key was never used. */
    take: (storeId: string, key: string, now: number): StoredResponse | undefined => {
      const row = select.get(storeId, key);
      if (row === undefined || row.createdAt > now - IDEMPOTENCY_RETENTION_MS) return row;
      remove.run(storeId, key);
      return undefined;
    },
  };
}
