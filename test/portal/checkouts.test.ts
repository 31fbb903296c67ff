import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createHarness, EPHEMERAL, type Harness, type RunningSandbox } from "../support/harness.ts";
import { askPortal } from "../support/portal-sign-in.ts";
import { signedIn, textOf, type Page } from "../support/portal.ts";
import { linesOf } from "../support/portal-story.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { deliveryCause } from "../support/delivery-causes.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { ageText } from "../../src/core/explain/last.ts";
import { spanText } from "../../src/core/explain/span.ts";
import { english, type Words } from "../../src/core/language.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { CHECKOUTS_TEXTS } from "../../src/sandbox/pages/portal/checkout/texts.ts";
import { REQUEST_TEXTS } from "../../src/sandbox/pages/portal/request/texts.ts";
import { FAULT_SIGNATURES, WEBHOOK_TEXTS } from "../../src/sandbox/pages/portal/webhook/texts.ts";

type Entry = { readonly text: string; readonly of: string | null; readonly at: string };

const TERMS = { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
const NO_JAVASCRIPT = { Authorization: "", "Sec-Fetch-Site": "same-origin" };

/** A sandbox with a merchant's receiver, and a browser signed in to its portal. */
async function openShop(harness: Harness = createHarness()) {
  const sandbox = await harness.start(EPHEMERAL);
  const portal = await signedIn(harness, sandbox);
  const answer = { status: 204, body: "" };
  harness.occupy(3000, {
    answer: () => Promise.resolve({ headers: {}, ...answer }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  const create = async (body: object, key = "the-first-key", path = "/v1/orders"): Promise<string> => {
    const created = await sandbox.request({
      path,
      headers: { "Idempotency-Key": key },
      body: JSON.stringify(body),
    });
    const { data } = JSON.parse(String(created.body)) as { readonly data?: { readonly id: string } };
    return data?.id ?? "";
  };
  const show = (id: string): Promise<Page> => portal.get(`${portal.home}/checkouts/${id}`);
  const explain = async (
    id: string,
  ): Promise<{ summary: string; entries: readonly Entry[]; next: string[] }> => {
    const { stdout } = await harness.run(["explain", id, "--json"]);
    return JSON.parse(stdout) as { summary: string; entries: readonly Entry[]; next: string[] };
  };
  return { harness, sandbox, portal, answer, create, show, explain };
}

/** Reports a view of the payment page, as its script does. */
async function tellView(sandbox: RunningSandbox, id: string, kind: string): Promise<void> {
  const html = String((await sandbox.request({ path: `/pay/${id}`, headers: { Authorization: "" } })).body);
  const [, to = "", token = ""] = /<page-views hidden to="([^"]+)" token="([^"]+)"/.exec(html) ?? [];
  const { status } = await sandbox.request({
    path: to,
    headers: { ...NO_JAVASCRIPT, "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ kind, token }).toString(),
  });
  expect(status).toBe(204);
}

test("the page of a checkout links to the order's other checkouts", async () => {
  const { harness, portal, create, show } = await openShop();
  const first = await create(TERMS);
  expect((await show(first)).text).not.toContain(CHECKOUTS_TEXTS.allOfOrder("1")[0]);
  await harness.run(["sandbox", "pay", first, "--outcome", "expired"]);
  const second = await create(TERMS, "the-second-key");
  for (const id of [first, second]) {
    const [ofOrder] = CHECKOUTS_TEXTS.allOfOrder("2");
    const [before = ""] = (await show(id)).html.split(`>${ofOrder}<`);
    const [address = ""] = before.match(/(?<=<a href=")[^"]+(?="\s*$)/) ?? [];
    const { html } = await portal.get(address.replaceAll("&amp;", "&"));
    expect([html.includes(`checkouts/${first}`), html.includes(`checkouts/${second}`)]).toEqual([true, true]);
  }
});

test("a checkout's page shows the story that checkout explain prints, line for line", async () => {
  const { harness, sandbox, answer, create, show, explain } = await openShop();
  await harness.run(["return-origins", "add", "https://shop.example", "--path", "/thanks"]);
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  await create({ ...TERMS, currency: "eur" });
  await harness.clock.sleep(1000);
  const id = await create(TERMS);
  await harness.clock.sleep(8000);
  await tellView(sandbox, id, "opened");
  await harness.clock.sleep(12_000);
  Object.assign(answer, { status: 500, body: "TypeError: x is undefined\n  at shop.js" });
  await harness.run(["sandbox", "pay", id, "--outcome", "succeeded"]);
  await harness.clock.sleep(1000);
  Object.assign(answer, { status: 204, body: "" });
  await harness.clock.sleep(30_000);
  await tellView(sandbox, id, "returned");
  await harness.clock.sleep(8000);
  await create({ ...TERMS, amount_minor: 2999 });

  const page = await show(id);
  expect(page.status).toBe(200);
  const told = await explain(id);
  expect((await explain("order-1001")).entries).toEqual(told.entries);
  expect(linesOf(page)).toEqual(
    told.entries.map(({ at, text, of }) => ({ at, text: text.replace("  ", " "), isUnder: of !== null })),
  );
  const [hooks, key] = ["→ localhost:3000/hooks", EXPLAIN_SENTENCES.byKey("the-first-key")];
  const arrived = (at: string, seconds: number) =>
    [EXPLAIN_SENTENCES.arrived(at), EXPLAIN_SENTENCES.afterEvent(spanText(seconds * 1000, english))] as const;
  const lines = [
    ["POST /v1/orders: 400 invalid_parameter", key],
    ["POST /v1/orders: 201", key],
    ["order.created"],
    [hooks, "204", ...arrived("2026-01-15T12:00:09.000Z", 8)],
    [EXPLAIN_SENTENCES.pageOpened],
    ["order.pending", EXPLAIN_SENTENCES.attempt(1)],
    [hooks, "500", "204", ...arrived("2026-01-15T12:00:52.000Z", 31)],
    [EXPLAIN_SENTENCES.attemptEnded(1, "succeeded", 0)],
    ["order.succeeded"],
    [hooks, "204", ...arrived("2026-01-15T12:00:52.000Z", 31)],
    [EXPLAIN_SENTENCES.browserReturned("https://shop.example/thanks")],
    ["POST /v1/orders: 409 idempotency_key_reused", key, "amount_minor 1999 → 2999"],
  ];
  expect(linesOf(page).map(({ text }) => text)).toEqual(
    lines.map((parts) => expect.stringMatching(inOrder(/^/, ...parts, /$/))),
  );
  expect(page.html).not.toContain('<p class="hint">order');
  const { alipay_plus: method } = PAYMENT_TEXTS.method;
  expect(page.text).toMatch(inOrder("€19.99", method));
  for (const part of [CHECKOUTS_TEXTS.isFinal.succeeded, CHECKOUTS_TEXTS.openPage])
    expect(page.text).toContain(english(part));
  for (const part of [id, "checkout explain order-1001"]) expect(page.text).toContain(part);
});

/** The labels of the enabled and of the disabled buttons. */
function buttonsOf({ html }: Page): { can: string[]; cannot: string[] } {
  const section = /<section class="acts">.*?<\/section>/s.exec(html)?.[0] ?? "";
  const labels = (which: RegExp): string[] =>
    [...section.matchAll(which)].map(([, label = ""]) => textOf(label));
  return {
    can: labels(/<button type="submit"[^>]*>(.*?)<\/button>/gs),
    cannot: labels(/<button\s+type="button"\s+disabled[^>]*>(.*?)<\/button>/gs),
  };
}

const OUTCOMES = Object.values(CHECKOUTS_TEXTS.outcomes).map(english);
const LATE = english(CHECKOUTS_TEXTS.late);

test("every action on a checkout's page works, and a refused action changes nothing", async () => {
  const { portal, create, show } = await openShop();
  const { isFinal, notLate, done: doneAt } = CHECKOUTS_TEXTS;
  for (const outcome of ["succeeded", "failed", "cancelled", "expired"] as const) {
    const id = await create({ ...TERMS, order_id: `order-${outcome}` }, `key-of-${outcome}`);
    const before = await show(id);
    expect(buttonsOf(before)).toEqual({ can: OUTCOMES, cannot: [LATE] });
    expect(before.text).toContain(english(notLate.open));
    const done = await portal.act(`${portal.home}/checkouts/${id}/pay`, { outcome });
    expect(done.text).toMatch(inOrder(doneAt("{at}"), COMMON_TEXTS.statuses[outcome]));
    const after = await show(id);
    expect(buttonsOf(after)).toEqual({ can: [], cannot: [...OUTCOMES, LATE] });
    const late = outcome === "succeeded" ? notLate.paid : notLate.noAttempt;
    for (const part of [`order.${outcome}`, english(isFinal[outcome]), english(late)])
      expect(after.text).toContain(part);
    // The action is sent from a page that was loaded before the change.
    const again = await portal.post(`${portal.home}/checkouts/${id}/pay`, { outcome: "cancelled" });
    expect([again.status, again.location]).toEqual([409, undefined]);
    expect((await show(id)).text).toBe(after.text);
  }
  const declined = await create({ ...TERMS, order_id: "order-declined" }, "key-of-declined");
  const once = await portal.act(`${portal.home}/checkouts/${declined}/pay`, { outcome: "declined" });
  expect(linesOf(once).map(({ text }) => text)).toContain(
    english(EXPLAIN_SENTENCES.attemptEnded(1, "declined", 4)),
  );
  expect(buttonsOf(once).can).toEqual(OUTCOMES);
  const wrong = await portal.post(`${portal.home}/checkouts/${declined}/pay`, { outcome: "late" });
  expect([wrong.status, wrong.text.includes("outcome")]).toEqual([400, true]);
});

test("a payment that was in progress when its checkout expired can succeed late, but only once", async () => {
  const { sandbox, portal, create, show } = await openShop();
  const id = await create(TERMS);
  const pay = String((await sandbox.request({ path: `/pay/${id}`, headers: { Authorization: "" } })).body);
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(pay) ?? [];
  await sandbox.request({
    path: `/pay/${id}/start`,
    headers: { ...NO_JAVASCRIPT, "Content-Type": "application/x-www-form-urlencoded" },
    body: `token=${token}`,
  });
  const expired = await portal.act(`${portal.home}/checkouts/${id}/pay`, { outcome: "expired" });
  expect(buttonsOf(expired)).toEqual({ can: [LATE], cannot: OUTCOMES });
  const late = await portal.act(`${portal.home}/checkouts/${id}/pay`, { outcome: "succeeded" });
  expect(late.text).toContain(english(EXPLAIN_SENTENCES.attemptLate(1, "succeeded")));
  expect(late.text).toContain(english(CHECKOUTS_TEXTS.notLate.recorded));
  expect(buttonsOf(await show(id)).can).toEqual([]);
});

test("an expanded line of a story shows bytes, headers, curl, signature, answer, likely cause and differences, and can replay its event", async () => {
  const { harness, portal, answer, create, show, sandbox } = await openShop();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  Object.assign(answer, { status: 400, body: '{"why":"bad signature"}' });
  const id = await create(TERMS);
  await harness.clock.sleep(1000);
  await create({ ...TERMS, description: "It's a box" });
  const { html, text } = await show(id);
  for (const part of [
    "Authorization: Bearer …",
    `curl -i "$CHECKOUT_BASE_URL/orders" -H "Authorization: Bearer $CHECKOUT_API_KEY" -H 'Content-Type: application/json' -H 'Idempotency-Key: the-first-key' --data-raw`,
    '--data-raw \'{"order_id":"order-1001","amount_minor":1999',
    `It'"'"'s a box`,
    `description ${english(REQUEST_TEXTS.absent)} It's a box`,
    english(WEBHOOK_TEXTS.signedBy.store),
    english(WEBHOOK_TEXTS.verifies),
    english(deliveryCause("400")),
    "Checkout-Timestamp: 1768478401",
    "checkout webhooks verify --payload-file body.json --timestamp 1768478401 --signature",
  ])
    expect(text).toContain(part);
  expect(text).toMatch(inOrder("400", '{ "why": "bad signature" }', '{"why":"bad signature"}'));
  expect(text).toMatch(/checkout endpoints secret [0-9a-f-]{36}/);
  expect(html).not.toContain(sandbox.ready.api_key);
  expect(html).not.toContain(sandbox.ready.signing_secret);
  const anchors = [...html.matchAll(/ id="([^"]+)"/g)].map(([, anchor = ""]) => anchor);
  expect(new Set(anchors).size).toBe(anchors.length);
  for (const [, target = ""] of html.matchAll(/class="at" href="#([^"]+)"/g))
    expect(anchors).toContain(target);

  const [, replay = ""] = /action="([^"]+\/replay[^"]*)"/.exec(html) ?? [];
  const { location } = await portal.post(replay);
  expect(location).toMatch(
    new RegExp(`^${portal.home}/checkouts/${id}\\?said=[0-9a-f-]{36}#event-[0-9a-f-]{36}$`),
  );
  await harness.clock.sleep(1000);
  const after = await show(id);
  expect(
    linesOf(after).filter(
      ({ isUnder, text: line }) =>
        isUnder && line.includes(`; ${english(EXPLAIN_SENTENCES.called.replay)}: 400`),
    ),
  ).toHaveLength(1);
  expect(after.text.split(`${english(EXPLAIN_SENTENCES.numbered(1))}: 400`)).toHaveLength(3);
});

test("a checkout's page says that a delivery's signature is invalid because of an injected fault", async () => {
  const { harness, create, show } = await openShop();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  await harness.run(["faults", "add", "bad_signature"]);
  const id = await create(TERMS);
  await harness.clock.sleep(1000);
  const { text, html } = await show(id);
  expect(text).toMatch(inOrder(FAULT_SIGNATURES.bad_signature, WEBHOOK_TEXTS.verifiesNot("{reason}")));
  expect(html).toContain(`<b class="s2xx">204</b>${english(EXPLAIN_SENTENCES.byFault("bad_signature"))}`);
});

test("the list of checkouts keeps its filters in the URL, and has pages of 50 rows without gaps or repeats", async () => {
  const { harness, portal, create } = await openShop();
  const made: string[] = [];
  for (let count = 0; count < 120; count += 1) {
    const rare = count % 60 === 7;
    made.push(
      await create(
        {
          ...TERMS,
          order_id: `order-${count}`,
          payment_method: rare ? "wechat_pay" : "alipay_plus",
          description: `Ticket ${count}`,
        },
        `key-of-order-${count}`,
        rare ? "/v1/checkout-sessions" : "/v1/orders",
      ),
    );
    harness.clock.advance(1000);
  }
  const idsOf = ({ html }: Page): string[] =>
    [...html.matchAll(/<tr data-row id="checkout-([^"]+)"/g)].map(([, id = ""]) => id);
  const seen: string[] = [];
  let pages = 0;
  for (let path = `${portal.home}/checkouts`; path !== ""; pages += 1) {
    const page = await portal.get(path);
    expect(page.status).toBe(200);
    seen.push(...idsOf(page));
    path = /<a href="([^"]+)" rel="next"/.exec(page.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
  }
  expect([pages, seen]).toEqual([3, made.toReversed()]);
  const [first = ""] = seen;
  await portal.post(`${portal.home}/checkouts/${first}/pay`, { outcome: "failed" });
  for (const [query, expected] of [
    ["status=failed", [first]],
    ["method=wechat_pay&object=checkout_session", [made[67], made[7]]],
    [
      "q=order-11&status=&object=&method=",
      made
        .slice(110, 120)
        .toReversed()
        .concat(made[11] ?? ""),
    ],
    ["q=Ticket+100", [made[100]]],
    [`q=${made[5]}`, [made[5]]],
    ["q=no+such+thing", []],
  ] as const) {
    const asked = await portal.get(`${portal.home}/checkouts?${query}`);
    // A redirect removes empty fields from the address.
    expect([asked.status, asked.location ?? ""]).toEqual(
      query.includes("=&") ? [303, `${portal.home}/checkouts?q=order-11`] : [200, ""],
    );
    const page = asked.location === undefined ? asked : await portal.get(asked.location);
    expect([query, idsOf(page)]).toEqual([query, expected]);
    for (const [name, value] of new URLSearchParams(query))
      if (name === "q") expect(page.html).toMatch(new RegExp(`name="q"\\s+value="${value}"`));
      else if (value !== "") expect(page.html).toMatch(new RegExp(`value="${value}"\\s+selected`));
  }
  // The time is in a time element, so that the script can show it in the browser's zone.
  const nothing = await portal.get(`${portal.home}/checkouts?q=no+such+thing`);
  expect(nothing.html).toMatch(inOrder(`${english(CHECKOUTS_TEXTS.searched(120))} <time datetime="`));
  const filtered = await portal.get(`${portal.home}/checkouts?object=order&q=order`);
  expect(filtered.html).toMatch(
    /href="[^"]*checkouts\?q=order&amp;object=order&amp;before=[^"]*" rel="next"/,
  );
  expect((await portal.get(`${portal.home}/checkouts?status=paid`)).status).toBe(400);
  expect((await portal.get(`${portal.home}/checkouts?q=no+such+thing`)).text).toContain(
    english(COMMON_TEXTS.noMatch),
  );
});

test("the form on the list of checkouts creates a test order or session, by price or by amount, and opens its page", async () => {
  const { harness, portal } = await openShop();
  for (const path of ["/checkouts", "/webhooks", "/webhooks/events"])
    expect((await portal.get(`${portal.home}${path}`)).html).toMatch(
      /<form[^>]* action="[^"]*\/checkouts\/test-orders"/,
    );
  expect((await portal.get(`${portal.home}/requests`)).text).toContain(english(COMMON_TEXTS.connect));
  const action = `${portal.home}/checkouts/test-orders`;
  const page = await portal.act(action);
  const [orderId = ""] = /test-[\da-f]{8}/.exec(page.text) ?? [];
  expect(page.text).toMatch(inOrder(COMMON_TEXTS.testOrderMade(orderId), orderId, "order.created"));
  const list = await portal.get(`${portal.home}/checkouts`);
  expect(list.text).toMatch(inOrder(`${orderId} `, COMMON_TEXTS.statuses.created));
  expect(list.text).toContain(`${english(CHECKOUTS_TEXTS.byAmount)} price_bento · JP¥1,200`);
  const made = (fields: Record<string, string>) => portal.act(action, fields);
  const { alipay_plus: method } = PAYMENT_TEXTS.method;
  expect((await made({ price_id: "price_coffee", amount_minor: "", object: "order" })).text).toMatch(
    inOrder("€4.50", method, CHECKOUTS_TEXTS.kinds.order, "price_coffee"),
  );
  expect((await made({ price_id: "", amount_minor: "250", object: "checkout_session" })).text).toMatch(
    inOrder("2.50", method, CHECKOUTS_TEXTS.kinds.checkout_session),
  );
  for (const [fields, said] of [
    [{ price_id: "price_coffee", amount_minor: "250" }, "conflicting_parameters"],
    [{ price_id: "", amount_minor: "2.50" }, "field_form"],
    [{ price_id: "nothing", amount_minor: "" }, "unknown_price"],
  ] as const) {
    const refused = await portal.post(action, fields);
    expect([refused.status, refused.text]).toEqual([400, expect.stringMatching(refusalText(said))]);
    expect(refused.html).toMatch(/<details class="test-order" open/);
  }
  // The log does not have the create, because it is not a request of the merchant's client.
  const { stdout } = await harness.run(["requests", "list", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ requests: [] });
  for (const name of ["alipay_plus", "wechat_pay"]) await harness.run(["admin", "disable-capability", name]);
  expect((await portal.post(`${portal.home}/checkouts/test-orders`)).status).toBe(409);
});

test("the list of checkouts shows the receiver's last answer, and the age of each checkout by the store's clock", async () => {
  const { harness, portal, answer, create } = await openShop();
  const list = async (): Promise<string> => (await portal.get(`${portal.home}/checkouts`)).text;
  expect(await list()).toContain("checkout orders create --order-id order-1001 --price-id price_coffee");
  await create(TERMS);
  const row = (orderId: string, ...rest: readonly (string | Words)[]): RegExp => {
    const { statuses } = COMMON_TEXTS;
    const shown = [`${orderId} €19.99`, statuses.created, PAYMENT_TEXTS.method.alipay_plus, ...rest];
    return inOrder(shown.map((part) => (typeof part === "string" ? part : english(part))).join(" "));
  };
  expect(await list()).toMatch(row("order-1001", CHECKOUTS_TEXTS.noWebhook, EXPLAIN_SENTENCES.justNow));
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  Object.assign(answer, { status: 500 });
  await create({ ...TERMS, order_id: "order-2" }, "another-key");
  await harness.clock.sleep(1000);
  expect(await list()).toMatch(row("order-2", "500", CHECKOUTS_TEXTS.retries, ageText(1000, english)));
  Object.assign(answer, { status: 204 });
  await harness.run(["sandbox", "clock", "advance", "30m"]);
  expect(await list()).toMatch(row("order-2", "204", ageText(1_800_000, english)));
  harness.vacate(3000);
  await create({ ...TERMS, order_id: "order-3" }, "a-third-key");
  await harness.clock.sleep(1000);
  expect(await list()).toMatch(
    row("order-3", COMMON_TEXTS.noAnswer, "unreachable,", CHECKOUTS_TEXTS.retries),
  );
});

test("the list of checkouts counts failed endpoints, in red only if no endpoint accepted the event", async () => {
  const { harness, portal, create } = await openShop();
  const badges = async (): Promise<readonly (readonly string[])[]> => {
    const { html } = await portal.get(`${portal.home}/checkouts`);
    return [...html.matchAll(/<span class="badge (s[245]xx)">([^<]*)</g)].map(([, kind = "", text = ""]) => [
      kind,
      text.trim(),
    ]);
  };
  const answers = [204, 500, 500];
  const { allOk, someFailed } = CHECKOUTS_TEXTS;
  for (const at of answers.keys()) {
    harness.occupy(3001 + at, {
      answer: () => Promise.resolve({ headers: {}, status: answers[at] ?? 204, body: "" }),
      refuse: () => ({ status: 400, headers: {}, body: "" }),
    });
    await harness.run(["endpoints", "add", `http://localhost:${3001 + at}/hooks`]);
  }
  await create(TERMS);
  await harness.clock.sleep(1000);
  expect(await badges()).toEqual([["s4xx", english(someFailed(2, 3))]]);
  answers[0] = 503;
  await create({ ...TERMS, order_id: "order-2" }, "another-key");
  await harness.clock.sleep(1000);
  expect(await badges()).toEqual([
    ["s5xx", english(someFailed(3, 3))],
    ["s4xx", english(someFailed(2, 3))],
  ]);
  answers.fill(200);
  await harness.run(["sandbox", "clock", "advance", "30m"]);
  expect(await badges()).toEqual([
    ["s2xx", english(allOk(3))],
    ["s2xx", english(allOk(3))],
  ]);
});

test("the search opens the page of an id, short id, order_id, idempotency key or price, only in its own store", async () => {
  const { harness, portal, create, sandbox } = await openShop();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  const id = await create(TERMS);
  await harness.clock.sleep(1000);
  await portal.post(`${portal.home}/checkouts/${id}/pay`, { outcome: "failed" });
  const newer = await create(TERMS, "another-key");
  await harness.run(["stores", "create", "--name", "Tea"]);
  const { stores } = JSON.parse((await harness.run(["stores", "list", "--json"])).stdout) as {
    readonly stores: readonly { readonly store_id: string; readonly name: string }[];
  };
  const tea = `/portal/${stores.find(({ name }) => name === "Tea")?.store_id ?? ""}`;
  const { deliveries } = JSON.parse((await harness.run(["deliveries", "list", "--json"])).stdout) as {
    readonly deliveries: readonly {
      readonly id: string;
      readonly event_id: string;
      readonly checkout_id: string;
    }[];
  };
  const [delivery] = deliveries;
  const { requests } = JSON.parse((await harness.run(["requests", "list", "--json"])).stdout) as {
    readonly requests: readonly { readonly request_id: string }[];
  };
  const request = requests[0]?.request_id ?? "";
  const { endpoints } = JSON.parse((await harness.run(["endpoints", "list", "--json"])).stdout) as {
    readonly endpoints: readonly { readonly id: string }[];
  };
  const endpoint = endpoints[0]?.id ?? "";
  await harness.run(["endpoints", "test", endpoint]);
  const listed = await harness.run(["events", "list", "--type", "webhook.test", "--json"]);
  const { events } = JSON.parse(listed.stdout) as { readonly events: readonly { event_id: string }[] };
  const ofNoOrder = events[0]?.event_id ?? "";
  const { key_id: key } = JSON.parse((await harness.run(["keys", "create", "--json"])).stdout) as {
    readonly key_id: string;
  };
  const { stdout: fault } = await harness.run(["faults", "add", "lose_answer", "--json"]);
  const [faultId = ""] = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/.exec(fault) ?? [];
  const end = (whole: string): string => whole.slice(-8);
  for (const [text, path] of [
    [endpoint, `/webhooks/endpoints/${endpoint}`],
    [ofNoOrder, `/webhooks/events/${ofNoOrder}`],
    // Short ids, as the tables of the terminal show them.
    [end(id), `/checkouts/${id}`],
    [end(endpoint).toUpperCase(), `/webhooks/endpoints/${endpoint}`],
    [end(ofNoOrder), `/webhooks/events/${ofNoOrder}`],
    [end(delivery?.event_id ?? ""), `/checkouts/${delivery?.checkout_id}#event-${delivery?.event_id}`],
    [end(request), `/requests/${request}`],
    [key, "/keys"],
    [end(faultId), "/faults"],
    [id, `/checkouts/${id}`],
    [` ${id.toUpperCase()} `, `/checkouts/${id}`],
    ["order-1001", `/checkouts/${newer}`],
    ["another-key", `/checkouts/${newer}`],
    [delivery?.id ?? "", `/webhooks/deliveries/${delivery?.id}`],
    [delivery?.event_id ?? "", `/checkouts/${delivery?.checkout_id}#event-${delivery?.event_id}`],
    [request, `/requests/${request}`],
  ] as const) {
    const q = new URLSearchParams({ q: text }).toString();
    expect([text, (await portal.get(`${portal.home}/find?${q}`)).location]).toEqual([
      text,
      `${portal.home}${path}`,
    ]);
    expect((await portal.get(`/portal/find?${q}`)).location).toBe(`${portal.home}${path}`);
    const { status, text: nothing } = await portal.get(`${tea}/find?${q}`);
    expect([status, nothing.includes(english(CHECKOUTS_TEXTS.nothingFound))]).toEqual([200, true]);
  }
  const bad = await sandbox.request({
    method: "POST",
    path: "/v1/orders",
    headers: { "Idempotency-Key": "key-of-a-refused-one" },
    body: JSON.stringify({ ...TERMS, order_id: "refused-order", currency: "eur" }),
  });
  const refused = `${portal.home}/requests/${bad.headers["X-Request-Id"]}`;
  expect((await portal.get(`${portal.home}/find?q=key-of-a-refused-one`)).location).toBe(refused);
  expect((await portal.get(`${portal.home}/checkouts?q=refused-order`)).html).toContain(
    `href="${portal.home}/requests?q=refused-order"`,
  );
  expect((await portal.get(`${portal.home}/requests?q=refused-order`)).html).toContain(refused);
  expect((await portal.get(`${portal.home}/find?q=price_coffee`)).location).toBe(`${portal.home}/catalog`);
  expect((await portal.get(`/portal/find?q=${tea.slice("/portal/".length)}`)).location).toBe(`${tea}/start`);
  const added = await harness.run(["endpoints", "add", "http://localhost:3000/Shop/Hooks", "--json"]);
  const { id: capital } = JSON.parse(added.stdout) as { readonly id: string };
  expect((await portal.get(`${portal.home}/find?q=shop%2FHOOKS`)).location).toBe(
    `${portal.home}/webhooks/endpoints/${capital}`,
  );
  // The terminal prints the merchant's id with each store.
  const merchant = `find?q=${sandbox.ready.merchant_id}`;
  expect((await portal.get(`${portal.home}/${merchant}`)).location).toBe(`${portal.home}/settings`);
  for (const text of ["order 1001 & more", "//evil.example", "\r\nSet-Cookie: a=b"]) {
    const query = new URLSearchParams({ q: text }).toString();
    const { status, location } = await portal.get(`${portal.home}/find?${query}`);
    expect([status, location]).toEqual([200, undefined]);
    const anywhere = await portal.get(`/portal/find?${query}`);
    expect(anywhere.location).toBe(`${portal.home}/find?q=${encodeURIComponent(text.trim())}`);
  }
  expect((await portal.get(`${portal.home}/find`)).location).toBe(`${portal.home}/checkouts`);
  expect((await portal.get(`${tea}/checkouts/${id}`)).status).toBe(404);
  expect((await portal.post(`${tea}/checkouts/${newer}/pay`, { outcome: "succeeded" })).status).toBe(404);
  expect((await portal.get("/portal/019bc186-de00-7000-8000-0000000fffff/find?q=a")).status).toBe(404);
  const anybody = await askPortal(sandbox, {
    path: `${portal.home}/find?q=${id}`,
    headers: { Host: portal.host },
  });
  expect([anybody.status, anybody.headers["Location"]]).toEqual([401, undefined]);
});

test("texts from merchants and receivers are shown as text, never as markup, and control characters are escaped", async () => {
  const { harness, portal, answer, create, show } = await openShop();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  const evil = '<img onerror=alert(1)>"\u202Egnp\u0007';
  Object.assign(answer, { status: 500, body: `${evil}\n<script>alert(2)</script>\u0000` });
  const id = await create({ ...TERMS, order_id: evil, description: `line\nbreak ${evil}` });
  await harness.clock.sleep(1000);
  await create({ ...TERMS, order_id: evil, description: "</pre><h1>" });
  for (const { html, status } of [
    await show(id),
    await portal.get(`${portal.home}/checkouts`),
    await portal.get(`${portal.home}/checkouts?${new URLSearchParams({ q: evil }).toString()}`),
  ]) {
    expect(status).toBe(200);
    expect(html).not.toMatch(/<img|<script>|<\/pre><h1>|\u202e/);
    expect(html.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(html).toContain("&lt;img onerror=alert(1)&gt;&quot;\\u{202e}gnp\\u{7}");
  }
  const { text } = await show(id);
  expect(text).toContain(`checkout explain ${id}`);
  expect(text).toContain("\\u{0}");
});

test("a long story shows its last lines, and says how many earlier lines there are", async () => {
  const { harness, portal, create, show } = await openShop();
  const id = await create(TERMS);
  for (let count = 0; count < 250; count += 1) await create({ ...TERMS, amount_minor: 2000 + count });
  const page = await show(id);
  expect(linesOf(page)).toHaveLength(60);
  // With the shared files, 16 KB, the page stays below 30 KB.
  expect(gzipSync(page.html).length).toBeLessThan(14_000);
  expect(page.text).toContain(`${english(CHECKOUTS_TEXTS.earlier(192))} checkout explain order-1001`);
  expect(linesOf(page).at(-1)?.text).toContain("amount_minor 1999 → 2249");
  await harness.clock.sleep(0);
  expect((await portal.get(`${portal.home}/checkouts/019bc186-de00-7000-8000-0000000fffff`)).status).toBe(
    404,
  );
});

test("the page of a checkout shows the story in Chinese if the browser prefers Chinese", async () => {
  const { sandbox, portal, create } = await openShop();
  const id = await create(TERMS);
  const answer = await askPortal(sandbox, {
    path: `${portal.home}/checkouts/${id}`,
    headers: { Authorization: "", Host: portal.host, Cookie: portal.cookie, "Accept-Language": "zh-CN" },
  });
  const html = String(answer.body);
  const { story, outcomes } = CHECKOUTS_TEXTS;
  const { expires, statusNotes } = EXPLAIN_SENTENCES;
  for (const [, chinese = ""] of [story, outcomes.expired, expires, statusNotes.created ?? []])
    expect(textOf(html)).toContain(chinese);
  expect(textOf(html)).toContain("order.created");
});
