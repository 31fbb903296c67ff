import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openStore, type Store } from "../src/store/store.ts";
import { createHarness, type Harness } from "./support/harness.ts";
import { tempFolder } from "./support/temp-folder.ts";

const scheduler = {
  soon: (run: () => void) => void setImmediate(run),
  after: (ms: number, run: () => void) => void setTimeout(run, ms),
};

/** Tables of what is set up; a reset keeps their rows. What is in no store is kept as well. */
const SET_UP = new Set([
  "stores",
  "merchants",
  "capabilities",
  "credentials",
  "endpoints",
  "signing_secrets",
  "prices",
  "return_origins",
  "home",
  "log_mark",
]);

function openFile(): { readonly store: Store; readonly raw: Database.Database } {
  const path = join(tempFolder(), "sandbox.db");
  const opened = openStore(path, { nativeBinding: undefined, scheduler });
  if (!opened.ok) throw new Error(opened.refusal.message);
  const raw = new Database(path);
  raw.pragma("foreign_keys = ON");
  raw.pragma("recursive_triggers = ON");
  return { store: opened.value, raw };
}

const uuid = (store: string, last: number): string => `${store.repeat(8)}-0000-7000-8000-00000000000${last}`;

/** A store with a row in each table. */
function fill(raw: Database.Database, letter: string): string {
  const id = (last: number): string => uuid(letter, last);
  const s = id(0);
  raw.exec(`
    INSERT INTO merchants VALUES ('m${letter}', 'm', 1);
    INSERT INTO stores VALUES ('${s}', 'm${letter}', 'Store ${letter}', 1, 1, 5, 6);
    INSERT INTO capabilities VALUES ('${s}', 'currency', 'EUR', 1);
    INSERT INTO credentials VALUES ('k${letter}', '${s}', '${letter.repeat(64)}', 'last', 'orders:write', 1, NULL, 0);
    INSERT INTO endpoints VALUES ('${id(1)}', '${s}', 'url', 'http://localhost/', '*', 'enabled', NULL, NULL, 1, NULL);
    INSERT INTO signing_secrets VALUES ('s${letter}', '${s}', CAST('${letter.repeat(12)}' AS BLOB), zeroblob(20), 1, NULL, NULL);
    INSERT INTO return_origins VALUES ('${s}', 'https://shop.example', 1, '/thanks');
    INSERT INTO prices VALUES ('${s}', 'price', 'd', 1, 'EUR', 'alipay_plus', 1, 'one_time', 0);
    INSERT INTO checkouts VALUES ('${id(2)}', '${s}', 'order', 'o', 1, 'EUR', 'alipay_plus', NULL, NULL, 'pending', 1, 2);
    INSERT INTO attempts VALUES ('${id(2)}', 1, 1, 'declined', 2);
    INSERT INTO late_results VALUES ('${id(2)}', 1, 'succeeded', 3);
    INSERT INTO settlements VALUES ('${id(2)}', '${s}', 'succeeded', 9);
    INSERT INTO idempotency_keys VALUES ('${s}', 'key-0001', '${"f".repeat(64)}', 201, '${id(3)}', '{}', '${id(2)}', 1);
    INSERT INTO idempotency_uses (store_id, key, kind, request_id, at) VALUES ('${s}', 'key-0001', 'replayed', 'r', 1);
    INSERT INTO assumption_uses VALUES ('${s}', 5, 'r', 1);
    INSERT INTO events (id, store_id, checkout_id, type, sequence, body, created_at)
      VALUES ('${id(4)}', '${s}', '${id(2)}', 'order.created', 1, '{}', 1), ('${id(5)}', '${s}', NULL, 'webhook.test', 1, '{}', 1);
    INSERT INTO deliveries VALUES ('${id(6)}', '${s}', '${id(1)}', '${id(4)}', '${id(2)}', 1, 'event', 1, 'failed', 1, 1, 1);
    INSERT INTO delivery_attempts (delivery_id, number, started_at, url, headers, body_hash)
      VALUES ('${id(6)}', 1, 1, 'u', '{}', '${"e".repeat(64)}');
    INSERT INTO faults VALUES ('${id(7)}', '${s}', '${id(1)}', '${id(4)}', 'drop', 0, 1, 1);
    INSERT INTO admin_acts (store_id, actor, action, at) VALUES ('${s}', 'administrator', 'open_gate', 1);
    INSERT INTO drills VALUES ('${id(8)}', '${s}', 'webhook', 'x', 1, '[]', 1);
    INSERT INTO waivers (store_id, drill, reason, at) VALUES ('${s}', 'webhook', 'by hand', 1);`);
  return s;
}

function tablesOf(raw: Database.Database): string[] {
  return raw
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all()
    .filter((name) => name !== "resets" && name !== "committed_resets");
}

/** All rows of a store, by table: those that name it, its checkout or its delivery. */
function rowsOf(raw: Database.Database, letter: string): Record<string, unknown[]> {
  const all = tablesOf(raw).map((name) => {
    const rows = raw.prepare(`SELECT * FROM "${name}"`).all();
    return [name, rows.filter((row) => JSON.stringify(row).includes(letter.repeat(8)))] as const;
  });
  return Object.fromEntries(all.filter(([, rows]) => rows.length > 0));
}

test("a reset takes what has happened in its store, keeps what was set up, and touches no other store", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  fill(raw, "b");
  const untouched = rowsOf(raw, "b");
  // Each table has a row, so that a table which is added has to be put on one side or the other.
  const empty = tablesOf(raw).filter(
    (name) => raw.prepare(`SELECT count(*) FROM "${name}"`).pluck().get() === 0,
  );
  expect(empty.filter((name) => name !== "home")).toEqual([]);
  const before = rowsOf(raw, "a");
  await store.write(() => store.resets.reset(s));
  const left = rowsOf(raw, "a");
  expect(Object.keys(left).filter((name) => !SET_UP.has(name))).toEqual([]);
  for (const name of Object.keys(left))
    if (name !== "stores") expect([name, left[name]]).toEqual([name, before[name]]);
  expect(left["stores"]).toMatchObject([{ clock_offset: 0, clock_frozen_at: null }]);
  expect(rowsOf(raw, "b")).toEqual(untouched);
  expect(raw.pragma("foreign_key_check")).toEqual([]);
  raw.close();
  store.close();
});

test("outside a reset nothing goes, by no statement, and no reset can be committed", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  const other = fill(raw, "b");
  const kept = ["checkouts", "events", "deliveries", "delivery_attempts", "admin_acts", "drills", "waivers"];
  const before = [rowsOf(raw, "a"), rowsOf(raw, "b")];
  // References aside, because they would refuse some of it first.
  raw.pragma("foreign_keys = OFF");
  for (const name of kept) {
    expect(() => raw.exec(`DELETE FROM ${name}`), name).toThrow(/immutable|audited|never deleted/);
    expect(() => raw.exec(`INSERT OR REPLACE INTO ${name} SELECT * FROM ${name}`), name).toThrow(
      /immutable|audited|never deleted/,
    );
  }
  raw.pragma("foreign_keys = ON");
  expect(() => raw.exec(`INSERT INTO resets VALUES ('${s}')`)).toThrow(/FOREIGN KEY/);
  expect(() => raw.exec(`BEGIN; INSERT INTO resets VALUES ('${s}'); COMMIT`)).toThrow(/FOREIGN KEY/);
  raw.exec("ROLLBACK");
  for (const value of [`'${s}'`, "NULL"])
    expect(() => raw.exec(`INSERT INTO committed_resets VALUES (${value})`)).toThrow(/CHECK|NOT NULL/);
  // The reset of one store opens no other one.
  raw.exec(`BEGIN; INSERT INTO resets VALUES ('${s}')`);
  for (const name of kept)
    if (name !== "delivery_attempts")
      expect(() => raw.exec(`DELETE FROM ${name} WHERE store_id = '${other}'`), name).toThrow(
        /immutable|audited|never deleted/,
      );
  expect(() => raw.exec(`DELETE FROM delivery_attempts WHERE delivery_id = '${uuid("b", 6)}'`)).toThrow(
    /audited/,
  );
  expect(() => raw.exec("UPDATE events SET body = 'x'")).toThrow(/immutable/);
  raw.exec("ROLLBACK");
  await expect(
    store.write(() => {
      store.resets.reset(s);
      throw new Error("undone");
    }),
  ).rejects.toThrow("undone");
  expect([rowsOf(raw, "a"), rowsOf(raw, "b")]).toEqual(before);
  raw.close();
  store.close();
});

test("every reference to a row that a reset deletes is followed by an index", () => {
  const { store, raw } = openFile();
  const references = tablesOf(raw).flatMap((child) =>
    (raw.pragma(`foreign_key_list(${child})`) as { id: number; from: string; table: string }[]).map(
      ({ id, from, table }) => ({ child, id, from, table }),
    ),
  );
  const followed = references.filter(({ table }) => !SET_UP.has(table));
  expect(followed.length).toBeGreaterThanOrEqual(9);
  for (const { child, id } of followed) {
    const columns = followed.filter((one) => one.child === child && one.id === id).map(({ from }) => from);
    const where = columns.map((column) => `${column} = 'x'`).join(" AND ");
    const plan = raw.prepare(`EXPLAIN QUERY PLAN SELECT 1 FROM ${child} WHERE ${where}`).all();
    expect([child, where, JSON.stringify(plan)]).toEqual([child, where, expect.stringContaining("SEARCH")]);
  }
  raw.close();
  store.close();
});

const CREATE = "orders create --order-id order-1 --price-id price_coffee --idempotency-key key-00001 --json";

async function create(harness: Harness): Promise<string> {
  const made = await harness.run(CREATE.split(" "));
  expect([made.code, made.stderr]).toEqual([0, ""]);
  return (JSON.parse(made.stdout) as { readonly data: { readonly id: string } }).data.id;
}

test("after a reset the store is as new, with the same keys, while it runs and while it does not", async () => {
  const harness = createHarness();
  const taken: string[] = [];
  harness.occupy(3000, {
    answer: (request) => {
      taken.push(Buffer.from(request.body).toString());
      return Promise.resolve({ status: 204, headers: {}, body: "" });
    },
    refuse: () => ({ status: 500, headers: {}, body: "" }),
  });
  let sandbox = await harness.start();
  const { api_key: apiKey } = sandbox.ready;
  const run = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await harness.run(line.split(" "));
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    return stdout;
  };
  await run("endpoints add http://localhost:3000/hooks --json");
  const ids = [await create(harness)];
  for (const place of ["live", "folder"]) {
    await run("sandbox clock advance 3h --json");
    if (place === "folder") await sandbox.stop();
    const reset = await run("sandbox reset --yes --json");
    expect(JSON.parse(reset)).toEqual({
      stores: [{ store_id: sandbox.ready.store_id, name: "Sandbox Store" }],
    });
    if (place === "folder") {
      sandbox = await harness.start();
      expect(sandbox.ready.api_key).toBe(apiKey);
    }
    for (const id of ids)
      expect((await sandbox.request({ path: `/v1/checkout-sessions/${id}` })).status).toBe(404);
    expect(JSON.parse(await run("sandbox clock show --json"))).toMatchObject({
      now: new Date(harness.clock.now()).toISOString(),
      frozen: false,
    });
    expect(await run("events list --json")).not.toContain("order.created");
    const used = JSON.parse(await run("assumptions --used --json")) as object;
    expect(JSON.stringify(used)).not.toContain("moved");
    const id = await create(harness);
    expect(ids).not.toContain(id);
    ids.push(id);
    await run("sandbox clock advance 1s --json");
    expect(taken.at(-1)).toContain(id);
  }
  expect(harness.readState("run.json")).toContain("pid");
});

test("nothing is reset without consent, or where the store is unknown", async () => {
  const harness = createHarness();
  expect(await harness.run(["sandbox", "reset", "--yes"])).toMatchObject({ code: 7, stdout: "" });
  const sandbox = await harness.start();
  const id = await create(harness);
  const there = async (): Promise<number> =>
    (await sandbox.request({ path: `/v1/checkout-sessions/${id}` })).status;
  const refused = await harness.run(["sandbox", "reset"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  const typed = (answer: string) => ({ typed: [["Delete everything", answer]] as const });
  expect((await harness.run(["sandbox", "reset"], typed("n"))).code).toBe(130);
  expect((await harness.run(["sandbox", "reset", "--store", "nosuch", "--yes"])).code).toBe(1);
  expect(await there()).toBe(200);
  expect((await harness.run(["sandbox", "reset", "--store", "Sandbox Store"], typed("y"))).code).toBe(0);
  expect(await there()).toBe(404);
  const again = await create(harness);
  await sandbox.stop();
  expect((await harness.run(["sandbox", "reset", "--store", "nosuch", "--yes"])).code).toBe(1);
  expect((await harness.run(["sandbox", "reset", "--store", sandbox.ready.store_id, "--yes"])).code).toBe(0);
  const restarted = await harness.start();
  expect((await restarted.request({ path: `/v1/checkout-sessions/${again}` })).status).toBe(404);
});

test("a delivery that is under way at a reset leaves no trace after it", async () => {
  const harness = createHarness();
  let answer = (): void => undefined;
  const asked = new Promise<void>((resolve) =>
    harness.occupy(3000, {
      answer: () =>
        new Promise((settle) => {
          answer = () => settle({ status: 410, headers: {}, body: "" });
          resolve();
        }),
      refuse: () => ({ status: 500, headers: {}, body: "" }),
    }),
  );
  await harness.start();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  await create(harness);
  await asked;
  expect((await harness.run(["sandbox", "reset", "--yes"])).code).toBe(0);
  answer();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(JSON.parse((await harness.run(["deliveries", "list", "--json"])).stdout)).toEqual({
    deliveries: [],
  });
  const endpoints = (await harness.run(["endpoints", "list", "--json"])).stdout;
  expect(endpoints).toContain('"state":"enabled"');
});
