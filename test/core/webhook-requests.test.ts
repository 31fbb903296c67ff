import { expect, test } from "vitest";
import { createTestEvent } from "../../src/core/checkout/event.ts";
import { buildProbes } from "../../src/core/judge/forms/probes.ts";
import { bodyVariants } from "../../src/core/webhook/diagnosis/body-variants.ts";
import { signatureOf } from "../../src/core/webhook/signature.ts";
import { buildDrillRequest } from "../../src/core/judge/forms/requests.ts";
import { CASE_NAMES, DRILL_CASES, type CaseName } from "../../src/core/readiness/drills/webhook.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const STORE = "019bc1f0-4e20-7aaa-8000-000000000009";
const eventOf = (end: number) => ({
  id: `019bc1f0-4e20-7aaa-8000-${String(end).padStart(12, "0")}`,
  storeId: STORE,
  createdAt: NOW + end,
});
const EVENTS = { own: eventOf(1), first: eventOf(2) };
const KEYS = {
  secret: "whsec_right",
  retiredSecret: undefined,
  realNow: NOW,
  url: "http://localhost:3000/hooks",
};
/** An event of an order that the receiver has accepted, as the service writes it. */
const ORDER = {
  id: "019bc1f0-4e20-7aaa-8000-000000000003",
  body: JSON.stringify({
    event_id: "019bc1f0-4e20-7aaa-8000-000000000003",
    type: "order.created",
    created_at: "2026-01-15T11:00:00.000Z",
    livemode: false,
    store_id: STORE,
    sequence: 1,
    previous_status: null,
    data: {
      id: "019bc1f0-4e20-7aaa-8000-000000000004",
      object: "order",
      order_id: "order-1",
      livemode: false,
    },
  }),
};

type Json = Readonly<Record<string, unknown>>;

/** The fields of an event that a case changes, with their new values. */
function changedBy(name: CaseName): Json {
  const { request } = buildDrillRequest(DRILL_CASES[name], { ...EVENTS, order: ORDER }, KEYS);
  const own = JSON.parse(createTestEvent(EVENTS.own, EVENTS.own.createdAt).body) as Json;
  const sent = JSON.parse(String(request.body)) as Json;
  const before = name.startsWith("payment_") ? (JSON.parse(ORDER.body) as Json) : own;
  expect([name, Object.keys(before).filter((field) => !(field in sent))]).toEqual([name, []]);
  const changed = Object.entries(sent).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field]),
  );
  return Object.fromEntries(changed);
}

test("a changed event of the webhook drill differs from the genuine event only in the part that its case names", () => {
  const otherStore = STORE.replace("000000000009", "999999999990");
  const rows: Partial<Record<CaseName, Json>> = {
    unknown_type: { type: "webhook.refunded" },
    other_family: { type: "ping" },
    other_store: { store_id: otherStore },
    live: { livemode: true },
    live_empty: { livemode: true },
    other_store_none: { store_id: otherStore },
    other_store_unset: { store_id: otherStore },
    live_printed: { livemode: true },
  };
  for (const [name, changes] of Object.entries(rows))
    expect([name, changedBy(name as CaseName)]).toEqual([name, changes]);
  const unnamed = { ...EVENTS, own: { ...EVENTS.own, storeId: "a-store" }, order: null };
  const { request } = buildDrillRequest(DRILL_CASES.other_store, unnamed, KEYS);
  expect(JSON.parse(String(request.body))).toMatchObject({ store_id: "a-stoerx" });
  expect(changedBy("payment_live")).toMatchObject({
    livemode: true,
    type: "order.succeeded",
    data: { object: "order", status: "succeeded", livemode: true },
  });
});

test("the drill case changed_byte is the good event with a different last digit of created_at", () => {
  const events = { ...EVENTS, order: null };
  const { request } = buildDrillRequest(DRILL_CASES.changed_byte, events, KEYS);
  const body = String(request.body);
  const own = createTestEvent(EVENTS.own, EVENTS.own.createdAt).body;
  const differing = Array.from(own).filter((character, at) => character !== body[at]);
  expect([body.length, differing.length]).toEqual([own.length, 1]);
  const { created_at: at, ...rest } = JSON.parse(body) as Json;
  expect(new Date(String(at)).toISOString()).toBe(at);
  expect(rest).toEqual({ ...(JSON.parse(own) as Json), created_at: undefined });
  const genuine = buildDrillRequest(DRILL_CASES.good_event, events, KEYS);
  expect(request.headers).toEqual(genuine.request.headers);
});

/** The number of characters in which two texts of equal length differ; undefined if their lengths differ. */
function differences(one: string, other: string): number | undefined {
  if (one.length !== other.length) return undefined;
  return Array.from(one).filter((character, at) => character !== other[at]).length;
}

test("a forged signature of the webhook drill differs from the correct signature as its case says", () => {
  const signedAs = (name: CaseName): string => {
    const { request } = buildDrillRequest(DRILL_CASES[name], { ...EVENTS, order: null }, KEYS);
    return new Headers(request.headers).get("Checkout-Signature") ?? "none";
  };
  const right = signedAs("good_event");
  const rows: Partial<Record<CaseName, number | undefined>> = {
    changed_byte: 0,
    rewritten_body: 0,
    first_digit: 1,
    last_digit: 1,
    right_ends: 16,
    even_digits: 32,
    odd_digits: 32,
    swapped_digits: 2,
    short_signature: undefined,
  };
  const found = Object.keys(rows).map((name) => [name, differences(right, signedAs(name as CaseName))]);
  expect(Object.fromEntries(found)).toEqual(rows);
  expect(signedAs("short_signature")).toBe(right.slice(0, 32));
  const rightlySigned = CASE_NAMES.filter((name) => signedAs(name) === right);
  expect(rightlySigned).toEqual([
    "good_event",
    "changed_byte",
    "good_on_connection",
    "rewritten_body",
    "no_timestamp",
    "in_parts",
    "lower_case",
    "upper_case",
    "extra_headers",
    "good_in_chunks",
    "good_at_the_end",
  ]);
});

test("a probe of the webhook drill distinguishes a receiver that decodes the body from a receiver that parses the body", () => {
  const { body } = createTestEvent(EVENTS.own, EVENTS.own.createdAt);
  const { secret, realNow } = KEYS;
  const tried = buildProbes(
    { id: EVENTS.own.id, body },
    { secret, olderSecrets: [], realNow, dialect: undefined },
  );
  const causeOf = (rawBody: Uint8Array): string | undefined => {
    const signature = signatureOf(secret, { timestamp: String(realNow / 1000), rawBody });
    return tried.find(({ headers }) => headers["Checkout-Signature"] === signature)?.cause;
  };
  const variants = bodyVariants(Buffer.from(body)).filter(({ findings }) => findings.length === 1);
  const found = variants.map(({ findings: [only], value }) => [only?.code, causeOf(value)]);
  expect(Object.fromEntries(found)).toEqual({
    body_whitespace_removed: "decoded_body",
    body_bom_removed: "decoded_body",
    body_charset: "decoded_body",
    body_base64: "decoded_body",
    body_reserialised: "parsed_body",
    body_keys_reordered: "parsed_body",
    body_stringified: "parsed_body",
    body_left_out: "parsed_body",
  });
});
