import { IDEMPOTENCY_RETENTION_MS, type StoredResponse } from "../core/idempotency.ts";
import type { Connection } from "./database.ts";

/** The answers that keys are bound to (decision 5). */
export function idempotencyKeysTable(connection: Connection) {
  const insert = connection.prepare<[string, string, string, number, string, string, string, number]>(
    `INSERT INTO idempotency_keys (store_id, key, fingerprint, status, request_id, body, checkout_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const select = connection.prepare<[string, string, number], StoredResponse>(
    `SELECT fingerprint, status, request_id AS requestId, body FROM idempotency_keys
     WHERE store_id = ? AND key = ? AND created_at > ?`,
  );
  const deleteOld = connection.prepare<[string, string, number]>(
    "DELETE FROM idempotency_keys WHERE store_id = ? AND key = ? AND created_at <= ?",
  );

  return {
    /** Binds a key to its answer for 30 days; an answer past that age makes room. */
    insert: (
      record: { storeId: string; key: string; checkoutId: string; response: StoredResponse },
      now: number,
    ): void => {
      const { storeId, key, checkoutId, response } = record;
      deleteOld.run(storeId, key, now - IDEMPOTENCY_RETENTION_MS);
      const { fingerprint, status, requestId, body } = response;
      insert.run(storeId, key, fingerprint, status, requestId, body, checkoutId, now);
    },

    /** The answer of a key, unless it was never used or is past its age. */
    find: (storeId: string, key: string, now: number): StoredResponse | undefined =>
      select.get(storeId, key, now - IDEMPOTENCY_RETENTION_MS),
  };
}
