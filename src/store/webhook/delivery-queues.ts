import type { Connection } from "../connection/connection.ts";

type DeliveryQueue = {
  readonly endpointId: string;
  readonly checkoutId: string | null;
  readonly eventId: string;
};

const QUEUE_KEY = "coalesce(checkout_id, event_id)";
const QUEUE_PLACE = "CASE in_order WHEN 1 THEN sequence ELSE next_at END";

export const DELIVERY_QUEUES_DDL = `
ALTER TABLE deliveries ADD COLUMN is_head INTEGER NOT NULL DEFAULT 0 CHECK (is_head IN (0, 1));
DROP INDEX waiting_deliveries;
CREATE INDEX queued_deliveries ON deliveries (endpoint_id, ${QUEUE_KEY}, is_head, in_order, ${QUEUE_PLACE}) WHERE state = 'due';
CREATE INDEX head_deliveries ON deliveries (endpoint_id, next_at) WHERE state = 'due' AND is_head = 1;

WITH queued AS (
  SELECT rowid AS place, endpoint_id, ${QUEUE_KEY} AS queue, next_at,
    row_number() OVER (PARTITION BY endpoint_id, ${QUEUE_KEY}, in_order ORDER BY ${QUEUE_PLACE}, rowid) AS number
  FROM deliveries WHERE state = 'due' AND TRUE
), first AS (
  SELECT place, row_number() OVER (PARTITION BY endpoint_id, queue ORDER BY next_at, place) AS number
  FROM queued WHERE number = 1
)
UPDATE deliveries SET is_head = 1 WHERE rowid IN (SELECT place FROM first WHERE number = 1);
`;

export const DUE_DELIVERIES_DDL = `
DROP INDEX due_deliveries;
DROP INDEX head_deliveries;
CREATE INDEX due_deliveries ON deliveries (endpoint_id, is_head, next_at) WHERE state = 'due';
`;

const FIRST_REPLAY = `(SELECT rowid FROM deliveries INDEXED BY replays_by_time
      WHERE event_id = NEW.event_id AND endpoint_id = NEW.endpoint_id AND state = 'due' AND in_order = 0
      ORDER BY next_at, rowid LIMIT 1)`;
const QUEUE_REPLAYS = `BEGIN
    UPDATE deliveries SET is_behind = 1 WHERE rowid <> ${FIRST_REPLAY} AND rowid IN (
      SELECT rowid FROM deliveries AS queued INDEXED BY replays_of_event
      WHERE event_id = NEW.event_id AND endpoint_id = NEW.endpoint_id AND state = 'due' AND in_order = 0
        AND is_behind = 0 AND NOT ${openAttemptCondition("queued")});
    UPDATE deliveries SET is_behind = 0 WHERE rowid = ${FIRST_REPLAY} AND is_behind = 1;
  END`;

/**
 * Triggers mark replays, duplicates and postponed deliveries of an event, except the soonest, as `is_behind`, so that
 * the next delivery is found without reading a queue.
 */
export const REPLAY_QUEUES_DDL = `
ALTER TABLE deliveries ADD COLUMN is_behind INTEGER NOT NULL DEFAULT 0 CHECK (is_behind IN (0, 1));
UPDATE deliveries SET is_behind = 1 WHERE rowid IN (
  SELECT place FROM (
    SELECT rowid AS place, id, row_number() OVER (PARTITION BY event_id, endpoint_id ORDER BY next_at, rowid) AS number
    FROM deliveries WHERE state = 'due' AND in_order = 0) AS queued
  WHERE number > 1 AND NOT ${openAttemptCondition("queued")});
DROP INDEX due_deliveries;
DROP INDEX deliveries_of_event;
CREATE INDEX due_deliveries ON deliveries (endpoint_id, is_behind, next_at) WHERE state = 'due';
CREATE INDEX deliveries_of_event ON deliveries (event_id, endpoint_id, in_order);
CREATE INDEX replays_of_event ON deliveries (event_id, endpoint_id, is_behind) WHERE state = 'due' AND in_order = 0;
CREATE INDEX replays_by_time ON deliveries (event_id, endpoint_id, next_at) WHERE state = 'due' AND in_order = 0;
CREATE TRIGGER new_replays_are_queued AFTER INSERT ON deliveries WHEN NEW.state = 'due' AND NEW.in_order = 0
  ${QUEUE_REPLAYS};
CREATE TRIGGER moved_replays_are_queued AFTER UPDATE OF state, next_at, in_order ON deliveries WHEN NEW.in_order = 0
  ${QUEUE_REPLAYS};
`;

const ROWS_PER_HEAD = 3;

type QueuePosition = { readonly position: number; readonly nextAt: number };
type DueDelivery = QueuePosition & Omit<DeliveryQueue, "endpointId">;
type QueuedDelivery = QueuePosition & {
  readonly sequence: number;
  readonly inOrder: number;
  readonly isInFlight: number;
};
export function deliveryQueues(connection: Connection) {
  const selectDue = connection.prepare<
    QueuePosition & { readonly endpointId: string; readonly limit: number },
    DueDelivery
  >(
    `SELECT rowid AS position, next_at AS nextAt, checkout_id AS checkoutId, event_id AS eventId
     FROM deliveries INDEXED BY due_deliveries
     WHERE endpoint_id = @endpointId AND state = 'due' AND is_behind = 0 AND (next_at, rowid) > (@nextAt, @position)
     ORDER BY next_at, rowid LIMIT @limit`,
  );
  const columns = `queued.rowid AS position, queued.next_at AS nextAt, queued.sequence, in_order AS inOrder,
    ${openAttemptCondition("queued")} AS isInFlight`;
  const selectOfCheckout = connection.prepare<DeliveryQueue, QueuedDelivery>(
    selectDueOfEvents(columns, { events: EVENTS_OF_CHECKOUT, replays: "first" }),
  );
  const selectOfEvent = connection.prepare<DeliveryQueue, QueuedDelivery>(
    selectDueOfEvents(columns, { events: SINGLE_EVENT_SELECTION, replays: "first" }),
  );
  const headOf = (queue: DeliveryQueue): number | undefined => {
    const queuedRows = (queue.checkoutId === null ? selectOfEvent : selectOfCheckout).all(queue);
    return queuedRows.some(({ isInFlight }) => isInFlight === 1) ? undefined : firstOf(queuedRows)?.position;
  };
  return {
    heads: (endpointId: string, limit: number): readonly number[] => {
      const heads: number[] = [];
      const headsByQueue = new Map<string, number | undefined>();
      let lastPosition: QueuePosition = BEFORE_ALL;
      // One queue can have many due deliveries, so each read is twice as large as the read before.
      for (let maximum = limit * ROWS_PER_HEAD; ; maximum *= 2) {
        const dueRows = selectDue.all({ ...lastPosition, endpointId, limit: maximum });
        for (const { position, checkoutId, eventId } of dueRows) {
          const queue = checkoutId ?? eventId;
          if (!headsByQueue.has(queue)) headsByQueue.set(queue, headOf({ endpointId, checkoutId, eventId }));
          if (headsByQueue.get(queue) === position && heads.push(position) === limit) return heads;
        }
        const lastRow = dueRows.at(-1);
        if (lastRow === undefined || dueRows.length < maximum) return heads;
        lastPosition = lastRow;
      }
    },
  };
}

const BEFORE_ALL: QueuePosition = { nextAt: Number.MIN_SAFE_INTEGER, position: 0 };

function firstOf(queuedRows: readonly QueuedDelivery[]): QueuedDelivery | undefined {
  const sequences = queuedRows.flatMap(({ inOrder, sequence }) => (inOrder === 1 ? [sequence] : []));
  const lowestSequence = sequences.reduce((left, right) => Math.min(left, right), Infinity);
  return queuedRows
    .filter(({ inOrder, sequence }) => inOrder === 0 || sequence === lowestSequence)
    .toSorted((left, right) => left.nextAt - right.nextAt || left.position - right.position)[0];
}

type EventSelection = { readonly tables: string; readonly condition: string };

export const SINGLE_EVENT_SELECTION: EventSelection = {
  tables: "deliveries",
  condition: "event_id = @eventId",
};
/** A join, because SQLite copies the ids of `IN (SELECT …)` into a temporary table at each run. */
const EVENTS_OF_CHECKOUT: EventSelection = {
  tables: "events CROSS JOIN deliveries",
  condition: "events.checkout_id = @checkoutId AND event_id = events.id",
};

export function selectDueOfEvents(
  columns: string,
  {
    events: { tables, condition },
    replays,
    extraCondition = "TRUE",
  }: { readonly events: EventSelection; readonly replays: "first" | "all"; readonly extraCondition?: string },
): string {
  const parts = [
    "deliveries_of_event WHERE in_order = 1",
    `replays_of_event WHERE in_order = 0 AND is_behind ${replays === "first" ? "= 0" : "IN (0, 1)"}`,
  ];
  return parts
    .map(
      (part) => `SELECT ${columns} FROM ${tables} AS queued INDEXED BY ${part}
        AND ${condition} AND endpoint_id = @endpointId AND state = 'due' AND ${extraCondition}`,
    )
    .join(" UNION ALL ");
}

export function selectDueInOrder(columns: string, comparison: "<" | ">"): string {
  return `SELECT ${columns} FROM ${EVENTS_OF_CHECKOUT.tables} AS queued INDEXED BY deliveries_of_event
    WHERE ${EVENTS_OF_CHECKOUT.condition} AND events.sequence ${comparison} @sequence
      AND endpoint_id = @endpointId AND state = 'due' AND in_order = 1`;
}

export function openAttemptCondition(delivery: string): string {
  return `EXISTS (SELECT 1 FROM delivery_attempts AS open WHERE open.delivery_id = ${delivery}.id AND open.finished_at IS NULL)`;
}
