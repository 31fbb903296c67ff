import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { callControl } from "../../src/client/control/control.ts";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  type OperationName,
} from "../../src/core/control/operations.ts";
import { CHECKLIST_ITEMS } from "../../src/core/readiness/names.ts";
import { parseReturnOrigin } from "../../src/core/checkout/return-origin.ts";
import type { HttpResponse, Service, World } from "../../src/world.ts";
import { describedBy, type ControlDocument } from "../support/described.ts";
import { createHarness, type ApiCall, type Harness, type RunningSandbox } from "../support/harness.ts";
import { insertion } from "../support/rows.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage } from "../support/refusal-texts.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";

type Answer = {
  readonly status: number;
  readonly headers: HttpResponse["headers"];
  readonly body: Record<string, unknown> & {
    readonly data?: Record<string, unknown>;
    readonly error?: { readonly code: string; readonly message: string };
  };
};
const TAKES_ALL: Service = {
  answer: () => Promise.resolve({ status: 200, headers: {}, body: "" }),
  refuse: () => ({ status: 400, headers: {}, body: "" }),
};
/** The beginning of the first store's paths. */
const STORE = "/__sandbox/stores/default";
const UNKNOWN_ID = "00000000-0000-7000-8000-00000000ffff";

function controlToken(harness: Harness): string {
  return (JSON.parse(harness.readState("run.json")) as { control_token: string }).control_token;
}

function adminToken(harness: Harness): string {
  const text = harness.readState("admin.json");
  return (JSON.parse(text) as { admin_token: string }).admin_token;
}

/** Calls of the control API, each with the token that its path requires. */
function caller(harness: Harness, sandbox: RunningSandbox) {
  const tokens = { control: controlToken(harness), administrator: adminToken(harness) };
  return async (path: string, call: Partial<ApiCall> = {}): Promise<Answer> => {
    const role = path.includes("/admin/") ? "administrator" : "control";
    const headers = { Authorization: `Bearer ${tokens[role]}`, ...call.headers };
    const answer = await sandbox.request({ ...call, path, headers });
    const body = JSON.parse(String(answer.body)) as Answer["body"];
    return { status: answer.status, headers: answer.headers, body };
  };
}

async function createOrder(harness: Harness, orderId: string): Promise<string> {
  return (await harness.order(orderId, "price_bento")).id;
}

test("the OpenAPI document lists exactly the operations of the control API", async () => {
  const harness = createHarness();
  const call = caller(harness, await harness.start());
  const answer = await call("/__sandbox/openapi.json");
  const document = answer.body as unknown as ControlDocument;
  expect([answer.status, document.openapi]).toEqual([200, "3.1.0"]);
  const listed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`]),
  );
  const table = OPERATION_NAMES.map((name) => {
    const { method, path } = CONTROL_OPERATIONS[name];
    return [name, `${method} ${path}`];
  });
  expect(listed).toHaveLength(table.length);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(table));
});

test("the operation checklist returns the items that the command checklist prints, in the same order", async () => {
  const harness = createHarness();
  const call = caller(harness, await harness.start());
  const { underway, ...judged } = (await call(`${STORE}/checklist`)).body.data ?? {};
  expect(underway).toEqual([]);
  expect(judged["items"]).toMatchObject(CHECKLIST_ITEMS.map((name) => ({ name })));
  const { stdout, code } = await harness.run(["checklist", "--json"]);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject(judged);
});

test("a duplicates drill is recorded only if an endpoint is enabled, and a webhook drill even without an endpoint", async () => {
  const harness = createHarness();
  const call = caller(harness, await harness.start());
  const step = { name: "one", passed: true, expected: "2xx", got: "204", cause: null, reference: null };
  const said = { fact: "after", values: ["204", "7"] };
  const record = (kind: string) =>
    call(`${STORE}/drills`, {
      method: "POST",
      body: JSON.stringify({ kind, subject: "a subject", steps: [step, { ...step, got: said }] }),
    });
  const refused = await record("duplicates");
  expect([refused.status, refused.body.error?.code]).toEqual([409, "state_conflict"]);
  const { status, body } = await record("webhook");
  expect([status, body.data?.["steps"]]).toEqual([200, [step, { ...step, got: "204 after 7 ms" }]]);
});

test("the control API does a checkout's due work, and then returns the checkout with its whole story", async () => {
  const harness = createHarness();
  const call = caller(harness, await harness.start());
  const described = describedBy((await call("/__sandbox/openapi.json")).body as unknown as ControlDocument);
  const id = await createOrder(harness, "order-1");
  const inspect = async (): Promise<Answer> => {
    const answer = await call(`${STORE}/checkouts/${id}`);
    expect(described("inspectCheckout", 200, answer.body)).toBe("");
    return answer;
  };
  // `inspect` compares the fields that are not listed here with the OpenAPI document.
  const fresh = (await inspect()).body.data;
  expect(fresh).toMatchObject({
    id,
    object: "order",
    order_id: "order-1",
    amount_minor: expect.any(Number) as number,
    currency: "JPY",
    payment_method: "alipay_plus",
    status: "created",
    checkout_url: `http://127.0.0.1:4242/pay/${id}`,
    livemode: false,
    description: expect.any(String) as string,
    created_at: "2026-01-15T12:00:00.000Z",
    expires_at: "2026-01-15T13:00:00.000Z",
    attempts: [],
    late_results: [],
    events: [
      {
        event_id: expect.any(String) as string,
        type: "order.created",
        sequence: 1,
        created_at: "2026-01-15T12:00:00.000Z",
      },
    ],
  });
  await call(`${STORE}/checkouts/${id}/pay`, { body: '{"outcome":"declined"}' });
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  // The payer is in a wallet for the second time.
  database.exec(insertion("attempts", { checkout_id: id, number: 2, started_at: harness.clock.now() }));
  database.exec("UPDATE stores SET clock_offset = 7200000");
  database.close();
  expect((await inspect()).body.data).toMatchObject({ status: "expired" });
  await call(`${STORE}/checkouts/${id}/pay`, { body: '{"outcome":"succeeded"}' });
  const { data = {} } = (await inspect()).body;
  expect(data).toMatchObject({
    status: "expired",
    attempts: [
      { number: 1, outcome: "declined", finished_at: "2026-01-15T12:00:00.000Z" },
      { number: 2, outcome: "abandoned", finished_at: "2026-01-15T13:00:00.000Z" },
    ],
    late_results: [{ attempt: 2, result: "succeeded", recorded_at: "2026-01-15T14:00:00.000Z" }],
  });
  const types = (data["events"] as { type: string; sequence: number }[]).map(
    ({ type, sequence }) => `${type} ${sequence}`,
  );
  expect(types).toEqual(["order.created 1", "order.pending 2", "order.expired 3"]);
});

test("every refusal has a status and a code that the OpenAPI document describes", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const call = caller(harness, sandbox);
  const described = describedBy((await call("/__sandbox/openapi.json")).body as unknown as ControlDocument);
  const id = await createOrder(harness, "order-1");
  await call(`${STORE}/checkouts/${id}/pay`, { body: '{"outcome":"cancelled"}' });
  const check = async (
    expected: string,
    name: OperationName,
    { at = id, ...sent }: Partial<ApiCall> & { readonly at?: string } = {},
  ): Promise<Answer> => {
    const { path, method } = CONTROL_OPERATIONS[name];
    const answer = await call(path.replace("{store_id}", "default").replace("{id}", at), { method, ...sent });
    expect([name, sent.body, `${answer.status} ${answer.body.error?.code}`]).toEqual([
      name,
      sent.body,
      expected,
    ]);
    expect(described(name, answer.status, answer.body)).toBe("");
    expect(answer.headers["X-Request-Id"]).toBe(answer.body["request_id"]);
    return answer;
  };

  for (const name of OPERATION_NAMES) {
    await check("401 credential_invalid", name, { headers: { Authorization: "Bearer wrong" } });
    await check("401 credential_invalid", name, { headers: { Authorization: controlToken(harness) } });
    await check("401 credential_invalid", name, {
      headers: { Authorization: `Bearer ${sandbox.ready.api_key ?? ""}` },
    });
    await check("403 origin_not_allowed", name, { headers: { Origin: "http://127.0.0.1:4242" } });
    await check("403 origin_not_allowed", name, { headers: { Origin: "null", Authorization: "" } });
    await check("403 host_not_allowed", name, { headers: { Host: "evil.example" } });
    const wrong = await check("405 method_not_allowed", name, { method: "PUT" });
    const { path } = CONTROL_OPERATIONS[name];
    const methods = OPERATION_NAMES.filter((other) => CONTROL_OPERATIONS[other].path === path);
    const taken = methods.map((other) => CONTROL_OPERATIONS[other].method);
    const allowed = taken.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    expect(wrong.headers["Allow"]).toBe([...allowed, "OPTIONS"].join(", "));
    if (CONTROL_OPERATIONS[name].method === "POST") {
      await check("400 invalid_json", name, { body: "" });
      await check("400 invalid_json", name, { body: '{"action":"real","action":"real"}' });
      await check("400 invalid_parameter", name, { body: "[]" });
      await check("400 invalid_parameter", name, { body: '{"nonsense":1}' });
    }
  }
  await check("404 session_not_found", "inspectCheckout", { at: UNKNOWN_ID });
  await check("404 session_not_found", "pay", { at: UNKNOWN_ID, body: '{"outcome":"failed"}' });
  for (const at of ["x", id.toUpperCase().replace("0", "A"), `${id}0`, `${id}/`, "%2e%2e", `../${id}`]) {
    await check("404 not_found", "inspectCheckout", { at });
    await check("404 not_found", "pay", { at, body: '{"outcome":"failed"}' });
  }
  await check("400 invalid_parameter", "pay", { body: '{"outcome":"paid"}' });
  await check("409 state_conflict", "pay", { body: '{"outcome":"expired"}' });
  for (const body of [
    '{"action":"add"}',
    '{"action":"list","origin":"https://shop.example"}',
    '{"action":"add","origin":7}',
    '{"action":"add","origin":"https://shop.example","status":"succeeded"}',
    '{"action":"add","origin":"http://shop.example"}',
    '{"action":"remove","origin":"https://shop.example/"}',
    '{"action":"add","origin":"https://shop.example","path":"thanks"}',
    '{"action":"add","origin":"https://shop.example","path":"/thanks?status=paid"}',
    '{"action":"add","origin":"https://shop.example","path":null}',
    '{"action":"remove","origin":"https://shop.example","path":"/thanks"}',
  ]) {
    await check("400 invalid_parameter", "changeReturnOrigins", { body });
  }
  await check("404 not_found", "changeReturnOrigins", {
    body: '{"action":"remove","origin":"https://shop.example"}',
  });
});

const OTHER_STORE = "00000000-0000-7000-8000-0000000000aa";

/** Adds a second store to the database of the running sandbox. */
function addOtherStore(harness: Harness): void {
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  database.exec(`INSERT INTO stores (id, merchant_id, name, active, created_at)
    SELECT '${OTHER_STORE}', merchant_id, 'Other', 1, created_at + 1 FROM stores`);
  database.close();
}

/**
 * The whole database, table by table, except the mark of the log, which a commit changes even if it writes equal rows.
 */
function allRows(harness: Harness): unknown {
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'log_mark'")
    .pluck()
    .all();
  const rows = tables.map((table) => [table, database.prepare(`SELECT * FROM ${String(table)}`).all()]);
  database.close();
  return rows;
}

/** A sandbox with two stores; the first has a checkout, an endpoint, an event and a lease. */
async function openTwoStores() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const call = caller(harness, sandbox);
  addOtherStore(harness);
  harness.occupy(3000, TAKES_ALL);
  const checkout = await createOrder(harness, "order-1");
  const make = async (path: string, body: object): Promise<string> => {
    const { data = {} } = (await call(path, { body: JSON.stringify(body) })).body;
    const { id = data["event_id"] ?? data["key_id"] ?? data["token_id"] } = (data["fault"] ?? data) as {
      readonly id?: unknown;
    };
    return String(id);
  };
  const endpoint = await make(`${STORE}/endpoints`, { url: "http://localhost:3000/hooks" });
  const event = await make(`${STORE}/endpoints/${endpoint}/test`, {});
  const lease = await make(`${STORE}/leases`, { drill: "duplicates", timeout_ms: 60_000 });
  const ids: Readonly<Record<string, string>> = {
    checkouts: checkout,
    endpoints: endpoint,
    events: event,
    leases: lease,
  };
  /** Waits until all pending work is written. */
  const settle = async (): Promise<void> => {
    await call(`${STORE}/clock`, { body: '{"action":"set","to":"2026-01-15T12:00:00Z"}' });
    await call(`${STORE}/assumptions`);
  };
  await settle();
  return { harness, call, make, settle, ids };
}

const POST = { method: "POST", suffix: "", headers: [], body: "", connection: "fresh" };

test("an id in a body or query must belong to the store in the path", async () => {
  const { harness, call, make, settle, ids } = await openTwoStores();
  const other = `/__sandbox/stores/${OTHER_STORE}`;
  const own = await make(`${other}/endpoints`, { url: "http://localhost:3000/hooks" });
  await make(`${other}/endpoints/${own}/state`, { action: "pause" });
  const event = await make(`${other}/endpoints/${own}/test`, {});
  const rows = [
    [`${other}/faults`, { action: "drop", match: { event_id: ids["events"] } }],
    [`${other}/faults`, { action: "drop", match: { endpoint_id: ids["endpoints"] } }],
    [`${other}/events/${event}/replay`, { endpoint_id: ids["endpoints"] }],
    [`${other}/drills/post`, { posts: [{ ...POST, endpoint_id: own }], lease_id: ids["leases"] }],
    [`${other}/listener`, { url: "http://localhost:3000/listener", since: { event_id: ids["events"] } }],
  ] as const;
  await settle();
  const before = allRows(harness);
  for (const [path, body] of rows) {
    const { status, body: said } = await call(path, { body: JSON.stringify(body) });
    expect([path, status, said.error?.code]).toEqual([path, 404, "not_found"]);
  }
  await settle();
  expect(allRows(harness)).toEqual(before);
  const queries = [
    "events?checkout_id=checkouts",
    "events?order_id=order-1",
    "deliveries?endpoint_id=endpoints",
    "deliveries?event_id=events",
    "checkouts?q=checkouts",
  ];
  // A search of checkouts has a second list, of refused creates.
  const lists = (data: Answer["body"]["data"]): unknown[] =>
    Object.entries(data ?? {}).flatMap(([name, list]) =>
      Array.isArray(list) && name !== "refused" ? [list] : [],
    );
  for (const query of queries) {
    const path = query.replace(/(?<==)\w+/, (kind) => ids[kind] ?? kind);
    const { data } = (await call(`${other}/${path}`)).body;
    expect([query, lists(data)]).toEqual([query, [[]]]);
    expect(lists((await call(`${STORE}/${path}`)).body.data)).not.toEqual([[]]);
  }
});

test("a control API path accepts a store's id or the word default, and an unknown store is not found", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const call = caller(harness, sandbox);
  addOtherStore(harness);
  const storeOf = async (name: string): Promise<unknown> => {
    const { status, body } = await call(`/__sandbox/stores/${name}/return-origins`);
    return body.data?.["store_id"] ?? `${status} ${body.error?.code}`;
  };
  expect(await storeOf("default")).toBe(sandbox.ready.store_id);
  expect(await storeOf(sandbox.ready.store_id)).toBe(sandbox.ready.store_id);
  expect(await storeOf(OTHER_STORE)).toBe(OTHER_STORE);
  for (const name of OPERATION_NAMES) {
    const { path, method } = CONTROL_OPERATIONS[name];
    if (!path.includes("{store_id}")) continue;
    const at = path.replace("{store_id}", UNKNOWN_ID).replace("{id}", UNKNOWN_ID);
    // The store is looked up before the rest of the request.
    const { status, body } = await call(at, method === "POST" ? { body: "{" } : { method });
    expect([name, status, body.error?.message]).toEqual([
      name,
      404,
      refusalMessage("no_store", { store: UNKNOWN_ID }),
    ]);
  }
});

test("the control client acts on the first store unless another store is selected", async () => {
  const asked: string[] = [];
  const world: Pick<World, "send"> = {
    send: ({ url }) => {
      asked.push(url);
      return Promise.resolve({ ok: false, failure: "unreachable", message: "nobody is there" });
    },
  };
  const target = { origin: "http://127.0.0.1:4242", token: "token", version: "0.1.0" };
  const body = { limit: 5, waitMs: undefined };
  await callControl(world, target, { name: "listEvents", body });
  await callControl(
    world,
    { ...target, storeId: OTHER_STORE },
    { name: "showEvent", id: UNKNOWN_ID, body: undefined },
  );
  expect(asked).toEqual([
    `${target.origin}${STORE}/events?limit=5`,
    `${target.origin}/__sandbox/stores/${OTHER_STORE}/events/${UNKNOWN_ID}`,
  ]);
});

test("a control API request to an unknown path gets 404, and a request without a token gets 401", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const call = caller(harness, sandbox);
  const code = ({ status, body }: Answer): string => `${status} ${body.error?.code}`;
  for (const path of [
    "",
    "stores/",
    "stores/default/",
    "stores/default/clock/",
    "stores/default/clockx",
    "stores/default/Clock",
    "stores/default/checkout",
    "stores/default/checkouts/",
    "stores/default/openapi.json",
    "stores/default/__proto__",
    "stores/Default/clock",
    "stores//clock",
    "stores/../openapi.json",
    "clock",
    "openapi.yaml",
    "openapiXjson",
    "__proto__",
  ]) {
    expect([path, code(await call(`/__sandbox/${path}`))]).toEqual([path, "404 not_found"]);
    const { status } = await sandbox.request({ path: `/__sandbox/${path}` });
    expect(status).toBe(401);
  }
  harness.setFault((request, pass) => {
    Reflect.deleteProperty(request.headers, "Authorization");
    return pass();
  });
  const { code: exit, stderr } = await harness.run(["return-origins", "list", "--json"]);
  expect([exit, JSON.parse(stderr)]).toMatchObject([4, { error: { code: "credential_missing" } }]);
});

test("return origins are unique, listed oldest first, at most 20, and survive a restart", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const call = caller(harness, sandbox);
  const change = async (action: "add" | "remove", origin: string): Promise<unknown> => {
    const { status, body } = await call(`${STORE}/return-origins`, {
      body: JSON.stringify({ action, origin }),
    });
    return body.data?.["return_origins"] ?? `${status} ${body.error?.code}`;
  };
  const list = async (through = call): Promise<unknown> =>
    (await through(`${STORE}/return-origins`)).body.data?.["return_origins"];

  expect(await list()).toEqual([]);
  expect(await change("add", "https://shop.example")).toEqual(["https://shop.example"]);
  // The store's clock is set back, which does not change the order of the origins.
  await call(`${STORE}/clock`, { body: '{"action":"set","to":"2020-01-01T00:00:00Z"}' });
  const both = ["https://shop.example", "http://localhost:3000"];
  expect(await change("add", "http://localhost:3000")).toEqual(both);
  expect(await change("add", "https://shop.example")).toEqual(both);
  expect(await change("remove", "https://other.example")).toBe("404 not_found");
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  const times = database.prepare("SELECT created_at FROM return_origins ORDER BY rowid").pluck().all();
  expect(times).toEqual([Date.UTC(2026, 0, 15, 12), Date.UTC(2020, 0, 1)]);
  database.close();

  const more = Array.from({ length: 18 }, (_, index) => `https://shop-${index}.example`);
  await Promise.all(more.map((origin) => change("add", origin)));
  const full = [...both, ...more];
  expect(await list()).toEqual(full);
  expect(await change("add", "https://one-more.example")).toBe("409 state_conflict");
  expect(await change("add", "https://shop-17.example")).toEqual(full);
  expect(await change("remove", "https://shop.example")).toEqual(full.slice(1));
  expect(await change("add", "https://shop.example")).toEqual([...full.slice(1), "https://shop.example"]);

  await sandbox.stop();
  const again = caller(harness, await harness.start());
  expect(await list(again)).toEqual([...full.slice(1), "https://shop.example"]);
});

test("checkout return-origins adds, lists and removes up to 20 origins, and sends nothing for an invalid origin", async () => {
  const harness = createHarness();
  const { ready } = await harness.start();
  const { store_id: storeId } = ready;
  const run = async (...args: string[]): Promise<readonly [number, string]> => {
    const { code, stdout, stderr } = await harness.run(["return-origins", ...args]);
    return [code, stdout + stderr];
  };
  expect(await run("list")).toEqual([0, expect.stringContaining("checkout return-origins add http")]);
  expect(await run("add", "https://shop.example")).toEqual([
    0,
    expect.stringContaining("https://shop.example"),
  ]);
  const [, added] = await run("add", "http://[::1]:3000", "--json");
  expect(JSON.parse(added)).toEqual({
    store_id: storeId,
    return_origins: ["https://shop.example", "http://[::1]:3000"],
  });
  expect(await run("list")).toEqual([0, "https://shop.example\nhttp://[::1]:3000\n"]);
  expect(await run("remove", "https://shop.example")).toEqual([
    0,
    expect.stringContaining("https://shop.example"),
  ]);
  const [, left] = await run("list", "--json");
  expect(JSON.parse(left)).toEqual({ store_id: storeId, return_origins: ["http://[::1]:3000"] });
  const [missing, said] = await run("remove", "https://shop.example");
  expect([missing, said]).toEqual([1, expect.stringContaining("checkout return-origins list")]);
  const origins = Array.from({ length: 19 }, (_, index) => `https://shop-${index}.example`);
  for (const origin of origins) expect((await run("add", origin))[0]).toBe(0);
  const [full, why] = await run("add", "https://one-more.example");
  expect([full, why]).toEqual([5, expect.stringContaining("checkout return-origins remove")]);

  harness.setFault(() => Promise.reject(new Error("nothing may be sent")));
  const typed = "https://shop.example/return";
  const refused = parseReturnOrigin(typed);
  const message = refused.ok ? "" : refused.refusal.message;
  for (const action of ["add", "remove"]) {
    const [code, text] = await run(action, typed, "--json");
    expect([code, JSON.parse(text)]).toMatchObject([2, { error: { code: "usage", message }, exit_code: 2 }]);
  }
  expect((await run("add"))[0]).toBe(2);
  const help = await harness.run(["return-origins", "add", "--help"]);
  expect(help.stdout).toContain("$ checkout return-origins add https://shop.example");
  expect((await harness.run(["--help"])).stdout).toContain("return-origins");
});

test("a return origin that is added again keeps its path unless another path is given", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const run = async (words: string) => (await harness.run(["return-origins", ...words.split(" ")])).stdout;
  const [shop, local] = ["https://shop.example", "http://localhost:3000"];
  // Payment pages link to the first origin, which each result names.
  const steps = [
    [`add ${shop} --path /thanks`, [`${shop}/thanks\n`]],
    [`add ${shop}`, [`${shop}/thanks\n`]],
    [`add ${local}`, [local, `${shop}/thanks\n`]],
    [`add ${local} --path /a`, [`${local}/a`, `${shop}/thanks\n`]],
    ["list", [`${shop}/thanks\n${local}/a\n`]],
    [`add ${local} --path /`, [local, `${shop}/thanks\n`]],
    ["list", [`${shop}/thanks\n${local}\n`]],
  ] as const;
  for (const [words, values] of steps)
    expect([words, await run(words)]).toEqual([words, expect.stringMatching(inOrder(...values))]);
  const shown = JSON.parse(await run("list --json")) as object;
  expect(shown).toMatchObject({ return_origins: [{ origin: shop, path: "/thanks" }, local] });
  const summary = JSON.parse((await harness.run(["stores", "show", "--json"])).stdout) as object;
  expect(summary).toMatchObject({ return_origins: [{ origin: shop, path: "/thanks" }, local] });
  await sandbox.stop();
  await harness.start();
  expect(await run("list")).toBe(`${shop}/thanks\n${local}\n`);
  const refused = await harness.run(["return-origins", "add", shop, "--path", "thanks"]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(PART_TEXTS.leading_slash[0])]);
});
