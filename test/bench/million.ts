import Database from "better-sqlite3";
import { join } from "node:path";
import { v7 } from "uuid";
import { SEED, seededRandom } from "../support/campaign.ts";
import { median, medianRatio, type Figure } from "./figures.ts";
import type { LoadOrder, LoadResult, Traffic } from "./load.ts";
import type { Bench, Sandbox } from "./processes.ts";
import { retrieveTarget, runRounds, WARM_UP, type Subject } from "./throughput.ts";

const CHECKOUTS = 1_000_000;
const ROWS_PER_TRANSACTION = 50_000;
/** Maximum age of the checkouts: three weeks, so that their idempotency keys, valid for 30 days, are still valid. */
const OLDEST_MS = 21 * 24 * 3_600_000;
const LIFETIME_MS = 3_600_000;
/** Number of ids to retrieve, sampled from the whole file. */
const SAMPLED_IDS = 20_000;
const ROUNDS = 15;
const MAX_GROWTH = 2;

type Name = "create, empty" | "create, full" | "retrieve, empty" | "retrieve, full";

/** Latencies with a million checkouts in the file, compared with an empty file in the same run. */
export async function measureMillion(bench: Bench): Promise<Figure[]> {
  const empty = await bench.startSandbox(bench.newPath("empty"));
  const { full, ids } = await startFull(bench, CHECKOUTS);
  const load = bench.startLoad();
  const subjects = [...(await warm(load, empty, "empty")), ...(await warm(load, full, "full", ids))];
  const results = await runRounds(load, subjects, ROUNDS);
  const figure = (verb: "create" | "retrieve", part: "p50" | "p99"): Figure => {
    const values = results[`${verb}, full`].map((result) => result[part]);
    const baselines = results[`${verb}, empty`].map((result) => result[part]);
    return {
      name: `${verb} ${part}, ${CHECKOUTS.toLocaleString("en")} checkouts`,
      value: median(values),
      unit: "ms",
      baseline: `${median(baselines).toFixed(2)} ms in an empty file`,
      ratio: medianRatio(values, baselines),
      ...(part === "p99" ? { target: { atMost: MAX_GROWTH } } : {}),
    };
  };
  return [
    figure("create", "p50"),
    figure("create", "p99"),
    figure("retrieve", "p50"),
    figure("retrieve", "p99"),
  ];
}

/** A sandbox whose file was filled between its first start and its second. */
export async function startFull(bench: Bench, count: number): Promise<{ full: Sandbox; ids: string[] }> {
  const first = await bench.startSandbox(bench.newPath("full"));
  await first.stop();
  const ids = fill(join(first.folder, "sandbox.db"), first.storeId, count);
  return { full: await bench.startSandbox(first.folder), ids };
}

async function warm(
  load: (order: LoadOrder) => Promise<LoadResult>,
  { port, apiKey }: Sandbox,
  size: "empty" | "full",
  knownIds: readonly string[] = [],
): Promise<Subject<Name>[]> {
  const create: Traffic = { kind: "create", apiKey };
  const { ids } = await load({ ...WARM_UP, port, traffic: create });
  const retrieve: Traffic = { kind: "get", targets: [...knownIds, ...ids].map(retrieveTarget), apiKey };
  await load({ ...WARM_UP, port, traffic: retrieve });
  return [
    { name: `create, ${size}`, port, traffic: create },
    { name: `retrieve, ${size}`, port, traffic: retrieve },
  ];
}

/** Writes the rows of paid orders; returns a sample of their ids. */
function fill(path: string, storeId: string, count: number): string[] {
  const database = new Database(path);
  // Nothing reads this file before it is complete, so it need not survive a crash.
  for (const pragma of ["synchronous = OFF", "foreign_keys = OFF", "cache_size = -1000000"])
    database.pragma(pragma);
  const insert = prepareInserts(database, storeId);
  const random = seededRandom(SEED);
  const newestAt = Date.now() - LIFETIME_MS;
  const ids: string[] = [];
  const insertMany = database.transaction((from: number) => {
    for (let number = from; number < Math.min(count, from + ROWS_PER_TRANSACTION); number += 1) {
      const createdAt = newestAt - Math.floor(((count - number) / count) * OLDEST_MS);
      const id = insert(number, createdAt, random);
      if (random() < SAMPLED_IDS / count) ids.push(id);
    }
  });
  for (let from = 0; from < count; from += ROWS_PER_TRANSACTION) insertMany(from);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  return ids.toSorted(() => random() - 0.5);
}

function prepareInserts(
  database: Database.Database,
  storeId: string,
): (number: number, createdAt: number, random: () => number) => string {
  const checkout = database.prepare(
    `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, status, created_at, expires_at)
     VALUES (?, ?, 'order', ?, 1999, 'EUR', 'alipay_plus', 'succeeded', ?, ?)`,
  );
  const key = database.prepare(
    `INSERT INTO idempotency_keys (store_id, key, fingerprint, status, request_id, body, checkout_id, created_at)
     VALUES (?, ?, ?, 201, ?, ?, ?, ?)`,
  );
  const event = database.prepare(
    `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES (?, ?, ?, 'order.succeeded', 1, ?, ?)`,
  );
  const bytes = new Uint8Array(16);
  return (number, createdAt, random) => {
    const uuid = (): string => v7({ msecs: createdAt, random: bytes.map(() => Math.floor(random() * 256)) });
    const [id, requestId, eventId] = [uuid(), uuid(), uuid()];
    const orderId = `paid-${String(number).padStart(9, "0")}`;
    const body = wireBody(id, requestId, orderId);
    const scattered = Math.floor(random() * 2 ** 32).toString(16);
    checkout.run(id, storeId, orderId, createdAt, createdAt + LIFETIME_MS);
    key.run(storeId, `${scattered}-paid-${number}`, "0".repeat(64), requestId, body, id, createdAt);
    event.run(eventId, storeId, id, eventBody(eventId, body), createdAt);
    return id;
  };
}

/** A body as long as the service's. */
function wireBody(id: string, requestId: string, orderId: string): string {
  const checkoutUrl = `http://127.0.0.1:42420/pay/${id}`;
  return `{"ok":true,"request_id":"${requestId}","data":{"id":"${id}","object":"order","order_id":"${orderId}","amount_minor":1999,"currency":"EUR","status":"created","checkout_url":"${checkoutUrl}","livemode":false}}`;
}

function eventBody(eventId: string, answer: string): string {
  return `{"event_id":"${eventId}","type":"order.succeeded","api_version":"1.0.0-test","livemode":false,"sequence":1,"padding":${JSON.stringify("".padEnd(80))},"answer":${answer}}`;
}
