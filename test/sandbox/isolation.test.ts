import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  CONTROL_OPERATIONS,
  folderTokenRole,
  OPERATION_NAMES,
  type OperationName,
} from "../../src/core/control/operations.ts";
import type { StoreRole } from "../../src/core/store/shapes.ts";
import { isPermitted } from "../../src/core/control/rights.ts";
import { formatTestKey, hashKey, SCOPES, type Scope } from "../../src/core/credential.ts";
import { markedKeyBytes, markOfId } from "../../src/hosted/shared/marks.ts";
import { AREAS } from "../../src/sandbox/areas.ts";
import { SEED, size } from "../support/campaign.ts";
import { formTokenIn } from "../support/payment-model.ts";
import { runtimeHere, type StorePair } from "../support/runtimes.ts";

const RUNTIME = runtimeHere();
/** The number of requests in a property: in every runtime enough for each kind of request. */
const CONTROL_REQUESTS = Math.max(40, RUNTIME.share(size(120, 4000)));
const V1_REQUESTS = Math.max(20, RUNTIME.share(size(60, 1000)));

const UNKNOWN = "00000000-0000-7000-8000-00000000ffff";
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** A store, its API key, and the ids of its objects. */
type Site = { readonly id: string; readonly apiKey: string; readonly ids: readonly string[] };
type Answer = { readonly status: number; readonly text: string };
type Sent = { readonly path: string; readonly method?: string; readonly body?: string };

/** A row of the database, and the store that it names. */
type Row = { readonly table: string; readonly of: string | undefined; readonly text: string };

/** Tables without a store: the log is written later; the other tables belong to the program or the runtime. */
const OWN_TABLES = [
  "log_mark",
  "request_batches",
  "schema_version",
  "hosted_store",
  "_cf_METADATA",
  "_cf_KV",
];

/** The rows of the stores' databases except OWN_TABLES, each with its table and store, as text. */
function allRows({ stores, databases, openDatabase }: StorePair): readonly Row[] {
  const some = databases.size === 1 ? stores.slice(0, 1) : stores;
  return some.flatMap(({ id }) => {
    const database = openDatabase(id);
    const tables = database
      .prepare<[string], string>(
        `SELECT name FROM sqlite_schema WHERE type = 'table'
         AND name NOT IN (SELECT value FROM json_each(?)) AND name NOT LIKE 'sqlite_%'`,
      )
      .pluck()
      .all(JSON.stringify(OWN_TABLES));
    const rows = tables.flatMap((table) =>
      database
        .prepare(`SELECT * FROM "${table}"`)
        .all()
        .map((row) => ({
          table,
          of: (row as { store_id?: string }).store_id,
          // The last use of a token is recorded after the answer.
          text: JSON.stringify(row).replace(/"used_at":\d+/, '"used_at":null'),
        })),
    );
    database.close();
    return rows;
  });
}

/** The rows of a store: rows with its id, and rows that refer to such a row. */
function rowsOf(pair: StorePair, { id, ids }: Site): string[] {
  const own = [id, ...ids];
  return allRows(pair)
    .filter(({ of, text }) => (of === undefined ? own.some((one) => text.includes(one)) : of === id))
    .map(({ table, text }) => `${table} ${text}`);
}

/** Two stores with frozen clocks, each with a checkout, an endpoint, an event, its delivery, a fault and a lease. */
async function openTwoStores() {
  const pair = await RUNTIME.openStores();
  const { tokens } = pair;
  const send = async (token: string, { path, method, body }: Sent): Promise<Answer> => {
    const answer = await pair.send({
      path,
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        Host: pair.host,
        Authorization: `Bearer ${token}`,
        "Idempotency-Key": "an-idempotency-key",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body ?? "",
    });
    return { status: answer.status, text: String(answer.body) };
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
    const endpoint = await call("/endpoints", { url: `${pair.receiver}/${id}` });
    const body = JSON.stringify({ order_id: "order-1", price_id: "price_coffee" });
    const order = await send(apiKey, { path: "/v1/orders", body });
    texts.push(order.text);
    await call(`/endpoints/${endpoint}/test`, {});
    // This fault hits nothing, because there is no thousandth event.
    await call("/faults", { action: "drop", match: { endpoint_id: endpoint, nth: 1000 } });
    await call("/leases", { drill: "duplicates", timeout_ms: 86_400_000 });
    await call("/clock", { action: "set", to: "2026-01-15T12:00:00Z" });
    for (const path of ["/events", "/deliveries"])
      texts.push((await send(tokens.control, { path: at + path })).text);
    const found = [...texts.join("\n").matchAll(UUID)].map(([text]) => text).filter((text) => text !== id);
    return { id, apiKey, ids: [...new Set(found)] };
  };
  const [first, second] = pair.stores;
  const sites = [await fill(first.id, first.apiKey), await fill(second.id, second.apiKey)] as const;
  const settle = async (): Promise<void> => {
    for (const { id } of sites) await send(tokens.control, { path: `/__sandbox/stores/${id}/assumptions` });
  };
  await settle();
  return { pair, sites, tokens, send, settle };
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

/** The possible contents of a request's fields. */
type Values = { readonly ids: readonly string[]; readonly texts: readonly string[] };

const TEXTS = [
  "order-1",
  "http://localhost:3000/x",
  "https://shop.example",
  "price_coffee",
  "EUR",
  "order.*",
];

/** Requests that match the description of the control API, with these ids and texts. */
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

/** The input of an operation: a body, or the query of a GET. */
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

/** Operations whose path names a store. */
const IN_STORE = OPERATION_NAMES.filter((name) => CONTROL_OPERATIONS[name].path.includes("{store_id}"));

/**
 * Operations on one object are drawn twice as often, because many of their bodies are refused before the id is read.
 */
const OF_ONE = IN_STORE.filter((name) => CONTROL_OPERATIONS[name].path.includes("{id}"));

test("a request to one store finds, shows and changes nothing in another store", async () => {
  const { pair, sites, tokens, send, settle } = await openTwoStores();
  const document = JSON.parse(
    (await send(tokens.control, { path: "/__sandbox/openapi.json" })).text,
  ) as Document;
  expect(IN_STORE.length).toBeGreaterThan(35);
  const operation = fc.constantFrom(...IN_STORE, ...OF_ONE).chain((name) => {
    const schema = requestSchema(document, name);
    return fc.constantFrom(0, 1).chain((from) => {
      const theirs = sites[1 - from]?.ids ?? [];
      // A text that a GET searches for may be an id. A text in a body may not, because its own store would show it
      // again.
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
      const token = tokens[folderTokenRole(name)];
      const before = isOfOne ? allRows(pair).map(({ text }) => text) : rowsOf(pair, other);
      const request = requestOf(name, { store: own.id, id }, value);
      const answer = await send(token, request);
      await settle();
      const after = isOfOne ? allRows(pair).map(({ text }) => text) : rowsOf(pair, other);
      expect([name, request, after]).toEqual([name, request, before]);
      // An error repeats the given text, and shows nothing else of the other store.
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
    { seed: SEED, numRuns: CONTROL_REQUESTS },
  );
  expect(asked).toBeGreaterThan(CONTROL_REQUESTS / 40);
});

test("checklist evidence of one store does not count for another store", async () => {
  const { pair, sites, tokens, send } = await openTwoStores();
  const [one, other] = sites;
  const checklists = async (): Promise<readonly string[]> => {
    const said = sites.map(({ id }) => send(tokens.control, { path: `/__sandbox/stores/${id}/checklist` }));
    return (await Promise.all(said)).map(({ text }) =>
      JSON.stringify((JSON.parse(text) as { readonly data: unknown }).data),
    );
  };
  const before = await checklists();
  const database = pair.openDatabase(one.id);
  const drill = database.prepare(
    "INSERT INTO drills (id, store_id, kind, subject, passed, steps, at) VALUES (?, ?, ?, ?, 1, '[]', 1768478400000)",
  );
  // The subject may name the other store; the store of the run decides.
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

test("v1 finds no row of another store, and two stores may use the same idempotency key and order_id", async () => {
  const { pair, sites, send, settle } = await openTwoStores();
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
      const before = rowsOf(pair, other);
      const path = route.path.replace(/\{\w+\}/, id);
      const body = JSON.stringify({ order_id: "order-1", price_id: "price_coffee" });
      const sent = route.method === "POST" ? { path, body } : { path };
      const answer = await send(own.apiKey, sent);
      await settle();
      expect(rowsOf(pair, other)).toEqual(before);
      expect(other.ids.filter((one) => answer.text.replaceAll(id, "").includes(one))).toEqual([]);
      if (route.method === "POST") return;
      const nowhere = await send(own.apiKey, { path: path.replace(id, UNKNOWN) });
      const error = ({ text }: Answer): unknown =>
        JSON.stringify((JSON.parse(text) as { error: unknown }).error).replaceAll(UNKNOWN, id);
      expect([answer.status, error(answer)]).toEqual([404, error(nowhere)]);
    }),
    { seed: SEED, numRuns: V1_REQUESTS },
  );
});

async function v1Routes() {
  const v1 = AREAS.find(({ prefix }) => prefix === "/v1/");
  const routes = (await v1?.routes()) ?? [];
  expect(routes.length).toBeGreaterThan(2);
  return routes.flatMap(({ methods, path, role }) => methods.map((method) => ({ method, path, role })));
}

/** Adds an API key with these scopes to a store's database, in each runtime. */
function addKey(pair: StorePair, storeId: string, scopes: readonly Scope[], number: number): string {
  const apiKey = formatTestKey(markedKeyBytes(markOfId(storeId) ?? 0, new Uint8Array(20).fill(number + 1)));
  const database = pair.openDatabase(storeId);
  database
    .prepare(
      "INSERT INTO credentials (id, store_id, key_hash, last_four, scopes, created_at) VALUES (?, ?, ?, ?, ?, 0)",
    )
    .run(`key-${number}`, storeId, hashKey(apiKey), apiKey.slice(-4), scopes.join(" "));
  database.close();
  return apiKey;
}

test("a checkout's form token is refused at a checkout of another store, whatever credential is sent", async () => {
  const { pair, sites, tokens, send } = await openTwoStores();
  const pages = await Promise.all(
    sites.map(async ({ id, apiKey }) => {
      const { text } = await send(tokens.control, { path: `/__sandbox/stores/${id}/events` });
      const checkoutId = checkoutsIn(text)[0] ?? "";
      const page = await send("", { path: `/pay/${checkoutId}` });
      return { checkoutId, apiKey, token: formTokenIn(page.text) ?? "" };
    }),
  );
  const [one, other] = pages;
  const post = async (step: string, token: string | undefined, bearer: string): Promise<number> => {
    const headers = {
      Host: pair.host,
      "Content-Type": "application/x-www-form-urlencoded",
      "Sec-Fetch-Site": "same-origin",
      ...(bearer === "" ? {} : { Authorization: `Bearer ${bearer}` }),
    };
    const body = String(new URLSearchParams({ token: token ?? "", outcome: "succeeded" }));
    const path = `/pay/${other?.checkoutId}/${step}`;
    return (await pair.send({ method: "POST", path, headers, body })).status;
  };
  const before = allRows(pair);
  for (const bearer of ["", tokens.control, tokens.administrator, one?.apiKey ?? ""])
    for (const step of ["start", "cancel", "wallet/1"])
      expect([bearer, step, await post(step, one?.token, bearer)]).toEqual([bearer, step, 403]);
  expect(allRows(pair)).toEqual(before);
  expect(await post("start", other?.token, "")).toBe(303);
});

/** The ids of the checkouts in a list of events. */
function checkoutsIn(events: string): readonly string[] {
  const { data } = JSON.parse(events) as { readonly data: { events: readonly { checkout_id: string }[] } };
  return data.events.map(({ checkout_id: id }) => id);
}

test("a key reaches exactly the v1 routes of its scopes, only in its own store, and cannot create in an inactive store", async () => {
  const { pair, sites, tokens, send } = await openTwoStores();
  const subsets = Array.from({ length: 2 ** SCOPES.length }, (_, bits) =>
    SCOPES.filter((_scope, at) => (bits & (2 ** at)) !== 0),
  );
  const checkoutOf = async ({ id }: Site): Promise<string> =>
    checkoutsIn((await send(tokens.control, { path: `/__sandbox/stores/${id}/events` })).text)[0] ?? "";
  const checkouts = [await checkoutOf(sites[0]), await checkoutOf(sites[1])];
  const keys = subsets.flatMap((scopes, at) =>
    sites.map((site, store) => ({ store, scopes, key: addKey(pair, site.id, scopes, 2 * at + store) })),
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
    const { path, method, body, order } = sent;
    const isCreate = method === "POST";
    const ofCreate = { "Content-Type": "application/json", "Idempotency-Key": `key-of-${order}` };
    const headers = { Host: pair.host, Authorization: `Bearer ${key}`, ...(isCreate ? ofCreate : {}) };
    return (await pair.send({ path, method, headers, body: isCreate ? body : "" })).status;
  }
});

test("every token gives access to exactly the control operations of its role, only at its own stores", async () => {
  const { pair, sites, tokens, send, settle } = await openTwoStores();
  // This operation needs no body and no id. It is called first, so that it later changes nothing.
  for (const { id } of sites)
    await send(tokens.control, { path: `/__sandbox/stores/${id}/faults`, method: "DELETE" });
  const tokenOf = async (site: Site, role: string): Promise<string> => {
    const { text } = await send(tokens.control, {
      path: `/__sandbox/stores/${site.id}/tokens`,
      body: JSON.stringify({ role }),
    });
    const { data } = JSON.parse(text) as { readonly data: { readonly token: string } };
    return data.token;
  };
  const limited: Readonly<Record<string, { readonly role: StoreRole; readonly at: string }>> = {
    "store of first": { role: "store", at: "first" },
    "viewer of first": { role: "viewer", at: "first" },
    "store of other": { role: "store", at: "other" },
  };
  const bearers = {
    "store of first": await tokenOf(sites[0], "store"),
    "viewer of first": await tokenOf(sites[0], "viewer"),
    "store of other": await tokenOf(sites[1], "store"),
    control: tokens.control,
    administrator: tokens.administrator,
    first: sites[0].apiKey,
    other: sites[1].apiKey,
    live: `svc_live_${"a".repeat(33)}`,
    none: "",
  };
  await settle();
  const before = allRows(pair);
  const stores = { first: sites[0].id, other: sites[1].id, default: "default", unknown: UNKNOWN };
  for (const name of RUNTIME.some(OPERATION_NAMES)) {
    const { path, method } = CONTROL_OPERATIONS[name];
    const role = folderTokenRole(name);
    for (const [who, token] of Object.entries(bearers)) {
      const isToken = who === "control" || who === "administrator";
      for (const [where, store] of Object.entries(stores)) {
        // The named store makes no difference without permission.
        const at = path.replace("{store_id}", store).replace("{id}", UNKNOWN);
        const { status, text } = await send(token, {
          path: at,
          method,
          ...(method === "POST" && { body: "{" }),
        });
        const { error } = JSON.parse(text) as { error?: { code: string } };
        const code = error?.code ?? "";
        const row = [name, who, where];
        const limit = limited[who];
        if (limit !== undefined) {
          const isOwn = !path.includes("{store_id}") || where === limit.at || where === "default";
          const expected = !isPermitted(limit.role, CONTROL_OPERATIONS[name].minRole)
            ? 403
            : isOwn
              ? undefined
              : 404;
          if (expected === undefined)
            expect([...row, status === 401 || status === 403]).toEqual([...row, false]);
          else expect([...row, status]).toEqual([...row, expected]);
          continue;
        }
        if (!isToken) expect([...row, status]).toEqual([...row, 401]);
        else if (who !== role) expect([...row, status, code]).toEqual([...row, 403, "scope_missing"]);
        else if (where === "unknown" && path.includes("{store_id}"))
          expect([...row, status, code]).toEqual([...row, 404, "not_found"]);
        else expect([...row, status === 401 || status === 403]).toEqual([...row, false]);
      }
    }
  }
  expect(allRows(pair)).toEqual(before);
});
