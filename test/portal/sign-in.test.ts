import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { CHECKLIST_ITEMS } from "../../src/core/readiness/names.ts";
import { english } from "../../src/core/language.ts";
import { PORTAL_AREA } from "../../src/sandbox/pages/portal/portal.ts";
import { FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { SHARED_TEXTS } from "../../src/sandbox/pages/shared/texts.ts";
import { storageFailure } from "../../src/store/connection/storage-failure.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { REAL } from "../support/real.ts";
import { createHarness } from "../support/harness.ts";
import {
  askPortal,
  codeOf,
  cookieIn,
  load,
  newLink,
  portalHost,
  postForm,
  signIn,
} from "../support/portal-sign-in.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TERMS = ["--amount-minor", "1", "--currency", "EUR", "--payment-method", "alipay_plus"];
const MINUTE_MS = 60_000;
const SIGN_IN = "/portal/sign-in";

async function openPortal(args: readonly string[] = []) {
  const harness = createHarness();
  const sandbox = await harness.start(args);
  const enter = (code: string, more: Readonly<Record<string, string>> = {}) =>
    postForm(sandbox, SIGN_IN, { code, ...more });
  const home = `/portal/${sandbox.ready.store_id}`;
  return { harness, sandbox, enter, home };
}

test("a sign-in link works for one browser, once, within ten minutes", async () => {
  const { harness, sandbox, enter, home } = await openPortal();
  const code = codeOf(sandbox.ready.sign_in_url);
  const begun = await enter(code, { to: `${home}/clock?a=1` });
  expect([begun.status, begun.headers["Location"]]).toEqual([303, `${home}/clock?a=1`]);
  const port = new URL(sandbox.ready.base_url).port;
  expect(begun.headers["Set-Cookie"]).toMatch(
    new RegExp(`^checkout_portal_${port}=[0-9a-f-]{36}; Path=/portal; HttpOnly; SameSite=Strict$`),
  );
  const shown = await load(sandbox, `${home}/clock`, { Cookie: cookieIn(begun) });
  expect([shown.status, String(shown.body).includes(`action="${home}/clock"`)]).toEqual([200, true]);
  const again = await enter(code, { to: `${home}/clock` });
  expect([again.status, again.headers["Set-Cookie"]]).toEqual([401, undefined]);
  expect(String(again.body)).toContain(english(FRAME_TEXTS.codeRefused));
  expect(String(again.body)).toContain(`name="to" value="${home}/clock"`);

  const [early, late] = [codeOf(await newLink(harness)), codeOf(await newLink(harness))];
  harness.clock.advance(10 * MINUTE_MS - 1);
  expect((await enter(early)).status).toBe(303);
  harness.clock.advance(1);
  expect((await enter(late)).status).toBe(401);
});

test("the sign-in code or the whole link can be pasted into the form on every page that requires a sign-in", async () => {
  const { harness, sandbox, enter, home } = await openPortal();
  expect((await enter(`  ${await newLink(harness)}\n`)).status).toBe(303);
  const closed = await load(sandbox, `${home}/checkouts?status=failed`);
  expect([closed.status, closed.headers["Cache-Control"]]).toEqual([401, "no-store"]);
  const html = String(closed.body);
  expect(html).toContain(`<form method="post" action="${SIGN_IN}"`);
  expect(html).toContain(`name="to" value="${home}/checkouts?status=failed"`);
  expect(html).toContain("checkout open</code>");
  expect(html).not.toContain(sandbox.ready.store_name);
  const chinese = await load(sandbox, home, { "Accept-Language": "zh-CN" });
  expect(String(chinese.body)).toContain(`<h1>${FRAME_TEXTS.signIn[1]}</h1>`);
});

test("a sign-in redirects only to pages of the portal", async () => {
  const { harness, enter } = await openPortal();
  for (const to of [
    "https://evil.example/portal",
    "//evil.example/portal",
    "/\\evil.example",
    "/portal@evil.example",
    "/portals",
    "/portal/../pay/x",
    "javascript:alert(1)",
    "",
  ]) {
    const { status, headers } = await enter(codeOf(await newLink(harness)), { to });
    expect([to, status, headers["Location"]]).toEqual([to, 303, "/portal"]);
  }
});

test("ten wrong administrator tokens within a minute block even the correct token for a while; wrong sign-in codes block nobody", async () => {
  const { harness, sandbox, enter } = await openPortal();
  const guess = (token: string) => postForm(sandbox, "/portal/admin/sign-in", { admin_token: token });
  for (let tries = 1; tries <= 10; tries += 1) {
    harness.clock.advance(1000);
    expect([tries, (await guess(`wrong-${tries}`)).status]).toEqual([tries, 401]);
  }
  const { admin_token: adminToken } = JSON.parse(harness.readState("admin.json")) as { admin_token: string };
  const waits = await guess(adminToken);
  expect([waits.status, waits.headers["Retry-After"]]).toEqual([429, "51"]);
  expect(String(waits.body)).toContain(english(FRAME_TEXTS.tooManyTries(51)));

  const right = codeOf(await newLink(harness));
  for (let tries = 1; tries <= 200; tries += 1) {
    const { status, headers } = await enter(`${right}${tries}`);
    expect([tries, status, headers["Set-Cookie"]]).toEqual([tries, 401, undefined]);
  }
  expect((await enter(right)).status).toBe(303);
  harness.clock.advance(51_000);
  expect((await guess(adminToken)).status).toBe(303);
});

test("a one-time secret is shown once, only in the session that created it, and a HEAD request does not use it up", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie, formToken } = await signIn(harness, sandbox, "merchant");
  const secret = sandbox.ready.signing_secret;
  const asked = { Cookie: cookie, "Sec-Fetch-Site": "none", Host: portalHost(sandbox), Authorization: "" };
  const led = await postForm(sandbox, `${home}/connect/secret`, { token: formToken }, { Cookie: cookie });
  const path = led.headers["Location"] ?? "";
  const other = await signIn(harness, sandbox, "merchant");
  const looks = [
    await askPortal(sandbox, { path, method: "HEAD", headers: asked }),
    await load(sandbox, path, { Cookie: other.cookie }),
    await load(sandbox, path, { Cookie: cookie }),
    await load(sandbox, path, { Cookie: cookie }),
  ];
  const shows = looks.map(({ body }) => String(body).includes(secret));
  expect(shows).toEqual([false, false, true, false]);
});

test("the portal accepts only its own cookie, even next to another cookie of the same name", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const [name = "", value = ""] = cookie.split("=");
  const see = async (Cookie: string) => (await load(sandbox, `${home}/clock`, { Cookie })).status;
  expect(await see(`${name}=forged; ${cookie}`)).toBe(200);
  expect(await see(`${cookie}; ${name}=forged; other=1`)).toBe(200);
  expect(await see(`${name}=forged; ${name}=`)).toBe(401);
  expect(await see(`checkout_portal_1=${value}`)).toBe(401);
  expect(await see(`${name}x=${value}`)).toBe(401);
  expect(await see(`${name.toUpperCase()}=${value}`)).toBe(401);
});

test("a restart of the sandbox ends the owner's sessions and unused links", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const link = await newLink(harness);
  await sandbox.stop();
  const next = await harness.start();
  expect((await load(next, `${home}/clock`, { Cookie: cookie })).status).toBe(401);
  expect((await postForm(next, SIGN_IN, { code: codeOf(link) })).status).toBe(401);
});

test("signing out ends one session; checkout portal sign-out ends all sessions and unused links of the owner", async () => {
  const { harness, sandbox, enter, home } = await openPortal();
  const one = await signIn(harness, sandbox, "merchant");
  const other = await signIn(harness, sandbox, "merchant");
  const see = async ({ cookie }: { readonly cookie: string }) =>
    (await load(sandbox, `${home}/clock`, { Cookie: cookie })).status;
  const out = await postForm(sandbox, "/portal/sign-out", { token: one.formToken }, { Cookie: one.cookie });
  expect([out.status, out.headers["Location"]]).toEqual([303, SIGN_IN]);
  expect(out.headers["Set-Cookie"]).toMatch(/=; Path=\/portal; .*Max-Age=0$/);
  expect([await see(one), await see(other)]).toEqual([401, 200]);
  const link = await newLink(harness);
  const { code, stdout } = await harness.run(["portal", "sign-out", "--json"]);
  expect([code, JSON.parse(stdout)]).toEqual([0, { ended: 1 }]);
  expect([await see(other), (await enter(codeOf(link))).status]).toEqual([401, 401]);
});

test("a signed-in browser keeps its session when it opens another sign-in link, so that other tabs continue", async () => {
  const { harness, sandbox, enter, home } = await openPortal();
  const { cookie, formToken } = await signIn(harness, sandbox, "merchant");
  const prefer = (language: string) =>
    postForm(sandbox, "/portal/preferences", { token: formToken, language }, { Cookie: cookie });
  await prefer("zh");
  const link = codeOf(await newLink(harness));
  const again = await postForm(sandbox, SIGN_IN, { code: link, to: home }, { Cookie: cookie });
  expect([again.status, cookieIn(again)]).toEqual([303, cookie]);
  expect((await enter(link)).status).toBe(401);
  const shown = await load(sandbox, `${home}/clock`, { Cookie: cookie });
  expect(String(shown.body)).toContain('<html lang="zh-Hans">');
  expect((await prefer("en")).status).toBe(303);
  const wrong = await postForm(sandbox, SIGN_IN, { code: link }, { Cookie: cookie });
  expect([wrong.status, wrong.headers["Set-Cookie"]]).toEqual([401, undefined]);
  const admin = await signIn(harness, sandbox, "administrator");
  const ofAdmin = { code: codeOf(await newLink(harness)) };
  const other = await postForm(sandbox, SIGN_IN, ofAdmin, { Cookie: admin.cookie });
  expect([other.status, cookieIn(other) === cookie, cookieIn(other) === admin.cookie]).toEqual([
    303,
    false,
    false,
  ]);
  await harness.run(["portal", "sign-out"]);
  const anew = await postForm(sandbox, SIGN_IN, { code: codeOf(await newLink(harness)) }, { Cookie: cookie });
  expect([anew.status, cookieIn(anew) === cookie]).toEqual([303, false]);
});

test("a browser keeps its language and its setting for single-key shortcuts", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie, formToken } = await signIn(harness, sandbox, "merchant");
  const prefer = (fields: Readonly<Record<string, string>>) =>
    postForm(sandbox, "/portal/preferences", { token: formToken, ...fields }, { Cookie: cookie });
  const page = async () => String((await load(sandbox, `${home}/clock`, { Cookie: cookie })).body);
  expect(await page()).toContain("data-keys");
  const chosen = await prefer({ language: "zh", back: `${home}/clock` });
  expect([chosen.status, chosen.headers["Location"]]).toEqual([303, `${home}/clock`]);
  expect(await page()).toContain('<html lang="zh-Hans">');
  await prefer({ keys: "off", language: "fr" });
  const without = await page();
  expect([without.includes("data-keys"), without.includes('id="keys"')]).toEqual([false, false]);
  expect(without).toContain('<html lang="zh-Hans">');
  await prefer({ keys: "on" });
  expect(await page()).toContain("data-keys");
  expect((await prefer({ back: "https://evil.example/" })).headers["Location"]).toBe("/portal");
});

test("only the admin token signs the administrator in, and an error page of the administrator names no store", async () => {
  const { harness, sandbox } = await openPortal();
  const { cookie } = await signIn(harness, sandbox, "administrator");
  const port = new URL(sandbox.ready.base_url).port;
  expect(cookie).toMatch(new RegExp(`^checkout_portal_admin_${port}=`));
  const html = String((await load(sandbox, "/portal/admin/no/page", { Cookie: cookie })).body);
  expect(html).toContain('<body class="portal admin');
  expect(html).not.toContain(sandbox.ready.store_name);
  const merchants = await postForm(sandbox, "/portal/admin/sign-in", {
    admin_token: sandbox.ready.control_token,
  });
  expect([merchants.status, merchants.headers["Set-Cookie"]]).toEqual([401, undefined]);
  expect(String(merchants.body)).toContain(english(FRAME_TEXTS.tokenRefused));
});

test("a portal cookie gives no access to v1 or the control API", async () => {
  const { harness, sandbox } = await openPortal();
  for (const role of ["merchant", "administrator"] as const) {
    const { cookie } = await signIn(harness, sandbox, role);
    const [, value = ""] = cookie.split("=");
    for (const path of [
      "/v1/checkout-sessions/x",
      "/__sandbox/stores",
      "/__sandbox/stores/default/admin/acts",
    ]) {
      for (const headers of [
        { Authorization: "", Cookie: cookie },
        { Authorization: `Bearer ${value}`, Cookie: cookie },
      ]) {
        const { status } = await sandbox.request({ path, headers });
        expect([role, path, [401, 404].includes(status)]).toEqual([role, path, true]);
      }
    }
    const listed = await sandbox.request({
      path: "/__sandbox/stores",
      headers: { Authorization: `Bearer ${value}`, Cookie: cookie },
    });
    expect(listed.status).toBe(401);
  }
});

test("checkout open gives the browser a file that redirects to the sign-in link, so no command-line argument contains the code", async () => {
  const { harness, sandbox, enter, home } = await openPortal();
  const { code, stdout } = await harness.run(["open", "order-1001"]);
  expect(code).toBe(0);
  const [address = ""] = harness.opened;
  expect(address).toMatch(/^file:.*\.checkout\/sign-in\.html$/);
  const file = fileURLToPath(address);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const [, link = ""] = /location\.replace\("([^"]+)"\)/.exec(readFileSync(file, "utf8")) ?? [];
  expect(new URL(link).searchParams.get("to")).toBe("/portal/find?q=order-1001");
  expect(`${address} ${stdout}`).not.toContain(codeOf(link));
  expect((await enter(codeOf(link), { to: `${home}/clock` })).status).toBe(303);
  const store = await harness.run(["open", "--store", sandbox.ready.store_id]);
  expect(store.code).toBe(0);
  expect(readFileSync(file, "utf8")).toContain(encodeURIComponent(`${home}/start`));
});

test("checkout open reports an unknown id and prints no link", async () => {
  const { harness, sandbox } = await openPortal();
  const { store_id: storeId } = sandbox.ready;
  const other = JSON.parse((await harness.run(["stores", "create", "--json"])).stdout) as {
    readonly store_id: string;
  };
  const made = await harness.run(["orders", "create", "--order-id", "a", ...TERMS, "--json"]);
  const { id } = (JSON.parse(made.stdout) as { readonly data: { readonly id: string } }).data;
  for (const words of [id, id.toUpperCase(), `${id} --store ${storeId}`, storeId, id.slice(-8), "nothing"])
    expect([words, (await harness.run(["open", ...words.split(" ")])).code]).toEqual([words, 0]);
  const unknown = "0199a3c4-5d00-7000-8000-00000000dead";
  for (const [words, said] of [
    [unknown, refusalText("no_object_here", { object: unknown })],
    [`${unknown} --store ${storeId}`, refusalText("no_object_in_store", { object: unknown })],
    [`${id} --store ${other.store_id}`, refusalText("no_object_in_store", { object: id })],
  ] as const) {
    const { code, stdout, stderr } = await harness.run(["open", ...words.split(" ")]);
    expect([words, code, stdout]).toEqual([words, 1, ""]);
    expect(stderr).toMatch(said);
  }
  expect(harness.opened).toHaveLength(6);
});

test("checkout open uses a temporary folder if only the environment names a sandbox", async () => {
  const { harness, sandbox } = await openPortal(["--ephemeral"]);
  const env = {
    CHECKOUT_BASE_URL: sandbox.ready.base_url,
    CHECKOUT_CONTROL_TOKEN: sandbox.ready.control_token,
  };
  let content = "";
  harness.setBrowser((url) => {
    content = readFileSync(fileURLToPath(url), "utf8");
    return Promise.resolve({ ok: true });
  });
  const { code } = await harness.run(["open"], { env });
  const [address = ""] = harness.opened;
  expect([code, content.includes("#t="), existsSync(fileURLToPath(address))]).toEqual([0, true, false]);
  expect(dirname(fileURLToPath(address))).not.toContain(".checkout");

  harness.setBrowser(() => Promise.resolve({ ok: false, message: "no browser" }));
  const shown = await harness.run(["open", "--json"], { env });
  const told = JSON.parse(shown.stdout) as { readonly opened: boolean; readonly sign_in_url: string };
  expect([shown.code, told.opened, codeOf(told.sign_in_url).length]).toEqual([0, false, 22]);
});

test("checkout open prints the sign-in link and the reason if the sign-in file cannot be written", async () => {
  const { harness, sandbox, enter } = await openPortal();
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  const fails = (): never => {
    throw full;
  };
  const { base_url: url, control_token: token } = sandbox.ready;
  const env = { CHECKOUT_BASE_URL: url, CHECKOUT_CONTROL_TOKEN: token };
  const elsewhere = { env, world: { temporaryFile: fails } };
  const { files } = REAL;
  for (const command of [
    { world: { files: { ...files, write: fails } } },
    { ...elsewhere, cwd: tempFolder() },
  ]) {
    const { code, stdout, stderr } = await harness.run(["open"], command);
    expect([code, stderr]).toEqual([0, expect.stringContaining(storageFailure("disk_full").sentence)]);
    expect((await enter(codeOf(stdout.trim()))).status).toBe(303);
  }
  expect(harness.opened).toEqual([]);
});

test("sign-in codes, cookies and form tokens are in no log or state file, and codes and cookies are in no page", async () => {
  const { harness, sandbox, enter, home } = await openPortal();
  const code = codeOf(await newLink(harness));
  const cookie = cookieIn(await enter(code));
  const { formToken } = await signIn(harness, sandbox, "merchant");
  const wrong = codeOf(await newLink(harness)).toUpperCase();
  await enter(wrong, { to: home });
  const pages = [`${home}/start`, `${home}/clock`, "/portal/x/y", SIGN_IN];
  for (const path of pages) {
    const { body, headers } = await load(sandbox, path, { Cookie: cookie });
    const text = String(body) + JSON.stringify(headers);
    for (const secret of [
      code,
      cookie.split("=")[1] ?? "",
      sandbox.ready.api_key ?? "",
      sandbox.ready.signing_secret,
      sandbox.ready.control_token,
    ]) {
      expect([path, text.includes(secret)]).toEqual([path, false]);
    }
    expect(headers["Referrer-Policy"] ?? "same-origin").toBe("same-origin");
  }
  const folder = join(harness.cwd, ".checkout");
  const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name)).toString("latin1"));
  const { stdout, stderr } = await sandbox.stop();
  const logged = stderr + stdout.slice(stdout.indexOf("\n"));
  for (const secret of [code, wrong, cookie.split("=")[1] ?? "", formToken]) {
    expect(kept.some((text) => text.includes(secret))).toBe(false);
    expect(logged).not.toContain(secret);
  }
});

test("a portal page opened from another site's link reloads itself once, because the browser first omits the strict cookie", async () => {
  const { harness, sandbox, home } = await openPortal();
  const led = { "Sec-Fetch-Site": "cross-site" };
  const first = await load(sandbox, `${home}/clock`, led);
  expect([first.status, String(first.body).includes('http-equiv="refresh" content="0"')]).toEqual([
    401,
    true,
  ]);
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const then = await load(sandbox, `${home}/clock`, { Cookie: cookie, "Sec-Fetch-Site": "same-origin" });
  expect(then.status).toBe(200);
  const never = await load(sandbox, `${home}/clock`, { "Sec-Fetch-Site": "same-origin" });
  expect(String(never.body)).not.toContain("refresh");
});

test("an error page of the portal has the right status, the menu and a remedy", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie, formToken } = await signIn(harness, sandbox, "merchant");
  const lost = await load(sandbox, `${home}/nothing/here`, { Cookie: cookie });
  expect([lost.status, String(lost.body).includes(`href="${home}/checkouts"`)]).toEqual([404, true]);
  expect(String(lost.body)).toContain(`<h1>${english(SHARED_TEXTS.errorTitle[404])}</h1>`);
  const wrong = await postForm(
    sandbox,
    `${home}/clock`,
    { token: formToken, action: "jump" },
    { Cookie: cookie, Referer: `http://${portalHost(sandbox)}${home}/clock?a=1` },
  );
  expect(wrong.status).toBe(400);
  expect(String(wrong.body)).toContain(`href="${home}/clock?a=1"`);
  const method = await postForm(sandbox, `${home}/start`, { token: formToken }, { Cookie: cookie });
  expect([method.status, method.headers["Allow"]]).toEqual([405, "GET, HEAD, OPTIONS"]);
});

test("after a disk failure, the portal shows a page with the cause and the command checkout doctor", () => {
  const request = { method: "POST", target: "/portal/admin/x", rawHeaders: [], body: new Uint8Array() };
  const refusal = { code: "storage_unavailable", message: "the quota is used up" } as const;
  const { status, body } = PORTAL_AREA.fail(request, "id", refusal);
  const html = typeof body === "string" ? body : "";
  expect([status, html]).toEqual([503, expect.stringContaining(english(FRAME_TEXTS.hints[503]))]);
  expect(html).toContain('<body class="portal alone admin');
  expect(html).toContain("the quota is used up");
  expect(html).not.toContain(english(SHARED_TEXTS.errorHint));
});

test("a portal path without a store opens the page of that name in the first store, or searches for the id", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const leads = async (path: string) => (await load(sandbox, path, { Cookie: cookie })).headers["Location"];
  expect(await leads("/portal")).toBe(`${home}/start`);
  expect(await leads("/portal/clock?x=1")).toBe(`${home}/clock?x=1`);
  // The paths of some forms begin with this path.
  expect(await leads("/portal/stores")).toBe(`${home}/stores`);
  expect(await leads(home)).toBe(`${home}/start`);
  expect(await leads("/portal/order-1001~x%20y")).toBe(`${home}/find?q=order-1001~x%20y`);
});

test("the top bar shows the store's time and a frozen clock, and the menu counts open items", async () => {
  const { harness, sandbox, home } = await openPortal();
  const { cookie } = await signIn(harness, sandbox, "merchant");
  const page = async () => String((await load(sandbox, `${home}/connect`, { Cookie: cookie })).body);
  expect(await page()).toMatch(/<time\s+datetime="2026-01-15T12:00:00.000Z"/);
  expect(await page()).toMatch(
    new RegExp(`${english(FRAME_TEXTS.launch)}</span><span class="count">\\d/${CHECKLIST_ITEMS.length}<`),
  );
  await harness.run("orders create --order-id order-1 --price-id price_coffee".split(" "));
  expect(await page()).toMatch(
    new RegExp(`${english(FRAME_TEXTS.checkouts)}</span\\s*><span class="count">1<`),
  );
  await harness.run(["sandbox", "clock", "freeze"]);
  expect(await page()).toContain(english(FRAME_TEXTS.frozen));
});
