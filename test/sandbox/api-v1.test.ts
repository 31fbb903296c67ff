import Database from "better-sqlite3";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SEED, size } from "../support/campaign.ts";
import { answerBreaches, breaches, listsStatus } from "../support/contract.ts";
import type { FullAnswer } from "../support/harness.ts";
import { BODY, outcome, post, bodyOf, type Body } from "../support/v1-calls.ts";
import { shareOfV1, startV1 } from "../support/v1-sandboxes.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

test("both create endpoints answer both body forms as the OpenAPI contract says", async () => {
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
    expect(bodyOf(created).data).toMatchObject({ ...expected, livemode: false });
    expect(listsStatus(path.replace("/v1", ""), "post", 201)).toBe(true);
    const id = String(bodyOf(created).data?.["id"]);
    const got = await sandbox.request({ path: `/v1/checkout-sessions/${id.toUpperCase()}` });
    expect([answerBreaches(got), got.status, bodyOf(got).data]).toEqual(["", 200, bodyOf(created).data]);
  }
});

test("a request is refused by the first failed check in the order of decision 3, and each refusal has the error envelope", async () => {
  const sandbox = await startV1();
  await post(sandbox, BODY, { key: "first-key-1" });
  const bad = "{";
  const rows: readonly (readonly [string, Promise<FullAnswer>])[] = [
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
      expect(bodyOf(answer).error?.message).toBe(
        refusalMessage("session_not_found", { received: "0199a3c4-5d00-7000-8000-000000000001" }),
      );
  }
});

test("every field of a create request is checked, and the refusal names the field", async () => {
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
    const { error } = bodyOf(await post(sandbox, body));
    expect([error?.code, error?.message]).toEqual([code, expect.stringContaining(field)]);
    if (typeof body !== "string" && !("price_id" in body))
      expect(breaches("CreateCheckout", body)).not.toBe("");
  }
});

test("a create with a used key is a replay if its body has the same meaning, and a conflict otherwise", async () => {
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
    { seed: SEED, numRuns: size(shareOfV1(150), 5000) },
  );
});

test("an idempotency key is kept for 30 days, and a refusal is never stored", async () => {
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
  // A key's age is measured by the clock of its store, which is far ahead by now.
  expect((await post(sandbox, BODY, { key: "kept-key-1" })).body).toBe(forgotten.body);
});

test("a create request stores one checkout, one key and one event, and a refused request stores nothing", async () => {
  const sandbox = await startV1();
  const created = bodyOf(await post(sandbox, BODY, { key: "counted-key" })).data;
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

/** A body with the same meaning in another spelling: order of keys, white space, number spelling, escapes. */
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
