import type { SealedSecret } from "../../core/sealed-secret.ts";
import type { Connection } from "../connection/database.ts";

type SecretRow = {
  readonly id: string;
  readonly store_id: string;
  readonly nonce: Buffer;
  readonly sealed: Buffer;
};

/** Whose a secret is, and its times: milliseconds by the store's clock. */
type SecretPlace = {
  readonly createdAt: number;
  /** Null for the secret of the store itself. */
  readonly endpointId: string | null;
  /** When it stops to be used; null while no end is set. */
  readonly retiredAt: number | null;
};

/** The DDL of signing secrets. */
export const SIGNING_SECRETS_DDL = `
CREATE TABLE signing_secrets (
  id          TEXT PRIMARY KEY,
  store_id    TEXT NOT NULL REFERENCES stores (id),
  nonce       BLOB NOT NULL UNIQUE CHECK (length(nonce) = 12),
  sealed      BLOB NOT NULL CHECK (length(sealed) > 16),
  created_at  INTEGER NOT NULL,
  retired_at  INTEGER,
  -- Without an endpoint a secret is the store's own: endpoints that have none of their own sign with it.
  endpoint_id TEXT REFERENCES endpoints (id)
) STRICT;
CREATE INDEX signing_secrets_of_endpoint ON signing_secrets (endpoint_id) WHERE endpoint_id IS NOT NULL;
`;

/** Signing secrets, sealed with the master key (decision 16). */
export function signingSecretsTable(connection: Connection) {
  const insert = connection.prepare<
    [string, string, string | null, Uint8Array, Uint8Array, number, number | null]
  >(
    `INSERT INTO signing_secrets (id, store_id, endpoint_id, nonce, sealed, created_at, retired_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const retire = connection.prepare<[number, string, number]>(
    "UPDATE signing_secrets SET retired_at = ? WHERE endpoint_id = ? AND (retired_at IS NULL OR retired_at > ?)",
  );
  const selectOfEndpoint = connection.prepare<[string], SecretRow & { readonly retired_at: number | null }>(
    `SELECT id, store_id, nonce, sealed, retired_at FROM signing_secrets WHERE endpoint_id = ?
     ORDER BY rowid DESC`,
  );
  const selectCurrent = connection.prepare<[string], SecretRow>(
    `SELECT id, store_id, nonce, sealed FROM signing_secrets
     WHERE store_id = ? AND endpoint_id IS NULL AND retired_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1`,
  );

  return {
    /** Adds a secret of the store, or of one endpoint; with `retiredAt` one that is on its way out. */
    insert: (secret: SealedSecret, { createdAt, endpointId, retiredAt }: SecretPlace): void => {
      insert.run(secret.id, secret.storeId, endpointId, secret.nonce, secret.sealed, createdAt, retiredAt);
    },

    /** The newest secret of a store that is in use. */
    current: (storeId: string): SealedSecret | undefined => {
      const row = selectCurrent.get(storeId);
      return row && fromRow(row);
    },

    /** The secrets that an endpoint has had, newest first; none where it signs with its store's. */
    ofEndpoint: (endpointId: string): (SealedSecret & { readonly retiredAt: number | null })[] =>
      selectOfEndpoint
        .all(endpointId)
        .map((row) => Object.assign(fromRow(row), { retiredAt: row.retired_at })),

    /** Lets all secrets that an endpoint signs with end at a moment, those that end before it excepted. */
    retire: (endpointId: string, at: number): void => {
      retire.run(at, endpointId, at);
    },
  };
}

function fromRow(row: SecretRow): SealedSecret {
  return { id: row.id, storeId: row.store_id, nonce: row.nonce, sealed: row.sealed };
}
