import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { finishErasures } from "../../src/sandbox/runtime/erase.ts";
import {
  FINAL_STATEMENTS,
  HISTORY_STEPS,
  DELETE_MERCHANT_WITHOUT_STORES,
  type Erasure,
} from "../../src/store/erasures.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { eventually, runOn } from "../support/eventually.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { insertion, manyOrders, expression } from "../support/rows.ts";
import { refusalText } from "../support/refusal-texts.ts";

const scheduler = {
  soon: (run: () => void) => void setImmediate(run),
  after: (ms: number, run: () => void) => void setTimeout(run, ms),
};

/** Tables of the set-up: a reset keeps their rows, a deletion does not. */
const SET_UP = new Set([
  "stores",
  "merchants",
  "capabilities",
  "credentials",
  "tokens",
  "endpoints",
  "signing_secrets",
  "prices",
  "return_origins",
  "held_stores",
]);
/** Tables without rows of a store. */
const IN_NO_STORE = new Set([
  "home",
  "log_mark",
  "resets",
  "committed_resets",
  "erasures",
  "event_floor",
  "lease_effects",
  "instance",
  "snapshot",
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
  const [merchant_id, checkout_id] = [`m${letter}`, id(2)];
  const own = { store_id: s };
  const delivery = { ...own, event_id: id(4), endpoint_id: id(1) };
  raw.exec(
    [
      insertion("merchants", { id: merchant_id }),
      insertion("stores", {
        id: s,
        merchant_id,
        name: `Store ${letter}`,
        clock_offset: 5,
        clock_frozen_at: 6,
      }),
      insertion("held_stores", own),
      insertion("capabilities", own),
      insertion("credentials", { ...own, id: `k${letter}`, key_hash: letter.repeat(64) }),
      insertion("tokens", { ...own, id: `t${letter}`, hash: letter.repeat(64) }),
      insertion("endpoints", { ...own, id: id(1), in_order: 0 }),
      insertion("signing_secrets", {
        ...own,
        id: `s${letter}`,
        nonce: expression(`CAST('${letter.repeat(12)}' AS BLOB)`),
      }),
      insertion("prices", own),
      insertion("return_origins", own),
      insertion("checkouts", { ...own, id: checkout_id, status: "pending" }),
      insertion("attempts", { checkout_id, outcome: "declined", finished_at: 2 }),
      insertion("late_results", { checkout_id }),
      insertion("page_views", { checkout_id, kind: "returned", target: "https://shop.example/thanks" }),
      insertion("settlements", { ...own, checkout_id }),
      insertion("idempotency_keys", { ...own, request_id: id(3), checkout_id }),
      insertion("idempotency_uses", own),
      insertion("assumption_uses", own),
      insertion("events", { ...own, id: id(4), checkout_id }),
      insertion("events", { ...own, id: id(5), type: "webhook.test" }),
      insertion("deliveries", { ...delivery, id: id(6), checkout_id, state: "failed", tries: 1 }),
      insertion("delivery_attempts", { delivery_id: id(6) }),
      insertion("faults", { ...delivery, id: id(7) }),
      insertion("admin_acts", own),
      insertion("drills", { ...own, id: id(8) }),
      insertion("waivers", own),
      insertion("explorations", own),
    ].join(""),
  );
  return s;
}

function tablesOf(raw: Database.Database): string[] {
  return raw
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all()
    .filter((name) => !IN_NO_STORE.has(name));
}

/** Erases a store, as a sandbox does; returns the number of transactions, each of at most this many steps. */
async function erase(store: Store, erasure: Erasure, steps = Infinity): Promise<number> {
  await store.write(() => store.erasures.begin(erasure));
  let count = 0;
  for (let isOver = false; !isOver; count += 1) isOver = await eraseSteps(store, erasure, steps);
  return count;
}

/** Takes steps of an erasure in one transaction; returns whether the erasure is finished. */
function eraseSteps(store: Store, erasure: Erasure, steps: number): Promise<boolean> {
  return store.write(() => {
    for (let step = 0; step < steps; step += 1) if (store.erasures.eraseBatch(erasure)) return true;
    return false;
  });
}

/** The rows of a store, by table: they contain an id in which the store's letter is repeated. */
function rowsOf(raw: Database.Database, letter: string): Record<string, unknown[]> {
  const all = tablesOf(raw).map((name) => {
    const rows = raw.prepare(`SELECT * FROM "${name}"`).all();
    return [name, rows.filter((row) => JSON.stringify(row).includes(letter.repeat(8)))] as const;
  });
  return Object.fromEntries(all.filter(([, rows]) => rows.length > 0));
}

test("a reset deletes the history of its store, keeps the set-up, and touches no other store", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  fill(raw, "b");
  const untouched = rowsOf(raw, "b");
  // Every table has a row, so that a new table must be put into one of the two lists.
  const empty = tablesOf(raw).filter(
    (name) => raw.prepare(`SELECT count(*) FROM "${name}"`).pluck().get() === 0,
  );
  expect(empty).toEqual([]);
  const before = rowsOf(raw, "a");
  expect(await erase(store, { storeId: s, kind: "reset" })).toBe(1);
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

test("a deletion removes every row of its store, and the merchant with its last store, and touches no other store", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  fill(raw, "b");
  const sister = uuid("c", 0);
  raw.exec(insertion("stores", { id: sister, merchant_id: "ma", name: "Sister" }));
  const untouched = rowsOf(raw, "b");
  const merchants = () => raw.prepare("SELECT id FROM merchants ORDER BY id").pluck().all();
  await erase(store, { storeId: s, kind: "delete" });
  expect([rowsOf(raw, "a"), merchants()]).toEqual([{}, ["ma", "mb"]]);
  await erase(store, { storeId: sister, kind: "delete" });
  expect([rowsOf(raw, "c"), merchants()]).toEqual([{}, ["mb"]]);
  expect(rowsOf(raw, "b")).toEqual(untouched);
  expect(raw.pragma("foreign_key_check")).toEqual([]);
  expect(store.erasures.pending()).toEqual([]);
  raw.close();
  store.close();
});

test("the table page_views refuses rows that the program would not write", () => {
  const { store, raw } = openFile();
  fill(raw, "a");
  const rows = [
    { number: 21 },
    { number: 0 },
    { number: 2, kind: "closed" },
    { number: 2, target: "https://shop.example" },
    { number: 2, kind: "returned" },
    { number: 1, kind: "returned", target: "https://shop.example" },
  ];
  for (const row of rows)
    expect(() => raw.exec(insertion("page_views", { checkout_id: uuid("a", 2), ...row }))).toThrow(
      /CHECK|UNIQUE/,
    );
  raw.close();
  store.close();
});

test("outside the transactions of an erasure, no statement deletes a checkout or an audit row, even during the erasure", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  const other = fill(raw, "b");
  const kept = ["checkouts", "events", "deliveries", "delivery_attempts", "admin_acts", "drills", "waivers"];
  const before = [rowsOf(raw, "a"), rowsOf(raw, "b")];
  const nothingGoes = (): void => {
    // Without foreign keys, which would refuse some of the statements first.
    raw.pragma("foreign_keys = OFF");
    for (const name of kept) {
      expect(() => raw.exec(`DELETE FROM ${name}`), name).toThrow(/immutable|audited|never deleted/);
      expect(() => raw.exec(`INSERT OR REPLACE INTO ${name} SELECT * FROM ${name}`), name).toThrow(
        /immutable|audited|never deleted/,
      );
    }
    raw.pragma("foreign_keys = ON");
    expect([rowsOf(raw, "a"), rowsOf(raw, "b")]).toEqual(before);
  };
  nothingGoes();
  await store.write(() => store.erasures.begin({ storeId: s, kind: "delete" }));
  nothingGoes();
  expect(() => raw.exec(insertion("resets", { store_id: s }))).toThrow(/FOREIGN KEY/);
  expect(() => raw.exec(`BEGIN; ${insertion("resets", { store_id: s })} COMMIT`)).toThrow(/FOREIGN KEY/);
  raw.exec("ROLLBACK");
  for (const value of [`'${s}'`, "NULL"])
    expect(() => raw.exec(`INSERT INTO committed_resets (store_id) VALUES (${value})`)).toThrow(
      /CHECK|NOT NULL/,
    );
  // The erasure of one store permits no deletion in another.
  raw.exec(`BEGIN; ${insertion("resets", { store_id: s })}`);
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
      store.erasures.eraseBatch({ storeId: s, kind: "delete" });
      throw new Error("undone");
    }),
  ).rejects.toThrow("undone");
  expect([rowsOf(raw, "a"), rowsOf(raw, "b")]).toEqual(before);
  raw.close();
  store.close();
});

test("every statement of an erasure, and every foreign key of the deleted tables, uses an index", () => {
  const { store, raw } = openFile();
  const plan = (sql: string): string =>
    (raw.prepare(`EXPLAIN QUERY PLAN ${sql.replaceAll("?", "1")}`).all() as { detail: string }[])
      .map(({ detail }) => detail)
      .join("; ");
  const statements = [
    ...HISTORY_STEPS.flat(),
    ...FINAL_STATEMENTS.reset,
    ...FINAL_STATEMENTS.delete,
    DELETE_MERCHANT_WITHOUT_STORES,
  ];
  for (const sql of statements) {
    expect([sql, plan(sql)]).toEqual([sql, expect.stringContaining("SEARCH")]);
    expect([sql, plan(sql)]).toEqual([sql, expect.not.stringContaining("SCAN")]);
  }
  const references = [...tablesOf(raw), "erasures"].flatMap((child) =>
    (raw.pragma(`foreign_key_list(${child})`) as { id: number; from: string }[]).map(({ id, from }) => ({
      child,
      id,
      from,
    })),
  );
  expect(references.length).toBeGreaterThanOrEqual(30);
  for (const { child, id } of references) {
    const columns = references.filter((one) => one.child === child && one.id === id).map(({ from }) => from);
    const where = columns.map((column) => `${column} = 'x'`).join(" AND ");
    const followed = plan(`SELECT 1 FROM ${child} WHERE ${where}`);
    expect([child, where, followed]).toEqual([child, where, expect.stringContaining("SEARCH")]);
  }
  raw.close();
  store.close();
});

test("every table with rows of a store has an erasing statement", () => {
  const { store, raw } = openFile();
  const statements = [...HISTORY_STEPS.flat(), ...FINAL_STATEMENTS.delete, DELETE_MERCHANT_WITHOUT_STORES];
  const deleted = statements.map((sql) => /^DELETE FROM (\w+)/.exec(sql)?.[1] ?? "");
  expect(deleted.filter((name) => name !== "erasures").toSorted()).toEqual(tablesOf(raw).toSorted());
  raw.close();
  store.close();
});

/** Adds orders to a store, each with its key and its event. */
function addOrders(raw: Database.Database, storeId: string, count: number): void {
  const id = `printf('${storeId.slice(0, 8)}-%04x-7000-9000-%012d', n >> 16, n)`;
  const named = { orderId: "'x' || n", key: "'more-000' || n" };
  raw.exec(`BEGIN; ${manyOrders({ storeId, count, id, ...named })} COMMIT;`);
}

test("an erasure takes several transactions, and between them the facts and the clock of its store cannot be read", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  const other = fill(raw, "b");
  addOrders(raw, s, 3000);
  const untouched = rowsOf(raw, "b");
  const erasure = { storeId: s, kind: "reset" } as const;
  await store.write(() => store.erasures.begin(erasure));
  expect(await eraseSteps(store, erasure, 4)).toBe(false);
  expect(raw.prepare("SELECT count(*) FROM checkouts WHERE store_id = ?").pluck().get(s)).toBe(3001);
  expect([store.clocks.of(s), store.stores.facts(s), store.clocks.storeIds()]).toEqual([
    undefined,
    undefined,
    [other],
  ]);
  expect(store.erasures.pending()).toEqual([erasure]);
  expect(await erase(store, erasure, 4)).toBeGreaterThan(2);
  expect(store.clocks.of(s)).toEqual({ offsetMs: 0, frozenAt: null });
  expect(Object.keys(rowsOf(raw, "a")).filter((name) => !SET_UP.has(name))).toEqual([]);
  expect(rowsOf(raw, "b")).toEqual(untouched);
  raw.close();
  store.close();
});

test("event positions keep growing after the newest events were deleted", async () => {
  const { store, raw } = openFile();
  const [s, other] = [fill(raw, "a"), fill(raw, "b")];
  addOrders(raw, s, 100);
  const highest = (): number => Number(raw.prepare("SELECT max(position) FROM events").pluck().get());
  const add = (storeId: string, id: string): Promise<void> =>
    store.write(() =>
      store.events.insert({
        id,
        storeId,
        checkoutId: null,
        type: "webhook.test",
        sequence: 1,
        body: "{}",
        createdAt: 1,
      }),
    );
  const before = highest();
  await erase(store, { storeId: s, kind: "reset" });
  expect(highest()).toBeLessThan(before);
  await add(s, uuid("a", 9));
  expect(highest()).toBe(before + 1);
  await add(other, uuid("b", 9));
  expect(highest()).toBe(before + 2);
  await erase(store, { storeId: s, kind: "delete" });
  await erase(store, { storeId: other, kind: "reset" });
  expect(highest()).toBe(0);
  await add(other, uuid("b", 9));
  expect(highest()).toBe(before + 3);
  raw.close();
  store.close();
});

const CREATE = "orders create --order-id order-1 --price-id price_coffee --idempotency-key key-00001 --json";

async function create(harness: Harness): Promise<string> {
  const made = await harness.run(CREATE.split(" "));
  expect([made.code, made.stderr]).toEqual([0, ""]);
  return (JSON.parse(made.stdout) as { readonly data: { readonly id: string } }).data.id;
}

/** A line of a stack trace, which only a bug prints. */
const STACK = /^\s+at /m;

const TEA = "00000000-0000-4000-8000-00000000000a";

/** A sandbox with a second store, a function that creates orders in this store, and the sandbox's database. */
async function openTwo() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const control = (path: string, body?: object) =>
    sandbox.request({
      path: `/__sandbox/${path}`,
      headers: { Authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const addStore = async (id: string): Promise<string> => {
    const made = await control("config", { stores: [{ id, name: "Tea Shop", merchant: { id: MERCHANT } }] });
    expect([made.status, String(made.body)]).toEqual([200, expect.stringContaining(id)]);
    return keyOf(harness, id);
  };
  const apiKey = await addStore(TEA);
  const order = (orderId: string, key = apiKey) =>
    sandbox.request({
      path: "/v1/orders",
      headers: { Authorization: `Bearer ${key}`, "Idempotency-Key": `key-of-${orderId}` },
      body: JSON.stringify({ order_id: orderId, price_id: "price_coffee" }),
    });
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  onTestFinished(() => void database.close());
  database.pragma("busy_timeout = 60000");
  database.pragma("foreign_keys = ON");
  return { harness, sandbox, control, apiKey, order, addStore, database, first: sandbox.ready.store_id };
}

const MERCHANT = "00000000-0000-4000-8000-00000000000b";

function keyOf(harness: Harness, id: string): string {
  const { stores } = JSON.parse(harness.readState("credentials.json")) as {
    readonly stores: Readonly<Record<string, { readonly api_key: string }>>;
  };
  return stores[id]?.api_key ?? "";
}

test("stores delete needs consent and an id, removes the key and the merchant of the store, and refuses the first store", async () => {
  const { harness, sandbox, apiKey, order, first, database } = await openTwo();
  expect((await order("o-1")).status).toBe(201);
  const run = (line: string) => harness.run(line.split(" "));
  const refused = await run(`stores delete ${TEA}`);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  expect(await run("stores delete tea --yes")).toMatchObject({ code: 2, stdout: "" });
  const kept = await run(`stores delete ${first} --yes`);
  expect([kept.code, kept.stderr]).toEqual([
    5,
    expect.stringMatching(refusalText("first_store", { store: first })),
  ]);
  expect((await order("o-1")).headers["Idempotent-Replayed"]).toBe("true");
  const typed = { typed: [["Delete", "y"]] } as const;
  const done = await harness.run(["stores", "delete", TEA, "--json"], typed);
  expect([done.code, JSON.parse(done.stdout)]).toEqual([0, { store_id: TEA, name: "Tea Shop" }]);
  expect((await order("o-1")).status).toBe(401);
  expect([keyOf(harness, TEA), keyOf(harness, first)]).toEqual(["", sandbox.ready.api_key]);
  expect(database.prepare("SELECT count(*) FROM merchants").pluck().get()).toBe(1);
  expect((await run(`stores delete ${TEA} --yes`)).code).toBe(1);
  expect((await order("o-1", apiKey)).status).toBe(401);
});

test("during an erasure, requests to the store wait, other stores answer, and long polls for the store's events end", async () => {
  const { harness, control, order, database, sandbox, apiKey } = await openTwo();
  for (const kind of ["reset", "delete"] as const) {
    addOrders(database, TEA, 20_000);
    const answers: string[] = [];
    const note = async (name: string, answer: Promise<{ readonly status: number }>): Promise<void> => {
      const { status } = await answer;
      answers.push(`${name} ${status}`);
    };
    const poll = note("poll", control(`stores/${TEA}/events?since=999999&wait_ms=15000`));
    const erased = note(
      kind,
      kind === "reset" ? control("reset", { store: TEA }) : control(`stores/${TEA}/delete`, {}),
    );
    // The erasure has begun by then, and waits for earlier requests.
    await eventually("the store is being erased", () =>
      expect(database.prepare("SELECT kind FROM erasures").pluck().all()).toEqual([kind]),
    );
    const own = [
      note("create", order(`o-${kind}`)),
      note(
        "retrieve",
        sandbox.request({
          path: `/v1/checkout-sessions/${TEA}`,
          headers: { Authorization: `Bearer ${apiKey}` },
        }),
      ),
      note("control", control(`stores/${TEA}`)),
    ];
    for (let other = 0; other < 5; other += 1)
      await note("other", order(`${kind}-${other}`, sandbox.ready.api_key ?? ""));
    expect(answers).toEqual(["poll 200", ...Array.from({ length: 5 }, () => "other 201")]);
    await Promise.all([poll, erased, ...own]);
    const after =
      kind === "reset"
        ? ["control 200", "create 201", "retrieve 404"]
        : ["control 404", "create 401", "retrieve 401"];
    expect(answers.slice(6).toSorted()).toEqual([...after, `${kind} 200`].toSorted());
    expect(
      (await harness.run(["orders", "create", "--order-id", `x-${kind}`, "--price-id", "price_coffee"])).code,
    ).toBe(0);
  }
});

test("a running drill continues after a reset of its store, and ends with a deletion of the store", async () => {
  const { control } = await openTwo();
  const answer = await control(`stores/${TEA}/leases`, { drill: "duplicates", timeout_ms: 60_000 });
  const { data } = JSON.parse(String(answer.body)) as { readonly data: { readonly id: string } };
  const retrieves = `stores/${TEA}/leases/${data.id}/retrieves`;
  expect((await control("reset", { store: TEA })).status).toBe(200);
  expect((await control(retrieves)).status).toBe(200);
  expect((await control(`stores/${TEA}/delete`, {})).status).toBe(200);
  expect((await control(retrieves)).status).toBe(404);
});

test("an interrupted erasure is finished by the next start, and before that every request to the store is refused", async () => {
  const two = await openTwo();
  const { harness, control, order, addStore, database, first, sandbox } = two;
  const other = "00000000-0000-4000-8000-00000000000c";
  const otherKey = await addStore(other);
  const created = JSON.parse(String((await order("o-1")).body)) as { readonly data: { readonly id: string } };
  addOrders(database, TEA, 5000);
  addOrders(database, first, 5000);
  database.exec(`${insertion("erasures", { store_id: TEA, kind: "delete" })}
    ${insertion("erasures", { store_id: first })}
    DELETE FROM idempotency_keys WHERE store_id IN ('${TEA}', '${first}')`);
  // A change by another process is seen after a moment.
  harness.clock.advance(100);
  const busy = await order("o-2");
  expect([busy.headers["Retry-After"], String(busy.body)]).toEqual([
    "1",
    expect.stringContaining("storage_unavailable"),
  ]);
  expect((await sandbox.request({ path: `/pay/${created.data.id}` })).status).toBe(404);
  expect(
    (await control(`stores/${TEA}/checkouts/${created.data.id}/pay`, { outcome: "succeeded" })).status,
  ).toBe(404);
  expect((await order("o-1", otherKey)).status).toBe(201);
  await sandbox.stop();
  const again = await harness.start();
  const count = (table: string) =>
    database.prepare(`SELECT store_id, count(*) AS n FROM ${table} GROUP BY 1`).all();
  for (const table of ["checkouts", "events", "idempotency_keys"])
    expect(count(table)).toEqual([{ store_id: other, n: 1 }]);
  expect(database.prepare("SELECT id FROM stores ORDER BY rowid").pluck().all()).toEqual([first, other]);
  expect([keyOf(harness, TEA), keyOf(harness, other)]).toEqual(["", otherKey]);
  expect(again.ready.store_id).toBe(first);
  expect((await again.request({ path: `/v1/checkout-sessions/${created.data.id}` })).status).toBe(404);
});

test("a reset store is like a new store with the same keys, in a running and in a stopped sandbox", async () => {
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

test("sandbox reset needs consent and a known store, and works on a running and on a stopped sandbox", async () => {
  const harness = createHarness();
  expect(await harness.run(["sandbox", "reset", "--yes"])).toMatchObject({ code: 7, stdout: "" });
  const sandbox = await harness.start();
  const id = await create(harness);
  const there = async (): Promise<number> =>
    (await sandbox.request({ path: `/v1/checkout-sessions/${id}` })).status;
  const refused = await harness.run(["sandbox", "reset"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  const typed = (answer: string) => ({ typed: [["Delete", answer]] as const });
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

test("a delivery in flight during a reset or deletion leaves no trace", async () => {
  const { harness, control, order, database, sandbox, addStore, apiKey } = await openTwo();
  let key = apiKey;
  for (const [at, [kind, when]] of [
    ["reset", "amid it"] as const,
    ["reset", "after it"] as const,
    ["delete", "amid it"] as const,
    ["delete", "after it"] as const,
  ].entries()) {
    let answer = (): void => undefined;
    const port = 3000 + at;
    const asked = new Promise<void>((resolve) =>
      harness.occupy(port, {
        answer: () =>
          new Promise((settle) => {
            answer = () => settle({ status: 410, headers: {}, body: "" });
            resolve();
          }),
        refuse: () => ({ status: 500, headers: {}, body: "" }),
      }),
    );
    await control(`stores/${TEA}/endpoints`, { url: `http://localhost:${port}/hooks` });
    expect((await order(`o-${kind}`, key)).status).toBe(201);
    await asked;
    if (when === "amid it") addOrders(database, TEA, 5000);
    const erased = kind === "reset" ? control("reset", { store: TEA }) : control(`stores/${TEA}/delete`, {});
    if (when === "amid it") {
      await eventually("it is being erased", () =>
        expect(database.prepare("SELECT kind FROM erasures").pluck().all()).toEqual([kind]),
      );
      answer();
    }
    expect((await erased).status).toBe(200);
    answer();
    await runOn();
    const left = ["deliveries", "delivery_attempts", "events", "assumption_uses"].map((table) =>
      database.prepare(`SELECT count(*) FROM ${table}`).pluck().get(),
    );
    expect(left).toEqual([0, 0, 0, 0]);
    const states = database.prepare("SELECT DISTINCT state FROM endpoints").pluck().all();
    expect([kind, when, states]).toEqual([kind, when, kind === "reset" ? ["enabled"] : []]);
    if (kind === "delete") key = await addStore(TEA);
  }
  expect((await sandbox.stop()).stderr).not.toMatch(STACK);
});

test("a restored store keeps the API keys of its running drills", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  onTestFinished(() => void database.close());
  const own = { store_id: ready.store_id, id: uuid("d", 1), key_hash: "d".repeat(64), for_drill: 1 };
  database.exec(insertion("credentials", own));
  const keys = (): unknown[] =>
    database.prepare("SELECT for_drill FROM credentials ORDER BY for_drill").pluck().all();
  for (const line of ["snapshots create one", "snapshots restore one", "snapshots restore one"])
    expect([line, (await harness.run(line.split(" "))).code, keys()]).toEqual([line, 0, [0, 1]]);
});

test("a reset of a store whose deletion was interrupted finishes the deletion", async () => {
  const { store, raw } = openFile();
  const s = fill(raw, "a");
  fill(raw, "b");
  const untouched = rowsOf(raw, "b");
  await store.write(() => {
    store.erasures.begin({ storeId: s, kind: "delete" });
    store.erasures.begin({ storeId: s, kind: "reset" });
  });
  const nothing = (): void => undefined;
  await finishErasures({ store, assumptions: { forget: nothing }, forgetStore: nothing }, [s]);
  expect([store.stores.names(s), store.erasures.pending()]).toEqual([undefined, []]);
  expect(rowsOf(raw, "b")).toEqual(untouched);
  raw.close();
  store.close();
});
