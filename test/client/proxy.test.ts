import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:https";
import { expect, test } from "vitest";
import { proxyFor } from "../../src/core/network/proxy.ts";
import { REAL } from "../support/real.ts";
import type { OutboundRequest } from "../../src/world.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness } from "../support/harness.ts";
import { listenUntilEnd } from "../support/http-receiver.ts";

const PASSWORD = "hunter2";
const SERVICE = { base: "https://pay.example/v1", proxy: `http://me:${PASSWORD}@proxy.example:3128` };
const KEY = "svc_test_NZKGZKoFeNGgXc7soqqr1fULOcb2V9TDC";

test("the proxy is chosen by scheme, except for no_proxy hosts and this machine; lower-case variables win", () => {
  const env = { HTTPS_PROXY: "http://s:1", HTTP_PROXY: "http://h:2", ALL_PROXY: "http://a:3" };
  const rows: readonly (readonly [string, Record<string, string>, string | undefined])[] = [
    ["https://pay.example/v1", env, "http://s:1/"],
    ["http://pay.example/v1", env, "http://h:2/"],
    ["https://pay.example/v1", { ALL_PROXY: "a:3" }, "http://a:3/"],
    ["https://pay.example/v1", { ...env, https_proxy: "http://low:4" }, "http://low:4/"],
    ["https://pay.example/v1", { HTTP_PROXY: "http://h:2" }, undefined],
    ...["http://127.0.0.1:4242/v1", "http://127.0.0.2/v1", "http://localhost/v1", "http://[::1]:1/v1"].map(
      (url) => [url, env, undefined] as const,
    ),
    ...[
      "*",
      "pay.example",
      ".pay.example",
      "*.pay.example",
      "other, PAY.example:443",
      "x example",
      ".example",
    ].map((none) => ["https://pay.example/v1", { ...env, NO_PROXY: none }, undefined] as const),
    ...["ay.example", "pay.example:8443", "10.0.0.0/8", "www.pay.example"].map(
      (none) => ["https://pay.example/v1", { ...env, NO_PROXY: none }, "http://s:1/"] as const,
    ),
    ["http://10.1.2.3/v1", { ...env, no_proxy: "10.0.0.0/8" }, undefined],
    ["http://11.1.2.3/v1", { ...env, no_proxy: "10.0.0.0/8" }, "http://h:2/"],
    ["http://[fd00::1]:80/v1", { ...env, no_proxy: "fd00::/8" }, undefined],
    ["http://[fd00::1]:81/v1", { ...env, no_proxy: "[fd00:0::1]:81" }, undefined],
  ];
  for (const [url, given, proxy] of rows) {
    const found = proxyFor(url, given);
    expect([url, given, found.ok && found.value?.value]).toEqual([url, given, proxy]);
  }
  for (const wrong of ["socks5://p:1", "http://p:1/path", "http://%zz:x@p:1", "http://"])
    expect([wrong, proxyFor("https://pay.example", { https_proxy: wrong })]).toEqual([
      wrong,
      { ok: false, refusal: { variable: "https_proxy" } },
    ]);
});

test("only v1 calls to another machine use the proxy; the control API and deliveries never do", async () => {
  const harness = createHarness();
  const env = { HTTPS_PROXY: SERVICE.proxy, ALL_PROXY: SERVICE.proxy, CHECKOUT_RETRIES: "0" };
  const sent: OutboundRequest[] = [];
  await harness.start(["--allow-target", "app"], { env });
  harness.name("app", ["172.18.0.3"]);
  harness.setFault((request, deliver) => {
    sent.push(request);
    if (!/pay\.example|\/\/app/.test(request.url)) return deliver();
    return Promise.resolve({ ok: false, failure: "unreachable", message: `no way for ${PASSWORD}` });
  });
  const type = (line: string, more: Record<string, string> = {}) =>
    harness.run(line.split(" "), { env: { ...env, ...more } });
  const order = "orders create --order-id o-1 --price-id price_coffee";
  expect((await type("endpoints add http://app:3000/hooks")).code).toBe(0);
  expect((await type(order)).code).toBe(0);
  expect((await type("stores show")).code).toBe(0);
  harness.clock.advance(1000);
  const away = { CHECKOUT_BASE_URL: SERVICE.base, CHECKOUT_API_KEY: KEY };
  for (const line of [order, "calibrate --yes --base-url https://pay.example/v1"]) {
    const { stdout, stderr } = await type(line, away);
    expect(`${stdout}${stderr}`).not.toContain(PASSWORD);
  }
  const isAway = ({ url }: OutboundRequest): boolean => url.startsWith("https://pay.example");
  expect(sent.filter(isAway).length).toBeGreaterThan(1);
  expect(sent.filter((request) => isAway(request) !== (request.proxy === `${SERVICE.proxy}/`))).toEqual([]);
  await eventually("an event is sent", () =>
    expect(sent.filter(({ url }) => url.startsWith("http://app")).length).toBeGreaterThan(0),
  );

  const shown = await type("whoami", away);
  expect(shown.stdout).toMatch(/ http:\/\/proxy\.example:3128 +HTTPS_PROXY$/m);
  expect(shown.stdout).not.toContain(PASSWORD);
  const refused = await type(order, { ...away, https_proxy: `socks5://me:${PASSWORD}@p:1` });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("https_proxy")]);
  expect(refused.stderr).not.toContain(PASSWORD);
});

/** A proxy that answers the first bytes that it receives, or `closes` or `waits`; records the received bytes. */
async function openProxy(answer: string) {
  const got: string[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("data", (bytes) => {
      got.push(bytes.toString("latin1"));
      if (answer === "waits") return;
      if (answer === "closes" || got.length > 1) socket.destroy();
      else if (answer.includes(" 200 ")) socket.write(answer);
      else socket.end(answer);
    });
  });
  return { got, url: `http://me:${PASSWORD}@127.0.0.1:${await listenUntilEnd(server)}` };
}

function send(url: string, proxy: string, more: Partial<OutboundRequest> = {}) {
  const headers = { Authorization: "Bearer of-the-service" };
  const limits = { timeoutMs: 60_000, maxResponseBytes: 1000 };
  return REAL.send({ method: "POST", url, headers, body: "{}", proxy, ...limits, ...more });
}

test("every failure of a proxy shows whether something was sent, and never prints the password of the proxy", async () => {
  const bare = (status: string): string => `HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`;
  const rows: readonly (readonly [string, string, "nothing was sent" | "unknown" | number])[] = [
    ["https", bare("407 No"), "nothing was sent"],
    ["https", bare("502 No"), "nothing was sent"],
    ["https", bare("403 No"), "nothing was sent"],
    ["https", "closes", "nothing was sent"],
    ["https", "waits", "nothing was sent"],
    ["https", "HTTP/1.1 200 Yes\r\n\r\n", "nothing was sent"],
    ["https", "no HTTP at all\r\n\r\n", "nothing was sent"],
    ["http", bare("407 No"), "nothing was sent"],
    ["http", bare("502 No"), 502],
    ["http", "closes", "unknown"],
    ["http", "waits", "unknown"],
  ];
  for (const [scheme, answer, expected] of rows) {
    const proxy = await openProxy(answer);
    const timeoutMs = answer === "waits" ? 300 : 60_000;
    const result = await send(`${scheme}://pay.example/v1/orders`, proxy.url, { timeoutMs });
    const row = [scheme, answer] as const;
    const shown = proxy.url.replace(`me:${PASSWORD}@`, "");
    expect([...row, JSON.stringify(result).includes(PASSWORD)]).toEqual([...row, false]);
    if (result.ok) expect([...row, result.status, result.proxy]).toEqual([...row, expected, shown]);
    else {
      const end = result.failure === "unreachable" ? "nothing was sent" : "unknown";
      expect([...row, end]).toEqual([...row, expected]);
      if (end === "nothing was sent") expect(result.message).toContain(shown);
    }
    const [first = ""] = proxy.got;
    const [line, headers] = [first.split("\r\n")[0], first.toLowerCase()];
    const asked = scheme === "https" ? "CONNECT pay.example:443" : "POST http://pay.example/v1/orders";
    expect([...row, line]).toEqual([...row, `${asked} HTTP/1.1`]);
    expect(headers).toContain(`proxy-authorization: basic ${btoa(`me:${PASSWORD}`).toLowerCase()}`);
    expect([...row, headers.includes("of-the-service")]).toEqual([...row, scheme === "http"]);
  }
  const closed = await send("https://pay.example/v1", "http://127.0.0.1:1");
  expect(closed).toMatchObject({ ok: false, failure: "unreachable" });
  const stopped = AbortSignal.timeout(200);
  const waiting = await send("https://pay.example/v1", (await openProxy("waits")).url, { signal: stopped });
  expect(waiting).toMatchObject({ ok: false, failure: "aborted" });
});

test("the service answers through a proxy over http and https, and the service's certificate is verified", async () => {
  const heard: string[] = [];
  const tls = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (request, response) => {
    heard.push(Object.keys(request.headers).join());
    response.end("over TLS");
  });
  const port = await listenUntilEnd(tls);
  const proxy = createHttpServer((request, response) => {
    response.end(`plain ${request.url} for ${request.headers.host}`);
  });
  proxy.on("connect", (_request, socket: Socket) => {
    const server = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      server.pipe(socket).pipe(server);
    });
    for (const end of [server, socket]) end.on("error", () => end.destroy());
  });
  const url = `http://me:${PASSWORD}@127.0.0.1:${await listenUntilEnd(proxy)}`;
  const whole = await send(`https://localhost:${port}/v1`, url, { tls: { ca: CERTIFICATE } });
  expect(whole).toMatchObject({ ok: true, status: 200, body: "over TLS" });
  expect(heard.join()).not.toContain("proxy");
  expect(await send(`https://localhost:${port}/v1`, url)).toMatchObject({
    ok: false,
    failure: "unreachable",
  });
  const plain = await send("http://pay.example/v1?a=1", url);
  expect(plain).toMatchObject({ ok: true, body: "plain http://pay.example/v1?a=1 for pay.example" });
});

test("an https request to a server without TLS fails with an error in words, without OpenSSL's source lines", async () => {
  const plain = createHttpServer((_request, response) => void response.end("plain"));
  const port = await listenUntilEnd(plain);
  const url = `https://127.0.0.1:${port}/v1`;
  const sent = await REAL.send({
    method: "GET",
    url,
    headers: {},
    timeoutMs: 10_000,
    maxResponseBytes: 1000,
  });
  if (sent.ok) throw new Error("the server has no TLS");
  expect(sent.message).toMatch(/^[^:\n]+: wrong version number\b[^:\n]*\bhttp\b[^:\n]*\bhttps\b[^:\n]*$/);
});
