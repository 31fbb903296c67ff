import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { buildCreateRequest } from "../../src/client/api/client.ts";
import { english } from "../../src/core/language.ts";
import { ENDPOINT_REASONS } from "../../src/core/refusals/parts.ts";
import type { DeliveryError } from "../../src/core/webhook/delivery.ts";
import { verifyWebhook } from "../../src/core/webhook/verify.ts";
import { NETWORK, openControl } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { listenUntilEnd, openHttpReceiver, readBody } from "../support/http-receiver.ts";
import { apiKeyOf, purchase } from "../support/load.ts";
import { heldPort } from "../support/ports.ts";
import { startSandbox, startSandboxHere, type SandboxProcess } from "../support/program.ts";
import { drips, floods, openRawReceiver, says } from "../support/raw-receiver.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { DeliveryEntry } from "../../src/core/webhook/shapes.ts";

/** Long enough for a receiver to answer, even on a busy machine. */
const TIMEOUT_MS = 2000;
/** Minimum and maximum waits before the second and the third attempt, in milliseconds: a fifth less or more. */
const SECOND_ATTEMPT_WAIT_MS = [4000, 6000] as const;
const THIRD_ATTEMPT_WAIT_MS = [240_000, 360_000] as const;

const MEBIBYTE = 2 ** 20;
const GIBIBYTE = 2 ** 30;
/** Maximum bytes taken of an answer that is cut off: the buffers of two sockets, which may have some MiB each. */
const MAX_TAKEN_BYTES = 16 * MEBIBYTE;
/** Maximum growth of the program by all floods, as a ratio to its memory before them; usually it is a fifth. */
const MAX_GROWTH = 1;
/** Maximum processor time of all floods, as a ratio to the processor time of a start; usually it is a half. */
const MAX_WORK = 3;
const KEPT_BYTES = 4096;

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const GIBIBYTE_LONG = `Content-Length: ${GIBIBYTE}\r\n\r\n`;
const LOOPBACK = "127.0.0.1";

/** The expected audit of an attempt; omitted fields are null, but `address` is 127.0.0.1 and `state` is due. */
type ExpectedAttempt = {
  readonly status?: number;
  readonly error?: DeliveryError;
  readonly answer?: string;
  /** The IP address of the connection. */
  readonly address?: string | null;
  readonly state?: DeliveryEntry["state"];
  /** Milliseconds until the next attempt. */
  readonly waits?: readonly [least: number, most: number];
};

/** A receiver, and the expected result of its first attempt. */
type Row = readonly [name: string, url: string, expected: ExpectedAttempt];

test("any failure of a receiver's connection is recorded and retried, and does not affect other receivers", async () => {
  const site = await openSite(["--delivery-timeout", `${TIMEOUT_MS}ms`]);
  const good = await openGoodReceiver(site.secret);
  const goodId = await site.addEndpoint(good.url);
  const hanging = await openRawReceiver(() => undefined);
  const endless = "X-Header: value\r\n".repeat(4000);
  const upgrade = "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n";
  const raw = async (...manner: Parameters<typeof openRawReceiver>): Promise<string> =>
    (await openRawReceiver(...manner)).url;
  const rows: readonly Row[] = [
    ["hangs", hanging.url, { error: "timeout" }],
    ["drips a body", await raw(drips(`${OK}Content-Length: 99\r\n\r\n`, "x")), { error: "timeout" }],
    ["drips a head", await raw(drips(`${OK}X-Header: `, "x")), { error: "timeout" }],
    ["never ends its body", await raw(drips(CHUNKED, "1\r\nx\r\n")), { error: "timeout" }],
    ["hangs in TLS", (await raw(() => undefined)).replace("http:", "https:"), { error: "timeout" }],
    ["resets", await raw((socket) => void socket.resetAndDestroy()), { error: "connection_lost" }],
    ["closes", await raw((socket) => void socket.end()), { error: "connection_lost" }],
    [
      "closes unasked",
      await raw((socket) => void socket.destroy(), { onConnect: true }),
      { error: "connection_lost" },
    ],
    ["cuts its answer", await raw(says(`${OK}Content-Length: 9\r\n\r\nabc`)), { error: "connection_lost" }],
    ["speaks no HTTP", await raw(says("SSH-2.0-OpenSSH_9.9\r\n")), { error: "bad_answer" }],
    ["speaks no text", await raw(says("\0\u0001\u0002\u0003\r\n\r\n")), { error: "bad_answer" }],
    ["never ends its head", await raw(floods(OK, endless, GIBIBYTE)), { error: "bad_answer" }],
    [
      "never ends its trailers",
      await raw(floods(`${CHUNKED}0\r\n`, endless, GIBIBYTE)),
      { error: "bad_answer" },
    ],
    [
      "switches protocols",
      await raw(says(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}`)),
      { error: "bad_answer" },
    ],
    ["speaks no TLS", (await raw(says("no"))).replace("http:", "https:"), { error: "unreachable" }],
    ["is not there", await vacantUrl(), { error: "unreachable", address: null }],
  ];
  const ids = await addAll(site, rows);

  // No second attempt comes before the clock moves, however long the first attempts take.
  await site.control.call("moveClock", { body: { action: "freeze" } });
  const orders = 2;
  await site.order(orders);
  for (const [index, row] of rows.entries())
    for (const delivery of await site.tried(ids[index] ?? "", orders)) check(delivery, row, 0);
  for (const delivery of await site.tried(goodId, orders))
    check(delivery, ["is good", good.url, { status: 204, state: "succeeded", answer: "" }], 0);
  expect(good.got.map(({ verdict }) => verdict)).toEqual(["ok", "ok"]);
  // The good receiver got its last event before the hanging receiver did.
  expect(good.got.at(-1)?.at).toBeLessThan(hanging.requests.at(-1) ?? 0);

  await site.control.call("moveClock", { body: { action: "real" } });
  for (const [index, [name, url, expected]] of rows.entries())
    for (const delivery of await site.tried(ids[index] ?? "", orders, 2))
      check(delivery, [name, url, { ...expected, waits: THIRD_ATTEMPT_WAIT_MS }], 1);
  expect(good.got).toHaveLength(orders);
});

test("a receiver that silently closes kept-alive connections gets every event at the first counted attempt", async () => {
  const site = await openSite(["--deliveries-in-flight", "1"]);
  const quiet = await openRawReceiver((socket) => void socket.end(`${OK}Content-Length: 0\r\n\r\n`));
  let connections = 0;
  const every = createServer((socket) => {
    connections += 1;
    let requests = 0;
    socket.on("data", () => {
      requests += 1;
      if (requests === 1) socket.write(`${OK}Content-Length: 0\r\n\r\n`);
      else socket.destroy();
    });
  });
  const url = `http://127.0.0.1:${await listenUntilEnd(every)}/hooks`;
  const [quietId, everyId] = [await site.addEndpoint(quiet.url), await site.addEndpoint(url)];
  await site.control.call("moveClock", { body: { action: "freeze" } });
  const orders = 6;
  await site.order(orders);
  for (const endpointId of [quietId, everyId])
    await eventually("all are taken at the first try that counts", async () => {
      const { deliveries } = await site.control.call("listDeliveries", { body: { endpointId } });
      expect(deliveries.map(({ state, tries }) => [state, tries])).toEqual(
        Array.from({ length: orders }, () => ["succeeded", 1]),
      );
      for (const { attempts } of deliveries) {
        const lost = attempts
          .slice(0, -1)
          .map(({ error, nextAt, finishedAt }) => [error, nextAt === finishedAt]);
        expect([[], [["connection_lost", true]]]).toContainEqual(lost);
      }
    });
  expect(connections).toBeGreaterThan(1);
});

test("any answer of a receiver is recorded, redirects are not followed, and Retry-After is obeyed within limits", async () => {
  const site = await openSite();
  let trapped = 0;
  const trap = await openHttpReceiver((_request, response) => {
    trapped += 1;
    response.writeHead(200).end();
  });
  const raw = async (answer: string): Promise<string> => (await openRawReceiver(says(answer))).url;
  const status = (line: string, headers = ""): Promise<string> =>
    raw(`HTTP/1.1 ${line}\r\nContent-Length: 2\r\n${headers}\r\nno`);
  const retryAfter = (value: string): Promise<string> => status("503 No", `Retry-After: ${value}\r\n`);
  const inEightSeconds = new Date(Date.now() + 8000).toUTCString();
  const long = `a${"é".repeat(KEPT_BYTES)}`;
  const refused = { status: 503, answer: "no" };
  const rows: readonly Row[] = [
    [
      "200",
      await raw(`${OK}\r\nuntil the end`),
      { status: 200, state: "succeeded", answer: "until the end" },
    ],
    ["204", await raw("HTTP/1.1 204 No Content\r\n\r\n"), { status: 204, state: "succeeded", answer: "" }],
    [
      "102, 200",
      await raw(`HTTP/1.1 102 Processing\r\n\r\n${OK}\r\n`),
      { status: 200, state: "succeeded", answer: "" },
    ],
    ["301", await status("301 Moved", `Location: ${trap}\r\n`), { status: 301, answer: "no" }],
    ["307", await status("307 Moved", `Location: ${trap}\r\n`), { status: 307, answer: "no" }],
    ["308", await status("308 Moved", `Location: ${trap}\r\n`), { status: 308, answer: "no" }],
    ["404", await status("404 Not Found"), { status: 404, answer: "no" }],
    ["410", await status("410 Gone"), { status: 410, answer: "no", state: "failed" }],
    [
      "long",
      await raw(`HTTP/1.1 500 No\r\n\r\n${long}`),
      { status: 500, answer: long.slice(0, 1 + 2047) + "\ufffd" },
    ],
    ["7 s", await retryAfter("7"), { ...refused, waits: [7000, 7000] }],
    ["1 s", await retryAfter("1"), { ...refused, waits: [5000, 5000] }],
    ["a day", await retryAfter("86400"), { ...refused, waits: [10_000, 10_000] }],
    ["a date", await retryAfter(inEightSeconds), { ...refused, waits: [5000, 8000] }],
    ["a date long ago", await retryAfter("Thu, 01 Jan 1970 00:00:00 GMT"), refused],
    ["0", await retryAfter("0"), refused],
    ["-7", await retryAfter("-7"), refused],
    ["7.5", await retryAfter("7.5"), refused],
    ["soon", await retryAfter("soon"), refused],
  ];
  const ids = await addAll(site, rows);
  await site.control.call("moveClock", { body: { action: "freeze" } });
  await site.order(1);
  for (const [index, row] of rows.entries())
    for (const delivery of await site.tried(ids[index] ?? "", 1)) check(delivery, row, 0);
  expect(trapped).toBe(0);
  const { endpoints } = await site.control.call("listEndpoints", {});
  const off = endpoints.filter(({ state }) => state !== "enabled");
  expect(off.map(({ url, state, reason }) => [url, state, reason])).toEqual([
    [rows.find(([name]) => name === "410")?.[1], "disabled", english(ENDPOINT_REASONS.gone)],
  ]);
});

test("a receiver's endless answer uses little memory and processor time, however the answer is chunked", async () => {
  const sandbox = await startSandbox({ cwd: tempFolder(), args: ["--quiet"] });
  const site = siteOf(sandbox);
  const warmUp = await openGoodReceiver(site.secret);
  await site.addEndpoint(warmUp.url);
  await site.order(5);
  await eventually("it is warm", () => expect(warmUp.got).toHaveLength(5));

  const before = usageOf(sandbox.process.pid);
  for (const [name, status, manner] of [
    ["large pieces", 200, floods(`${OK}${GIBIBYTE_LONG}`, "x".repeat(MEBIBYTE), GIBIBYTE)],
    ["a refusal", 500, floods(`HTTP/1.1 500 No\r\n${GIBIBYTE_LONG}`, "x".repeat(MEBIBYTE), GIBIBYTE)],
    ["single bytes", 200, floods(CHUNKED, "1\r\nx\r\n".repeat(10_000), GIBIBYTE)],
  ] as const) {
    const receiver = await openRawReceiver(manner);
    const id = await site.addEndpoint(receiver.url);
    await site.order(1);
    const [delivery] = await site.tried(id, 1);
    const [attempt] = delivery?.attempts ?? [];
    expect([attempt?.status, attempt?.answer], name).toEqual([status, "x".repeat(KEPT_BYTES)]);
    expect(receiver.taken(), name).toBeLessThan(MAX_TAKEN_BYTES);
  }
  const after = usageOf(sandbox.process.pid);
  expect(after.memoryBytes - before.memoryBytes).toBeLessThanOrEqual(before.memoryBytes * MAX_GROWTH);
  expect(after.processorMs - before.processorMs).toBeLessThanOrEqual(before.processorMs * MAX_WORK);
});

test("an endpoint at localhost is reached at 127.0.0.1 or ::1, whichever answers", async () => {
  const site = await openSite();
  for (const host of ["127.0.0.1", "::1"]) {
    const { url, got } = await openGoodReceiver(site.secret, host);
    const id = await site.addEndpoint(`http://localhost:${new URL(url).port}/hooks`);
    await site.order(1);
    for (const delivery of await site.tried(id, 1))
      check(delivery, [host, "", { status: 204, state: "succeeded", answer: "", address: host }], 0);
    expect(got.map(({ verdict }) => verdict)).toEqual(["ok"]);
  }
});

const openSite = async (args: readonly string[] = []) =>
  siteOf(await startSandboxHere({ cwd: tempFolder(), args: ["--quiet", ...args] }));

/** Functions that create orders, add endpoints, and list the deliveries of a sandbox. */
function siteOf(sandbox: Pick<SandboxProcess, "ready" | "port">) {
  const control = openControl(sandbox.port, sandbox.ready.data_dir ?? "");
  const target = { baseUrl: sandbox.ready.base_url, apiKey: apiKeyOf(sandbox), service: "", storeId: null };
  let created = 0;
  return {
    control,
    secret: sandbox.ready.signing_secret,
    addEndpoint: async (url: string): Promise<string> =>
      (await control.call("addEndpoint", { body: { url } })).id,
    /** Creates `count` orders, each of which is one event. */
    order: async (count: number): Promise<void> => {
      for (let index = 0; index < count; index += 1) {
        const key = `receivers-${(created += 1)}`;
        const body = JSON.stringify(purchase(key));
        const request = buildCreateRequest(target, { endpoint: "orders", key, body });
        const answer = await NETWORK.send({ ...request, timeoutMs: 60_000, maxResponseBytes: MEBIBYTE });
        expect(answer).toMatchObject({ ok: true, status: 201 });
      }
    },
    /** The deliveries to an endpoint once there are `count`, and each had `tries` attempts. */
    tried: (id: string, count: number, tries = 1): Promise<readonly DeliveryEntry[]> =>
      eventually(`endpoint ${id} has had its tries`, async () => {
        const { deliveries } = await control.call("listDeliveries", { body: { endpointId: id } });
        const ended = deliveries.map(
          ({ attempts }) => attempts.filter(({ finishedAt }) => finishedAt !== null).length,
        );
        expect(ended).toEqual(Array.from({ length: count }, () => tries));
        return deliveries;
      }),
  };
}

type Site = Awaited<ReturnType<typeof openSite>>;

async function addAll({ addEndpoint }: Site, rows: readonly Row[]): Promise<string[]> {
  const ids: string[] = [];
  for (const [, url] of rows) ids.push(await addEndpoint(url));
  return ids;
}

/** A correct receiver: it verifies, and accepts valid events. */
async function openGoodReceiver(secrets: string, host?: string) {
  const got: { readonly at: number; readonly verdict: string }[] = [];
  const url = await openHttpReceiver((request, response) => {
    void readBody(request).then((rawBody = Buffer.alloc(0)) => {
      const verdict = verifyWebhook({ rawBody, headers: request.rawHeaders, secrets, now: Date.now() });
      got.push({ at: performance.now(), verdict: verdict.ok ? "ok" : verdict.code });
      response.writeHead(verdict.ok ? 204 : 400).end();
    });
  }, host);
  return { url, got };
}

/** An address without a listener. */
async function vacantUrl(): Promise<string> {
  return `http://127.0.0.1:${await heldPort()}/hooks`;
}

/** Compares an attempt of a delivery with the expected attempt. */
function check(delivery: DeliveryEntry, [name, , expected]: Row, index: number): void {
  const { attempts, state, tries } = delivery;
  const attempt = attempts[index];
  const { status = null, error = null, answer = null, address } = expected;
  expect(
    {
      status: attempt?.status,
      error: attempt?.error,
      answer: attempt?.answer,
      address: attempt?.address,
      state,
      tries,
    },
    name,
  ).toEqual({
    status,
    error,
    answer,
    address: address === undefined ? LOOPBACK : address,
    state: expected.state ?? "due",
    tries: index + 1,
  });
  const next = attempt?.nextAt ?? null;
  expect(next === null, name).toBe(state !== "due");
  if (next === null) return;
  const wait = next - (attempt?.finishedAt ?? Number.NaN);
  const [least, most] = expected.waits ?? SECOND_ATTEMPT_WAIT_MS;
  expect(wait, name).toBeGreaterThanOrEqual(least);
  expect(wait, name).toBeLessThanOrEqual(most);
}

/** The memory, and the processor time in user mode, of a process; zeros without /proc. */
function usageOf(pid: number | undefined): { readonly memoryBytes: number; readonly processorMs: number } {
  if (!existsSync(`/proc/${pid}/status`)) return { memoryBytes: 0, processorMs: 0 };
  const [, kilobytes = ""] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  const [, ticks = ""] = /\)(?: \S+){11} (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
  return { memoryBytes: Number(kilobytes) * 1024, processorMs: Number(ticks) * 10 };
}
