import Database from "better-sqlite3";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { explore, startSandbox, type Receiver, type Sandbox, type Store } from "../../src/testing/testing.ts";
import { optionsFor } from "../support/explore-shops.ts";
import { median, medianRatio, type Figure } from "./figures.ts";

const STARTS = 30;
const STORES = 300;
const RESETS = 15;
/** Each order has one row in each of four tables. */
const ORDERS = 500;
const SUITE = 200;
const SUITE_ROUNDS = 3;
/** Number of schedules, with single faults and pairs, for a shop with a separate HTTP server for each store. */
const SCHEDULES = 300;
/** Rows of a new store: merchant, store, key, secret, capabilities and prices. */
const STORE_ROWS = 14;
const ORDER = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" } as const;

/**
 * Measures the kit's in-memory sandbox: starts, stores and resets against bare SQLite, a parallel suite against a
 * shared store, and the speed of `explore`.
 */
export async function measureKit(): Promise<Figure[]> {
  // The first start loads and compiles the code of later starts.
  await (await startSandbox()).close();
  const starts = await measureStarts();
  const sandbox = await startSandbox({ port: null });
  const figures = [
    ...starts,
    await measureStores(sandbox),
    await measureResets(sandbox),
    await measureSuite(),
    await measureExplore(),
  ];
  await sandbox.close();
  return figures;
}

async function measureStarts(): Promise<Figure[]> {
  const [ours, closes, bare]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < STARTS; round += 1) {
    let sandbox: Sandbox | undefined;
    ours.push(await timed(async () => void (sandbox = await startSandbox())));
    closes.push(await timed(async () => sandbox?.close()));
    bare.push(await timed(() => makeTables().close()));
  }
  return [
    { ...figureOf("start of a kit's sandbox, with a port", ours), target: { atMost: 10 } },
    { ...figureOf("… beside its tables", ours), ...ratioOf(ours, bare) },
    figureOf("close of a kit's sandbox", closes),
  ];
}

async function measureStores(sandbox: Sandbox): Promise<Figure> {
  const [ours, bare]: [number[], number[]] = [[], []];
  const database = new Database(":memory:");
  database.exec("CREATE TABLE rows (id TEXT PRIMARY KEY, store TEXT, text TEXT) STRICT");
  const insert = database.prepare("INSERT INTO rows VALUES (?, ?, ?)");
  const makeRows = database.transaction((store: number) => {
    for (let row = 0; row < STORE_ROWS; row += 1)
      insert.run(`${store}-${row}`, String(store), "x".repeat(40));
  });
  for (let round = 0; round < STORES; round += 1) {
    ours.push(await timed(async () => void (await sandbox.createStore())));
    bare.push(await timed(() => makeRows.immediate(round)));
  }
  database.close();
  return { ...figureOf("a store of the kit", ours), ...bareBaseline(bare), target: { atMost: 0.3 } };
}

async function measureResets(sandbox: Sandbox): Promise<Figure> {
  const store = await sandbox.createStore();
  const [ours, bare]: [number[], number[]] = [[], []];
  const database = new Database(":memory:");
  const tables = ["a", "b", "c", "d"];
  for (const name of tables) database.exec(`CREATE TABLE ${name} (id TEXT PRIMARY KEY, text TEXT) STRICT`);
  const inserts = tables.map((name) => database.prepare(`INSERT INTO ${name} VALUES (?, ?)`));
  const removes = tables.map((name) => database.prepare(`DELETE FROM ${name} WHERE id >= ''`));
  const fill = database.transaction(() => {
    for (const insert of inserts)
      for (let row = 0; row < ORDERS; row += 1) insert.run(String(row), "x".repeat(500));
  });
  const empty = database.transaction(() => removes.forEach((remove) => remove.run()));
  for (let round = 0; round < RESETS; round += 1) {
    await Promise.all(
      Array.from({ length: ORDERS }, (_, at) => store.orders.create({ ...ORDER, order_id: `o-${at}` })),
    );
    fill.immediate();
    ours.push(await timed(() => store.reset()));
    bare.push(await timed(() => empty.immediate()));
  }
  database.close();
  return {
    ...figureOf("reset of 2,000 rows by the kit", ours),
    ...bareBaseline(bare),
    target: { atMost: 5 },
  };
}

/**
 * Concurrent tests, each with its own store, order, payment and verified webhook, compared with the same tests in one
 * shared store that is reset between them, so that they have to run one after the other.
 */
async function measureSuite(): Promise<Figure> {
  const [ours, shared]: [number[], number[]] = [[], []];
  for (let round = 0; round < SUITE_ROUNDS; round += 1) {
    ours.push(await timed(suiteOfStores));
    shared.push(await timed(suiteOfResets));
  }
  return {
    ...figureOf(`a suite of ${SUITE} tests, in parallel`, ours),
    target: { atMost: 5000 },
    baseline: `${median(shared).toFixed(0)} ms one after the other, with a reset between them`,
  };
}

async function measureExplore(): Promise<Figure> {
  const limits = { seed: "bench", maxSchedules: SCHEDULES, budgetMs: 600_000 };
  const before = performance.now();
  const { schedules, held } = await explore({ ...optionsFor({}), ...limits });
  const seconds = (performance.now() - before) / 1000;
  if (held !== schedules) throw new Error("a careful shop was called broken");
  return {
    name: "schedules of explore, in process",
    value: schedules / seconds,
    unit: "/s",
    target: { atLeast: 15 },
  };
}

async function suiteOfStores(): Promise<void> {
  const sandbox = await startSandbox({ port: null });
  const oneTest = async (): Promise<void> => {
    const store = await sandbox.createStore();
    await payAndVerify(store, await store.receiver());
    await store.delete();
  };
  await Promise.all(Array.from({ length: SUITE }, oneTest));
  await sandbox.close();
}

async function suiteOfResets(): Promise<void> {
  const sandbox = await startSandbox({ port: null });
  const receiver = await sandbox.store.receiver();
  for (let test = 0; test < SUITE; test += 1) {
    await payAndVerify(sandbox.store, receiver);
    await sandbox.reset();
  }
  await sandbox.close();
}

async function payAndVerify(store: Store, receiver: Receiver): Promise<void> {
  const order = await store.orders.create({ ...ORDER, order_id: "order-1001" });
  await store.pay(order.id);
  const { verified, event } = await receiver.waitFor("order.succeeded", { timeoutMs: 60_000 });
  if (!verified || event?.store_id !== store.id) throw new Error("another webhook than this store's");
}

function makeTables(): Database.Database {
  const database = new Database(":memory:");
  for (const migration of SANDBOX_FILE.migrations) database.exec(`BEGIN;${migration};COMMIT`);
  return database;
}

async function timed(work: () => unknown): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

function figureOf(name: string, milliseconds: readonly number[]): Figure {
  return { name, value: median(milliseconds), unit: "ms" };
}

/** The time of the bare work, as the baseline of a figure without a ratio. */
function bareBaseline(bare: readonly number[]): Pick<Figure, "baseline"> {
  return { baseline: `${median(bare).toFixed(3)} ms of bare SQLite` };
}

function ratioOf(ours: readonly number[], bare: readonly number[]): Pick<Figure, "baseline" | "ratio"> {
  return { baseline: `${median(bare).toFixed(2)} ms to make the tables`, ratio: medianRatio(ours, bare) };
}
