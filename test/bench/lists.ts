import Database from "better-sqlite3";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { v7 } from "uuid";
import { SEED, seededRandom } from "../support/campaign.ts";
import { median, type Figure } from "./figures.ts";
import type { Bench, Sandbox } from "./processes.ts";

/** Number of checkouts in the store; a second store has the same number. */
const CHECKOUTS = 100_000;
const SMALL = 200;
const LIFETIME_MS = 3_600_000;
/** Enough rounds that the one or two interrupted by the machine do not decide the 99th percentile. */
const ROUNDS = 1000;
/** Maximum ratio of a list's time to the time of the same list in a store with one page of checkouts. */
const MAX_GROWTH = 4;
const MAX_LIST_MS = 5;
const MAX_LOOK_MS = 10;
/** The number of rare checkouts, equal in both stores, so that a page of rare checkouts has the same length in both. */
const RARE_CHECKOUTS = 100;
const RARE = { status: "failed", object: "checkout_session", payment_method: "wechat_pay" };

type Query = Readonly<Record<string, string>>;

/** The requests, by name. Order_ids are `o-` and six digits; `<id>` is a checkout's id, `<end>` the end of an id. */
const QUERIES: Readonly<Record<string, Query>> = {
  "list, newest": {},
  "list, 200": { limit: "200" },
  "list, a common status": { status: "succeeded" },
  "list, a rare status": { status: "failed" },
  "list, a rare method": { payment_method: "wechat_pay" },
  "list, a rare kind": RARE,
  "list, 200 of all kinds but one": { limit: "200", object: "order" },
  "list, one order_id": { order_id: "o-000007" },
  "list, one order_id and a status": { order_id: "o-000007", status: "succeeded" },
  "search, an order_id": { q: "o-000007" },
  "search, a beginning": { q: "o-00012" },
  "search, a beginning and a rare status": { q: "o-0001", status: "failed" },
  "search, a beginning of all": { q: "o-" },
  "search, an id": { q: "<id>" },
  "search, the end of an id": { q: "<end>" },
};
const LOOKS: Readonly<Record<string, Query>> = {
  "search, descriptions": { q: "needle" },
  "search, descriptions of a rare status": { q: "needle", status: "failed" },
};

/** Measures lists of a store with 100,000 checkouts against the same lists of a store with one page of checkouts. */
export async function measureLists(bench: Bench): Promise<Figure[]> {
  const [small, large] = [await openLists(bench, SMALL), await openLists(bench, CHECKOUTS)];
  const figures: Figure[] = [];
  for (const [name, query] of Object.entries({ ...QUERIES, ...LOOKS })) {
    const [baseline, measured] = [await small(query), await large(query)];
    const limit = name in LOOKS ? MAX_LOOK_MS : MAX_LIST_MS;
    const beside = { baseline: `${baseline.p99.toFixed(2)} ms of ${SMALL}`, target: { atMost: limit } };
    figures.push({ name: `${name} p99`, value: measured.p99, unit: "ms", ...beside });
    const ratio = measured.p50 / baseline.p50;
    const growth = { name: `${name} p50`, value: measured.p50, unit: "ms", ratio } as const;
    const target = name in LOOKS ? {} : { target: { atMost: MAX_GROWTH } };
    figures.push({ ...growth, baseline: `${baseline.p50.toFixed(2)} ms of ${SMALL}`, ...target });
  }
  return figures;
}

/**
 * Starts a sandbox whose two stores hold `count` checkouts each, and returns the ids of the first store's checkouts,
 * oldest first. `more` writes more rows before the start.
 */
export async function openFilled(
  bench: Bench,
  count: number,
  more: (database: Database.Database, storeId: string, ids: readonly string[]) => void = () => undefined,
): Promise<{ readonly sandbox: Sandbox; readonly ids: readonly string[] }> {
  const first = await bench.startSandbox(bench.newPath(`lists-${count}`));
  await first.stop();
  const path = join(first.folder, "sandbox.db");
  const ids = fill(path, first.storeId, count);
  const database = new Database(path);
  database.pragma("synchronous = OFF");
  database.transaction(() => more(database, first.storeId, ids))();
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  return { sandbox: await bench.startSandbox(first.folder), ids };
}

/** The median and the 99th percentile of a request's time, in milliseconds, once the program is warm. */
export async function timed(send: () => Promise<void>): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began = performance.now();
    await send();
    if (round >= ROUNDS / 10) times.push(performance.now() - began);
  }
  const sorted = times.toSorted((left, right) => left - right);
  return { p50: median(times), p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN };
}

/** Opens a sandbox; returns a function that measures a request to its first store. */
async function openLists(bench: Bench, count: number) {
  const { sandbox, ids } = await openFilled(bench, count);
  const ask = asker(sandbox);
  const id = ids[Math.floor(ids.length / 2)] ?? "";
  return async (query: Query): Promise<{ p50: number; p99: number }> => {
    const named = new URLSearchParams(query).toString().replace("%3Cid%3E", id);
    const path = named.replace("%3Cend%3E", (ids.at(-500) ?? ids[0] ?? "").slice(-8));
    return timed(() => ask(path));
  };
}

function asker({ port, folder, storeId }: Sandbox): (query: string) => Promise<void> {
  const run = JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as {
    readonly control_token: string;
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${run.control_token}` };
  return (query) =>
    new Promise((resolve, reject) => {
      const path = `/__sandbox/stores/${storeId}/checkouts?${query}`;
      const sent = request({ agent, host: "127.0.0.1", port, path, headers }, (answer) => {
        answer.resume();
        answer.once("end", () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(`${path}: ${answer.statusCode}`)),
        );
      });
      sent.once("error", reject);
      sent.end();
    });
}

/** Writes checkouts of two stores in turn; returns the ids of the first store's checkouts, oldest first. */
function fill(path: string, storeId: string, count: number): string[] {
  const database = new Database(path);
  // Nothing reads this file before it is complete, so it need not survive a crash.
  database.pragma("synchronous = OFF");
  const random = seededRandom(SEED);
  const other = v7();
  database
    .prepare(
      `INSERT INTO stores (id, merchant_id, name, active, created_at)
       SELECT ?, merchant_id, 'Other', 1, created_at FROM stores`,
    )
    .run(other);
  const insert = database.prepare(
    `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, description,
       status, created_at, expires_at)
     VALUES (?, ?, ?, ?, 1999, 'EUR', ?, 'A ticket for the concert of tomorrow', ?, ?, ?)`,
  );
  const ids: string[] = [];
  const from = Date.now() - LIFETIME_MS - count;
  database.transaction(() => {
    for (let number = 0; number < count; number += 1) {
      const isRare = number % (count / RARE_CHECKOUTS) === 1;
      const {
        status,
        object,
        payment_method: method,
      } = isRare
        ? RARE
        : {
            status: random() < 0.8 ? "succeeded" : "expired",
            object: "order",
            payment_method: "alipay_plus",
          };
      const at = from + number;
      for (const store of [storeId, other]) {
        const bytes = Uint8Array.from({ length: 16 }, () => Math.floor(random() * 256));
        const id = v7({ msecs: at, random: bytes });
        const orderId = `o-${String(number).padStart(6, "0")}`;
        insert.run(id, store, object, orderId, method, status, at, at + LIFETIME_MS);
        if (store === storeId) ids.push(id);
      }
    }
  })();
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  return ids;
}
