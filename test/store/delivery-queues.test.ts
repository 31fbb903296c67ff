import * as fc from "fast-check";
import { expect, test } from "vitest";
import { IN_MEMORY, type FileConnection } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { deliveriesTable, type Delivery } from "../../src/store/webhook/deliveries.ts";
import { deliveryAttemptsTable } from "../../src/store/webhook/delivery-attempts.ts";
import { chooseHeads, DELIVERY_QUEUES_DDL } from "../../src/store/webhook/delivery-queues.ts";
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

/** Deliveries to one endpoint of a database in memory, without the rows that they refer to. */
function openQueues(watched = (connection: FileConnection): FileConnection => connection) {
  const opened = openDatabase(IN_MEMORY, { kind: SANDBOX_FILE });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = watched(opened.value);
  connection.pragma("foreign_keys = OFF");
  const deliveries = deliveriesTable(connection);
  const attempts = deliveryAttemptsTable(connection);
  const open: { readonly delivery: Delivery; readonly number: number }[] = [];
  let made = 100;
  const sequences = new Map<number, number>();
  return {
    connection,
    deliveries,
    open,
    /** Checkout 0 stands for events without one. */
    add: (checkout: number, inOrder: boolean, nextAt: number): void => {
      made += 1;
      const sequence = inOrder ? (sequences.get(checkout) ?? 0) + 1 : 1;
      if (inOrder) sequences.set(checkout, sequence);
      deliveries.insert({
        id: uuid(made),
        storeId: STORE,
        endpointId: ENDPOINT,
        eventId: uuid(made),
        checkoutId: checkout === 0 ? null : uuid(checkout),
        sequence,
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

/** What the rule of decision 93 says of the whole table, which no index can answer. */
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
  fc.tuple(fc.constantFrom("make all due", "restore"), time),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function take(queues: ReturnType<typeof openQueues>, [kind, ...values]: Step): void {
  const { connection, deliveries, open } = queues;
  const [one, two, three] = values as readonly unknown[];
  const next = deliveries.next(ENDPOINT, 100);
  const chosen = next[Number(one) % Math.max(next.length, 1)];
  if (kind === "add") queues.add(Number(one), two === true && one !== 0, Number(three));
  else if (kind === "finish")
    queues.finish(Number(one) % Math.max(open.length, 1), two as "due", Number(three));
  else if (kind === "make all due") deliveries.makeAllDue(ENDPOINT, Number(one));
  else if (kind === "restore" && open.length === 0) chooseHeads(connection, STORE);
  else if (chosen === undefined) return;
  else if (kind === "start") queues.start(chosen);
  else if (kind === "postpone") deliveries.postpone(chosen, Number(two));
  else if (kind === "drop") {
    deliveries.settle(chosen, { state: "dropped", tries: chosen.tries, nextAt: Number(two) });
    deliveries.releaseFollowers(chosen, Number(two));
  }
}

test("whatever happens, the head of each queue is the delivery that the rule says", () => {
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

test("the migration chooses the heads of what waits already", () => {
  const opened = openDatabase(IN_MEMORY, {
    kind: { ...SANDBOX_FILE, migrations: SANDBOX_FILE.migrations.slice(0, 1) },
  });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const connection = opened.value;
  connection.pragma("foreign_keys = OFF");
  for (let number = 0; number < 60; number += 1) {
    const inOrder = number % 3 > 0;
    const [checkout, state] = [
      number % 7 === 0 ? null : `c${number % 5}`,
      number % 4 === 0 ? "failed" : "due",
    ];
    const cause = inOrder ? "event" : "replay";
    connection.exec(
      insertion("deliveries", {
        id: uuid(number),
        event_id: `v${number}`,
        checkout_id: checkout,
        sequence: number,
        cause,
        in_order: Number(inOrder),
        state,
        next_at: (number * 7) % 13,
      }),
    );
  }
  connection.exec(DELIVERY_QUEUES_DDL);
  const next = deliveriesTable(connection).next("e", 100);
  expect(next.length).toBeGreaterThan(8);
  expect(next.map(({ id }) => id)).toEqual(nextByRule(connection));
  connection.close();
});

test("what waits costs nothing: rows are read by what can be sent", () => {
  let read = 0;
  const queues = openQueues((connection) => {
    connection.function("read", { deterministic: false }, () => (read += 1));
    const prepare = connection.prepare.bind(connection);
    const counting = (sql: string): string =>
      sql.replaceAll(/(FROM deliveries(?: AS \w+)? INDEXED BY \w+\s+WHERE) /g, "$1 read() AND ");
    return Object.assign(connection, { prepare: (sql: string) => prepare(counting(sql)) });
  });
  queues.connection.transaction(() => {
    for (let number = 0; number < 2000; number += 1) queues.add(1, false, number);
    for (let number = 0; number < 20; number += 1) queues.add(2 + number, true, 5000);
  })();
  const [first] = queues.deliveries.next(ENDPOINT, 8);
  if (first === undefined) throw new Error("nothing can be sent");
  read = 0;
  queues.start(first);
  expect(queues.deliveries.next(ENDPOINT, 8)).toHaveLength(8);
  queues.finish(0, "due", 9000);
  queues.add(1, false, 0);
  queues.add(1, true, 0);
  expect(queues.deliveries.next(ENDPOINT, 8)).toHaveLength(8);
  expect(read).toBeGreaterThan(16);
  expect(read).toBeLessThan(60);
});
