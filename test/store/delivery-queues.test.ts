import * as fc from "fast-check";
import { expect, test } from "vitest";
import { currentSchemaVersion, IN_MEMORY, type FileConnection } from "../../src/store/connection/database.ts";
import { applyMigrations, openDatabase } from "../../src/store/connection/open-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { deliveriesTable, type Delivery } from "../../src/store/webhook/deliveries.ts";
import { deliveryAttemptsTable } from "../../src/store/webhook/delivery-attempts.ts";
import { SEED, size } from "../support/campaign.ts";
import { insertion } from "../support/rows.ts";

const ENDPOINT = uuid(1);
const STORE = uuid(2);
const END = {
  finishedAt: 1,
  milliseconds: 1,
  address: null,
  status: 500,
  error: null,
  answer: null,
  facts: null,
} as const;

function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

/** Deliveries to one endpoint, in a database in memory, with their events but without other rows that they refer to. */
function openQueues(watched = (connection: FileConnection): FileConnection => connection) {
  const opened = openDatabase(IN_MEMORY, { kind: SANDBOX_FILE });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = watched(opened.value);
  connection.pragma("foreign_keys = OFF");
  const deliveries = deliveriesTable(connection);
  const attempts = deliveryAttemptsTable(connection);
  const open: { readonly delivery: Delivery; readonly number: number }[] = [];
  let made = 100;
  /** The newest event of each checkout. */
  const newest = new Map<number, { readonly id: string; readonly sequence: number }>();
  const addEvent = (checkout: number): { readonly id: string; readonly sequence: number } => {
    const event = { id: uuid((made += 1)), sequence: (newest.get(checkout)?.sequence ?? 0) + 1 };
    if (checkout !== 0) newest.set(checkout, event);
    const checkout_id = checkout === 0 ? null : uuid(checkout);
    connection.exec(insertion("events", { ...event, store_id: STORE, checkout_id }));
    return event;
  };
  return {
    connection,
    deliveries,
    open,
    /**
     * Adds the delivery of a new event (`inOrder`), or a replay of the newest event; if there is none, of a new event.
     * Checkout 0 means an event without a checkout.
     */
    add: (checkout: number, inOrder: boolean, nextAt: number): void => {
      const event = (inOrder ? undefined : newest.get(checkout)) ?? addEvent(checkout);
      deliveries.insert({
        id: uuid((made += 1)),
        storeId: STORE,
        endpointId: ENDPOINT,
        eventId: event.id,
        checkoutId: checkout === 0 ? null : uuid(checkout),
        sequence: event.sequence,
        cause: inOrder ? "event" : "replay",
        inOrder,
        nextAt,
        createdAt: 0,
      });
    },
    start: (delivery: Delivery): void => {
      const number = delivery.tries + 1;
      const sent = { url: "", headers: "{}", bodyHash: "b".repeat(64), fault: null, startedAt: 0 };
      attempts.start({ ...sent, deliveryId: delivery.id, number });
      open.push({ delivery, number });
    },
    finish: (at: number, state: Delivery["state"], now: number): void => {
      const [{ delivery, number } = {}] = open.splice(at, 1);
      if (delivery === undefined || number === undefined) return;
      attempts.finish({ deliveryId: delivery.id, number }, { ...END, nextAt: null });
      if (deliveries.stateOf(delivery.id) !== "due") return;
      deliveries.settle(delivery, { state, tries: number, nextAt: now });
      if (!delivery.inOrder) return;
      if (state === "due") deliveries.holdFollowers(delivery, now);
      else deliveries.releaseFollowers(delivery, now);
    },
  };
}

/** The next deliveries by the rule of decision 93, read from the whole table without an index. */
function nextByRule(connection: FileConnection): readonly string[] {
  const queue = (of: string): string => `coalesce(${of}.checkout_id, ${of}.event_id)`;
  const sendable = connection
    .prepare<[], { readonly id: string; readonly queue: string }>(
      `SELECT id, ${queue("one")} AS queue FROM deliveries AS one
       WHERE state = 'due' AND NOT EXISTS (
         SELECT 1 FROM deliveries AS other WHERE other.state = 'due' AND ${queue("other")} = ${queue("one")} AND (
           one.in_order = 1 AND other.in_order = 1 AND other.sequence < one.sequence OR EXISTS (
             SELECT 1 FROM delivery_attempts WHERE delivery_id = other.id AND finished_at IS NULL)))
       ORDER BY next_at, rowid`,
    )
    .all();
  const first = new Map(sendable.toReversed().map((row) => [row.queue, row.id]));
  return sendable.filter((row) => first.get(row.queue) === row.id).map(({ id }) => id);
}

const time = fc.integer({ min: 0, max: 9 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("add"), fc.integer({ min: 0, max: 3 }), fc.boolean(), time) },
  { weight: 3, arbitrary: fc.tuple(fc.constant("start"), time) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constant("finish"), time, fc.constantFrom("due", "succeeded", "failed"), time),
  },
  fc.tuple(fc.constantFrom("postpone", "drop"), time, time),
  fc.tuple(fc.constant("make all due"), time),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function take(queues: ReturnType<typeof openQueues>, [kind, ...values]: Step): void {
  const { deliveries, open } = queues;
  const [one, two, three] = values as readonly unknown[];
  const next = deliveries.next(ENDPOINT, 100);
  const chosen = next[Number(one) % Math.max(next.length, 1)];
  if (kind === "add") queues.add(Number(one), two === true && one !== 0, Number(three));
  else if (kind === "finish")
    queues.finish(Number(one) % Math.max(open.length, 1), two as "due", Number(three));
  else if (kind === "make all due") deliveries.makeAllDue(ENDPOINT, Number(one));
  else if (chosen === undefined) return;
  else if (kind === "start") queues.start(chosen);
  else if (kind === "postpone") deliveries.postpone(chosen, Number(two));
  else if (kind === "drop") {
    deliveries.settle(chosen, { state: "dropped", tries: chosen.tries, nextAt: Number(two) });
    deliveries.releaseFollowers(chosen, Number(two));
  }
}

test("after any sequence of steps, the delivery queues return the same next deliveries as the reference query", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const queues = openQueues();
      for (const one of steps) {
        take(queues, one);
        const next = queues.deliveries.next(ENDPOINT, 100).map(({ id }) => id);
        expect(next).toEqual(nextByRule(queues.connection));
      }
      queues.connection.close();
    }),
    { numRuns: size(60, 5000), seed: SEED },
  );
});

test("migrations from schema version 39 keep deliveries and attempts, and put later replays of an event behind the first", () => {
  const opened = openDatabase(IN_MEMORY, {
    kind: { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 10) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  expect(connection.pragma("user_version", { simple: true })).toBe(39);
  connection.exec(
    insertion("merchants") + insertion("stores") + insertion("endpoints", { id: ENDPOINT, in_order: 0 }),
  );
  for (let number = 0; number < 60; number += 1) {
    const inOrder = number % 3 > 0;
    const [checkout_id, id] = [number % 7 === 0 ? null : uuid(900 + (number % 5)), uuid(number)];
    if (number < 5)
      connection.exec(insertion("checkouts", { id: uuid(900 + number), order_id: `o-${number}` }));
    connection.exec(
      insertion("events", { id: uuid(500 + number), checkout_id: null, sequence: number + 1 }) +
        insertion("deliveries", {
          id,
          endpoint_id: ENDPOINT,
          event_id: uuid(500 + number),
          checkout_id: number < 5 ? null : checkout_id,
          sequence: number + 1,
          cause: inOrder ? "event" : "replay",
          in_order: Number(inOrder),
          state: number % 4 === 0 ? "failed" : "due",
          next_at: (number * 7) % 13,
        }) +
        insertion("delivery_attempts", { delivery_id: id, finished_at: 5, error: "timeout" }),
    );
  }
  for (let number = 0; number < 9; number += 1) {
    const replay = { cause: "replay", in_order: 0, state: "due", next_at: 20 - number };
    connection.exec(
      insertion("deliveries", {
        id: uuid(700 + number),
        endpoint_id: ENDPOINT,
        event_id: uuid(501),
        checkout_id: null,
        ...replay,
      }),
    );
  }
  connection.exec("UPDATE deliveries SET rowid = rowid + 1000 WHERE state = 'due'");
  const rows = (): unknown[] =>
    ["deliveries", "delivery_attempts"].map((table) =>
      connection
        .prepare<[], Record<string, unknown>>(
          `SELECT *${table === "deliveries" ? ", rowid AS place" : ""} FROM ${table} ORDER BY 1`,
        )
        .all()
        .map(({ is_head: _head, is_behind: _behind, ...row }) => row),
    );
  const before = rows();
  applyMigrations(connection, SANDBOX_FILE);
  expect(connection.pragma("user_version", { simple: true })).toBe(currentSchemaVersion(SANDBOX_FILE));
  expect(rows()).toEqual(before);
  const replays = connection.prepare(
    "SELECT next_at, is_behind FROM deliveries WHERE id >= ? ORDER BY next_at",
  );
  expect(replays.raw().all(uuid(700))).toEqual(
    Array.from({ length: 9 }, (_, at) => [12 + at, Number(at > 0)]),
  );
  expect(connection.pragma("foreign_key_check")).toEqual([]);
  expect(connection.pragma("integrity_check", { simple: true })).toBe("ok");
  expect(() => connection.exec("DELETE FROM deliveries")).toThrow(/audited/);
  expect(() => connection.exec("DELETE FROM delivery_attempts")).toThrow(/audited/);
  expect(() => connection.exec(insertion("delivery_attempts", { delivery_id: uuid(77), number: 9 }))).toThrow(
    /FOREIGN KEY/,
  );
  connection.close();
});

/** Queues whose statements count the rows that they read from deliveries. */
function openCounted() {
  const count = { read: 0 };
  const queues = openQueues((connection) => {
    connection.function("read", { deterministic: false }, () => (count.read += 1));
    const prepare = connection.prepare.bind(connection);
    const counting = (sql: string): string =>
      sql.replaceAll(/(FROM deliveries(?: AS \w+)? INDEXED BY \w+\s+WHERE) /g, "$1 read() AND ");
    return Object.assign(connection, { prepare: (sql: string) => prepare(counting(sql)) });
  });
  return { queues, count };
}

test("a search for the next deliveries reads few rows, however many checkouts wait", () => {
  const { queues, count } = openCounted();
  queues.connection.transaction(() => {
    for (let number = 0; number < 2000; number += 1)
      for (let event = 0; event < 3; event += 1) queues.add(1 + number, true, number);
  })();
  const [first] = queues.deliveries.next(ENDPOINT, 8);
  if (first === undefined) throw new Error("nothing can be sent");
  count.read = 0;
  queues.start(first);
  expect(queues.deliveries.next(ENDPOINT, 8)).toHaveLength(8);
  queues.finish(0, "due", 9000);
  queues.add(1, false, 0);
  queues.add(1, true, 0);
  expect(queues.deliveries.next(ENDPOINT, 8)).toHaveLength(8);
  expect(count.read).toBeGreaterThan(16);
  expect(count.read).toBeLessThan(160);
});

test("the next replay is found without reading the queue of replays, and no checkout's delivery waits for the queue", () => {
  const { queues, count } = openCounted();
  queues.connection.transaction(() => {
    for (let number = 0; number < 2000; number += 1) queues.add(1, false, 0);
    for (let number = 0; number < 20; number += 1) queues.add(2 + number, true, 5000);
  })();
  count.read = 0;
  const [first] = queues.deliveries.next(ENDPOINT, 8);
  if (first === undefined) throw new Error("nothing can be sent");
  queues.start(first);
  expect(queues.deliveries.next(ENDPOINT, 8).map(({ nextAt }) => nextAt)).toEqual(Array(8).fill(5000));
  queues.finish(0, "succeeded", 5000);
  expect(queues.deliveries.waitingBefore(first)).toEqual([]);
  expect(queues.deliveries.isQueued(ENDPOINT, first.eventId)).toBe(true);
  expect(queues.deliveries.next(ENDPOINT, 1).map(({ id }) => id)).not.toEqual([first.id]);
  expect(count.read).toBeGreaterThan(20);
  expect(count.read).toBeLessThan(120);
});

test("failed replays are retried in turn, and each search for the next replay reads few rows", () => {
  const { queues, count } = openCounted();
  queues.connection.transaction(() => {
    for (let number = 0; number < 500; number += 1) queues.add(1, false, number);
  })();
  const sent = new Set<string>();
  count.read = 0;
  for (let number = 0; number < 500; number += 1) {
    const [next] = queues.deliveries.next(ENDPOINT, 8);
    if (next === undefined) throw new Error("nothing can be sent");
    sent.add(next.id);
    queues.start(next);
    queues.finish(0, "due", 5000 + number);
  }
  expect(sent.size).toBe(500);
  expect(count.read).toBeLessThan(500 * 20);
});
