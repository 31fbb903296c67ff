import Database from "better-sqlite3";
import type { Erasure } from "../../src/store/erasures.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { aCheckout, anEndpoint } from "../support/rows.ts";
import { median, medianRatio, type Figure } from "./figures.ts";
import type { Bench } from "./processes.ts";

/** Each order has one row in each of four tables. */
const SIZES = { orders: 500, ordersBeside: 25_000, rounds: 15 };
/** Unlike the bare deletion, a reset runs triggers, checks references, works in slices, and commits twice. */
const MAX_RATIO = 2.5;
const STORES = {
  erased: "00000000-0000-4000-8000-00000000000a",
  beside: "00000000-0000-4000-8000-00000000000b",
};
const RESET: Erasure = { storeId: STORES.erased, kind: "reset" };
const BODY = "x".repeat(500);

/** `fill` writes orders to a store; `reset` deletes them and returns the milliseconds of the deletion. */
type Subject = {
  readonly fill: (storeId: string, orders: number) => Promise<void>;
  readonly reset: () => Promise<number>;
};

/**
 * A reset of 2,000 rows, compared with a bare transaction that deletes the same rows without triggers and references,
 * on disk and in memory, alone and with 100,000 rows of another store.
 */
export async function measureErasure(
  { newPath }: Pick<Bench, "newPath">,
  { orders: erased, ordersBeside, rounds } = SIZES,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const place of ["on disk", "in memory"])
    for (const orders of [0, ordersBeside]) {
      const path = (): string => (place === "on disk" ? newPath("erasure.db") : IN_MEMORY);
      const subjects = [openOurs(path()), openBare(path())] as const;
      for (const { fill } of subjects) await fill(STORES.beside, orders);
      const [ours, bare]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        for (const { fill } of subjects) await fill(STORES.erased, erased);
        ours.push(await subjects[0].reset());
        bare.push(await subjects[1].reset());
      }
      const beside = orders === 0 ? "" : `, beside ${(orders * 4).toLocaleString("en")}`;
      figures.push({
        name: `reset of ${(erased * 4).toLocaleString("en")} rows, ${place}${beside}`,
        value: median(ours),
        unit: "ms",
        baseline: `${median(bare).toFixed(2)} ms of bare SQLite`,
        ratio: medianRatio(ours, bare),
        target: { atMost: MAX_RATIO },
      });
    }
  return figures;
}

const scheduler = {
  soon: (run: () => void): void => void setImmediate(run),
  after: (milliseconds: number, run: () => void): void => void setTimeout(run, milliseconds).unref(),
};
/** The number of orders over all runs, so that no two orders have the same id. */
let serial = 0;

function openOurs(path: string): Subject {
  const opened = openStore(path, { scheduler });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const store = opened.value;
  const made = store.write(() => {
    store.stores.insertMerchant({ id: "m", name: "m", createdAt: 1 });
    for (const id of Object.values(STORES)) {
      store.stores.insert({ id, merchantId: "m", name: "s", createdAt: 1 });
      store.endpoints.insert(anEndpoint({ id, storeId: id }));
    }
  });
  return {
    fill: async (storeId, orders) => {
      await made;
      await store.write(() => {
        for (let order = 0; order < orders; order += 1) addOrder(store, storeId);
      });
    },
    reset: async () => {
      const startedAt = performance.now();
      await store.write(() => store.erasures.begin(RESET));
      await store.write(() => {
        for (let isOver = false; !isOver;) isOver = store.erasures.eraseBatch(RESET);
      });
      return performance.now() - startedAt;
    },
  };
}

function addOrder(store: Store, storeId: string): void {
  serial += 1;
  const id = `0199a3c4-5d00-7000-8000-${String(serial).padStart(12, "0")}`;
  const [createdAt, sequence, checkoutId] = [1, 1, id];
  store.checkouts.insert(aCheckout({ id, storeId, orderId: `order-${serial}`, createdAt, expiresAt: 2 }));
  store.idempotencyKeys.insert({
    storeId,
    key: keyOf(serial),
    fingerprint: "f".repeat(64),
    status: 201,
    requestId: id,
    body: BODY,
    checkoutId,
    createdAt,
  });
  store.events.insert({ id, storeId, checkoutId, type: "order.created", sequence, body: BODY, createdAt });
  store.deliveries.insert({
    id,
    storeId,
    endpointId: storeId,
    eventId: id,
    checkoutId,
    sequence,
    cause: "event",
    inOrder: true,
    nextAt: 1,
    createdAt,
  });
}

/** Returns scattered keys, like the keys of real clients. */
function keyOf(number: number): string {
  return `${(Math.imul(number, 2_654_435_761) >>> 0).toString(16)}-bench-${number}`;
}

const TABLES = ["deliveries", "events", "idempotency_keys", "checkouts"] as const;

function openBare(path: string): Subject {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  for (const migration of SANDBOX_FILE.migrations) database.exec(migration);
  database.pragma("foreign_keys = OFF");
  for (const table of ["checkouts", "events", "deliveries"]) database.exec(`DROP TRIGGER ${table}_are_kept`);
  const inserts = [
    `INSERT INTO checkouts (id, store_id, object, order_id, amount_minor, currency, payment_method, status, created_at,
       expires_at)
     VALUES (@id, @storeId, 'order', @key, 1, 'EUR', 'alipay_plus', 'created', 1, 2)`,
    `INSERT INTO idempotency_keys (store_id, key, fingerprint, status, request_id, body, checkout_id, created_at)
     VALUES (@storeId, @key, @fingerprint, 201, @id, @body, @id, 1)`,
    `INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
     VALUES (@id, @storeId, @id, 'order.created', 1, @body, 1)`,
    `INSERT INTO deliveries (id, store_id, endpoint_id, event_id, checkout_id, sequence, cause, in_order, state, next_at,
       created_at)
     VALUES (@id, @storeId, @storeId, @id, @id, 1, 'event', 1, 'due', 1, 1)`,
  ].map((sql) => database.prepare(sql));
  const deletes = TABLES.map((table) => database.prepare(`DELETE FROM ${table} WHERE store_id = ?`));
  const fill = database.transaction((storeId: string, orders: number) => {
    for (let order = 0; order < orders; order += 1) {
      serial += 1;
      const id = `0199a3c4-5d00-7000-8000-${String(serial).padStart(12, "0")}`;
      const row = { id, storeId, key: keyOf(serial), fingerprint: "f".repeat(64), body: BODY };
      for (const insert of inserts) insert.run(row);
    }
  });
  const reset = database.transaction(() => {
    for (const sql of deletes) sql.run(STORES.erased);
  });
  return {
    fill: async (storeId, orders) => fill(storeId, orders),
    reset: async () => {
      const startedAt = performance.now();
      reset.immediate();
      return performance.now() - startedAt;
    },
  };
}
