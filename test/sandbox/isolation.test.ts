import { join } from "node:path";
import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  CONTROL_OPERATIONS,
  OPERATION_NAMES,
  type OperationName,
} from "../../src/core/control/operations.ts";
import { hashKey, formatTestKey, SCOPES, type Scope } from "../../src/core/credential.ts";
import { AREAS } from "../../src/sandbox/areas.ts";
import type { Service } from "../../src/world.ts";
import { SEED, size } from "../support/campaign.ts";
import { createHarness, type Harness } from "../support/harness.ts";

const UNKNOWN = "00000000-0000-7000-8000-00000000ffff";
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TAKES_ALL: Service = {
  answer: () => Promise.resolve({ status: 200, headers: {}, body: "" }),
  refuse: () => ({ status: 400, headers: {}, body: "" }),
};

/** A store with one of everything that an id can be of. */
type Site = { readonly id: string; readonly apiKey: string; readonly ids: readonly string[] };
type Answer = { readonly status: number; readonly text: string };
type Sent = { readonly path: string; readonly method?: string; readonly body?: string };

function tokensOf(harness: Harness) {
  const { control_token } = JSON.parse(harness.readState("run.json")) as { control_token: string };
  const { admin_token } = JSON.parse(harness.readState("admin.json")) as { admin_token: string };
  return { control: control_token, administrator: admin_token };
}

/** A row of the database, and the store that it names. */
type Row = { readonly table: string; readonly of: string | undefined; readonly text: string };

/** Everything that stands in the database, each row with its table, as text. */
function allRows(harness: Harness): readonly Row[] {
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  const tables = database
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'log_mark'")
    .pluck()
    .all();
  const rows = tables.flatMap((table) =>
    database
      .prepare(`SELECT * FROM "${table}"`)
      .all()
      .map((row) => ({ table, of: (row as { store_id?: string }).store_id, text: JSON.stringify(row) })),
  );
  database.close();
  return rows;
}

/** The rows of a store: those that name it, and those that name no store, but something of it. */
function rowsOf(harness: Harness, { id, ids }: Site): string[] {
  const own = [id, ...ids];
  return allRows(harness)
    .filter(({ of, text }) => (of === undefined ? own.some((one) => text.includes(one)) : of === id))
    .map(({ table, text }) => `${table} ${text}`);
}

/** Two stores with frozen clocks, each with a checkout, an endpoint, an event, its delivery, a lease and a drill. */
async function openTwoStores() {
  const harness = createHarness();
  const sandbox = await harness.start();
  harness.occupy(3000, TAKES_ALL);
  const tokens = tokensOf(harness);
  const send = async (token: string, { path, method, body }: Sent): Promise<Answer> => {
    const headers = { Authorization: `Bearer ${token}`, "Idempotency-Key": "an-idempotency-key" };
    const sent = { path, headers, ...(method && { method }), ...(body !== undefined && { body }) };
    const answer = await sandbox.request(sent);
    return { status: answer.status, text: String(answer.body) };
  };
  const made = JSON.parse((await harness.run(["stores", "create", "--name", "Other", "--json"])).stdout) as {
    readonly store_id: string;
    readonly api_key: string;
  };
  const fill = async (id: string, apiKey: string): Promise<Site> => {
    const at = `/__sandbox/stores/${id}`;
    const texts: string[] = [];
    const call = async (path: string, body: object): Promise<string> => {
      const { status, text } = await send(tokens.control, { path: at + path, body: JSON.stringify(body) });
      expect([path, status]).toEqual([path, 200]);
      texts.push(text);
      const { data } = JSON.parse(text) as { data: Record<string, string> };
      return data["id"] ?? "";
    };
    await call("/clock", { action: "freeze" });
    const endpoint = await call("/endpoints", { url: `http://localhost:3000/${id}` });
    const body = JSON.stringify({ order_id: "order-1", price_id: "price_coffee" });
    const order = await send(apiKey, { path: "/v1/orders", body });
    texts.push(order.text);
    await call(`/endpoints/${endpoint}/test`, {});
    // It hits nothing: it waits for what does not come.
    await call("/faults", { action: "drop", match: { endpoint_id: endpoint, nth: 1000 } });
    await call("/leases", { drill: "idempotency", timeout_ms: 86_400_000 });
    await call("/clock", { action: "set", to: "2026-01-15T12:00:00Z" });
    for (const path of ["/events", "/deliveries"])
      texts.push((await send(tokens.control, { path: at + path })).text);
    const found = [...texts.join("\n").matchAll(UUID)].map(([text]) => text).filter((text) => text !== id);
    return { id, apiKey, ids: [...new Set(found)] };
  };
  const { ready } = sandbox;
  const sites = [
    await fill(ready.store_id, ready.api_key ?? ""),
    await fill(made.store_id, made.api_key),
  ] as const;
  const settle = (): Promise<Answer> =>
    send(tokens.control, { path: `/__sandbox/stores/${sites[0].id}/assumptions` });
  await settle();
  return { harness, sites, tokens, send, settle };
}

type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
};

/** What the fields of a request may hold. */
type Values = { readonly ids: readonly string[]; readonly texts: readonly string[] };

const TEXTS = [
  "order-1",
  "http://localhost:3000/x",
  "https://shop.example",
  "price_coffee",
  "EUR",
  "order.*",
];

/** Requests as the description of the control API has them, with these ids and texts. */
function arbitraryOf(schema: Schema, values: Values): fc.Arbitrary<unknown> {
  const options = schema.anyOf ?? schema.oneOf;
  if (options !== undefined) return fc.oneof(...options.map((option) => arbitraryOf(option, values)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const { type = "string" } = schema;
  switch (type) {
    case "object": {
      const fields = Object.entries(schema.properties ?? {}).map(
        ([name, field]) => [name, arbitraryOf(field, values)] as const,
      );
      return fc.record(Object.fromEntries(fields), { requiredKeys: [...(schema.required ?? [])] });
    }
    case "array":
      return fc.array(arbitraryOf(schema.items ?? {}, values), { maxLength: 2 });
    case "integer":
    case "number":
      return fc.integer({
        min: schema.minimum ?? 0,
        max: Math.min(schema.maximum ?? 5, 5) + (schema.minimum ?? 0),
      });
    case "boolean":
      return fc.boolean();
    default:
      if (schema.format === "uuid") return fc.constantFrom(...values.ids);
      if (schema.format === "date-time") return fc.constant("2026-01-15T12:00:01Z");
      return fc.constantFrom(...values.texts);
  }
}

type Document = {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly requestBody?: {
              readonly content: { readonly "application/json": { readonly schema: Schema } };
            };
            readonly parameters?: readonly {
              readonly in: string;
              readonly name: string;
              readonly schema: Schema;
            }[];
          }
        >
      >
    >
  >;
};

/** What an operation reads: a body, or the query of a GET. */
function requestSchema(document: Document, name: OperationName): Schema | undefined {
  const { path, method } = CONTROL_OPERATIONS[name];
  const { requestBody, parameters = [] } = document.paths[path]?.[method.toLowerCase()] ?? {};
  if (requestBody !== undefined) return requestBody.content["application/json"].schema;
  const query = parameters.filter((one) => one.in === "query");
  if (query.length === 0) return undefined;
  return { type: "object", properties: Object.fromEntries(query.map((one) => [one.name, one.schema])) };
}

function requestOf(
  name: OperationName,
  place: { readonly store: string; readonly id: string },
  value: unknown,
): Sent {
  const { path, method } = CONTROL_OPERATIONS[name];
  const at = path.replace("{store_id}", place.store).replace("{id}", place.id);
  if (method === "POST") return { path: at, method, body: JSON.stringify(value ?? {}) };
  const fields = Object.entries((value ?? {}) as Record<string, unknown>).map(([key, one]) => [
    key,
    String(one),
  ]);
  return { path: fields.length === 0 ? at : `${at}?${new URLSearchParams(fields).toString()}`, method };
}

/** Operations on one store, from the table; a wait would only wait. */
const IN_STORE = OPERATION_NAMES.filter((name) => CONTROL_OPERATIONS[name].path.includes("{store_id}"));

test("no request to one store finds, shows or changes anything of another", async () => {
  const { harness, sites, tokens, send, settle } = await openTwoStores();
  const document = JSON.parse(
    (await send(tokens.control, { path: "/__sandbox/openapi.json" })).text,
  ) as Document;
  expect(IN_STORE.length).toBeGreaterThan(35);
  const operation = fc.constantFrom(...IN_STORE).chain((name) => {
    const schema = requestSchema(document, name);
    return fc.constantFrom(0, 1).chain((from) => {
      const theirs = sites[1 - from]?.ids ?? [];
      // What a GET looks for by a text may be an id too. A text that is written is told again by its own store.
      const texts = CONTROL_OPERATIONS[name].method === "GET" ? [...TEXTS, ...theirs] : TEXTS;
      const value =
        schema === undefined ? fc.constant(undefined) : arbitraryOf(schema, { ids: theirs, texts });
      return fc.record({
        name: fc.constant(name),
        from: fc.constant(from),
        id: fc.constantFrom(...theirs),
        value,
      });
    });
  });
  let asked = 0;
  await fc.assert(
    fc.asyncProperty(operation, async ({ name, from, id, value: drawn }) => {
      const [own, other] = from === 0 ? sites : [sites[1], sites[0]];
      const value =
        typeof drawn === "object" && drawn !== null && "wait_ms" in drawn ? { ...drawn, wait_ms: 1 } : drawn;
      const isOfOne = CONTROL_OPERATIONS[name].path.includes("{id}");
      const token = tokens[CONTROL_OPERATIONS[name].role];
      const before = isOfOne ? allRows(harness).map(({ text }) => text) : rowsOf(harness, other);
      const request = requestOf(name, { store: own.id, id }, value);
      const answer = await send(token, request);
      await settle();
      const after = isOfOne ? allRows(harness).map(({ text }) => text) : rowsOf(harness, other);
      expect([name, request, after]).toEqual([name, request, before]);
      // What was named is repeated in an error; nothing else of the other store is told.
      const said = answer.text.replaceAll(id, "").replaceAll(/"error":\{.*\}/g, "");
      const named = JSON.stringify(request);
      const told = [other.id, other.apiKey, ...other.ids].filter(
        (one) => said.includes(one) && !named.includes(one),
      );
      expect([name, request, told]).toEqual([name, request, []]);
      if (!isOfOne) return;
      const nowhere = await send(token, requestOf(name, { store: own.id, id: UNKNOWN }, value));
      const error = ({ text }: Answer): string =>
        JSON.stringify((JSON.parse(text) as { error: unknown }).error).replaceAll(UNKNOWN, id);
      expect([name, answer.status, error(answer)]).toEqual([name, nowhere.status, error(nowhere)]);
      expect([name, [400, 404].includes(answer.status)]).toEqual([name, true]);
      asked += answer.status === 404 ? 1 : 0;
    }),
    { seed: SEED, numRuns: size(120, 4000) },
  );
  expect(asked).toBeGreaterThan(10);
});

test("what one store has shown is no evidence for another one", async () => {
  const { harness, sites } = await openTwoStores();
  const [one, other] = sites;
  const checklists = async (): Promise<readonly string[]> => {
    const said = sites.map(({ id }) => harness.run(["checklist", "--json", "--store", id]));
    return (await Promise.all(said)).map(({ stdout }) => stdout);
  };
  const before = await checklists();
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  const drill = database.prepare(
    "INSERT INTO drills (id, store_id, kind, subject, passed, steps, at) VALUES (?, ?, ?, ?, 1, '[]', 1768478400000)",
  );
  // About the other store, as far as a subject can be: what it was run in decides.
  for (const [at, kind] of ["webhook", "duplicates", "idempotency", "browser_return"].entries())
    drill.run(UNKNOWN.replace(/.$/, String(at)), one.id, kind, kind === "browser_return" ? "/" : other.id);
  for (const kind of ["replayed", "refused"])
    database
      .prepare(
        "INSERT INTO idempotency_uses (store_id, key, kind, request_id, at) VALUES (?, 'k', ?, 'r', 1)",
      )
      .run(one.id, kind);
  for (const kind of ["webhook", "duplicates", "idempotency", "browser_return"])
    database
      .prepare("INSERT INTO waivers (store_id, drill, reason, at) VALUES (?, ?, 'none', 1768478400000)")
      .run(one.id, kind);
  database
    .prepare(
      "INSERT INTO admin_acts (store_id, actor, action, at) VALUES (?, 'administrator', 'approve_credential', 1)",
    )
    .run(one.id);
  database.close();
  const after = await checklists();
  expect(after[1]).toBe(before[1]);
  expect(after[0]).not.toBe(before[0]);
});

test("v1: what is another store's is as unknown as what is nowhere, and its keys and orders are free here", async () => {
  const { harness, sites, send, settle } = await openTwoStores();
  const routes = await v1Routes();
  const theirs = fc.constantFrom(0, 1).chain((from) =>
    fc.record({
      from: fc.constant(from),
      route: fc.constantFrom(...routes),
      id: fc.constantFrom(...(sites[1 - from]?.ids ?? [])),
    }),
  );
  await fc.assert(
    fc.asyncProperty(theirs, async ({ from, route, id }) => {
      const [own, other] = from === 0 ? sites : [sites[1], sites[0]];
      const before = rowsOf(harness, other);
      const path = route.path.replace(/\{\w+\}/, id);
      const body = JSON.stringify({ order_id: "order-1", price_id: "price_coffee" });
      const sent = route.method === "POST" ? { path, body } : { path };
      const answer = await send(own.apiKey, sent);
      await settle();
      expect(rowsOf(harness, other)).toEqual(before);
      expect(other.ids.filter((one) => answer.text.replaceAll(id, "").includes(one))).toEqual([]);
      if (route.method === "POST") return;
      const nowhere = await send(own.apiKey, { path: path.replace(id, UNKNOWN) });
      const error = ({ text }: Answer): unknown =>
        JSON.stringify((JSON.parse(text) as { error: unknown }).error).replaceAll(UNKNOWN, id);
      expect([answer.status, error(answer)]).toEqual([404, error(nowhere)]);
    }),
    { seed: SEED, numRuns: size(60, 1000) },
  );
});

async function v1Routes() {
  const v1 = AREAS.find(({ prefix }) => prefix === "/v1/");
  const routes = (await v1?.routes()) ?? [];
  expect(routes.length).toBeGreaterThan(2);
  return routes.flatMap(({ methods, path, role }) => methods.map((method) => ({ method, path, role })));
}

/** Gives a store a key with some scopes. */
function addKey(harness: Harness, storeId: string, scopes: readonly Scope[], number: number): string {
  const apiKey = formatTestKey(new Uint8Array(20).fill(number + 1));
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  database
    .prepare(
      "INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at) VALUES (?, ?, ?, ?, ?, 0)",
    )
    .run(`key-${number}`, storeId, hashKey(apiKey), apiKey.slice(-4), scopes.join(" "));
  database.close();
  return apiKey;
}

test("the access matrix of v1: each set of scopes, in each store, active or not", async () => {
  const { harness, sites, tokens, send } = await openTwoStores();
  const subsets = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
    SCOPES.filter((_scope, at) => (bits & (2 ** at)) !== 0),
  );
  const checkoutOf = async ({ id }: Site): Promise<string> => {
    const { text } = await send(tokens.control, { path: `/__sandbox/stores/${id}/events` });
    return (
      (JSON.parse(text) as { data: { events: { checkout_id: string }[] } }).data.events[0]?.checkout_id ?? ""
    );
  };
  const checkouts = [await checkoutOf(sites[0]), await checkoutOf(sites[1])];
  const keys = subsets.flatMap((scopes, at) =>
    sites.map((site, store) => ({ store, scopes, key: addKey(harness, site.id, scopes, 2 * at + store) })),
  );
  const routes = await v1Routes();
  let rows = 0;
  for (const active of [true, false]) {
    const action = active ? "activate" : "deactivate";
    if (!active)
      await send(tokens.administrator, {
        path: `/__sandbox/stores/${sites[1].id}/admin/acts`,
        body: JSON.stringify({ action }),
      });
    for (const { store, scopes, key } of keys) {
      for (const route of routes) {
        for (const target of route.path.includes("{") ? [0, 1] : [store]) {
          const path = route.path.replace(/\{\w+\}/, checkouts[target] ?? "");
          rows += 1;
          const order = `m-${rows}`;
          const body = JSON.stringify({ order_id: order, price_id: "price_coffee" });
          const answer = await sendAs(key, { path, method: route.method, body, order });
          const expected = !scopes.some((scope) => scope === route.role)
            ? 403
            : route.method === "GET"
              ? target === store
                ? 200
                : 404
              : active || store === 0
                ? 201
                : 403;
          expect([active, store, scopes, route.path, target, answer]).toEqual([
            active,
            store,
            scopes,
            route.path,
            target,
            expected,
          ]);
        }
      }
    }
  }
  expect(rows).toBe(2 * keys.length * (routes.length + 1));
  async function sendAs(
    key: string,
    sent: { readonly path: string; readonly method: string; readonly body: string; readonly order: string },
  ): Promise<number> {
    const service = harness.programOn(4242);
    const answer = await service?.answer({
      method: sent.method,
      target: sent.path,
      rawHeaders: [
        "Host",
        "127.0.0.1:4242",
        "Authorization",
        `Bearer ${key}`,
        ...(sent.method === "POST"
          ? ["Content-Type", "application/json", "Idempotency-Key", `key-of-${sent.order}`]
          : []),
      ],
      body: Buffer.from(sent.method === "POST" ? sent.body : ""),
    });
    return answer?.status ?? 0;
  }
});

test("the access matrix of the control API: each token at each store", async () => {
  const { harness, sites, tokens, send } = await openTwoStores();
  // The only operation that needs neither a body nor an id: what it removes must not stand among what stays.
  for (const { id } of sites)
    await send(tokens.control, { path: `/__sandbox/stores/${id}/faults`, method: "DELETE" });
  const before = allRows(harness);
  const bearers = {
    control: tokens.control,
    administrator: tokens.administrator,
    first: sites[0].apiKey,
    other: sites[1].apiKey,
    live: `svc_live_${"a".repeat(33)}`,
    none: "",
  };
  const stores = { first: sites[0].id, other: sites[1].id, default: "default", unknown: UNKNOWN };
  for (const name of OPERATION_NAMES) {
    const { path, method, role } = CONTROL_OPERATIONS[name];
    for (const [who, token] of Object.entries(bearers)) {
      const isToken = who === "control" || who === "administrator";
      for (const [where, store] of Object.entries(stores)) {
        // Which store is asked for changes nothing for who may not ask.
        const at = path.replace("{store_id}", store).replace("{id}", UNKNOWN);
        const { status, text } = await send(token, {
          path: at,
          method,
          ...(method === "POST" && { body: "{" }),
        });
        const { error } = JSON.parse(text) as { error?: { code: string } };
        const code = error?.code ?? "";
        const row = [name, who, where];
        if (!isToken) expect([...row, status]).toEqual([...row, 401]);
        else if (who !== role) expect([...row, status, code]).toEqual([...row, 403, "scope_missing"]);
        else if (where === "unknown" && path.includes("{store_id}"))
          expect([...row, status, code]).toEqual([...row, 404, "not_found"]);
        else expect([...row, status === 401 || status === 403]).toEqual([...row, false]);
      }
    }
  }
  expect(allRows(harness)).toEqual(before);
});
