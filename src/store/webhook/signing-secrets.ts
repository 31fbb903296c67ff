import type { SealedSecret } from "../../core/webhook/sealed-secret.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { Scheduler } from "../connection/group-commit.ts";
import { cacheBriefly } from "../connection/remembered.ts";

type SecretFacts = {
  readonly createdAt: number;
  /** Null for the store's own secret. */
  readonly endpointId: string | null;
  readonly retiredAt: number | null;
};

type OwnedSecret = SealedSecret & SecretFacts;

export const SIGNING_SECRETS_DDL = `
CREATE TABLE signing_secrets (
  id          TEXT PRIMARY KEY,
  store_id    TEXT NOT NULL REFERENCES stores (id),
  nonce       BLOB NOT NULL UNIQUE CHECK (length(nonce) = 12),
  sealed      BLOB NOT NULL CHECK (length(sealed) > 16),
  created_at  INTEGER NOT NULL,
  retired_at  INTEGER,
  -- Null for the store's own secret: endpoints without a secret of their own sign with it.
  endpoint_id TEXT REFERENCES endpoints (id)
) STRICT;
CREATE INDEX signing_secrets_of_endpoint ON signing_secrets (endpoint_id) WHERE endpoint_id IS NOT NULL;
CREATE INDEX signing_secrets_of_store ON signing_secrets (store_id);
`;

const COLUMNS = columnsOf<OwnedSecret>("signing_secrets", SIGNING_SECRETS_DDL);

/** Secrets are encrypted with the master key (decision 16). Cached, because every delivery reads them. */
export function signingSecretsTable(connection: Connection, scheduler: Scheduler) {
  const insert = connection.prepare<OwnedSecret>(`INSERT INTO signing_secrets ${COLUMNS.values}`);
  const retire = connection.prepare<{ readonly endpointId: string; readonly at: number }>(
    `UPDATE signing_secrets SET retired_at = @at
     WHERE endpoint_id = @endpointId AND (retired_at IS NULL OR retired_at > @at)`,
  );
  const selectOfEndpoint = connection.prepare<[string], OwnedSecret>(
    `SELECT ${COLUMNS.select} FROM signing_secrets WHERE endpoint_id = ? ORDER BY rowid DESC`,
  );
  const selectCurrent = connection.prepare<[string], SealedSecret>(
    `SELECT ${COLUMNS.pick("id", "storeId", "nonce", "sealed")} FROM signing_secrets
     WHERE store_id = ? AND endpoint_id IS NULL AND retired_at IS NULL ORDER BY created_at DESC, id DESC LIMIT 1`,
  );

  const ofEndpoint = cacheBriefly(scheduler, (id): readonly OwnedSecret[] => selectOfEndpoint.all(id));
  const currentSecret = cacheBriefly(scheduler, (id): SealedSecret | undefined => selectCurrent.get(id));
  const forget = (): void => [ofEndpoint, currentSecret].forEach((cache) => cache.forget());

  return {
    insert: (secret: SealedSecret, facts: SecretFacts): void => {
      forget();
      insert.run({ ...secret, ...facts });
    },

    currentSecret,

    /** Newest first; empty if the endpoint signs with its store's secret. */
    ofEndpoint,

    /** Call after other code has changed the rows. */
    forget,

    retire: (endpointId: string, at: number): void => {
      forget();
      retire.run({ endpointId, at });
    },
  };
}
