import type { Connection } from "../connection/connection.ts";

/** The due deliveries of one checkout to one endpoint; for an event without a checkout, the deliveries of the event. */
export type DeliveryQueue = {
  readonly endpointId: string;
  readonly checkoutId: string | null;
  readonly eventId: string;
};

const QUEUE = "coalesce(checkout_id, event_id)";
/** The order within a queue: ordered deliveries by the sequence of their events, all others by their due time. */
const PLACE = "CASE in_order WHEN 1 THEN sequence ELSE next_at END";

/** SQL condition for the deliveries of a queue that are sent in the order of their events. */
export const IS_ORDERED_IN_QUEUE = `endpoint_id = @endpointId AND ${QUEUE} = @checkoutId AND state = 'due'
  AND is_head IN (0, 1) AND in_order = 1`;

/**
 * The migration that gives each queue a head, so that the next delivery is found without reading the whole queue. The
 * head is the delivery that is sent next or is in flight; the other columns determine which delivery that is.
 */
export const DELIVERY_QUEUES_DDL = `
ALTER TABLE deliveries ADD COLUMN is_head INTEGER NOT NULL DEFAULT 0 CHECK (is_head IN (0, 1));
DROP INDEX waiting_deliveries;
CREATE INDEX queued_deliveries ON deliveries (endpoint_id, ${QUEUE}, is_head, in_order, ${PLACE}) WHERE state = 'due';
CREATE INDEX head_deliveries ON deliveries (endpoint_id, next_at) WHERE state = 'due' AND is_head = 1;
${chooseAll("TRUE")};
`;

/**
 * The migration with which a delivery writes fewer rows: one index of due deliveries has the heads first, in place of an
 * index for each.
 */
export const DUE_DELIVERIES_DDL = `
DROP INDEX due_deliveries;
DROP INDEX head_deliveries;
CREATE INDEX due_deliveries ON deliveries (endpoint_id, is_head, next_at) WHERE state = 'due';
`;

/** SQL that chooses the head of each queue among these rows; they must have no open attempt, and the queues no head. */
function chooseAll(ofRows: string): string {
  return `
WITH queued AS (
  SELECT rowid AS place, endpoint_id, ${QUEUE} AS queue, next_at,
    row_number() OVER (PARTITION BY endpoint_id, ${QUEUE}, in_order ORDER BY ${PLACE}, rowid) AS number
  FROM deliveries WHERE state = 'due' AND ${ofRows}
), first AS (
  SELECT place, row_number() OVER (PARTITION BY endpoint_id, queue ORDER BY next_at, place) AS number
  FROM queued WHERE number = 1
)
UPDATE deliveries SET is_head = 1 WHERE rowid IN (SELECT place FROM first WHERE number = 1)`;
}

type Candidate = {
  readonly place: number;
  readonly nextAt: number;
  readonly sequence: number;
  readonly inOrder: number;
  readonly isHead: number;
  readonly isInFlight: number;
};

/** The heads of queues. After every change of a due delivery, its queue chooses a new head. */
export function deliveryQueues(connection: Connection) {
  const candidates = [
    "is_head = 1",
    `is_head = 0 AND in_order = 1 ORDER BY ${PLACE}`,
    `is_head = 0 AND in_order = 0 ORDER BY ${PLACE}, rowid`,
  ].map(
    (which) => `SELECT * FROM (
      SELECT rowid AS place, next_at AS nextAt, sequence, in_order AS inOrder, is_head AS isHead,
        ${hasOpenAttempt("deliveries")} AS isInFlight
      FROM deliveries INDEXED BY queued_deliveries
      WHERE endpoint_id = @endpointId AND ${QUEUE} = @queue AND state = 'due' AND ${which} LIMIT 1)`,
  );
  const selectCandidates = connection.prepare<
    { readonly endpointId: string; readonly queue: string },
    Candidate
  >(candidates.join(" UNION ALL "));
  const setHead = connection.prepare<Pick<Candidate, "place" | "isHead">>(
    "UPDATE deliveries SET is_head = @isHead WHERE rowid = @place",
  );
  const selectAny = connection
    .prepare<{ readonly endpointId: string; readonly queue: string }, number>(
      `SELECT EXISTS (SELECT 1 FROM deliveries INDEXED BY queued_deliveries
       WHERE endpoint_id = @endpointId AND ${QUEUE} = @queue AND state = 'due')`,
    )
    .pluck();
  return {
    /** Whether a queue has no due delivery: the next one begins as its head. */
    isEmpty: ({ endpointId, checkoutId, eventId }: DeliveryQueue): boolean =>
      selectAny.get({ endpointId, queue: checkoutId ?? eventId }) === 0,

    /** Makes the next delivery of a queue its head. A delivery in flight stays the head. */
    choose: ({ endpointId, checkoutId, eventId }: DeliveryQueue): void => {
      const found = selectCandidates.all({ endpointId, queue: checkoutId ?? eventId });
      const head = found.find(({ isHead }) => isHead === 1);
      if (head?.isInFlight === 1) return;
      const next = nextOf(found);
      if (next === undefined || next === head) return;
      if (head !== undefined) setHead.run({ place: head.place, isHead: 0 });
      setHead.run({ place: next.place, isHead: 1 });
    },
  };
}

/** The candidate that is due first; of the ordered deliveries, only the first in sequence counts. */
function nextOf(found: readonly Candidate[]): Candidate | undefined {
  const [first] = found
    .filter(({ inOrder }) => inOrder === 1)
    .toSorted((one, other) => one.sequence - other.sequence);
  return found
    .filter((one) => one.inOrder === 0 || one === first)
    .toSorted((one, other) => one.nextAt - other.nextAt || one.place - other.place)[0];
}

/** Chooses the heads of all queues of a store whose rows were restored, none of them in flight. */
export function chooseHeads(connection: Connection, storeId: string): void {
  connection
    .prepare("UPDATE deliveries SET is_head = 0 WHERE store_id = ? AND state = 'due' AND is_head = 1")
    .run(storeId);
  connection.prepare(chooseAll("store_id = ?")).run(storeId);
}

/** The SQL condition that the delivery with this alias has an attempt without a recorded result. */
export function hasOpenAttempt(delivery: string): string {
  return `EXISTS (SELECT 1 FROM delivery_attempts AS open WHERE open.delivery_id = ${delivery}.id AND open.finished_at IS NULL)`;
}
