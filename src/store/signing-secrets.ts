import type { SealedSecret } from "../core/sealed-secret.ts";
import type { Connection } from "./database.ts";

type SecretRow = {
  readonly id: string;
  readonly store_id: string;
  readonly nonce: Buffer;
  readonly sealed: Buffer;
};

/** Signing secrets, sealed with the master key (decision 16). */
export function signingSecretsTable(connection: Connection) {
  const insert = connection.prepare<[string, string, Uint8Array, Uint8Array, number]>(
    "INSERT INTO signing_secrets (id, store_id, nonce, sealed, created_at) VALUES (?, ?, ?, ?, ?)",
  );
  const selectCurrent = connection.prepare<[string], SecretRow>(
    `SELECT id, store_id, nonce, sealed FROM signing_secrets
     WHERE store_id = ? AND retired_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1`,
  );

  return {
    insert: (secret: SealedSecret, createdAt: number): void => {
      insert.run(secret.id, secret.storeId, secret.nonce, secret.sealed, createdAt);
    },

    /** The newest secret of a store that is in use. */
    current: (storeId: string): SealedSecret | undefined => {
      const row = selectCurrent.get(storeId);
      return row && { id: row.id, storeId: row.store_id, nonce: row.nonce, sealed: row.sealed };
    },
  };
}
