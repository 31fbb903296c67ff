import type { StoreClock } from "../core/clock.ts";
import { hashKey, type Credential, type Scope } from "../core/credential.ts";
import type { Connection } from "./connection/database.ts";
import type { Scheduler } from "./connection/group-commit.ts";
import { remembered } from "./connection/remembered.ts";

type CredentialRow = {
  readonly id: string;
  readonly store_id: string;
  readonly scopes: string;
  readonly clock_offset: number;
  readonly clock_frozen_at: number | null;
};

type KeyRow = { readonly id: string; readonly last_four: string; readonly scopes: string };

/** What may be shown of an API key. */
export type ShownKey = Pick<Credential, "id" | "scopes"> & { readonly lastFour: string };

/** The DDL of API keys. */
export const CREDENTIALS_DDL = `
CREATE TABLE credentials (
  id         TEXT PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  key_hash   TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
  last_four  TEXT NOT NULL CHECK (length(last_four) = 4),
  scopes     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
`;

/** API keys, as hashes (interface 24). */
export function credentialsTable(connection: Connection, scheduler: Scheduler) {
  const insert = connection.prepare<[string, string, string, string, string, number]>(
    "INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const selectByHash = connection.prepare<[string], CredentialRow>(
    `SELECT credentials.id, store_id, scopes, clock_offset, clock_frozen_at
     FROM credentials JOIN stores ON stores.id = store_id WHERE key_hash = ? AND revoked_at IS NULL`,
  );
  const selectOf = connection.prepare<[string], KeyRow>(
    "SELECT id, last_four, scopes FROM credentials WHERE store_id = ? AND revoked_at IS NULL ORDER BY created_at, id",
  );

  return {
    insert: (credential: Credential & { keyHash: string; lastFour: string; createdAt: number }): void => {
      const { id, storeId, keyHash, lastFour, scopes, createdAt } = credential;
      insert.run(id, storeId, keyHash, lastFour, scopes.join(" "), createdAt);
    },

    /** The credential of an API key and the clock of its store, unless the key is unknown or revoked. */
    byApiKey: remembered(scheduler, (apiKey): (Credential & { readonly clock: StoreClock }) | undefined => {
      const row = selectByHash.get(hashKey(apiKey));
      if (row === undefined) return undefined;
      const clock = { offsetMs: row.clock_offset, frozenAt: row.clock_frozen_at };
      return { id: row.id, storeId: row.store_id, scopes: scopesOf(row), clock };
    }),

    /** The keys of a store that are not revoked, oldest first. */
    of: (storeId: string): ShownKey[] =>
      selectOf.all(storeId).map((row) => ({ id: row.id, lastFour: row.last_four, scopes: scopesOf(row) })),
  };
}

/** Only `insert` above writes scopes, and it takes them typed. */
function scopesOf({ scopes }: { readonly scopes: string }): Scope[] {
  return scopes.split(" ").filter(Boolean) as Scope[];
}
