import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { AREAS, areaOf } from "../../src/sandbox/areas.ts";
import type { Route } from "../../src/web/router.ts";
import type { HttpBody } from "../../src/world.ts";
import { createHarness } from "../support/harness.ts";
import { wirePath, portalHost, signIn } from "../support/portal-sign-in.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const SCOPES = new Set(["orders:write", "checkout_sessions:write", "checkout_sessions:read"]);
const FORM = "application/x-www-form-urlencoded";

const ALLOWED = ["--allow-host", "shop.example", "--allow-control-host", "ops.example:8443"];

/** A route of the server, with an address that matches it. */
type Way = Route & { readonly prefix: string; readonly address: string };

/** Signing in to the portal, and the rights of each role there, are tested in `portal/access.test.ts`. */
const isPortals = ({ prefix }: Way): boolean => prefix === "/portal";

type Sent = { readonly method?: string; readonly body?: string; readonly hosts?: readonly string[] };

/** A sandbox with an order in payment, its routes and its credentials. */
async function openSite(args: readonly string[] = []) {
  const harness = createHarness();
  const sandbox = await harness.start(args);
  const { id } = await harness.order("order-1");
  await harness.run(["sandbox", "pay", id, "--outcome", "declined"]);
  await harness.run(["return-origins", "add", "http://localhost:3000"]);
  const values: Readonly<Record<string, string>> = {
    checkout_id: id,
    session_id: id,
    id,
    attempt: "1",
    store_id: "default",
  };
  const tables = await Promise.all(
    AREAS.map(async ({ prefix, routes }) => (await routes()).map((route) => wayOf(prefix, route))),
  );
  const ways = tables.flat();
  function wayOf(prefix: string, { methods, path, role }: Route): Way {
    // Only the control API has a name for the first store.
    const known = prefix === "/portal" ? { ...values, store_id: sandbox.ready.store_id } : values;
    const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => known[name] ?? `no-${name}`);
    return { prefix, methods, path, role, address };
  }
  const tokens = {
    none: undefined,
    merchant: sandbox.ready.api_key ?? "",
    control: (JSON.parse(harness.readState("run.json")) as { control_token: string }).control_token,
    administrator: (JSON.parse(harness.readState("admin.json")) as { admin_token: string }).admin_token,
  };
  const merchant = await signIn(harness, sandbox, "merchant");
  const administrator = await signIn(harness, sandbox, "administrator");
  const service = harness.programOn(Number(new URL(sandbox.ready.base_url).port));
  if (service === undefined) throw new Error("the sandbox does not run");
  const ask = (way: Way, headers: Readonly<Record<string, string>>, call: Sent = {}) => {
    const { method = way.methods[0] ?? "", body = "" } = call;
    const portals = isPortals(way) ? { Cookie: `${merchant.cookie}; ${administrator.cookie}` } : {};
    const origin = isPortals(way)
      ? `http://${portalHost(sandbox)}`
      : way.role === "payer"
        ? sandbox.ready.checkout_origin
        : sandbox.ready.base_url;
    const { hosts = [new URL(origin).host] } = call;
    const type = way.role === "payer" && method === "POST" ? { "Content-Type": FORM } : {};
    return service.answer({
      method,
      target: wirePath(sandbox, way.address),
      rawHeaders: [
        ...hosts.flatMap((host) => ["Host", host]),
        ...Object.entries({ ...type, ...portals, ...headers }).flat(),
      ],
      body: Buffer.from(body),
    });
  };
  /** Waits until the writes that follow the answers are done. */
  const settle = async (): Promise<void> => {
    expect((await harness.run(["assumptions", "--json"])).code).toBe(0);
  };
  const rows = (leftOut?: string): string => allRows(join(harness.cwd, ".checkout", "sandbox.db"), leftOut);
  return { ways, tokens, ask, settle, rows };
}

/** All rows of a database as text; with `leftOut`, without this table and the log's mark. */
function allRows(path: string, leftOut?: string): string {
  const database = new Database(path, { readonly: true });
  try {
    const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    // Every commit changes the log's mark.
    const shown =
      leftOut === undefined ? names : names.filter((name) => name !== leftOut && name !== "log_mark");
    const rows = shown.map((name) =>
      database
        .prepare(`SELECT * FROM "${String(name)}"`)
        .raw()
        .all(),
    );
    return JSON.stringify([names, rows]);
  } finally {
    database.close();
  }
}

function codeOf(text: HttpBody): string | undefined {
  if (typeof text !== "string") return undefined;
  return text.startsWith("{")
    ? (JSON.parse(text) as { error?: { code: string } }).error?.code
    : /<p class="notice warn"/.exec(text)?.[0] && "page";
}

function tokenFor({ role }: Way, tokens: Readonly<Record<string, string | undefined>>): string | undefined {
  return SCOPES.has(role) ? tokens["merchant"] : tokens[role];
}

function bearer(token: string | undefined): Readonly<Record<string, string>> {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

test("every route is in one area, under the area's prefix, and has a known role", async () => {
  const { ways } = await openSite();
  expect(ways.length).toBeGreaterThan(40);
  const roles = new Set([
    ...SCOPES,
    "control",
    "administrator",
    "payer",
    "anyone",
    "portal merchant",
    "portal administrator",
  ]);
  const strays = ways.filter(
    ({ prefix, address, role }) => areaOf({ target: address }).prefix !== prefix || !roles.has(role),
  );
  // Both prefixes of the payment pages lead to one table of routes.
  const isPage = ({ address }: Way): boolean => /^\/(pay|assets)\//.test(address);
  expect(strays.filter((way) => !isPage(way))).toEqual([]);
  const names = ways.filter((way) => !isPage(way)).map(({ methods, path }) => `${methods.join()} ${path}`);
  expect(new Set(names).size).toBe(names.length);
});

test("every path refuses other methods, and lists the methods that it accepts", async () => {
  const { ways, tokens, ask } = await openSite();
  for (const way of ways) {
    const allowed = ways
      .filter(({ path, prefix }) => path === way.path && prefix === way.prefix)
      .flatMap(({ methods }) => methods)
      .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    const named = [...new Set(allowed), "OPTIONS"].join(", ");
    for (const method of METHODS.filter((one) => !allowed.includes(one))) {
      const { status, headers, body } = await ask(way, bearer(tokenFor(way, tokens)), { method });
      const isAsked = method === "OPTIONS";
      const got = [method, way.path, status, headers["Allow"], isAsked ? body : ""];
      expect(got).toEqual([method, way.path, isAsked ? 200 : 405, named, ""]);
    }
  }
});

test("a credential is refused at every route of another role, and nothing is written", async () => {
  const { ways, tokens, ask, rows } = await openSite();
  const before = rows();
  const closed = ways.filter((way) => !isPortals(way) && way.role !== "payer" && way.role !== "anyone");
  expect(closed.length).toBeGreaterThan(30);
  for (const way of closed) {
    for (const [who, token] of Object.entries(tokens)) {
      if (token === tokenFor(way, tokens)) continue;
      const { status, body } = await ask(way, bearer(token));
      const isOtherRole = !SCOPES.has(way.role) && (who === "control" || who === "administrator");
      const expected = isOtherRole
        ? [403, "scope_missing"]
        : [401, who === "none" ? "credential_missing" : "credential_invalid"];
      expect([way.path, who, status, codeOf(body)]).toEqual([way.path, who, ...expected]);
    }
  }
  expect(rows()).toBe(before);
});

test("a page of another site cannot reach a protected route or send a form", async () => {
  const { ways, tokens, ask, settle, rows } = await openSite();
  // A foreign page with the merchant's key gets a refusal that is recorded like any other.
  const noted = "assumption_uses";
  const before = rows(noted);
  const origins = ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:1"];
  for (const way of ways.filter((one) => !isPortals(one))) {
    for (const origin of origins) {
      const headers = { ...bearer(tokenFor(way, tokens)), Origin: origin };
      const writes = way.role === "payer" && way.methods.includes("POST");
      const call = writes ? { method: "POST", body: "outcome=succeeded" } : {};
      const { status, headers: answered, body } = await ask(way, headers, call);
      expect(Object.keys(answered).filter((name) => /^access-control/i.test(name))).toEqual([]);
      const isOpen = way.role === "anyone" || (way.role === "payer" && !writes);
      const expected = isOpen ? [200] : [403, writes ? "page" : "origin_not_allowed"];
      expect([way.path, origin, status, ...(isOpen ? [] : [codeOf(body)])]).toEqual([
        way.path,
        origin,
        ...expected,
      ]);
    }
  }
  await settle();
  expect(rows(noted)).toBe(before);
});

test("a public GET writes nothing, whatever site sends it", async () => {
  const { ways, ask, rows, settle } = await openSite();
  const before = rows();
  const open = ways.filter(
    (way) => !isPortals(way) && /^(payer|anyone)$/.test(way.role) && way.methods.includes("GET"),
  );
  expect(open.length).toBeGreaterThan(4);
  for (const way of open) {
    for (const site of ["cross-site", "same-site", "same-origin", "none", undefined]) {
      const headers = site === undefined ? {} : { "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors" };
      expect([way.path, site, (await ask(way, headers)).status]).toEqual([way.path, site, 200]);
    }
  }
  await settle();
  expect(rows()).toBe(before);
});

test("a request with a foreign Host is refused on every route", async () => {
  const { ways, tokens, ask, rows } = await openSite();
  const before = rows();
  for (const way of ways) {
    for (const host of ["evil.example", "127.0.0.1:1", "localhost.evil.example:4242", ""]) {
      const { status } = await ask(way, bearer(tokenFor(way, tokens)), { hosts: [host] });
      expect([way.path, host, status]).toEqual([way.path, host, 403]);
    }
  }
  expect(rows()).toBe(before);
});

test("a request with no Host or several Hosts gets 400 on every route", async () => {
  const { ways, tokens, ask, rows } = await openSite();
  const before = rows();
  const own = "127.0.0.1:4242";
  for (const way of ways) {
    for (const hosts of [[], [own, own], [own, "evil.example"], ["evil.example", own], [own, "", ""]]) {
      const { status, body } = await ask(way, bearer(tokenFor(way, tokens)), { hosts });
      expect([way.path, hosts, status, codeOf(body)]).toEqual([way.path, hosts, 400, "invalid_request"]);
    }
  }
  expect(rows()).toBe(before);
});

test("an allowed host name opens only its area: v1 and the pages, or the control API", async () => {
  const { ways, tokens, ask } = await openSite(ALLOWED);
  const isControl = ({ path }: Way): boolean => path.startsWith("/__sandbox/");
  expect(ways.filter(isControl).length).toBeGreaterThan(20);
  for (const way of ways.filter((one) => !isPortals(one))) {
    const token = bearer(tokenFor(way, tokens));
    for (const [host, opens] of [
      ["shop.example", !isControl(way)],
      ["SHOP.EXAMPLE:4242", !isControl(way)],
      ["ops.example:8443", isControl(way)],
      ["ops.example", false],
      ["127.0.0.1:4242", true],
    ] as const) {
      const { body } = await ask(way, token, { hosts: [host], method: "DELETE" });
      const isOpen = codeOf(body) !== "host_not_allowed";
      expect([way.path, host, isOpen]).toEqual([way.path, host, opens]);
    }
  }
});
