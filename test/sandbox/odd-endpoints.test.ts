import { createServer as createHttpServer, type OutgoingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { causeText } from "../../src/core/explain/delivery.ts";
import { causeOf, doubtOf } from "../../src/core/explain/delivery-causes.ts";
import { DELIVERY_CAUSES } from "../../src/core/explain/delivery-sentences.ts";
import { CONNECTION_FAULTS } from "../../src/core/network/connection-fault.ts";
import { english, selectorOf } from "../../src/core/language.ts";
import { attemptResultOf } from "../../src/sandbox/webhook/send.ts";
import { factsOf, postToReceiver } from "../../src/sandbox/webhook/post.ts";
import { describeFailure } from "../../src/web/failure.ts";
import type { TlsTrust } from "../../src/world.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { send } from "../../src/world/network.ts";
import { listenUntilEnd } from "../support/http-receiver.ts";
import { openRawReceiver } from "../support/raw-receiver.ts";

/** An endpoint: opens what listens there, and returns its address. */
type Open = () => Promise<string>;
/** The name of an endpoint, how it is opened, and the code of its cause; undefined if there is none. */
type Row = readonly [name: string, open: Open, code: string | undefined];

const raw =
  (said: string | Buffer): Open =>
  async () =>
    (await openRawReceiver((socket) => void socket.end(said))).url;
const acts =
  (act: (socket: Socket) => void, onConnect = false): Open =>
  async () =>
    (await openRawReceiver(act, { onConnect })).url;
const asTls =
  (open: Open): Open =>
  async () =>
    (await open()).replace("http:", "https:");
const at =
  (url: string, open: Open): Open =>
  async () =>
    url.replace("PORT", new URL(await open()).port);

const serve =
  (answer: RequestListener, host = "127.0.0.1"): Open =>
  async () =>
    `http://${host.includes(":") ? `[${host}]` : host}:${await listenUntilEnd(createHttpServer(answer), host)}/hooks`;
const answers = (status: number, headers: OutgoingHttpHeaders = {}, body = ""): Open =>
  serve((request, response) =>
    request.resume().on("end", () => response.writeHead(status, headers).end(body)),
  );
const tls =
  (options: ServerOptions = {}, host = "127.0.0.1"): Open =>
  async () => {
    const server = createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE, ...options }, (_, response) =>
      response.end("ok"),
    );
    server.on("tlsClientError", () => undefined);
    return `https://localhost:${await listenUntilEnd(server, host)}/hooks`;
  };

const OK: RequestListener = (_, response) => void response.end("ok");
const HTML = "<!DOCTYPE html><html><title>Shop</title><form action=/login></form></html>";
const PAGE = { "Content-Type": "text/html; charset=utf-8" };
const big = (bytes: number): string =>
  `HTTP/1.1 200 OK\r\nSet-Cookie: ${"x".repeat(bytes)}\r\nContent-Length: 0\r\n\r\n`;
const body = (length: number): string => `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nok`;
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

const OTHER_PROTOCOLS: readonly Row[] = [
  ["ssh", raw("SSH-2.0-OpenSSH_9.6\r\n"), "not_http"],
  ["smtp", raw("220 mail.example ESMTP\r\n"), "not_http"],
  ["ftp", raw("220 (vsFTPd 3.0.5)\r\n"), "not_http"],
  ["redis", raw("-ERR unknown command\r\n"), "not_http"],
  ["memcached", raw("ERROR\r\n"), "not_http"],
  ["mysql", raw(Buffer.from("4a0000000a382e302e3336", "hex")), "not_http"],
  ["postgres", raw("N"), "not_http"],
  ["imap", raw("* OK IMAP4rev1\r\n"), "not_http"],
  ["a body without a head", raw('{"ok":true}'), "not_http"],
  ["a page without a head", raw(HTML), "not_http"],
  ["spaces", raw("     "), "not_http"],
  ["zero bytes", raw(Buffer.alloc(64)), "not_http"],
  ["http/2 alone", raw(Buffer.from("000012040000000000000300000064", "hex")), "http2"],
  ["an alert of TLS", raw(Buffer.from("15030300020246", "hex")), "expects_tls"],
  [
    "a websocket",
    raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
    "upgrade",
  ],
  ["a header without a name", raw("HTTP/1.1 200 OK\r\n: x\r\n\r\n"), "invalid_head"],
  ["a header with a zero byte", raw("HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"), "invalid_head"],
  ["a status that is no number", raw("HTTP/1.1 OK\r\n\r\n"), "invalid_head"],
  ["17 KB of headers", raw(big(17_000)), "head_too_large"],
  ["100 KB of headers", raw(big(100_000)), "head_too_large"],
];

const CUT: readonly Row[] = [
  ["closes at once", acts((socket) => void socket.end()), "closed"],
  ["resets at once", acts((socket) => void socket.resetAndDestroy()), "closed"],
  ["half a status line", raw("HTTP/1.1 20"), "unfinished_head"],
  ["half a head", raw("HTTP/1.1 200 OK\r\nContent-Le"), "unfinished_head"],
  ["a body that is cut", raw(body(9)), "unfinished_body"],
  ["no body at all", raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), "unfinished_body"],
  ["an error that is cut", raw("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno"), "unfinished_body"],
  ["chunks without an end", raw(`${CHUNKED}2\r\nok\r\n`), "unfinished_body"],
  ["a chunk without a size", raw(`${CHUNKED}ok\r\n`), "invalid_body"],
  [
    "a body that is reset",
    acts((socket) => void socket.write(body(9), () => socket.resetAndDestroy())),
    "unfinished_body",
  ],
  ["a body that never ends", acts((socket) => void socket.write(body(9))), "slow_body"],
  [
    "a stream that never ends",
    acts((socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\ndata: 1\n\n")),
    "slow_body",
  ],
  [
    "a head that never ends",
    acts((socket) => void socket.write("HTTP/1.1 200 OK\r\nA: ")),
    "unfinished_head",
  ],
  ["no answer", acts(() => undefined), "silent"],
  ["a whole answer and more", raw("HTTP/1.1 204 No Content\r\n\r\n{}"), undefined],
];

const TLS: readonly Row[] = [
  ["a certificate signed by itself", tls(), "tls_untrusted"],
  ["the same under an address", at("https://127.0.0.1:PORT/hooks", tls()), "tls_untrusted"],
  ["https to an http port", asTls(serve(OK)), "tls_not_spoken"],
  ["https to ssh", asTls(acts((socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n"))), "tls_not_spoken"],
  ["https to a port that closes", asTls(acts((socket) => void socket.end())), "tls_closed"],
  ["https to a port that resets", asTls(acts((socket) => void socket.resetAndDestroy())), "tls_closed"],
  ["https to a port that says nothing", asTls(acts(() => undefined)), "tls_silent"],
  ["no cipher in common", tls({ maxVersion: "TLSv1.2", ciphers: "AES128-SHA" }), "tls_no_agreement"],
  ["http to an https port", at("http://localhost:PORT/hooks", tls()), "expects_tls"],
  ["http to an https port by address", at("http://127.0.0.1:PORT/hooks", tls()), "expects_tls"],
];

/** Endpoints whose certificate is trusted, as with `--ca`. */
const TRUSTED: readonly Row[] = [
  ["a trusted certificate", tls(), undefined],
  ["a trusted certificate below localhost", at("https://shop.localhost:PORT/hooks", tls()), "tls_wrong_name"],
  [
    "a trusted certificate for another address",
    at("https://127.0.0.2:PORT/hooks", tls({}, "127.0.0.2")),
    "tls_wrong_name",
  ],
  [
    "a client certificate is required",
    tls({ requestCert: true, rejectUnauthorized: true }),
    "tls_client_certificate",
  ],
  [
    "the same in TLS 1.2",
    tls({ requestCert: true, rejectUnauthorized: true, maxVersion: "TLSv1.2" }),
    "tls_no_agreement",
  ],
];

const ADDRESSES: readonly Row[] = [
  ["nothing listens", at("http://127.0.0.2:PORT/hooks", serve(OK)), "refused"],
  ["nothing listens at localhost", () => Promise.resolve("http://localhost:9/hooks"), "refused"],
  ["https where nothing listens", () => Promise.resolve("https://localhost:9/hooks"), "refused"],
  ["IPv4 alone behind ::1", at("http://[::1]:PORT/hooks", serve(OK)), "elsewhere"],
  ["IPv6 alone behind 127.0.0.1", at("http://127.0.0.1:PORT/hooks", serve(OK, "::1")), "elsewhere"],
  ["IPv4 alone behind localhost", at("http://localhost:PORT/hooks", serve(OK)), undefined],
  ["IPv6 alone behind localhost", at("http://localhost:PORT/hooks", serve(OK, "::1")), undefined],
  ["a name below localhost", at("http://shop.localhost:PORT/hooks", serve(OK)), undefined],
  ["a name without an address", () => Promise.resolve("http://nowhere.example/hooks"), "no_address"],
  ["a name that is not allowed", () => Promise.resolve("http://other.example/hooks"), "target_forbidden"],
];

const to = (location: string, status: number): Open =>
  serve((request, response) => {
    const here = `http://${request.headers.host}`;
    response.writeHead(status, { Location: location.replace("HERE", here) }).end();
  });

const REDIRECTS: readonly Row[] = [
  ...[301, 308, 307].flatMap((status): Row[] => [
    [`${status} adds a slash`, to("/hooks/", status), "redirect_slash"],
    [`${status} adds a slash, whole`, to("HERE/hooks/", status), "redirect_slash"],
    [`${status} removes a slash`, at("http://127.0.0.1:PORT/hooks/", to("/hooks", status)), "redirect_slash"],
    [`${status} to https`, to("https://127.0.0.1/hooks", status), "redirect_https"],
    [`${status} to another host`, to("http://www.shop.example/hooks", status), "redirect"],
    [`${status} to another path`, to("/api/hooks", status), "redirect"],
    [`${status} to itself`, to("/hooks", status), "redirect_itself"],
  ]),
  ...[302, 303, 307].flatMap((status): Row[] =>
    ["/login", "/users/sign_in", "/accounts/login/?next=/hooks", "/auth/github", "/signin"].map(
      (path): Row => [`${status} to ${path}`, to(path, status), "redirect_login"],
    ),
  ),
  ["302 to a page", to("/thanks", 302), "redirect_page"],
  ["303 to a page", to("/orders/7", 303), "redirect_page"],
  ["302 without a location", answers(302), "redirect_nowhere"],
  ["301 to no address", to("http://", 301), "redirect_nowhere"],
  ["300", answers(300), "300"],
  ["304", answers(304), "304"],
];

const NGINX =
  "<html><h1>400 Bad Request</h1><center>The plain HTTP request was sent to HTTPS port</center></html>";
const STATUSES: readonly Row[] = [
  ["nginx of https", answers(400, PAGE, NGINX), "plain_http"],
  ["Go of https", answers(400, {}, "Client sent an HTTP request to an HTTPS server.\n"), "plain_http"],
  [
    "Apache of https",
    answers(400, PAGE, "You're speaking plain HTTP to an SSL-enabled server port."),
    "plain_http",
  ],
  ["Django's hosts", answers(400, PAGE, "<h1>DisallowedHost at /hooks</h1>"), "host_refused"],
  [
    "Vite's hosts",
    answers(403, {}, 'Blocked request. This host ("shop.localhost") is not allowed.'),
    "host_refused",
  ],
  ["Rails' hosts", answers(403, PAGE, "<h1>Blocked hosts: shop.localhost</h1>"), "host_refused"],
  ["webpack's hosts", answers(403, {}, "Invalid Host header"), "host_refused"],
  ["400", answers(400, {}, "invalid signature"), "400"],
  ["401 with Basic", answers(401, { "WWW-Authenticate": 'Basic realm="staging"' }), "login"],
  ["401 with Bearer", answers(401, { "WWW-Authenticate": "Bearer" }), "login"],
  ["Django's CSRF", answers(403, PAGE, "<h1>CSRF verification failed. Request aborted.</h1>"), "403"],
  ["Laravel's CSRF", answers(419, PAGE, "<title>Page Expired</title>"), "419"],
  ["Rails' CSRF", answers(422, PAGE, "InvalidAuthenticityToken"), "422"],
  ...[401, 403, 404, 405, 407, 408, 410, 411, 413, 415, 421, 422, 426, 429, 431, 501, 502, 503, 504].map(
    (status): Row => [String(status), answers(status), String(status)],
  ),
  ...[402, 418, 451].map((status): Row => [String(status), answers(status), "4xx"]),
  ...[500, 520].map((status): Row => [String(status), answers(status), "5xx"]),
  ["600", answers(600), "other"],
  ["200", answers(200, {}, "ok"), undefined],
  ["200 with JSON", answers(200, { "Content-Type": "application/json" }, "{}"), undefined],
  ["202", answers(202), undefined],
  ["204", answers(204), undefined],
  ["a page with 200", answers(200, PAGE, HTML), "html_page"],
  ["a page with 200 and no type", answers(200, {}, HTML), "html_page"],
  ["a page with 201", answers(201, PAGE, HTML), "html_page"],
  ["200 with the type of a page and text", answers(200, PAGE, "ok"), undefined],
];

const ROWS = [...OTHER_PROTOCOLS, ...CUT, ...TLS, ...TRUSTED, ...ADDRESSES, ...REDIRECTS, ...STATUSES];
/** Causes that show only when the time is over. */
const STILL = new Set(["silent", "slow_body", "tls_silent", "unfinished_head"]);
/** Causes that say only who knows more. */
const UNNAMED = new Set(["4xx", "5xx", "other"]);

async function attempt(url: string, code: string | undefined, deliveryTls?: TlsTrust) {
  const { result } = await postToReceiver(
    {
      world: { send, resolve: () => Promise.resolve([]), monotonic: () => performance.now() },
      targets: { allowedHosts: ["nowhere.example"], ownPort: 1 },
      deliveryTimeoutMs: STILL.has(code ?? "") ? 500 : 20_000,
      deliveryTls,
      heldBack: () => undefined,
    },
    { storeId: "s", url, ca: null, headers: { "Content-Type": "application/json" }, body: "{}" },
  );
  const ended = attemptResultOf(result, 0);
  return {
    url,
    status: "status" in ended ? ended.status : null,
    error: "error" in ended ? ended.error : null,
    answer: result === "forbidden" || !result.ok ? null : Buffer.from(result.body),
    facts: factsOf(result),
  };
}

test(`the cause of each of ${ROWS.length} odd endpoints is its own`, async () => {
  expect(ROWS.length).toBeGreaterThan(100);
  for (const row of ROWS) {
    const [name, open, code] = row;
    const trust = TRUSTED.includes(row) ? { ca: CERTIFICATE } : undefined;
    const outcome = await attempt(await open(), code, trust);
    const cause = causeOf(outcome) ?? doubtOf(outcome);
    expect([name, cause?.code, outcome]).toEqual([name, code, outcome]);
    if (code === undefined) continue;
    expect([name, causeText({ ...outcome, fault: null }, english)]).toEqual([name, cause?.cause[0]]);
    // A value that is missing would be said as a word.
    expect(cause?.cause.join()).not.toMatch(/undefined|null|NaN/);
    if (outcome.error !== null && code !== "target_forbidden")
      expect([name, outcome.facts?.message ?? ""]).not.toEqual([name, ""]);
  }
  const due = ROWS.flatMap(([, , code]) => code ?? []);
  const named = due.filter((code) => !UNNAMED.has(code));
  expect(named.length / due.length).toBeGreaterThan(0.9);
});

/** Errors as Node and OpenSSL give them: the code, the system call, how far the request was, and the fault. */
const CERTIFICATE_ERRORS = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls_untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "tls_untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls_untrusted",
  CERT_HAS_EXPIRED: "tls_expired",
  CERT_NOT_YET_VALID: "tls_not_yet_valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls_wrong_name",
  HOSTNAME_MISMATCH: "tls_wrong_name",
  ERR_SSL_WRONG_VERSION_NUMBER: "tls_not_spoken",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "tls_not_spoken",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "tls_version",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "tls_version",
  "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE": "tls_no_agreement",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "tls_client_certificate",
  "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE": "tls_client_certificate",
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: "tls_wrong_name",
  ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR: "tls_failed",
  EPROTO: "tls_failed",
  ECONNRESET: "tls_closed",
} as const;
const SYSTEM_ERRORS = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "no_address",
  EAI_AGAIN: "no_address",
  EHOSTUNREACH: "no_route",
  ENETUNREACH: "no_route",
  EADDRNOTAVAIL: "no_route",
  ETIMEDOUT: "no_connection",
  EACCES: "not_permitted",
  EPERM: "not_permitted",
  EMFILE: "too_many_files",
} as const;
/** Errors of nock, MSW, undici's MockAgent and jest's fakes: none names a system call. */
const INVENTED: readonly (readonly [string | undefined, string])[] = [
  ["ENETUNREACH", 'Nock: Disallowed net connect for "127.0.0.1:3000/hooks"'],
  ["ERR_NOCK_NO_MATCH", "Nock: No match for request"],
  [
    undefined,
    '[MSW] Cannot bypass a request when using the "error" strategy for the "onUnhandledRequest" option.',
  ],
  [undefined, "Failed to fetch"],
  ["UND_MOCK_ERR_MOCK_NOT_MATCHED", "Mock dispatch not matched for path '/hooks'"],
  [undefined, "Network access is disabled in tests"],
];

test("an error is told by its code, and an error that no system gave keeps its text", () => {
  const opened = { isTls: true, isOpen: true, isConnected: false, receivedBytes: 0 };
  const before = { ...opened, isTls: false, isOpen: false };
  const faultOf = (error: Error, progress = before) => describeFailure(error, progress).facts?.fault;
  for (const [code, fault] of Object.entries(CERTIFICATE_ERRORS))
    expect([code, faultOf(Object.assign(new Error("x"), { code }), opened)]).toEqual([code, fault]);
  for (const [code, fault] of Object.entries(SYSTEM_ERRORS)) {
    const error = Object.assign(new Error("x"), { code, syscall: "connect" });
    expect([code, faultOf(error)]).toEqual([code, fault]);
    const several = Object.assign(new AggregateError([error, error], ""), { code });
    expect([code, describeFailure(several, before)]).toMatchObject([
      code,
      { message: "x", facts: { fault } },
    ]);
  }
  for (const [code, message] of INVENTED) {
    const failure = describeFailure(
      Object.assign(new Error(message), code === undefined ? {} : { code }),
      before,
    );
    expect(failure).toEqual({ ok: false, failure: "unreachable", message, facts: { fault: "intercepted" } });
  }
});

test("each fault has a cause in both languages, and none of them says that the receiver is not running but the one", () => {
  const chinese = selectorOf("zh");
  for (const code of CONNECTION_FAULTS) {
    const words = DELIVERY_CAUSES.get(code)?.words("x", "x", "x");
    expect([code, words === undefined ? "" : chinese(words)]).toEqual([
      code,
      expect.stringMatching(/\p{Script=Han}/u),
    ]);
    if (code !== "refused")
      expect([code, words?.[0]]).toEqual([code, expect.not.stringContaining("not running")]);
  }
});
