import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { Stripe } from "stripe";
import { expect, test } from "vitest";
import { openCheckout, STATUSES, type Checkout } from "../../src/core/checkout/checkout.ts";
import { createEvent, createTestEvent } from "../../src/core/checkout/event.ts";
import {
  DEFAULT_HEADER_NAMES,
  headersInDialect,
  signatureOf,
  signHeaders,
} from "../../src/core/webhook/signature.ts";
import { type CheckoutWire } from "../../src/core/checkout/wire-shapes.ts";
import { checkoutJson } from "../../src/core/checkout/wire.ts";
import type { VerifyOptions, WebhookCheckout } from "../../src/core/webhook/webhook.ts";
import { verifySignature, verifyWebhook } from "../../src/webhooks.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED, seededRandom, size } from "../support/campaign.ts";
import { VECTORS } from "../support/signature-vectors.ts";
import { tempFolder } from "../support/temp-folder.ts";

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const AT = 1_767_225_600;
const NOW = AT * 1000 + 999;
const TYPES = ["order", "checkout_session"] as const;

/** The body of the event that the sandbox would send for a checkout of this kind and status. */
function eventBody(object: Checkout["object"], status: Checkout["status"]): string {
  const store = { id: "s1", active: true, paymentMethods: ["alipay_plus"], currencies: ["EUR"] };
  const terms = someTerms({ orderId: "Größe 咖啡", amountMinor: 1999 });
  const input = { id: "c1", object, terms, store };
  const opened = openCheckout({ ...input, blocker: undefined, lifetimeMs: 300_000 }, NOW);
  if (!opened.ok) throw new Error(opened.refusal.message);
  const checkout = { ...opened.value, status };
  const json = checkoutJson(checkout, "http://127.0.0.1:4242");
  return createEvent({ id: "e1", checkout, previousStatus: null, sequence: 1, checkoutJson: json }, NOW).body;
}

/** The arguments of a valid verification, with the given changes. */
function request(
  change: Partial<VerifyOptions> & { readonly body?: string } = {},
): VerifyOptions & { now: number } {
  const rawBody = change.body ?? eventBody("order", "succeeded");
  const signed = signHeaders([SECRET], { eventId: "e1", timestamp: AT, rawBody: Buffer.from(rawBody) });
  return { rawBody, headers: signed, secrets: SECRET, now: NOW, ...change };
}

test("every signature vector of fixtures/signatures.json gets its stated verdict", () => {
  expect(VECTORS.length).toBeGreaterThanOrEqual(60);
  for (const vector of VECTORS) {
    const verdict = verifySignature({
      rawBody: Buffer.from(vector.body_base64, "base64"),
      headers: vector.headers.flat(),
      secrets: vector.secrets,
      now: vector.now * 1000,
      toleranceSeconds: vector.tolerance_seconds,
    });
    expect([vector.description, verdict.ok ? "valid" : verdict.code]).toEqual([
      vector.description,
      vector.expected,
    ]);
  }
});

test("the signature vectors follow the interface's formula, and cover every refusal code", () => {
  const codes = new Set(VECTORS.map(({ expected }) => expected));
  expect([...codes].toSorted()).toEqual([
    "secret_malformed",
    "secret_missing",
    "signature_doubled",
    "signature_malformed",
    "signature_mismatch",
    "signature_missing",
    "timestamp_doubled",
    "timestamp_malformed",
    "timestamp_missing",
    "timestamp_too_new",
    "timestamp_too_old",
    "valid",
  ]);
  for (const { description, headers, secrets, body_base64, expected } of VECTORS) {
    const lines = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
    const signed = Buffer.concat([
      Buffer.from(`${lines.get("checkout-timestamp") ?? ""}.`),
      Buffer.from(body_base64, "base64"),
    ]);
    const sent = lines.get("checkout-signature")?.split(",") ?? [];
    const isSigned = secrets.some((secret) =>
      sent.includes(createHmac("sha256", Buffer.from(secret)).update(signed).digest("hex")),
    );
    const mustBe = new Set(["valid", "timestamp_too_old", "timestamp_too_new"]).has(expected);
    if (mustBe || expected === "signature_mismatch")
      expect([description, isSigned]).toEqual([description, mustBe]);
  }
});

test(`openssl and Python compute the signatures of 1,000 bodies, and Stripe's library accepts them (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const bodies = Array.from({ length: 1000 }, () => randomBody(random));
  const signed = bodies.map((body, at) => {
    const timestamp = String(AT + at);
    const rawBody = Buffer.from(body);
    return { timestamp, rawBody, hex: signatureOf(SECRET, { timestamp, rawBody }) };
  });
  expect(bodies.filter((body) => /[^\0-\u007f]/.test(body)).length).toBeGreaterThan(300);

  const stripe = new Stripe("sk_test_none");
  for (const { timestamp, rawBody, hex } of signed) {
    const header = `t=${timestamp},v1=${hex}`;
    const at = Number(timestamp) * 1000;
    const event = stripe.webhooks.constructEvent(rawBody, header, SECRET, 300, undefined, at);
    expect(event).toEqual(JSON.parse(rawBody.toString()));
  }
  const wrong = `t=${AT},v1=${"0".repeat(64)}`;
  expect(() => stripe.webhooks.constructEvent("{}", wrong, SECRET, 300, undefined, AT * 1000)).toThrow(
    /No signatures found/,
  );

  const expected = signed.map(({ hex }) => hex);
  expect(await signWithPython(signed)).toEqual(expected);
  expect(await signWithOpenssl(signed)).toEqual(expected);
});

type SignedBody = { readonly timestamp: string; readonly rawBody: Buffer };

const PYTHON = `
import base64, hashlib, hmac, json, sys
given = json.load(sys.stdin)
for timestamp, body in given["signed"]:
    text = timestamp.encode() + b"." + base64.b64decode(body)
    print(hmac.new(given["secret"].encode(), text, hashlib.sha256).hexdigest())
`;
import { someTerms } from "../support/rows.ts";

/** Signs all bodies in one process of Python, which must be installed: a skipped test proves nothing. */
async function signWithPython(signed: readonly SignedBody[]): Promise<string[]> {
  const running = promisify(execFile)("python3", ["-c", PYTHON]);
  const given = signed.map(({ timestamp, rawBody }) => [timestamp, rawBody.toString("base64")]);
  running.child.stdin?.end(JSON.stringify({ secret: SECRET, signed: given }));
  const { stdout } = await running.catch((error: unknown) => {
    throw new Error("this test needs python3 on the PATH", { cause: error });
  });
  return stdout.trim().split("\n");
}

/** Signs all bodies in one process of openssl, each body in a file. */
async function signWithOpenssl(signed: readonly SignedBody[]): Promise<string[]> {
  const folder = tempFolder();
  signed.forEach(({ timestamp, rawBody }, at) =>
    writeFileSync(join(folder, String(at)), Buffer.concat([Buffer.from(`${timestamp}.`), rawBody])),
  );
  const digest = ["dgst", "-sha256", "-hmac", SECRET, "-r", ...signed.map((_, at) => String(at))];
  const { stdout } = await promisify(execFile)("openssl", digest, { cwd: folder }).catch((error: unknown) => {
    throw new Error("this test needs openssl on the PATH", { cause: error });
  });
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.slice(0, 64));
}

const ALPHABETS = [
  'abc XYZ 0123456789 "\\/\b\n\t',
  "äöüßéèñçø€",
  "咖啡と便当한국어",
  "😀👩‍💻🇨🇭🍱",
  "\u0000\u007f\u2028\ufeff\ufffd",
];

/** A JSON object with texts of all kinds. */
function randomBody(random: () => number): string {
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const text = (): string =>
    Array.from({ length: Math.floor(random() * 40) }, () => pick(Array.from(pick(ALPHABETS)))).join("");
  const fields = Array.from({ length: 1 + Math.floor(random() * 8) }, (_, at) => [
    `${text()}${at}`,
    pick([text(), Math.floor(random() * 1e9), null, { [text()]: text() }]),
  ]);
  return JSON.stringify(Object.fromEntries(fields), null, pick([0, 2]));
}

test("verifyWebhook returns events of every type, with the signed id", () => {
  const bodies = TYPES.flatMap((object) => STATUSES.map((status) => eventBody(object, status)));
  for (const body of bodies) {
    const verdict = verifyWebhook(request({ body }));
    expect(verdict).toEqual({ ok: true, eventId: "e1", timestamp: AT, event: JSON.parse(body) as unknown });
  }
  const { body } = createTestEvent({ id: "e1", storeId: "s1" }, NOW);
  expect(verifyWebhook(request({ body }))).toMatchObject({ ok: true, event: { type: "webhook.test" } });
  const later = body.replace("webhook.test", "order.reviewed");
  expect(verifyWebhook(request({ body: later }))).toMatchObject({ ok: false, code: "event_invalid" });
  const reviewed = eventBody("order", "pending").replace("order.pending", "order.reviewed");
  expect(verifyWebhook(request({ body: reviewed }))).toMatchObject({ ok: true });
  const disputed = eventBody("order", "succeeded").replaceAll("succeeded", "disputed");
  expect(verifyWebhook(request({ body: disputed }))).toMatchObject({
    ok: true,
    event: { type: "order.disputed", data: { status: "disputed" } },
  });
  // The merchant's types equal the types of the contract.
  const same = (wire: CheckoutWire): WebhookCheckout => wire;
  const back = (seen: WebhookCheckout): CheckoutWire => seen;
  expect([same, back]).toHaveLength(2);
});

test("verifySignature reads headers of Fetch, Node and raw lines, under the configured names", () => {
  const signed = signHeaders([OTHER, SECRET], { eventId: "e1", timestamp: AT, rawBody: Buffer.from("{}") });
  const rows = [
    new Headers(signed),
    signed,
    Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value])),
    Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toUpperCase(), [value]])),
    ["Host", "x", ...Object.entries(signed).flat()],
    // A value that looks like a header name is not taken for a name.
    ["X-Odd", DEFAULT_HEADER_NAMES.timestamp, ...Object.entries(signed).flat()],
    new Map(Object.entries(signed)) as unknown as Headers,
  ];
  for (const headers of rows) {
    expect(verifySignature(request({ rawBody: "{}", headers }))).toEqual({ ok: true, timestamp: AT });
  }
  const names = { eventId: "X-Id", timestamp: "X-Time", signature: "X-Sign" };
  const dialect = { headers: { event_id: "X-Id", timestamp: "X-Time", signature: "X-Sign" } };
  const own = signHeaders([SECRET], { eventId: "e", timestamp: AT, rawBody: Buffer.from("{}") });
  const renamed = headersInDialect(dialect, own);
  expect(renamed).toEqual({
    "X-Id": "e",
    "X-Time": String(AT),
    "X-Sign": expect.stringMatching(/^[0-9a-f]{64}$/) as string,
  });
  const named = { rawBody: "{}", headers: renamed, headerNames: names };
  expect(verifySignature(request(named))).toEqual({ ok: true, timestamp: AT });
});

const BODY = eventBody("order", "succeeded");
const RIGHT = signatureOf(SECRET, { timestamp: String(AT), rawBody: Buffer.from(BODY) });
const lines = (timestamp: string, signature: string, ...more: string[]): string[] => [
  DEFAULT_HEADER_NAMES.eventId,
  "e1",
  DEFAULT_HEADER_NAMES.timestamp,
  timestamp,
  DEFAULT_HEADER_NAMES.signature,
  signature,
  ...more,
];
const body = (change: (event: Record<string, unknown>) => unknown): string =>
  JSON.stringify(change(JSON.parse(BODY) as Record<string, unknown>));
const data = (change: Record<string, unknown>): string =>
  body((event) => ({ ...event, data: { ...(event["data"] as object), ...change } }));
const signedNow = (rawBody: Uint8Array): Partial<VerifyOptions> => ({
  rawBody,
  headers: signHeaders([SECRET], { eventId: "e1", timestamp: AT, rawBody }),
});
/** Hides the type of an argument, for calls that JavaScript allows and the types refuse. */
const untyped = (value: unknown): never => value as never;

/** Refused requests that fixtures/signatures.json lacks, each with its code. */
const REFUSED_REQUESTS: readonly (readonly [
  code: string,
  change: Partial<VerifyOptions> & { body?: string; now?: number },
])[] = [
  ["secret_missing", { secrets: "" }],
  ["secret_missing", { secrets: [] }],
  ["secret_missing", { secrets: [SECRET, ""] }],
  ["secret_missing", { secrets: untyped(undefined) }],
  ["secret_missing", { secrets: untyped(null) }],
  ["secret_missing", { secrets: untyped(42) }],
  ["secret_malformed", { secrets: `${SECRET}\n` }],
  ["secret_malformed", { secrets: `${SECRET}\r\n` }],
  ["secret_malformed", { secrets: ` ${SECRET}` }],
  ["secret_malformed", { secrets: "whsec_two words" }],
  ["secret_malformed", { secrets: "whsec_\u0000" }],
  ["secret_malformed", { secrets: "whsec_ключ" }],
  ["secret_malformed", { secrets: `svc_test_${"0".repeat(33)}` }],
  ["body_not_raw", { rawBody: untyped(undefined) }],
  ["body_not_raw", { rawBody: untyped(null) }],
  ["body_not_raw", { rawBody: untyped(JSON.parse(BODY)) }],
  ["body_not_raw", { rawBody: untyped([]) }],
  ["body_not_raw", { rawBody: untyped(7) }],
  ["timestamp_missing", { headers: {} }],
  ["timestamp_missing", { headers: [] }],
  ["timestamp_missing", { headers: new Headers() }],
  ["timestamp_missing", { headers: { [DEFAULT_HEADER_NAMES.signature]: RIGHT } }],
  [
    "timestamp_missing",
    { headers: { [DEFAULT_HEADER_NAMES.timestamp]: undefined, [DEFAULT_HEADER_NAMES.signature]: RIGHT } },
  ],
  [
    "timestamp_missing",
    { headers: { [DEFAULT_HEADER_NAMES.timestamp]: [], [DEFAULT_HEADER_NAMES.signature]: RIGHT } },
  ],
  ["timestamp_missing", { headerNames: { ...DEFAULT_HEADER_NAMES, timestamp: "X-Time" } }],
  ["timestamp_doubled", { headers: lines(String(AT), RIGHT, DEFAULT_HEADER_NAMES.timestamp, String(AT)) }],
  [
    "timestamp_doubled",
    {
      headers: {
        [DEFAULT_HEADER_NAMES.timestamp]: [String(AT), "1"],
        [DEFAULT_HEADER_NAMES.signature]: RIGHT,
      },
    },
  ],
  [
    "timestamp_doubled",
    {
      headers: {
        [DEFAULT_HEADER_NAMES.timestamp]: String(AT),
        "checkout-timestamp": "1",
        [DEFAULT_HEADER_NAMES.signature]: RIGHT,
      },
    },
  ],
  ["timestamp_malformed", { headers: lines("", RIGHT) }],
  ["timestamp_malformed", { headers: lines(` ${AT}`, RIGHT) }],
  ["timestamp_malformed", { headers: lines(`${AT}\n`, RIGHT) }],
  ["timestamp_malformed", { headers: lines(`+${AT}`, RIGHT) }],
  ["timestamp_malformed", { headers: lines(`-${AT}`, RIGHT) }],
  ["timestamp_malformed", { headers: lines(`${AT}.5`, RIGHT) }],
  ["timestamp_malformed", { headers: lines(`${AT}000`, RIGHT) }],
  ["timestamp_malformed", { headers: lines("1.7e9", RIGHT) }],
  ["timestamp_malformed", { headers: lines("0x69559f80", RIGHT) }],
  ["timestamp_malformed", { headers: lines("NaN", RIGHT) }],
  ["timestamp_malformed", { headers: lines("Infinity", RIGHT) }],
  ["timestamp_malformed", { headers: lines("2026-01-01T00:00:00Z", RIGHT) }],
  ["timestamp_malformed", { headers: lines("١٧٦٧٢٢٥٦٠٠", RIGHT) }],
  [
    "timestamp_malformed",
    {
      headers: new Headers([
        [DEFAULT_HEADER_NAMES.timestamp, "1"],
        [DEFAULT_HEADER_NAMES.timestamp, "2"],
      ]),
    },
  ],
  ["signature_missing", { headers: [DEFAULT_HEADER_NAMES.timestamp, String(AT)] }],
  ["signature_missing", { headerNames: { ...DEFAULT_HEADER_NAMES, signature: "X-Signature" } }],
  ["signature_doubled", { headers: lines(String(AT), RIGHT, DEFAULT_HEADER_NAMES.signature, RIGHT) }],
  ["signature_doubled", { headers: lines(String(AT), "0".repeat(64), "checkout-signature", RIGHT) }],
  ["signature_malformed", { headers: lines(String(AT), "") }],
  ["signature_malformed", { headers: lines(String(AT), RIGHT.toUpperCase()) }],
  ["signature_malformed", { headers: lines(String(AT), ` ${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), `${RIGHT} `) }],
  ["signature_malformed", { headers: lines(String(AT), `${RIGHT}\n`) }],
  ["signature_malformed", { headers: lines(String(AT), `${RIGHT}zz`) }],
  ["signature_malformed", { headers: lines(String(AT), `0x${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), `sha256=${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), `t=${AT},v1=${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), RIGHT.slice(0, 63)) }],
  ["signature_malformed", { headers: lines(String(AT), RIGHT.slice(0, 2)) }],
  ["signature_malformed", { headers: lines(String(AT), `${RIGHT}, ${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), `${RIGHT},`) }],
  ["signature_malformed", { headers: lines(String(AT), `,${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), `${RIGHT},,${RIGHT}`) }],
  ["signature_malformed", { headers: lines(String(AT), Array(4).fill(RIGHT).join()) }],
  ["signature_malformed", { headers: lines(String(AT), Buffer.from(RIGHT, "hex").toString("base64")) }],
  [
    "signature_malformed",
    {
      headers: new Headers([
        ...["1", "2"].map(() => [DEFAULT_HEADER_NAMES.signature, RIGHT] as [string, string]),
        [DEFAULT_HEADER_NAMES.timestamp, String(AT)],
      ]),
    },
  ],
  ["signature_mismatch", { secrets: OTHER }],
  ["signature_mismatch", { secrets: SECRET.slice(6) }],
  ["signature_mismatch", { secrets: SECRET.toLowerCase() }],
  ["signature_mismatch", { rawBody: `${BODY}\n`, headers: lines(String(AT), RIGHT) }],
  ["signature_mismatch", { rawBody: ` ${BODY}`, headers: lines(String(AT), RIGHT) }],
  ["signature_mismatch", { rawBody: `\ufeff${BODY}`, headers: lines(String(AT), RIGHT) }],
  [
    "signature_mismatch",
    { rawBody: JSON.stringify(JSON.parse(BODY), null, 2), headers: lines(String(AT), RIGHT) },
  ],
  ["signature_mismatch", { rawBody: BODY.replace("1999", "1"), headers: lines(String(AT), RIGHT) }],
  ["signature_mismatch", { rawBody: BODY.normalize("NFD"), headers: lines(String(AT), RIGHT) }],
  ["signature_mismatch", { rawBody: Buffer.from(BODY, "latin1"), headers: lines(String(AT), RIGHT) }],
  ["signature_mismatch", { rawBody: "", headers: lines(String(AT), RIGHT) }],
  ["signature_mismatch", { headers: lines(String(AT + 1), RIGHT) }],
  ["signature_mismatch", { headers: lines(String(AT), "0".repeat(64)) }],
  ["signature_mismatch", { headers: lines("1000000000", RIGHT), now: 0 }],
  ["timestamp_too_old", { now: (AT + 301) * 1000 }],
  ["timestamp_too_old", { toleranceSeconds: 0, now: (AT + 1) * 1000 }],
  ["timestamp_too_old", { toleranceSeconds: 0.5, now: (AT + 1) * 1000 }],
  ["timestamp_too_new", { now: (AT - 301) * 1000 + 999 }],
  ["timestamp_too_new", { toleranceSeconds: 0, now: AT * 1000 - 1 }],
  ["timestamp_too_new", { now: 0 }],
  ["event_invalid", { body: "" }],
  ["event_invalid", { body: "null" }],
  ["event_invalid", { body: "[]" }],
  ["event_invalid", { body: "{}" }],
  ["event_invalid", { body: '"text"' }],
  ["event_invalid", { body: `${BODY},` }],
  ["event_invalid", { body: `\ufeff${BODY}` }],
  [
    "event_invalid",
    signedNow(Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')])),
  ],
  ["event_invalid", { body: body((event) => ({ ...event, event_id: undefined })) }],
  ["event_invalid", { body: body((event) => ({ ...event, event_id: "" })) }],
  ["event_invalid", { body: body((event) => ({ ...event, event_id: 1 })) }],
  ["event_invalid", { body: body((event) => ({ ...event, type: null })) }],
  ["event_invalid", { body: body((event) => ({ ...event, livemode: "false" })) }],
  ["event_invalid", { body: body((event) => ({ ...event, sequence: 1.5 })) }],
  ["event_invalid", { body: body((event) => ({ ...event, previous_status: "paid" })) }],
  ["event_invalid", { body: body((event) => ({ ...event, data: [] })) }],
  ["event_invalid", { body: body((event) => ({ ...event, data: undefined })) }],
  ["event_invalid", { body: data({ status: "paid" }) }],
  ["event_invalid", { body: data({ amount_minor: "1999" }) }],
  ["event_invalid", { body: data({ object: "refund" }) }],
  ["event_invalid", { body: data({ order_id: null }) }],
  ["event_id_mismatch", { headers: { ...signedHeaders(), [DEFAULT_HEADER_NAMES.eventId]: "e2" } }],
  ["event_id_mismatch", { headers: { ...signedHeaders(), [DEFAULT_HEADER_NAMES.eventId]: "" } }],
  ["event_id_mismatch", { headers: { ...signedHeaders(), [DEFAULT_HEADER_NAMES.eventId]: "E1" } }],
  ["event_id_doubled", { headers: { ...signedHeaders(), [DEFAULT_HEADER_NAMES.eventId]: ["e1", "e1"] } }],
];

function signedHeaders(): Record<string, string> {
  return { [DEFAULT_HEADER_NAMES.timestamp]: String(AT), [DEFAULT_HEADER_NAMES.signature]: RIGHT };
}

test("verifyWebhook refuses every wrong request with a code and a message, without throwing", () => {
  expect(REFUSED_REQUESTS.length).toBeGreaterThanOrEqual(60);
  expect(verifyWebhook(request())).toMatchObject({ ok: true });
  expect(verifyWebhook(request({ headers: signedHeaders() }))).toMatchObject({ ok: true, eventId: "e1" });
  REFUSED_REQUESTS.forEach(([code, change], at) => {
    const verdict = verifyWebhook(request(change));
    expect([at, verdict]).toEqual([
      at,
      { ok: false, code, message: expect.stringMatching(/^.{20,300}$/su) as string },
    ]);
    expect(verdict.ok ? "" : verdict.message).not.toMatch(/[0-9a-f]{32}|whsec_[\w-]{2}/);
  });
});

test("a refusal of verifyWebhook states the expected and the received value", () => {
  const rows: readonly (readonly [change: (typeof REFUSED_REQUESTS)[number][1], named: RegExp])[] = [
    [{ rawBody: untyped(null) }, /\bnull\b/],
    [{ rawBody: untyped({}) }, /\bobject\b/],
    [{ rawBody: untyped(7) }, /\bnumber\b/],
    [{ headers: lines("12", RIGHT) }, /Checkout-Timestamp.*"12"/],
    [{ headers: lines(String(AT), "12") }, /Checkout-Signature.*\b64\b.*\b3\b/],
    [{ now: (AT + 301) * 1000 }, /\b301 s\b.*\b300 s\b/],
    [{ now: (AT - 301) * 1000 }, /\b301 s\b.*\b300 s\b/],
  ];
  for (const [change, named] of rows)
    expect(verifyWebhook(request(change))).toMatchObject({ message: expect.stringMatching(named) as string });
});

test(`verifyWebhook returns a verdict for any request (seed ${SEED})`, () => {
  const name = fc.constantFrom(
    ...Object.values(DEFAULT_HEADER_NAMES),
    "Host",
    "get",
    "__proto__",
    "constructor",
  );
  const value = fc.oneof(
    fc.string({ unit: ANY_CHARACTER }),
    fc.constantFrom(String(AT), RIGHT, `${RIGHT},${RIGHT}`, "e1"),
  );
  const pairs = fc.array(fc.tuple(name, value), { maxLength: 8 });
  const rawBody = fc.oneof(fc.uint8Array(), fc.string({ unit: ANY_CHARACTER }), fc.json(), fc.constant(BODY));
  const property = fc.property(pairs, rawBody, fc.boolean(), (given, arrived, cut) => {
    const wire = given.flat();
    const rows = [cut ? wire.slice(0, -1) : wire, Object.fromEntries(given)];
    for (const headers of rows) {
      const verdict = verifyWebhook(request({ headers, rawBody: arrived }));
      if (verdict.ok) expect(arrived).toBe(BODY);
      else expect(verdict.message).not.toBe("");
    }
  });
  fc.assert(property, { seed: SEED, numRuns: size(500, 50_000) });
});

test("verifyWebhook takes headers in every form, in any letter case", () => {
  const headers = signHeaders([SECRET], { eventId: "e1", timestamp: AT, rawBody: Buffer.from(BODY) });
  const pairs = Object.entries(headers);
  const lower = pairs.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const forms = {
    record: headers,
    pairs,
    lower,
    lines: pairs.flat(),
    map: new Map(pairs),
    "map in lower case": new Map(lower),
    fetch: new Headers(headers),
    get: { get: (name: string) => new Headers(headers).get(name) },
  };
  for (const [form, given] of Object.entries(forms)) {
    expect([form, verifyWebhook(request({ headers: given, rawBody: Buffer.from(BODY) }))]).toMatchObject([
      form,
      { ok: true },
    ]);
  }
  const twice = [...pairs, ...lower.filter(([name]) => name === "checkout-signature")];
  expect(verifyWebhook(request({ headers: twice }))).toMatchObject({ code: "signature_doubled" });
});

test("verifyWebhook reads a body in an ArrayBuffer as bytes, and reports a promise of a body as a promise", () => {
  const bytes = new Uint8Array(Buffer.from(BODY));
  expect(verifyWebhook(request({ rawBody: bytes.buffer }))).toMatchObject({ ok: true });
  expect(verifyWebhook(request({ rawBody: untyped(Promise.resolve(BODY)) }))).toMatchObject({
    code: "body_not_raw",
    message: expect.stringContaining("await") as string,
  });
});

test("verifyWebhook throws a TypeError for an invalid tolerance, time or header argument", () => {
  const rows: readonly (Parameters<typeof request>[0] & { readonly now?: number })[] = [
    { toleranceSeconds: -1 },
    { toleranceSeconds: Number.NaN },
    { toleranceSeconds: Number.POSITIVE_INFINITY },
    { toleranceSeconds: untyped("300") },
    { now: Number.NaN },
    { now: untyped(new Date()) },
    { headers: untyped(undefined) },
    { headers: untyped(null) },
    { headers: untyped("Checkout-Timestamp: 1") },
    { headers: untyped(42) },
    { headers: untyped(() => "") },
    { headers: untyped(Promise.resolve({})) },
    { headers: untyped([["Checkout-Timestamp"]]) },
    { headers: untyped(["Checkout-Timestamp", 1]) },
    { headers: untyped(new Set(["Checkout-Timestamp"])) },
    { headerNames: untyped(null) },
    { headerNames: untyped({ timestamp: "T" }) },
  ];
  for (const change of rows) {
    const verify = (): unknown => verifyWebhook(request(change));
    expect(verify).toThrow(TypeError);
    // The message names the argument.
    for (const argument of Object.keys(change)) expect(verify).toThrow(new RegExp(`\\b${argument}\\b`));
  }
  for (const options of [undefined, null, "{}", 1])
    expect(() => verifyWebhook(untyped(options))).toThrow(/\{ rawBody, headers, secrets \}/);
  // Without `now` the machine's clock counts, by which the request is too old.
  const { now: _, ...unclocked } = request();
  expect(verifyWebhook(unclocked)).toMatchObject({ ok: false, code: "timestamp_too_old" });
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = signHeaders([SECRET], { eventId: "e1", timestamp, rawBody: Buffer.from(BODY) });
  expect(verifyWebhook({ ...unclocked, rawBody: Buffer.from(BODY), headers })).toMatchObject({ ok: true });
});

test("a webhook is signed with at most three secrets, newest first, and one matching signature is enough", () => {
  const secrets = [OTHER, SECRET, "third", "fourth"];
  const headers = signHeaders(secrets, { eventId: "e1", timestamp: AT, rawBody: Buffer.from(BODY) });
  expect(headers[DEFAULT_HEADER_NAMES.signature]?.split(",")).toEqual(
    secrets
      .slice(0, 3)
      .map((secret) => signatureOf(secret, { timestamp: String(AT), rawBody: Buffer.from(BODY) })),
  );
  const verify = (...known: string[]): boolean => verifyWebhook(request({ headers, secrets: known })).ok;
  expect([verify(OTHER), verify(SECRET), verify("third"), verify("fourth")]).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect([verify("fourth", "third"), verify("fourth", "fifth")]).toEqual([true, false]);
});
