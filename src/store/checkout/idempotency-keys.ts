import { IDEMPOTENCY_RETENTION_MS, type StoredResponse } from "../../core/checkout/idempotency-key.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";

type BoundKey = StoredResponse & KeyReference & { readonly checkoutId: string; readonly createdAt: number };
type BoundAnswer = StoredResponse & Pick<BoundKey, "checkoutId" | "createdAt">;
type KeyReference = { readonly storeId: string; readonly key: string };
export type StoredAnswer = Pick<BoundKey, "key" | "fingerprint" | "requestId" | "body">;

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
CREATE INDEX idempotency_keys_of_checkout ON idempotency_keys (checkout_id);
CREATE TRIGGER idempotency_keys_are_immutable BEFORE UPDATE ON idempotency_keys
  BEGIN SELECT RAISE(ABORT, 'an idempotency key keeps its first answer'); END;
`;

const COLUMNS = columnsOf<BoundKey>("idempotency_keys", IDEMPOTENCY_KEYS_DDL);

export function idempotencyKeysTable(connection: Connection) {
  const insert = connection.prepare<BoundKey>(`INSERT INTO idempotency_keys ${COLUMNS.values}`);
  const select = connection.prepare<[string, string], BoundAnswer>(
    `SELECT ${COLUMNS.pick("fingerprint", "status", "requestId", "body", "checkoutId", "createdAt")} FROM idempotency_keys WHERE store_id = ? AND key = ?`,
  );
  const remove = connection.prepare<KeyReference>(
    "DELETE FROM idempotency_keys WHERE store_id = @storeId AND key = @key",
  );

  const selectOfCheckout = connection.prepare<[string], StoredAnswer>(
    `SELECT ${COLUMNS.pick("key", "fingerprint", "requestId", "body")} FROM idempotency_keys INDEXED BY idempotency_keys_of_checkout
       WHERE checkout_id = ?`,
  );

  return {
    insert: (key: BoundKey): void => void insert.run(key),

    /** Deletes a key older than `IDEMPOTENCY_RETENTION_MS` and returns undefined, so that the key can be used again. */
    findAnswer: (storeId: string, key: string, now: number): StoredResponse | undefined => {
      const row = select.get(storeId, key);
      if (row === undefined || row.createdAt > now - IDEMPOTENCY_RETENTION_MS) return row;
      remove.run({ storeId, key });
      return undefined;
    },

    checkoutIdOf: (storeId: string, key: string): string | undefined => select.get(storeId, key)?.checkoutId,

    ofCheckout: (checkoutId: string): StoredAnswer[] => selectOfCheckout.all(checkoutId),
  };
}
