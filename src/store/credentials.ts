import type { StoreClock } from "../core/clock.ts";
import { hashKey, type Credential, type Scope } from "../core/credential.ts";
import type { Connection } from "./connection/connection.ts";
import type { Scheduler } from "./connection/group-commit.ts";
import { cacheBriefly } from "./connection/remembered.ts";
import type { KeyEntry } from "../core/store/shapes.ts";

export type KeySummary = Omit<KeyEntry, "keyId"> & Pick<Credential, "id">;

export type CredentialInStore = Credential & {
  readonly clock: StoreClock;
  readonly isErased: boolean;
};

type NewCredential = Credential & {
  readonly keyHash: string;
  readonly lastFour: string;
  readonly createdAt: number;
  /** The key is revoked when its drill ends. */
  readonly isForDrill?: boolean;
};
type StoredRow<Value> = Omit<Value, "scopes"> & { readonly scopes: string };

export const CREDENTIALS_DDL = `
CREATE TABLE credentials (
  id         TEXT PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  key_hash   TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
  last_four  TEXT NOT NULL CHECK (length(last_four) = 4),
  scopes     TEXT NOT NULL,
  -- 1 for a key that ends with its drill.
  for_drill  INTEGER NOT NULL DEFAULT 0 CHECK (for_drill IN (0, 1)),
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE INDEX credentials_of_store ON credentials (store_id);
`;

export function credentialsTable(connection: Connection, scheduler: Scheduler) {
  const insert = connection.prepare<
    Omit<StoredRow<NewCredential>, "isForDrill"> & { readonly forDrill: number }
  >(
    `INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, for_drill, created_at)
     VALUES (@id, @storeId, @keyHash, @lastFour, @scopes, @forDrill, @createdAt)`,
  );
  const selectByHash = connection.prepare<
    [string],
    StoredRow<Credential> & StoreClock & { readonly erased: number }
  >(
    `SELECT credentials.id, store_id AS storeId, scopes, clock_offset AS offsetMs, clock_frozen_at AS frozenAt,
       EXISTS (SELECT 1 FROM erasures WHERE erasures.store_id = stores.id) AS erased
     FROM credentials JOIN stores ON stores.id = store_id WHERE key_hash = ? AND revoked_at IS NULL`,
  );
  const selectOf = connection.prepare<[string], StoredRow<KeySummary>>(
    `SELECT id, last_four AS lastFour, scopes, created_at AS createdAt, revoked_at AS revokedAt FROM credentials
     WHERE store_id = ? AND for_drill = 0 ORDER BY created_at, id`,
  );
  const selectAnyByHash = connection.prepare<
    [string],
    { readonly storeId: string; readonly revokedAt: number | null }
  >("SELECT store_id AS storeId, revoked_at AS revokedAt FROM credentials WHERE key_hash = ?");
  const revoke = connection.prepare<{ readonly id: string; readonly at: number }>(
    "UPDATE credentials SET revoked_at = @at WHERE id = @id AND revoked_at IS NULL",
  );
  const revokeDrillKeys = connection.prepare<[number]>(
    "UPDATE credentials SET revoked_at = ? WHERE for_drill = 1 AND revoked_at IS NULL",
  );
  const byApiKey = cacheBriefly(scheduler, (apiKey): CredentialInStore | undefined => {
    const row = selectByHash.get(hashKey(apiKey));
    if (row === undefined) return undefined;
    const { id, storeId, offsetMs, frozenAt, erased } = row;
    return { id, storeId, scopes: scopesOf(row), clock: { offsetMs, frozenAt }, isErased: erased === 1 };
  });

  return {
    insert: ({ scopes, isForDrill = false, ...credential }: NewCredential): void => {
      insert.run({ ...credential, scopes: scopes.join(" "), forDrill: Number(isForDrill) });
    },

    byApiKey,

    findByHash: (keyHash: string): { readonly storeId: string; readonly isRevoked: boolean } | undefined => {
      const row = selectAnyByHash.get(keyHash);
      return row && { storeId: row.storeId, isRevoked: row.revokedAt !== null };
    },

    revoke: (id: string, at: number): void => {
      revoke.run({ id, at });
      byApiKey.forget();
    },

    revokeDrillKeys: (at: number): void => {
      revokeDrillKeys.run(at);
      byApiKey.forget();
    },

    of: (storeId: string): KeySummary[] =>
      selectOf.all(storeId).map((row) => Object.assign(row, { scopes: scopesOf(row) })),
  };
}

function scopesOf({ scopes }: { readonly scopes: string }): Scope[] {
  return scopes.split(" ").filter(Boolean) as Scope[];
}
