import type { ErrorCode } from "../../src/core/errors.ts";

/**
 * The answer to a bad request: the status and code of decision 4, written out so that a changed table in the source is
 * noticed, with the Allow header if there is one. An answer to HEAD has no body and so no code.
 */
export type Verdict =
  | `${number} ${ErrorCode}`
  | `${number} ${ErrorCode}; Allow: ${string}`
  | `${number} without a body; Allow: ${string}`;

/**
 * How a request differs from a valid create. Heads are Latin-1, one byte a character; bodies are UTF-8. In both,
 * `{host}`, `{apiKey}` and other words stand for values of the site; `{row}` is a number that only this row has.
 */
export type Change = {
  /** The request line. */
  readonly line?: string;
  /** The lines of a header, in place of its valid line; an empty list leaves the header out. */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Further header lines, which are sent unchanged. */
  readonly lines?: readonly string[];
  /** Fields of the body that differ; undefined leaves the field out. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Text after the fields' JSON in the body. */
  readonly tail?: string;
  /** The body, in place of the fields. */
  readonly body?: string | Uint8Array;
  /** The whole request, in place of all the above. */
  readonly raw?: string | Uint8Array;
  /** Whether the client closes its half of the connection after the last byte. */
  readonly halfClosed?: true;
};

export type Row = readonly [name: string, verdict: Verdict, change: Change];

/** The state that the rows refer to: one store with a live order, and a second, inactive store. */
export const SEED = { orderId: "seeded-order", idempotencyKey: "seeded-key-0001", amountMinor: 500 } as const;

const BODY = '{"order_id":"row-{row}","amount_minor":1999,"currency":"EUR","payment_method":"alipay_plus"}';
const NO_BODY = { "Content-Type": [], "Idempotency-Key": [], "Content-Length": [] } as const;
const UNKNOWN_ID = "0190a7e4-1111-7222-8333-444455556666";
const BODY_LIMIT = 16 * 1024;
const HEADER_LIMIT = 16 * 1024;

const header = (name: string, ...values: string[]): Change => ({ headers: { [name]: values } });
const host = (...values: string[]): Change => header("Host", ...values);
const authorization = (...values: string[]): Change => header("Authorization", ...values);
const idempotencyKey = (...values: string[]): Change => header("Idempotency-Key", ...values);
const contentType = (...values: string[]): Change => header("Content-Type", ...values);
const contentLength = (...values: string[]): Change => header("Content-Length", ...values);
const line = (text: string): Change => ({ line: text });
const lines = (...texts: string[]): Change => ({ lines: texts });
const body = (content: string | Uint8Array): Change => ({ body: content });
const field = (name: string, value: unknown): Change => ({ fields: { [name]: value } });
/** A request without a body. */
const bare = (text: string): Change => ({ line: text, headers: NO_BODY, body: "" });
const retrieve = (id: string): Change => bare(`GET /v1/checkout-sessions/${id} HTTP/1.1`);
const coded = (coding: string | readonly string[], content: string): Change => ({
  headers: { "Content-Length": [], "Transfer-Encoding": [coding].flat() },
  body: content,
});
const chunked = (content: string): Change => coded("chunked", content);
const chunk = (content: string): string => `${content.length.toString(16)}\r\n${content}\r\n`;
const LAST_CHUNK = "0\r\n\r\n";
/** The length of the body as it is sent: `{row}` is replaced by three digits. */
const BODY_LENGTH = BODY.length - 2;
const GOOD_CHUNK = `${BODY_LENGTH.toString(16)}\r\n${BODY}\r\n`;
const amount = (literal: string): Change => body(BODY.replace("1999", literal));
const orderId = (literal: string): Change => body(BODY.replace('"row-{row}"', literal));
const bytes = (...values: number[]): Change =>
  body(Buffer.concat([Buffer.from('{"order_id":"'), Buffer.from(values), Buffer.from('"}')]));
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

const HOSTS: readonly Row[] = [
  ["no Host", "400 invalid_request", host()],
  ["no Host in HTTP/1.0", "400 invalid_request", { ...host(), line: "POST /v1/orders HTTP/1.0" }],
  ["an empty Host", "403 host_not_allowed", host("")],
  ["the same Host twice", "400 invalid_request", host("{host}", "{host}")],
  ["a second, foreign Host", "400 invalid_request", host("{host}", "shop.example")],
  ["two hosts in one line", "403 host_not_allowed", host("{host}, shop.example")],
  ["a foreign Host", "403 host_not_allowed", host("shop.example")],
  ["a foreign Host with our port", "403 host_not_allowed", host("shop.example:{port}")],
  ["a name under ours that another owns", "403 host_not_allowed", host("localhost.shop.example:{port}")],
  ["our address with another port", "403 host_not_allowed", host("127.0.0.1:1")],
  ["our address without a port", "403 host_not_allowed", host("127.0.0.1")],
  ["our port with a leading zero", "403 host_not_allowed", host("127.0.0.1:0{port}")],
  ["userinfo in the Host", "403 host_not_allowed", host("user@{host}")],
  ["a path in the Host", "403 host_not_allowed", host("{host}/v1")],
  ["a scheme in the Host", "403 host_not_allowed", host("http://{host}")],
  ["a space in the Host", "403 host_not_allowed", host("127.0.0.1 :{port}")],
  ["a dot behind the Host", "403 host_not_allowed", host("localhost.:{port}")],
  ["a Host in Latin-1", "403 host_not_allowed", host("l\u00f6calhost:{port}")],
  ["a Host in UTF-8", "403 host_not_allowed", host("l\u00c3\u00b6calhost:{port}")],
  ["a Host in punycode", "403 host_not_allowed", host("xn--lcalhost-n4a:{port}")],
  ["our address as one number", "403 host_not_allowed", host("2130706433:{port}")],
  ["our address shortened", "403 host_not_allowed", host("127.1:{port}")],
  ["the address of no one", "403 host_not_allowed", host("0.0.0.0:{port}")],
  ["our address mapped into IPv6", "403 host_not_allowed", host("[::ffff:127.0.0.1]:{port}")],
  [
    "a good X-Forwarded-Host",
    "403 host_not_allowed",
    { ...host("shop.example"), lines: ["X-Forwarded-Host: {host}"] },
  ],
  [
    "a foreign Host at /healthz",
    "403 host_not_allowed",
    { ...host("shop.example"), line: "GET /healthz HTTP/1.1" },
  ],
];

const ORIGINS: readonly Row[] = [
  ["our own Origin", "403 origin_not_allowed", header("Origin", "http://{host}")],
  ["a foreign Origin", "403 origin_not_allowed", header("Origin", "https://shop.example")],
  ["the Origin null", "403 origin_not_allowed", header("Origin", "null")],
  ["an empty Origin", "403 origin_not_allowed", header("Origin", "")],
  [
    "an Origin at retrieve",
    "403 origin_not_allowed",
    { ...retrieve(UNKNOWN_ID), lines: ["Origin: http://{host}"] },
  ],
  [
    "a browser's preflight",
    "403 origin_not_allowed",
    {
      ...bare("OPTIONS /v1/orders HTTP/1.1"),
      lines: ["Origin: https://shop.example", "Access-Control-Request-Method: POST"],
    },
  ],
];

const CREDENTIALS: readonly Row[] = [
  ["no Authorization", "401 credential_missing", authorization()],
  [
    "no Authorization at retrieve",
    "401 credential_missing",
    { ...retrieve(UNKNOWN_ID), headers: { ...NO_BODY, Authorization: [] } },
  ],
  [
    "the key in another header",
    "401 credential_missing",
    { ...authorization(), lines: ["X-Api-Key: {apiKey}"] },
  ],
  [
    "the key in the query",
    "401 credential_missing",
    { ...authorization(), line: "POST /v1/orders?api_key={apiKey} HTTP/1.1" },
  ],
  [
    "the same Authorization twice",
    "401 credential_invalid",
    authorization("Bearer {apiKey}", "Bearer {apiKey}"),
  ],
  [
    "a good and a bad Authorization",
    "401 credential_invalid",
    authorization("Bearer {apiKey}", "Bearer nothing"),
  ],
  [
    "two credentials in one line",
    "401 credential_invalid",
    authorization("Bearer {apiKey}, Bearer {apiKey}"),
  ],
  ["an empty Authorization", "401 credential_invalid", authorization("")],
  ["Basic", "401 credential_invalid", authorization("Basic e2FwaUtleX06")],
  ["the key without a scheme", "401 credential_invalid", authorization("{apiKey}")],
  ["the scheme Token", "401 credential_invalid", authorization("Token {apiKey}")],
  ["Bearer alone", "401 credential_invalid", authorization("Bearer")],
  ["no space behind Bearer", "401 credential_invalid", authorization("Bearer{apiKey}")],
  ["a tab behind Bearer", "401 credential_invalid", authorization("Bearer\t{apiKey}")],
  ["a word behind the key", "401 credential_invalid", authorization("Bearer {apiKey} again")],
  ["a key in quotes", "401 credential_invalid", authorization('Bearer "{apiKey}"')],
  ["a key outside ASCII", "401 credential_invalid", authorization("Bearer svc_test_\u00e9")],
  ["another prefix", "401 credential_invalid", authorization("Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc")],
  ["the prefix in capitals", "401 credential_invalid", authorization("Bearer {shoutedKey}")],
  ["a key with a wrong checksum", "401 credential_invalid", authorization("Bearer {mistypedKey}")],
  ["a key that is cut off", "401 credential_invalid", authorization("Bearer {cutKey}")],
  ["a key with a character too many", "401 credential_invalid", authorization("Bearer {apiKey}0")],
  ["the prefix of a key alone", "401 credential_invalid", authorization("Bearer svc_test_")],
  ["a well-formed key that nobody was given", "401 credential_invalid", authorization("Bearer {unknownKey}")],
  ["the signing secret as a key", "401 credential_invalid", authorization("Bearer {signingSecret}")],
  ["a key of 8 KiB", "401 credential_invalid", authorization(`Bearer svc_test_${"0".repeat(8192)}`)],
  [
    "a live key",
    "403 production_approval_missing",
    authorization("Bearer svc_live_0123456789012345678901234567890ab"),
  ],
  [
    "a live key at retrieve",
    "403 production_approval_missing",
    { ...retrieve(UNKNOWN_ID), headers: { ...NO_BODY, Authorization: ["Bearer svc_live_0"] } },
  ],
  ["a key without the scope orders:write", "403 scope_missing", authorization("Bearer {scopelessKey}")],
  [
    "a key without the scope checkout_sessions:write",
    "403 scope_missing",
    { ...authorization("Bearer {scopelessKey}"), line: "POST /v1/checkout-sessions HTTP/1.1" },
  ],
  [
    "a key without the scope checkout_sessions:read",
    "403 scope_missing",
    { ...retrieve(UNKNOWN_ID), headers: { ...NO_BODY, Authorization: ["Bearer {scopelessKey}"] } },
  ],
];

const TARGETS: readonly Row[] = [
  ["the root", "405 method_not_allowed; Allow: GET, HEAD, OPTIONS", line("POST / HTTP/1.1")],
  ["an unknown path", "404 not_found", line("POST /nowhere HTTP/1.1")],
  ["the version alone", "404 not_found", line("POST /v1 HTTP/1.1")],
  ["the version with a slash", "404 not_found", line("POST /v1/ HTTP/1.1")],
  ["an unknown path of v1", "404 not_found", line("POST /v1/refunds HTTP/1.1")],
  ["another version", "404 not_found", line("POST /v2/orders HTTP/1.1")],
  ["no version", "404 not_found", line("POST /orders HTTP/1.1")],
  ["a doubled slash in front", "404 not_found", line("POST //v1/orders HTTP/1.1")],
  ["a doubled slash inside", "404 not_found", line("POST /v1//orders HTTP/1.1")],
  ["a slash at the end", "404 not_found", line("POST /v1/orders/ HTTP/1.1")],
  ["the path in capitals", "404 not_found", line("POST /V1/orders HTTP/1.1")],
  ["a matrix parameter", "404 not_found", line("POST /v1/orders;x=1 HTTP/1.1")],
  ["a step up", "404 not_found", line("POST /v1/../v1/orders HTTP/1.1")],
  ["a step up, encoded", "404 not_found", line("POST /v1/%2e%2e/v1/orders HTTP/1.1")],
  ["a letter encoded", "404 not_found", line("POST /v1/%6frders HTTP/1.1")],
  ["a slash encoded", "404 not_found", line("POST /v1%2forders HTTP/1.1")],
  ["a question mark encoded", "404 not_found", line("POST /v1/orders%3fx=1 HTTP/1.1")],
  ["a NUL encoded", "404 not_found", line("POST /v1/orders%00 HTTP/1.1")],
  ["a broken encoding", "404 not_found", line("POST /v1/orders%zz HTTP/1.1")],
  ["a backslash", "404 not_found", line("POST /v1\\orders HTTP/1.1")],
  ["a name of every object", "404 not_found", line("POST /v1/constructor HTTP/1.1")],
  ["retrieve of an order", "404 not_found", bare(`GET /v1/orders/${UNKNOWN_ID} HTTP/1.1`)],
  ["retrieve of nothing", "404 not_found", retrieve("")],
  ["retrieve with a slash at the end", "404 not_found", retrieve(`${UNKNOWN_ID}/`)],
  ["a part of a session", "404 not_found", retrieve(`${UNKNOWN_ID}/refunds`)],
  [
    "an absolute target elsewhere",
    "403 host_not_allowed",
    line("POST http://shop.example/v1/orders HTTP/1.1"),
  ],
  [
    "an absolute target with a user",
    "403 host_not_allowed",
    line("POST http://user@{host}/v1/orders HTTP/1.1"),
  ],
  ["an absolute target without a host", "400 invalid_request", line("POST http:///v1/orders HTTP/1.1")],
  ["an absolute target by https", "400 invalid_request", line("POST https://{host}/v1/orders HTTP/1.1")],
  [
    "an absolute target and two Host lines",
    "400 invalid_request",
    { ...line("POST http://{host}/v1/orders HTTP/1.1"), ...host("{host}", "{host}") },
  ],
  ["the target *", "400 invalid_request", bare("OPTIONS * HTTP/1.1")],
  ["an authority as target", "400 invalid_request", line("POST {host} HTTP/1.1")],
  ["no target", "400 invalid_request", line("POST  HTTP/1.1")],
  ["a space in the target", "400 invalid_request", line("POST /v1/orders x HTTP/1.1")],
  ["a target outside ASCII", "400 invalid_request", line("POST /v1/\u00c3\u00a9 HTTP/1.1")],
  ["a query at orders", "400 unknown_parameter", line("POST /v1/orders?dry_run=1 HTTP/1.1")],
  ["a query at checkout-sessions", "400 unknown_parameter", line("POST /v1/checkout-sessions?a HTTP/1.1")],
  ["a query at retrieve", "400 unknown_parameter", retrieve(`${UNKNOWN_ID}?expand=events`)],
  ["CONNECT", "405 method_not_allowed; Allow: GET, POST", bare("CONNECT {host} HTTP/1.1")],
  [
    "CONNECT with a foreign Host",
    "403 host_not_allowed",
    { ...bare("CONNECT {host} HTTP/1.1"), headers: { ...NO_BODY, Host: ["shop.example"] } },
  ],
];

const methods = (
  path: string,
  allow: "GET, HEAD, OPTIONS" | "POST, OPTIONS",
  refused: readonly string[],
): Row[] =>
  refused.map((method) => [
    `${method} ${path}`,
    `405 ${method === "HEAD" ? "without a body" : "method_not_allowed"}; Allow: ${allow}`,
    bare(`${method} ${path} HTTP/1.1`),
  ]);

const METHODS: readonly Row[] = [
  ...methods("/v1/orders", "POST, OPTIONS", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE", "QUERY"]),
  ...methods("/v1/checkout-sessions", "POST, OPTIONS", ["GET", "HEAD", "PUT", "PATCH", "DELETE"]),
  ...methods(`/v1/checkout-sessions/${UNKNOWN_ID}`, "GET, HEAD, OPTIONS", ["POST", "PUT", "PATCH", "DELETE"]),
  ["POST /healthz", "405 method_not_allowed; Allow: GET, HEAD, OPTIONS", bare("POST /healthz HTTP/1.1")],
  ["a method that nobody knows", "400 invalid_request", line("PAY /v1/orders HTTP/1.1")],
  ["a method in small letters", "400 invalid_request", line("post /v1/orders HTTP/1.1")],
  ["a method with a letter too many", "400 invalid_request", line("POSTS /v1/orders HTTP/1.1")],
];

const REQUEST_LINES: readonly Row[] = [
  ["HTTP/0.9 without headers", "400 invalid_request", { raw: "GET /v1/orders\r\n\r\n" }],
  ["the version HTTP/0.9", "400 invalid_request", line("POST /v1/orders HTTP/0.9")],
  ["the version HTTP/1.2", "400 invalid_request", line("POST /v1/orders HTTP/1.2")],
  ["the version HTTP/2.0", "400 invalid_request", line("POST /v1/orders HTTP/2.0")],
  ["the version HTTP/9.9", "400 invalid_request", line("POST /v1/orders HTTP/9.9")],
  ["the version in small letters", "400 invalid_request", line("POST /v1/orders http/1.1")],
  ["another protocol", "400 invalid_request", line("POST /v1/orders HTTPS/1.1")],
  ["a space in front", "400 invalid_request", line(" POST /v1/orders HTTP/1.1")],
  ["the preface of HTTP/2", "400 invalid_request", { raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" }],
  ["the start of TLS", "400 invalid_request", { raw: Uint8Array.of(22, 3, 1, 0, 165, 1, 0, 0, 161, 3, 3) }],
  ["the greeting of SSH", "400 invalid_request", { raw: "SSH-2.0-OpenSSH_9.9\r\n" }],
  ["NULs", "400 invalid_request", { raw: new Uint8Array(64) }],
  [
    "line ends without CR",
    "400 invalid_request",
    { raw: "POST /v1/orders HTTP/1.1\nHost: {host}\nConnection: close\n\n" },
  ],
  ["half a request line, then the end", "400 invalid_request", { raw: "POST /v1/ord", halfClosed: true }],
  [
    "half the headers, then the end",
    "400 invalid_request",
    { raw: "POST /v1/orders HTTP/1.1\r\nHost: {ho", halfClosed: true },
  ],
];

const HEADERS: readonly Row[] = [
  ["a line without a colon", "400 invalid_request", lines("Accept")],
  ["a header without a name", "400 invalid_request", lines(": value")],
  ["a space in front of the colon", "400 invalid_request", lines("Accept : */*")],
  ["a bracket in a name", "400 invalid_request", lines("Acc(ept: */*")],
  ["a name outside ASCII", "400 invalid_request", lines("\u00c9tat: 1")],
  ["a folded line", "400 invalid_request", lines("Accept: text/html,", " text/plain")],
  ["a folded Idempotency-Key", "400 invalid_request", idempotencyKey("key-\r\n number-{row}")],
  ["a NUL in a value", "400 invalid_request", lines("Accept: a\0b")],
  ["a control character in a value", "400 invalid_request", lines("Accept: a\u0001b")],
  ["an escape in a value", "400 invalid_request", lines("Accept: a\u001bb")],
  ["a CR alone", "400 invalid_request", lines("Accept: a\rX-Other: b")],
  ["a LF alone", "400 invalid_request", lines("Accept: a\nX-Other: b")],
  ["an expectation", "400 invalid_request", header("Expect", "a-miracle")],
  ["101 header lines", "431 headers_too_large", lines(...filler(95))],
  ["1000 header lines", "431 headers_too_large", lines(...filler(1000))],
  ["a header over 16 KiB", "431 headers_too_large", lines(`Accept: ${"a".repeat(HEADER_LIMIT)}`)],
  ["a header name over 16 KiB", "431 headers_too_large", lines(`${"A".repeat(HEADER_LIMIT)}: a`)],
  [
    "a request line over 16 KiB",
    "431 headers_too_large",
    line(`POST /v1/${"o".repeat(HEADER_LIMIT)} HTTP/1.1`),
  ],
  ["an Idempotency-Key over 16 KiB", "431 headers_too_large", idempotencyKey("k".repeat(HEADER_LIMIT))],
];

/** Header lines in addition to the six of a valid create. */
function filler(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `X-${index}: 1`);
}

const FRAMING: readonly Row[] = [
  [
    "Content-Length with chunks",
    "400 invalid_request",
    { headers: { "Transfer-Encoding": ["chunked"] }, body: GOOD_CHUNK + LAST_CHUNK },
  ],
  [
    "chunks with a Content-Length behind",
    "400 invalid_request",
    { ...chunked(GOOD_CHUNK + LAST_CHUNK), lines: ["Content-Length: 5"] },
  ],
  ["two Content-Lengths", "400 invalid_request", contentLength(`${BODY_LENGTH}`, "5")],
  ["the same Content-Length twice", "400 invalid_request", contentLength(`${BODY_LENGTH}`, `${BODY_LENGTH}`)],
  ["two Content-Lengths in one line", "400 invalid_request", contentLength(`${BODY_LENGTH}, ${BODY_LENGTH}`)],
  ["an empty Content-Length", "400 invalid_request", contentLength("")],
  ["a negative Content-Length", "400 invalid_request", contentLength("-1")],
  ["a signed Content-Length", "400 invalid_request", contentLength(`+${BODY_LENGTH}`)],
  ["a hexadecimal Content-Length", "400 invalid_request", contentLength(`0x${BODY_LENGTH.toString(16)}`)],
  ["a Content-Length with an exponent", "400 invalid_request", contentLength("9e1")],
  ["a Content-Length in words", "400 invalid_request", contentLength("all")],
  ["a Content-Length past 64 bits", "400 invalid_request", contentLength("18446744073709551617")],
  ["a body that nobody announced", "400 invalid_json", contentLength()],
  ["a body that ends early", "400 invalid_request", { ...contentLength("500"), halfClosed: true }],
  ["the coding gzip", "400 invalid_request", coded("gzip", GOOD_CHUNK + LAST_CHUNK)],
  ["the coding identity", "400 invalid_request", coded("identity", GOOD_CHUNK + LAST_CHUNK)],
  ["an unknown coding", "400 invalid_request", coded("xchunked", GOOD_CHUNK + LAST_CHUNK)],
  ["chunked twice", "400 invalid_request", coded("chunked, chunked", GOOD_CHUNK + LAST_CHUNK)],
  [
    "chunked twice, in two lines",
    "400 invalid_request",
    coded(["chunked", "chunked"], GOOD_CHUNK + LAST_CHUNK),
  ],
  ["gzip behind chunked", "400 invalid_request", coded("chunked, gzip", GOOD_CHUNK + LAST_CHUNK)],
  ["gzip in front of chunked", "400 invalid_request", coded("gzip, chunked", GOOD_CHUNK + LAST_CHUNK)],
  [
    "gzip in a line in front of chunked",
    "400 invalid_request",
    coded(["gzip", "chunked"], GOOD_CHUNK + LAST_CHUNK),
  ],
  ["a chunk size in words", "400 invalid_request", chunked(`xyz\r\n${LAST_CHUNK}`)],
  ["a negative chunk size", "400 invalid_request", chunked(`-1\r\n${LAST_CHUNK}`)],
  ["a chunk size with 0x", "400 invalid_request", chunked(`0x1\r\n{\r\n${LAST_CHUNK}`)],
  ["a chunk size past 64 bits", "400 invalid_request", chunked(`10000000000000001\r\n{\r\n${LAST_CHUNK}`)],
  ["an empty chunk size", "400 invalid_request", chunked(`\r\n{\r\n${LAST_CHUNK}`)],
  ["a chunk longer than its size", "400 invalid_request", chunked(`1\r\n{}\r\n${LAST_CHUNK}`)],
  ["a chunk size ended by LF", "400 invalid_request", chunked(`2\n{}\r\n${LAST_CHUNK}`)],
  ["a NUL in a chunk extension", "400 invalid_request", chunked(`2;a\0b\r\n{}\r\n${LAST_CHUNK}`)],
  [
    "chunk extensions of 32 KiB",
    "400 invalid_request",
    chunked(`2;${"a".repeat(2 * BODY_LIMIT)}\r\n{}\r\n${LAST_CHUNK}`),
  ],
  ["a trailer without a colon", "400 invalid_request", chunked(`${GOOD_CHUNK}0\r\nChecksum\r\n\r\n`)],
  [
    "trailers over 16 KiB",
    "431 headers_too_large",
    chunked(`${GOOD_CHUNK}0\r\nA: ${"a".repeat(HEADER_LIMIT)}\r\n\r\n`),
  ],
  ["chunks that end early", "400 invalid_request", { ...chunked(GOOD_CHUNK), halfClosed: true }],
  [
    "a key that comes as a trailer",
    "400 idempotency_key_missing",
    {
      headers: { "Content-Length": [], "Transfer-Encoding": ["chunked"], "Idempotency-Key": [] },
      body: `${GOOD_CHUNK}0\r\nIdempotency-Key: trailer-{row}\r\n\r\n`,
    },
  ],
  ["a body over 16 KiB", "413 body_too_large", { fields: { description: "d".repeat(BODY_LIMIT) } }],
  [
    "a body a byte over 16 KiB",
    "413 body_too_large",
    body(BODY.replace("{row}", "413").padEnd(BODY_LIMIT + 1)),
  ],
  ["a body of 1 MiB", "413 body_too_large", body(" ".repeat(1024 * 1024))],
  [
    "a body over 16 KiB that is announced only",
    "413 body_too_large",
    { ...contentLength("1000000000"), body: "" },
  ],
  [
    "a body over 16 KiB that asks first",
    "413 body_too_large",
    { headers: { "Content-Length": ["16385"], Expect: ["100-continue"] }, body: "" },
  ],
  [
    "chunks over 16 KiB",
    "413 body_too_large",
    chunked(chunk(" ".repeat(BODY_LIMIT)) + GOOD_CHUNK + LAST_CHUNK),
  ],
  ["one chunk over 16 KiB", "413 body_too_large", chunked(chunk(" ".repeat(BODY_LIMIT + 1)) + LAST_CHUNK)],
  ["a bad body that asks first", "400 invalid_json", { ...header("Expect", "100-continue"), body: "{" }],
];

const CONTENT_TYPES: readonly Row[] = [
  ["no Content-Type", "400 unsupported_content_type", contentType()],
  ["an empty Content-Type", "400 unsupported_content_type", contentType("")],
  ["text/plain", "400 unsupported_content_type", contentType("text/plain")],
  [
    "a form",
    "400 unsupported_content_type",
    { ...contentType("application/x-www-form-urlencoded"), body: "order_id=a" },
  ],
  ["a form with files", "400 unsupported_content_type", contentType("multipart/form-data; boundary=x")],
  ["text/json", "400 unsupported_content_type", contentType("text/json")],
  ["JSON of another kind", "400 unsupported_content_type", contentType("application/merge-patch+json")],
  ["many JSONs", "400 unsupported_content_type", contentType("application/jsonlines")],
  ["any type", "400 unsupported_content_type", contentType("*/*")],
  [
    "the charset Latin-1",
    "400 unsupported_content_type",
    contentType("application/json; charset=iso-8859-1"),
  ],
  ["the charset UTF-16", "400 unsupported_content_type", contentType("application/json; charset=utf-16")],
  [
    "a quote that stays open",
    "400 unsupported_content_type",
    contentType('application/json; charset="utf-8'),
  ],
  ["another parameter", "400 unsupported_content_type", contentType("application/json; profile=x")],
  [
    "a space that HTTP does not have",
    "400 unsupported_content_type",
    contentType("application/json\u00a0;charset=utf-8"),
  ],
  ["two types in one line", "400 unsupported_content_type", contentType("application/json, text/plain")],
  ["two Content-Types", "400 unsupported_content_type", contentType("application/json", "text/plain")],
  [
    "the same Content-Type twice",
    "400 unsupported_content_type",
    contentType("application/json", "application/json"),
  ],
  ["Content-Encoding gzip", "400 unsupported_content_type", header("Content-Encoding", "gzip")],
  ["two encodings in one line", "400 unsupported_content_type", header("Content-Encoding", "identity, gzip")],
  ["two Content-Encodings", "400 unsupported_content_type", header("Content-Encoding", "identity", "gzip")],
];

const JSON_TEXTS: readonly Row[] = [
  ["an empty body", "400 invalid_json", body("")],
  ["no body at all", "400 invalid_json", { ...contentLength(), body: "" }],
  ["white space", "400 invalid_json", body(" \t\r\n")],
  ["a NUL", "400 invalid_json", body("\0")],
  ["words", "400 invalid_json", body("order please")],
  ["words that turn the line around", "400 invalid_json", body("\u202eorder please")],
  ["half an object", "400 invalid_json", body('{"order_id":"a"')],
  ["two objects", "400 invalid_json", body(BODY + BODY)],
  ["a comma too many", "400 invalid_json", body(`${BODY.slice(0, -1)},}`)],
  ["single quotes", "400 invalid_json", body(BODY.replaceAll('"', "'"))],
  ["keys without quotes", "400 invalid_json", body('{order_id:"a"}')],
  ["a comment", "400 invalid_json", body(`${BODY} // please`)],
  ["a tab in a string", "400 invalid_json", orderId('"a\tb"')],
  ["an escape that is none", "400 invalid_json", orderId('"\\x41"')],
  ["NaN", "400 invalid_json", amount("NaN")],
  ["Infinity", "400 invalid_json", amount("Infinity")],
  ["a number with a plus", "400 invalid_json", amount("+1")],
  ["a number with a leading zero", "400 invalid_json", amount("0199")],
  ["a number that ends in a point", "400 invalid_json", amount("1.")],
  ["a hexadecimal number", "400 invalid_json", amount("0x7cf")],
  ["a space that JSON does not have", "400 invalid_json", body(`\u00a0${BODY}`)],
  ["a byte order mark", "400 invalid_json", body(`\ufeff${BODY}`)],
  ["UTF-16", "400 invalid_json", body(Buffer.from('{"order_id":"a"}', "utf16le"))],
  ["a lone continuation byte", "400 invalid_json", bytes(0x80)],
  ["a byte that UTF-8 does not have", "400 invalid_json", bytes(0xff)],
  ["a character cut off", "400 invalid_json", bytes(0xe2, 0x82)],
  ["a slash spelled too long", "400 invalid_json", bytes(0xc0, 0xaf)],
  ["a surrogate in UTF-8", "400 invalid_json", bytes(0xed, 0xa0, 0x80)],
  ["a character past the last", "400 invalid_json", bytes(0xf4, 0x90, 0x80, 0x80)],
  ["Latin-1 text", "400 invalid_json", bytes(0x63, 0x61, 0x66, 0xe9)],
  [
    "an invalid byte behind the object",
    "400 invalid_json",
    body(Buffer.concat([Buffer.from('{"order_id":"a"}'), Buffer.of(0xc3)])),
  ],
  ["a high surrogate alone", "400 invalid_json", orderId('"\\ud800"')],
  ["a low surrogate alone", "400 invalid_json", orderId('"\\udc00"')],
  ["surrogates in the wrong order", "400 invalid_json", orderId('"\\udc00\\ud800"')],
  ["a lone surrogate in a key", "400 invalid_json", body(BODY.replace('"currency"', '"\\ud800"'))],
  ["a key twice", "400 invalid_json", body(BODY.replace('"amount', '"order_id":"b","amount'))],
  [
    "a key twice with the same value",
    "400 invalid_json",
    body(BODY.replace('"amount', '"currency":"EUR","amount')),
  ],
  [
    "a key twice, once escaped",
    "400 invalid_json",
    body(BODY.replace('"amount', '"\\u006frder_id":"b","amount')),
  ],
  ["__proto__ twice", "400 invalid_json", body('{"__proto__":1,"__proto__":2}')],
  ["a key twice inside", "400 invalid_json", orderId('{"a":1,"a":2}')],
  ["arrays nine deep", "400 invalid_json", orderId(nested(8))],
  ["objects nine deep", "400 invalid_json", orderId('{"a":'.repeat(8) + "1" + "}".repeat(8))],
  ["arrays eight thousand deep", "400 invalid_json", body(nested(8000))],
  ["arrays that stay open", "400 invalid_json", body("[".repeat(16_000))],
];

const KEYS: readonly Row[] = [
  ["no Idempotency-Key", "400 idempotency_key_missing", idempotencyKey()],
  [
    "no Idempotency-Key at checkout-sessions",
    "400 idempotency_key_missing",
    { ...idempotencyKey(), line: "POST /v1/checkout-sessions HTTP/1.1" },
  ],
  [
    "the key under another name",
    "400 idempotency_key_missing",
    { ...idempotencyKey(), lines: ["X-Idempotency-Key: bad-key-{row}"] },
  ],
  ["an empty Idempotency-Key", "400 idempotency_key_invalid", idempotencyKey("")],
  [
    "two Idempotency-Keys",
    "400 idempotency_key_invalid",
    idempotencyKey("first-key-{row}", "other-key-{row}"),
  ],
  [
    "the same Idempotency-Key twice",
    "400 idempotency_key_invalid",
    idempotencyKey("same-key-{row}", "same-key-{row}"),
  ],
  [
    "an Idempotency-Key and an empty one",
    "400 idempotency_key_invalid",
    idempotencyKey("first-key-{row}", ""),
  ],
  [
    "two Idempotency-Keys in two spellings",
    "400 idempotency_key_invalid",
    lines("IDEMPOTENCY-KEY: other-key-{row}"),
  ],
  ["a key of 7 characters", "400 idempotency_key_invalid", idempotencyKey("sevench")],
  ["a key of 7 characters and spaces", "400 idempotency_key_invalid", idempotencyKey("  sevench  ")],
  ["a key of 129 characters", "400 idempotency_key_invalid", idempotencyKey("k".repeat(129))],
  ["a key of 4096 characters", "400 idempotency_key_invalid", idempotencyKey("k".repeat(4096))],
  ["a key with a tab", "400 idempotency_key_invalid", idempotencyKey("key\twith-{row}")],
  ["a key in Latin-1", "400 idempotency_key_invalid", idempotencyKey("cl\u00e9-of-row-{row}")],
  ["a key in UTF-8", "400 idempotency_key_invalid", idempotencyKey("cl\u00c3\u00a9-of-row-{row}")],
  ["a key with a control character", "400 invalid_request", idempotencyKey("key\u0007of-row-{row}")],
  ["a key with a NUL", "400 invalid_request", idempotencyKey("key\0of-row-{row}")],
  ["a key with a DEL", "400 invalid_request", idempotencyKey("key\u007fof-row-{row}")],
];

const AMOUNTS: readonly Row[] = [
  ["an amount of 0", "400 invalid_parameter", amount("0")],
  ["an amount of -1", "400 invalid_parameter", amount("-1")],
  ["an amount of -0", "400 invalid_parameter", amount("-0")],
  ["an amount of 0e5", "400 invalid_parameter", amount("0e5")],
  ["an amount of 1.5", "400 invalid_parameter", amount("1.5")],
  ["an amount of 15e-1", "400 invalid_parameter", amount("15e-1")],
  ["an amount that rounds to 1", "400 invalid_parameter", amount("1.0000000000000000001")],
  ["an amount that rounds up to 1", "400 invalid_parameter", amount("0.99999999999999999999")],
  ["an amount that rounds to 0", "400 invalid_parameter", amount("1e-400")],
  ["an amount of 2^53", "400 invalid_parameter", amount("9007199254740992")],
  ["an amount that rounds to 2^53", "400 invalid_parameter", amount("9007199254740993")],
  ["an amount of -2^53", "400 invalid_parameter", amount("-9007199254740992")],
  ["an amount of 1e16", "400 invalid_parameter", amount("1e16")],
  ["an amount of 1e400", "400 invalid_parameter", amount("1e400")],
  ["an amount of 400 digits", "400 invalid_parameter", amount("9".repeat(400))],
  ["an amount as text", "400 invalid_parameter", amount('"12"')],
  ["an amount of true", "400 invalid_parameter", amount("true")],
  ["an amount of null", "400 invalid_parameter", amount("null")],
  ["an amount in an array", "400 invalid_parameter", amount("[1999]")],
  ["an amount in an object", "400 invalid_parameter", amount('{"value":1999}')],
];

const FIELDS: readonly Row[] = [
  ["an array", "400 invalid_parameter", body(`[${BODY}]`)],
  ["a string", "400 invalid_parameter", body('"order"')],
  ["null", "400 invalid_parameter", body("null")],
  ["a number", "400 invalid_parameter", body("12")],
  ["true", "400 invalid_parameter", body("true")],
  ["no field", "400 missing_parameter", body("{}")],
  ["no order_id", "400 missing_parameter", field("order_id", undefined)],
  ["no amount_minor", "400 missing_parameter", field("amount_minor", undefined)],
  ["no currency", "400 missing_parameter", field("currency", undefined)],
  ["no payment_method", "400 missing_parameter", field("payment_method", undefined)],
  [
    "no order_id at checkout-sessions",
    "400 missing_parameter",
    { ...field("order_id", undefined), line: "POST /v1/checkout-sessions HTTP/1.1" },
  ],
  ["an empty order_id", "400 invalid_parameter", field("order_id", "")],
  ["an order_id of 33 characters", "400 invalid_parameter", field("order_id", "o".repeat(33))],
  ["an order_id of 33 emoji", "400 invalid_parameter", field("order_id", "\u{1f4b3}".repeat(33))],
  ["an order_id as a number", "400 invalid_parameter", field("order_id", 1001)],
  ["an order_id of null", "400 invalid_parameter", field("order_id", null)],
  ["an order_id of true", "400 invalid_parameter", field("order_id", true)],
  ["an order_id in an array", "400 invalid_parameter", field("order_id", ["a"])],
  ["an order_id eight levels deep", "400 invalid_parameter", orderId(nested(7))],
  ["a currency in small letters", "400 invalid_parameter", field("currency", "eur")],
  ["a currency of four letters", "400 invalid_parameter", field("currency", "EURO")],
  ["a currency of two letters", "400 invalid_parameter", field("currency", "EU")],
  ["a currency with a line end", "400 invalid_parameter", field("currency", "EUR\n")],
  ["a currency with a space", "400 invalid_parameter", field("currency", " EUR")],
  ["a currency with a digit", "400 invalid_parameter", field("currency", "EU1")],
  ["a currency outside ASCII", "400 invalid_parameter", field("currency", "\u0395UR")],
  ["a currency sign", "400 invalid_parameter", field("currency", "\u20ac")],
  ["an empty currency", "400 invalid_parameter", field("currency", "")],
  ["a currency of null", "400 invalid_parameter", field("currency", null)],
  ["a currency by its number", "400 invalid_parameter", field("currency", 978)],
  ["an unknown payment_method", "400 invalid_parameter", field("payment_method", "card")],
  ["a payment_method in capitals", "400 invalid_parameter", field("payment_method", "ALIPAY_PLUS")],
  ["an empty payment_method", "400 invalid_parameter", field("payment_method", "")],
  ["payment methods in an array", "400 invalid_parameter", field("payment_method", ["alipay_plus"])],
  ["a description of 129 characters", "400 invalid_parameter", field("description", "d".repeat(129))],
  ["a description of 129 emoji", "400 invalid_parameter", field("description", "\u{1f4b3}".repeat(129))],
  ["a description of null", "400 invalid_parameter", field("description", null)],
  ["a description as a number", "400 invalid_parameter", field("description", 1)],
  ["an unknown field", "400 unknown_parameter", field("metadata", {})],
  ["a field in capitals", "400 unknown_parameter", field("Order_ID", "a")],
  ["a field with an empty name", "400 unknown_parameter", field("", 1)],
  ["a field of the answer", "400 unknown_parameter", field("livemode", true)],
  [
    "the field __proto__",
    "400 unknown_parameter",
    body(BODY.replace('"amount', '"__proto__":{"currency":"EUR"},"amount')),
  ],
  ["the field constructor", "400 unknown_parameter", field("constructor", 1)],
  ["the field toString", "400 unknown_parameter", field("toString", "a")],
  ["fields that __proto__ would give", "400 unknown_parameter", body(`{"__proto__":${BODY}}`)],
];

const byPrice = (priceId: unknown, fields: Readonly<Record<string, unknown>> = {}): Change => ({
  fields: {
    amount_minor: undefined,
    currency: undefined,
    payment_method: undefined,
    price_id: priceId,
    ...fields,
  },
});

const PRICES: readonly Row[] = [
  ["a price_id with all that it sets", "400 conflicting_parameters", field("price_id", "price_coffee")],
  [
    "a price_id with amount_minor",
    "400 conflicting_parameters",
    byPrice("price_coffee", { amount_minor: 450 }),
  ],
  ["a price_id with currency", "400 conflicting_parameters", byPrice("price_coffee", { currency: "EUR" })],
  [
    "a price_id with payment_method",
    "400 conflicting_parameters",
    byPrice("price_coffee", { payment_method: "alipay_plus" }),
  ],
  [
    "a bad price_id with a bad amount_minor",
    "400 conflicting_parameters",
    byPrice(null, { amount_minor: null }),
  ],
  ["a price_id with an unknown field", "400 unknown_parameter", byPrice("price_coffee", { quantity: 2 })],
  ["a price_id without order_id", "400 missing_parameter", byPrice("price_coffee", { order_id: undefined })],
  ["an unknown price_id", "400 invalid_parameter", byPrice("price_of_nothing")],
  ["a price_id in capitals", "400 invalid_parameter", byPrice("PRICE_COFFEE")],
  ["an empty price_id", "400 invalid_parameter", byPrice("")],
  ["a price_id of 65 characters", "400 invalid_parameter", byPrice("p".repeat(65))],
  ["a price_id of null", "400 invalid_parameter", byPrice(null)],
  ["a price_id as a number", "400 invalid_parameter", byPrice(1)],
];

const SESSIONS: readonly Row[] = [
  ["a session id in words", "400 invalid_session_id", retrieve("latest")],
  ["a session id without dashes", "400 invalid_session_id", retrieve(UNKNOWN_ID.replaceAll("-", ""))],
  ["a session id cut off", "400 invalid_session_id", retrieve(UNKNOWN_ID.slice(0, -1))],
  ["a session id with a digit too many", "400 invalid_session_id", retrieve(`${UNKNOWN_ID}0`)],
  ["a session id with a wrong letter", "400 invalid_session_id", retrieve(UNKNOWN_ID.replace("a", "g"))],
  ["a session id in braces", "400 invalid_session_id", retrieve(`%7b${UNKNOWN_ID}%7d`)],
  ["a session id as a URN", "400 invalid_session_id", retrieve(`urn:uuid:${UNKNOWN_ID}`)],
  ["a session id with an encoded dash", "400 invalid_session_id", retrieve(UNKNOWN_ID.replace("-", "%2d"))],
  ["a session id with an encoded line end", "400 invalid_session_id", retrieve(`${UNKNOWN_ID}%0a`)],
  ["a session id with a quote", "400 invalid_session_id", retrieve("'%20OR%201=1--")],
  ["a step up in place of a session id", "400 invalid_session_id", retrieve("..")],
  ["a session id of 8 KiB", "400 invalid_session_id", retrieve("0".repeat(8192))],
  ["an unknown session", "404 session_not_found", retrieve(UNKNOWN_ID)],
  ["an unknown session in capitals", "404 session_not_found", retrieve(UNKNOWN_ID.toUpperCase())],
  ["the nil UUID", "404 session_not_found", retrieve("00000000-0000-0000-0000-000000000000")],
  ["another store's session", "404 session_not_found", retrieve("{foreignSession}")],
];

const SEEDED_KEY = [SEED.idempotencyKey];
const STATE: readonly Row[] = [
  ["a store that is not active", "403 store_inactive", authorization("Bearer {inactiveKey}")],
  ["a currency that the store lacks", "403 capability_missing", field("currency", "GBP")],
  ["a currency that nobody has", "403 capability_missing", field("currency", "ZZZ")],
  ["an order_id that is live", "409 order_conflict", field("order_id", SEED.orderId)],
  [
    "an order_id that is live at the other endpoint",
    "409 order_conflict",
    { ...field("order_id", SEED.orderId), line: "POST /v1/checkout-sessions HTTP/1.1" },
  ],
  [
    "an order_id that is live, by price",
    "409 order_conflict",
    byPrice("price_coffee", { order_id: SEED.orderId }),
  ],
  [
    "a used key with another body",
    "409 idempotency_key_reused",
    { headers: { "Idempotency-Key": SEEDED_KEY } },
  ],
  [
    "a used key with another amount",
    "409 idempotency_key_reused",
    { headers: { "Idempotency-Key": SEEDED_KEY }, fields: { order_id: SEED.orderId } },
  ],
  [
    "a used key at the other endpoint",
    "409 idempotency_key_reused",
    {
      line: "POST /v1/checkout-sessions HTTP/1.1",
      headers: { "Idempotency-Key": SEEDED_KEY },
      fields: { order_id: SEED.orderId, amount_minor: SEED.amountMinor },
    },
  ],
  [
    "a used key with one more field",
    "409 idempotency_key_reused",
    {
      headers: { "Idempotency-Key": SEEDED_KEY },
      fields: { order_id: SEED.orderId, amount_minor: SEED.amountMinor, description: "" },
    },
  ],
];

/** Bad requests with a single mistake each. */
export const BAD_REQUESTS: readonly Row[] = [
  ...HOSTS,
  ...ORIGINS,
  ...CREDENTIALS,
  ...TARGETS,
  ...METHODS,
  ...REQUEST_LINES,
  ...HEADERS,
  ...FRAMING,
  ...CONTENT_TYPES,
  ...JSON_TEXTS,
  ...KEYS,
  ...AMOUNTS,
  ...FIELDS,
  ...PRICES,
  ...SESSIONS,
  ...STATE,
];

/** Requests that do not arrive in time: 5 s for the headers, 10 s for the whole request. */
export const SLOW_REQUESTS: readonly Row[] = [
  ["a connection that says nothing", "408 request_timeout", { raw: "" }],
  ["a request line that stops", "408 request_timeout", { raw: "POST /v1/or" }],
  ["headers that stop", "408 request_timeout", { raw: "POST /v1/orders HTTP/1.1\r\nHost: {host}\r\n" }],
  ["a body that stops", "408 request_timeout", { ...contentLength("500"), body: "{" }],
  ["chunks that stop", "408 request_timeout", chunked(GOOD_CHUNK)],
];

/** A mistake for each check of decision 3, in the order of the checks; one request can have all of these mistakes. */
const LADDER: readonly Row[] = [
  ["a line without a colon", "400 invalid_request", lines("Accept")],
  ["a foreign Host", "403 host_not_allowed", host("shop.example")],
  ["an Origin", "403 origin_not_allowed", header("Origin", "https://shop.example")],
  ["no credential", "401 credential_missing", authorization()],
  ["no scope", "403 scope_missing", authorization("Bearer {scopelessKey}")],
  ["no JSON type", "400 unsupported_content_type", contentType("text/plain")],
  ["no JSON", "400 invalid_json", { tail: "]" }],
  ["two keys", "400 idempotency_key_invalid", idempotencyKey(SEED.idempotencyKey, SEED.idempotencyKey)],
  ["no amount", "400 invalid_parameter", field("amount_minor", 0)],
  ["a used key", "409 idempotency_key_reused", idempotencyKey(SEED.idempotencyKey)],
  ["an inactive store", "403 store_inactive", authorization("Bearer {inactiveKey}")],
  ["a missing capability", "403 capability_missing", field("currency", "GBP")],
  ["a live order", "409 order_conflict", field("order_id", SEED.orderId)],
];

/** Requests with several mistakes at once that the ladder above does not cover. */
const MIXED: readonly Row[] = [
  [
    "101 header lines and a foreign Host",
    "431 headers_too_large",
    { ...host("shop.example"), ...lines(...filler(95)) },
  ],
  [
    "a body over 16 KiB and a foreign Host",
    "413 body_too_large",
    contentLengthBeside("Host", "shop.example"),
  ],
  ["a body over 16 KiB and no credential", "413 body_too_large", contentLengthBeside("Authorization")],
  [
    "an expectation and a foreign Host",
    "403 host_not_allowed",
    { headers: { Host: ["shop.example"], Expect: ["a-miracle"] } },
  ],
  [
    "a foreign Host and an unknown path",
    "403 host_not_allowed",
    { ...host("shop.example"), line: "GET /nowhere HTTP/1.1" },
  ],
  [
    "a foreign Host and the target *",
    "403 host_not_allowed",
    { ...bare("OPTIONS * HTTP/1.1"), headers: { ...NO_BODY, Host: ["shop.example"] } },
  ],
  [
    "two credentials, one of them live",
    "401 credential_invalid",
    authorization("Bearer svc_live_0", "Bearer {apiKey}"),
  ],
  [
    "a live key and nothing else right",
    "403 production_approval_missing",
    {
      headers: {
        Authorization: ["Bearer svc_live_0"],
        "Content-Type": ["text/plain"],
        "Idempotency-Key": [],
      },
      body: "{",
    },
  ],
  [
    "no scope and a bad session id",
    "403 scope_missing",
    { ...retrieve("latest"), headers: { ...NO_BODY, Authorization: ["Bearer {scopelessKey}"] } },
  ],
  [
    "no credential and a bad session id",
    "401 credential_missing",
    { ...retrieve("latest"), headers: { ...NO_BODY, Authorization: [] } },
  ],
  ["no Content-Type, no body, no key", "400 unsupported_content_type", { headers: NO_BODY, body: "" }],
  ["no body and no key", "400 invalid_json", { ...idempotencyKey(), body: "" }],
  ["no key and no fields", "400 idempotency_key_missing", { ...idempotencyKey(), body: "{}" }],
  [
    "no fields and a used key",
    "400 missing_parameter",
    { ...idempotencyKey(SEED.idempotencyKey), body: "{}" },
  ],
  [
    "a used key and an unknown price",
    "409 idempotency_key_reused",
    { ...byPrice("price_of_nothing"), ...idempotencyKey(SEED.idempotencyKey) },
  ],
];

/** A request for every pair of checks, and for every check with all later checks: the earliest check decides. */
export const WRONG_IN_SEVERAL_WAYS: readonly Row[] = [
  ...LADDER.flatMap((rung, index) => LADDER.slice(index + 1).map((later) => together([rung, later]))),
  ...LADDER.slice(0, -2).map((_, index) => together(LADDER.slice(index))),
  ...MIXED,
];

/** Requests with the API key in a place that the log would show. */
export const MISPLACED_KEYS: readonly Change[] = [
  line("POST /v1/orders?api_key={apiKey} HTTP/1.1"),
  line("POST /v1/{apiKey}/orders HTTP/1.1"),
  retrieve("{apiKey}"),
  host("{apiKey}"),
  idempotencyKey("{apiKey}", "{apiKey}"),
  field("currency", "{apiKey}"),
];

/** A request with all mistakes from the scope check on; the rate limit is checked before them. */
export const WRONG_FROM_SCOPE_ON: Row = together(LADDER.slice(4));

/** One request with several mistakes. If two change the same header, the change of the earlier mistake counts. */
function together(mistakes: readonly Row[]): Row {
  const [earliest] = mistakes;
  if (earliest === undefined) throw new Error("a request is wrong in at least one way");
  let change: Change = {};
  for (const [, , mistake] of mistakes.toReversed()) change = over(change, mistake);
  return [mistakes.map(([name]) => name).join(" + "), earliest[1], change];
}

function over(later: Change, earlier: Change): Change {
  return {
    ...later,
    ...earlier,
    headers: { ...later.headers, ...earlier.headers },
    fields: { ...later.fields, ...earlier.fields },
  };
}

/** A Content-Length over the limit without such a body, and a change of another header. */
function contentLengthBeside(name: string, ...values: string[]): Change {
  return { headers: { "Content-Length": ["16385"], [name]: values }, body: "" };
}
