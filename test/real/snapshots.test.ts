import { hash } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";
import { REAL } from "../support/real.ts";
import { takeSnapshot } from "../../src/sandbox/runtime/snapshots.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { storageFailure } from "../../src/store/connection/storage-failure.ts";
import { SANDBOX_FILE } from "../../src/store/schema.ts";
import { SNAPSHOT_FILE } from "../../src/store/snapshot/image.ts";
import { openStore } from "../../src/store/store.ts";
import type { World } from "../../src/world.ts";
import { SEED, size } from "../support/campaign.ts";
import { changedSnapshot, rewrittenSnapshot } from "../support/changed-snapshot.ts";
import { eventually, runOn } from "../support/eventually.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { refusalMessage, refusalText } from "../support/refusal-texts.ts";

const TEA = "00000000-0000-4000-8000-00000000000a";
/** Columns that each restore encrypts again. */
const SEALED = new Set(["nonce", "sealed"]);
/** Tables whose rows belong to no store. */
const STORELESS_TABLES = new Set([
  "home",
  "log_mark",
  "erasures",
  "event_floor",
  "lease_effects",
  "instance",
  "snapshot",
  "resets",
]);

type Rows = Readonly<Record<string, readonly string[]>>;

/** The rows of a store in their order, or of all other stores sorted, by table; merchants are in both. */
function rowsOf(database: Database.Database, storeId: string, which: "own" | "others" = "own"): Rows {
  const tables = database
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all()
    .filter((name) => !STORELESS_TABLES.has(name));
  const checkouts = database.prepare("SELECT id FROM checkouts WHERE store_id = ?").pluck().all(storeId);
  const deliveries = database.prepare("SELECT id FROM deliveries WHERE store_id = ?").pluck().all(storeId);
  const own = new Set<unknown>([storeId, ...checkouts, ...deliveries]);
  return Object.fromEntries(
    tables.map((table) => {
      const rows = database.prepare<[], Readonly<Record<string, unknown>>>(`SELECT * FROM ${table}`).all();
      const mine = rows.filter((row) => {
        const isOwn = own.has(row["store_id"] ?? row["checkout_id"] ?? row["delivery_id"] ?? row["id"]);
        return table === "merchants" || isOwn === (which === "own");
      });
      // If the position of a row is taken, a restore gives all rows of the store later positions; events have a floor
      // instead.
      const first = table === "events" || which === "others" ? 0 : Number(mine[0]?.["position"]);
      const shownAs = (name: string, value: unknown): unknown => {
        if (SEALED.has(name)) return 0;
        return name === "position" ? Number(value) - first : value;
      };
      const shown = mine.map((row) => JSON.stringify(row, shownAs));
      // A restore puts the rows of a store after the rows of other stores, in their own order.
      return [table, which === "own" ? shown : shown.toSorted()];
    }),
  );
}

/** Waits until nothing has been written for a while: deliveries have ended, and notes after an answer are stored. */
async function untilQuiet(database: Database.Database): Promise<void> {
  const version = database.prepare("PRAGMA data_version").pluck();
  let [before, same] = [-1, 0];
  await eventually("nothing is written any more", async () => {
    const now = Number(version.get());
    same = now === before ? same + 1 : 0;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 2));
    expect(same).toBeGreaterThan(5);
  });
}

async function open(env: Readonly<Record<string, string>> = {}) {
  const harness = createHarness();
  const sandbox = await harness.start([], { env });
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const control = async (path: string, body?: object) => {
    const answer = await sandbox.request({
      path: `/__sandbox/${path}`,
      headers: { Authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: JSON.parse(String(answer.body)) as Answer };
  };
  const run = async (line: string, code = 0): Promise<string> => {
    const done = await harness.run(line.split(" "));
    expect([line, done.code, done.stderr]).toEqual([line, code, code === 0 ? "" : done.stderr]);
    return done.stdout;
  };
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  onTestFinished(() => void database.close());
  return { harness, sandbox, control, run, database, first: sandbox.ready.store_id };
}

type Answer = {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly message: string };
};

function keyOf(harness: Harness, id: string): string {
  const { stores } = JSON.parse(harness.readState("credentials.json")) as {
    readonly stores: Readonly<Record<string, { readonly api_key: string }>>;
  };
  return stores[id]?.api_key ?? "";
}

/** Two stores with an endpoint each, and functions that change one of them. */
async function openTwo() {
  const site = await open();
  const { harness, sandbox, control, first } = site;
  let ids = 0;
  harness.occupy(3000, {
    answer: () => Promise.resolve({ status: ids % 3 === 0 ? 500 : 204, headers: {}, body: "" }),
    refuse: () => ({ status: 500, headers: {}, body: "" }),
  });
  await control("config", { stores: [{ id: TEA, name: "Tea Shop" }] });
  for (const id of [first, TEA]) {
    await control(`stores/${id}/clock`, { action: "freeze" });
    await control(`stores/${id}/endpoints`, { url: "http://localhost:3000/hooks" });
  }
  const order = (storeId: string, orderId: string) =>
    sandbox.request({
      path: "/v1/orders",
      headers: { Authorization: `Bearer ${keyOf(harness, storeId)}`, "Idempotency-Key": `key-of-${orderId}` },
      body: JSON.stringify({ order_id: orderId, price_id: "price_coffee" }),
    });
  const at = (storeId: string) => `stores/${storeId}`;
  const acts = {
    order: async (storeId: string) => void (await order(storeId, `o-${(ids += 1)}`)),
    pay: async (storeId: string) => {
      const { body } = await control(`${at(storeId)}/checkouts?status=created&limit=1`);
      const [one] = (body.data?.["checkouts"] ?? []) as { id: string }[];
      if (one !== undefined) await control(`${at(storeId)}/checkouts/${one.id}/pay`, { outcome: "declined" });
    },
    advance: (storeId: string) => control(`${at(storeId)}/clock`, { action: "advance", by_ms: 7_200_000 }),
    key: (storeId: string) => control(`${at(storeId)}/keys`, {}),
    price: (storeId: string) =>
      control(`${at(storeId)}/prices`, {
        id: `tea-${(ids += 1)}`,
        amount_minor: 700,
        currency: "EUR",
        payment_method: "alipay_plus",
      }),
    origin: (storeId: string) =>
      control(`${at(storeId)}/return-origins`, {
        action: "add",
        origin: `https://shop-${(ids += 1)}.example`,
      }),
    rotate: async (storeId: string) => {
      const { body } = await control(`${at(storeId)}/endpoints`);
      const [one] = (body.data?.["endpoints"] ?? []) as { id: string }[];
      await control(`${at(storeId)}/endpoints/${one?.id}/secret`, { overlap_ms: 1000 });
    },
    waive: (storeId: string) => control(`${at(storeId)}/waivers`, { drill: "duplicates", reason: "by hand" }),
    reset: (storeId: string) => control("reset", { store: storeId }),
  } satisfies Record<string, (storeId: string) => Promise<unknown>>;
  return { ...site, order, acts };
}

test("a restore brings back every row of its store after any later actions, and does not change other stores", async () => {
  const { control, database, acts, first } = await openTwo();
  const names = Object.keys(acts) as (keyof typeof acts)[];
  const act = fc.tuple(fc.constantFrom(...names), fc.constantFrom(first, TEA));
  let round = 0;
  const property = fc.asyncProperty(
    fc.array(act, { maxLength: 6 }),
    fc.array(act, { minLength: 1, maxLength: 6 }),
    async (before, after) => {
      const name = `round-${(round += 1)}`;
      for (const [what, storeId] of before) await acts[what](storeId);
      await untilQuiet(database);
      const taken = rowsOf(database, first);
      expect((await control(`stores/${first}/snapshots`, { name })).status).toBe(200);
      for (const [what, storeId] of after) await acts[what](storeId);
      await untilQuiet(database);
      const beside = rowsOf(database, first, "others");
      const { status } = await control(`stores/${first}/snapshots/restore`, { name });
      expect([status, rowsOf(database, first)]).toEqual([200, taken]);
      expect(rowsOf(database, first, "others")).toEqual(beside);
      expect(database.prepare("SELECT id FROM stores ORDER BY rowid").pluck().all()).toEqual([first, TEA]);
      expect(database.pragma("foreign_key_check")).toEqual([]);
    },
  );
  await fc.assert(property, { seed: SEED, numRuns: size(12, 100) });
});

test("a restore of the whole sandbox brings back deleted stores and removes later stores", async () => {
  const { control, order, run, database, first, harness } = await openTwo();
  await order(TEA, "tea-1");
  await untilQuiet(database);
  const taken = [rowsOf(database, first), rowsOf(database, TEA)];
  const created = JSON.parse(await run("snapshots create base --all --json")) as Answer["data"];
  expect(created).toMatchObject({ snapshot: { name: "base", store_id: null, problem: null } });
  const key = keyOf(harness, TEA);
  await control(`stores/${TEA}/delete`, {});
  const made = (await control("stores", { name: "Later" })).body.data?.["store_id"];
  await order(first, "later");
  const done = await harness.run(["snapshots", "restore", "base", "--json"]);
  expect([done.code, JSON.parse(done.stdout)]).toEqual([
    0,
    {
      stores: [
        { store_id: first, name: "Sandbox Store" },
        { store_id: TEA, name: "Tea Shop" },
      ],
      held_back: null,
      hold: null,
    },
  ]);
  expect([rowsOf(database, first), rowsOf(database, TEA)]).toEqual(taken);
  expect(database.prepare("SELECT id FROM stores ORDER BY rowid").pluck().all()).toEqual([first, TEA]);
  expect(keyOf(harness, String(made))).toBe("");
  // A snapshot contains no API key: the kept copy of the key is gone, but the key is active.
  expect([keyOf(harness, TEA), done.stderr]).toEqual(["", expect.stringContaining(TEA)]);
  expect(done.stderr).toContain("checkout keys create");
  expect((await control(`stores/${TEA}/checkouts`)).body.data?.["checkouts"]).toHaveLength(1);
  const again = await harness.run(["orders", "create", "--order-id", "x", "--price-id", "price_coffee"], {
    env: { CHECKOUT_API_KEY: key, CHECKOUT_STORE_ID: TEA },
  });
  expect(again.code).toBe(0);
});

test("snapshots restore --file needs no name and leaves no snapshot behind", async () => {
  const { harness, run, order, first } = await openTwo();
  await order(first, "o-1");
  await run("snapshots create base --file base.snapshot");
  await run("snapshots remove base");
  await run("sandbox reset --yes");
  const file = join(harness.cwd, "base.snapshot");
  const restored = await run(`snapshots restore --file ${file}`);
  for (const named of [first, file]) expect(restored).toContain(named);
  expect(JSON.parse(await run("orders list --json"))).toMatchObject({ checkouts: [{ order_id: "o-1" }] });
  expect(JSON.parse(await run("snapshots list --json"))).toMatchObject({ snapshots: [] });
});

test("another sandbox restores a snapshot with the snapshot's first store, key and signing secret", async () => {
  const one = await openTwo();
  await one.order(one.first, "o-1");
  await one.run("snapshots create base --all --file base.snapshot");
  const file = join(one.harness.cwd, "base.snapshot");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const other = await open();
  const line = `snapshots restore base --all --file ${file} --trust`;
  const restored = await other.harness.run(line.split(" "));
  expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining("checkout keys create")]);
  const shown = JSON.parse(await other.run("env --format json")) as Readonly<Record<string, string>>;
  expect(shown["CHECKOUT_STORE_ID"]).toBe(one.first);
  expect(shown["CHECKOUT_SIGNING_SECRET"]).toBe(one.sandbox.ready.signing_secret);
  const replayed = await other.sandbox.request({
    path: "/v1/orders",
    headers: { Authorization: `Bearer ${one.sandbox.ready.api_key}`, "Idempotency-Key": "key-of-o-1" },
    body: JSON.stringify({ order_id: "o-1", price_id: "price_coffee" }),
  });
  expect([replayed.status, replayed.headers["Idempotent-Replayed"]]).toEqual([201, "true"]);
  await other.sandbox.stop();
  const restarted = await other.harness.start();
  expect([restarted.ready.store_id, restarted.ready.signing_secret]).toEqual([
    one.first,
    one.sandbox.ready.signing_secret,
  ]);
});

test("a snapshot has no readable key, token, secret or path of this machine", async () => {
  const { harness, sandbox, run, order, first } = await openTwo();
  await order(first, "o-1");
  await run("snapshots create base --all");
  const file = readFileSync(join(harness.cwd, ".checkout/snapshots/base.snapshot"));
  const masterKey = harness.readState("master.key").trim();
  const json = (name: string) => Object.values(JSON.parse(harness.readState(name)) as Record<string, string>);
  const secrets = [
    sandbox.ready.api_key ?? "",
    keyOf(harness, TEA),
    sandbox.ready.signing_secret,
    masterKey,
    Buffer.from(masterKey, "hex").toString("latin1"),
    ...json("admin.json"),
    (JSON.parse(harness.readState("run.json")) as { control_token: string }).control_token,
    harness.cwd,
  ];
  for (const secret of secrets) {
    expect(secret.length).toBeGreaterThan(10);
    expect(file.includes(Buffer.from(secret, "latin1"))).toBe(false);
    expect(file.includes(Buffer.from(secret.replace("whsec_", ""), "latin1"))).toBe(false);
  }
});

/** A copy of a snapshot with one bit changed, which the seed and `number` select. */
function withAnotherBit(whole: Uint8Array, number: number): Buffer {
  const [bit = 0] = fc.sample(fc.nat(whole.length * 8 - 1), { seed: SEED + number, numRuns: 1 });
  const bytes = Buffer.from(whole);
  bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return bytes;
}

test("a foreign, damaged or newer snapshot is refused, and nothing changes", async () => {
  const { harness, run, order, database, first } = await openTwo();
  await order(first, "o-1");
  await untilQuiet(database);
  await run("snapshots create base");
  const path = join(harness.cwd, ".checkout/snapshots/base.snapshot");
  const whole = readFileSync(path);
  const changed = (work: (copy: Database.Database) => void): Buffer => changedSnapshot(whole, work);
  const cut = Buffer.from(whole.subarray(0, whole.length - 8192));
  const scribbled = Buffer.from(whole).fill(0xff, 4096 * 5, 4096 * 5 + 200);
  const cases: readonly (readonly [what: string, bytes: Buffer, reason?: RegExp])[] = [
    ["empty", Buffer.alloc(0)],
    ["a text", Buffer.from("x".repeat(500))],
    ["a sandbox", readFileSync(join(harness.cwd, ".checkout/sandbox.db"))],
    ["cut off", cut],
    ["scribbled over", scribbled],
    ["newer", changed((copy) => copy.pragma("user_version = 900")), /\b900\b/],
    ["of another table", changed((copy) => copy.exec("CREATE TABLE more (x)"))],
    ["without a check", rewrittenSnapshot(whole, (copy) => copy.exec("DROP TRIGGER checkouts_are_kept"))],
    ["without its store", changed((copy) => copy.exec("DELETE FROM stores"))],
    ["without its row", changed((copy) => copy.exec("DELETE FROM snapshot"))],
    [
      "of another key",
      changed((copy) => copy.exec("UPDATE snapshot SET key = zeroblob(32)")),
      /[0-9a-f-]{36}/,
    ],
    ...["-position", "position + 9007199254740990", "9223372036854775807 - position"].map(
      (position) =>
        [
          `with positions of ${position}`,
          changed((copy) => copy.exec(`UPDATE events SET position = ${position}`)),
          /position/,
        ] as const,
    ),
    ...Array.from(
      { length: size(40, 1000) },
      (_, at) => [`with another bit, ${at}`, withAnotherBit(whole, at)] as const,
    ),
  ];
  const before = rowsOf(database, first);
  for (const [what, bytes, reason = /./] of cases) {
    writeFileSync(path, bytes);
    const { code, stderr } = await harness.run(["snapshots", "restore", "base", "--trust"]);
    expect([what, code, stderr]).toEqual([what, 1, expect.stringMatching(refusalText("snapshot_unfit"))]);
    expect([what, stderr]).toEqual([what, expect.stringMatching(reason)]);
    expect(rowsOf(database, first)).toEqual(before);
  }
});

test("a snapshot whose rows refer to another store is refused", async () => {
  const { harness, run, order, database, first } = await openTwo();
  for (const [storeId, orderId] of [
    [first, "o-1"],
    [TEA, "tea-1"],
  ] as const)
    await order(storeId, orderId);
  await untilQuiet(database);
  await run("snapshots create whole --all");
  const path = join(harness.cwd, ".checkout/snapshots/whole.snapshot");
  const whole = readFileSync(path);
  const before = [rowsOf(database, first), rowsOf(database, TEA)];
  const references = [
    ["deliveries", "event_id", "events"],
    ["deliveries", "endpoint_id", "endpoints"],
    ["deliveries", "checkout_id", "checkouts"],
    ["deliveries", "sequence", "events"],
    ["idempotency_keys", "checkout_id", "checkouts"],
  ] as const;
  for (const [table, column, parent] of references) {
    const crossing = changedSnapshot(whole, (copy) =>
      copy
        .prepare(
          `UPDATE ${table} SET ${column} = (SELECT ${column === "sequence" ? "rowid + 7" : "id"} FROM ${parent} WHERE store_id = ?)
           WHERE rowid = (SELECT max(rowid) FROM ${table} WHERE store_id = ?)`,
        )
        .run(TEA, first),
    );
    writeFileSync(path, crossing);
    for (const scope of [["--all"], ["--store", first]]) {
      const refused = await harness.run(["snapshots", "restore", "whole", ...scope]);
      expect([table, column, refused.code, refused.stderr]).toEqual([
        table,
        column,
        1,
        expect.stringMatching(refusalText("snapshot_unfit")),
      ]);
      expect([rowsOf(database, first), rowsOf(database, TEA)]).toEqual(before);
    }
  }
  writeFileSync(path, whole);
  await run(`snapshots restore whole --store ${first}`);
});

test("a restore creates a store of the snapshot that is missing, unless another store has that store's API key", async () => {
  const { control, order, run, database, harness } = await openTwo();
  await order(TEA, "tea-1");
  await untilQuiet(database);
  const taken = rowsOf(database, TEA);
  await run(`snapshots create tea --store ${TEA}`);
  await control(`stores/${TEA}/delete`, {});
  expect((await control("snapshots/restore", { name: "tea", all: true })).body.error).toMatchObject({
    code: "state_conflict",
    message: refusalMessage("snapshot_of_store", { store: TEA }),
  });
  expect((await harness.run(["snapshots", "restore", "tea", "--json"])).code).toBe(0);
  await untilQuiet(database);
  expect(rowsOf(database, TEA)).toEqual(taken);
  const wrong = await control(`stores/default/snapshots/restore`, { name: "tea" });
  expect([wrong.status, wrong.body.error?.message]).toEqual([
    409,
    expect.stringMatching(refusalText("not_in_snapshot")),
  ]);
  await control(`stores/${TEA}/delete`, {});
  const other = "00000000-0000-4000-8000-00000000000b";
  await control("config", { stores: [{ id: other, name: "Other" }] });
  const writer = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  const [key = ""] = taken["credentials"] ?? [];
  const { key_hash: keyHash } = JSON.parse(key) as { key_hash: string };
  writer.prepare("UPDATE credentials SET key_hash = ? WHERE store_id = ?").run(keyHash, other);
  writer.close();
  const before = rowsOf(database, other);
  const refused = await control("snapshots/restore", { name: "tea" });
  expect([refused.status, refused.body.error?.message]).toEqual([
    409,
    expect.stringMatching(refusalText("snapshot_conflict")),
  ]);
  expect([rowsOf(database, other), rowsOf(database, TEA)["stores"]]).toEqual([before, []]);
});

test("snapshots commands work on a stopped sandbox, and snapshot names cannot lead out of the folder", async () => {
  const { harness, sandbox, run, order, database, first } = await openTwo();
  await order(first, "o-1");
  await untilQuiet(database);
  await run("snapshots create live");
  const taken = rowsOf(database, first);
  await sandbox.stop();
  await run("snapshots create stopped");
  await run("snapshots create all --all");
  const listed = JSON.parse(await run("snapshots list --json")) as {
    snapshots: { name: string; store_id: string }[];
  };
  expect(listed.snapshots.map(({ name, store_id }) => [name, store_id])).toEqual([
    ["all", null],
    ["live", first],
    ["stopped", first],
  ]);
  await run("sandbox reset --yes --json");
  for (const name of ["live", "stopped", "all"]) {
    await run(`snapshots restore ${name}`);
    expect([name, rowsOf(database, first)]).toEqual([name, taken]);
  }
  await run("snapshots remove all");
  await run("snapshots restore all", 1);
  for (const name of ["../x", "a/b", "A", ".x", "x".repeat(65), "con fig"])
    for (const verb of ["create", "restore", "remove"])
      expect([name, verb, (await harness.run(["snapshots", verb, name])).code]).toEqual([name, verb, 2]);
  const restarted = await harness.start();
  expect(restarted.ready.store_id).toBe(first);
  const bad = await harness.run(["snapshots", "create", "x", "--all", "--store", first]);
  expect(bad.code).toBe(2);
});

test("a delivery in flight during a restore is not recorded in the restored store", async () => {
  const { harness, control, first, order, database } = await openTwo();
  let answer = (): void => undefined;
  const asked = new Promise<void>((resolve) =>
    harness.occupy(3001, {
      answer: () =>
        new Promise((settle) => {
          answer = () => settle({ status: 204, headers: {}, body: "" });
          resolve();
        }),
      refuse: () => ({ status: 500, headers: {}, body: "" }),
    }),
  );
  await control(`stores/${first}/snapshots`, { name: "before" });
  await control(`stores/${first}/endpoints`, { url: "http://localhost:3001/slow" });
  await order(first, "o-slow");
  await asked;
  await control(`stores/${first}/snapshots`, { name: "within" });
  for (const name of ["before", "within"]) {
    expect((await control(`stores/${first}/snapshots/restore`, { name })).status).toBe(200);
    expect(
      database.prepare("SELECT count(*) FROM delivery_attempts WHERE finished_at IS NULL").pluck().get(),
    ).toBe(0);
  }
  answer();
  await runOn();
  expect(database.pragma("foreign_key_check")).toEqual([]);
});

test("an attempt after a restore has its own result, even if an earlier attempt with the same number is in flight", async () => {
  const { harness, control, first, order, database } = await openTwo();
  const asked: { readonly type: string; readonly answer: (status: number) => void }[] = [];
  harness.occupy(3001, {
    answer: (request) =>
      new Promise((settle) => {
        const { type } = JSON.parse(Buffer.from(request.body).toString()) as { type: string };
        asked.push({ type, answer: (status) => settle({ status, headers: {}, body: "" }) });
      }),
    refuse: () => ({ status: 500, headers: {}, body: "" }),
  });
  await control(`stores/${first}/endpoints`, { url: "http://localhost:3001/slow" });
  await order(first, "o-slow");
  const comes = (count: number) =>
    eventually(`${count} tries were sent`, () => expect(asked.length).toBe(count));
  const tries = () =>
    database
      .prepare(
        `SELECT number, status FROM delivery_attempts JOIN deliveries ON id = delivery_id
         WHERE checkout_id IN (SELECT id FROM checkouts WHERE order_id = 'o-slow') AND url LIKE '%/slow'`,
      )
      .raw()
      .all();
  await comes(1);
  await control(`stores/${first}/snapshots`, { name: "within" });
  for (const restored of [2, 3]) {
    expect((await control(`stores/${first}/snapshots/restore`, { name: "within" })).status).toBe(200);
    await comes(restored);
  }
  const { body } = await control(`stores/${first}/checkouts?status=created&limit=1`);
  const [{ id } = { id: "" }] = (body.data?.["checkouts"] ?? []) as { id: string }[];
  await control(`stores/${first}/checkouts/${id}/pay`, { outcome: "succeeded" });
  asked[0]?.answer(500);
  asked[1]?.answer(204);
  await untilQuiet(database);
  // The next event of the checkout waits for the delivery in flight.
  expect([asked.length, tries()]).toEqual([3, [[1, null]]]);
  asked[2]?.answer(204);
  await comes(4);
  expect(tries()).toEqual([
    [1, 204],
    [1, null],
  ]);
  expect(asked.map(({ type }) => type)).toEqual([
    "order.created",
    "order.created",
    "order.created",
    "order.pending",
  ]);
  asked[3]?.answer(204);
});

test("event positions keep growing across a restore, and a restored waiver whose position is used gets the next free position", async () => {
  const { control, order, first, database } = await openTwo();
  const positions = (storeId: string) =>
    database
      .prepare("SELECT position FROM events WHERE store_id = ? ORDER BY 1")
      .pluck()
      .all(storeId) as number[];
  for (const id of ["a", "b"]) await order(first, id);
  await control(`stores/${first}/snapshots`, { name: "one" });
  for (const id of ["c", "d"]) await order(first, id);
  const [last] = positions(first).toReversed();
  await control(`stores/${first}/snapshots/restore`, { name: "one" });
  await order(first, "e");
  expect(positions(first).at(-1)).toBe((last ?? 0) + 1);
  // The audit log has no floor: other rows take the positions that a reset frees.
  const act = (storeId: string) => control(`stores/${storeId}/waivers`, { drill: "duplicates", reason: "r" });
  await act(first);
  await act(first);
  await control(`stores/${first}/snapshots`, { name: "two" });
  await control("reset", { store: first });
  await act(TEA);
  await control(`stores/${first}/snapshots/restore`, { name: "two" });
  expect(database.prepare("SELECT position, store_id FROM waivers ORDER BY 1").raw().all()).toEqual([
    [1, TEA],
    [2, first],
    [3, first],
  ]);
});

test("a snapshot has the sandbox's schema, is the same each time, and is refused for an unknown store", () => {
  const opened = openStore(IN_MEMORY, { scheduler: { soon: setImmediate, after: () => undefined } });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const world = { now: () => 1, freshId: () => "", randomBytes: (length: number) => new Uint8Array(length) };
  const context = { store: opened.value, world, masterKey: new Uint8Array(32) };
  expect(() => takeSnapshot(context, { storeId: TEA })).toThrow(
    expect.objectContaining({ name: "Error" }) as Error,
  );
  // A table without a known reference to its store would fail here, because the statements of all tables are prepared.
  const bytes = takeSnapshot(context, "all");
  expect(Buffer.compare(takeSnapshot(context, "all"), bytes)).toBe(0);
  expect(SNAPSHOT_FILE.migrations).toBe(SANDBOX_FILE.migrations);
  opened.value.close();
});

test("snapshots commands ignore folders, links and pipes in the folder of snapshots", async () => {
  const harness = createHarness();
  const { stop } = await harness.start();
  expect((await harness.run(["snapshots", "create", "mine"])).code).toBe(0);
  const folder = join(harness.cwd, ".checkout/snapshots");
  const [file = ""] = readdirSync(folder);
  const as = (name: string): string => join(folder, file.replace("mine", name));
  mkdirSync(as("folder"));
  symlinkSync(join(folder, file), as("link"));
  execFileSync("mkfifo", [as("pipe")]);
  for (const isStopped of [false, true]) {
    if (isStopped) await stop();
    const { stdout } = await harness.run(["snapshots", "list", "--json"]);
    const { snapshots } = JSON.parse(stdout) as { readonly snapshots: readonly { readonly name: string }[] };
    expect([isStopped, snapshots.map(({ name }) => name)]).toEqual([isStopped, ["mine"]]);
    const restored = await harness.run(["snapshots", "restore", "pipe"]);
    expect([isStopped, restored.code, restored.stdout]).toEqual([isStopped, 1, ""]);
    expect(restored.stderr).toMatch(refusalText("no_snapshot", { snapshot: "pipe" }));
  }
});

test("snapshots create says that it replaced an older snapshot", async () => {
  const { run, sandbox } = await open();
  for (const isLive of [true, false]) {
    const name = isLive ? "live" : "stopped";
    for (const replaced of [false, true])
      expect(JSON.parse(await run(`snapshots create ${name} --json`))).toMatchObject({ replaced });
    if (isLive) await sandbox.stop();
  }
});

test("a file that is too large for a snapshot is listed and removed, but not restored", async () => {
  const { harness, sandbox, run } = await open();
  await run("snapshots create base");
  const file = join(harness.cwd, ".checkout/snapshots/huge.snapshot");
  for (const isLive of [true, false]) {
    writeFileSync(file, "");
    truncateSync(file, 3 * 2 ** 30);
    const { snapshots } = JSON.parse(await run("snapshots list --json")) as {
      readonly snapshots: readonly object[];
    };
    const problem = english(PART_TEXTS.too_large);
    expect([isLive, snapshots]).toMatchObject([
      isLive,
      [
        { name: "base", problem: null },
        { name: "huge", bytes: 3 * 2 ** 30, problem },
      ],
    ]);
    const restored = await harness.run(["snapshots", "restore", "huge"]);
    expect([isLive, restored.code]).toEqual([isLive, 1]);
    expect(restored.stderr).toContain(problem);
    await run("snapshots remove huge");
    expect(existsSync(file)).toBe(false);
    if (isLive) await sandbox.stop();
  }
});

test("a full disk is reported, keeps the older snapshot and leaves nothing half-written", async () => {
  const harness = createHarness();
  const { files } = REAL;
  let isFull = false;
  const full: World["files"] = {
    ...files,
    fill: (path, fill) =>
      files.fill(path, async (unfinished) => {
        const filled = await fill(unfinished);
        if (isFull) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
        return filled;
      }),
  };
  const world = { files: full };
  const sandbox = await harness.start([], { world });
  const create = () => harness.run(["snapshots", "create", "one"], { world });
  expect((await create()).code).toBe(0);
  const file = join(harness.cwd, ".checkout/snapshots/one.snapshot");
  const before = readFileSync(file);
  isFull = true;
  const live = await create();
  const { sentence } = storageFailure("disk_full");
  expect([live.code, live.stderr]).toEqual([7, expect.stringContaining(sentence)]);
  await sandbox.stop();
  const stopped = await create();
  expect([stopped.code, stopped.stderr]).toEqual([1, expect.stringContaining(sentence)]);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(join(harness.cwd, ".checkout/snapshots"))).toEqual(["one.snapshot"]);
});

test("an ephemeral sandbox keeps snapshots in memory, and snapshots create --file is refused", async () => {
  const harness = createHarness();
  const { ready } = await harness.start(["--ephemeral"]);
  const env = {
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_CONTROL_TOKEN: ready.control_token,
  };
  const run = (line: string) => harness.run(line.split(" "), { env });
  const order = (id: string) => run(`orders create --order-id ${id} --price-id price_coffee --json`);
  const first = await order("o-1");
  expect((await run("snapshots create one")).code).toBe(0);
  await order("o-2");
  expect((await run("snapshots restore one")).code).toBe(0);
  const listed = JSON.parse((await run("orders list --json")).stdout) as {
    checkouts: { order_id: string }[];
  };
  expect(listed.checkouts.map(({ order_id }) => order_id)).toEqual(["o-1"]);
  expect(JSON.parse((await order("o-1")).stdout)).toMatchObject({
    data: { id: (JSON.parse(first.stdout) as { data: { id: string } }).data.id },
  });
  const refused = await run("snapshots create two --file two.snapshot");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--file")]);
});

test("a failed restore --file or create keeps the existing snapshot of the same name", async () => {
  const { harness, run, sandbox, order, first } = await openTwo();
  const folder = join(harness.cwd, ".checkout/snapshots");
  const kept = () =>
    readdirSync(folder).map((file) => [file, hash("sha256", readFileSync(join(folder, file)))]);
  const file = (name: string) => join(harness.cwd, name);
  await run("snapshots create good");
  await run(`snapshots create all --all --file ${file("all")}`);
  await run(`snapshots create tea --store ${TEA} --file ${file("tea")}`);
  await order(first, "later");
  await run(`snapshots create later --file ${file("later")}`);
  writeFileSync(file("damaged"), readFileSync(file("later")).fill(0xff, 9000, 9100));
  const before = kept();
  const failing: readonly (readonly [string, number])[] = [
    [`snapshots restore good --file ${file("damaged")}`, 1],
    [`snapshots restore good --file ${file("nowhere")}`, 1],
    [`snapshots restore good --all --file ${file("later")}`, 5],
    [`snapshots restore good --store ${first} --file ${file("tea")}`, 5],
    [`snapshots create good --file ${file("no/such/folder")}`, 1],
    [`snapshots create all --all --file ${harness.cwd}`, 1],
  ];
  for (const isLive of [true, false]) {
    for (const [line, code] of failing) {
      await run(line, code);
      expect([isLive, line, kept()]).toEqual([isLive, line, before]);
    }
    if (isLive) await sandbox.stop();
  }
  const restarted = await harness.start();
  for (const [round, name] of ["later", "good"].entries()) {
    if (round > 0) await restarted.stop();
    await harness.run(["snapshots", "restore", "good", "--file", file("later")]);
    expect([round, kept().map(([kind]) => kind)]).toEqual([round, before.map(([kind]) => kind)]);
    expect(readFileSync(join(folder, "good.snapshot")).equals(readFileSync(file("later")))).toBe(true);
    const written = JSON.parse(
      await run(`snapshots create ${name} --file ${file("again")} --json`),
    ) as object;
    expect(written).toMatchObject({ replaced: true, snapshot: { name, store_id: first } });
    expect(readFileSync(join(folder, `${name}.snapshot`)).equals(readFileSync(file("again")))).toBe(true);
  }
});
