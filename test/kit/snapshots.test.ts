import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import {
  CheckoutError,
  startSandbox,
  type CheckoutConfig,
  type Sandbox,
  type Store,
} from "../../src/testing/testing.ts";
import { changedSnapshot } from "../support/changed-snapshot.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";

const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

async function start(): Promise<Sandbox> {
  const sandbox = await startSandbox({ seed: "s" });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

test("a restore returns a store to its snapshot, and leaves other stores unchanged", async () => {
  const sandbox = await start();
  const [store, other] = [await sandbox.createStore(), await sandbox.createStore()];
  const receiver = await store.receiver();
  const order = await store.orders.create(ORDER);
  await store.deliveries.waitFor("order.created");
  const snapshot = await store.snapshot();
  const kept = await other.orders.create(ORDER);
  for (let round = 0; round < 3; round += 1) {
    await store.pay(order.id);
    await store.clock.advance("1m");
    expect(receiver.received.length).toBeGreaterThan(0);
    const before = sandbox.instanceId;
    await store.restore(snapshot);
    expect([await store.orders.get(order.id), receiver.received.length]).toEqual([order, 0]);
    expect(await store.clock.now()).toEqual(new Date("2026-01-01T00:00:00Z"));
    expect(sandbox.instanceId).not.toBe(before);
    await store.orders.create({ ...ORDER, order_id: "order-2" });
  }
  expect(await other.orders.get(kept.id)).toEqual(kept);
  await expect(other.restore(snapshot)).rejects.toMatchObject({
    name: "CheckoutError",
    code: "state_conflict",
  });
  await expect(store.restore(new Uint8Array(9))).rejects.toMatchObject({
    status: 400,
    code: "invalid_parameter",
  });
});

test("a snapshot of a whole sandbox can be restored into the same sandbox or another sandbox with the same seed, and its stores then work", async () => {
  const [sandbox, another] = [await start(), await start()];
  const store = await sandbox.createStore({ name: "Kept" });
  const order = await store.orders.create(ORDER);
  const snapshot = await sandbox.snapshot();
  expect(sandbox.instanceId).not.toBe(another.instanceId);
  const late = await sandbox.createStore();
  await sandbox.restore(snapshot);
  expect(await store.orders.get(order.id)).toEqual(order);
  await expect(late.events.list()).rejects.toMatchObject({ status: 404 });
  // `another` has the same seed, so its store has the same id and key.
  const same = await another.createStore({ name: "Kept" });
  await another.restore(snapshot);
  expect(await same.orders.get(order.id)).toEqual(order);
  expect(await same.orders.create({ ...ORDER, order_id: "order-2" })).toMatchObject({ status: "created" });
});

test("after a restore of another sandbox's snapshot, old and new handles of the restored stores work, and handles of other stores do not", async () => {
  const own = { id: "01890000-0000-7000-8000-000000000001", name: "Coffee" };
  const begin = async (config: CheckoutConfig): Promise<Sandbox> => {
    const sandbox = await startSandbox({ port: null, config });
    onTestFinished(() => sandbox.close());
    return sandbox;
  };
  const works = async (sandbox: Sandbox, store: Store): Promise<void> => {
    const receiver = await store.receiver();
    const { id } = await store.orders.create({ ...ORDER, order_id: "after" });
    expect(await receiver.waitFor("order.created")).toMatchObject({
      verified: true,
      event: { store_id: store.id },
    });
    await receiver.close();
    const added = await store.endpoints.add("http://127.0.0.1:9/");
    expect(added.signingSecret).toBe(store.signingSecret);
    await store.endpoints.remove(added.id);
    const answer = await sandbox.fetch(`${sandbox.baseUrl}/checkout-sessions/${id}`, {
      headers: { Authorization: `Bearer ${store.env["CHECKOUT_API_KEY"]}` },
    });
    expect([answer.status, store.env["CHECKOUT_SIGNING_SECRET"]]).toEqual([200, store.signingSecret]);
  };
  const source = await begin({ stores: [own] });
  await source.store.orders.create(ORDER);
  const second = await source.createStore({ name: "Second" });
  const [one, all] = [await source.store.snapshot(), await source.snapshot()];
  for (const config of [{ stores: [own] }, {}]) {
    const sandbox = await begin(config);
    const { store } = sandbox;
    if (store.id === own.id) {
      await store.restore(one);
      expect([store.signingSecret, (await store.events.list()).length]).toEqual([
        source.store.signingSecret,
        1,
      ]);
      await works(sandbox, store);
    }
    for (const round of [0, 1]) {
      const restored = await sandbox.restore(all);
      expect([round, restored.map(({ name }) => name)]).toEqual([round, ["Coffee", "Second"]]);
      expect(restored.map(({ id }) => id)).toEqual([own.id, second.id]);
      expect(restored[0]).toBe(sandbox.store);
      for (const handle of restored) await works(sandbox, handle);
      await sandbox.reset();
    }
    await sandbox.store[Symbol.asyncDispose]();
    expect(await sandbox.store.events.list()).toEqual([]);
    if (store.id === own.id) await works(sandbox, store);
    else await expect(store.events.list()).rejects.toMatchObject({ status: 404 });
  }
});

test("a restore in the same sandbox keeps the keys of its stores", async () => {
  const sandbox = await startSandbox({ port: null });
  onTestFinished(() => sandbox.close());
  const store = await sandbox.createStore();
  const [{ apiKey, signingSecret }, one, all] = [store, await store.snapshot(), await sandbox.snapshot()];
  for (const restore of [() => store.restore(one), () => sandbox.restore(all)]) {
    await store.delete();
    await restore();
    expect([store.apiKey, store.signingSecret]).toEqual([apiKey, signingSecret]);
    await store.orders.create(ORDER);
  }
});

test("a snapshot during a reset is refused; an earlier snapshot has the complete store, and a later snapshot an empty store", async () => {
  const sandbox = await start();
  const { store } = sandbox;
  const { id } = await store.orders.create(ORDER);
  const taken: Uint8Array[] = [];
  const refused: string[] = [];
  let isOver = false;
  const over = (): boolean => isOver;
  const reset = store.reset().finally(() => (isOver = true));
  while (!over()) {
    await sandbox.snapshot().then(
      (bytes) => taken.push(bytes),
      (error: unknown) => refused.push(String(error)),
    );
    await new Promise((resolve) => setImmediate(resolve));
  }
  await reset;
  expect(new Set(refused)).toEqual(new Set([await refusalWithoutStore(sandbox)]));
  for (const bytes of [...taken, await sandbox.snapshot()]) {
    await sandbox.restore(bytes);
    const found = await sandbox.store.orders.get(id).then(
      ({ status }) => status,
      (error: unknown) => (error instanceof CheckoutError ? error.code : String(error)),
    );
    expect(["created", "session_not_found"]).toContain(found);
    expect((await sandbox.store.events.list()).length).toBe(found === "created" ? 1 : 0);
  }
});

test("a snapshot of a store can be taken during another store's reset, but not during its own reset", async () => {
  const sandbox = await start();
  const [store, other] = [await sandbox.createStore(), await sandbox.createStore()];
  await store.orders.create(ORDER);
  const refused: string[] = [];
  let isOver = false;
  const over = (): boolean => isOver;
  const reset = store.reset().finally(() => (isOver = true));
  while (!over()) {
    expect((await other.snapshot()).length).toBeGreaterThan(0);
    await store.snapshot().catch((error: unknown) => refused.push(String(error)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await reset;
  expect(new Set(refused)).toEqual(new Set([await refusalWithoutStore(sandbox)]));
});

/** The error of a snapshot of a deleted store. */
async function refusalWithoutStore(sandbox: Sandbox): Promise<string> {
  const deleted = await sandbox.createStore();
  await deleted.delete();
  return deleted.snapshot().then(() => "no error", String);
}

test("a snapshot that cannot be restored is refused with the reason, and changes nothing", async () => {
  const sandbox = await start();
  const [store, other] = [await sandbox.createStore(), await sandbox.createStore()];
  const [one, all] = [await store.snapshot(), await sandbox.snapshot()];
  const { id } = await other.orders.create(ORDER);
  const late = await sandbox.createStore();
  const copy = new Database(Buffer.from(all));
  const key = copy.prepare("SELECT key_hash FROM credentials WHERE store_id = ?").pluck().get(other.id);
  copy.close();
  const withKeyOfOther = changedSnapshot(one, (changed) =>
    changed.prepare("UPDATE credentials SET key_hash = ?").run(key),
  );
  // As written by a program that knows the file format, but not the key of the snapshot.
  const withOtherSecret = changedSnapshot(one, (changed) =>
    changed.prepare("UPDATE signing_secrets SET sealed = randomblob(length(sealed))").run(),
  );
  const withoutMerchant = changedSnapshot(one, (changed) =>
    changed.prepare("UPDATE stores SET merchant_id = '00000000-0000-7000-8000-00000000ffff'").run(),
  );
  const rows = [
    [
      () => other.restore(one),
      "state_conflict",
      refusalText("not_in_snapshot", { store: other.id, stores: store.id }),
    ],
    [
      () => late.restore(all),
      "state_conflict",
      refusalText("not_in_snapshot", {
        store: late.id,
        stores: [sandbox.store, store, other].map((held) => held.id).join(", "),
      }),
    ],
    [() => sandbox.restore(one), "state_conflict", refusalText("snapshot_of_store", { store: store.id })],
    [() => store.restore(withKeyOfOther), "state_conflict", refusalText("snapshot_conflict")],
    [
      () => store.restore(withOtherSecret),
      "invalid_parameter",
      inOrder(refusalText("snapshot_unfit"), / [\da-f-]{36} /),
    ],
    [() => store.restore(withoutMerchant), "invalid_parameter", refusalText("snapshot_unfit")],
    [() => store.restore(all.subarray(0, 5000)), "invalid_parameter", refusalText("snapshot_unfit")],
  ] as const;
  for (const [restore, code, message] of rows)
    await expect(restore()).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
  expect(await other.orders.get(id)).toMatchObject({ status: "created" });
  await store.delete();
  const refused = await store.snapshot().then(() => "no error", String);
  expect(refused).toBe(await refusalWithoutStore(sandbox));
});

test("a restore ends the waits for events of the restored stores, and deletes newer log entries and records of assumptions", async () => {
  const sandbox = await start();
  const { store } = sandbox;
  const control = async (path: string) => {
    const headers = { Authorization: `Bearer ${sandbox.controlToken}` };
    const answer = await sandbox.fetch(`${sandbox.origin}/__sandbox/stores/${store.id}${path}`, { headers });
    return ((await answer.json()) as { readonly data: Readonly<Record<string, unknown>> }).data;
  };
  const relied = async () => {
    const listed = (await control("/assumptions"))["assumptions"] as readonly Readonly<
      Record<string, unknown>
    >[];
    return listed.filter((one) => one["relied_on"] !== null).map(({ decision }) => decision);
  };
  // Sent like the merchant's own client, because the assumptions of this program's own commands are not recorded.
  const buy = async (): Promise<void> => {
    const { status } = await sandbox.fetch(`${sandbox.baseUrl}/orders`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${store.apiKey}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "key-00001",
      },
      body: JSON.stringify({ ...ORDER, order_id: "order-1~succeeded" }),
    });
    expect(status).toBe(201);
  };
  const before = await relied();
  const [one, all] = [await store.snapshot(), await sandbox.snapshot()];
  for (const restore of [() => store.restore(one), () => sandbox.restore(all)]) {
    await buy();
    const since = await relied();
    expect(await store.requests.list()).toHaveLength(1);
    expect(since).not.toEqual(before);
    const ended: string[] = [];
    const poll = control("/events?since=999999&wait_ms=15000").then(() => ended.push("poll"));
    await new Promise((resolve) => setImmediate(resolve));
    await restore().then(() => ended.push("restore"));
    expect(ended).toEqual(["poll", "restore"]);
    await poll;
    expect([await store.requests.list(), await relied()]).toEqual([[], before]);
    await buy();
    expect(await relied()).toEqual(since);
    await restore();
  }
});
