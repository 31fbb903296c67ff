// Attempts to use all credentials and ids of one store against another store, and all operations above a role. They are
// generated from the program's own tables, and run in every runtime of the campaigns.
import { expect, test } from "vitest";
import {
  CONTROL_OPERATIONS,
  inputKind,
  OPERATION_NAMES,
  type OperationName,
} from "../../src/core/control/operations.ts";
import { isPermitted } from "../../src/core/control/rights.ts";
import { pullListenerUrl } from "../../src/core/webhook/endpoint.ts";
import { AREAS } from "../../src/sandbox/areas.ts";
import { part } from "../support/campaign.ts";
import { runtimeHere, type StorePair } from "../support/runtimes.ts";

const RUNTIME = runtimeHere();
const HAS_SNAPSHOTS = !RUNTIME.lacks.has("createStoreSnapshot");
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const LISTENER_URL = pullListenerUrl("0123abcd");

type Call = { readonly path: string; readonly method: string; readonly body: string };
type Site = {
  readonly id: string;
  /** The ids of everything in the store, and its order_id. */
  readonly ids: readonly string[];
  readonly bearers: Readonly<Record<"key" | "store" | "viewer" | "secret", string>>;
};
/** A request that must not reach another store or act above a role, and the allowed statuses of its answer. */
type Try = {
  readonly name: string;
  readonly call: Call;
  readonly bearer: string;
  readonly allowed: readonly number[];
};

/** Bodies of the operations on one object of a store, so that each request is refused only for its id. */
const BODIES: Readonly<Partial<Record<OperationName, object>>> = {
  pay: { outcome: "declined" },
  setEndpointState: { action: "disable" },
  answerDelivery: { status: 200, body: "" },
};

async function openPair() {
  const pair = await RUNTIME.openStores();
  const send = async (bearer: string, { path, method, body }: Call) => {
    const headers = {
      Host: pair.host,
      Authorization: `Bearer ${bearer}`,
      "Idempotency-Key": "an-idempotency-key",
      ...(body === "" ? {} : { "Content-Type": "application/json" }),
    };
    const answer = await pair.send({ path, method, headers, body });
    return { status: answer.status, text: String(answer.body) };
  };
  const [first, second] = pair.stores;
  return { pair, send, sites: [await fill(pair, send, first), await fill(pair, send, second)] as const };
}

/** Fills a store with objects; returns their ids, and a bearer credential of each kind. */
async function fill(
  { tokens, receiver }: StorePair,
  send: (bearer: string, call: Call) => Promise<{ readonly status: number; readonly text: string }>,
  { id, apiKey }: StorePair["stores"][number],
): Promise<Site> {
  const texts: string[] = [];
  const call = async (path: string, body?: object): Promise<Readonly<Record<string, string>>> => {
    const method = body === undefined ? "GET" : "POST";
    const sent = { path: `/__sandbox/stores/${id}${path}`, method, body: JSON.stringify(body) ?? "" };
    const { status, text } = await send(tokens.control, sent);
    expect([path, status]).toEqual([path, 200]);
    texts.push(text);
    return (JSON.parse(text) as { readonly data: Readonly<Record<string, string>> }).data;
  };
  await call("/clock", { action: "freeze" });
  const endpoint = await call("/endpoints", { url: `${receiver}/${id}` });
  const orderId = `order-of-${id}`;
  const order = JSON.stringify({ order_id: orderId, price_id: "price_coffee" });
  texts.push((await send(apiKey, { path: "/v1/orders", method: "POST", body: order })).text);
  await call(`/endpoints/${endpoint["id"] ?? ""}/test`, {});
  await call("/faults", { action: "drop", match: { nth: 1000 } });
  await call("/leases", { drill: "duplicates", timeout_ms: 86_400_000 });
  await call("/listener", { url: LISTENER_URL });
  if (HAS_SNAPSHOTS) await call("/snapshots", { name: `of-${id}` });
  for (const path of ["/events", "/deliveries", "/keys", "/checkouts"]) await call(path);
  const { signing_secret: secret = "" } = await call("/access");
  const token = async (role: string): Promise<string> => (await call("/tokens", { role }))["token"] ?? "";
  const bearers = { key: apiKey, store: await token("store"), viewer: await token("viewer"), secret };
  const found = [...texts.join("\n").matchAll(UUID)].map(([text]) => text).filter((text) => text !== id);
  return { id, ids: [...new Set(found), orderId], bearers };
}

function callOf(name: OperationName, place: { readonly store: string; readonly id?: string }): Call {
  const { path, method } = CONTROL_OPERATIONS[name];
  const at = path.replace("{store_id}", place.store).replace("{id}", place.id ?? "");
  return { path: at, method, body: method === "POST" ? JSON.stringify(BODIES[name] ?? {}) : "" };
}

const IN_STORE = OPERATION_NAMES.filter((name) => CONTROL_OPERATIONS[name].path.includes("{store_id}"));
/** Query fields in which each id is tried, even if an operation has no such field. */
const FIELDS = ["q", "id", "before", "checkout_id", "order_id", "endpoint_id", "event_id", "key"];

/** The credentials of one store at the operations of another, and at its v1 routes. */
async function credentialTries(own: Site, other: Site): Promise<readonly Try[]> {
  const v1 = (await AREAS.find(({ prefix }) => prefix === "/v1/")?.routes()) ?? [];
  const tries: Try[] = [];
  for (const [kind, bearer] of Object.entries(own.bearers)) {
    for (const name of IN_STORE) {
      const call = callOf(name, { store: other.id, id: other.ids[0] ?? "" });
      const allowed = kind === "store" || kind === "viewer" ? [403, 404] : [401];
      tries.push({ name: `${kind} at ${name}`, call, bearer, allowed });
    }
    for (const { methods, path } of v1)
      for (const method of methods)
        for (const id of other.ids) {
          // A key creates in its own store, even if the request names another store.
          if (kind === "key" && method === "POST") continue;
          const body = method === "POST" ? "{}" : "";
          const call = { path: path.replace(/\{\w+\}/, id), method, body };
          tries.push({ name: kind, call, bearer, allowed: kind === "key" ? [400, 404] : [401] });
        }
  }
  return tries;
}

/** The ids of one store in the paths and queries of another: as an object, a cursor, a filter and a search term. */
function idTries(own: Site, other: Site): readonly Try[] {
  const { store: bearer } = own.bearers;
  const fetchPath = `/__sandbox/stores/default/listener/requests?url=${encodeURIComponent(LISTENER_URL)}`;
  const fetch = { path: fetchPath, method: "GET", body: "" };
  const tries: Try[] = [{ name: "fetchDeliveries", call: fetch, bearer, allowed: [200] }];
  for (const name of IN_STORE.filter((one) => !RUNTIME.lacks.has(one)))
    for (const id of other.ids) {
      const call = callOf(name, { store: own.id, id });
      if (CONTROL_OPERATIONS[name].path.includes("{id}"))
        tries.push({ name, call, bearer, allowed: [403, 404] });
      else if (inputKind(name) === "query")
        for (const field of FIELDS) {
          const path = `${call.path}?${new URLSearchParams({ [field]: id }).toString()}`;
          tries.push({ name, call: { ...call, path }, bearer, allowed: [200, 400, 403, 404] });
        }
    }
  const named = ["createStoreSnapshot", "restoreStoreSnapshot", "removeSnapshot"] as const;
  for (const name of HAS_SNAPSHOTS ? named : []) {
    const call = { ...callOf(name, { store: own.id }), body: JSON.stringify({ name: `of-${other.id}` }) };
    tries.push({ name, call, bearer, allowed: name === "createStoreSnapshot" ? [409] : [404] });
  }
  return tries;
}

/** Operations above a role, with and without a store. */
function roleTries({ id, bearers }: Site): readonly Try[] {
  const above = (["viewer", "store"] as const).flatMap((role) =>
    OPERATION_NAMES.flatMap((name) =>
      isPermitted(role, CONTROL_OPERATIONS[name].minRole) ? [] : [[role, name] as const],
    ),
  );
  return above.map(([role, name]) => ({
    name: `${role} at ${name}`,
    call: callOf(name, { store: id, id }),
    bearer: bearers[role],
    allowed: [403],
  }));
}

test("no credential, id, cursor, filter or search term of one store reaches another store, and no caller acts above its role", async () => {
  const { pair, send, sites } = await openPair();
  const [one, two] = sites;
  const tries: (readonly [other: Site, made: Try])[] = [];
  for (const [own, other] of [
    [one, two],
    [two, one],
  ] as const)
    for (const made of [...(await credentialTries(own, other)), ...idTries(own, other), ...roleTries(own)])
      tries.push([other, made]);
  expect(tries.length).toBeGreaterThan(1500);
  const before = contentOf(pair);
  const wrong: unknown[] = [];
  for (const [other, { name, bearer, allowed, call }] of RUNTIME.some(part(tries, 10))) {
    const { status, text } = await send(bearer, call);
    const said = text.replaceAll(/"error":\{.*\}/g, "");
    const shown = [...other.ids, ...Object.values(other.bearers)].filter(
      (secret) => said.includes(secret) && !call.path.includes(secret),
    );
    if (!allowed.includes(status) || shown.length > 0) wrong.push([name, call.path, status, shown]);
  }
  expect(wrong).toEqual([]);
  expect(contentOf(pair)).toEqual(before);
});

/** Rows that a caller of another store could change; no request or delivery of the test changes them. */
function contentOf({ stores, openDatabase }: StorePair): readonly string[] {
  return stores.flatMap(({ id }) => {
    const database = openDatabase(id);
    const rows = ["checkouts", "endpoints", "events", "credentials", "faults", "prices", "stores"].flatMap(
      (table) => database.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
    );
    const tokens = database.prepare("SELECT id, role, expires_at, revoked_at FROM tokens ORDER BY id").all();
    database.close();
    return [...rows, ...tokens].map((row) => JSON.stringify(row));
  });
}
