import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { WORKER_FILE } from "../../src/host/folder/files.ts";
import { API_KEY_RANDOM_BYTES, formatTestKey, testKeyBits } from "../../src/core/credential.ts";
import { markedKeyBytes, markedUuid, markOfId, type Mark } from "../../src/hosted/shared/marks.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { eventually } from "../support/eventually.ts";
import {
  countAlarms,
  createHostedStore,
  databaseOf,
  hostedV1,
  objectDatabases,
  openHostedSite,
  readDatabase,
  startHosted,
  type HostedService,
  type HostedStore,
} from "../support/hosted.ts";
import { hostedRuntime, openHostedProcess } from "../support/hosted-runtime.ts";
import { openHttpReceiver, readBody } from "../support/http-receiver.ts";
import { connect, loadUntilGone, sendCreate, type Answer, type Create } from "../support/load.ts";
import { judge, readAnswers, render, rowCounts, send } from "../support/raw-requests.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { replaceRuntime } from "../support/runtimes.ts";
import { runScenarios, WORKFLOWS } from "../support/scenarios.ts";
import { replaceService } from "../support/service-process.ts";
import { useSandbox } from "../support/v1-sandboxes.ts";

import { BAD_REQUESTS, WRONG_IN_SEVERAL_WAYS } from "./bad-requests.table.ts";

const CONNECTIONS = 8;
const KILLS = size(4, 50);
const STORES = size(24, 1000);
const DELETION_KILLS = size(3, 30);
/** Number of stores in use at a time. */
const AT_ONCE = 8;

/** One process for all tests of this file. */
const service = await startHosted();
afterAll(service.end);
// The first store, which is never deleted.
await createHostedStore(service);

// Loading a file of tests registers its tests again, for the hosted service: here the tests of v1.
useSandbox((now) => hostedV1(service, now));
await import("../sandbox/api-v1.test.ts?hosted");
// The tests of the control API and of the stores' isolation, and the campaigns about payments, creates and deliveries.
replaceRuntime(hostedRuntime(service));
replaceService(() => openHostedProcess(service));
await import("../sandbox/control-answers.test.ts?hosted");
await import("../sandbox/isolation.test.ts?hosted");
await import("../sandbox/store-rights.test.ts?hosted");
await import("../campaign/payment-model.test.ts?hosted");
await import("../campaign/parallel-creates.test.ts?hosted");
await import("../campaign/webhook-kill.test.ts?hosted");

test("all Arazzo scenarios pass against the hosted service in workerd", async () => {
  const { apiKey } = await createHostedStore(service);
  const access = { CHECKOUT_API_KEY: apiKey, CHECKOUT_CONTROL_TOKEN: service.controlToken };
  const { origin } = service;
  const { ran, failed } = await runScenarios({ baseUrl: `${origin}/v1`, controlOrigin: origin, access });
  expect(failed).toEqual([]);
  expect(ran.toSorted()).toEqual(WORKFLOWS.toSorted());
});

test("the Worker is below 1 MB gzipped, and imports neither better-sqlite3 nor Node's process and network modules", () => {
  const text = readFileSync(join(import.meta.dirname, "../../dist", WORKER_FILE));
  expect(gzipSync(text).length).toBeLessThan(1_000_000);
  expect(String(text)).not.toMatch(/from"(?:better-sqlite3|node:(?:child_process|sea|https?|net))"/);
});

test("an endpoint of a hosted service needs a public or allowed address", async () => {
  const { storeId } = await createHostedStore(service);
  const add = (url: string) => service.control(`/stores/${storeId}/endpoints`, { url });
  for (const url of ["https://shop.example/hooks", "http://8.8.8.8:8080/", "http://127.0.0.1:1/hooks"])
    expect(await add(url)).toMatchObject({ url, state: "enabled" });
  for (const host of ["10.1.2.3", "192.168.0.9", "169.254.169.254", "[::1]", "[fd00:ec2::254]", "localhost"])
    await expect(add(`http://${host}/hooks`)).rejects.toThrow(refusalText("target_not_public"));
});

/** Requests that a Worker does not receive as they were sent: the runtime refuses or rewrites them. */
const SEEN_BY_THE_RUNTIME: ReadonlySet<string> = new Set(
  [
    // The Host becomes a part of the address of the request.
    ["an empty Host", "two hosts in one line", "a space in the Host", "a Host in Latin-1", "a Host in UTF-8"],
    [
      "an absolute target elsewhere",
      "an absolute target with a user",
      "CONNECT",
      "CONNECT with a foreign Host",
    ],
    // Dot segments of a path are resolved.
    ["a step up", "a step up, encoded", "a backslash", "a step up in place of a session id"],
    // The lines of a header are joined, and an empty header counts as missing.
    ["an empty Origin", "an empty Authorization", "two Idempotency-Keys", "the same Idempotency-Key twice"],
    ["an Idempotency-Key and an empty one", "two Idempotency-Keys in two spellings"],
    // The runtime reads the whole body first.
    ["a body over 16 KiB that is announced only", "a body over 16 KiB that asks first"],
    ["a body over 16 KiB and a foreign Host", "a body over 16 KiB and no credential"],
  ].flat(),
);
/** Names of requests with two Idempotency-Key lines, which the runtime joins, and with further mistakes. */
const TWO_KEYS_NAME = /^two keys \+ /;
/** Verdicts on requests that the runtime's parser reads or refuses in its own way. */
const PARSER_VERDICTS = /^(?:400 invalid_request|431 headers_too_large)/;

test("the Worker refuses every bad request that workerd passes on unchanged, with the sandbox's error, and stores nothing", async () => {
  const site = await openHostedSite(service);
  const before = rowCounts(site);
  const faults: string[] = [];
  const rows = [...BAD_REQUESTS, ...WRONG_IN_SEVERAL_WAYS].filter(
    ([name, verdict]) =>
      !PARSER_VERDICTS.test(verdict) && !TWO_KEYS_NAME.test(name) && !SEEN_BY_THE_RUNTIME.has(name),
  );
  expect(rows.length).toBeGreaterThan(300);
  for (const [index, [name, expected, change]] of rows.entries()) {
    const method = change.line?.trimStart().split(" ")[0] ?? "POST";
    const received = await send(site, render(site, change, index + 1), change.halfClosed === true);
    const got = readAnswers(received, method).map((answer) => judge(site, answer, method));
    if (got.join(", then ") !== expected)
      faults.push(`${name}: expected ${expected}; got ${got.join(", then ")}`);
  }
  expect(faults).toEqual([]);
  expect(rowCounts(site)).toEqual(before);
});

test("a request with two Host headers is refused in the service's error envelope", async () => {
  const site = await openHostedSite(service);
  const twice = render(site, { headers: { Host: ["{host}", "{host}"] } }, 1);
  const verdicts = readAnswers(await send(site, twice, false), "POST").map((answer) =>
    judge(site, answer, "POST"),
  );
  expect(verdicts).toEqual(["400 invalid_request"]);
});

/** A store of the service, with its key and the id of its only checkout. */
type OwnedStore = HostedStore & { readonly checkoutId: string };

async function createStoreWithCheckout(): Promise<OwnedStore> {
  const store = await createHostedStore(service);
  const answer = await sendCreate(serviceOf(store), { key: "a-known-key", orderId: "an-order" });
  const { data } = JSON.parse(answer?.body ?? "") as { readonly data: { readonly id: string } };
  return { ...store, checkoutId: data.id };
}

function serviceOf({ apiKey }: HostedStore) {
  return connect(
    { port: service.port, ready: { api_key: apiKey } } as Parameters<typeof connect>[0],
    CONNECTIONS,
  );
}

test("an id or key with one store's routing mark and the rest of another store's id or key is unknown", async () => {
  const stores = [await createStoreWithCheckout(), await createStoreWithCheckout()] as const;
  const control = { Authorization: `Bearer ${service.controlToken}`, "Content-Type": "application/json" };
  const status = async (path: string, headers: Record<string, string>, body?: unknown): Promise<number> => {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(service.origin + path, { headers, ...sent })).status;
  };
  for (const [one, other] of [stores, stores.toReversed() as [OwnedStore, OwnedStore]]) {
    const mark = markOfId(one.storeId) ?? 0;
    const checkoutId = withMark(mark, other.checkoutId);
    expect(checkoutId).not.toBe(other.checkoutId);
    const own = { Authorization: `Bearer ${one.apiKey}` };
    const bits =
      testKeyBits(other.apiKey)
        ?.toString(16)
        .padStart(API_KEY_RANDOM_BYTES * 2, "0") ?? "";
    const key = formatTestKey(markedKeyBytes(mark, Buffer.from(bits, "hex")));
    const paid = { outcome: "succeeded" };
    expect([
      await status(`/v1/checkout-sessions/${checkoutId}`, own),
      await status(`/pay/${checkoutId}`, {}),
      await status(`/__sandbox/stores/${one.storeId}/checkouts/${checkoutId}`, control),
      await status(`/__sandbox/stores/${one.storeId}/checkouts/${checkoutId}/pay`, control, paid),
      await status(`/__sandbox/stores/${withMark(mark, other.storeId)}/events`, control),
      await status(`/__sandbox/stores/${withMark(mark, other.storeId)}/delete`, control, {}),
      await status(`/v1/checkout-sessions/${one.checkoutId}`, { Authorization: `Bearer ${key}` }),
      await status(`/v1/checkout-sessions/${other.checkoutId}`, { Authorization: `Bearer ${key}` }),
    ]).toEqual([404, 404, 404, 404, 404, 404, 401, 401]);
  }
  for (const { storeId, checkoutId } of stores) {
    const rows = readDatabase(databaseOf(service, storeId), (database) => ({
      stores: database.prepare("SELECT id FROM stores").pluck().all(),
      checkouts: database.prepare("SELECT id || ' ' || status FROM checkouts").pluck().all(),
    }));
    expect(rows).toEqual({ stores: [storeId], checkouts: [`${checkoutId} created`] });
  }
});

/** The id with another mark, and with the same time and random bits. */
function withMark(mark: Mark, id: string): string {
  const plain = id.replaceAll("-", "");
  return markedUuid(mark, Number.parseInt(plain.slice(0, 12), 16), Buffer.from(plain.slice(20), "hex"));
}

test("a deleted hosted store leaves no table and no alarm, and its key and ids are unknown", async () => {
  const before = { alarms: countAlarms(service, "stores"), databases: filledDatabases(service) };
  let left = STORES;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { storeId, apiKey, checkoutId } = await createStoreWithCheckout();
      const { store_id: gone } = await service.control(`/stores/${storeId}/delete`, {});
      expect(gone).toBe(storeId);
      const headers = { Authorization: `Bearer ${apiKey}` };
      const retrieved = await fetch(`${service.origin}/v1/checkout-sessions/${checkoutId}`, { headers });
      const page = await fetch(`${service.origin}/pay/${checkoutId}`);
      expect([retrieved.status, page.status]).toEqual([401, 404]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(filledDatabases(service)).toEqual(before.databases);
  expect(countAlarms(service, "stores")).toBeLessThanOrEqual(before.alarms);
  const { stores } = (await service.control("/stores")) as { readonly stores: readonly unknown[] };
  expect(stores).toHaveLength(before.databases.length);
});

test("a store of a hosted service keeps its dialect across a restart, and other stores have the default names", async () => {
  const dialect = { errors: { session_not_found: { code: "resource_missing" } }, unknown_session: 403 };
  const made = await service.control("/stores", { name: "Other names", dialect });
  const { apiKey } = await createHostedStore(service);
  const ask = async (key: string): Promise<unknown> => {
    const path = "/v1/checkout-sessions/00000000-0000-4000-8000-000000000000";
    const answer = await fetch(service.origin + path, { headers: { Authorization: `Bearer ${key}` } });
    const { error } = (await answer.json()) as { readonly error: { readonly code: string } };
    return [answer.status, error.code];
  };
  const answers = () => Promise.all([ask(String(made["api_key"])), ask(apiKey)]);
  const expected = [
    [403, "resource_missing"],
    [404, "session_not_found"],
  ];
  expect(await answers()).toEqual(expected);
  await service.kill();
  await service.restart();
  expect(await answers()).toEqual(expected);
  expect(await service.control(`/stores/${String(made["store_id"])}`)).toMatchObject({ dialect });
});

test("a failed deletion of a hosted store is repeated until it succeeds, and does not delay other stores", async () => {
  const [broken, other] = [await createStoreWithCheckout(), await createStoreWithCheckout()];
  const path = databaseOf(service, broken.storeId);
  await service.kill();
  const files = [path, `${path}-wal`, `${path}-shm`].filter((file) => existsSync(file));
  for (const file of files) renameSync(file, `${file}.away`);
  writeFileSync(path, "no database ".repeat(1000));
  await service.restart();
  await expect(service.control(`/stores/${broken.storeId}/delete`, {})).rejects.toThrow(/: 503 /);
  for (const isLast of [false, true]) {
    const { storeId } = await createHostedStore(service);
    await service.control(`/stores/${storeId}/delete`, {});
    expect(await listedStores()).toContain(other.storeId);
    await service.kill();
    if (!isLast) await service.restart();
  }
  rmSync(path);
  for (const file of files) renameSync(`${file}.away`, file);
  await service.restart();
  const listed = await listedStores();
  expect([listed.includes(broken.storeId), listed.includes(other.storeId)]).toEqual([false, true]);
  const headers = { Authorization: `Bearer ${broken.apiKey}` };
  const retrieve = `${service.origin}/v1/checkout-sessions/${broken.checkoutId}`;
  expect((await fetch(retrieve, { headers })).status).toBe(401);
  expect(filledDatabases(service)).toHaveLength(listed.length);
});

test("requests during a hosted store's deletion are answered, or refused like requests with an unknown key", async () => {
  const alarms = countAlarms(service, "stores");
  const store = await createHostedStore(service);
  const own = serviceOf(store);
  const statuses = new Set<number | undefined>();
  let sent = 0;
  const buy = async (): Promise<void> => {
    for (let status: number | undefined = 201; status === 201;) {
      const create = { key: `deleted-key-${(sent += 1)}`, orderId: `deleted-${sent}` };
      status = (await sendCreate(own, create))?.status;
      statuses.add(status);
    }
  };
  const buying = Array.from({ length: CONNECTIONS }, buy);
  await eventually("some orders are made", () => expect(sent).toBeGreaterThan(CONNECTIONS * 2));
  await service.control(`/stores/${store.storeId}/delete`, {});
  await Promise.all(buying);
  own.agent.destroy();
  expect(statuses).toEqual(new Set([201, 401]));
  expect(filledDatabases(service)).toHaveLength((await listedStores()).length);
  expect(countAlarms(service, "stores")).toBeLessThanOrEqual(alarms);
});

async function listedStores(): Promise<readonly string[]> {
  const { stores } = (await service.control("/stores")) as {
    readonly stores: readonly { readonly store_id: string }[];
  };
  return stores.map(({ store_id: id }) => id);
}

function filledDatabases(running: HostedService): readonly string[] {
  const hasRows = (path: string): boolean =>
    readDatabase(path, (rows) => rows.prepare("SELECT 1 FROM sqlite_schema").get() !== undefined);
  return objectDatabases(running, "stores").filter(hasRows).toSorted();
}

test("in a hosted service, the faults reset and lose_request lose the request; lose_answer and truncate lose only the answer", async () => {
  const { storeId, apiKey } = await createHostedStore(service);
  const own = serviceOf({ storeId, apiKey, merchantId: "" });
  const outcomes: unknown[] = [];
  for (const action of ["reset", "lose_request", "lose_answer", "truncate"]) {
    await service.control(`/stores/${storeId}/faults`, { action, times: 1 });
    const create = { key: `dropped-${action}`, orderId: action };
    const lost = await sendCreate(own, create);
    const again = await sendCreate(own, create);
    outcomes.push([action, lost, again?.status, again?.replayed]);
  }
  own.agent.destroy();
  expect(outcomes).toEqual([
    ["reset", undefined, 201, false],
    ["lose_request", undefined, 201, false],
    ["lose_answer", undefined, 201, true],
    ["truncate", undefined, 201, true],
  ]);
});

test("after kill -9 under load, a hosted service has lost no acknowledged order, and no store is partly deleted", async () => {
  const store = await createHostedStore(service);
  const received = new Set<string>();
  const url = await openHttpReceiver((request, response) => {
    void readBody(request).then(() => {
      received.add(String(request.headers["checkout-event-id"]));
      response.end();
    });
  });
  await service.control(`/stores/${store.storeId}/endpoints`, { url });
  const random = seededRandom(SEED);
  const acknowledged = new Map<Create, Answer>();
  const deletions = new Set<"acknowledged" | "lost">();
  let sent = 0;
  const nextCreate = (): Create => ({ key: `kill-key-${(sent += 1)}`, orderId: `kill-${sent}` });
  for (let round = 1; round <= KILLS; round += 1) {
    // In the last rounds no store is deleted, and the load alone sends requests.
    const doomed = await createStoresWithCheckouts(round <= DELETION_KILLS ? AT_ONCE : 0);
    const loading = loadUntilGone(serviceOf(store), { connections: CONNECTIONS, nextCreate });
    await sleep(50 + random() * 250);
    const deleting = doomed.map(({ storeId }) => tryDelete(storeId));
    await Promise.all(deleting.slice(0, (random() * doomed.length) / 2));
    await service.kill();
    for (const [create, answer] of (await loading).acknowledged) acknowledged.set(create, answer);
    const deleted = await Promise.all(deleting);
    for (const one of deleted) deletions.add(one ? "acknowledged" : "lost");
    await service.restart();
    if (doomed.length > 0) await expectWholeOrGone(doomed, { deleted, round });
  }
  expect(deletions).toEqual(new Set(["acknowledged", "lost"]));
  // The store gets no more requests, so only its alarm can start it.
  const path = databaseOf(service, store.storeId);
  const events = (): readonly string[] =>
    readDatabase(path, (rows) => rows.prepare<[], string>("SELECT id FROM events").pluck().all());
  await eventually("every event is delivered", () =>
    expect(events().filter((id) => !received.has(id))).toEqual([]),
  );
  expect(acknowledged.size).toBeGreaterThan(KILLS);
  const replays = serviceOf(store);
  for (const [create, { body, status }] of acknowledged) {
    const replay = await sendCreate(replays, create);
    expect([status, replay?.replayed, replay?.body]).toEqual([201, true, body]);
  }
  replays.agent.destroy();
  const counts = readDatabase(path, (rows) =>
    ["checkouts", "idempotency_keys", "events"].map((table) =>
      Number(rows.prepare(`SELECT count(*) FROM ${table}`).pluck().get()),
    ),
  );
  expect(new Set(counts).size).toBe(1);
});

async function createStoresWithCheckouts(count: number): Promise<readonly OwnedStore[]> {
  return Promise.all(Array.from({ length: count }, createStoreWithCheckout));
}

/** Deletes a store; returns whether the deletion was acknowledged. */
async function tryDelete(storeId: string): Promise<boolean> {
  return service.control(`/stores/${storeId}/delete`, {}).then(
    () => true,
    () => false,
  );
}

/** Checks that each store exists with its key, or is gone with all its rows; an acknowledged deletion must be done. */
async function expectWholeOrGone(
  stores: readonly OwnedStore[],
  { deleted, round }: { readonly deleted: readonly boolean[]; readonly round: number },
): Promise<void> {
  const listed = await listedStores();
  for (const [index, { storeId, apiKey, checkoutId }] of stores.entries()) {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const { status } = await fetch(`${service.origin}/v1/checkout-sessions/${checkoutId}`, { headers });
    const isThere = listed.includes(storeId);
    const where = `seed ${SEED}, round ${round}, store ${index}`;
    expect([isThere, status], where).toEqual(isThere ? [true, 200] : [false, 401]);
    if (deleted[index] === true) expect(isThere, where).toBe(false);
  }
  expect(filledDatabases(service)).toHaveLength(listed.length);
}
