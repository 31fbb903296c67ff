import type { Endpoint, EndpointState } from "../../core/webhook/endpoint.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import type { Scheduler } from "../connection/group-commit.ts";
import { cacheBriefly } from "../connection/remembered.ts";

type Row<Value> = Omit<Value, "eventTypes" | "inOrder"> & {
  readonly eventTypes: string;
  readonly inOrder: number;
};
type Removal = { readonly removedAt: number | null };
type EndpointRow = Row<Endpoint & Removal>;
type EndpointSettings = Pick<Endpoint, "url" | "eventTypes" | "inOrder" | "ca">;

export const ENDPOINTS_DDL = `
CREATE TABLE endpoints (
  id            TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id      TEXT NOT NULL REFERENCES stores (id),
  kind          TEXT NOT NULL CHECK (kind IN ('url', 'listener')),
  url           TEXT NOT NULL CHECK (url GLOB 'http*://*'),
  event_types   TEXT NOT NULL,
  -- 1 if it gets one delivery at a time.
  in_order      INTEGER NOT NULL DEFAULT 0 CHECK (in_order IN (0, 1)),
  state         TEXT NOT NULL CHECK (state IN ('enabled', 'paused', 'disabled')),
  reason        TEXT,
  failing_since INTEGER,
  created_at    INTEGER NOT NULL,
  removed_at    INTEGER
) STRICT;
-- Includes removed endpoints, because their deliveries are listed.
CREATE INDEX endpoints_of_store ON endpoints (store_id);
`;

export const ENDPOINT_CA_DDL = `
ALTER TABLE endpoints ADD COLUMN ca TEXT;
`;

export const ENDPOINT_REASONS_DDL = `
UPDATE endpoints SET reason = CASE reason
  WHEN 'it was switched off' THEN 'switched_off'
  WHEN 'it was removed' THEN 'removed'
  WHEN 'it answered 410 Gone' THEN 'gone'
  WHEN 'no delivery succeeded for 120 hours' THEN 'no_success'
  WHEN 'its listener went away' THEN 'listener_disconnected'
  ELSE reason END
WHERE reason IS NOT NULL;
`;

const COLUMNS = columnsOf<Endpoint & Removal>("endpoints", ENDPOINTS_DDL + ENDPOINT_CA_DDL);

export function endpointsTable(connection: Connection, scheduler: Scheduler) {
  const insert = connection.prepare<EndpointRow>(`INSERT INTO endpoints ${COLUMNS.values}`);
  const select = connection.prepare<[string], EndpointRow>(
    `SELECT ${COLUMNS.select} FROM endpoints WHERE id = ? AND removed_at IS NULL`,
  );
  const selectOf = connection.prepare<[string], EndpointRow>(
    `SELECT ${COLUMNS.select} FROM endpoints WHERE store_id = ? AND removed_at IS NULL ORDER BY created_at, id`,
  );
  const updateState = connection.prepare<Pick<Endpoint, "id" | "state" | "reason">>(
    "UPDATE endpoints SET state = @state, reason = @reason, failing_since = NULL WHERE id = @id",
  );
  const updateFailingSince = connection.prepare<Pick<Endpoint, "id" | "failingSince">>(
    "UPDATE endpoints SET failing_since = @failingSince WHERE id = @id",
  );
  const updateSettings = connection.prepare<Row<Pick<Endpoint, "id"> & EndpointSettings>>(
    "UPDATE endpoints SET url = @url, event_types = @eventTypes, in_order = @inOrder, ca = @ca WHERE id = @id",
  );
  const updateRemovedAt = connection.prepare<Pick<Endpoint, "id"> & Removal>(
    "UPDATE endpoints SET removed_at = @removedAt WHERE id = @id",
  );

  const of = cacheBriefly(scheduler, (storeId): readonly Endpoint[] => selectOf.all(storeId).map(fromRow));

  return {
    insert: (endpoint: Endpoint): void => {
      of.forget();
      insert.run({ ...toRow(endpoint), removedAt: null });
    },

    find: (id: string): Endpoint | undefined => {
      const row = select.get(id);
      return row && fromRow(row);
    },

    of,

    setState: (id: string, state: EndpointState, reason: string | null): void => {
      of.forget();
      updateState.run({ id, state, reason });
    },

    setFailingSince: (id: string, failingSince: number | null): void => {
      of.forget();
      updateFailingSince.run({ id, failingSince });
    },

    setSettings: (id: string, { url, eventTypes, inOrder, ca }: EndpointSettings): void => {
      of.forget();
      updateSettings.run(toRow({ id, url, eventTypes, inOrder, ca }));
    },

    remove: (id: string, removedAt: number): void => {
      of.forget();
      updateRemovedAt.run({ id, removedAt });
    },
  };
}

function toRow<Value extends Pick<Endpoint, "eventTypes" | "inOrder">>(value: Value): Row<Value> {
  return { ...value, eventTypes: value.eventTypes.join(" "), inOrder: Number(value.inOrder) };
}

function fromRow({ removedAt: _removedAt, ...row }: EndpointRow): Endpoint {
  return { ...row, eventTypes: row.eventTypes.split(" "), inOrder: row.inOrder === 1 };
}
