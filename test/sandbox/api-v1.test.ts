import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Answered } from "../support/harness.ts";
import { SEED, size } from "../support/campaign.ts";
import { answerBreaches, breaches, listsStatus } from "../support/contract.ts";
import { createHarness, EPHEMERAL } from "../support/harness.ts";
import { startV1, type V1Sandbox } from "../support/v1-sandboxes.ts";

type Body = Readonly<Record<string, unknown>>;

const BODY = { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };
let keys = 0;

/** Sends a create; `body` as text goes out as it is. */
function post(
  sandbox: Pick<V1Sandbox, "request">,
  body: Body | string,
  options: {
    readonly key?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<Answered> {
  return sandbox.request({
    path: options.path ?? "/v1/orders",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "Idempotency-Key": options.key ?? `fresh-key-${(keys += 1)}`, ...options.headers },
  });
}

type Said = {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly message: string };
};
const said = (answer: Answered): Said => JSON.parse(String(answer.body)) as Said;
const outcome = (answer: Answered): string =>
  `${answer.status} ${said(answer).error?.code ?? String(said(answer).data?.["status"])}`;

test("both endpoints and both forms answer as the contract says", async () => {
  const sandbox = await startV1();
  const rows = [
    ["/v1/orders", BODY, { object: "order", amount_minor: 1999, currency: "EUR" }],
    [
      "/v1/checkout-sessions",
      { ...BODY, order_id: "o-2" },
      { object: "checkout_session", amount_minor: 1999 },
    ],
    ["/v1/orders", { order_id: "o-3", price_id: "price_ticket" }, { amount_minor: 19_900, currency: "CNY" }],
    [
      "/v1/checkout-sessions",
      { order_id: "o-4", price_id: "price_bento", description: "" },
      { currency: "JPY" },
    ],
    [
      "/v1/orders",
      { ...BODY, order_id: "😀".repeat(32), description: "é".repeat(128) },
      { order_id: "😀".repeat(32) },
    ],
    ["/v1/orders", { ...BODY, order_id: "nul\u0000inside" }, { order_id: "nul\u0000inside" }],
  ] as const;
  for (const [path, body, expected] of rows) {
    const created = await post(sandbox, body, { path });
    expect([answerBreaches(created), outcome(created)]).toEqual(["", "201 created"]);
    expect(said(created).data).toMatchObject({ ...expected, livemode: false });
    expect(listsStatus(path.replace("/v1", ""), "post", 201)).toBe(true);
    const id = String(said(created).data?.["id"]);
    const got = await sandbox.request({ path: `/v1/checkout-sessions/${id.toUpperCase()}` });
    expect([answerBreaches(got), got.status, said(got).data]).toEqual(["", 200, said(created).data]);
  }
});

test("refusals come in the order of decision 3, each in the error envelope", async () => {
  const sandbox = await startV1();
  await post(sandbox, BODY, { key: "first-key-1" });
  const bad = "{";
  const rows: readonly (readonly [string, Promise<Answered>])[] = [
    [
      "403 host_not_allowed",
      post(sandbox, bad, {
        headers: { Host: "evil.example", Origin: "http://evil.example", Authorization: "x" },
      }),
    ],
    ["403 origin_not_allowed", post(sandbox, bad, { headers: { Origin: "null", Authorization: "x" } })],
    ["404 not_found", post(sandbox, bad, { path: "/v1/refunds", headers: { Authorization: "x" } })],
    [
      "405 method_not_allowed",
      sandbox.request({ method: "PUT", path: "/v1/orders", headers: { Authorization: "x" } }),
    ],
    [
      "401 credential_invalid",
      post(sandbox, bad, { headers: { Authorization: "x", "Content-Type": "text/plain" } }),
    ],
    [
      "403 production_approval_missing",
      post(sandbox, bad, { headers: { Authorization: "Bearer svc_live_1" } }),
    ],
    [
      "400 unknown_parameter",
      post(sandbox, bad, { path: "/v1/orders?page=1", headers: { "Content-Type": "text/plain" } }),
    ],
    [
      "400 unsupported_content_type",
      post(sandbox, bad, { key: "short", headers: { "Content-Type": "text/plain" } }),
    ],
    ["400 invalid_json", post(sandbox, bad, { key: "short" })],
    ["400 idempotency_key_invalid", post(sandbox, { order: 1 }, { key: "short" })],
    ["400 unknown_parameter", post(sandbox, { order: 1 }, { key: "first-key-1" })],
    ["409 idempotency_key_reused", post(sandbox, { ...BODY, currency: "GBP" }, { key: "first-key-1" })],
    ["400 invalid_parameter", post(sandbox, { order_id: "order-1001", price_id: "price_none" })],
    ["403 capability_missing", post(sandbox, { ...BODY, currency: "GBP" })],
    ["409 order_conflict", post(sandbox, BODY)],
    ["400 invalid_session_id", sandbox.request({ path: "/v1/checkout-sessions/1" })],
    [
      "404 session_not_found",
      sandbox.request({ path: "/v1/checkout-sessions/0199a3c4-5d00-7000-8000-000000000001" }),
    ],
  ];
  for (const [expected, sent] of rows) {
    const answer = await sent;
    expect([outcome(answer), answerBreaches(answer)]).toEqual([expected, ""]);
    if (expected === "404 session_not_found")
      expect(said(answer).error?.message).toBe(
        "this store has no checkout session or order with the id 0199a3c4-5d00-7000-8000-000000000001",
      );
  }
});

test("every field is checked, and the message names it", async () => {
  const sandbox = await startV1();
  const { order_id: _, ...withoutOrder } = BODY;
  const rows: readonly (readonly [string, string, Body | string])[] = [
    ["missing_parameter", "order_id", withoutOrder],
    ["missing_parameter", "amount_minor", { order_id: "o" }],
    ["invalid_parameter", "order_id", { ...BODY, order_id: "" }],
    ["invalid_parameter", "order_id", { ...BODY, order_id: "x".repeat(33) }],
    ["invalid_parameter", "order_id", { ...BODY, order_id: null }],
    ["invalid_parameter", "amount_minor", { ...BODY, amount_minor: 0 }],
    ["invalid_parameter", "amount_minor", { ...BODY, amount_minor: "12" }],
    ["invalid_parameter", "amount_minor", { ...BODY, amount_minor: 1.5 }],
    ["invalid_parameter", "currency", { ...BODY, currency: "eur" }],
    ["invalid_parameter", "currency", { ...BODY, currency: "EUR\n" }],
    ["invalid_parameter", "payment_method", { ...BODY, payment_method: "card" }],
    ["invalid_parameter", "description", { ...BODY, description: "x".repeat(129) }],
    ["invalid_parameter", "price_id", { order_id: "o", price_id: "" }],
    ["unknown_parameter", "email", { ...BODY, email: "a@b.example" }],
    ["unknown_parameter", "__proto__", '{"order_id":"o","price_id":"price_bento","__proto__":{}}'],
    ["conflicting_parameters", "amount_minor", { ...BODY, price_id: "price_bento" }],
    ["invalid_parameter", "object", "[]"],
  ];
  for (const [code, field, body] of rows) {
    const { error } = said(await post(sandbox, body));
    expect([error?.code, error?.message]).toEqual([code, expect.stringContaining(field)]);
    if (typeof body !== "string" && !("price_id" in body))
      expect(breaches("CreateCheckout", body)).not.toBe("");
  }
});

test("a rewriting of a body that means the same replays, any change of meaning is a conflict", async () => {
  const sandbox = await startV1();
  const request = fc.record(
    {
      order_id: fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
      amount_minor: fc.integer({ min: 1, max: 1_000_000 }),
      currency: fc.constantFrom("EUR", "USD", "CNY"),
      payment_method: fc.constantFrom("alipay_plus", "wechat_pay"),
      description: fc.string({ unit: "grapheme", maxLength: 20 }),
    },
    { requiredKeys: ["order_id", "amount_minor", "currency", "payment_method"] },
  );
  const change = fc.constantFrom<readonly [string, (value: Body) => unknown]>(
    ["order_id", ({ order_id }) => `${String(order_id)}x`],
    ["amount_minor", ({ amount_minor }) => Number(amount_minor) + 1],
    ["currency", ({ currency }) => (currency === "EUR" ? "USD" : "EUR")],
    [
      "payment_method",
      ({ payment_method }) => (payment_method === "alipay_plus" ? "wechat_pay" : "alipay_plus"),
    ],
    ["description", ({ description }) => (description === undefined ? "" : undefined)],
  );
  const spelling = fc.record({
    spaces: fc.constantFrom("", " ", "\n\t "),
    order: fc.integer({ min: 0, max: 119 }),
    number: fc.integer({ min: 0, max: 3 }),
    escape: fc.boolean(),
  });
  let round = 0;
  await fc.assert(
    fc.asyncProperty(request, spelling, change, async (body, how, [field, changed]) => {
      round += 1;
      const meant = { ...body, order_id: `${round}-${body.order_id}` };
      const key = `property-key-${round}`;
      const first = await post(sandbox, meant, { key });
      expect(first.status).toBe(201);
      const again = await post(sandbox, rewrite(meant, how), { key });
      expect([again.status, again.body, again.headers["Idempotent-Replayed"]]).toEqual([
        201,
        first.body,
        "true",
      ]);
      const other = await post(sandbox, { ...meant, [field]: changed(meant) }, { key });
      expect(outcome(other)).toBe("409 idempotency_key_reused");
      const elsewhere = await post(sandbox, meant, { key, path: "/v1/checkout-sessions" });
      expect(outcome(elsewhere)).toBe("409 idempotency_key_reused");
    }),
    { seed: SEED, numRuns: size(150, 5000) },
  );
});

test("a key is remembered for 30 days, and refusals are never remembered", async () => {
  const sandbox = await startV1();
  const refused = await post(sandbox, { ...BODY, currency: "GBP" }, { key: "kept-key-1" });
  expect(outcome(refused)).toBe("403 capability_missing");
  const first = await post(sandbox, BODY, { key: "kept-key-1" });
  expect(first.headers["Idempotent-Replayed"]).toBeUndefined();
  await sandbox.advance(30 * 24 * 3_600_000 - 1);
  expect((await post(sandbox, BODY, { key: "kept-key-1" })).body).toBe(first.body);
  await sandbox.advance(1);
  const forgotten = await post(sandbox, BODY, { key: "kept-key-1" });
  expect([forgotten.status, forgotten.headers["Idempotent-Replayed"]]).toEqual([201, undefined]);
  expect(forgotten.body).not.toBe(first.body);
  // By the clock of its store, which is far ahead by now.
  expect((await post(sandbox, BODY, { key: "kept-key-1" })).body).toBe(forgotten.body);
});

test("a replay and a conflict of the merchant's client are evidence for the checklist, a replay of our own command is none", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const evidence = async () => {
    const headers = { Authorization: `Bearer ${sandbox.ready.control_token}` };
    const told = said(await sandbox.request({ path: "/__sandbox/stores/default/readiness", headers }));
    const { replayed, refused } = (told.data?.["idempotency"] ?? {}) as Readonly<Record<string, unknown>>;
    return { replayed, refused };
  };
  const own = "orders create --order-id own --price-id price_coffee --idempotency-key own-key-1".split(" ");
  for (const round of [1, 2]) expect([round, (await harness.run(own)).code]).toEqual([round, 0]);
  expect(await evidence()).toEqual({ replayed: null, refused: null });
  const key = "merchants-key-1";
  const first = await post(sandbox, BODY, { key });
  harness.clock.advance(5000);
  const at = new Date(harness.clock.now()).toISOString();
  await post(sandbox, BODY, { key });
  const replayed = {
    key,
    at,
    request_id: expect.not.stringMatching(first.headers["X-Request-Id"] ?? "") as string,
  };
  expect(await evidence()).toEqual({ replayed, refused: null });
  const conflict = await post(sandbox, { ...BODY, amount_minor: 1 }, { key });
  const refused = { key, at, request_id: conflict.headers["X-Request-Id"] };
  expect(await evidence()).toEqual({ replayed, refused });
});

test("--rate-limit makes 429 real, with Retry-After", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "5/s"]);
  const answers: string[] = [];
  for (let index = 0; index < 11; index += 1)
    answers.push(outcome(await post(sandbox, { ...BODY, order_id: `o-${index}` })));
  expect(answers).toEqual([...Array.from({ length: 10 }, () => "201 created"), "429 rate_limited"]);
  const limited = await post(sandbox, BODY);
  expect([limited.headers["Retry-After"], answerBreaches(limited)]).toEqual(["1", ""]);
  harness.clock.advance(1000);
  expect(outcome(await post(sandbox, BODY))).toBe("201 created");
});

test("each API key has its own bucket, and a request without a valid key takes nothing from any", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "5/s"]);
  const made = await harness.run(["keys", "create", "--scopes", "orders:write", "--json"]);
  const { api_key: second = "" } = JSON.parse(made.stdout) as { readonly api_key?: string };
  const send = (key: string): Promise<Answered> =>
    post(sandbox, { ...BODY, order_id: `o-${(keys += 1)}` }, { headers: { Authorization: `Bearer ${key}` } });
  const outcomes = async (key: string, times: number): Promise<ReadonlySet<string>> => {
    const answers: string[] = [];
    for (let sent = 0; sent < times; sent += 1) answers.push(outcome(await send(key)));
    return new Set(answers);
  };
  const first = sandbox.ready.api_key ?? "";
  expect(await outcomes(`svc_test_${"0".repeat(33)}`, 12)).toEqual(new Set(["401 credential_invalid"]));
  expect(await outcomes(`svc_live_${"0".repeat(33)}`, 12)).toEqual(
    new Set(["403 production_approval_missing"]),
  );
  expect(await outcomes(first, 10)).toEqual(new Set(["201 created"]));
  const limited = await send(first);
  expect(outcome(limited)).toBe("429 rate_limited");
  expect(said(limited).error?.message).toBe(
    "more than 5 requests a second with this API key; try again in 1 s",
  );
  expect(await outcomes(second, 10)).toEqual(new Set(["201 created"]));
  expect(outcome(await send(second))).toBe("429 rate_limited");
});

test("while the store's clock stands a bucket fills all the same", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "5/s"]);
  expect((await harness.run(["sandbox", "clock", "freeze"])).code).toBe(0);
  const spend = async (orders: number) => {
    const answers: string[] = [];
    for (let index = 0; index < orders; index += 1)
      answers.push(outcome(await post(sandbox, { ...BODY, order_id: `o-${harness.clock.now()}-${index}` })));
    return answers;
  };
  expect(await spend(11)).toEqual([...Array.from({ length: 10 }, () => "201 created"), "429 rate_limited"]);
  harness.clock.advance(1000);
  expect(await spend(6)).toEqual([...Array.from({ length: 5 }, () => "201 created"), "429 rate_limited"]);
});

test("while the store's clock stands a checkout does not expire, however late it is outside", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  expect((await harness.run(["sandbox", "clock", "freeze"])).code).toBe(0);
  const id = String(said(await post(sandbox, BODY)).data?.["id"]);
  harness.clock.advance(48 * 3_600_000);
  expect(outcome(await sandbox.request({ path: `/v1/checkout-sessions/${id}` }))).toBe("200 created");
});

test("an order_id is free once its checkout is over, and a reserved one is paid, although no timer has run", async () => {
  const harness = createHarness();
  let sleptMs = 0;
  // The machine slept: its clock has gone on, and its timers have not.
  const world = { now: () => harness.clock.now() + sleptMs };
  const sandbox = await harness.start(EPHEMERAL, { world });
  const first = said(await post(sandbox, BODY)).data;
  const reserved = { ...BODY, order_id: "order-1~succeeded" };
  expect(outcome(await post(sandbox, reserved))).toBe("201 created");
  sleptMs = 48 * 3_600_000;
  expect(outcome(await post(sandbox, BODY))).toBe("201 created");
  expect(outcome(await sandbox.request({ path: `/v1/checkout-sessions/${String(first?.["id"])}` }))).toBe(
    "200 expired",
  );
  const again = await post(sandbox, reserved);
  expect([outcome(again), said(again).error?.message]).toEqual([
    "409 order_conflict",
    expect.stringContaining("with status succeeded"),
  ]);
});

test("a create leaves one checkout, one key and one event, and a refusal leaves nothing", async () => {
  const sandbox = await startV1();
  const created = said(await post(sandbox, BODY, { key: "counted-key" })).data;
  await post(sandbox, BODY, { key: "counted-key" });
  await post(sandbox, BODY);
  await post(sandbox, { ...BODY, amount_minor: -1 });
  const database = new Database(sandbox.database, { readonly: true });
  const count = (table: string): unknown => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
  expect(["checkouts", "idempotency_keys", "events"].map(count)).toEqual([1, 1, 1]);
  const event = database.prepare<[], { body: string; type: string }>("SELECT body, type FROM events").get();
  database.close();
  const body = JSON.parse(event?.body ?? "") as unknown;
  expect(breaches("Event", body)).toBe("");
  expect(body).toEqual({
    event_id: expect.any(String) as string,
    type: "order.created",
    created_at: "2026-01-15T12:00:00.000Z",
    api_version: "1.0.0-test",
    livemode: false,
    store_id: sandbox.storeId,
    sequence: 1,
    previous_status: null,
    data: created,
  });
});

test("/healthz needs no key and says only that the service is ready", async () => {
  const sandbox = await startV1();
  const answer = await sandbox.request({ path: "/healthz", headers: { Authorization: "" } });
  expect([answer.status, answer.body]).toEqual([200, '{"ok":true}']);
  expect(outcome(await sandbox.request({ path: "/healthz", headers: { Host: "evil.example" } }))).toBe(
    "403 host_not_allowed",
  );
  expect(outcome(await sandbox.request({ path: "/nothing" }))).toBe("404 not_found");
});

/** The same meaning in another spelling: order of keys, white space, number spelling, escapes. */
function rewrite(
  body: Body,
  how: { spaces: string; order: number; number: number; escape: boolean },
): string {
  const fields = Object.entries(body).filter(([, value]) => value !== undefined);
  for (let index = 0, rest = how.order; index < fields.length; index += 1) {
    const [moved] = fields.splice(rest % fields.length, 1);
    if (moved !== undefined) fields.unshift(moved);
    rest = Math.floor(rest / fields.length);
  }
  const { spaces } = how;
  const spell = (value: unknown): string =>
    typeof value === "number" ? spellNumber(value, how.number) : spellText(String(value), how.escape);
  const members = fields.map(
    ([name, value]) => `${spaces}${spellText(name, how.escape)}${spaces}:${spaces}${spell(value)}`,
  );
  return `${spaces}{${members.join(`${spaces},`)}${spaces}}${spaces}`;
}

function spellNumber(value: number, how: number): string {
  return [String(value), `${value}.00`, `${value}e0`, `${value * 10}E-1`][how] ?? "";
}

function spellText(text: string, escape: boolean): string {
  if (!escape) return JSON.stringify(text);
  const units = Array.from({ length: text.length }, (_, at) =>
    text.charCodeAt(at).toString(16).padStart(4, "0"),
  );
  return `"${units.map((unit) => `\\u${unit}`).join("")}"`;
}

test("the refusal of a Host says whether its port belongs to the name that is allowed", async () => {
  const sandbox = await createHarness().start(["--allow-host", "shop.example"]);
  const asked = async (host: string): Promise<string> =>
    String((await sandbox.request({ path: "/healthz", headers: { Host: host } })).body);
  expect(await asked("shop.example")).toBe('{"ok":true}');
  expect(await asked("shop.example:8080")).toContain(
    "--allow-host HOST:PORT adds it where the server is started; HOST without a port allows no port, or the server's port",
  );
  expect(await asked("other.example")).toContain("--allow-host HOST adds it where the server is started");
});
