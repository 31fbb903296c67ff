// Programs that may listen at an endpoint, or at a target of `listen`, with the code of the reported cause.
import { createServer as createHttpServer, type OutgoingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { Socket } from "node:net";
import { CERTIFICATE, CERTIFICATE_KEY } from "./certificate.ts";
import { listenUntilEnd } from "./http-receiver.ts";
import { heldPort } from "./ports.ts";
import { openRawReceiver } from "./raw-receiver.ts";

/** Opens the program that listens at an endpoint, and returns the endpoint's URL. */
type Open = () => Promise<string>;
/** The name of an endpoint, how it is opened, and the code of its cause; undefined if there is none. */
export type OddEndpoint = readonly [name: string, open: Open, code: string | undefined];

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
/** A server at one loopback address only: its port at the other address is closed. */
const alone =
  (host: "127.0.0.1" | "::1"): Open =>
  async () => {
    const port = await heldPort();
    return `http://localhost:${await listenUntilEnd(createHttpServer(OK), host, port)}/hooks`;
  };
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

const OTHER_PROTOCOLS: readonly OddEndpoint[] = [
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
  ["only HTTP/2", raw(Buffer.from("000012040000000000000300000064", "hex")), "http2"],
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

const CUT: readonly OddEndpoint[] = [
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

const TLS: readonly OddEndpoint[] = [
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
export const TRUSTED: readonly OddEndpoint[] = [
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

const ADDRESSES: readonly OddEndpoint[] = [
  ["nothing listens", async () => `http://127.0.0.1:${await heldPort()}/hooks`, "refused"],
  ["nothing listens at localhost", () => Promise.resolve("http://localhost:9/hooks"), "refused"],
  ["https where nothing listens", () => Promise.resolve("https://localhost:9/hooks"), "refused"],
  ["::1, where only IPv4 listens", at("http://[::1]:PORT/hooks", alone("127.0.0.1")), "elsewhere"],
  ["127.0.0.1, where only IPv6 listens", at("http://127.0.0.1:PORT/hooks", alone("::1")), "elsewhere"],
  ["localhost, where only IPv4 listens", alone("127.0.0.1"), undefined],
  ["localhost, where only IPv6 listens", alone("::1"), undefined],
  ["a name below localhost", at("http://shop.localhost:PORT/hooks", serve(OK)), undefined],
  ["a name without an address", () => Promise.resolve("http://nowhere.example/hooks"), "no_address"],
  ["a name that is not allowed", () => Promise.resolve("http://other.example/hooks"), "target_forbidden"],
];

const to = (location: string, status: number): Open =>
  serve((request, response) => {
    const here = `http://${request.headers.host}`;
    response.writeHead(status, { Location: location.replace("HERE", here) }).end();
  });

const REDIRECTS: readonly OddEndpoint[] = [
  ...[301, 308, 307].flatMap((status): OddEndpoint[] => [
    [`${status} adds a slash`, to("/hooks/", status), "redirect_slash"],
    [`${status} adds a slash, whole`, to("HERE/hooks/", status), "redirect_slash"],
    [`${status} removes a slash`, at("http://127.0.0.1:PORT/hooks/", to("/hooks", status)), "redirect_slash"],
    [
      `${status} adds a slash to a session`,
      at("http://127.0.0.1:PORT/hooks/checkout-session", to("/hooks/checkout-session/", status)),
      "redirect_slash",
    ],
    [`${status} to https`, to("https://127.0.0.1/hooks", status), "redirect_https"],
    [`${status} to https, to log in`, to("https://127.0.0.1/login", status), "redirect_login"],
    [
      `${status} to https, of accounts`,
      at("http://127.0.0.1:PORT/accounts/hook", to("https://127.0.0.1/accounts/hook", status)),
      "redirect_https",
    ],
    [`${status} to another host`, to("http://www.shop.example/hooks", status), "redirect"],
    [`${status} to another path`, to("/api/hooks", status), "redirect"],
    [`${status} to itself`, to("/hooks", status), "redirect_itself"],
  ]),
  ...[302, 303, 307].flatMap((status): OddEndpoint[] =>
    ["/login", "/users/sign_in", "/accounts/login/?next=/hooks", "/auth/github", "/signin"].map(
      (path): OddEndpoint => [`${status} to ${path}`, to(path, status), "redirect_login"],
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
const STATUSES: readonly OddEndpoint[] = [
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
    (status): OddEndpoint => [String(status), answers(status), String(status)],
  ),
  ...[402, 418, 451].map((status): OddEndpoint => [String(status), answers(status), "4xx"]),
  ...[500, 520].map((status): OddEndpoint => [String(status), answers(status), "5xx"]),
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

export const ODD_ENDPOINTS = [
  ...OTHER_PROTOCOLS,
  ...CUT,
  ...TLS,
  ...TRUSTED,
  ...ADDRESSES,
  ...REDIRECTS,
  ...STATUSES,
];
/** Causes that are known only after the timeout. */
export const SLOW = new Set(["silent", "slow_body", "tls_silent", "unfinished_head"]);
/** Causes that only repeat the kind of status, or say that the cause is unknown. */
export const VAGUE = new Set(["4xx", "5xx", "other"]);
