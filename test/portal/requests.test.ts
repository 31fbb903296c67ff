import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { REFUSAL_CHECKS } from "../../src/core/explain/checks.ts";
import type { LoggedRequest } from "../../src/core/request/logged-request.ts";
import { REQUESTS_DDL, requestsTable } from "../../src/store/request/requests.ts";
import { curlOf } from "../../src/core/request/curl.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { english } from "../../src/core/language.ts";
import { COMMON_TEXTS } from "../../src/sandbox/pages/portal/texts.ts";
import { REQUEST_TEXTS } from "../../src/sandbox/pages/portal/request/texts.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { askPortal } from "../support/portal-sign-in.ts";
import { signedIn } from "../support/portal.ts";
import { aLoggedRequest } from "../support/rows.ts";

const UNKNOWN = "00000000-0000-7000-8000-00000000dead";
const CANARY = "svc_test_CanaryCanaryCanaryCanaryCanary1";

async function openSite(start = EPHEMERAL) {
  const harness = createHarness();
  const sandbox = await harness.start(start);
  const portal = await signedIn(harness, sandbox);
  const requests = `${portal.home}/requests`;
  /** Sends a create, and returns its request_id, status and body. */
  const create = async (
    body: object | string,
    {
      key = "key-number-1",
      headers = {},
      path = "/v1/orders",
    }: {
      readonly key?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly path?: string;
    } = {},
  ): Promise<{ readonly id: string; readonly status: number; readonly body: string }> => {
    const answer = await sandbox.request({
      path,
      method: "POST",
      headers: { "Idempotency-Key": key, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
    const { "X-Request-Id": id = "" } = answer.headers;
    return { id, status: answer.status, body: String(answer.body) };
  };
  return { harness, sandbox, portal, requests, create };
}

const ORDER = { order_id: "order-1", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

/** A check with its result, as the text of a page shows both. */
function rung(name: keyof typeof REFUSAL_CHECKS, result: "passed" | "refusedHere" | "notReached"): string {
  return `${REFUSAL_CHECKS[name][0]} : ${REQUEST_TEXTS[result][0]}`;
}

test("the empty request log shows a command that fills it, and the log lists requests newest first, page by page", async () => {
  const { portal, requests, create, harness } = await openSite();
  expect((await portal.get(requests)).text).toContain("checkout orders create --order-id order-1001");
  const ids: string[] = [];
  for (let number = 1; number <= 120; number += 1) {
    const order = number % 10 === 0 ? { ...ORDER, order_id: "" } : { ...ORDER, order_id: `order-${number}` };
    ids.unshift((await create(order, { key: `key-number-${number}` })).id);
    harness.clock.advance(10);
  }
  const newestLink = new RegExp(`<a class="plain" href="([^"]+)">${english(COMMON_TEXTS.newest)}<`);
  const readAll = async (query: string): Promise<string[]> => {
    const found: string[] = [];
    for (let path: string | undefined = `${requests}${query}`; path !== undefined;) {
      const { html, status } = await portal.get(path);
      expect([path, status]).toEqual([path, 200]);
      const shown = [...html.matchAll(/requests\/([\da-f-]{36})"/g)].map(([, id = ""]) => id);
      expect(shown.length).toBeLessThanOrEqual(50);
      found.push(...shown);
      const [, newest] = newestLink.exec(html) ?? [];
      expect([path, newest?.includes("before")]).toEqual([path, path.includes("before") ? false : undefined]);
      path = /<a href="([^"]+)"\s+rel="next"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
    }
    return found;
  };
  expect(await readAll("")).toEqual(ids);
  const refused = ids.filter((_, index) => index % 10 === 0);
  expect(await readAll("?status=4xx")).toEqual(refused);
  expect(await readAll("?status=400&path=/v1/orders")).toEqual(refused);
  expect(await readAll("?q=INVALID_param")).toEqual(refused);
  expect(await readAll("?status=201")).toEqual(ids.filter((id) => !refused.includes(id)));
  expect(await readAll("?path=/v1/checkout")).toEqual([]);
  expect(await readAll("?q=order-77")).toEqual([ids[120 - 77]]);
  expect(await readAll(`?q=${ids[3]}`)).toEqual([ids[3]]);
  for (const query of ["?status=all", "?status=9xx", "?before=x", "?before=-1"])
    expect([query, (await portal.get(`${requests}${query}`)).status]).toEqual([query, 400]);
  const { html } = await portal.get(`${requests}?status=409&path=/v1/o&q=zz`);
  expect(html).toMatch(/<option value="409" selected/);
  expect(html).toContain('value="/v1/o"');
});

test("an open list counts newer rows that match its filter", async () => {
  const { portal, requests, create } = await openSite();
  await create(ORDER);
  const newRows = async (query: string): Promise<string | undefined> =>
    /class="new-rows"[^>]*>(\d*\+?)/.exec((await portal.get(`${requests}?${query}`)).html)?.[1];
  const { html } = await portal.get(requests);
  const [, seen = ""] = /hx-get="[^"]*seen=(\d+)"/.exec(html) ?? [];
  expect([await newRows(""), await newRows(`seen=${seen}`)]).toEqual(["", ""]);
  for (let count = 0; count < 60; count += 1) await create(ORDER, { key: `key-number-${count}-new` });
  await create({ ...ORDER, order_id: "order-2" }, { key: "key-of-order-2" });
  expect(await newRows(`seen=${seen}`)).toBe("50+");
  expect(await newRows(`status=2xx&seen=${seen}`)).toBe("1");
  expect(await newRows(`q=order-3&seen=${seen}`)).toBe("");
  expect(await newRows("seen=nonsense")).toBe("");
});

test("a search for a rare request stops at a limit, says how many requests were searched, and can be continued", async () => {
  const { portal, requests, create, sandbox } = await openSite();
  const first = await create({ ...ORDER, order_id: "needle" });
  for (let number = 0; number < 2100; number += 1)
    await sandbox.request({ path: `/v1/checkout-sessions/${UNKNOWN}`, method: "GET" });
  const looked = await portal.get(`${requests}?q=needle`);
  expect(looked.text).toContain(english(REQUEST_TEXTS.searchedCount(2000)));
  const [, next = ""] = /<a href="([^"]+)"\s+rel="next"/.exec(looked.html) ?? [];
  expect((await portal.get(next.replaceAll("&amp;", "&"))).html).toContain(first.id);
});

test("a search of the request log uses an index, and returns exactly the requests between two positions", () => {
  const connection = new Database(":memory:");
  connection.exec(REQUESTS_DDL);
  const asked: string[] = [];
  const prepare = connection.prepare.bind(connection);
  Object.assign(connection, { prepare: (sql: string) => (asked.push(sql), prepare(sql)) });
  const log = requestsTable(connection);
  log.search("s", 0, { before: 1, limit: 1 });
  const plans = asked
    .filter((sql) => /^SELECT requests .*@before/s.test(sql))
    .map((sql) =>
      connection
        .prepare<object, { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all({ storeId: null, after: null, before: null })
        .map(({ detail }) => detail),
    );
  expect(plans).toEqual([
    [
      "SEARCH request_batches USING PRIMARY KEY (store_id=? AND last>? AND last<?)",
      "SCALAR SUBQUERY 1",
      "SEARCH request_batches USING PRIMARY KEY (store_id=? AND last>?)",
    ],
  ]);
  const request = (position: number): LoggedRequest =>
    aLoggedRequest({ position, requestId: `r-${position}` });
  for (const span of [[1, 2, 3], [4], [5, 6, 7, 8]])
    log.append([{ storeId: "s", requests: span.map(request) }], 100);
  const between = (after: number, before: number, limit = 100): readonly number[] =>
    log.search("s", after, { before, limit }).hits.map(({ position }) => position);
  for (let after = 0; after <= 9; after += 1)
    for (let before = 0; before <= 10; before += 1) {
      const wanted = [8, 7, 6, 5, 4, 3, 2, 1].filter((one) => one > after && one < before);
      expect([after, before, between(after, before)]).toEqual([after, before, wanted]);
      expect(between(after, before, 2)).toEqual(wanted.slice(0, 2));
    }
});

test("the page of a request that was a conflict shows the failed check, the rule and every differing field", async () => {
  const { portal, requests, create, harness } = await openSite([]);
  const made = await create(ORDER);
  const reused = await create({ ...ORDER, amount_minor: 2999 });
  expect([made.status, reused.status]).toEqual([201, 409]);
  const shown = await portal.get(`${requests}/${reused.id}`);
  const told = JSON.parse((await harness.run(["explain", reused.id, "--json"])).stdout) as {
    readonly summary: string;
    readonly expected: string;
    readonly next: readonly string[];
  };
  expect(shown.text).toContain(told.summary);
  expect(shown.text).toContain(told.expected);
  for (const line of told.next) expect(shown.text).toContain(line);
  expect(shown.text).toContain("amount_minor 1999 2999");
  for (const reference of [REQUEST_TEXTS.ruleNumber(21), REQUEST_TEXTS.decisionNumber(5)])
    expect(shown.text).toContain(english(reference));
  expect(shown.text).toContain(
    [rung("content", "passed"), rung("key", "refusedHere"), rung("store", "notReached")].join(" "),
  );
  expect(shown.html).toContain(JSON.stringify({ ...ORDER, amount_minor: 2999 }).replaceAll('"', "&quot;"));
  expect(shown.html).toContain(reused.body.replaceAll('"', "&quot;"));
  expect(shown.text).not.toContain(english(REQUEST_TEXTS.notExact));
  expect(shown.text).toContain("Authorization: Bearer $CHECKOUT_API_KEY");
  const { data } = JSON.parse(made.body) as { readonly data: { readonly id: string } };
  expect(shown.html).toContain(`${portal.home}/checkouts/${data.id}`);
  const taken = await portal.get(`${requests}/${made.id}`);
  expect(taken.html).toContain(made.body.replaceAll('"', "&quot;"));
  expect(taken.text).toContain(rung("order", "passed"));
  expect(taken.text).toContain(REQUEST_TEXTS.valuesOnly[0]);
});

test("the page of a request shows the fault that lost its answer", async () => {
  const { portal, requests, create, harness } = await openSite();
  const added = await harness.run(["faults", "add", "lose_answer", "--times", "1", "--json"]);
  const [fault = ""] = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/.exec(added.stdout) ?? [];
  await create(ORDER).catch(() => undefined);
  const list = await portal.get(requests);
  expect(list.text).toContain("lose_answer");
  const [, id = ""] = /requests\/([\da-f-]{36})"/.exec(list.html) ?? [];
  const shown = await portal.get(`${requests}/${id}`);
  expect(shown.text).toContain(`lose_answer ${fault}`);
});

test("hostile requests are escaped, secrets in them are hidden, and a large body does not make a large page", async () => {
  const { portal, requests, create } = await openSite();
  const [key] = [CANARY];
  for (const [index, text] of HOSTILE_TEXTS.entries()) {
    const order = { ...ORDER, order_id: text.slice(0, 20), description: `${text} ${key}`, surprise: text };
    const { id } = await create(order, {
      key: `key-number-${index}`,
      headers: { "X-Hostile": text.replaceAll(/[^\x20-\x7e]/g, "?"), Authorization: `Bearer ${key}` },
    });
    const { html, status } = await portal.get(`${requests}/${id}`);
    expect([text, status]).toEqual([text, 200]);
    expect(html).not.toContain(key);
    expect(html.replaceAll(/<script src="\/[\w/.?=-]+" defer><\/script>/g, "")).not.toMatch(
      /<script|<img|<svg|<iframe|<base/i,
    );
    // eslint-disable-next-line no-control-regex
    expect(html).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069\u200b]/u);
  }
  const big = await create(`{"order_id":"${"<b>".repeat(5000)}"}`, { key: "key-of-the-big-one" });
  expect((await portal.get(`${requests}/${big.id}`)).html.length).toBeLessThan(120_000);
  const deep = await create("[".repeat(2000) + "]".repeat(2000), { key: "key-of-the-deep-one" });
  expect((await portal.get(`${requests}/${deep.id}`)).html.length).toBeLessThan(40_000);
  expect((await portal.get(requests)).html).not.toContain(key);
});

test("a request of another store is unknown", async () => {
  const { portal, requests, create, harness } = await openSite();
  const { id } = await create(ORDER);
  const made = await harness.run(["stores", "create", "--name", "Other", "--json"]);
  const { store_id: other = "" } = JSON.parse(made.stdout) as { readonly store_id?: string };
  expect((await portal.get(`/portal/${other}/requests/${id}`)).status).toBe(404);
  expect((await portal.get(`/portal/${other}/requests`)).html).not.toContain(id);
  expect((await portal.get(`${requests}/${UNKNOWN}`)).status).toBe(404);
  expect((await portal.get(`${requests}/${id}`)).status).toBe(200);
});

test("the pages of requests are available in Chinese", async () => {
  const { portal, requests, create, sandbox } = await openSite();
  const { id } = await create("{");
  for (const [path, said] of [
    [requests, REQUEST_TEXTS.pathBegins],
    [`${requests}/${id}`, REQUEST_TEXTS.refusedHere],
    [`${portal.home}/webhooks`, COMMON_TEXTS.addEndpoint],
  ] as const) {
    const { body } = await askPortal(sandbox, {
      path,
      headers: { Authorization: "", Host: portal.host, Cookie: portal.cookie, "Accept-Language": "zh-CN" },
    });
    expect([path, String(body)]).toEqual([path, expect.stringContaining(said[1])]);
  }
});

test("the page of a request hides card numbers and secret headers, and says that its curl line is not exact", async () => {
  const { portal, requests, create } = await openSite();
  const body = { ...ORDER, order_id: "5555555555554444", description: "paid with 4111 1111 1111 1111" };
  const headers = { "X-Api-Key": "a-secret-of-another-service" };
  const made = await create(body, { headers });
  const other = await create({ ...body, amount_minor: 1 }, { headers });
  expect([made.status, other.status]).toEqual([201, 409]);
  for (const { id } of [made, other]) {
    const { text } = await portal.get(`${requests}/${id}`);
    expect(text).toContain("paid with …1111");
    expect(text).toContain("5555555555554444");
    expect(text).toContain(REQUEST_TEXTS.notExact[0]);
    expect(text).not.toMatch(/4111 1111|a-secret-of/);
  }
});

test("curlOf quotes only where needed, and pipes a body that cannot be a shell argument", () => {
  const line = (method: string, path: string, body = ""): string | undefined =>
    curlOf({ method, path, headers: [], body });
  expect(line("POST", "/v1/orders", "a\0b")).toBe(
    `printf 'a\\000b' | curl -i "$CHECKOUT_BASE_URL/orders" --data-binary @-`,
  );
  expect(line("GET", "/v1/x'y")).toBe(`curl -i "$CHECKOUT_BASE_URL""/x'y"`);
  expect(line("PUT", "/v1/orders")).toBe(`curl -i -X PUT "$CHECKOUT_BASE_URL/orders"`);
  expect(curlOf({ method: "GET", path: "/v1/x", headers: ["X-Own", "a\0"], body: "" })).toBeUndefined();
});
