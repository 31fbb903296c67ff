import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { removePortalKey } from "../../src/core/portal/path.ts";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { startSandbox, type SandboxOptions } from "../../src/testing/testing.ts";
import { SEED, size } from "../support/campaign.ts";
import { createHarness, type FullAnswer, type Harness, type RunningSandbox } from "../support/harness.ts";
import { portalPages } from "../support/portal-addresses.ts";
import { cookieIn, newLink, wirePath, portalHost, portalPathOf, signIn } from "../support/portal-sign-in.ts";
import { tempFolder } from "../support/temp-folder.ts";

const FORM = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };

/** Sends a request to the path that the public sees: neither the path nor the answer is translated. */
function ask(
  sandbox: RunningSandbox,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<FullAnswer> {
  const own = {
    Authorization: "",
    Host: portalHost(sandbox),
    ...(body === undefined ? {} : FORM),
    ...headers,
  };
  return sandbox.request({ path, headers: own, ...(body === undefined ? {} : { body }) });
}

/** A sandbox with one of everything that a page can show, and both roles signed in. */
async function openSite() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const run = async <Value>(line: string): Promise<Value> => {
    const { code, stdout, stderr } = await harness.run([...line.split(" "), "--json"]);
    expect([line, code, stderr]).toEqual([line, 0, expect.anything()]);
    return JSON.parse(stdout) as Value;
  };
  type Made = { readonly data: { readonly id: string } };
  const { id } = (await run<Made>("orders create --order-id order-1 --price-id price_coffee")).data;
  await run("endpoints add http://127.0.0.1:9/hooks");
  await run("faults add status --status 500");
  await run(`sandbox pay ${id} --outcome succeeded`);
  harness.clock.advance(1000);
  const { requests } = await run<{ requests: { request_id: string }[] }>("requests list");
  const first = async (what: string, name: string): Promise<string> => {
    const listed = await run<Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>>(
      `${what} list`,
    );
    return listed[what]?.[0]?.[name] ?? "";
  };
  const { store_id: storeId } = sandbox.ready;
  const ids = {
    store_id: storeId,
    portal: storeId,
    admin: storeId,
    anything: "start",
    checkouts: id,
    requests: requests[0]?.request_id ?? "",
    deliveries: await first("deliveries", "id"),
    endpoints: await first("endpoints", "id"),
    events: await first("events", "event_id"),
  };
  const merchant = await signIn(harness, sandbox, "merchant");
  const administrator = await signIn(harness, sandbox, "administrator");
  return { harness, sandbox, ids, merchant, administrator, path: portalPathOf(sandbox) };
}

const ADDRESS = /\s(href|action|formaction|src|hx-get|hx-post)="([^"]*)"/g;

/** The addresses in the markup of a page of the portal; fails if an address lacks the portal's path. */
function addressesIn(html: string, path: string, from: string): string[] {
  // A value that a form returns to the program has the portal's path without its key.
  const rest = html.replaceAll(path, "").replaceAll(/\svalue="\/portal[^"]*"/g, "");
  expect([from, /["'`(=]\/portal[^"]{0,40}/.exec(rest)?.[0]]).toEqual([from, undefined]);
  return Array.from(html.matchAll(ADDRESS), ([, , address = ""]) => address.replaceAll("&amp;", "&"));
}

test("every address on a page, form or redirect of the portal begins with the portal's path and exists", async () => {
  const { sandbox, ids, merchant, administrator, path } = await openSite();
  const named = new Set<string>();
  const pages = portalPages(PORTAL_AREA.routes, ids);
  const beside = ["/no/such/page", "/clock", "/sign-in", "/admin/no/page"].map((end) => `/portal${end}`);
  for (const address of [...pages.map((page) => page.address), ...beside]) {
    const owner = address.startsWith("/portal/admin") ? administrator : merchant;
    for (const { cookie } of [owner, { cookie: "" }]) {
      const { headers, body } = await ask(sandbox, wirePath(sandbox, address), { Cookie: cookie });
      for (const found of addressesIn(String(body), path, address)) named.add(found);
      const { Location: location = path } = headers;
      expect([address, location.startsWith(path)]).toEqual([address, true]);
      named.add(location);
    }
  }
  const own = [...named].filter((one) => one.startsWith(path));
  expect(own.length).toBeGreaterThan(30);
  const posts = PORTAL_AREA.routes.filter(({ methods }) => methods.includes("POST"));
  for (const address of own) {
    const isAsset = address.startsWith(`${path}/assets/`);
    const { cookie } = address.startsWith(`${path}/admin`) ? administrator : merchant;
    const within = removePortalKey(path, address)?.split(/[?#]/)[0] ?? "";
    const isForm = posts.some(({ path: row }) =>
      new RegExp(`^${row.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(within),
    );
    const { status, body } = await ask(sandbox, address.replace(/#.*/, ""), { Cookie: cookie });
    expect([address, isForm ? [200, 405].includes(status) : [200, 303, 404].includes(status)]).toEqual([
      address,
      true,
    ]);
    // A 404 below the portal's path has the portal's frame; a 404 below a wrong portal path has none.
    if (status === 404)
      expect([address, String(body).includes('<body class="portal')]).toEqual([address, true]);
    if (isAsset && /\.js/.test(address))
      expect([address, String(body).includes("/portal")]).toEqual([address, false]);
  }
  const others = [...named].filter((one) => !one.startsWith(path));
  expect(
    others.filter((one) => !/^(\/assets\/|http:\/\/127\.0\.0\.1:\d+\/pay\/|#|data:,|$)/.test(one)),
  ).toEqual([]);
});

test("the cookie of each role is limited to the role's path, even when it is deleted", async () => {
  const { harness, sandbox, path } = await openSite();
  const { admin_token: token } = JSON.parse(harness.readState("admin.json")) as {
    readonly admin_token: string;
  };
  const code = new URL(await newLink(harness)).hash.slice("#t=".length);
  for (const [home, fields] of [
    [path, { code }],
    [`${path}/admin`, { admin_token: token }],
  ] as const) {
    const begun = await ask(sandbox, `${home}/sign-in`, {}, new URLSearchParams(fields).toString());
    const Cookie = cookieIn(begun);
    const { body } = await ask(sandbox, `${home}/no/page`, { Cookie });
    const formToken = /name="token" value="([^"]+)/.exec(String(body))?.[1] ?? "";
    const ended = await ask(
      sandbox,
      `${home}/sign-out`,
      { Cookie },
      new URLSearchParams({ token: formToken }).toString(),
    );
    for (const { headers } of [begun, ended])
      expect(headers["Set-Cookie"]).toMatch(
        new RegExp(`; Path=${home}; HttpOnly; SameSite=Strict(; Max-Age=0)?$`),
      );
    expect([begun.headers["Location"], ended.headers["Location"]]).toEqual([home, `${home}/sign-in`]);
  }
});

test("a redirect or link to a URL that a browser or tool sent contains the portal's path exactly once", async () => {
  const { harness, sandbox, ids, merchant, path } = await openSite();
  const clock = `/${ids.store_id}/clock?a=1`;
  const { Cookie, token } = { Cookie: merchant.cookie, token: merchant.formToken };
  for (const address of [`/portal${clock}`, path + clock]) {
    const code = new URL(await newLink(harness)).hash.slice("#t=".length);
    const signedIn = new URLSearchParams({ code, to: address }).toString();
    const chosen = new URLSearchParams({ token, back: address }).toString();
    const led = [
      await ask(sandbox, `${path}/sign-in`, {}, signedIn),
      await ask(sandbox, `${path}/preferences`, { Cookie }, chosen),
    ];
    expect(led.map(({ headers }) => headers["Location"])).toEqual([path + clock, path + clock]);
    const Referer = `http://${portalHost(sandbox)}${address}`;
    const refused = new URLSearchParams({ token, action: "jump" }).toString();
    const { status, body } = await ask(
      sandbox,
      `${path}/${ids.store_id}/clock`,
      { Cookie, Referer },
      refused,
    );
    expect([status, String(body).includes(`class="primary" href="${path}${clock}"`)]).toEqual([400, true]);
    const made = await sandbox.request({
      path: "/__sandbox/portal/sign-ins",
      headers: { Authorization: `Bearer ${sandbox.ready.control_token}` },
      body: JSON.stringify({ to: address }),
    });
    const { data } = JSON.parse(String(made.body)) as { readonly data: { readonly sign_in_url: string } };
    expect(new URL(data.sign_in_url).searchParams.get("to")).toBe(`/portal${clock}`);
  }
});

test(`every wrong guess of the portal's path gets the same page (seed ${SEED})`, async () => {
  const { sandbox, ids, merchant, path } = await openSite();
  const key = path.slice("/portal/".length);
  const look = async (target: string, more: Readonly<Record<string, string>> = {}, method = "GET") => {
    const headers = { Authorization: "", Host: portalHost(sandbox), ...more };
    const { status, headers: got, body } = await sandbox.request({ path: target, method, headers });
    const { "X-Request-Id": id, ...told } = got;
    expect([target, id === undefined, `${String(body)}${JSON.stringify(told)}`.includes(key)]).toEqual([
      target,
      false,
      false,
    ]);
    return { status, told, body: String(body) };
  };
  const page = await look("/portal");
  expect([page.status, page.told["Location"], page.told["Set-Cookie"]]).toEqual([404, undefined, undefined]);
  expect(page.body).toContain("checkout open</code>");
  const character = fc.constantFrom(...Array.from("abcXYZ019-_%/.;"));
  const near = fc.oneof(
    fc.tuple(fc.nat(key.length - 1), character).map(([at, to]) => key.slice(0, at) + to + key.slice(at + 1)),
    fc.nat(key.length - 1).map((length) => key.slice(0, length)),
    character.map((more) => key + more),
    fc.constantFrom(
      key.toUpperCase(),
      key.slice(2),
      `%6b${key.slice(1)}`,
      `/${key}`,
      `./${key}x`,
      `x/../${key}`,
    ),
    fc.string({ maxLength: 40, unit: "binary-ascii" }).map((text) => `k-${encodeURIComponent(text)}`),
  );
  const asked = fc.record({
    guess: near.filter((one) => removePortalKey(path, `/portal/${one}`) === undefined),
    rest: fc.constantFrom(
      "",
      "/",
      "/sign-in",
      "/admin",
      `/${ids.store_id}/start`,
      "/assets/portal.css",
      "?to=/portal",
    ),
    method: fc.constantFrom("GET", "HEAD", "POST", "DELETE", "OPTIONS"),
    headers: fc.constantFrom<Readonly<Record<string, string>>>(
      {},
      { Cookie: merchant.cookie },
      { Authorization: `Bearer ${sandbox.ready.control_token}` },
      { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" },
      { "X-Forwarded-Host": "evil.example" },
      { Host: new URL(sandbox.ready.base_url).host },
    ),
  });
  const property = fc.asyncProperty(asked, async ({ guess, rest, method, headers }) => {
    expect(await look(`/portal/${guess}${rest}`, headers, method)).toEqual(page);
  });
  await fc.assert(property, { seed: SEED, numRuns: size(200, 20_000) });
  for (const old of [`/${ids.store_id}/start`, "/sign-in", "/admin", "/", "/assets/portal.js", "s", ".html"])
    expect([old, await look(`/portal${old}`)]).toEqual([old, page]);
  const chinese = await look("/portal/x", { "Accept-Language": "zh-CN" });
  expect(chinese).toEqual(await look(`/portal/${key}x`, { "Accept-Language": "zh-CN" }));
  expect(chinese.body).toContain("checkout open</code>");
  for (const target of ["/", "/healthz", "/v1/x", "/pay/x", "/nothing", "/__sandbox/openapi.json"])
    await look(target);
  await look(`/portal/${key.slice(0, -1)}`, { Host: "evil.example" });
});

/** Starts and stops a sandbox; returns the path of its portal. */
async function pathOf(harness: Harness, args: readonly string[], cwd?: string): Promise<string> {
  const sandbox = await harness.start(args, cwd === undefined ? {} : { cwd });
  const { ready } = sandbox;
  expect(new URL(ready.sign_in_url ?? "").pathname).toBe(`${portalPathOf({ ready })}/sign-in`);
  await sandbox.stop();
  return portalPathOf({ ready });
}

test("the portal's path stays with the state folder, and an adopted copy gets another path", async () => {
  const harness = createHarness();
  const first = await pathOf(harness, []);
  expect(first).toMatch(/^\/portal\/k-[\w-]{22}$/);
  expect(await pathOf(harness, ["--port", "4300"])).toBe(first);
  const copied = tempFolder();
  cpSync(join(harness.cwd, ".checkout"), join(copied, ".checkout"), { recursive: true });
  expect(await pathOf(harness, [], copied)).toBe(first);
  const adopted = await pathOf(harness, ["--adopt"], copied);
  expect(adopted).not.toBe(first);
  expect(await pathOf(harness, [], copied)).toBe(adopted);
  expect(await pathOf(harness, [])).toBe(first);
  expect(await pathOf(harness, [], tempFolder())).not.toBe(first);
  const inMemory = [await pathOf(harness, ["--ephemeral"]), await pathOf(harness, ["--ephemeral"])];
  expect(new Set([...inMemory, first, adopted]).size).toBe(4);
});

test("in-memory sandboxes with the same seed have the same portal path", async () => {
  const pathFrom = async (options: SandboxOptions): Promise<string> => {
    const sandbox = await startSandbox(options);
    const answer = await sandbox.fetch(`${sandbox.origin}/__sandbox/sandbox`, {
      headers: { authorization: `Bearer ${sandbox.controlToken}` },
    });
    await sandbox.close();
    const { data } = (await answer.json()) as { readonly data: { readonly portal_url: string } };
    return new URL(data.portal_url).pathname;
  };
  const [one, again, other] = [
    await pathFrom({ seed: "a" }),
    await pathFrom({ seed: "a" }),
    await pathFrom({ seed: "b" }),
  ];
  expect([again, other === one]).toEqual([one, false]);
  const [real, next] = [await pathFrom({ port: null }), await pathFrom({ port: null })];
  expect(new Set([one, other, real, next]).size).toBe(4);
});

test("the portal's path is in no log, command-line argument or unrelated file or output", async () => {
  const { harness, sandbox, ids, merchant, path } = await openSite();
  const key = path.slice("/portal/k-".length);
  const where = `http://${portalHost(sandbox)}${path}`;
  for (const address of ["", "/sign-in", `/${ids.store_id}/checkouts`, "/no/page"])
    await ask(sandbox, path + address, { Cookie: merchant.cookie });
  const referred = {
    Referer: where,
    Cookie: `last=${path}`,
    "User-Agent": `x ${path}`,
    Authorization: `Bearer ${path}`,
  };
  for (const target of [
    "/Portal",
    "//portal",
    "/v1/portal",
    "/pay/portal",
    "/assets/portal",
    "/__sandbox/portal",
  ].map((begin) => path.replace("/portal", begin)))
    await sandbox.request({ path: `${target}?a=${path}`, headers: referred });
  const own = {
    Authorization: `Bearer ${sandbox.ready.api_key ?? ""}`,
    "Idempotency-Key": "a-key-of-its-own",
  };
  await sandbox.request({ path: "/v1/orders", body: "{}", headers: { ...referred, ...own } });
  const lines = [
    "open",
    "open order-1",
    "sandbox status",
    "sandbox status --json",
    "doctor",
    "config export",
    "requests list",
    "requests list --json",
  ];
  const more = [
    "snapshots create one",
    "stores list",
    "whoami",
    "portal sign-out",
    "sandbox reset --yes",
    "events list",
  ];
  for (const line of [...lines, ...more]) {
    const { stdout, stderr } = await harness.run(line.split(" "));
    expect([line, `${stdout}${stderr}`.includes(key)]).toEqual([line, false]);
  }
  expect([harness.opened.length, harness.opened.join().includes(key)]).toEqual([2, false]);
  expect(await newLink(harness)).toContain(key);
  const { stdout, stderr } = await sandbox.stop();
  expect([stderr.includes(key), stdout.slice(stdout.indexOf("\n")).includes(key)]).toEqual([false, false]);
  expect(stderr).toContain("/Portal/…");
  const folder = join(harness.cwd, ".checkout");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const holders = files.filter((file) => readFileSync(join(file.parentPath, file.name)).includes(key));
  expect(holders.map(({ name }) => name)).toEqual(["sign-in.html"]);
});
