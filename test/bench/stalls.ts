import Database from "better-sqlite3";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import type { Figure } from "./figures.ts";
import { startFull } from "./million.ts";
import type { Bench, Sandbox } from "./processes.ts";
import { measureInMemory } from "./snapshots.ts";
import { retrieveTarget } from "./throughput.ts";
import { manyOrders, expression } from "../support/rows.ts";

const SIZES: readonly Size[] = [
  { checkouts: 20_000, expiring: 20_000, queued: 20_000 },
  { checkouts: 200_000, expiring: 20_000, queued: 102_000 },
];
/** The promised maximum wait, for up to PROMISED_CHECKOUTS; for larger stores the wait is only printed. */
const MAX_WAIT_MS = 100;
const PROMISED_CHECKOUTS = 20_000;
/** Number of requests in the store's log, which a reset deletes: the most that the log keeps. */
const LOGGED = 10_000;
/** Maximum time for which a backlog is watched; the reset drops the rest of the backlog. */
const BACKLOG_MS = 5000;
const HOUR_MS = 3_600_000;

/**
 * The rows of the store: paid checkouts, open checkouts that expire, and due deliveries, half of them of one checkout.
 */
type Size = { readonly checkouts: number; readonly expiring: number; readonly queued: number };

/** A sandbox with a full store, and a second store whose requests are timed. */
type Site = {
  readonly sandbox: Sandbox;
  readonly endpointId: string;
  /** Returns the bytes of the answer: parsing a long answer would delay the requests of `watch`. */
  readonly control: (path: string, body: object) => Promise<Buffer>;
  /** Sends requests to the second store, one after the other, until the work is done. */
  readonly watch: (work: () => Promise<unknown>) => Promise<Watched>;
};

/** The longest wait of a request, and the time of the whole work, in milliseconds. */
type Watched = { readonly longest: number; readonly whole: number };

/**
 * The longest wait of a request to another store while a snapshot is taken, a clock is moved, a backlog is delivered or
 * a store is reset, with the state on disk.
 */
export async function measureStalls(bench: Bench, sizes = SIZES): Promise<Figure[]> {
  const receiver = await bench.startServer([join(import.meta.dirname, "baselines/bare-http.ts")]);
  const url = `http://127.0.0.1:${String(receiver.ready["port"])}/`;
  const [{ checkouts: inMemory } = { checkouts: 0 }] = sizes;
  const figures: Figure[] = [await measureInMemory(inMemory, 5)];
  for (const size of sizes) {
    const site = await openSite(bench, url, size);
    const of = `${size.checkouts.toLocaleString("en")} checkouts`;
    const measure = async (
      name: string,
      work: () => Promise<unknown>,
      { isLimited = true, restored }: { readonly isLimited?: boolean; readonly restored?: number } = {},
    ): Promise<number> => {
      const { longest, whole } = await site.watch(work);
      const isPromised = isLimited && size.checkouts <= PROMISED_CHECKOUTS;
      const limit = isPromised ? { target: { atMost: MAX_WAIT_MS } } : {};
      const against =
        restored === undefined
          ? {}
          : { baseline: "the restore", ratio: whole / restored, target: { atMost: 1 } };
      figures.push({ name: `${name} of ${of}, longest wait`, value: longest, unit: "ms", ...limit });
      figures.push({ name: `${name} of ${of}, whole`, value: whole, unit: "ms", ...against });
      return whole;
    };
    const store = `stores/${site.sandbox.storeId}`;
    await measure("nothing", () => sleep(Math.min(BACKLOG_MS, size.checkouts)));
    await measure("snapshot", () => site.control(`${store}/snapshots`, { name: "full" }));
    const restored = await measure(
      "restore",
      () => site.control(`${store}/snapshots/restore`, { name: "full" }),
      { isLimited: false },
    );
    const advance = { action: "advance", by_ms: 2 * HOUR_MS };
    await measure(`clock move past ${size.expiring.toLocaleString("en")}`, () =>
      site.control(`${store}/clock`, advance),
    );
    await measure(`backlog of ${size.queued.toLocaleString("en")}`, async () => {
      await site.control(`${store}/endpoints/${site.endpointId}/state`, { action: "enable" });
      await sleep(Math.min(BACKLOG_MS, size.checkouts));
    });
    // A reset and a restore each touch every row of the store once.
    await measure("reset", () => site.control("reset", { store: site.sandbox.storeId }), { restored });
    await site.sandbox.stop();
  }
  return figures;
}

async function openSite(bench: Bench, url: string, size: Size): Promise<Site> {
  const { full, ids } = await startFull(bench, size.checkouts);
  const { id: endpointId } = dataOf(await controlOf(full)(`stores/${full.storeId}/endpoints`, { url }));
  await full.stop();
  const database = new Database(join(full.folder, "sandbox.db"));
  database.pragma("synchronous = OFF");
  database.transaction(() => addOpen(database, full.storeId, size.expiring))();
  database.transaction(() => addQueued(database, { ...full, endpointId: String(endpointId) }, size))();
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  const sandbox = { ...full, ...(await bench.startSandbox(full.folder)), apiKey: full.apiKey };
  await fillLog(sandbox, ids, Math.min(LOGGED, size.checkouts));
  const control = controlOf(sandbox);
  const { api_key: apiKey } = dataOf(await control("stores", { name: "asked meanwhile" }));
  return { sandbox, control, endpointId: String(endpointId), watch: watcher(sandbox.port, String(apiKey)) };
}

/** Retrieves checkouts `count` times, one after the other, so that each request and its answer is in the log. */
async function fillLog(
  { port, apiKey }: Pick<Sandbox, "port" | "apiKey">,
  ids: readonly string[],
  count: number,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${apiKey}` };
  for (let sent = 0; sent < count; sent += 1) {
    const path = retrieveTarget(ids[sent % ids.length] ?? "");
    const { status } = await ask(agent, { port, path, headers });
    if (status !== 200) throw new Error(`${path} was answered ${status}`);
  }
  agent.destroy();
}

/** Open checkouts that expire after an hour, one per millisecond, each with its key and its event. */
function addOpen(database: Database.Database, storeId: string, count: number): void {
  const now = Date.now();
  const id = "printf('00000000-0000-7000-9000-%012d', n)";
  const named = { orderId: "'open' || n", key: "'open-key-' || n" };
  const checkout = { created_at: now, expires_at: expression(`${now + HOUR_MS} + n`) };
  database.exec(manyOrders({ storeId, count, id, ...named, checkout }));
}

/** Due deliveries to a paused endpoint: half of them of different checkouts, the other half all of one checkout. */
function addQueued(
  database: Database.Database,
  { storeId, endpointId }: { readonly storeId: string; readonly endpointId: string },
  { queued }: Size,
): void {
  database.prepare("UPDATE endpoints SET state = 'paused' WHERE id = ?").run(endpointId);
  const events = database
    .prepare<[string, number], { readonly id: string; readonly checkoutId: string }>(
      "SELECT id, checkout_id AS checkoutId FROM events WHERE store_id = ? ORDER BY position LIMIT ?",
    )
    .all(storeId, Math.ceil(queued / 2));
  const insert = database.prepare(
    `INSERT INTO deliveries (id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order, state, tries,
       next_at, created_at)
     VALUES (?, ?, ?, ?, ?, 1, 'replay', 0, 'due', 0, ?, 1)`,
  );
  const add = ({ id, checkoutId }: (typeof events)[number], at: number): unknown =>
    insert.run(v7(), storeId, endpointId, id, checkoutId, at);
  for (const event of events) add(event, 2);
  const [first] = events;
  for (const _ of events) if (first !== undefined) add(first, 3);
}

function controlOf({ port, folder }: Pick<Sandbox, "port" | "folder">): Site["control"] {
  const { control_token: token } = JSON.parse(readFileSync(join(folder, "run.json"), "utf8")) as {
    readonly control_token: string;
  };
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return async (path, body) => {
    const asked = { port, path: `/__sandbox/${path}`, headers, body };
    const { status, bytes } = await ask(new Agent(), asked);
    if (status !== 200) throw new Error(`${path} was answered ${bytes.toString().slice(0, 600)}`);
    return bytes;
  };
}

function dataOf(answer: Buffer): Readonly<Record<string, unknown>> {
  return (JSON.parse(answer.toString()) as { readonly data: Readonly<Record<string, unknown>> }).data;
}

function watcher(port: number, apiKey: string): Site["watch"] {
  const path = retrieveTarget(v7());
  const headers = { authorization: `Bearer ${apiKey}` };
  return async (work) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const startedAt = performance.now();
    const whole = work().then(() => performance.now() - startedAt);
    const ended = whole.then(() => "ended" as const);
    for (let longest = 0; ;) {
      const sentAt = performance.now();
      // A server that is busy for too long closes the connection; the wait of that request counts too.
      const status = await ask(agent, { port, path, headers }).then(
        (answer) => answer.status,
        () => 0,
      );
      if (![0, 404, 408].includes(status)) throw new Error(`a checkout that is not there got ${status}`);
      longest = Math.max(longest, performance.now() - sentAt);
      if ((await Promise.race([ended, sleep(1)])) !== "ended") continue;
      agent.destroy();
      return { longest, whole: await whole };
    }
  };
}

type Asked = {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
};

function ask(
  agent: Agent,
  { port, path, headers, body }: Asked,
): Promise<{ readonly status: number; readonly bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const sent = request({ agent, host: "127.0.0.1", port, path, headers, method }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.once("end", () => resolve({ status: answer.statusCode ?? 0, bytes: Buffer.concat(parts) }));
    });
    sent.once("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
