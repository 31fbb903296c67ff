import { DELIVERY_STATES, type DeliveryState } from "../../core/webhook/delivery.ts";
import { faultHeader, parseFaultHeader } from "../../core/fault/fault.ts";
import type { AppliedFault } from "../../core/fault/shapes.ts";
import { columnsOf } from "../connection/statements.ts";
import type { Connection } from "../connection/connection.ts";
import {
  selectDueInOrder,
  deliveryQueues,
  selectDueOfEvents,
  openAttemptCondition,
  SINGLE_EVENT_SELECTION,
} from "./delivery-queues.ts";
import { DELIVERY_TRIGGERS } from "./delivery-rows.ts";
import type { DeliveryEntry } from "../../core/webhook/shapes.ts";

export type Delivery = Omit<DeliveryEntry, "type" | "orderId" | "url" | "nextAt" | "attempts"> & {
  readonly storeId: string;
  readonly sequence: number;
  /** Whether the delivery waits for the deliveries of earlier events of its checkout (decision 13). */
  readonly inOrder: boolean;
  readonly nextAt: number;
};

export type NextDelivery = Delivery & { readonly wasAttempted: boolean };

export type DeliveryFilter = {
  readonly storeId: string;
  readonly endpointId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly checkoutId?: string | undefined;
  readonly orderId?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly limit: number;
  readonly before?: string | undefined;
};

export type WaitingFilter = Pick<Delivery, "endpointId"> & {
  readonly orderId: string | null;
  readonly since: number;
  readonly minTries: number;
  readonly now: number;
  readonly limit: number;
};

type DeliveryPage = { readonly deliveries: readonly Delivery[]; readonly nextBefore: string | null };

type PageFilter = Omit<DeliveryFilter, "eventId" | "checkoutId" | "orderId"> & {
  readonly type?: string | undefined;
};
type NewDelivery = Omit<Delivery, "state" | "tries" | "fault">;
type DeliveryRow = Omit<Delivery, "inOrder" | "fault"> & {
  readonly inOrder: number;
  readonly fault: string | null;
};
type SequencePosition = Pick<Delivery, "endpointId" | "checkoutId" | "sequence">;

export const DELIVERIES_DDL = `
CREATE TABLE deliveries (
  id          TEXT PRIMARY KEY CHECK (length(id) = 36),
  store_id    TEXT NOT NULL REFERENCES stores (id),
  endpoint_id TEXT NOT NULL REFERENCES endpoints (id),
  event_id    TEXT NOT NULL REFERENCES events (id),
  checkout_id TEXT REFERENCES checkouts (id),
  sequence    INTEGER NOT NULL,
  cause       TEXT NOT NULL CHECK (cause IN ('event', 'replay', 'duplicate')),
  -- 1 if it waits for the earlier events of its checkout.
  in_order    INTEGER NOT NULL CHECK (in_order IN (0, 1)),
  state       TEXT NOT NULL CHECK (state IN ('due', 'succeeded', 'failed', 'dropped')),
  tries       INTEGER NOT NULL DEFAULT 0,
  next_at     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  -- The fault that has held it back, dropped or doubled it.
  fault       TEXT
) STRICT;
CREATE INDEX due_deliveries ON deliveries (endpoint_id, next_at) WHERE state = 'due';
CREATE INDEX waiting_deliveries ON deliveries (endpoint_id, checkout_id, sequence) WHERE state = 'due';
CREATE INDEX deliveries_of_event ON deliveries (event_id);
CREATE INDEX deliveries_of_checkout ON deliveries (checkout_id) WHERE checkout_id IS NOT NULL;
-- For lists: the deliveries of an endpoint in one state, in the order in which they were created.
CREATE INDEX deliveries_of_endpoint ON deliveries (endpoint_id, state);
CREATE INDEX deliveries_of_store ON deliveries (store_id);
-- Due deliveries with at least one attempt, so that a backlog does not hide them. Most deliveries are never in it.
CREATE INDEX tried_deliveries ON deliveries (endpoint_id) WHERE state = 'due' AND tries > 0;${DELIVERY_TRIGGERS}`;

const COLUMNS = columnsOf<Delivery>("deliveries", DELIVERIES_DDL);

/** The table is also the queue, so that a crash loses no delivery. */
export function deliveriesTable(connection: Connection) {
  const sql = prepare(connection);
  const queues = deliveryQueues(connection);

  return {
    ...deliveryLists(connection),
    ...deliveryUpdates(sql),

    /** With `inOrder`, a delivery becomes due no earlier than the deliveries of earlier events of its checkout. */
    insert: (delivery: NewDelivery): void => {
      const { inOrder, checkoutId, sequence } = delivery;
      const mustWait = inOrder && checkoutId !== null && sequence > 1;
      const earliestAt = mustWait ? (sql.selectHeldUntil.get(delivery) ?? 0) : 0;
      const nextAt = Math.max(delivery.nextAt, earliestAt);
      sql.insert.run({ ...delivery, inOrder: Number(inOrder), state: "due", tries: 0, nextAt, fault: null });
    },

    find: (id: string): Delivery | undefined => fromRow(sql.select.get(id)),

    stateOf: (id: string): Delivery["state"] | undefined => sql.selectState.get(id),

    /**
     * The soonest deliveries, due or not, at most one of each queue; a queue with a delivery in flight has none
     * (decision 93).
     */
    next: (endpointId: string, limit = 1): NextDelivery[] =>
      queues.heads(endpointId, limit).flatMap((position) => sql.selectNext.all(position).map(fromNextRow)),

    countDue: (endpointId: string, now: number): number => sql.countDue.get({ endpointId, now }) ?? 0,

    dropAll: (endpointId: string): void => void sql.dropAll.run(endpointId),

    isQueued: (endpointId: string, eventId: string): boolean =>
      sql.selectWaiting.get({ endpointId, eventId }) !== undefined,

    waitingBefore: ({
      id,
      endpointId,
      eventId,
    }: Pick<Delivery, "id" | "endpointId" | "eventId">): Delivery[] =>
      sql.selectWaitingBefore.all({ id, endpointId, eventId }).map(fromKnownRow),
  };
}

function deliveryUpdates(sql: ReturnType<typeof prepare>) {
  return {
    settle: ({ id }: Pick<Delivery, "id">, outcome: Pick<Delivery, "state" | "tries" | "nextAt">): void =>
      void sql.update.run({ ...outcome, id }),

    noteFault: (id: string, fault: AppliedFault): void =>
      void sql.noteFault.run({ id, fault: faultHeader(fault) }),

    postpone: ({ id }: Pick<Delivery, "id">, nextAt: number): void => void sql.postpone.run({ id, nextAt }),

    /** Later events of the checkout cannot be sent before this delivery, so they become due no earlier. */
    holdFollowers: (position: SequencePosition, nextAt: number): void => {
      for (const follower of sql.selectFollowers.all(position))
        if (follower.nextAt < nextAt) sql.setNextAt.run({ id: follower.id, nextAt });
    },

    releaseFollowers: (position: SequencePosition, now: number): void => {
      for (const { id, tries, nextAt } of sql.selectFollowers.all(position))
        if (tries === 0 && nextAt > now) sql.setNextAt.run({ id, nextAt: now });
    },

    makeDue: (filter: WaitingFilter): number => {
      const ids = sql.selectWaitingUntil.all(filter);
      for (const id of ids) sql.setNextAt.run({ id, nextAt: filter.now });
      return ids.length;
    },

    isAnyWaiting: (filter: Omit<WaitingFilter, "limit">): boolean =>
      sql.selectWaitingUntil.get({ ...filter, limit: 1 }) !== undefined,

    makeAllDue: (endpointId: string, now: number): void => void sql.makeAllDue.run({ endpointId, now }),
  };
}

function deliveryLists(connection: Connection) {
  const lists = prepareLists(connection);
  return {
    dueUntil: (endpointId: string, now: number, limit: number): Delivery[] =>
      lists.selectDueUntil.all({ endpointId, now, limit }).map(fromKnownRow),

    /**
     * With `type`, examines at most 1,000 deliveries, so a page can be short. `nextBefore` is the `before` of the next
     * page.
     */
    page: (filter: PageFilter): DeliveryPage => pageOf(lists, filter),

    list: (filter: DeliveryFilter): Delivery[] => listDeliveries(lists, queryOf(lists, filter)),
  };
}

function prepare(connection: Connection) {
  return {
    insert: connection.prepare<DeliveryRow>(`INSERT INTO deliveries ${COLUMNS.values}`),
    selectHeldUntil: connection
      .prepare<SequencePosition, number | null>(selectDueInOrder("max(queued.next_at)", "<"))
      .pluck(),
    select: connection.prepare<[string], DeliveryRow>(
      `SELECT ${COLUMNS.select} FROM deliveries WHERE id = ?`,
    ),
    selectState: connection
      .prepare<[string], Delivery["state"]>("SELECT state FROM deliveries WHERE id = ?")
      .pluck(),
    selectNext: connection.prepare<[number], NextRow>(
      `SELECT ${COLUMNS.select}, EXISTS (SELECT 1 FROM delivery_attempts WHERE delivery_id = id) AS wasAttempted
       FROM deliveries WHERE rowid = ?`,
    ),
    ...prepareRetries(connection),
    countDue: connection
      .prepare<EndpointMoment, number>(
        `SELECT count(*) FROM deliveries INDEXED BY due_deliveries
         WHERE endpoint_id = @endpointId AND state = 'due' AND is_behind IN (0, 1) AND next_at <= @now`,
      )
      .pluck(),
    update: connection.prepare<Pick<Delivery, "id" | "state" | "tries" | "nextAt">>(
      "UPDATE deliveries SET state = @state, tries = @tries, next_at = @nextAt WHERE id = @id",
    ),
    noteFault: connection.prepare<{ readonly id: string; readonly fault: string }>(
      "UPDATE deliveries SET fault = @fault WHERE id = @id",
    ),
    postpone: connection.prepare<Pick<Delivery, "id" | "nextAt">>(
      "UPDATE deliveries SET in_order = 0, next_at = @nextAt WHERE id = @id",
    ),
    selectFollowers: connection.prepare<SequencePosition, Pick<Delivery, "id" | "tries" | "nextAt">>(
      selectDueInOrder("queued.id, tries, queued.next_at AS nextAt", ">"),
    ),
    makeAllDue: connection.prepare<EndpointMoment>(
      `UPDATE deliveries INDEXED BY due_deliveries SET next_at = @now
       WHERE endpoint_id = @endpointId AND state = 'due' AND is_behind IN (0, 1) AND next_at > @now`,
    ),
    dropAll: connection.prepare<[string]>(
      "UPDATE deliveries SET state = 'dropped' WHERE endpoint_id = ? AND state = 'due'",
    ),
    selectWaiting: connection.prepare<Pick<Delivery, "endpointId" | "eventId">>(
      `${selectDueOfEvents("1", { events: SINGLE_EVENT_SELECTION, replays: "first" })} LIMIT 1`,
    ),
  };
}

/** `columns` must include `nextAt`, by which the two parts are merged. */
function selectSoonest(columns: string, condition: string): string {
  const parts = [0, 1].map(
    (isBehind) => `SELECT * FROM (SELECT ${columns} FROM deliveries INDEXED BY due_deliveries
      WHERE endpoint_id = @endpointId AND state = 'due' AND is_behind = ${isBehind} AND ${condition}
      ORDER BY next_at LIMIT @limit)`,
  );
  return `${parts.join(" UNION ALL ")} ORDER BY nextAt LIMIT @limit`;
}

function prepareRetries(connection: Connection) {
  return {
    selectWaitingUntil: connection
      .prepare<WaitingFilter, string>(
        selectSoonest(
          "id, next_at AS nextAt",
          `next_at > @now AND tries >= @minTries AND created_at >= @since AND (@orderId IS NULL OR EXISTS (
             SELECT 1 FROM checkouts WHERE id = checkout_id AND order_id = @orderId))`,
        ),
      )
      .pluck(),
    setNextAt: connection.prepare<Pick<Delivery, "id" | "nextAt">>(
      "UPDATE deliveries SET next_at = @nextAt WHERE id = @id",
    ),
    selectWaitingBefore: connection.prepare<Pick<Delivery, "id" | "endpointId" | "eventId">, DeliveryRow>(
      selectDueOfEvents(COLUMNS.select, {
        events: SINGLE_EVENT_SELECTION,
        replays: "all",
        extraCondition: `cause <> 'duplicate' AND rowid < (SELECT rowid FROM deliveries WHERE id = @id)
          AND NOT ${openAttemptCondition("queued")}`,
      }),
    ),
  };
}

const MAX_EXAMINED_ROWS = 1000;

const AFTER_ALL = Number.MAX_SAFE_INTEGER;

type ListQuery = Pick<DeliveryFilter, "storeId" | "limit"> & {
  readonly [Name in "endpointId" | "eventId" | "checkoutId" | "orderId"]: string | null;
} & { readonly state: DeliveryState | null; readonly before: number };

function queryOf(lists: Lists, filter: DeliveryFilter): ListQuery {
  const { storeId, endpointId = null, eventId = null, checkoutId = null, orderId = null } = filter;
  const { state = null, limit, before: id } = filter;
  const before = id === undefined ? AFTER_ALL : (lists.selectPosition.get({ storeId, id }) ?? 0);
  return { storeId, endpointId, eventId, checkoutId, orderId, state, limit, before };
}

function listDeliveries(lists: Lists, query: ListQuery): Delivery[] {
  const { eventId, checkoutId, orderId, limit } = query;
  if (orderId !== null) {
    const positions = lists.selectOfOrder.all(query).toSorted((left, right) => right - left);
    return deliveriesAt(lists, positions.slice(0, limit));
  }
  if (eventId !== null) return lists.selectOfEvent.all(query).map(fromKnownRow);
  if (checkoutId !== null) return lists.selectOfCheckout.all(query).map(fromKnownRow);
  return deliveriesAt(lists, newestPositions(lists, query));
}

function deliveriesAt({ at }: Lists, positions: readonly number[]): Delivery[] {
  return positions.flatMap((position) => fromRow(at.get(position)) ?? []);
}

function pageOf(lists: Lists, { type, ...filter }: PageFilter): DeliveryPage {
  const { selectType, at } = lists;
  const { limit } = filter;
  const maxExamined = type === undefined ? limit + 1 : MAX_EXAMINED_ROWS;
  const positions = newestPositions(lists, queryOf(lists, { ...filter, limit: maxExamined }));
  const matches: number[] = [];
  for (const position of positions) {
    if (type === undefined || selectType.get(position) === type) matches.push(position);
    if (matches.length > limit) break;
  }
  const page = matches.slice(0, limit);
  const lastPosition =
    matches.length > limit ? page.at(-1) : positions.length >= maxExamined ? positions.at(-1) : undefined;
  return {
    deliveries: deliveriesAt(lists, page),
    nextBefore: (lastPosition === undefined ? undefined : at.get(lastPosition)?.id) ?? null,
  };
}

function newestPositions(lists: Lists, query: ListQuery): readonly number[] {
  const states = query.state === null ? DELIVERY_STATES : [query.state];
  const positions = lists.selectEndpoints
    .all(query)
    .flatMap((endpointId) =>
      states.flatMap((state) => lists.selectPositions.all({ ...query, endpointId, state })),
    );
  return positions.toSorted((left, right) => right - left).slice(0, query.limit);
}

function prepareLists(connection: Connection) {
  const rowsOfEvents = (eventsCondition: string): string => `deliveries INDEXED BY deliveries_of_event
    WHERE ${eventsCondition} AND store_id = @storeId AND (@endpointId IS NULL OR endpoint_id = @endpointId)
      AND (@eventId IS NULL OR event_id = @eventId) AND (@checkoutId IS NULL OR checkout_id = @checkoutId)
      AND (@state IS NULL OR state = @state) AND rowid < @before`;
  const selectOfEvents = (eventsCondition: string) =>
    connection.prepare<ListQuery, DeliveryRow>(
      `SELECT ${COLUMNS.select} FROM ${rowsOfEvents(eventsCondition)} ORDER BY rowid DESC LIMIT @limit`,
    );
  return {
    selectDueUntil: connection.prepare<EndpointMoment & { readonly limit: number }, DeliveryRow>(
      selectSoonest(COLUMNS.select, "next_at <= @now"),
    ),
    selectPosition: connection
      .prepare<Pick<Delivery, "id" | "storeId">, number>(
        "SELECT rowid FROM deliveries WHERE id = @id AND store_id = @storeId",
      )
      .pluck(),
    // Includes removed endpoints, whose deliveries stay listed.
    selectEndpoints: connection
      .prepare<Pick<ListQuery, "storeId" | "endpointId">, string>(
        `SELECT id FROM endpoints INDEXED BY endpoints_of_store
         WHERE store_id = @storeId AND (@endpointId IS NULL OR id = @endpointId)`,
      )
      .pluck(),
    selectPositions: connection
      .prepare<ListQuery, number>(
        `SELECT rowid FROM deliveries INDEXED BY deliveries_of_endpoint
         WHERE endpoint_id = @endpointId AND state = @state AND rowid < @before ORDER BY rowid DESC LIMIT @limit`,
      )
      .pluck(),
    at: connection.prepare<[number], DeliveryRow>(`SELECT ${COLUMNS.select} FROM deliveries WHERE rowid = ?`),
    selectType: connection
      .prepare<[number], string>(
        "SELECT type FROM events WHERE id = (SELECT event_id FROM deliveries WHERE rowid = ?)",
      )
      .pluck(),
    selectOfEvent: selectOfEvents("event_id = @eventId"),
    selectOfCheckout: selectOfEvents("event_id IN (SELECT id FROM events WHERE checkout_id = @checkoutId)"),
    // Selects only positions: SQLite would sort whole rows, and an order can have many deliveries.
    selectOfOrder: connection
      .prepare<ListQuery, number>(
        `SELECT rowid FROM ${rowsOfEvents(`event_id IN (
          SELECT id FROM events WHERE checkout_id IN (
            SELECT id FROM checkouts INDEXED BY checkouts_of_order
            WHERE store_id = @storeId AND order_id = @orderId))`)}`,
      )
      .pluck(),
  };
}

type Lists = ReturnType<typeof prepareLists>;
type NextRow = DeliveryRow & { readonly wasAttempted: number };
type EndpointMoment = Pick<Delivery, "endpointId"> & { readonly now: number };

function fromRow(row: DeliveryRow | undefined): Delivery | undefined {
  return row && fromKnownRow(row);
}

function fromNextRow({ wasAttempted, ...row }: NextRow): NextDelivery {
  return { ...fromKnownRow(row), wasAttempted: wasAttempted === 1 };
}

function fromKnownRow(row: DeliveryRow): Delivery {
  const { fault } = row;
  return {
    ...row,
    inOrder: row.inOrder === 1,
    fault: fault === null ? null : (parseFaultHeader(fault) ?? null),
  };
}
