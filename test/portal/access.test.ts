import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { createHarness } from "../support/harness.ts";
import { load, portalHost, postForm, signIn } from "../support/portal-sign-in.ts";

const PUBLIC = "anyone";

/** A sandbox with both roles signed in, and every row of the portal's table with an address that matches it. */
async function openSite(args: readonly string[] = []) {
  const harness = createHarness();
  const sandbox = await harness.start(args);
  const { id } = await harness.order("order-1");
  const merchant = await signIn(harness, sandbox, "merchant");
  const administrator = await signIn(harness, sandbox, "administrator");
  const values: Readonly<Record<string, string>> = {
    store_id: sandbox.ready.store_id,
    id,
    anything: "order-1",
  };
  const rows = PORTAL_AREA.routes.map(({ methods, path, role, ...row }) => ({
    isOwnPagesOnly: "isOwnPagesOnly" in row,
    method: methods[0] ?? "",
    path,
    role,
    address: path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? id),
  }));
  const database = join(harness.cwd, ".checkout", "sandbox.db");
  return { harness, sandbox, rows, merchant, administrator, stored: () => allRows(database) };
}

type Row = Awaited<ReturnType<typeof openSite>>["rows"][number];

/** Tables that a read may write to: the records of assumptions, and the mark of their commit. */
const OWN_RECORDS = new Set<unknown>(["assumption_uses", "log_mark"]);

/** The rows of all other tables of a database, as text. */
function allRows(path: string): string {
  const database = new Database(path, { readonly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
    const names = tables.filter((name) => !OWN_RECORDS.has(name));
    const select = (name: unknown) =>
      database
        .prepare(`SELECT * FROM "${String(name)}"`)
        .raw()
        .all();
    return JSON.stringify([names, names.map(select)]);
  } finally {
    database.close();
  }
}

const isAdmin = (path: string): boolean => /^\/portal\/admin(\/|$)/.test(path);

test("every route of the portal requires the role of its path, and only sign-in and assets are public", async () => {
  const { rows } = await openSite();
  const wrong = rows.filter(({ path, role }) => {
    const own = isAdmin(path) ? "portal administrator" : "portal merchant";
    return role !== PUBLIC && role !== own;
  });
  expect(wrong).toEqual([]);
  const open = rows.filter(({ role }) => role === PUBLIC).map(({ method, path }) => `${method} ${path}`);
  // A new public route must be listed here.
  expect(open.filter((row) => !row.startsWith("GET /portal/assets/"))).toEqual([
    "GET /portal/sign-in",
    "GET /portal/admin/sign-in",
    "POST /portal/sign-in",
    "POST /portal/admin/sign-in",
  ]);
});

test("a route of the portal answers only the cookie of its role; other credentials get a 401 and change nothing", async () => {
  const { sandbox, rows, merchant, administrator, stored } = await openSite();
  const keys = {
    nobody: {},
    merchant: { Cookie: merchant.cookie },
    administrator: { Cookie: administrator.cookie },
    "a merchant whose cookie has the administrator's name": {
      Cookie: `${administrator.cookie.split("=")[0] ?? ""}=${merchant.cookie.split("=")[1] ?? ""}`,
    },
    "an administrator whose cookie has the merchant's name": {
      Cookie: `${merchant.cookie.split("=")[0] ?? ""}=${administrator.cookie.split("=")[1] ?? ""}`,
    },
    "an API key": { Authorization: `Bearer ${sandbox.ready.api_key ?? ""}` },
    "the control token": { Authorization: `Bearer ${sandbox.ready.control_token}` },
  };
  const before = stored();
  const send = ({ method, address }: Row, headers: Readonly<Record<string, string>>) =>
    method === "POST"
      ? postForm(sandbox, address, { token: merchant.formToken }, headers)
      : load(sandbox, address, headers);
  for (const row of rows.filter(({ role }) => role !== PUBLIC)) {
    for (const [who, headers] of Object.entries(keys)) {
      if (row.role === `portal ${who}`) continue;
      const { status, body, headers: got } = await send(row, headers);
      // RFC 9110, section 15.5.2: a 401 needs a challenge. For this scheme no browser asks for a password by itself.
      expect([row.path, got["WWW-Authenticate"]]).toEqual([
        row.path,
        expect.stringMatching(/^Cookie realm="/),
      ]);
      const hasForm = String(body).includes('id="sign-in"');
      expect([row.method, row.path, who, status, hasForm]).toEqual([row.method, row.path, who, 401, true]);
    }
  }
  for (const row of rows.filter(({ role, method }) => role === "portal merchant" && method === "GET")) {
    const { status } = await load(sandbox, row.address, keys.merchant);
    expect([row.path, [200, 303, 400, 404].includes(status)]).toEqual([row.path, true]);
  }
  expect(stored()).toBe(before);
});

test("a form without its session's token, from another origin, or sent as JSON or text is refused and changes nothing", async () => {
  const { sandbox, rows, merchant, administrator, stored } = await openSite();
  const before = stored();
  const origin = `http://${portalHost(sandbox)}`;
  const posts = rows.filter(({ method, role }) => method === "POST" && role !== PUBLIC);
  expect(posts.length).toBeGreaterThan(4);
  for (const { path, address, role } of posts) {
    const own = role === "portal administrator" ? administrator : merchant;
    const other = role === "portal administrator" ? merchant : administrator;
    const good = { token: own.formToken };
    const sent: readonly (readonly [string, Readonly<Record<string, string>>, Record<string, string>])[] = [
      ["no token", {}, {}],
      ["another session's token", { token: other.formToken }, {}],
      ["from another port", good, { "Sec-Fetch-Site": "same-site", Origin: "http://localhost:3000" }],
      ["from another site", good, { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }],
      ["led there", good, { "Sec-Fetch-Site": "none", Origin: origin }],
      ["JSON", good, { "Content-Type": "application/json" }],
      ["text", good, { "Content-Type": "text/plain" }],
    ];
    for (const [why, fields, headers] of sent) {
      const { status } = await postForm(sandbox, address, fields, { Cookie: own.cookie, ...headers });
      const expected = /^(JSON|text)$/.test(why) ? 400 : 403;
      expect([path, why, status]).toEqual([path, why, expected]);
    }
  }
  expect(stored()).toBe(before);
});

test("a form that is submitted twice acts once, and both answers lead to the same page", async () => {
  const { sandbox, merchant, stored } = await openSite();
  const home = `/portal/${sandbox.ready.store_id}`;
  const tokenOf = async (path: string): Promise<string> => {
    const { body } = await load(sandbox, path, { Cookie: merchant.cookie });
    return /<main.*?name="token" value="([^"]+)"/s.exec(String(body))?.[1] ?? "";
  };
  const send = async (path: string, fields: Readonly<Record<string, string>>) => {
    const { status, headers } = await postForm(sandbox, path, fields, { Cookie: merchant.cookie });
    return `${status} ${headers["Location"]}`;
  };
  const forms = [
    ["/clock", "/clock", { action: "advance", by: "1h" }],
    ["/connect", "/connect/key", {}],
    ["/faults", "/faults", { action: "delay", delay: "1s" }],
    ["/stores", "/stores", { name: "Twin" }],
  ] as const;
  for (const [from, to, fields] of forms) {
    const token = await tokenOf(home + from);
    const clicked = { ...fields, token };
    const [first, second] = await Promise.all([send(home + to, clicked), send(home + to, clicked)]);
    expect([to, first.startsWith("303 /portal/"), second]).toEqual([to, true, first]);
    const done = stored();
    expect([to, await send(home + to, clicked)]).toEqual([to, first]);
    expect([to, stored() === done]).toEqual([to, true]);
    // The same form of a page that is loaded again is another action.
    const meant = await send(home + to, { ...fields, token: await tokenOf(home + from) });
    expect([to, meant.slice(0, 3), stored() === done]).toEqual([to, "303", false]);
  }
  // A refused action can be tried again; another form of the page is another action, and tokens of other sessions are
  // refused.
  const token = await tokenOf(`${home}/clock`);
  const refused = { action: "advance", by: "soon", token };
  expect((await send(`${home}/clock`, refused)).slice(0, 3)).toBe("400");
  expect((await send(`${home}/clock`, refused)).slice(0, 3)).toBe("400");
  expect((await send(`${home}/clock`, { action: "advance", by: "2h", token })).slice(0, 3)).toBe("303");
  const forged = { action: "freeze", token: `x.${token.split(".")[1]}` };
  expect((await send(`${home}/clock`, forged)).slice(0, 3)).toBe("403");
});

test("another site can link to most pages of the portal, but cannot load or embed any of them", async () => {
  const { sandbox, rows, merchant, administrator, stored } = await openSite();
  const before = stored();
  const reads = rows.filter(({ method }) => method === "GET");
  const from = (site: string, mode: string, destination: string) => ({
    "Sec-Fetch-Site": site,
    "Sec-Fetch-Mode": mode,
    "Sec-Fetch-Dest": destination,
  });
  for (const { path, address, role, isOwnPagesOnly } of reads) {
    const { cookie } = role === "portal administrator" ? administrator : merchant;
    for (const site of ["cross-site", "same-site"]) {
      for (const [mode, destination] of [
        ["no-cors", "script"],
        ["no-cors", "image"],
        ["cors", "empty"],
        ["navigate", "iframe"],
        ["navigate", "embed"],
        ["websocket", "websocket"],
      ] as const) {
        const answer = await load(sandbox, address, { Cookie: cookie, ...from(site, mode, destination) });
        const shown = [path, site, mode, destination];
        expect([...shown, answer.status]).toEqual([...shown, 403]);
        expect(String(answer.body)).not.toContain("price_coffee");
      }
      const led = await load(sandbox, address, { Cookie: cookie, ...from(site, "navigate", "document") });
      expect([path, site, led.status === 403]).toEqual([path, site, isOwnPagesOnly]);
    }
  }
  expect(stored()).toBe(before);
});

test("an alternative spelling of a portal path does not open pages of another role, and changes nothing", async () => {
  const { sandbox, merchant, administrator, stored } = await openSite();
  const before = stored();
  const store = sandbox.ready.store_id;
  const paths = [
    "/portal/%61dmin",
    "/portal/%61dmin/stores",
    "/portal//admin",
    "/portal/admin%2Fstores",
    "/portal/./admin",
    "/portal/x/../admin",
    "/portal/ADMIN",
    "/PORTAL/admin",
    "/portal%2Fadmin",
    "/portal\\admin",
    "/portal;/admin",
    `/portal/${store}/../admin`,
    `/portal/${store}/%63lock`,
    `/portal/${store}/clock/`,
    `/portal/${store}/clock%00`,
    `/portal/${store}//clock`,
    `/portal/${store.toUpperCase()}/clock`,
    "/portal/sign-in/",
    "/portal/assets/../start",
    "/portals",
    "/portal.html",
  ];
  for (const path of paths) {
    for (const { cookie, formToken } of [merchant, administrator]) {
      const fields = { token: formToken, action: "freeze" };
      const posted = await postForm(sandbox, path, fields, { Cookie: cookie });
      expect([path, posted.status >= 400]).toEqual([path, true]);
      const { status, headers, body } = await load(sandbox, path, { Cookie: cookie });
      const leads = headers["Location"] ?? "";
      // An unknown page may be searched for as an id in the merchant's own store.
      const isSafe = status >= 400 || leads.startsWith(`/portal/${store}/`);
      expect([path, status, leads, isSafe]).toEqual([path, status, leads, true]);
      expect(String(body)).not.toContain(`action="/portal/${store}/clock"`);
    }
  }
  expect(stored()).toBe(before);
});

test("under another loopback name, a portal page redirects to the portal's host; every other request is refused and changes nothing", async () => {
  const { sandbox, rows, merchant, stored } = await openSite();
  const before = stored();
  const { port } = new URL(sandbox.ready.base_url);
  for (const name of ["127.0.0.1", "[::1]"]) {
    const Host = `${name}:${port}`;
    for (const { method, path, address } of rows) {
      if (method === "GET") {
        const { status, headers } = await load(sandbox, address, { Host, Cookie: merchant.cookie });
        expect([path, status, headers["Location"]]).toEqual([
          path,
          307,
          `http://localhost:${port}${address}`,
        ]);
        const program = await load(sandbox, address, { Host, "Sec-Fetch-Mode": "cors" });
        expect([path, program.status]).toEqual([path, 403]);
      } else {
        const { status, headers, body } = await postForm(sandbox, address, {}, { Host });
        const told = [
          status,
          headers["Content-Type"],
          String(body).includes(`http://localhost:${port}/portal`),
        ];
        expect([path, ...told]).toEqual([path, 403, "text/html; charset=utf-8", true]);
      }
    }
  }
  for (const Host of [
    "evil.example",
    `evil.example:${port}`,
    "localhost",
    `localhost.evil.example:${port}`,
  ]) {
    expect([Host, (await load(sandbox, "/portal", { Host })).status]).toEqual([Host, 403]);
  }
  expect(stored()).toBe(before);
});

test("the sandbox's root page shows the command that opens the portal, but no link; without a portal, it shows neither", async () => {
  const named = ["--public-url", "https://pay.example", "--portal-url", "https://portal.example"];
  for (const [args, hasPortal] of [
    [[], true],
    [named, true],
    [named.slice(0, 2), false],
  ] as const) {
    const sandbox = await createHarness().start(args);
    const { status, body } = await sandbox.request({ path: "/" });
    const told = [status, String(body).includes("checkout open</code>"), String(body).includes("/portal")];
    expect([args, ...told]).toEqual([args, 200, hasPortal, false]);
  }
});

test("a sandbox with a public URL serves the portal only under another host name", async () => {
  const off = createHarness();
  const without = await off.start(["--public-url", "https://pay.example"]);
  expect(without.ready).toMatchObject({ portal_url: null, sign_in_url: null });
  const { port } = new URL(without.ready.base_url);
  for (const Host of [`localhost:${port}`, `127.0.0.1:${port}`, "pay.example"]) {
    for (const path of ["/portal", "/portal/sign-in", "/portal/admin", "/portal/assets/portal.css"]) {
      expect([Host, path, (await load(without, path, { Host })).status]).toEqual([Host, path, 404]);
    }
  }
  const refused = await off.run(["open", "--print"]);
  expect([refused.code, refused.stderr.includes("--portal-url")]).toEqual([5, true]);

  const on = createHarness();
  const both = ["--public-url", "https://pay.example", "--portal-url", "https://portal.example"];
  const sandbox = await on.start(both);
  expect(sandbox.ready.portal_url).toMatch(/^https:\/\/portal\.example\/portal\/k-[\w-]{22}$/);
  expect(sandbox.ready.sign_in_url).toContain(`${sandbox.ready.portal_url}/sign-in#t=`);
  const begun = await postForm(
    sandbox,
    "/portal/sign-in",
    { code: new URL(sandbox.ready.sign_in_url ?? "").hash.slice(3) },
    { Host: "portal.example", Origin: "https://portal.example" },
  );
  expect([begun.status, begun.headers["Set-Cookie"]]).toEqual([
    303,
    expect.stringMatching(/; Path=\/portal; HttpOnly; SameSite=Strict; Secure$/),
  ]);
  expect((await load(sandbox, "/portal/sign-in", { Host: "pay.example" })).status).toBe(403);
  const page = await load(sandbox, "/portal/sign-in", { Host: "portal.example" });
  const assets = [...String(page.body).matchAll(/(?:href|src)="([^"]*\.(?:css|js)[^"]*)"/g)];
  expect(assets.length).toBeGreaterThan(1);
  for (const [, path = ""] of assets)
    for (const Host of ["portal.example", path.startsWith("/assets/") ? "pay.example" : "portal.example"])
      expect([Host, path, (await load(sandbox, path, { Host })).status]).toEqual([Host, path, 200]);
  const { status } = await sandbox.request({ path: "/pay/x", headers: { Host: "portal.example" } });
  expect(status).toBe(403);
  for (const shared of ["https://pay.example", "http://pay.example:8080"]) {
    const args = [
      "sandbox",
      "start",
      "--ephemeral",
      "--public-url",
      "https://pay.example",
      "--portal-url",
      shared,
    ];
    expect((await on.run(args)).code).toBe(2);
  }
});

test("behind a proxy that rewrites Host, access depends on the host name that the browser requested", async () => {
  const both = ["--public-url", "https://pay.example", "--portal-url", "https://portal.example"];
  for (const [args, names] of [
    [[], []],
    [both, ["portal.example", "portal.example:443", "PORTAL.example"]],
  ] as const) {
    const { sandbox, rows, merchant, stored } = await openSite(args);
    const port = new URL(sandbox.ready.base_url).port;
    const own = { Host: `localhost:${port}`, Cookie: merchant.cookie };
    const before = stored();
    const foreign = [
      ...["pay.example", "tunnel.example", `localhost:${port}, pay.example`, ""].map(xForwarded),
      ...[
        "host=pay.example",
        "for=192.0.2.1;HOST=tunnel.example;proto=https",
        'host="p\\ay.example:443"',
      ].map(forwarded),
      ...[`host="localhost:${port}", for=x;host=pay.example`, 'host="pay.example', "host=a b", "host="].map(
        forwarded,
      ),
      { ...xForwarded(`localhost:${port}`), ...forwarded("host=pay.example") },
    ];
    for (const [at, name] of foreign.entries()) {
      // Names in Forwarded are handled in the same way, so a few routes are enough.
      for (const { method, address } of at < 4 ? rows : rows.slice(0, 6)) {
        const headers = { ...own, ...name };
        const answer =
          method === "GET"
            ? await load(sandbox, address, headers)
            : await postForm(sandbox, address, { token: merchant.formToken }, headers);
        // There is no redirect, because a stranger's browser has its own localhost.
        const { status, headers: got } = answer;
        expect([name, address, status, got["Location"], got["Set-Cookie"]]).toEqual([
          name,
          address,
          403,
          undefined,
          undefined,
        ]);
      }
    }
    const known = [`localhost:${port}`, ...names];
    const quoted = known.map((name) => forwarded(`for="[2001:db8::1]:4711" ; Host="${name}";proto=http`));
    const hostless = ["for=192.0.2.1", "", " , for=x;by=y,"].map(forwarded);
    for (const name of [...known.map(xForwarded), ...quoted, ...hostless]) {
      const { status } = await load(sandbox, "/portal/sign-in", { ...own, ...name });
      expect([name, status]).toEqual([name, 200]);
    }
    expect(stored()).toBe(before);
  }
});

function xForwarded(value: string): Record<string, string> {
  return { "X-Forwarded-Host": value };
}

function forwarded(value: string): Record<string, string> {
  return { Forwarded: value };
}
