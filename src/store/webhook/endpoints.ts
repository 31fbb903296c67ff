import type { Endpoint, EndpointState } from "../../core/webhook/endpoint.ts";
import type { Connection } from "../connection/database.ts";
import type { Scheduler } from "../connection/group-commit.ts";
import { remembered } from "../connection/remembered.ts";

type EndpointRow = {
  readonly id: string;
  readonly store_id: string;
  readonly kind: Endpoint["kind"];
  readonly url: string;
  readonly event_types: string;
  readonly state: EndpointState;
  readonly reason: string | null;
  readonly failing_since: number | null;
  readonly created_at: number;
};

const COLUMNS = "id, store_id, kind, url, event_types, state, reason, failing_since, created_at";

/** The DDL of endpoints. */
export const ENDPOINTS_DDL = `
CREATE TABLE endpoints (
  id            TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id      TEXT NOT NULL REFERENCES stores (id),
  kind          TEXT NOT NULL CHECK (kind IN ('url', 'listener')),
  url           TEXT NOT NULL CHECK (url GLOB 'http*://*'),
  event_types   TEXT NOT NULL,
  state         TEXT NOT NULL CHECK (state IN ('enabled', 'paused', 'disabled')),
  reason        TEXT,
  failing_since INTEGER,
  created_at    INTEGER NOT NULL,
  removed_at    INTEGER
) STRICT;
CREATE INDEX endpoints_of_store ON endpoints (store_id) WHERE removed_at IS NULL;
`;

/** Where events are delivered. An endpoint that was removed stays for its audit, and is found no more. */
export function endpointsTable(connection: Connection, scheduler: Scheduler) {
  const insert = connection.prepare<(string | number | null)[]>(
    `INSERT INTO endpoints (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const select = connection.prepare<[string], EndpointRow>(
    `SELECT ${COLUMNS} FROM endpoints WHERE id = ? AND removed_at IS NULL`,
  );
  const selectOf = connection.prepare<[string], EndpointRow>(
    `SELECT ${COLUMNS} FROM endpoints WHERE store_id = ? AND removed_at IS NULL ORDER BY created_at, id`,
  );
  const updateState = connection.prepare<[EndpointState, string | null, number | null, string]>(
    "UPDATE endpoints SET state = ?, reason = ?, failing_since = ? WHERE id = ?",
  );
  const updateFailing = connection.prepare<[number | null, string]>(
    "UPDATE endpoints SET failing_since = ? WHERE id = ?",
  );
  const updateTarget = connection.prepare<[string, string, string]>(
    "UPDATE endpoints SET url = ?, event_types = ? WHERE id = ?",
  );
  const updateRemoved = connection.prepare<[number, string]>(
    "UPDATE endpoints SET removed_at = ? WHERE id = ?",
  );

  const of = remembered(scheduler, (storeId): readonly Endpoint[] => selectOf.all(storeId).map(fromKnownRow));

  return {
    insert: (endpoint: Endpoint): void => {
      of.forget();
      const { id, storeId, kind, url, eventTypes, state, reason, failingSince, createdAt } = endpoint;
      insert.run(id, storeId, kind, url, eventTypes.join(" "), state, reason, failingSince, createdAt);
    },

    find: (id: string): Endpoint | undefined => fromRow(select.get(id)),

    /** The endpoints of a store, oldest first; remembered for a moment, because every event asks. */
    of,

    /** Switches an endpoint on or off; an enabled one starts without a record of failures. */
    setState: (id: string, state: EndpointState, reason: string | null): void => {
      of.forget();
      updateState.run(state, reason, null, id);
    },

    /** Notes since when every try has failed; null after a success. */
    setFailingSince: (id: string, failingSince: number | null): void => {
      of.forget();
      updateFailing.run(failingSince, id);
    },

    setTarget: (id: string, { url, eventTypes }: Pick<Endpoint, "url" | "eventTypes">): void => {
      of.forget();
      updateTarget.run(url, eventTypes.join(" "), id);
    },

    remove: (id: string, removedAt: number): void => {
      of.forget();
      updateRemoved.run(removedAt, id);
    },
  };
}

function fromRow(row: EndpointRow | undefined): Endpoint | undefined {
  return row && fromKnownRow(row);
}

function fromKnownRow(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    storeId: row.store_id,
    kind: row.kind,
    url: row.url,
    eventTypes: row.event_types.split(" "),
    state: row.state,
    reason: row.reason,
    failingSince: row.failing_since,
    createdAt: row.created_at,
  };
}
