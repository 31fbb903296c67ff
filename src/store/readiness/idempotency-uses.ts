import type { Connection } from "../connection/connection.ts";
import type { KeyUseFact } from "../../core/readiness/shapes.ts";

export type IdempotencyUse = KeyUseFact & {
  readonly storeId: string;
  /** `replayed`: the same request again, answered with the same bytes. `refused`: another request with the same key. */
  readonly kind: "replayed" | "refused";
};

export const IDEMPOTENCY_USES_DDL = `
CREATE TABLE idempotency_uses (
  position   INTEGER PRIMARY KEY,
  store_id   TEXT NOT NULL REFERENCES stores (id),
  key        TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('replayed', 'refused')),
  request_id TEXT NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_uses_of_store ON idempotency_uses (store_id, kind, at);
`;

export function idempotencyUsesTable(connection: Connection) {
  const insert = connection.prepare<IdempotencyUse>(
    `INSERT INTO idempotency_uses (store_id, key, kind, request_id, at)
     VALUES (@storeId, @key, @kind, @requestId, @at)`,
  );
  const selectLatest = connection.prepare<Pick<IdempotencyUse, "storeId" | "kind">, IdempotencyUse>(
    `SELECT store_id AS storeId, key, kind, request_id AS requestId, at FROM idempotency_uses
     WHERE store_id = @storeId AND kind = @kind ORDER BY position DESC LIMIT 1`,
  );
  return {
    insert: (use: IdempotencyUse): void => {
      insert.run(use);
    },

    latest: (storeId: string, kind: IdempotencyUse["kind"]): IdempotencyUse | undefined =>
      selectLatest.get({ storeId, kind }),
  };
}
