import type { TokenEntry } from "../core/store/shapes.ts";
import type { Connection } from "./connection/connection.ts";

/** Times are milliseconds by the real clock: a store's clock can be moved, and must not extend a token. */
export type NewToken = Omit<TokenEntry, "usedAt" | "revokedAt"> & {
  readonly hash: string;
  readonly sessionMs: number | null;
  readonly linkId: string | null;
};

export const TOKENS_DDL = `
CREATE TABLE tokens (
  id         TEXT PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  kind       TEXT NOT NULL CHECK (kind IN ('token', 'link', 'session')),
  role       TEXT NOT NULL CHECK (role IN ('store', 'viewer')),
  hash       TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
  session_ms INTEGER CHECK (session_ms > 0),
  link_id    TEXT REFERENCES tokens (id),
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER,
  revoked_at INTEGER,
  CHECK ((kind = 'link') = (session_ms IS NOT NULL)),
  CHECK ((kind = 'session') = (link_id IS NOT NULL))
) STRICT;
CREATE INDEX tokens_of_store ON tokens (store_id, created_at);
CREATE INDEX tokens_of_link ON tokens (link_id) WHERE link_id IS NOT NULL;
CREATE TRIGGER tokens_keep_their_rights
  BEFORE UPDATE OF id, store_id, kind, role, hash, session_ms, link_id, created_at, expires_at ON tokens
  BEGIN SELECT RAISE(ABORT, 'a token keeps its rights'); END;
CREATE TRIGGER revoked_tokens_are_final BEFORE UPDATE OF revoked_at ON tokens WHEN OLD.revoked_at IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'a revoked token stays revoked'); END;
CREATE TRIGGER tokens_are_kept BEFORE DELETE ON tokens
  WHEN NOT EXISTS (SELECT 1 FROM resets WHERE store_id = OLD.store_id)
  BEGIN SELECT RAISE(ABORT, 'tokens are kept as long as their store'); END;
`;

const COLUMNS = `id AS tokenId, store_id AS storeId, kind, role, created_at AS createdAt, expires_at AS expiresAt, used_at AS usedAt,
  revoked_at AS revokedAt`;

export function tokensTable(connection: Connection) {
  const insert = connection.prepare<NewToken>(
    `INSERT INTO tokens (id, store_id, kind, role, hash, session_ms, link_id, created_at, expires_at)
     VALUES (@tokenId, @storeId, @kind, @role, @hash, @sessionMs, @linkId, @createdAt, @expiresAt)`,
  );
  const selectByHash = connection.prepare<[string], TokenEntry & Pick<NewToken, "sessionMs">>(
    `SELECT ${COLUMNS}, session_ms AS sessionMs FROM tokens WHERE hash = ?`,
  );
  const select = connection.prepare<[string], TokenEntry>(`SELECT ${COLUMNS} FROM tokens WHERE id = ?`);
  const selectOf = connection.prepare<[string], TokenEntry>(
    `SELECT ${COLUMNS} FROM tokens WHERE store_id = ? ORDER BY created_at, id`,
  );
  const use = connection.prepare<[at: number, id: string]>("UPDATE tokens SET used_at = ? WHERE id = ?");
  const revoke = connection.prepare<{ readonly id: string; readonly at: number }>(
    "UPDATE tokens SET revoked_at = @at WHERE (id = @id OR link_id = @id) AND revoked_at IS NULL",
  );
  return {
    insert: (token: NewToken): void => void insert.run(token),
    byHash: (hash: string) => selectByHash.get(hash),
    find: (id: string): TokenEntry | undefined => select.get(id),
    /** Oldest first, including revoked and expired tokens. */
    of: (storeId: string): TokenEntry[] => selectOf.all(storeId),
    recordUse: (id: string, at: number): void => void use.run(at, id),
    revoke: (id: string, at: number): void => void revoke.run({ id, at }),
  };
}
