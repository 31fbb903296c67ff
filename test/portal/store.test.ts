import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import {
  CATALOG_TEXTS,
  CLOCK_TEXTS,
  FAULTS_TEXTS,
  KEYS_TEXTS,
  NOTICE_TEXTS,
  SETTINGS_TEXTS,
  STORES_TEXTS,
} from "../../src/sandbox/pages/portal/store/texts.ts";
import { COMMON_TEXTS, FRAME_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { FAULT_ACTIONS } from "../../src/core/fault/actions.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { askPortal } from "../support/portal-sign-in.ts";
import { signedIn, type Page } from "../support/portal.ts";
import { parseSpan } from "../../src/core/duration.ts";

type Fields = Readonly<Record<string, string>>;

async function openPortal() {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const portal = await signedIn(harness, sandbox);
  const { home } = portal;
  const run = async (...line: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await harness.run(line);
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    return stdout;
  };
  return {
    harness,
    sandbox,
    portal,
    home,
    run,
    /** Posts a form below the store, and loads the page that follows. */
    act: (path: string, fields: Fields = {}): Promise<Page> => portal.act(`${home}${path}`, fields),
    /** Posts a form that is refused, and returns the status and the text of the page. */
    refused: async (path: string, fields: Fields = {}): Promise<readonly [number, string]> => {
      const { status, text } = await portal.post(
        path.startsWith("/portal") ? path : `${home}${path}`,
        fields,
      );
      return [status, text];
    },
    get: (path: string): Promise<Page> => portal.get(`${home}${path}`),
    read: async <Answer>(...line: readonly string[]): Promise<Answer> =>
      JSON.parse(await run(...line, "--json")) as Answer,
    create: (orderId: string): Promise<string> =>
      run("orders", "create", "--order-id", orderId, "--price-id", "price_coffee"),
  };
}

const PAGES = ["/connect", "/catalog", "/keys", "/settings", "/clock", "/faults", "/stores"] as const;

test("the pages Connect, Catalog, Keys, Settings, Clock, Faults and Stores exist in both languages, and empty pages show a command", async () => {
  const { sandbox, portal, home, get } = await openPortal();
  const titles: string[] = [];
  for (const path of PAGES) {
    for (const language of ["en", "zh"]) {
      const headers = {
        Authorization: "",
        Host: portal.host,
        Cookie: portal.cookie,
        "Accept-Language": language,
      };
      const { status, body } = await askPortal(sandbox, { path: `${home}${path}`, headers });
      expect([path, language, status]).toEqual([path, language, 200]);
      expect(String(body)).not.toMatch(/undefined|NaN|\[object|\bnull\b/);
      titles.push(/<h1[^>]*>\s*([^<]*?)\s*<\/h1>/.exec(String(body))?.[1] ?? "");
    }
  }
  const { start, catalog, keys, settings, clock, faults, stores } = FRAME_TEXTS;
  expect(titles).toEqual([start, catalog, keys, settings, clock, faults, stores].flat());
  expect((await get("/faults")).text).toContain("checkout faults add lose_answer");
  expect((await get("/settings")).text).toContain("checkout return-origins add");
  expect((await get("/stores")).text).toContain("checkout snapshots create");
});

test("the Connect page shows the settings that an application needs, and no page of the store's set-up shows a secret", async () => {
  const { sandbox, get } = await openPortal();
  const { base_url: baseUrl, store_id: storeId, api_key: apiKey, signing_secret: secret } = sandbox.ready;
  const { text, html } = await get("/connect");
  for (const shown of [baseUrl, storeId, `svc_test_…${apiKey?.slice(-4)}`]) expect(text).toContain(shown);
  for (const path of PAGES) {
    const page = await get(path);
    expect([path, page.html.includes(secret), page.html.includes(apiKey ?? "")]).toEqual([
      path,
      false,
      false,
    ]);
  }
  expect(html).toContain("export CHECKOUT_API_KEY=&#39;svc_test_…&#39;");
});

test("a new key and the signing secret are shown once after a click, and are gone after a reload", async () => {
  const { sandbox, portal, home, get, read } = await openPortal();
  const { location = "" } = await portal.post(`${home}/connect/key`);
  const made = await portal.get(location);
  const [key = ""] = /svc_test_\w{33}/.exec(made.html) ?? [];
  expect(key).not.toBe("");
  expect(location).not.toContain(key);
  expect((await portal.get(location)).html).not.toContain(key);
  const answer = await sandbox.request({
    path: "/v1/checkout-sessions/0199a3c4-5d00-7000-8000-000000000001",
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(answer.status).toBe(404);
  expect((await read<{ keys: unknown[] }>("keys", "list")).keys).toHaveLength(2);

  const secret = await portal.post(`${home}/connect/secret`);
  expect((await portal.get(secret.location ?? "")).html).toContain(sandbox.ready.signing_secret);
  expect((await portal.get(secret.location ?? "")).html).not.toContain(sandbox.ready.signing_secret);
  expect((await get("/connect")).html).not.toContain(sandbox.ready.signing_secret);
});

test("the Connect page has a tab of snippets for each language, and the tabs work without JavaScript", async () => {
  const { get } = await openPortal();
  const first = await get("/connect");
  for (const [id, words] of [
    ["cli", "npx checkout orders create"],
    ["curl", "openssl dgst -sha256"],
    ["node", 'from "hosted-checkout/webhooks"'],
    ["python", "def is_genuine(secrets"],
    ["php", "function is_genuine(array"],
  ] as const) {
    expect(first.html).toContain(`/connect?in=${id}#code"`);
    expect((await get(`/connect?in=${id}`)).text).toContain(words);
  }
  expect((await get("/connect?in=cobol")).text).toContain("npx checkout orders create");
});

test("the Connect page ticks each of the first steps when it is done", async () => {
  const { harness, act, create, get, run } = await openPortal();
  const done = async (): Promise<number> =>
    ((await get("/connect")).html.match(/<li class="done">/g) ?? []).length;
  expect(await done()).toBe(0);
  await create("order-1");
  expect(await done()).toBe(1);
  await run("trigger", "order.succeeded", "--order-id", "order-2");
  expect(await done()).toBe(2);
  const answers = { status: 500 };
  harness.occupy(3000, {
    answer: () => Promise.resolve({ status: answers.status, headers: {}, body: "" }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  await run("endpoints", "add", "http://localhost:3000/hooks");
  await create("order-3");
  await act("/clock", { action: "advance", by: "1s" });
  expect((await get("/connect")).text).toContain("3/5");
  answers.status = 204;
  await act("/clock", { action: "advance", by: "10m" });
  expect((await get("/connect")).text).toContain("4/5");
  expect((await harness.run(["checklist", "run", "webhooks"])).code).not.toBe(0);
  const all = await get("/connect");
  expect(all.text).toContain("5/5");
  expect(all.text).not.toContain("checkout trigger order.succeeded");
});

test("the Catalog page adds and retires prices in minor units, and lists the missing capabilities of each price", async () => {
  const { act, get, read, refused } = await openPortal();
  const price = { price_id: "oolong", amount_minor: "700", currency: "gbp", payment_method: "alipay_plus" };
  const added = await act("/catalog", { ...price, description: "First flush", approved: "yes" });
  const [approved, notApproved] = [COMMON_TEXTS.approved, COMMON_TEXTS.notApproved].map(english);
  expect(added.text).toContain(
    `oolong First flush £7.00 700 alipay_plus ${approved} ${english(CATALOG_TEXTS.lacks("GBP"))}`,
  );
  await act("/catalog", { ...price, price_id: "assam", description: "" });
  expect((await get("/catalog")).text).toContain(`assam £7.00 700 alipay_plus ${notApproved}`);
  expect(await refused("/catalog", { ...price, price_id: "sencha", amount_minor: "7.50" })).toEqual([
    400,
    expect.stringMatching(/7\.50 GBP.*750.*"7\.50"/),
  ]);
  expect(await refused("/catalog", { ...price, amount_minor: "800" })).toEqual([409, expect.any(String)]);
  expect(added.text).toContain(english(CATALOG_TEXTS.retireQuestion("oolong")));
  await act("/catalog/retire", { price_id: "oolong" });
  const { prices } = await read<{ prices: { id: string; retired: boolean }[] }>("prices", "list");
  expect(prices.find(({ id }) => id === "oolong")?.retired).toBe(true);
  expect(prices.some(({ id }) => id === "sencha")).toBe(false);
});

test("the Keys page creates a key with scopes and revokes it, and warns before the last active key is revoked", async () => {
  const { portal, home, act, get, read } = await openPortal();
  const { location = "" } = await portal.post(`${home}/keys`, { "checkout_sessions:read": "yes" });
  expect((await portal.get(location)).html).toMatch(/svc_test_\w{33}/);
  expect((await portal.get(location)).html).not.toMatch(/svc_test_\w{33}/);
  type Keys = { keys: { key_id: string; scopes: string[]; revoked_at: string | null }[] };
  const [first, second] = (await read<Keys>("keys", "list")).keys;
  expect(second?.scopes).toEqual(["checkout_sessions:read"]);
  await act(`/keys/${second?.key_id}/revoke`);
  const { text } = await get("/keys");
  expect(text).toContain(english(KEYS_TEXTS.revoked));
  expect(text).toContain(english(KEYS_TEXTS.revokeLast));
  expect((await read<Keys>("keys", "list")).keys.map((key) => key.revoked_at !== null)).toEqual([
    false,
    true,
  ]);
  expect((await portal.post(`${home}/keys`)).status).toBe(400);
  expect((await portal.post(`${home}/keys/${first?.key_id.replace(/^./, "f")}/revoke`)).status).toBe(404);
});

test("the Settings page adds and removes return origins with paths, and says what is wrong with an invalid origin", async () => {
  const { act, read, refused } = await openPortal();
  const added = await act("/settings/return-origins", { origin: "https://shop.example", path: "/thanks" });
  expect(added.text).toContain("https://shop.example /thanks");
  expect(added.text).toContain(english(SETTINGS_TEXTS.removeQuestion("https://shop.example")));
  expect(await refused("/settings/return-origins", { origin: "http://shop.example" })).toEqual([
    400,
    expect.stringMatching(refusalText("bad_return_origin")),
  ]);
  await act("/settings/return-origins/remove", { origin: "https://shop.example" });
  expect((await read<{ return_origins: unknown[] }>("return-origins", "list")).return_origins).toEqual([]);
});

test("the Settings page shows the sandbox's settings, with the options that change them", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "7/s", "--delivery-schedule", "0s,1s"]);
  const portal = await signedIn(harness, sandbox);
  const { text } = await portal.get(`${portal.home}/settings`);
  const [changed] = SETTINGS_TEXTS.changed;
  expect(text).toContain(`--rate-limit 7/s ${changed}`);
  expect(text).toContain(`--delivery-schedule 0s,1s ${changed}`);
  expect(text).toContain("--delivery-timeout 15s --");
});

function refusalOfSpan(text: string): string {
  const parsed = parseSpan(text);
  return parsed.ok ? "" : parsed.refusal.message;
}

test("the Clock page lists due work, and reports the results of a clock move once", async () => {
  const { portal, home, act, create, get, refused, read } = await openPortal();
  await create("order-1");
  await create("order-2");
  const { counts, expiry, became } = CLOCK_TEXTS;
  expect((await get("/clock")).text).toContain(english(counts("2", "2")));
  expect((await get("/clock")).text).toContain(`${english(expiry)} order-1`);
  const { location = "" } = await portal.post(`${home}/clock`, { action: "advance", by: "2h" });
  const moved = await portal.get(location);
  const [created, expired] = [COMMON_TEXTS.statuses.created, COMMON_TEXTS.statuses.expired].map(english);
  expect(moved.text).toContain(
    `${english(became(2))} ${expired} 2026-01-15 13:00:00 order-1 ${created} → ${expired}`,
  );
  expect(moved.text).toContain(english(counts("0", "0")));
  expect((await get("/clock")).text).not.toContain(`${created} → ${expired}`);
  expect((await get("/clock")).text).toContain(english(CLOCK_TEXTS.apart("+2h")));
  expect((await act("/clock", { action: "freeze" })).text).toContain(english(FRAME_TEXTS.frozen));
  const set = await act("/clock", { action: "set", to: "2030-05-06T07:08:09Z" });
  expect(set.text).toContain("2030-05-06 07:08:09");
  expect((await act("/clock", { action: "real" })).text).not.toContain(english(CLOCK_TEXTS.difference));
  for (const by of ["", "2 h", "soon", "-1h"])
    expect(await refused("/clock", { action: "advance", by })).toEqual([
      400,
      expect.stringContaining(refusalOfSpan(by)),
    ]);
  expect((await refused("/clock", { action: "set", to: "2030-02-31T00:00:00Z" }))[0]).toBe(400);
  expect((await refused("/clock", { action: "advance", by: "999d" }))[0]).toBe(400);
  expect((await read<{ frozen: boolean }>("sandbox", "clock", "show")).frozen).toBe(false);
});

test("the list of due work on the Clock page is limited, and says that more work is due", async () => {
  const { harness, sandbox, get } = await openPortal();
  for (let number = 1; number <= 101; number += 1) {
    const body = JSON.stringify({ order_id: `order-${number}`, price_id: "price_coffee" });
    const headers = { "Idempotency-Key": `the-key-of-order-${number}` };
    expect((await sandbox.request({ path: "/v1/orders", body, headers })).status).toBe(201);
    harness.clock.advance(300);
  }
  const { text } = await get("/clock");
  expect(text).toContain(english(CLOCK_TEXTS.counts("99+", "99+")));
  expect(text).toContain(english(CLOCK_TEXTS.listed(25)));
});

test("the Clock page says how many webhooks a clock move delivered to each endpoint, and how many failed", async () => {
  const { harness, portal, home, create, run } = await openPortal();
  const answer = { status: 200, headers: {}, body: "" };
  harness.occupy(3000, { answer: () => Promise.resolve({ ...answer }), refuse: () => answer });
  await run("endpoints", "add", "http://localhost:3000/hooks");
  await create("order-1");
  await create("order-2");
  await harness.clock.sleep(1000);
  const hooks = "→ http://localhost:3000/hooks";
  const advance = async (): Promise<string> => {
    const { location = "" } = await portal.post(`${home}/clock`, { action: "advance", by: "2h" });
    return (await portal.get(location)).text;
  };
  expect(await advance()).toContain(`${hooks} ${english(CLOCK_TEXTS.delivered(2, "200"))}`);
  await create("order-3");
  await harness.clock.sleep(1000);
  answer.status = 503;
  const failed = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((count) => CLOCK_TEXTS.notDelivered(count, "503"));
  const told = await advance();
  expect(failed.filter((words) => told.includes(`${hooks} ${english(words)}`))).toHaveLength(1);
});

test("a due webhook on the Clock page links to the page of its delivery", async () => {
  const { create, get, run } = await openPortal();
  await run("endpoints", "add", "http://localhost:3000/hooks");
  await create("order-1");
  const { html, text } = await get("/clock");
  expect(text).toContain(`${english(CLOCK_TEXTS.delivery)} order.created → http://localhost:3000/hooks`);
  expect(html).toMatch(/\/webhooks\/deliveries\/[0-9a-f-]{36}"/);
});

test("the fault form lists the actions in groups, and then has only the fields of the chosen action", async () => {
  const { get } = await openPortal();
  const names = ({ html }: { readonly html: string }): readonly string[] => {
    const [, form = ""] =
      /<form method="post" action="[^"]*\/faults" class="act" id="do[^"]*">(?=[^]*?until)([^]*?)<\/form>/.exec(
        html,
      ) ?? [];
    return Array.from(form.matchAll(/<(?:input|select)[^>]* name="(\w+)"/g), ([, name = ""]) => name).filter(
      (name) => name !== "token",
    );
  };
  const plain = await get("/faults");
  expect(plain.text).toMatch(inOrder(FAULTS_TEXTS.chooseAction, FAULTS_TEXTS.groups.answers.title));
  expect((await get("/faults?action=drop")).html).toContain('<option value="order.succeeded"');
  for (const action of FAULT_ACTIONS) expect(plain.html).toContain(`/faults?action=${action}#add"`);
  expect(names(await get("/faults?action=status"))).toEqual([
    "action",
    "status",
    "order_id",
    "method",
    "path",
    "times",
    "until",
    "nth",
    "probability",
    "seed",
  ]);
  expect(names(await get("/faults?action=drop"))).toEqual([
    "action",
    "order_id",
    "event_type",
    "event_id",
    "endpoint_id",
    "times",
    "until",
    "nth",
    "probability",
    "seed",
  ]);
  expect(names(await get("/faults?action=delay"))).toContain("latency");
  expect((await get("/faults?action=nothing")).text).toContain(english(FAULTS_TEXTS.chooseAction));
});

test("the Faults page adds a fault with every field, lists it with its counts, and removes it", async () => {
  const { act, create, get, read, refused } = await openPortal();
  const none = { times: "", until: "", latency: "", order_id: "" };
  const added = await act("/faults", {
    ...none,
    action: "status",
    status: "502",
    method: "POST",
    path: "/v1/orders",
    order_id: "order-7*",
    nth: "2",
    probability: "1",
    times: "3",
    until: "10m",
    seed: "tea",
  });
  expect(added.text).toMatch(inOrder("status 502 POST, /v1/orders, order-7*, ", " 2, 1 ", "tea 0 0 3"));
  await create("order-71");
  expect((await get("/faults")).text).toMatch(inOrder("order-7*", "tea", " 1 0 3"));
  type Faults = { faults: { id: string; until: string; created_at: string; match: { nth: number } }[] };
  const [fault] = (await read<Faults>("faults", "list")).faults;
  expect(Date.parse(fault?.until ?? "") - Date.parse(fault?.created_at ?? "")).toBe(600_000);
  await act("/faults", { ...none, action: "delay", latency: "3s", event_type: "order.succeeded" });
  expect((await get("/faults")).text).toContain("delay 3s order.succeeded");
  expect((await act(`/faults/${fault?.id}/remove`)).text).not.toContain("order-7*,");
  expect((await act("/faults", { profile: "flaky-network" })).text).toMatch(inOrder("lose_request", "0.1 "));
  for (const [fields, why] of [
    [{ action: "delay", latency: "3 s" }, refusalText("duration_form", { received: '"3 s"' })],
    [{ action: "delay", probability: "2" }, refusalText("field_form", { received: '"2"' })],
    [{ action: "delay", until: "soon" }, refusalText("field_form", { received: '"soon"' })],
    [{ action: "delay", status: "500" }, refusalText("fault_parameter", { actions: "status" })],
    // A sentence of zod.
    [{ action: "explode" }, /Invalid option/],
  ] as const)
    expect(await refused("/faults", { ...none, ...fields })).toEqual([400, expect.stringMatching(why)]);
  const cleared = await act("/faults/clear");
  expect(cleared.text).toContain(english(FAULTS_TEXTS.none));
  expect((await read<Faults>("faults", "list")).faults).toEqual([]);
});

test("a new store shows its key once, on its Connect page", async () => {
  const { portal, home, get } = await openPortal();
  const { location = "" } = await portal.post(`${home}/stores`, { name: "Tea Shop", merchant: "new" });
  expect(location).toMatch(/^\/portal\/[0-9a-f-]{36}\/connect\?shown=/);
  expect(location.startsWith(home)).toBe(false);
  const first = await portal.get(location);
  expect(first.html).toMatch(/svc_test_\w{33}/);
  expect((await portal.get(location)).html).not.toMatch(/svc_test_\w{33}/);
  expect((await get("/stores")).text).toMatch(/Tea Shop/);
  expect((await portal.post(`${home}/stores`, { name: "default" })).status).toBe(400);
});

test("a store is reset or deleted only after the user typed its name", async () => {
  const { sandbox, portal, home, create, get, read, refused, run } = await openPortal();
  const { store_name: ownName } = sandbox.ready;
  await create("order-1");
  const storeId = home.replace("/portal/", "");
  const orders = async (): Promise<number> =>
    (await read<{ checkouts: unknown[] }>("orders", "list")).checkouts.length;
  expect(await refused("/portal/stores/reset", { store: storeId, name: ownName.toLowerCase() })).toEqual([
    400,
    expect.stringMatching(refusalText("store_name_differs")),
  ]);
  expect(await orders()).toBe(1);
  const done = await portal.post("/portal/stores/reset", { store: storeId, name: ownName });
  expect([done.status, done.location?.replace(/\?said=.*/, "")]).toEqual([303, `${home}/stores`]);
  expect(await orders()).toBe(0);

  await run("stores", "create", "--name", "Tea Shop");
  const { html } = await get("/stores");
  const [, other = ""] = /href="(\/portal\/[0-9a-f-]{36})\/start">Tea Shop/.exec(html) ?? [];
  expect((await refused(`${other}/delete`, { name: ownName }))[0]).toBe(400);
  expect((await portal.act(`${other}/delete`, { name: "Tea Shop" })).text).toContain(
    english(NOTICE_TEXTS.storeDeleted("Tea Shop")),
  );
  expect((await portal.get(`${other}/connect`)).status).toBe(404);
  expect((await refused("/delete", { name: ownName }))[0]).toBe(409);
});

test("the Stores page creates, lists, restores and removes snapshots", async () => {
  const { portal, act, create, get, read, refused } = await openPortal();
  await create("order-1");
  expect((await act("/snapshots", { name: "before" })).text).toContain(english(NOTICE_TEXTS.taken("before")));
  const again = await act("/snapshots", { name: "before" });
  expect(again.text).toContain(english(NOTICE_TEXTS.takenAgain("before")));
  expect((await act("/snapshots/all", { name: "everything" })).text).toContain("everything");
  await create("order-2");
  expect((await get("/stores")).text).toContain("before");
  const { text: kinds } = await get("/stores");
  const { thisStore, wholeSandbox, restoreQuestion, details } = STORES_TEXTS;
  for (const [name, content] of [
    ["before", thisStore],
    ["everything", wholeSandbox],
  ] as const) {
    expect(kinds).toMatch(new RegExp(`${name} ${english(content)} 2026-01-15 12:00:00 \\d+ KiB`));
    expect(kinds).toContain(english(restoreQuestion(name, content)));
  }
  expect(kinds).not.toContain(english(details));
  const restored = await portal.post("/portal/snapshots/restore", { name: "before" });
  expect(restored.location).toMatch(/\/stores\?said=[\w-]+$/);
  const { text } = await portal.get(restored.location ?? "");
  expect(text).toContain(english(NOTICE_TEXTS.restored(1)));
  type Orders = { checkouts: { order_id: string }[] };
  expect((await read<Orders>("orders", "list")).checkouts.map(({ order_id: id }) => id)).toEqual(["order-1"]);
  await create("order-3");
  expect((await portal.act("/portal/snapshots/restore", { name: "everything" })).status).toBe(200);
  expect((await read<Orders>("orders", "list")).checkouts).toHaveLength(1);
  await act("/snapshots/remove", { name: "before" });
  expect((await refused("/portal/snapshots/restore", { name: "before" }))[0]).toBe(404);
  expect((await refused("/snapshots", { name: "../etc" }))[0]).toBe(400);
});

test("the description of a price and the typed text of a refused fault form are escaped", async () => {
  const { act, portal, home } = await openPortal();
  const hostile = `<img src=x onerror=1>"'\u202e`;
  await act("/catalog", {
    price_id: "hostile",
    amount_minor: "1",
    currency: "EUR",
    payment_method: "alipay_plus",
    description: `<b>${"x".repeat(20)}</b>`,
  });
  const { html } = await portal.get(`${home}/catalog`);
  expect(html).not.toContain("<b>x");
  expect(html).toContain("&lt;b&gt;x");
  const refused = await portal.post(`${home}/faults`, { action: "delay", until: hostile });
  expect(refused.html).not.toMatch(/<img|\u202e/);
});

test("the pages of a second store show the command that makes all later commands use that store", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const portal = await signedIn(harness, sandbox);
  const { stdout } = await harness.run(["stores", "create", "--name", "Tea", "--json"]);
  const { store_id: tea } = JSON.parse(stdout) as { readonly store_id: string };
  expect((await portal.get(`${portal.home}/checkouts`)).text).not.toContain("checkout stores use");
  expect((await portal.get(`/portal/${tea}/checkouts`)).text).toContain(`checkout stores use ${tea}`);
  await harness.run(["stores", "use", tea]);
  await harness.run(["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"]);
  expect((await portal.get(`/portal/${tea}/checkouts`)).text).toContain("order-1");
});
