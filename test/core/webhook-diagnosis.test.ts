import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { DIAGNOSIS_CAUSES, type Diagnosis } from "../../src/core/webhook/diagnosis/causes.ts";
import {
  diagnose,
  diagnoseInSteps,
  type DiagnoseOptions,
} from "../../src/core/webhook/diagnosis/diagnose.ts";
import { detailText } from "../../src/core/webhook/diagnosis/details.ts";
import { DEFAULT_HEADER_NAMES, signatureOf } from "../../src/core/webhook/signature.ts";
import type { WebhookHeaders } from "../../src/core/webhook/webhook.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED, size } from "../support/campaign.ts";

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const RETIRED = "whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB";
const KNOWN = [
  { label: "the endpoint https://shop.example/hooks", secret: OTHER, isRetired: false },
  { label: "the endpoint's secret until Monday", secret: RETIRED, isRetired: true },
];
const AT = 1_767_225_600;
const NOW = AT * 1000;
/** A body as the service writes it, with characters beyond ASCII, slashes and an ampersand. */
const BODY = JSON.stringify({
  event_id: "019b76da-a800-7000-8000-000000000001",
  type: "order.succeeded",
  created_at: new Date(NOW - 60_000).toISOString(),
  api_version: "1.0.0-test",
  livemode: false,
  store_id: "019b76da-a800-7000-8000-0000000000aa",
  sequence: 3,
  previous_status: "pending",
  data: {
    id: "019b76da-a800-7000-8000-0000000000cc",
    object: "order",
    order_id: "Größe & 咖啡",
    amount_minor: 1999,
    currency: "EUR",
    status: "succeeded",
    checkout_url: "http://127.0.0.1:4242/pay/019b76da-a800-7000-8000-0000000000cc",
    livemode: false,
  },
});
const PARSED = JSON.parse(BODY) as Record<string, unknown>;
/** A body whose characters are all in Latin-1. */
const WESTERN = BODY.replace("咖啡", "café");

type Arrived = Partial<DiagnoseOptions> & {
  /** The inputs of the sender's signature that differ from the correct inputs. */
  readonly signed?: {
    readonly key?: string | Uint8Array;
    readonly timestamp?: string;
    readonly body?: string | Uint8Array;
    readonly parts?: readonly (string | Uint8Array)[];
    readonly algorithm?: string;
  };
  /** The header, made from the correct digits. */
  readonly header?: (hex: string) => string;
  readonly timestamp?: string;
  readonly headers?: WebhookHeaders;
};

/** The received request: signed, and perhaps changed afterwards. */
function arrive(arrived: Arrived): DiagnoseOptions {
  const { signed = {}, header = (hex) => hex, timestamp = String(AT), ...rest } = arrived;
  const hmac = createHmac(signed.algorithm ?? "sha256", signed.key ?? SECRET);
  const parts = signed.parts ?? [signed.timestamp ?? timestamp, ".", signed.body ?? BODY];
  for (const part of parts) hmac.update(part);
  const headers = [
    DEFAULT_HEADER_NAMES.eventId,
    String(PARSED["event_id"]),
    DEFAULT_HEADER_NAMES.timestamp,
    timestamp,
    DEFAULT_HEADER_NAMES.signature,
    header(hmac.digest("hex")),
  ];
  return { rawBody: BODY, headers, secrets: SECRET, knownSecrets: KNOWN, now: NOW, ...rest };
}

const spaced = (value: unknown): string =>
  JSON.stringify(value, null, 1).replaceAll(/,\n */g, ", ").replaceAll(/\n */g, "");
const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([left], [right]) => (left < right ? -1 : 1))
          .map(([key, inner]) => [key, sorted(inner)]),
      )
    : value;
const ascii = (text: string): string =>
  text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const slashes = (text: string): string => text.replaceAll("/", "\\/");
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const BOM = "\ufeff";
const encoded = (hex: string, as: "base64" | "base64url"): string => Buffer.from(hex, "hex").toString(as);
const minus = (timestamp: number): string => String(AT - timestamp);
const untyped = (value: unknown): never => value as never;

/** Mistakes, with the codes of their diagnosis. */
const ROWS: readonly (readonly [codes: string, arrived: Arrived])[] = [
  // The receiver's secret.
  ["secret_missing", { secrets: "" }],
  ["secret_missing", { secrets: [] }],
  ["secret_missing", { secrets: untyped(undefined) }],
  ["secret_is_api_key", { secrets: `svc_test_${"0".repeat(33)}` }],
  ["secret_malformed", { secrets: "whsec_ключ" }],
  ["secret_whitespace", { secrets: `${SECRET}\n` }],
  ["secret_whitespace", { secrets: ` ${SECRET} ` }],
  ["secret_whitespace", { signed: { key: `${SECRET}\n` } }],
  ["secret_whitespace", { signed: { key: `${SECRET}\r\n` } }],
  ["secret_whitespace", { signed: { key: `${SECRET} ` } }],
  ["secret_whitespace", { secrets: `${SECRET}\n`, signed: { key: `${SECRET}\n` } }],
  ["secret_quoted", { secrets: `"${SECRET}"` }],
  ["secret_quoted", { signed: { key: `'${SECRET}'` } }],
  ["secret_prefix", { signed: { key: SECRET.slice(6) } }],
  ["secret_prefix", { secrets: SECRET.slice(6) }],
  ["secret_decoded", { signed: { key: Buffer.from(SECRET.slice(6), "base64") } }],
  ["secret_decoded", { signed: { key: Buffer.from(SECRET, "base64") } }],
  ["secret_decoded", { secrets: "whsec_00ff10", signed: { key: bytes(0, 255, 16) } }],
  ["secret_not_set", { signed: { key: "" } }],
  ["secret_not_set", { signed: { key: "undefined" } }],
  ["other_secret", { signed: { key: OTHER } }],
  ["retired_secret", { signed: { key: RETIRED } }],
  ["other_secret secret_prefix", { signed: { key: OTHER.slice(6) } }],
  // The timestamp.
  ["timestamp_missing", { headers: [DEFAULT_HEADER_NAMES.signature, "0".repeat(64)] }],
  ["timestamp_missing signature_missing", { headers: new Headers() }],
  ["timestamp_empty", { timestamp: "" }],
  ["timestamp_empty", { timestamp: " " }],
  [
    "timestamp_doubled",
    {
      headers: [
        DEFAULT_HEADER_NAMES.timestamp,
        "1",
        DEFAULT_HEADER_NAMES.timestamp,
        "1",
        DEFAULT_HEADER_NAMES.signature,
        "0".repeat(64),
      ],
    },
  ],
  ["timestamp_doubled", { timestamp: `${AT}, ${AT}`, signed: { timestamp: String(AT) } }],
  ["timestamp_milliseconds", { timestamp: `${AT}000` }],
  ["timestamp_milliseconds", { timestamp: `${AT}123`, signed: { timestamp: String(AT) } }],
  ["timestamp_malformed", { timestamp: new Date(NOW).toISOString() }],
  ["timestamp_malformed", { timestamp: new Date(NOW).toISOString(), signed: { timestamp: String(AT) } }],
  ["timestamp_malformed", { timestamp: `${AT}.5`, signed: { timestamp: String(AT) } }],
  ["timestamp_malformed", { timestamp: `+${AT}`, signed: { timestamp: String(AT) } }],
  ["timestamp_malformed", { timestamp: ` ${AT}`, signed: { timestamp: String(AT) } }],
  ["timestamp_malformed unexplained", { timestamp: "soon", signed: { body: "another" } }],
  ["other_timestamp", { signed: { timestamp: minus(1) } }],
  ["other_timestamp", { signed: { timestamp: minus(305) } }],
  ["other_timestamp", { signed: { timestamp: minus(2100) } }],
  ["other_timestamp clock_skew stale_replay", { timestamp: minus(2000), signed: { timestamp: String(AT) } }],
  ["clock_skew stale_replay", { now: NOW + 400_000 }],
  ["clock_skew stale_replay", { now: NOW + 2 * 3_600_000 + 20_000 }],
  ["clock_skew", { now: NOW - 301_000 }],
  ["clock_skew", { now: NOW - 86_400_000 }],
  ["stale_replay clock_skew", { now: NOW + 86_400_000 }],
  ["stale_replay clock_skew", { now: NOW + 5000_000 }],
  // The signature's form.
  ["signature_missing", { headers: { [DEFAULT_HEADER_NAMES.timestamp]: String(AT) } }],
  ["signature_empty", { header: () => "" }],
  [
    "signature_doubled",
    {
      headers: [
        DEFAULT_HEADER_NAMES.timestamp,
        "1",
        DEFAULT_HEADER_NAMES.signature,
        "x",
        DEFAULT_HEADER_NAMES.signature,
        "x",
      ],
    },
  ],
  ["signature_doubled", { header: (hex) => `${hex}, ${hex}` }],
  ["signature_upper_case", { header: (hex) => hex.toUpperCase() }],
  ["signature_base64", { header: (hex) => encoded(hex, "base64") }],
  ["signature_base64", { header: (hex) => encoded(hex, "base64url") }],
  ["signature_prefixed", { header: (hex) => `sha256=${hex}` }],
  ["signature_prefixed", { header: (hex) => `v1=${hex}` }],
  ["signature_prefixed", { header: (hex) => `t=${AT},v1=${hex}` }],
  ["signature_prefixed", { header: (hex) => `t=${AT},v1=${hex},v0=${"0".repeat(64)}` }],
  ["signature_prefixed signature_base64", { header: (hex) => `v1,${encoded(hex, "base64")}` }],
  ["signature_prefixed signature_upper_case", { header: (hex) => `SHA256=${hex.toUpperCase()}` }],
  ["signature_whitespace", { header: (hex) => `${hex} ` }],
  ["signature_whitespace", { header: (hex) => `${hex}\n` }],
  ["signature_too_many", { header: (hex) => `${hex},${hex},${hex},${hex}` }],
  ["signature_malformed", { header: (hex) => `${hex};${hex}` }],
  ["signature_malformed unexplained", { header: () => "{{signature}}" }],
  ["signature_truncated", { header: (hex) => hex.slice(0, 60) }],
  ["signature_truncated", { header: (hex) => hex.slice(0, 32) }],
  ["signature_truncated unexplained", { header: (hex) => hex.slice(0, 8) }],
  ["signature_truncated", { header: (hex) => hex.slice(0, 40) }],
  ["signature_overlong", { header: (hex) => `${hex}00` }],
  ["other_algorithm", { signed: { algorithm: "sha1" } }],
  ["other_algorithm", { signed: { algorithm: "sha512" } }],
  [
    "signature_base64 other_algorithm",
    { signed: { algorithm: "sha512" }, header: (hex) => encoded(hex, "base64") },
  ],
  // Signed texts other than the timestamp, a dot and the body.
  ["wrong_separator", { signed: { parts: [String(AT), ":", BODY] } }],
  ["wrong_separator", { signed: { parts: [String(AT), BODY] } }],
  ["wrong_separator", { signed: { parts: [String(AT), "\n", BODY] } }],
  ["wrong_separator", { signed: { parts: [String(AT), ",", BODY] } }],
  ["timestamp_not_signed", { signed: { parts: [BODY] } }],
  ["event_id_signed", { signed: { parts: [`${String(PARSED["event_id"])}.${AT}.`, BODY] } }],
  ["parts_swapped", { signed: { parts: [BODY, ".", String(AT)] } }],
  [
    "signature_prefixed timestamp_not_signed",
    { signed: { parts: [BODY] }, header: (hex) => `sha256=${hex}` },
  ],
  // The body.
  ["body_not_raw", { rawBody: untyped(PARSED) }],
  ["body_not_raw", { rawBody: untyped(undefined) }],
  ["body_not_raw unexplained", { rawBody: "[object Object]" }],
  ["body_empty unexplained", { rawBody: "" }],
  ["body_whitespace_added", { rawBody: `${BODY}\n` }],
  ["body_whitespace_added", { rawBody: `${BODY}\r\n` }],
  ["body_whitespace_added", { rawBody: `${BODY} \n\n` }],
  ["body_whitespace_added", { rawBody: `\n ${BODY}\n` }],
  ["body_whitespace_removed", { signed: { body: `${BODY}\n` } }],
  ["body_whitespace_removed", { signed: { body: `${BODY}\r\n` } }],
  ["body_whitespace_removed", { signed: { body: ` ${BODY}` } }],
  ["body_line_endings", { rawBody: '{\r\n"a": "b"\r\n}', signed: { body: '{\n"a": "b"\n}' } }],
  ["body_line_endings", { rawBody: '{\n"a": "b"\n}', signed: { body: '{\r\n"a": "b"\r\n}' } }],
  ["body_reserialised", { rawBody: spaced(PARSED) }],
  ["body_reserialised", { rawBody: JSON.stringify(PARSED, null, 2) }],
  ["body_reserialised", { rawBody: `${JSON.stringify(PARSED, null, 4)}\n` }],
  ["body_reserialised", { signed: { body: spaced(PARSED) } }],
  ["body_reserialised", { signed: { body: ascii(spaced(PARSED)) } }],
  ["body_reserialised", { signed: { body: JSON.stringify(PARSED, null, 2) } }],
  ["body_reserialised", { signed: { body: JSON.stringify(PARSED, null, "\t") } }],
  ["body_keys_reordered", { rawBody: JSON.stringify(sorted(PARSED)) }],
  ["body_keys_reordered", { rawBody: spaced(sorted(PARSED)) }],
  ["body_keys_reordered", { signed: { body: JSON.stringify(sorted(PARSED)) } }],
  ["body_keys_reordered", { signed: { body: ascii(spaced(sorted(PARSED))) } }],
  ["body_unicode_escaped", { rawBody: ascii(BODY) }],
  ["body_unicode_escaped", { rawBody: slashes(ascii(BODY)) }],
  ["body_unicode_escaped", { signed: { body: ascii(BODY) } }],
  ["body_unicode_escaped", { signed: { body: slashes(BODY) } }],
  ["body_unicode_escaped", { signed: { body: slashes(ascii(BODY)) } }],
  ["body_unicode_escaped", { signed: { body: BODY.replaceAll("&", "\\u0026") } }],
  ["body_charset", { rawBody: Buffer.from(BODY).toString("latin1") }],
  ["body_charset", { rawBody: new TextDecoder("windows-1252").decode(Buffer.from(BODY)) }],
  ["body_charset", { rawBody: Buffer.from(WESTERN, "latin1"), signed: { body: WESTERN } }],
  ["body_charset", { rawBody: WESTERN, signed: { body: Buffer.from(WESTERN, "latin1") } }],
  ["body_charset", { signed: { body: Buffer.from(BODY).toString("latin1") } }],
  ["body_charset", { signed: { body: Buffer.from(BODY, "utf16le") } }],
  ["body_utf16", { rawBody: Buffer.from(BODY, "utf16le") }],
  ["body_characters_lost", { signed: { body: BODY.replaceAll(/[^\0-\u007f]/g, "?") } }],
  ["body_characters_lost", { rawBody: bytes(0x61, 0xff), signed: { body: "a\ufffd" } }],
  ["body_characters_lost unexplained", { rawBody: BODY.replace("咖", "\ufffd") }],
  ["body_bom_added", { rawBody: BOM + BODY }],
  ["body_bom_removed", { signed: { body: BOM + BODY } }],
  ["body_stringified", { rawBody: JSON.stringify(BODY) }],
  ["body_stringified", { signed: { body: JSON.stringify(BODY) } }],
  ["body_base64", { rawBody: Buffer.from(BODY).toString("base64") }],
  ["body_base64", { signed: { body: Buffer.from(BODY).toString("base64") } }],
  ["body_left_out", { signed: { body: "" } }],
  ["body_left_out", { signed: { body: "[object Object]" } }],
  // Two mistakes at once, and an unknown mistake.
  ["retired_secret body_reserialised", { rawBody: spaced(PARSED), signed: { key: RETIRED } }],
  ["timestamp_not_signed body_whitespace_added", { rawBody: `${BODY}\n`, signed: { parts: [BODY] } }],
  ["secret_wrapped", { secrets: `CHECKOUT_SIGNING_SECRET=${SECRET}` }],
  ["secret_mistyped", { secrets: OTHER.replace("A", "B"), signed: { key: OTHER } }],
  ["secret_cut", { secrets: OTHER.slice(0, 30), signed: { key: OTHER } }],
  ["secret_cut", { secrets: SECRET.slice(0, 20) }],
  ["secret_placeholder", { secrets: "${CHECKOUT_SIGNING_SECRET}" }],
  ["body_compressed", { rawBody: gzipSync(BODY) }],
  ["body_not_utf8", { rawBody: Buffer.from(BODY.replace("succeeded", "\u00ff"), "latin1") }],
  ["body_printed", { rawBody: JSON.stringify(Buffer.from(BODY)) }],
  ["body_form_encoded", { rawBody: `payload=${encodeURIComponent(BODY)}` }],
  ["body_html_escaped", { rawBody: BODY.replaceAll("&", "&amp;").replaceAll('"', "&quot;") }],
  ["body_chunked", { rawBody: `${Buffer.byteLength(BODY).toString(16)}\r\n${BODY}\r\n0\r\n\r\n` }],
  ["body_whole_message", { rawBody: `POST /hooks HTTP/1.1\r\nHost: shop\r\n\r\n${BODY}` }],
  ["body_wrapped", { rawBody: JSON.stringify({ version: "2.0", body: BODY, isBase64Encoded: false }) }],
  ["body_prefixed", { rawBody: `INFO webhook ${BODY}` }],
  ["body_cut", { rawBody: BODY.slice(0, 255) }],
  ["body_not_event", { rawBody: "<!DOCTYPE html><p>shop" }],
  ["unexplained", { rawBody: BODY.replace("1999", "1") }],
  ["unexplained", { signed: { key: "whsec_never_heard_of" } }],
  ["body_reserialised unexplained", { rawBody: spaced(PARSED).replace("1999", "1") }],
];

test("the diagnosis of every signature mistake has the expected causes in order, each with a sentence", () => {
  ROWS.forEach(([codes, arrived], at) => {
    const causes = diagnose(arrive(arrived));
    expect([at, causes.map(({ code }) => code).join(" ")]).toEqual([at, codes]);
    for (const { message } of causes) expect(message).toMatch(/^[A-Z].{40,}[.?]$/su);
    const guessed = causes.filter(({ proven }) => !proven).map(({ code }) => code);
    expect([at, guessed.includes("unexplained")]).toEqual([at, guessed.length > 0]);
  });
  // Only the command line compares a body with an event.
  const named = new Set(["body_differs", "body_is_event", ...ROWS.flatMap(([codes]) => codes.split(" "))]);
  expect(Object.keys(DIAGNOSIS_CAUSES).filter((code) => !named.has(code))).toEqual([]);
});

test("a valid webhook has no diagnosis, and a missing header is reported by its configured name", () => {
  expect(diagnose(arrive({}))).toEqual([]);
  const dialect = { headers: { signature: "X-Signature" } };
  const missing = { code: "signature_missing", proven: true, detail: "X-Signature" };
  expect(diagnose(arrive({ dialect }))).toEqual([
    { ...missing, message: expect.stringContaining("X-Signature") as string },
  ]);
});

test("the sentence of a signature diagnosis contains its finding", () => {
  const rows: readonly (readonly [detail: Diagnosis["detail"], arrived: Arrived])[] = [
    ["the endpoint https://shop.example/hooks", { signed: { key: OTHER } }],
    ["the endpoint's secret until Monday", { signed: { key: RETIRED } }],
    [{ fact: "behind", values: ["6 min 40 s"] }, { now: NOW + 400_000 }],
    [{ fact: "ahead", values: ["1 d"] }, { now: NOW - 86_400_000 }],
    ["1 d 1 h", { now: NOW + 90_000_000 }],
    [{ fact: "earlier", values: [AT - 305, "5 min 5 s"] }, { signed: { timestamp: minus(305) } }],
    [{ fact: "line_break", values: [] }, { signed: { parts: [String(AT), "\n", BODY] } }],
    [
      { fact: "other_form", values: [{ fact: "python_layout", values: [] }] },
      { signed: { body: spaced(PARSED) } },
    ],
    ["HMAC-SHA1", { signed: { algorithm: "sha1" } }],
  ];
  for (const [detail, arrived] of rows) {
    const [found] = diagnose(arrive(arrived));
    expect(found?.detail).toEqual(detail);
    expect(found?.message).toContain(
      typeof detail === "object" && detail !== null ? detailText(detail) : detail,
    );
  }
});

/** The CPU time of a function, in microseconds. */
function processorTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

test("the signature diagnosis of a large body takes limited time", () => {
  const blanks = " ".repeat(30_000);
  const bodies = [
    "x".repeat(4 * 1024 * 1024),
    "[".repeat(20_000),
    `[${"999,".repeat(5000)}1]`,
    `{"a":"${blanks}"}`,
    `${'{"a":'.repeat(9)}1${"}".repeat(9)}`,
    // Each quotation mark could begin a string that never ends.
    ` "${String.raw`\"`.repeat(60_000)}x`,
  ];
  // A search may hash four times as many bytes, and hashing takes most of the time.
  const quarter = Buffer.alloc(16 * 1024 * 1024);
  const ofThree = (act: () => unknown): readonly number[] => [1, 2, 3].map(() => processorTime(act));
  const hashing = Math.max(...ofThree(() => createHmac("sha256", SECRET).update(quarter).digest()));
  for (const rawBody of bodies) {
    // The fastest of three runs: a busy machine slows down only some runs, an unlimited search is slow in each run.
    const search = Math.min(
      ...ofThree(() => expect(diagnose(arrive({ rawBody })).at(-1)?.code).toBe("unexplained")),
    );
    expect(search / hashing).toBeLessThan(5 * 4);
  }
  const long = `${AT},`.repeat(1000);
  expect(
    diagnose(arrive({ timestamp: long, header: (hex) => `${'"'.repeat(20_000)}${hex}` })).length,
  ).toBeGreaterThan(1);
});

test("the signature diagnosis tries each timestamp once, even if the searched times are close together", () => {
  const stepsAt = (now: number): number =>
    [...diagnoseInSteps(arrive({ header: () => "ab".repeat(32), now }))].length;
  // All three searched times are at most an hour apart, so their ranges form one range of about two hours.
  const oneRange = stepsAt(NOW);
  const hours = 3600;
  expect(oneRange).toBeGreaterThan(2 * hours);
  expect(oneRange).toBeLessThan(3 * hours);
});

test(`no diagnosis ever contains a secret or the correct signature (seed ${SEED})`, () => {
  const arrivals = fc.record({
    row: fc.constantFrom(...ROWS.map(([, arrived]) => arrived)),
    secrets: fc.option(
      fc.constantFrom<DiagnoseOptions["secrets"]>(OTHER, [SECRET, RETIRED], [OTHER, RETIRED]),
    ),
    body: fc.option(fc.string({ unit: ANY_CHARACTER, maxLength: 200 })),
    header: fc.option(fc.string({ maxLength: 200 })),
    skew: fc.integer({ min: -1e9, max: 1e9 }),
  });
  const property = fc.property(arrivals, ({ row, secrets, body, header, skew }) => {
    const request = arrive({
      ...row,
      ...(secrets === null ? {} : { secrets }),
      ...(body === null ? {} : { rawBody: body }),
      ...(header === null ? {} : { header: () => header }),
      now: NOW + skew,
    });
    const text = JSON.stringify(diagnose(request));
    const rawBody = typeof request.rawBody === "string" ? Buffer.from(request.rawBody) : Buffer.from(BODY);
    for (const secret of [SECRET, OTHER, RETIRED]) {
      expect(text).not.toContain(secret.slice(6));
      for (const signed of [rawBody, Buffer.from(BODY)]) {
        const right = signatureOf(secret, { timestamp: String(AT), rawBody: signed });
        expect(text.toLowerCase()).not.toContain(right.slice(0, 16));
      }
    }
    expect(text).not.toMatch(/[0-9a-f]{32}/i);
  });
  fc.assert(property, { seed: SEED, numRuns: size(50, 5000) });
});

test("wrong signatures of full length, or of at most 31 digits, get a diagnosis that reveals no digit of the correct signature", () => {
  const told = (header: (hex: string) => string): readonly Diagnosis[] => diagnose(arrive({ header }));
  const none = told(() => "0".repeat(64));
  for (const digits of [1, 8, 31, 32, 63]) {
    expect(told((hex) => hex.slice(0, digits).padEnd(64, "0"))).toEqual(none);
  }
  // A truncated signature proves its cause only if it is too long to be guessed.
  for (const digits of [1, 8, 31]) {
    expect(told((hex) => hex.slice(0, digits))).toEqual(told(() => "0".repeat(digits)));
  }
});
