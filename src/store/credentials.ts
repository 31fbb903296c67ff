import type { Credential, Scope } from "../core/credential.ts";
import type { Connection } from "./database.ts";

type CredentialRow = { readonly id: string; readonly store_id: string; readonly scopes: string };

/** API keys, as hashes (interface: Authentication rule 3). */
export function credentialsTable(connection: Connection) {
  const insert = connection.prepare<[string, string, string, string, string, number]>(
    "INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const selectByHash = connection.prepare<[string], CredentialRow>(
    "SELECT id, store_id, scopes FROM credentials WHERE key_hash = ? AND revoked_at IS NULL",
  );

  return {
    insert: (credential: Credential & { keyHash: string; lastFour: string; createdAt: number }): void => {
      const { id, storeId, keyHash, lastFour, scopes, createdAt } = credential;
      insert.run(id, storeId, keyHash, lastFour, scopes.join(" "), createdAt);
    },

    /** The credential with this hash, unless it is unknown or revoked. */
    byKeyHash: (keyHash: string): Credential | undefined => {
      const row = selectByHash.get(keyHash);
      if (row === undefined) return undefined;
      // Only `insert` above writes scopes, and it takes them typed.
      return { id: row.id, storeId: row.store_id, scopes: row.scopes.split(" ").filter(Boolean) as Scope[] };
    },
  };
}
