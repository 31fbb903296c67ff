import { expect, test } from "vitest";
import { allowedHosts } from "../../src/core/loopback.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { PAGES_AREA } from "../../src/sandbox/pages/payment/routes.ts";
import { guardRequest, refuseBrowsers, refuseForeignPages, requireOwnPage } from "../../src/web/guard.ts";
import type { HttpRequest } from "../../src/world.ts";
import type { FullAnswer } from "../support/harness.ts";
import { createHarness, type RunningSandbox } from "../support/harness.ts";
import { textOf } from "../support/portal.ts";
import { english } from "../../src/core/language.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";

const FORM = { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" };

/** A sandbox with one order, and functions that request its payment page as a browser does. */
async function openPage() {
  const harness = createHarness();
  const sandbox = await harness.start();
  const { id } = await harness.order("order-1");
  const host = new URL(sandbox.ready.checkout_origin).host;
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    sandbox.request({ path, headers: { Host: host, Authorization: "", ...headers } });
  const token = tokenOf(await get(`/pay/${id}`));
  const post = (path: string, body: string, headers: Readonly<Record<string, string>> = FORM) =>
    sandbox.request({ path, method: "POST", body, headers: { Host: host, Authorization: "", ...headers } });
  return { harness, sandbox, id, host, token, get, post, status: () => statusOf(sandbox, id) };
}

/** The path of a route for the first attempt of a checkout. */
function addressOf(path: string, id: string): string {
  return path.replace("{checkout_id}", id).replace("{attempt}", "1");
}

function tokenOf(page: FullAnswer): string {
  return /name="token" value="([^"]+)"/.exec(String(page.body))?.[1] ?? "";
}

async function statusOf(sandbox: RunningSandbox, id: string): Promise<string> {
  const answer = await sandbox.request({ path: `/v1/checkout-sessions/${id}` });
  return (JSON.parse(String(answer.body)) as { readonly data: { readonly status: string } }).data.status;
}

test("a form is accepted only with its checkout's token, from its own page, in the encoding of a form", async () => {
  const { id, token, host, post, status } = await openPage();
  const start = `/pay/${id}/start`;
  const right = `token=${token}`;
  const type = { "Content-Type": "application/x-www-form-urlencoded" };
  const rows: readonly (readonly [
    why: string,
    status: number,
    body: string,
    headers: Record<string, string>,
  ])[] = [
    ["no token", 403, "", FORM],
    ["an empty token", 403, "token=", FORM],
    ["a token that is cut", 403, `token=${token.slice(0, -1)}`, FORM],
    ["a token with something behind it", 403, `${right}x`, FORM],
    ["another token of the same length", 403, `token=${token.slice(0, -1)}_`, FORM],
    ["two tokens", 400, `${right}&${right}`, FORM],
    ["another site", 403, right, { ...type, "Sec-Fetch-Site": "cross-site" }],
    ["the portal's origin", 403, right, { ...type, "Sec-Fetch-Site": "same-site" }],
    ["typed by hand", 403, right, { ...type, "Sec-Fetch-Site": "none" }],
    ["two sites", 403, right, { ...type, "Sec-Fetch-Site": "same-origin, same-origin" }],
    ["neither site nor origin", 403, right, type],
    ["a foreign origin", 403, right, { ...type, Origin: "https://evil.example" }],
    ["the null origin", 403, right, { ...type, Origin: "null" }],
    [
      "the portal's origin by name",
      403,
      right,
      { ...type, Origin: `http://localhost:${host.split(":")[1] ?? ""}` },
    ],
    ["text", 400, right, { ...FORM, "Content-Type": "text/plain" }],
    ["JSON", 400, `{"token":"${token}"}`, { ...FORM, "Content-Type": "application/json" }],
    ["no type", 400, right, { ...FORM, "Content-Type": "" }],
  ];
  for (const [why, expected, body, headers] of rows) {
    const answer = await post(start, body, headers);
    expect([why, answer.status]).toEqual([why, expected]);
    expect(answer.headers["Content-Type"]).toContain("text/html");
  }
  expect(await status()).toBe("created");
  expect((await post(start, right, { ...type, Origin: `http://${host}` })).status).toBe(303);
  expect(await status()).toBe("pending");
});

test("the form token of one checkout is refused for another checkout", async () => {
  const { harness, post, get, token } = await openPage();
  const { id } = await harness.order("order-2");
  expect((await post(`/pay/${id}/start`, `token=${token}`)).status).toBe(403);
  expect(tokenOf(await get(`/pay/${id}`))).not.toBe(token);
});

test("a form token stays valid after a restart", async () => {
  const { harness, sandbox, id, token, host } = await openPage();
  await sandbox.stop();
  const again = await harness.start();
  const headers = { ...FORM, Host: host };
  const answer = await again.request({
    path: `/pay/${id}/start`,
    method: "POST",
    body: `token=${token}`,
    headers,
  });
  expect([answer.status, answer.headers["Location"]]).toEqual([303, `/pay/${id}`]);
});

test("every payment page forbids frames, inline scripts, foreign resources, referrers to other origins and caching", async () => {
  const { id, token, get, post } = await openPage();
  const started = await post(`/pay/${id}/start`, `token=${token}`);
  const answers = [
    await get(`/pay/${id}`),
    await get(`/pay/${id}/wallet/1`),
    await get(`/pay/${id}/wallet/1/closed`),
    await get(`/pay/${id}/wallet/2`),
    await get("/pay/unknown"),
    await get("/assets/unknown"),
    await get(`/pay/${id}/start`),
    started,
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404, 404, 405, 303]);
  const pages = PAGES_AREA.routes.filter(({ role, methods }) => role === "payer" && methods.includes("GET"));
  expect(pages.length).toBeGreaterThanOrEqual(3);
  for (const { path } of pages) answers.push(await get(addressOf(path, id)));
  for (const { headers, body } of answers) {
    const policy = headers["Content-Security-Policy"] ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(headers["X-Content-Type-Options"]).toBe("nosniff");
    expect(headers["Referrer-Policy"]).toBe("same-origin");
    expect(headers["Cross-Origin-Opener-Policy"]).toBe("same-origin");
    expect(headers["Cross-Origin-Resource-Policy"]).toBe("same-origin");
    expect(headers["Cache-Control"]).toBe("no-store");
    expect(Object.keys(headers).filter((name) => /^access-control|^set-cookie/i.test(name))).toEqual([]);
    expect(String(body)).not.toMatch(/<script(?! src="\/assets\/)|style="|\son\w+=|javascript:/i);
  }
});

test("the root of the sandbox is a page that describes the sandbox, with working links", async () => {
  const { sandbox, get, host } = await openPage();
  const { status, body } = await get("/");
  const home = String(body);
  expect([status, textOf(/<h1>.*?<\/h1>/s.exec(home)?.[0] ?? "")]).toEqual([200, "checkout sandbox"]);
  for (const told of [sandbox.ready.base_url, "checkout open"]) expect(textOf(home)).toContain(told);
  const links = Array.from(home.matchAll(/<a [^>]*href="([^"]+)"/g), ([, link = ""]) => link);
  expect(links).not.toEqual([]);
  for (const link of links) expect([link, (await get(link)).status]).toEqual([link, 200]);
  const head = await sandbox.request({ path: "/", method: "HEAD", headers: { Host: host } });
  expect(head.status).toBe(200);
});

test("a request other than a form's POST does not change a checkout", async () => {
  const { sandbox, id, get, token, post, status } = await openPage();
  const known = PAGES_AREA.routes
    .filter(({ role }) => role === "payer")
    .map(({ path }) => addressOf(path, id));
  expect(known.length).toBeGreaterThanOrEqual(6);
  const own = ["/wallet/9", "?outcome=succeeded", `?token=${token}`].map((path) => `/pay/${id}${path}`);
  const paths = [...known, ...own];
  for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
    for (const path of paths) {
      await sandbox.request({ path, method, headers: FORM });
    }
  }
  expect(await status()).toBe("created");
  await post(`/pay/${id}/start`, `token=${token}`);
  for (const path of paths) await get(`/pay/${id}${path}`);
  expect(await status()).toBe("pending");
});

test("a wallet's form must be valid, and a form for an ended attempt leads to the current page", async () => {
  const { id, token, post, status } = await openPage();
  const wallet = (attempt: number, fields: string) =>
    post(`/pay/${id}/wallet/${attempt}`, `token=${token}${fields}`);
  await post(`/pay/${id}/start`, `token=${token}`);
  expect((await wallet(1, "")).status).toBe(400);
  expect((await wallet(1, "&outcome=paid")).status).toBe(400);
  expect((await wallet(1, "&outcome=succeeded&outcome=failed")).status).toBe(400);
  for (const outcome of ["succeeded", "late"])
    expect((await wallet(7, `&outcome=${outcome}`)).status).toBe(303);
  expect(await status()).toBe("pending");
  expect((await wallet(1, "&outcome=declined")).status).toBe(303);
  expect((await wallet(1, "&outcome=late")).status).toBe(303);
  expect(await status()).toBe("pending");
  await post(`/pay/${id}/start`, `token=${token}`);
  expect((await wallet(2, "&outcome=succeeded")).headers["Location"]).toBe(`/pay/${id}/wallet/2`);
  expect((await post(`/pay/${id}/cancel`, `token=${token}`)).headers["Location"]).toBe(`/pay/${id}`);
  expect(await status()).toBe("succeeded");
  // "Cancel" in a wallet also applies only to the attempt of the wallet.
  const other = await openPage();
  const cancel = (attempt: number) =>
    other.post(`/pay/${other.id}/wallet/${attempt}`, `token=${other.token}&outcome=cancelled`);
  expect((await cancel(7)).headers["Location"]).toBe(`/pay/${other.id}`);
  await other.post(`/pay/${other.id}/start`, `token=${other.token}`);
  await other.post(`/pay/${other.id}/wallet/1`, `token=${other.token}&outcome=declined`);
  await other.post(`/pay/${other.id}/start`, `token=${other.token}`);
  expect((await cancel(1)).headers["Location"]).toBe(`/pay/${other.id}/wallet/1`);
  expect(await other.status()).toBe("pending");
  await cancel(2);
  expect(await other.status()).toBe("cancelled");
  const unknown = "00000000-0000-7000-8000-000000000000";
  expect((await post(`/pay/${unknown}/start`, `token=${token}`)).status).toBe(403);
});

test("the refusal of an unsupported method lists the methods that the page supports", async () => {
  const { sandbox, id, host } = await openPage();
  const rows = [
    ["DELETE", `/pay/${id}`, 405, "GET, HEAD, OPTIONS"],
    ["GET", `/pay/${id}/start`, 405, "POST, OPTIONS"],
    ["POST", "/assets/checkout.css", 405, "GET, HEAD, OPTIONS"],
    ["HEAD", "/assets/checkout.css", 200, undefined],
    ["GET", `/pay/${id}/START`, 404, undefined],
    ["GET", `/pay/${id.toUpperCase()}`, 200, undefined],
  ] as const;
  for (const [method, path, status, allow] of rows) {
    const answer = await sandbox.request({ method, path, headers: { Host: host } });
    expect([method, path, answer.status, answer.headers["Allow"]]).toEqual([method, path, status, allow]);
  }
});

test("only a late payment is shown as late, and automatic settlement is announced only until the order has settled", async () => {
  const { harness, id, token, get, post } = await openPage();
  await post(`/pay/${id}/start`, `token=${token}`);
  await post(`/pay/${id}/cancel`, `token=${token}`);
  await post(`/pay/${id}/wallet/1`, `token=${token}&outcome=declined`);
  const said = async (path: string): Promise<string> => String((await get(path)).body);
  expect(await said(`/pay/${id}`)).toContain(english(PAYMENT_TEXTS.resultHint.cancelled));
  expect(await said(`/pay/${id}/wallet/1`)).toContain(english(PAYMENT_TEXTS.payAnyway));
  await post(`/pay/${id}/wallet/1`, `token=${token}&outcome=late`);
  for (const path of [`/pay/${id}`, `/pay/${id}/wallet/1`]) {
    expect(await said(path)).toContain(english(PAYMENT_TEXTS.late));
    expect(await said(path)).not.toContain(english(PAYMENT_TEXTS.resultHint.cancelled));
  }
  const { id: other } = await harness.order("o~declined");
  expect(await said(`/pay/${other}`)).toContain(english(PAYMENT_TEXTS.settlesSoon));
  await harness.run(["sandbox", "clock", "freeze"]);
  expect(await said(`/pay/${other}`)).toContain(english(PAYMENT_TEXTS.settlesFrozen));
  await harness.run(["sandbox", "clock", "real"]);
  harness.clock.advance(1000);
  expect(await said(`/pay/${other}`)).not.toContain(english(PAYMENT_TEXTS.settlesSoon));
});

test("the page after leaving a wallet shows how the attempt ended", async () => {
  const { id, token, get, post } = await openPage();
  const closed = async (): Promise<string> => String((await get(`/pay/${id}/wallet/1/closed`)).body);
  await post(`/pay/${id}/start`, `token=${token}`);
  expect(await closed()).toContain(english(PAYMENT_TEXTS.walkedAway));
  await post(`/pay/${id}/wallet/1`, `token=${token}&outcome=declined`);
  expect(await closed()).not.toContain(english(PAYMENT_TEXTS.walkedAway));
  expect(await closed()).toContain(english(PAYMENT_TEXTS.walletDeclined));
  await post(`/pay/${id}/start`, `token=${token}`);
  expect(await closed()).toContain(english(PAYMENT_TEXTS.newAttempt));
  await post(`/pay/${id}/cancel`, `token=${token}`);
  expect(await closed()).toContain(english(PAYMENT_TEXTS.result.cancelled));
});

test("an error page links back to its checkout, if the checkout exists", async () => {
  const { id, get, post } = await openPage();
  const other = "00000000-0000-7000-8000-000000000000";
  const rows = [
    [await get(`/pay/${id}/start`), 405, true],
    [await get(`/pay/${id.toUpperCase()}/START`), 404, true],
    [await get(`/pay/${id}/wallet/7`), 404, true],
    [await post(`/pay/${id}/start`, "token=wrong"), 403, true],
    [await get(`/pay/${other}`), 404, false],
    [await post(`/pay/${other}/start`, "token=wrong"), 403, false],
    [await get(`/pay/${id}0`), 404, false],
    [await get("/pay/"), 404, false],
    [await get("/assets/unknown"), 404, false],
  ] as const;
  const shown = rows.map(([{ status, body }]) => [status, String(body).includes(`href="/pay/${id}"`)]);
  expect(shown).toEqual(rows.map(([, status, leadsBack]) => [status, leadsBack]));
});

test("a payment page says that the shop was paid only if the payment succeeded", async () => {
  const { id, token, get, post } = await openPage();
  await post(`/pay/${id}/start`, `token=${token}`);
  await post(`/pay/${id}/wallet/1`, `token=${token}&outcome=succeeded`);
  const unpaid = await openPage();
  await unpaid.post(`/pay/${unpaid.id}/cancel`, `token=${unpaid.token}`);
  const labels = ({ body }: FullAnswer): string[] =>
    [...String(body).matchAll(/<dt>([^<]*)<\/dt>/g)].map(([, label = ""]) => label);
  const { paidTo, order, description, paymentMethod, paidOn, reference, checkoutId } = PAYMENT_TEXTS;
  const facts = [paidTo, order, description, paymentMethod, paidOn, reference, checkoutId].map(english);
  expect(labels(await get(`/pay/${id}`)).slice(0, 7)).toEqual(facts);
  expect(labels(await unpaid.get(`/pay/${unpaid.id}`))[0]).toBe(english(PAYMENT_TEXTS.shop));
});

test("payment pages and the portal never share an origin", async () => {
  const { id, host, get, post, token, status } = await openPage();
  const port = host.split(":")[1] ?? "";
  for (const other of [`localhost:${port}`, `[::1]:${port}`]) {
    const answer = await get(`/pay/${id}?a=1`, { Host: other });
    expect([answer.status, answer.headers["Location"]]).toEqual([307, `http://${host}/pay/${id}?a=1`]);
    const form = await post(`/pay/${id}/start`, `token=${token}`, { ...FORM, Host: other });
    expect(form.status).toBe(307);
  }
  expect(await status()).toBe("created");
  const foreign = await get(`/pay/${id}`, { Host: "evil.example" });
  expect([foreign.status, String(foreign.body)]).toEqual([403, expect.stringContaining("--allow-host")]);
});

test("the polls of an open page are not logged, and the actions of customers are logged", async () => {
  const { sandbox, id, get, token, post } = await openPage();
  for (let second = 0; second < 5; second += 1) await get(`/pay/${id}`, { "HX-Request": "true" });
  await get("/assets/checkout.css");
  await post(`/pay/${id}/start`, `token=${token}`);
  const { stderr } = await sandbox.stop();
  const lines = stderr.split("\n").filter((line) => / (\/pay|\/assets)/.test(line));
  expect(lines.map((line) => line.split(/\s+/).slice(1, 3).join(" "))).toEqual(["200 GET", "303 POST"]);
  expect(lines.at(-1)).toContain("start: pending");
});

const HERE = "127.0.0.1:4242";
const SITE = "Sec-Fetch-Site";

/** A request to the guard; the header lines follow its Host. */
function asked(lines: readonly string[], more: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: "GET",
    target: "/",
    rawHeaders: ["Host", HERE, ...lines],
    body: new Uint8Array(),
    ...more,
  };
}

/** The verdict of a guard: "", or the code and the fact of its refusal. */
function verdictOf(outcome: Outcome<void>): string {
  if (outcome.ok) return "";
  const { code, told } = outcome.refusal;
  return `${code}: ${told?.fact} ${JSON.stringify(told?.values)}`;
}

/** The received value in the refusal of a page's request, or its fact if nothing was received; "" if it is allowed. */
function receivedBy(outcome: Outcome<void>): unknown {
  if (outcome.ok) return "";
  expect(outcome.refusal.code).toBe("origin_not_allowed");
  return outcome.refusal.told?.values["received"] ?? outcome.refusal.told?.fact;
}

test("a request needs the server's Host and a path; CONNECT and any Expect but 100-continue are refused", () => {
  const local = allowedHosts(4242, { flag: "--allow-host", hosts: [] });
  const remote = allowedHosts(4242, { flag: "--public", hosts: [], ownNames: ["shop.test"] });
  const rows: readonly (readonly [HttpRequest, RegExp])[] = [
    [asked([]), /^$/],
    [asked([], { isFromOutside: true }), /^host_not_allowed: .*--public/],
    [asked([], { rawHeaders: ["Host", "shop.test:4242"], isFromOutside: true }), /^$/],
    [asked([], { rawHeaders: ["Host", "shop.test:4242"] }), /^host_not_allowed: .*--allow-host/],
    [asked([], { method: "CONNECT" }), /^method_not_allowed: not_a_proxy /],
    [asked(["Expect", "100-Continue"]), /^$/],
    [asked(["Expect", "200-ok"]), /^invalid_request: expectation .*200-ok/],
    [asked(["Expect", "100-continue", "Expect", "x"]), /^invalid_request: expectation .*"x/],
    [asked([], { target: "*" }), /^invalid_request: no_path .*\*/],
    [asked([], { target: "http://evil.example/" }), /^invalid_request: no_path .*evil/],
  ];
  for (const [request, expected] of rows)
    expect(verdictOf(guardRequest(request, { local, remote }))).toMatch(expected);
  const connect = guardRequest(asked([], { method: "CONNECT" }), { local, remote });
  expect(connect).toMatchObject({ refusal: { allow: "GET, POST" } });
  const browser = verdictOf(refuseBrowsers(asked(["Origin", "https://evil.example"])));
  expect(browser).toMatch(/^origin_not_allowed: origin_not_allowed .*https:/);
});

test("a form must come from the sandbox's own page according to Sec-Fetch-Site or else Origin, and a refusal shows these headers", () => {
  const origin = "https://pay.example";
  const rows: readonly (readonly [lines: readonly string[], got: string])[] = [
    [[SITE, "same-origin"], ""],
    [[SITE, "same-origin", "Origin", "null"], ""],
    [["Origin", `http://${HERE}`], ""],
    [["Origin", `https://${HERE}`], ""],
    [["Origin", origin], ""],
    [[], "form_of_no_page"],
    [["Origin", origin, "Origin", origin], '"Origin https://pay.example, Origin https://pay.example"'],
    [["Origin", "null"], '"Origin null"'],
    [[SITE, "same-origin", SITE, "none"], '"Sec-Fetch-Site same-origin, Sec-Fetch-Site none"'],
    [[SITE, "same-site", "Origin", origin], '"Sec-Fetch-Site same-site, Origin https://pay.example"'],
  ];
  for (const [lines, got] of rows)
    expect([lines, receivedBy(requireOwnPage(asked(lines), origin))]).toEqual([lines, got]);
});

test("a page of another site may link to a public page, and can do nothing more", () => {
  const led = ["Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"];
  const rows: readonly (readonly [request: HttpRequest, anywhere: string, own: string])[] = [
    [asked([]), "", ""],
    [asked([SITE, "same-origin"]), "", ""],
    [asked([SITE, "none"]), "", ""],
    [asked([SITE, "cross-site", ...led]), "", '"cross-site"'],
    [asked([SITE, "cross-site"]), '"cross-site"', '"cross-site"'],
    [asked([SITE, "cross-site", ...led], { method: "POST" }), '"cross-site"', '"cross-site"'],
    [asked([SITE, "cross-site", ...led.slice(0, 2)]), '"cross-site"', '"cross-site"'],
    [asked([SITE, "cross-site", ...led.slice(2)]), '"cross-site"', '"cross-site"'],
    [asked([SITE, "none", SITE, "none", ...led]), '"none, none"', '"none, none"'],
    [asked([SITE, "not-same-origin"]), '"not-same-origin"', '"not-same-origin"'],
    [asked([SITE, "none-of-ours"]), '"none-of-ours"', '"none-of-ours"'],
  ];
  for (const [request, anywhere, own] of rows) {
    const got = (["from anywhere", "from its own pages"] as const).map((opens) =>
      receivedBy(refuseForeignPages(request, { opens })),
    );
    expect([request.rawHeaders, ...got]).toEqual([request.rawHeaders, anywhere, own]);
  }
});
