import { english, translatorFor, type Words } from "../../src/core/language.ts";
import { adaptHintToTypedLine, replaceTypedOptions } from "../../src/cli/hints/again.ts";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/core/errors.ts";
import { REFUSAL_CHECKS, checkOfCode } from "../../src/core/explain/checks.ts";
import { waitingDeliveries, groupDeliveries, endpointLabels } from "../../src/core/explain/deliveries.ts";
import { CONNECTION_FAULTS } from "../../src/core/network/connection-fault.ts";
import { likelyCause, type StoryDelivery } from "../../src/core/explain/delivery.ts";
import { DELIVERY_ERRORS } from "../../src/core/webhook/delivery.ts";
import type { Service } from "../../src/world.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { EXPLAIN_SENTENCES, SUMMARY_SENTENCES } from "../../src/core/explain/sentences.ts";
import { noMatchText } from "../../src/cli/target/ids.ts";
import { deliveryCause } from "../support/delivery-causes.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalText } from "../support/refusal-texts.ts";

/** Matches the time of an answer in a story. */
const TOOK = new RegExp(english(EXPLAIN_SENTENCES.tookMs(0)).replace("0", String.raw`\d+`), "g");

/** The parts of a story about the arrival of a delivery, at a time of the day and after a span. */
function arrived(time: string, span?: string): string {
  const arrival = english(EXPLAIN_SENTENCES.arrived(`2026-01-15T${time}Z`));
  return span === undefined ? arrival : `${arrival}, ${english(EXPLAIN_SENTENCES.afterEvent(span))}`;
}

const byKey = english(EXPLAIN_SENTENCES.byKey("the-first-key"));

type Explained = {
  readonly fact: string | null;
  readonly kind: string;
  readonly id: string;
  readonly summary: string;
  readonly check: string | null;
  readonly rule: number | null;
  readonly decision: number | null;
  readonly field: string | null;
  readonly expected: string | null;
  readonly received: string | null;
  readonly differences: readonly { readonly field: string; readonly first: string; readonly this: string }[];
  readonly entries: readonly {
    readonly what: string;
    readonly id: string | null;
    readonly text: string;
    readonly of: string | null;
  }[];
  readonly pending: readonly { readonly what: string; readonly text: string }[];
  readonly next: readonly string[];
};

const DUE: StoryDelivery = {
  id: "delivery",
  eventId: "event",
  endpointId: "endpoint",
  endpointUrl: null,
  cause: "event",
  state: "due",
  nextAt: 0,
  isHeld: false,
  fault: null,
  attempts: [],
};
const TERMS = { order_id: "order-1", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

const REFUSALS = [
  {
    name: "no API key",
    headers: { Authorization: "" },
    check: REFUSAL_CHECKS.credential[0],
    rule: 27,
    received: "authorization: …",
  },
  {
    name: "a foreign Host",
    headers: { Host: "evil.example" },
    check: REFUSAL_CHECKS.host[0],
    rule: null,
    received: "host: evil.example",
  },
  {
    name: "an invalid field",
    body: { ...TERMS, amount_minor: "19.99" },
    check: REFUSAL_CHECKS.content[0],
    rule: 9,
    received: '"19.99"',
    expected: /^amount_minor .* 1 .* 9007199254740991\b/,
  },
  {
    name: "both price forms",
    body: { ...TERMS, price_id: "price_coffee" },
    check: REFUSAL_CHECKS.content[0],
    rule: 10,
    decision: 7,
    received: null,
  },
  {
    name: "a short idempotency key",
    headers: { "Idempotency-Key": "short" },
    check: REFUSAL_CHECKS.content[0],
    rule: 19,
    received: '5: "short"',
  },
  {
    name: "an inactive currency",
    body: { ...TERMS, currency: "XXX" },
    headers: { "Idempotency-Key": "another-key" },
    check: REFUSAL_CHECKS.store[0],
    rule: 6,
    received: "XXX",
    next: "checkout admin enable-capability XXX",
  },
] as const;

test.each(REFUSALS)(
  "explain states the failed check, the rule and the received value of a refused request: $name",
  async (row) => {
    const { harness, post, explain } = await open();
    const body = "body" in row ? row.body : TERMS;
    const { requestId } = await post(body, "headers" in row ? row.headers : {});
    const explained = await explain(requestId);
    expect(explained).toMatchObject({
      kind: "request",
      check: row.check,
      rule: row.rule,
      received: row.received,
    });
    if ("expected" in row) expect(explained.expected).toMatch(row.expected);
    if ("decision" in row) expect(explained.decision).toBe(row.decision);
    if ("next" in row) expect(explained.next).toContain(row.next);
    const { stdout } = await harness.run(["explain", requestId], { columns: 500 });
    const [first, last] = [stdout.split("\n")[0], stdout.trimEnd().split("\n").at(-1) ?? ""];
    expect(first).toBe(explained.summary);
    expect(last).toMatch(/ \d+ \(.+\)$/);
    if (explained.decision !== null) expect(last).toContain(` ${explained.decision} (`);
  },
);

test("explain of every refusal shows the field, the expected value, the received value and the remedy", async () => {
  const { harness, ready, sandbox, post, explain } = await open();
  const { api_key: reader = "" } = JSON.parse(
    (await harness.run(["keys", "create", "--scopes", "checkout_sessions:read", "--json"])).stdout,
  ) as Record<string, string>;
  await post(TERMS);
  const unknown = `Bearer svc_test_${"A".repeat(33)}`;
  const other = { "Idempotency-Key": "another-key" };
  const right = "checkout orders create --order-id order-1001 --price-id price_coffee --dry-run";
  const posts = [
    [
      TERMS,
      { Authorization: unknown },
      "Authorization",
      "mistyped_key",
      "authorization: Bearer …",
      "checkout whoami",
    ],
    [
      TERMS,
      { Authorization: "Bearer svc_live_x" },
      "Authorization",
      "production_approval_missing",
      "authorization: Bearer …",
      "checkout env",
    ],
    [
      TERMS,
      { Authorization: `Bearer ${reader}` },
      "Authorization",
      "scope_missing",
      "checkout_sessions:read",
      "checkout keys create --scopes orders:write",
    ],
    [
      TERMS,
      { Host: "evil.example" },
      "Host",
      "host_not_allowed",
      "host: evil.example",
      "checkout sandbox start --allow-host <host>",
    ],
    [
      TERMS,
      { Origin: "http://x.example" },
      "Origin",
      "origin_not_allowed",
      '"http://x.example"',
      "checkout env",
    ],
    [TERMS, { "Content-Type": "text/plain" }, "Content-Type", "content_type", '"text/plain"', right],
    [TERMS, { "Content-Encoding": "gzip" }, "Content-Type", "content_encoding", '"gzip"', right],
    [TERMS, { "Idempotency-Key": "" }, "Idempotency-Key", "key_form", '0: ""', right],
    [{}, {}, "order_id", "missing_parameter", null, right],
    [{ ...TERMS, x: 1 }, {}, "x", "unknown_parameter", '"x"', right],
    [{ ...TERMS, amount_minor: 2 ** 60 }, {}, "amount_minor", "inexact_number", "1152921504606847000", right],
    [{ ...TERMS, price_id: "p" }, {}, "price_id", "conflicting_parameters", null, right],
    [{ order_id: "o", price_id: "p" }, other, "price_id", "unknown_price", '"p"', "checkout prices list"],
    [
      { ...TERMS, currency: "XXX" },
      other,
      "currency",
      "capability_missing",
      "XXX",
      "checkout capabilities list",
    ],
    [TERMS, other, "order_id", "order_conflict", "created", expect.stringContaining("checkout explain ")],
    [
      { ...TERMS, amount_minor: 2 },
      {},
      "Idempotency-Key",
      "idempotency_key_reused",
      "idempotency-key: the-first-key",
      expect.stringContaining("checkout explain "),
    ],
  ] as const;
  const check = async (
    id: string,
    [field, fact, received, next]: readonly [string | null, string, string | null, string],
  ) => {
    const told = await explain(id);
    const shown = [told.field, told.expected, told.received, told.next];
    expect([shown, told.fact, told.field, told.next[0]]).toEqual([shown, fact, field, next]);
    expect([shown, told.expected === null]).toEqual([shown, false]);
    expect([shown, told.received?.includes(received ?? "?") ?? received === null]).toEqual([shown, true]);
    expect([told.received, told.expected].join()).not.toMatch(/checkout (?!sess)/);
  };
  for (const [body, headers, ...parts] of posts) await check((await post(body, headers)).requestId, parts);
  const unknownId = "0199a3c4-5d00-7000-8000-000000000001";
  const raws = [
    ["POST", "/v1/orders", "{", "body", "invalid_json", "Expected property name", right],
    ["GET", "/v1/nope", "", null, "unknown_path", '"/v1/nope"', "checkout assumptions"],
    ["GET", "/v1/orders", "", null, "method_not_allowed", '"GET"', "checkout assumptions"],
    ["GET", "/v1/checkout-sessions/x", "", "session_id", "invalid_session_id", '"x"', "checkout orders list"],
    [
      "GET",
      `/v1/checkout-sessions/${unknownId}`,
      "",
      "session_id",
      "session_not_found",
      unknownId,
      "checkout orders list",
    ],
  ] as const;
  for (const [method, path, body, ...parts] of raws) {
    const headers = { ...sandbox.auth, "Content-Type": "application/json", ...other };
    const answer = await sandbox.request({ method, path, headers, body });
    await check(answer.headers["X-Request-Id"] ?? "", parts);
  }
  expect((await harness.run(["admin", "deactivate"])).code).toBe(0);
  const inactive = [null, "store_inactive", ready.store_id, "checkout admin activate"] as const;
  await check((await post({ ...TERMS, order_id: "order-2" }, other)).requestId, inactive);
  for (const code of ERROR_CODES)
    expect([code, checkOfCode(code).next.length > 0 || /conflict|reused|progress/.test(code)]).toEqual([
      code,
      true,
    ]);
});

test("explain of a conflict lists the fields that differ from the first request", async () => {
  const { post, explain } = await open();
  const first = await post({ ...TERMS, description: "A bag" });
  const other = await post({ ...TERMS, amount_minor: 2999, description: "A box" });
  const reused = await explain(other.requestId);
  expect(reused).toMatchObject({ check: REFUSAL_CHECKS.key[0], rule: 21, decision: 5 });
  expect(reused.differences).toEqual([
    { field: "amount_minor", first: "1999", this: "2999" },
    { field: "description", first: "A bag", this: "A box" },
  ]);
  expect(reused.next).toEqual([`checkout explain ${first.id}`]);

  const session = await post(TERMS, { "Idempotency-Key": "another-key" }, "/v1/checkout-sessions");
  const conflict = await explain(session.requestId);
  expect(conflict).toMatchObject({ check: REFUSAL_CHECKS.order[0], decision: 8 });
  expect(conflict.differences).toEqual([
    { field: "path", first: "/v1/orders", this: "/v1/checkout-sessions" },
    { field: "description", first: "A bag", this: null },
  ]);

  const priced = await post(
    { order_id: "order-2", price_id: "price_coffee" },
    { "Idempotency-Key": "priced-key" },
  );
  const bySum = await post({ ...TERMS, order_id: "order-2" }, { "Idempotency-Key": "priced-key" });
  expect(priced.status).toBe(201);
  expect((await explain(bySum.requestId)).differences).toEqual([
    { field: "price_id", first: "price_coffee", this: null },
    { field: "amount_minor", first: null, this: "1999" },
    { field: "currency", first: null, this: "EUR" },
    { field: "payment_method", first: null, this: "alipay_plus" },
  ]);
});

test("explain lists each request with the order's latest checkout at that time, and requests before the first checkout with the first checkout", async () => {
  const { harness, post, explain } = await open();
  const later = async (body: object, key: string) => {
    await harness.clock.sleep(1000);
    return post(body, { "Idempotency-Key": key });
  };
  const refused = await later({ ...TERMS, currency: "eur" }, "key-of-first");
  const first = await later(TERMS, "key-of-first");
  await harness.run(["sandbox", "pay", first.id, "--outcome", "failed"]);
  const reused = await later({ ...TERMS, amount_minor: 1 }, "key-of-first");
  const second = await later(TERMS, "key-of-second");
  const conflict = await later({ ...TERMS, amount_minor: 2 }, "key-of-third");
  const requestsOf = async (id: string) =>
    (await explain(id)).entries.filter(({ what }) => what === "request").map((entry) => entry.id);
  const before = [refused, first, reused].map(({ requestId }) => requestId);
  const after = [second, conflict].map(({ requestId }) => requestId);
  expect(await requestsOf(first.id)).toEqual(before);
  expect(await requestsOf(second.id)).toEqual(after);
  expect(await requestsOf(TERMS.order_id)).toEqual([...before, ...after]);
});

test("explain compares a conflicting create with the state at the request's time, not with a later state", async () => {
  const { harness, post, explain } = await open();
  const [first, other] = [await post(TERMS), { "Idempotency-Key": "another-key" }];
  const reused = await post({ ...TERMS, amount_minor: 2999 });
  const conflict = await post({ ...TERMS, amount_minor: 2999 }, other);
  const differences = [{ field: "amount_minor", first: "1999", this: "2999" }];
  const next = [`checkout explain ${first.id}`];
  const check = async () => {
    for (const { requestId } of [reused, conflict])
      expect(await explain(requestId)).toMatchObject({ differences, next });
    expect((await explain(first.id)).entries.filter(({ text }) => text.endsWith("1999 → 2999"))).toHaveLength(
      2,
    );
  };
  await check();
  expect((await harness.run(["sandbox", "clock", "advance", "2d"])).code).toBe(0);
  await check();
  expect((await post({ ...TERMS, amount_minor: 2999 }, other)).status).toBe(201);
  await check();
  expect((await harness.run(["sandbox", "clock", "advance", "31d"])).code).toBe(0);
  expect((await post({ ...TERMS, order_id: "order-2" })).status).toBe(201);
  await check();
});

test("explain of a request_id shows the first create, and each replay of its answer", async () => {
  const { harness, post, explain } = await open();
  const { requestId, id } = await post(TERMS);
  const get = async () =>
    JSON.parse((await harness.run(["requests", "get", requestId, "--json"])).stdout) as Record<
      string,
      unknown
    >;
  const [alone, first] = [await explain(requestId), await get()];
  const answered = `POST /v1/orders ${english(EXPLAIN_SENTENCES.answered(201))}`;
  expect([alone.summary, first["replayed_at"]]).toEqual([answered, []]);
  for (const seconds of [1, 2]) {
    await harness.clock.sleep(seconds * 1000);
    expect((await post(TERMS)).requestId).toBe(requestId);
  }
  const told = await explain(requestId);
  expect(told.summary).toBe(`${alone.summary}${english(EXPLAIN_SENTENCES.wasReplayed)}`);
  expect([told.entries[0], told.next]).toEqual([alone.entries[0], [`checkout explain ${id}`]]);
  expect(told.entries).toHaveLength(3);
  const shown = await get();
  expect({ ...shown, replayed_at: [] }).toEqual(first);
  expect(shown["replayed_at"]).toHaveLength(2);
  const { stdout } = await harness.run(["requests", "get", requestId]);
  expect(stdout).toMatch(inOrder(" 2, ", ` ${new Date(harness.clock.now()).toISOString()}\n`));
});

test("explain compares a description as it was sent, even if the price has another description", async () => {
  const { harness, post, explain } = await open();
  const [key, priced] = [
    { "Idempotency-Key": "priced-key" },
    { order_id: "order-2", price_id: "price_coffee" },
  ];
  const differ = async (body: object, headers: Record<string, string>) =>
    (await explain((await post(body, headers)).requestId)).differences;
  await post(priced, key);
  expect(await differ({ ...priced, description: "A coffee" }, key)).toEqual([
    { field: "description", first: null, this: "A coffee" },
  ]);
  expect(await differ({ ...priced, description: "x" }, key)).toEqual([
    { field: "description", first: null, this: "x" },
  ]);
  const [otherKey, other] = [{ "Idempotency-Key": "other-key" }, { ...priced, order_id: "order-3" }];
  const { id } = await post({ ...other, description: "A coffee" }, otherKey);
  const dropped = [{ field: "description", first: "A coffee", this: null }];
  expect(await differ(other, otherKey)).toEqual(dropped);
  expect(await differ(other, { "Idempotency-Key": "third-key" })).toEqual(dropped);
  expect((await harness.run(["sandbox", "pay", id, "--outcome", "succeeded"])).code).toBe(0);
  expect((await harness.run(["sandbox", "clock", "advance", "31d"])).code).toBe(0);
  expect((await post({ ...TERMS, order_id: "order-4" }, otherKey)).status).toBe(201);
  const late = await post(
    { ...other, price_id: "price_bento", description: "x" },
    { "Idempotency-Key": "late-key" },
  );
  expect([late.status, (await explain(late.requestId)).differences]).toEqual([
    409,
    [{ field: "price_id", first: "price_coffee", this: "price_bento" }],
  ]);
});

test("the story of an order has its requests, events and payments, and the answers of the receiver", async () => {
  const { harness, sandbox, post, explain } = await open();
  let status = 500;
  harness.occupy(
    3000,
    receiver(() => status),
  );
  expect((await harness.run(["endpoints", "add", "http://localhost:3000/hooks"])).code).toBe(0);
  const { id } = await post(TERMS);
  await harness.clock.sleep(100);
  await harness.clock.sleep(10_000);
  status = 204;
  await harness.clock.sleep(300_000);
  await post({ ...TERMS, amount_minor: 1 });
  await harness.clock.sleep(100);
  expect((await harness.run(["sandbox", "pay", id, "--outcome", "succeeded"])).code).toBe(0);
  await harness.clock.sleep(100);
  await sandbox.request({ path: `/v1/checkout-sessions/${id}`, headers: sandbox.auth });

  for (const typed of ["order-1", id]) {
    const story = await explain(typed);
    expect(story.kind).toBe(typed === id ? "checkout" : "order");
    const paid = SUMMARY_SENTENCES.status.succeeded();
    expect(story.summary).toMatch(inOrder("order-1", "19.99 EUR", "alipay_plus", "succeeded", paid, /$/));
    const lines = story.entries.map(({ of, text }) => `${of === null ? "" : "  "}${text.replace(TOOK, "")}`);
    expect(lines).toEqual([
      `POST /v1/orders: 201${byKey}`,
      "order.created",
      `  → localhost:3000/hooks  500 ×2, 204, ${arrived("12:05:10.100", "5 min")}`,
      `POST /v1/orders: 409 idempotency_key_reused${byKey}: amount_minor 1999 → 1`,
      `order.pending, ${english(EXPLAIN_SENTENCES.attempt(1))}`,
      "  → localhost:3000/hooks  204",
      english(EXPLAIN_SENTENCES.attemptEnded(1, "succeeded", 0)),
      "order.succeeded",
      "  → localhost:3000/hooks  204",
      `GET /v1/checkout-sessions/${id}: 200`,
    ]);
  }
});

test("a story has at most 12 entries after five endpoints failed for 80 minutes, and one entry for an event that all endpoints accept", async () => {
  const { harness, post, explain } = await open();
  let status = 204;
  for (let port = 3000; port < 3005; port += 1) {
    harness.occupy(
      port,
      receiver(() => status),
    );
    expect((await harness.run(["endpoints", "add", `http://localhost:${port}/hooks`])).code).toBe(0);
  }
  const { id } = await post(TERMS);
  await harness.clock.sleep(100);
  const taken = (await explain(id)).entries.map(({ text }) => text.replaceAll(TOOK, ""));
  const endpoints = english(EXPLAIN_SENTENCES.endpoints(5));
  expect(taken).toEqual([`POST /v1/orders: 201${byKey}`, "order.created", `→ ${endpoints}  2xx`]);
  status = 500;
  expect((await harness.run(["sandbox", "pay", id, "--outcome", "declined"])).code).toBe(0);
  expect((await harness.run(["sandbox", "clock", "advance", "80m"])).code).toBe(0);
  const story = await explain(id);
  expect(story.entries.length).toBeLessThanOrEqual(12);
  const tried = inOrder(
    /^→ localhost:\d{4}\/hooks {2}500 ×[45], /,
    english(EXPLAIN_SENTENCES.nextAttempt("")),
  );
  expect(story.entries.filter(({ text }) => tried.test(text))).toHaveLength(5);
  const due = new Set(
    [5, 6].map((number) =>
      english(EXPLAIN_SENTENCES.dueAttempt(number, "order.pending", "localhost:<port>/hooks")),
    ),
  );
  expect(story.pending).toHaveLength(5);
  const { stdout } = await harness.run(["explain", id]);
  for (const { what, text } of story.pending) {
    expect([what, due.has(text.replace(/\d{4}/, "<port>"))]).toEqual(["delivery", true]);
    expect(stdout).toContain(text);
  }
});

test("the story of an order labels the delivery of a replay, and the duplicate that a fault added", async () => {
  const harness = createHarness();
  const { post, explain } = await open(harness);
  harness.occupy(
    3000,
    receiver(() => 204),
  );
  expect((await harness.run(["endpoints", "add", "http://localhost:3000/hooks"])).code).toBe(0);
  expect((await harness.run(["faults", "add", "duplicate"])).code).toBe(0);
  const { id } = await post(TERMS);
  await harness.clock.sleep(1000);
  const { stdout } = await harness.run(["events", "list", "--json"]);
  const { events } = JSON.parse(stdout) as { events: { event_id: string }[] };
  expect((await harness.run(["events", "replay", events[0]?.event_id ?? ""])).code).toBe(0);
  await harness.clock.sleep(1000);
  const said = (await explain(id)).entries.map(({ text }) => text.replaceAll(TOOK, ""));
  expect(said.filter((text) => text.startsWith("→"))).toEqual([
    [
      `→ localhost:3000/hooks  204, ${arrived("12:00:01.000", "1 s")}`,
      `${english(EXPLAIN_SENTENCES.called.duplicate)}: 204, ${arrived("12:00:01.000")}`,
      `${english(EXPLAIN_SENTENCES.called.replay)}: 204, ${arrived("12:00:02.000")}`,
    ].join("; "),
  ]);
});

test("the story of an order has the payer's page view and return, and says that a return proves no payment", async () => {
  const { harness, sandbox, post, explain } = await open();
  const { id } = await post(TERMS);
  const html = String((await sandbox.request({ path: `/pay/${id}`, headers: { Authorization: "" } })).body);
  const [, to = "", token = ""] = /<page-views hidden to="([^"]+)" token="([^"]+)"/.exec(html) ?? [];
  /** Sends the request that the script of the payment page sends. */
  const tell = async (kind: string, { site = "same-origin", sent = token } = {}) => {
    const type = "application/x-www-form-urlencoded;charset=UTF-8";
    const headers = { Authorization: "", "Content-Type": type, "Sec-Fetch-Site": site };
    const body = new URLSearchParams({ kind, token: sent }).toString();
    const { status } = await sandbox.request({ path: to, headers, body });
    await harness.clock.sleep(0);
    return status;
  };
  const told = async () =>
    (await explain(id)).entries.filter(({ what }) => what === "page").map(({ text }) => text);
  expect(await tell("opened", { site: "cross-site" })).toBe(403);
  expect(await tell("opened", { sent: "x" })).toBe(403);
  expect([await tell("closed"), await tell("returned")]).toEqual([400, 400]);
  expect(await told()).toEqual([]);
  await harness.run(["return-origins", "add", "http://localhost:3000", "--path", "/thanks"]);
  expect([await tell("opened"), await tell("opened"), await tell("returned")]).toEqual([204, 204, 204]);
  expect(await told()).toEqual([
    english(EXPLAIN_SENTENCES.pageOpened),
    english(EXPLAIN_SENTENCES.browserReturned("http://localhost:3000/thanks")),
  ]);
  for (let count = 0; count < 30; count += 1) {
    harness.clock.advance(61_000);
    await tell("opened");
  }
  const opened = english(EXPLAIN_SENTENCES.pageOpened);
  expect((await told()).filter((text) => text === opened)).toHaveLength(20);
});

test("explain of an event or delivery says why the event did not arrive, and suggests the next command", async () => {
  const { harness, post, explain } = await open();
  const added = await harness.run(["endpoints", "add", "http://localhost:3000/hooks", "--json"]);
  const { id: endpointId } = JSON.parse(added.stdout) as { id: string };
  await post(TERMS);
  await harness.clock.sleep(100);
  const { stdout } = await harness.run(["deliveries", "list", "--json"]);
  const { deliveries } = JSON.parse(stdout) as { deliveries: { id: string; event_id: string }[] };
  const [delivery] = deliveries;
  const told = await explain(delivery?.id ?? "");
  const lineOf = (one: StoryDelivery): readonly string[] =>
    groupDeliveries({ id: "event", createdAt: 0 }, [one], {
      now: 0,
      labels: endpointLabels([one]),
      say: english,
      holders: new Map(),
    }).map(({ entry }) => entry.text);
  expect(lineOf({ ...DUE, endpointId })).toEqual([
    `→ …${endpointId.slice(-4)}  ${english(EXPLAIN_SENTENCES.dueNow)}`,
  ]);
  const later = { ...DUE, id: "later", eventId: "later" };
  const replayed: StoryDelivery = { ...later, id: "replayed", cause: "replay" };
  const holders = new Map(
    waitingDeliveries(
      [
        { ...replayed, eventId: "event" },
        DUE,
        later,
        { ...later, id: "sent again", cause: "duplicate" },
        replayed,
      ],
      new Map([["event", "order.created"]]),
    ),
  );
  expect([...holders]).toEqual([["later", { type: "order.created", fault: null }]]);
  const [waiting] = groupDeliveries({ id: "later", createdAt: 0 }, [later], {
    now: 0,
    labels: endpointLabels([later]),
    say: english,
    holders,
  });
  expect(waiting?.entry.text).toContain(english(EXPLAIN_SENTENCES.after("order.created")));
  expect(lineOf({ ...DUE, endpointUrl: "http://localhost:3000/hooks", isHeld: true })).toEqual([
    `→ localhost:3000/hooks  ${english(EXPLAIN_SENTENCES.held)}`,
  ]);
  expect(told.kind).toBe("delivery");
  const failed = SUMMARY_SENTENCES.delivery("order.created", "due", 1);
  expect(told.summary).toMatch(inOrder(failed, deliveryCause("refused")));
  expect(told.next).toContain("checkout endpoints list");
  expect(told.next).not.toContain(`checkout explain ${delivery?.id ?? ""}`);
  expect((await explain(delivery?.id.slice(-8) ?? "")).id).toBe(delivery?.id);
  const none = await harness.run(["explain", "0123abcd"]);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining(noMatchText("0123abcd"))]);
  const event = await explain(delivery?.event_id ?? "");
  expect([event.kind, event.rule, event.summary]).toEqual([
    "event",
    31,
    `order.created: ${SUMMARY_SENTENCES.sent(0, 1)}`,
  ]);
  expect(event.next.join("\n")).toContain(`checkout explain ${delivery?.id ?? ""}`);
  harness.occupy(
    3000,
    receiver(() => 400),
  );
  await harness.clock.sleep(10_000);
  expect((await explain(delivery?.id ?? "")).next).toContain(`checkout endpoints secret ${endpointId}`);
});

test("the Chinese line of a delivery shows the fault, the event for which the delivery waits, and the time of arrival", () => {
  const attempt: StoryDelivery["attempts"][number] = {
    number: 1,
    startedAt: 2000,
    url: "",
    status: 204,
    error: null,
    milliseconds: null,
    fault: null,
    answer: null,
    facts: null,
  };
  const delayed: StoryDelivery = { ...DUE, nextAt: 2000, fault: { id: "fault", action: "delay" } };
  const forged = { ...attempt, status: 400, fault: "changed_body" } as const;
  const holders = new Map([["waits", { type: "order.created", fault: "delay" }]]);
  const { heldBy, nextAttempt, behind, droppedBy, byFault, ...sentences } = EXPLAIN_SENTENCES;
  const late = [sentences.arrived("1970-01-01T00:00:02.000Z"), sentences.afterEvent("2 秒")];
  const rows: readonly (readonly [StoryDelivery, readonly (string | Words)[]])[] = [
    [delayed, [heldBy("delay"), nextAttempt("2 秒")]],
    [{ ...DUE, id: "waits" }, [behind("order.created", "delay")]],
    [{ ...DUE, state: "dropped", fault: { id: "fault", action: "drop" } }, [droppedBy("drop")]],
    [{ ...delayed, state: "succeeded", attempts: [attempt] }, ["204", heldBy("delay"), ...late]],
    [
      { ...DUE, state: "succeeded", attempts: [forged, attempt] },
      [`400${byFault("changed_body")[1]}`, "204", ...late],
    ],
  ];
  const say = translatorFor("zh");
  for (const [delivery, parts] of rows) {
    const context = { now: 0, labels: new Map([["endpoint", "shop"]]), say, holders };
    const [line] = groupDeliveries({ id: "event", createdAt: 0 }, [delivery], context);
    const texts = parts.map((part) => (typeof part === "string" ? part : say(part)));
    expect(line?.entry.text).toBe(`→ shop  ${texts.join("，")}`);
  }
});

test("explain of an order without an accepted create counts the refused creates", async () => {
  const { post, explain } = await open();
  for (const count of [1, 2]) {
    await post({ ...TERMS, amount_minor: 0 });
    expect((await explain("order-1")).summary).toBe(SUMMARY_SENTENCES.noCheckout(count));
  }
});

test("explain refuses an id or order_id that the store does not have, and --as finds only objects of the given kind", async () => {
  const { harness, post, explain } = await open();
  const { id } = await post(TERMS);
  for (const args of [["order-9"], [id, "--as", "event"], ["019bc1f0-3d10-7000-8000-000000000009"]]) {
    const { code, stderr } = await harness.run(["explain", ...args]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(refusalText("nothing_to_explain"))]);
  }
  expect((await harness.run(["explain", ""])).code).toBe(2);
  expect((await explain(id, "--as", "checkout")).kind).toBe("checkout");
});

test("a refused command prints the command that explains the refusal", async () => {
  const { harness } = await open();
  const typed = [
    "orders",
    "create",
    "--order-id",
    "o",
    "--amount-minor",
    "1",
    "--payment-method",
    "alipay_plus",
  ];
  const { code, stderr } = await harness.run([...typed, "--currency", "XXX"]);
  expect(code).toBe(4);
  const [, explains = ""] = /checkout (explain \S+)/.exec(stderr) ?? [];
  const explained = await harness.run(explains.split(" "));
  expect([explained.code, explained.stdout]).toEqual([
    0,
    expect.stringContaining(english(REFUSAL_CHECKS.store)),
  ]);
});

test("a refused command in exec suggests an explain command that works with the variables of exec", async () => {
  const { ready, harness } = await open();
  const env = {
    CHECKOUT_BASE_URL: ready.base_url,
    CHECKOUT_API_KEY: ready.api_key ?? "",
    CHECKOUT_STORE_ID: ready.store_id,
    CHECKOUT_CONTROL_TOKEN: ready.control_token,
  };
  const there = { env, cwd: tempFolder() };
  const create = "orders create --order-id o --amount-minor 1 --payment-method alipay_plus --currency XXX";
  const { stderr } = await harness.run(create.split(" "), there);
  const [, explains = ""] = /checkout (explain \S+)/.exec(stderr) ?? [];
  const explained = await harness.run(explains.split(" "), there);
  expect([explained.code, explained.stdout]).toEqual([
    0,
    expect.stringContaining(english(REFUSAL_CHECKS.store)),
  ]);
  const { CHECKOUT_CONTROL_TOKEN: _token, ...merchants } = env;
  const other = await harness.run(create.split(" "), { ...there, env: merchants });
  expect([other.code, other.stderr]).toEqual([4, expect.not.stringContaining("checkout explain")]);
});

test("after a command with --store, the suggested commands have the same --store", async () => {
  const { harness } = await open();
  await harness.run(["stores", "create", "--name", "Tea Shop"]);
  const inTea = ["--store", "Tea Shop"];
  const create = ["orders", "create", "--order-id", "o-2", "--price-id", "price_coffee", ...inTea];
  expect((await harness.run(create)).code).toBe(0);
  const { stderr } = await harness.run([...create, "--idempotency-key", "another-key"]);
  const [, explains = ""] = /checkout (--store 'Tea Shop' explain \S+)/.exec(stderr) ?? [];
  const [, ...asked] = explains.replace(" 'Tea Shop'", "").split(" ");
  const explained = await harness.run([...inTea, ...asked]);
  expect([explained.code, explained.stdout]).toEqual([0, expect.stringContaining("order_conflict")]);
  const named = JSON.parse((await harness.run(["explain", "o-2", ...inTea, "--json"])).stdout) as {
    readonly next: readonly string[];
  };
  expect(named.next).toEqual([
    expect.stringMatching(/^checkout --store 'Tea Shop' sandbox pay \S+ --outcome succeeded$/),
  ]);
  const [next = ""] = named.next;
  const [, ...words] = next.replace(" --store 'Tea Shop'", "").split(" ");
  expect((await harness.run([...words, "--outcome", "succeeded", ...inTea])).code).toBe(0);
});

test("explain adds --store only to suggested commands that accept --store", async () => {
  const harness = createHarness();
  for (const command of new Set(ERROR_CODES.flatMap((code) => checkOfCode(code).next))) {
    const words = command.split(" ").filter((word) => !/^[<-]/.test(word));
    const { stdout } = await harness.run([...words.slice(1), "--help"]);
    const takes = adaptHintToTypedLine(command, { env: {}, argv: ["--store", "Tea"] }) !== command;
    expect([command, takes]).toEqual([command, stdout.includes("--store <id|name>")]);
  }
});

test("every command that explain suggests exists", async () => {
  const harness = createHarness();
  const statuses = [302, 400, 401, 403, 404, 405, 410, 413, 415, 418, 429, 500, 600];
  const commands = [
    ...ERROR_CODES.flatMap((code) => checkOfCode(code).next),
    ...DELIVERY_ERRORS.map((error) => likelyCause({ ...NO_RESULT, error })?.next ?? ""),
    ...CONNECTION_FAULTS.map(
      (fault) => likelyCause({ ...NO_RESULT, error: "unreachable", facts: { fault } })?.next ?? "",
    ),
    ...statuses.map((status) => likelyCause({ ...NO_RESULT, status })?.next ?? ""),
    likelyCause({ ...NO_RESULT, status: 400, fault: "bad_signature" })?.next ?? "",
  ];
  for (const command of new Set(commands)) {
    const [program, ...words] = command.split(" ").filter((word) => !/^[<-]/.test(word));
    const flags = command.split(" ").filter((word) => word.startsWith("--"));
    const { code, stdout } = await harness.run([...words, "--help"]);
    expect([program, command, code]).toEqual(["checkout", command, 0]);
    for (const flag of flags) expect(stdout).toContain(flag);
  }
  expect(likelyCause({ ...NO_RESULT, status: 204 })).toBeUndefined();
});

const NO_RESULT = {
  url: "http://localhost:3000/hooks",
  status: null,
  error: null,
  answer: null,
  facts: null,
  fault: null,
} as const;

test("explain prints no secret, whichever header or field of the request contained the secret", async () => {
  const { harness, ready, post } = await open();
  const secrets = [ready.api_key ?? "", ready.signing_secret];
  for (const secret of secrets) {
    const sent = [
      await post({ ...TERMS, order_id: secret }, { "Idempotency-Key": "another-key" }),
      await post({ ...TERMS, [secret]: secret }, { Host: secret }),
      await post(TERMS, { Authorization: secret }),
      await post(TERMS, { "Content-Type": secret }),
      await post(TERMS, { "Idempotency-Key": secret }),
    ];
    for (const { requestId } of sent) {
      const shown = await harness.run(["explain", requestId]);
      expect(shown.code).toBe(0);
      expect(shown.stdout).not.toContain(secret.slice(10));
    }
  }
});

/** A receiver that answers with the current result of `status`. */
function receiver(status: () => number): Service {
  const answer = () => Promise.resolve({ status: status(), headers: {}, body: "" });
  return { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) };
}

/** Starts a sandbox; returns functions that create orders with its key and that run `explain`. */
async function open(harness: Harness = createHarness()) {
  const started = await harness.start();
  const { ready } = started;
  const auth = { Authorization: `Bearer ${ready.api_key ?? ""}` };
  const post = async (body: object, headers: Record<string, string> = {}, path = "/v1/orders") => {
    const answer = await started.request({
      method: "POST",
      path,
      headers: {
        ...auth,
        "Content-Type": "application/json",
        "Idempotency-Key": "the-first-key",
        ...headers,
      },
      body: JSON.stringify(body),
    });
    const read = JSON.parse(String(answer.body)) as { request_id: string; data?: { id: string } };
    return { status: answer.status, id: read.data?.id ?? "", requestId: read.request_id };
  };
  const explain = async (id: string, ...options: string[]): Promise<Explained> => {
    const { code, stdout, stderr } = await harness.run(["explain", id, ...options, "--json"]);
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout) as Explained;
  };
  return { harness, sandbox: { ...started, auth }, ready, post, explain };
}

test("explain suggests each next command once, and never suggests the typed command or the list of deliveries", async () => {
  const { harness, post, explain } = await open();
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  const { requestId, id } = await post(TERMS);
  const refused = await post({ ...TERMS, order_id: "order-2", price_id: "no-such" });
  const priced = await post({ order_id: "order-3", price_id: "no-such" }, { "Idempotency-Key": "third-key" });
  await harness.clock.sleep(1000);
  const newest = async (list: string, key: string): Promise<string> =>
    new RegExp(`"${key}":"([^"]+)"`).exec((await harness.run([list, "list", "--json"])).stdout)?.[1] ?? "";
  const [event, delivery] = [await newest("events", "event_id"), await newest("deliveries", "id")];
  for (const one of [requestId, refused.requestId, id, event, delivery, "order-1"]) {
    const { next } = await explain(one);
    expect([one, next.filter((line) => line.endsWith(` ${one}`) && line.includes("explain"))]).toEqual([
      one,
      [],
    ]);
    expect([one, new Set(next).size]).toEqual([one, next.length]);
    expect([one, next.includes("checkout deliveries list")]).toEqual([one, false]);
  }
  expect(await explain(priced.requestId)).toMatchObject({ field: "price_id", rule: 10, decision: 7 });
});

test("a payment that succeeds after its order expired is shown as a late result", async () => {
  const harness = createHarness();
  await harness.start();
  const pay = (outcome: string) => harness.run(["sandbox", "pay", "order-1", "--outcome", outcome, "--json"]);
  await harness.run(["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee"]);
  for (const _ of [1, 2])
    expect(JSON.parse((await pay("pending")).stdout)).toMatchObject({ status: "pending" });
  await harness.run(["sandbox", "clock", "advance", "61m"]);
  expect(JSON.parse((await pay("succeeded")).stdout)).toMatchObject({ status: "expired", late: true });
  expect((await pay("pending")).code).toBe(5);
  const { stdout } = await harness.run(["explain", "order-1", "--json"]);
  const { entries } = JSON.parse(stdout) as { readonly entries: readonly { readonly what: string }[] };
  expect(entries.filter(({ what }) => what === "late_result")).toHaveLength(1);
});

test("a suggested command keeps the typed --dir and --store if the command accepts these options", async () => {
  const world = { env: {}, argv: ["orders", "list", "--status=failed", "--dir", "my shop", "--json"] };
  const rows = [
    ["checkout explain x", "checkout --dir 'my shop' explain x"],
    ["correct it and run checkout orders create again", null],
    ["checkout help clock", "checkout help clock"],
    ["checkout orders list --dir other", "checkout orders list --dir other"],
  ] as const;
  expect(rows.map(([hint]) => adaptHintToTypedLine(hint, world))).toEqual(
    rows.map(([hint, typed]) => typed ?? hint.replace("checkout", "checkout --dir 'my shop'")),
  );
  expect(adaptHintToTypedLine("checkout doctor", { env: {}, argv: ["events", "list", "--store", "a"] })).toBe(
    "checkout doctor",
  );
  const next = replaceTypedOptions(world, new Map([["--before", 2]]), "--before order-9");
  expect(next).toBe("checkout orders list --status=failed --dir 'my shop' --before order-9");
});

test("the typed --store is added to each command in a hint, except to commands in quotation marks", () => {
  const typed = (hint: string): string => adaptHintToTypedLine(hint, { env: {}, argv: ["--store", "Tea"] });
  expect(typed('"a \\" b" was sent before: checkout orders get a; checkout explain 7 says why')).toBe(
    '"a \\" b" was sent before: checkout --store Tea orders get a; checkout --store Tea explain 7 says why',
  );
  expect(typed("checkout orders create --store Cup; checkout explain 7")).toBe(
    "checkout orders create --store Cup; checkout --store Tea explain 7",
  );
  for (const hint of ['the name is "x; checkout explain 7"', 'half a "; checkout explain 7'])
    expect(typed(hint)).toBe(hint);
});

test("events list --since takes a duration, a time or a date", async () => {
  const { harness } = await open();
  await harness.run(["orders", "create", "--order-id", "o-7", "--price-id", "price_coffee"]);
  await harness.run(["sandbox", "clock", "advance", "3h"]);
  await harness.run(["orders", "create", "--order-id", "o-8", "--price-id", "price_coffee"]);
  const ordersSince = async (since: string): Promise<readonly string[]> => {
    const { stdout } = await harness.run([
      "events",
      "list",
      "--type",
      "order.created",
      "--since",
      since,
      "--json",
    ]);
    const { events } = JSON.parse(stdout) as { events: readonly { body: string }[] };
    return events.map(({ body }) => (JSON.parse(body) as { data: { order_id: string } }).data.order_id);
  };
  expect(await ordersSince("2h")).toEqual(["o-8"]);
  expect(await ordersSince("4h")).toEqual(["o-7", "o-8"]);
  expect(await ordersSince("2000-01-01")).toEqual(["o-7", "o-8"]);
  const unknown = await harness.run(["events", "list", "--since", "2026-02-30"]);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("2026-02-30")]);
  // Events that follow a return to the real time have an earlier time.
  const before = new Date(harness.clock.now() + 3_600_000).toISOString();
  await harness.run(["sandbox", "clock", "real"]);
  await harness.run(["orders", "create", "--order-id", "o-9", "--price-id", "price_coffee"]);
  expect(await ordersSince(before)).toEqual(["o-8"]);
});
