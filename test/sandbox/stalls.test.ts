import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { encodeAnswer, encodeInSteps } from "../../src/core/control/operations.ts";
import { openImage, SNAPSHOT_FILE } from "../../src/store/snapshot/image.ts";
import { openStore } from "../../src/store/store.ts";
import { createHarness } from "../support/harness.ts";
import { REAL } from "../support/real.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { manyOrders, expression } from "../support/rows.ts";

const ORDERS = 1200;
const HOUR_MS = 3_600_000;
/** Runs the program's deferred work once. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A store with many open orders that expire at different times, and a second store that gets requests. */
async function open() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const control = async (path: string, body: object) => {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await sandbox.request({ path: `/__sandbox/${path}`, headers, body: JSON.stringify(body) });
    expect([path, answer.status]).toEqual([path, 200]);
    return (JSON.parse(String(answer.body)) as { data: Readonly<Record<string, unknown>> }).data;
  };
  const other = await control("stores", { name: "Other" });
  const storeId = sandbox.ready.store_id;
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  onTestFinished(() => void database.close());
  fill(database, storeId, harness.clock.now());
  const create = (orderId: string, apiKey: unknown) =>
    sandbox.request({
      path: "/v1/orders",
      headers: { Authorization: `Bearer ${String(apiKey)}`, "Idempotency-Key": `key-of-${orderId}` },
      body: JSON.stringify({
        order_id: orderId,
        amount_minor: 1,
        currency: "EUR",
        payment_method: "alipay_plus",
      }),
    });
  const count = (table: string) =>
    Number(database.prepare(`SELECT count(*) FROM ${table} WHERE store_id = ?`).pluck().get(storeId));
  return { harness, sandbox, control, other, storeId, database, create, count };
}

function fill(database: Database.Database, storeId: string, now: number, ids = "01"): void {
  const id = `printf('${ids}000000-0000-7000-8000-%012d', n)`;
  const checkout = { created_at: now, expires_at: expression(`${now} + n * 1000`) };
  database.exec(`BEGIN IMMEDIATE;
    ${manyOrders({ storeId, count: ORDERS, id, checkout })}
    COMMIT;`);
}

/** Repeats an action until work has ended; returns the number of repetitions. */
async function during(work: Promise<unknown>, act: (round: number) => Promise<void>): Promise<number> {
  let isOver = false;
  const ended = work.finally(() => (isOver = true));
  const over = (): boolean => isOver;
  let rounds = 0;
  for (; !over(); rounds += 1) await act(rounds);
  await ended;
  return rounds;
}

test("a snapshot has the state at the time of its request, and other requests are answered while it is written", async () => {
  const { harness, sandbox, control, other, create, count } = await open();
  const before = count("checkouts");
  const taken = control("snapshots", { name: "all" });
  const answered = await during(taken, async (round) => {
    const made = [create(`mine-${round}`, sandbox.ready.api_key), create(`other-${round}`, other["api_key"])];
    expect((await Promise.all(made)).map(({ status }) => status)).toEqual([201, 201]);
  });
  expect(answered).toBeGreaterThan(3);
  expect(count("checkouts")).toBe(before + answered);
  const folder = join(harness.cwd, ".checkout/snapshots");
  expect(readdirSync(folder)).toEqual(["all.snapshot"]);
  const image = openImage(readFileSync(join(folder, "all.snapshot")), {
    kind: SNAPSHOT_FILE,
    nativeBinding: undefined,
  });
  if (!image.ok) throw new Error(image.refusal);
  const held = image.value.connection.prepare("SELECT count(*) FROM checkouts").pluck().get();
  image.value.connection.close();
  // The first order is created at the moment of the snapshot, which may contain it.
  expect([before, before + 1]).toContain(held);
});

test("a clock moves in steps, other requests are answered in between, and each step leaves a valid state", async () => {
  const { control, other, storeId, database, create } = await open();
  await control(`stores/${storeId}/clock`, { action: "freeze" });
  const clockAt = database.prepare("SELECT clock_frozen_at FROM stores WHERE id = ?").pluck();
  const seen = database.prepare<[string], { readonly count: number; readonly last: number | null }>(
    "SELECT count(*) AS count, max(created_at) AS last FROM events WHERE store_id = ? AND type = 'order.expired'",
  );
  const counts = new Set<number>();
  const moved = control(`stores/${storeId}/clock`, { action: "advance", by_ms: HOUR_MS });
  const answered = await during(moved, async (round) => {
    const look = database.transaction(() => [seen.get(storeId), Number(clockAt.get(storeId))] as const);
    const [{ count = 0, last = 0 } = {}, now] = look();
    counts.add(count);
    expect(now).toBeGreaterThanOrEqual(last ?? 0);
    if (round % 8 === 0) expect((await create(`other-${round}`, other["api_key"])).status).toBe(201);
    await turn();
  });
  expect(answered).toBeGreaterThan(3);
  expect(counts.size).toBeGreaterThan(5);
  const { fired } = (await moved) as { readonly fired: readonly { readonly at: string }[] };
  expect(fired).toHaveLength(ORDERS);
  expect(fired.map(({ at }) => at)).toEqual(fired.map(({ at }) => at).toSorted());
});

test("a reset runs in steps, and requests to other stores are answered in between", async () => {
  const { control, other, storeId, create, count } = await open();
  const left = new Set<number>();
  const answered = await during(control("reset", { store: storeId }), async (round) => {
    expect((await create(`other-${round}`, other["api_key"])).status).toBe(201);
    left.add(count("events") + count("checkouts"));
  });
  expect([answered > 2, left.size > 1, count("checkouts")]).toEqual([true, true, 0]);
});

/** Whether a snapshot of a folder has a store, and the number of the store's rows in each of three tables. */
function heldBy(folder: string, name: string, storeId: string): readonly unknown[] {
  const bytes = readFileSync(join(folder, `.checkout/snapshots/${name}.snapshot`));
  const image = openImage(bytes, { kind: SNAPSHOT_FILE, nativeBinding: undefined });
  if (!image.ok) throw new Error(image.refusal);
  const { connection, storeIds } = image.value;
  const tables = ["checkouts", "idempotency_keys", "events"];
  const counts = tables.map((table) =>
    Number(connection.prepare(`SELECT count(*) FROM ${table} WHERE store_id = ?`).pluck().get(storeId)),
  );
  connection.close();
  return [storeIds.includes(storeId), ...counts];
}

test("a snapshot during a reset or deletion has the complete store, an empty store or no store, or is temporarily refused", async () => {
  for (const kind of ["reset", "delete"] as const) {
    const { harness, sandbox, control, other, storeId: first, database, count } = await open();
    const storeId = kind === "reset" ? first : String(other["store_id"]);
    if (kind === "delete") fill(database, storeId, harness.clock.now(), "02");
    const whole = [ORDERS, ORDERS, ORDERS];
    const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
    const headers = { Authorization: `Bearer ${token}` };
    const answers: string[] = [];
    const take = async (name: string): Promise<void> => {
      const body = JSON.stringify({ name });
      const answer = await sandbox.request({ path: "/__sandbox/snapshots", headers, body });
      const { error } = JSON.parse(String(answer.body)) as { readonly error?: { readonly code: string } };
      answers.push(`${answer.status} ${error?.code ?? ""} ${answer.headers["Retry-After"] ?? ""}`.trim());
      if (error !== undefined) return;
      const held = heldBy(harness.cwd, name, storeId);
      const after = kind === "reset" ? [true, 0, 0, 0] : [false, 0, 0, 0];
      expect([[true, ...whole], after]).toContainEqual(held);
    };
    const erased =
      kind === "reset" ? control("reset", { store: storeId }) : control(`stores/${storeId}/delete`, {});
    const isHalf = database.prepare("SELECT count(*) FROM erasures").pluck();
    const taken: Promise<void>[] = [];
    await during(erased, async (round) => {
      if (round === 0 || isHalf.get() === 1) taken.push(take(`taken-${round}`));
      await turn();
    });
    await Promise.all(taken);
    await take("taken-then");
    expect(new Set(answers)).toEqual(new Set(["200", "503 storage_unavailable 1"]));
    expect([answers.at(-1), count("checkouts")]).toEqual(["200", kind === "reset" ? 0 : ORDERS]);
  }
});

test("a concurrent restore and reset end with the complete result of the restore or of the reset", async () => {
  for (const isRestoreFirst of [true, false]) {
    const { control, sandbox, storeId, create, count } = await open();
    await control(`stores/${storeId}/snapshots`, { name: "whole" });
    const [reset, restore] = [
      () => control("reset", { store: storeId }),
      () => control("snapshots/restore", { name: "whole", adopt: true }),
    ];
    await Promise.all((isRestoreFirst ? [restore, reset] : [reset, restore]).map((act) => act()));
    const left = ["checkouts", "idempotency_keys", "events"].map(count);
    expect([
      [0, 0, 0],
      [ORDERS, ORDERS, ORDERS],
    ]).toContainEqual(left);
    expect((await create("after", sandbox.ready.api_key)).status).toBe(201);
  }
});

test("closing the state during a snapshot abandons the snapshot, and leaves no write-ahead log", async () => {
  const path = join(tempFolder(), "sandbox.db");
  const opened = openStore(path, { scheduler: REAL });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const store = opened.value;
  await store.write(() => store.stores.insertMerchant({ id: "m", name: "m", createdAt: 1 }));
  const plan = {
    storeId: null,
    takenAt: 1,
    key: new Uint8Array(32),
    reseal: (secret: Parameters<Parameters<typeof store.snapshots.write>[0]["reseal"]>[0]) => secret,
    origin: { masterKey: new Uint8Array(32), home: undefined },
  };
  const written = store.snapshots.write(plan, `${path}.snapshot`);
  store.close();
  await expect(written).rejects.toThrow(/closed/);
  // The connection of the snapshot was closed last, and has written the log into the file.
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("a long answer has the same bytes, whether it is encoded in steps or at once", () => {
  const id = "01000000-0000-7000-8000-000000000001";
  const move = { checkoutId: id, orderId: "o", from: "created", to: "expired", eventId: id } as const;
  const fired = Array.from({ length: 1200 }, (_, index) => ({ ...move, at: index }));
  const answer = { now: 1, frozen: false, fired, delivered: [], undelivered: 0 };
  const steps = encodeInSteps("moveClock", answer);
  let pauses = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pauses += 1;
  expect(pauses).toBeGreaterThan(1);
  expect(step.value).toEqual(encodeAnswer("moveClock", answer));
});
