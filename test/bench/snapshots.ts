import Database from "better-sqlite3";
import { restoreSnapshot, takeSnapshot, type SnapshotContext } from "../../src/sandbox/runtime/snapshots.ts";
import { seedSandbox } from "../../src/sandbox/runtime/seed.ts";
import { createStoreGate } from "../../src/sandbox/runtime/store-gate.ts";
import { REAL } from "../support/real.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { aCheckout } from "../support/rows.ts";
import { median, medianRatio, type Figure } from "./figures.ts";

/** Number of orders that a test typically sets up; each order has one row in each of three tables. */
const ORDERS = 50;
const ROUNDS = 30;
/**
 * Unlike the bare copy, the program runs all checks of a snapshot, references and triggers, encrypts the secrets again,
 * and commits.
 */
const MAX_RATIO = { take: 2.5, restore: 3.5 };
const MAX_IN_MEMORY_MS = 600;
const BODY = "x".repeat(500);

/** A snapshot of a small store in memory, and its restore, compared with a copy of the same rows by bare SQLite. */
export async function measureSnapshots(): Promise<Figure[]> {
  const { context, storeId } = await openOurs();
  const bare = openBare(takeSnapshot(context, { storeId }));
  const [takes, bareTakes, restores, bareRestores]: number[][] = [[], [], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    let bytes: Uint8Array = new Uint8Array();
    takes?.push(timed(() => (bytes = takeSnapshot(context, { storeId }))));
    bareTakes?.push(timed(bare.take));
    const startedAt = performance.now();
    const restored = await restoreSnapshot(context, { storeId }, bytes);
    restores?.push(performance.now() - startedAt);
    if (!restored.ok) throw new Error(restored.refusal.message);
    bareRestores?.push(timed(bare.restore));
  }
  const figure = (
    name: string,
    ours: readonly number[],
    base: readonly number[],
    atMost: number,
  ): Figure => ({
    name: `${name} of ${ORDERS * 3} rows, in memory`,
    value: median(ours),
    unit: "ms",
    baseline: `${median(base).toFixed(2)} ms of bare SQLite`,
    ratio: medianRatio(ours, base),
    target: { atMost },
  });
  return [
    figure("snapshot", takes ?? [], bareTakes ?? [], MAX_RATIO.take),
    figure("restore", restores ?? [], bareRestores ?? [], MAX_RATIO.restore),
  ];
}

function timed(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

/** A snapshot of a large store in memory, which is taken in one step: no request is answered meanwhile. */
export async function measureInMemory(orders: number, rounds: number): Promise<Figure> {
  const { context, storeId } = await openOurs(orders);
  const takes = Array.from({ length: rounds }, () => timed(() => takeSnapshot(context, { storeId })));
  return {
    name: `snapshot of ${orders.toLocaleString("en")} checkouts in memory`,
    value: median(takes),
    unit: "ms",
    target: { atMost: MAX_IN_MEMORY_MS },
  };
}

async function openOurs(
  orders = ORDERS,
): Promise<{ readonly context: SnapshotContext; readonly storeId: string }> {
  const opened = openStore(IN_MEMORY, { scheduler: REAL });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const store = opened.value;
  const masterKey = REAL.randomBytes(32);
  const keeping = {
    keepKey: () => undefined,
    keepKeySoon: () => Promise.resolve(),
    keepName: () => undefined,
  };
  const seeded = await seedSandbox(store, { world: REAL, masterKey, ...keeping });
  if (!seeded.ok) throw new Error("no store was made");
  const { id: storeId } = seeded.value;
  await store.write(() => addOrders(store, storeId, { uuid: REAL.uuid, orders }));
  const context: SnapshotContext = {
    store,
    world: REAL,
    masterKey,
    storeGate: createStoreGate(REAL, () => undefined),
    assumptions: { forget: () => undefined },
    forgetStore: () => undefined,
    onNewInstance: () => undefined,
    holdOf: () => undefined,
    wakeStores: () => Promise.resolve(),
  };
  return { context, storeId };
}

function addOrders(
  store: Store,
  storeId: string,
  { uuid, orders }: { readonly uuid: () => string; readonly orders: number },
): void {
  for (let order = 0; order < orders; order += 1) {
    const id = uuid();
    const [createdAt, sequence, checkoutId] = [1, 1, id];
    store.checkouts.insert(aCheckout({ id, storeId, orderId: `o-${order}`, createdAt, expiresAt: 2 }));
    store.idempotencyKeys.insert({
      storeId,
      key: `key-of-order-${order}`,
      fingerprint: "f".repeat(64),
      status: 201,
      requestId: id,
      body: BODY,
      checkoutId,
      createdAt,
    });
    store.events.insert({ id, storeId, checkoutId, type: "order.created", sequence, body: BODY, createdAt });
  }
}

/** Copies the rows of a snapshot into an empty image of the same tables and back, without any check. */
function openBare(whole: Uint8Array) {
  const open = (bytes: Buffer): Database.Database => {
    const database = new Database(bytes);
    database.pragma("foreign_keys = OFF");
    return database;
  };
  const live = open(Buffer.from(whole));
  const names = live
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all();
  for (const trigger of live
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    .pluck()
    .all())
    live.exec(`DROP TRIGGER ${trigger}`);
  const emptied = open(live.serialize());
  for (const name of names) emptied.exec(`DELETE FROM ${name}`);
  emptied.exec("VACUUM");
  const empty = emptied.serialize();
  emptied.close();
  const copy = (from: Database.Database, to: Database.Database): void => {
    to.exec("BEGIN");
    for (const name of names) {
      const rows = from.prepare<[], unknown[]>(`SELECT * FROM ${name}`).raw().all();
      const [first] = rows;
      if (first === undefined) continue;
      const insert = to.prepare(`INSERT INTO ${name} VALUES (${first.map(() => "?").join(", ")})`);
      for (const row of rows) insert.run(...row);
    }
    to.exec("COMMIT");
  };
  let bytes: Buffer = Buffer.alloc(0);
  return {
    take: () => {
      const image = open(empty);
      copy(live, image);
      bytes = image.serialize();
      image.close();
    },
    restore: () => {
      const image = open(bytes);
      for (const name of names) live.exec(`DELETE FROM ${name}`);
      copy(image, live);
      image.close();
    },
  };
}
