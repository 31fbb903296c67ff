import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import type { CauseFinding } from "../../src/core/webhook/diagnosis/causes.ts";
import { detailOf } from "../../src/core/webhook/diagnosis/details.ts";
import { diagnose } from "../../src/core/webhook/diagnosis/diagnose.ts";
import { compareWithEvent, idsIn } from "../../src/core/webhook/diagnosis/event-comparison.ts";
import { DEFAULT_HEADER_NAMES, signatureOf } from "../../src/core/webhook/signature.ts";

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const OTHER = "whsec_Kq7LrT2vXw9Zb4Nc6Md8Pf1Gh3Js5Ya0UeWiOtRzQvB";
const RETIRED = "whsec_Vn8MxC4zLk2Jh6Gf0Ds9Aq1We3Rt5Yu7IoPbNmQaZxS";
const KNOWN = [
  { label: "the endpoint http://localhost:3000/hooks", secret: OTHER, isRetired: false },
  { label: "an earlier secret of the endpoint", secret: RETIRED, isRetired: true },
];
const AT = 1_767_225_600;
const ID = "019b76da-a800-7000-8000-000000000001";
const BODY = JSON.stringify({
  event_id: ID,
  type: "order.succeeded",
  created_at: "2026-01-01T00:00:00.000Z",
  livemode: false,
  sequence: 3,
  data: { order_id: "Größe <1> & it's", amount_minor: 1999, checkout_url: "http://127.0.0.1:4242/pay/x" },
});
const BYTES = Buffer.from(BODY);
const VALUE = JSON.parse(BODY) as Record<string, unknown>;
const ASCII = BODY.replace("Größe", "Tee");

function causesOf(rawBody: string | Uint8Array, { secrets = SECRET, key = SECRET, body = BODY } = {}) {
  const headers = [
    DEFAULT_HEADER_NAMES.timestamp,
    String(AT),
    DEFAULT_HEADER_NAMES.signature,
    signatureOf(key, { timestamp: String(AT), rawBody: Buffer.from(body) }),
  ];
  return diagnose({ rawBody, headers, secrets, knownSecrets: KNOWN, now: AT * 1000 });
}

/** A form of a body, the body in this form, its cause, and the signed body if it is not `BODY`. */
type Form = readonly [name: string, rawBody: string | Uint8Array, code: string, signed?: string];

const swapped = Buffer.from(BODY, "utf16le").swap16();
const lambda = (more: object): string => JSON.stringify({ version: "2.0", headers: {}, ...more });
const chunks = (sizes: readonly number[]): string => {
  let at = 0;
  const parts = sizes.map((size) => {
    const part = ASCII.slice(at, (at += size));
    return `${part.length.toString(16)}\r\n${part}\r\n`;
  });
  const rest = ASCII.slice(at);
  return `${parts.join("")}${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`;
};
const message = (first: string, lineEnd = "\r\n"): string =>
  [first, "Host: shop.example", "Content-Type: application/json", "", BODY].join(lineEnd);

/** Forms from which the signed body can be restored, so that the cause is proven. */
const RESTORED: readonly Form[] = [
  ["gzip", gzipSync(BYTES), "body_compressed"],
  ["gzip at level 1", gzipSync(BYTES, { level: 1 }), "body_compressed"],
  ["deflate", deflateSync(BYTES), "body_compressed"],
  ["raw deflate", deflateRawSync(BYTES), "body_compressed"],
  ["Brotli", brotliCompressSync(BYTES), "body_compressed"],
  ["zstd", zstdCompressSync(BYTES), "body_compressed"],
  ["UTF-16", Buffer.from(BODY, "utf16le"), "body_utf16"],
  ["UTF-16 with a mark", Buffer.from(`\ufeff${BODY}`, "utf16le"), "body_utf16"],
  ["UTF-16 big-endian", swapped, "body_utf16"],
  ["UTF-16 big-endian with a mark", Buffer.concat([Buffer.from("feff", "hex"), swapped]), "body_utf16"],
  ["a Buffer as JSON", JSON.stringify(BYTES), "body_printed"],
  ["a Buffer as indented JSON", JSON.stringify(BYTES, null, 2), "body_printed"],
  ["a Uint8Array as JSON", JSON.stringify(new Uint8Array(BYTES)), "body_printed"],
  ["a list of bytes as JSON", JSON.stringify([...BYTES]), "body_printed"],
  ["a list of bytes", [...BYTES].join(","), "body_printed"],
  ["bytes of Python", `b'${ASCII.replaceAll("'", "\\'")}'`, "body_printed", ASCII],
  ["bytes of Python in double quotes", `b"${ASCII.replaceAll('"', '\\"')}"`, "body_printed", ASCII],
  [
    "bytes of Python beyond ASCII",
    `b'${BYTES.toString("latin1")
      .replaceAll("'", "\\'")
      .replaceAll(/[\u0080-\u00ff]/g, (one) => `\\x${one.charCodeAt(0).toString(16)}`)}'`,
    "body_printed",
  ],
  ["hexadecimal", BYTES.toString("hex"), "body_printed"],
  ["hexadecimal of PostgreSQL", `\\x${BYTES.toString("hex")}`, "body_printed"],
  ["base64", BYTES.toString("base64"), "body_base64"],
  ["base64 for URLs", BYTES.toString("base64url"), "body_base64"],
  ["base64 in lines", BYTES.toString("base64").replaceAll(/.{76}/g, "$&\n"), "body_base64"],
  ["a data address", `data:application/json;base64,${BYTES.toString("base64")}`, "body_base64"],
  ["percent-encoded", encodeURIComponent(BODY), "body_form_encoded"],
  ["a field of a form", `payload=${encodeURIComponent(BODY)}`, "body_form_encoded"],
  ["a field of a form with more", `payload=${encodeURIComponent(BODY)}&id=1`, "body_form_encoded"],
  ["curl -d of a form", `${encodeURIComponent(BODY)}=`, "body_form_encoded"],
  ["a field with plain JSON", `body=${BODY}`, "body_form_encoded"],
  [
    "multipart",
    `--x\r\nContent-Disposition: form-data; name="body"\r\n\r\n${BODY}\r\n--x--\r\n`,
    "body_form_encoded",
  ],
  [
    "HTML-escaped",
    BODY.replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;"),
    "body_html_escaped",
  ],
  ["HTML-escaped by number", BODY.replaceAll("&", "&amp;").replaceAll('"', "&#34;"), "body_html_escaped"],
  ["one chunk", chunks([]), "body_chunked", ASCII],
  ["two chunks", chunks([100]), "body_chunked", ASCII],
  ["many chunks", chunks([16, 16, 16, 16]), "body_chunked", ASCII],
  ["a whole request", message("POST /hooks HTTP/1.1"), "body_whole_message"],
  ["a whole request with plain line ends", message("POST /hooks HTTP/1.1", "\n"), "body_whole_message"],
  ["a whole request of HTTP/2", message("POST /hooks HTTP/2"), "body_whole_message"],
  ["a whole answer", message("HTTP/1.1 200 OK"), "body_whole_message"],
  ["a gateway's event", lambda({ body: BODY, isBase64Encoded: false }), "body_wrapped"],
  [
    "a gateway's event in base64",
    lambda({ body: BYTES.toString("base64"), isBase64Encoded: true }),
    "body_wrapped",
  ],
  ["a field rawBody", lambda({ rawBody: BODY }), "body_wrapped"],
  ["a field payload", JSON.stringify({ payload: BODY }), "body_wrapped"],
  ["an event inside another object", JSON.stringify({ body: VALUE }), "body_wrapped"],
  ["SNS", JSON.stringify({ Type: "Notification", Message: BODY }), "body_wrapped"],
  ["SQS", JSON.stringify({ Records: [{ messageId: "1", body: BODY }] }), "body_wrapped"],
  ["a JSON string", JSON.stringify(BODY), "body_stringified"],
  ["a JSON string without its quotes", JSON.stringify(BODY).slice(1, -1), "body_stringified"],
  ["quotes of a shell", `'${BODY}'`, "body_stringified"],
  ["quotes of CSV", `"${BODY.replaceAll('"', '""')}"`, "body_stringified"],
  ["a line of a log", `2026-01-01 INFO webhook body: ${BODY}`, "body_prefixed"],
  ["a quoted line of mail", `> ${BODY}`, "body_prefixed"],
  ["a byte order mark", `\ufeff${BODY}`, "body_bom_added"],
  ["slashes escaped", BODY.replaceAll("/", "\\/"), "body_unicode_escaped"],
  ["a line break at its end", `${BODY}\n`, "body_whitespace_added"],
  ["trimmed", BODY, "body_whitespace_removed", `${BODY}\n`],
  ["indented", JSON.stringify(VALUE, null, 2), "body_reserialised"],
  ["gzip of a file with a line break", gzipSync(`${BODY}\n`), "body_compressed"],
];

/** Forms whose bytes are lost, so that only the form can be named. */
const LOST: readonly Form[] = [
  ["gzip, cut", gzipSync(BYTES).subarray(0, 60), "body_compressed"],
  ["gzip, read as text", gzipSync(BYTES).toString("utf8"), "body_characters_lost"],
  ["a Buffer as Node prints it", inspect(BYTES), "body_printed"],
  ["a dict of Python", "{'event_id': 'x', 'livemode': False}", "body_printed"],
  ["a hash of Ruby", '{"event_id"=>"x", "livemode"=>false}', "body_printed"],
  ["a map of Go", "map[event_id:x livemode:false]", "body_printed"],
  ["a map of Java", "{event_id=x, livemode=false}", "body_printed"],
  ["an object of Node", "{ event_id: 'x', livemode: false }", "body_printed"],
  ["an object of Node in lines", inspect(VALUE), "body_printed"],
  ["an array of PHP", "Array\n(\n    [event_id] => x\n)\n", "body_printed"],
  ["a dump of PHP", 'array(1) {\n  ["event_id"]=>\n  string(1) "x"\n}', "body_printed"],
  ["a serialized value of PHP", 'a:1:{s:8:"event_id";s:1:"x";}', "body_printed"],
  ["an object of PowerShell", "@{event_id=x; livemode=False}", "body_printed"],
  ["YAML", "event_id: x\nlivemode: false\n", "body_printed"],
  ["typographic quotes", BODY.replaceAll('"', "\u201c"), "body_printed"],
  ["the fields as a form", "event_id=x&type=order.succeeded&livemode=false", "body_form_encoded"],
  ...[20, 64, 128, 200].map((length): Form => [`cut at ${length}`, BYTES.subarray(0, length), "body_cut"]),
  ["a page", "<!DOCTYPE html><p>shop", "body_not_event"],
  ["XML", "<?xml version='1.0'?><event/>", "body_not_event"],
  ["the name of a file", "@body.json", "body_not_event"],
  ["an empty object", "{}", "body_not_event"],
  ["the word None", "None", "body_not_event"],
  ["the secret", OTHER, "body_not_event"],
  ["a signature", "a".repeat(64), "body_not_event"],
  ["[object Object]", "[object Object]", "body_not_raw"],
  ["nothing", "", "body_empty"],
  ["Latin-1 with another value", Buffer.from(BODY.replace("1999", "1"), "latin1"), "body_not_utf8"],
  ["another value", BODY.replace("1999", "19.99"), "unexplained"],
];

test(`each of ${RESTORED.length + LOST.length} changed forms of a webhook body is diagnosed, with proof if the body can be restored`, () => {
  expect(RESTORED.length).toBeGreaterThan(40);
  const told = [
    ...RESTORED.map(([name, rawBody, , body]) => {
      const causes = causesOf(rawBody, body === undefined ? {} : { body });
      return [name, ...causes.map((one) => one.code), causes.every(({ proven }) => proven)];
    }),
    ...LOST.map(([name, rawBody]) => [name, causesOf(rawBody)[0]?.code]),
  ];
  expect(told).toEqual([
    ...RESTORED.map(([name, , code]) => [name, code, true]),
    ...LOST.map(([name, , code]) => [name, code]),
  ]);
  for (const rawBody of [gzipSync(BYTES), swapped, Buffer.from(BODY, "latin1").subarray(0, -5)])
    expect(
      causesOf(rawBody, { key: RETIRED })
        .map(({ message: text }) => text)
        .join(" "),
    ).not.toContain("U+FFFD");
});

/** A pasted secret, its cause, and the secret that signed. */
type Pasted = readonly [name: string, secrets: string, code: string, key?: string];

const PASTED: readonly Pasted[] = [
  ["double quotes", `"${SECRET}"`, "secret_quoted"],
  ["single quotes", `'${SECRET}'`, "secret_quoted"],
  ["back quotes", `\`${SECRET}\``, "secret_quoted"],
  ["a line of .env", `CHECKOUT_SIGNING_SECRET=${SECRET}`, "secret_wrapped"],
  ["a line of .env in quotes", `CHECKOUT_SIGNING_SECRET="${SECRET}"`, "secret_wrapped"],
  ["an export", `export CHECKOUT_SIGNING_SECRET='${SECRET}'`, "secret_wrapped"],
  ["a line of YAML", `signing_secret: ${SECRET}`, "secret_wrapped"],
  ["a field of JSON", `"signing_secret": "${SECRET}",`, "secret_wrapped"],
  ["an object of JSON", JSON.stringify({ signing_secret: SECRET }), "secret_wrapped"],
  ["a comment behind it", `${SECRET} # local`, "secret_wrapped"],
  ["a header", `Authorization: Bearer ${SECRET}`, "secret_wrapped"],
  ["a semicolon", `${SECRET};`, "secret_wrapped"],
  ["a comma", `${SECRET},`, "secret_wrapped"],
  ["a full stop", `${SECRET}.`, "secret_wrapped"],
  ["brackets", `<${SECRET}>`, "secret_wrapped"],
  ["brackets of a list", `[${SECRET}]`, "secret_wrapped"],
  ["typographic quotes", `\u201c${SECRET}\u201d`, "secret_wrapped"],
  ["a bullet", `- ${SECRET}`, "secret_wrapped"],
  ["percent signs", encodeURIComponent(`"${SECRET}"`), "secret_wrapped"],
  ["base64", Buffer.from(SECRET).toString("base64"), "secret_decoded"],
  ["hexadecimal", Buffer.from(SECRET).toString("hex"), "secret_decoded"],
  ["twice", `${SECRET}${SECRET}`, "secret_wrapped"],
  ["a byte order mark", `\ufeff${SECRET}`, "secret_whitespace"],
  ["a zero-width space", `${SECRET.slice(0, 20)}\u200b${SECRET.slice(20)}`, "secret_whitespace"],
  ["a line break at its end", `${SECRET}\n`, "secret_whitespace"],
  ["a line break of Windows", `${SECRET}\r\n`, "secret_whitespace"],
  ["a space before it", ` ${SECRET}`, "secret_whitespace"],
  ["a tab behind it", `${SECRET}\t`, "secret_whitespace"],
  ["a line break inside it", `${SECRET.slice(0, 30)}\n${SECRET.slice(30)}`, "secret_whitespace"],
  ["UTF-16 read as text", Buffer.from(SECRET, "utf16le").toString("latin1"), "secret_whitespace"],
  ["without its beginning", SECRET.slice(6), "secret_prefix"],
  ["with a hyphen", SECRET.replace("whsec_", "whsec-"), "secret_prefix"],
  ["with its beginning in capitals", SECRET.replace("whsec_", "WHSEC_"), "secret_prefix"],
  ["another endpoint's", SECRET, "other_secret", OTHER],
  ["a retired one", SECRET, "retired_secret", RETIRED],
  ["one character mistyped", OTHER.replace("Kq7", "Kq1"), "secret_mistyped", OTHER],
  ["one character left out", OTHER.replace("Kq7", "Kq"), "secret_mistyped", OTHER],
  ["one character too many", OTHER.replace("Kq7", "Kq77"), "secret_mistyped", OTHER],
  ["two characters swapped", OTHER.replace("Kq7", "qK7"), "secret_mistyped", OTHER],
  ["mistyped and in quotes", `"${OTHER.replace("Kq7", "Kq1")}"`, "secret_mistyped", OTHER],
  ["in lower case", OTHER.toLowerCase(), "secret_mistyped", OTHER],
  ["cut at its end", OTHER.slice(0, 40), "secret_cut", OTHER],
  ["cut by a column", OTHER.slice(0, 32), "secret_cut", OTHER],
  ["cut at its beginning", OTHER.slice(20), "secret_cut", OTHER],
  ["short, of nobody", "whsec_abcdefgh", "secret_cut"],
  ["a variable of a shell", "$CHECKOUT_SIGNING_SECRET", "secret_placeholder"],
  ["a variable in braces", "${CHECKOUT_SIGNING_SECRET}", "secret_placeholder"],
  ["a variable of Windows", "%CHECKOUT_SIGNING_SECRET%", "secret_placeholder"],
  ["a variable of a template", "{{ signing_secret }}", "secret_placeholder"],
  ["program text", "process.env.CHECKOUT_SIGNING_SECRET", "secret_placeholder"],
  ["a redacted one", "whsec_…mK4a", "secret_placeholder"],
  ["stars", "whsec_********", "secret_placeholder"],
  ["a sample", "whsec_xxxxxxxxxxxxxxxxxxxx", "secret_placeholder"],
  ["a sample in words", "your-signing-secret", "secret_placeholder"],
  ["an address", "http://localhost:3000/hooks", "secret_placeholder"],
  ["a file", "/run/secrets/signing", "secret_placeholder"],
  ["a signature", "0".repeat(64), "secret_placeholder"],
  ["an API key", "svc_test_NZKGZKoFeNGgXc7soqqr1fULOcb2V9TDC", "secret_is_api_key"],
  ["an empty one", "", "secret_missing"],
];

test(`each of ${PASTED.length} wrongly pasted secrets is diagnosed, and no message repeats a secret`, () => {
  expect(PASTED.length).toBeGreaterThan(40);
  const told = PASTED.map(([name, secrets, code, key]) => {
    const causes = causesOf(BODY, key === undefined ? { secrets } : { secrets, key });
    for (const secret of [SECRET, OTHER, RETIRED])
      for (const { message: text } of causes) expect(text).not.toContain(secret);
    const codes: readonly string[] = causes.map((one) => one.code);
    return [name, codes.includes(code) && !codes.includes("unexplained") ? code : codes];
  });
  expect(told).toEqual(PASTED.map(([name, , code]) => [name, code]));
});

test("a webhook body is compared byte for byte with the event of its event_id", () => {
  const event = { eventId: ID, body: BODY };
  const at = BYTES.indexOf("1999");
  const differs = (...detail: Parameters<typeof detailOf>): CauseFinding => ({
    code: "body_differs",
    detail: detailOf(...detail),
  });
  const rows: readonly (readonly [string | Uint8Array, CauseFinding])[] = [
    [BODY.replace("1999", "19.99"), differs("values_differ", ID, at + 2, "1999", "19.99")],
    [
      BODY.replace("succeeded", "failed"),
      differs("values_differ", ID, BYTES.indexOf("succeeded"), "order.succeeded", "order.failed"),
    ],
    [BODY.replace("false", "true"), differs("values_differ", ID, BYTES.indexOf("false"), "false", "true")],
    [BYTES.subarray(0, 100), differs("body_ends", ID, 100, BYTES.length)],
    [`${BODY}\n`, differs("event_ends", ID, BYTES.length, 1)],
  ];
  for (const [rawBody, found] of rows) expect(compareWithEvent(Buffer.from(rawBody), event)).toEqual(found);
  expect(compareWithEvent(BYTES, event)).toEqual({ code: "body_is_event", detail: ID });
  // The body inside a form is compared, so a compressed body does not count as changed.
  const changed = BODY.replace("1999", "19.99");
  for (const form of [gzipSync, (body: string) => Buffer.from(body).toString("base64")]) {
    expect(compareWithEvent(Buffer.from(form(BODY)), event)).toBeUndefined();
    expect(compareWithEvent(Buffer.from(form(changed)), event)).toEqual(
      differs("values_differ", ID, at + 2, "1999", "19.99"),
    );
  }
  for (const rawBody of [BYTES, gzipSync(BYTES), Buffer.from(JSON.stringify(BYTES)), BYTES.subarray(0, 60)])
    expect(idsIn(rawBody)[0]).toBe(ID);
});
