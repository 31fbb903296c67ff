import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { serveHttp } from "../../src/web/server/serve.ts";
import type { HttpResponse, ServerLimits } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { startSandbox } from "../support/program.ts";
import { inOrder } from "../support/in-order.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LIMIT = 8;
const OK: HttpResponse = { status: 200, headers: {}, body: "ok" };
const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/**
 * Starts a server for LIMIT connections that answers `/held` when the test releases it; its clients end with the test.
 */
async function open(more: Partial<ServerLimits> = {}) {
  const held: (() => void)[] = [];
  const service = {
    answer: ({ target }: { readonly target: string }) =>
      target === "/held"
        ? new Promise<HttpResponse>((resolve) => held.push(() => resolve(OK)))
        : Promise.resolve(OK),
    refuse: ({ code }: { readonly code: string }) => ({ status: 400, headers: {}, body: code }),
  };
  const after = (milliseconds: number, run: () => void): void => void setTimeout(run, milliseconds).unref();
  const listening = await serveHttp(() => service, {
    port: 0,
    after,
    limits: { connections: LIMIT, ...more },
  });
  if (!listening.ok) throw new Error(listening.refusal.message);
  const { port, close } = listening.value;
  const clients: Client[] = [];
  onTestFinished(async () => {
    for (const { socket } of clients) socket.destroy();
    await close(0);
  });
  const client = async (text = ""): Promise<Client> => {
    const made = { socket: connect(port, "127.0.0.1"), got: "", isClosed: false };
    clients.push(made);
    made.socket.on("data", (chunk) => (made.got += String(chunk)));
    made.socket.on("close", () => (made.isClosed = true)).on("error", () => undefined);
    await once(made.socket, "connect");
    made.socket.write(text);
    return made;
  };
  return { held, client };
}

type Client = { readonly socket: Socket; got: string; isClosed: boolean };

const untilAnswered = (client: Client, times = 1): Promise<unknown> =>
  eventually("it is answered", () => expect(client.got.split("HTTP/1.1 200").length - 1).toBe(times));
const untilClosed = (client: Client): Promise<unknown> =>
  eventually("it is closed", () => expect(client.isClosed).toBe(true));

test("a new connection to a full server replaces the oldest connection with an incomplete head", async () => {
  const { client } = await open();
  const halves: Client[] = [];
  for (let count = 0; count < 3 * LIMIT; count += 1) halves.push(await client("GET / HTTP/1.1\r\nHost"));
  const whole = await client(REQUEST);
  await untilAnswered(whole);
  await untilClosed(halves.at(2 * LIMIT) ?? whole);
  expect(halves.map(({ isClosed }) => isClosed)).toEqual(halves.map((_, at) => at <= 2 * LIMIT));
  const last = halves.at(-1) ?? whole;
  last.socket.write(": x\r\n\r\n");
  await untilAnswered(last);
});

test("a full server closes connections with an incomplete head first, then idle connections, then those with an incomplete body, and keeps busy connections", async () => {
  const { client, held } = await open();
  const resting = await client(REQUEST);
  await untilAnswered(resting);
  const restingToo = await client(REQUEST);
  await untilAnswered(restingToo);
  const busy: Client[] = [];
  for (let count = 0; count < LIMIT - 3; count += 1)
    busy.push(await client("GET /held HTTP/1.1\r\nHost: x\r\n\r\n"));
  await eventually("they are worked on", () => expect(held).toHaveLength(LIMIT - 3));
  const body = await client(
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\na",
  );
  await eventually("its head was read", () => expect(body.got).toContain("HTTP/1.1 100"));
  const first = await client(REQUEST);
  await untilAnswered(first);
  await untilClosed(resting);
  expect(restingToo.isClosed).toBe(false);
  const second = await client("GET / HT");
  await untilClosed(restingToo);
  const third = await client("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  await untilClosed(second);
  await eventually("it is worked on", () => expect(held).toHaveLength(LIMIT - 2));
  const fourth = await client("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  await untilClosed(first);
  await eventually("it is worked on", () => expect(held).toHaveLength(LIMIT - 1));
  const fifth = await client("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  await untilClosed(body);
  await eventually("it is worked on", () => expect(held).toHaveLength(LIMIT));
  await untilClosed(await client(REQUEST));
  for (const answer of held) answer();
  for (const one of [...busy, third, fourth, fifth]) await untilAnswered(one);
});

test("requests whose bodies never arrive do not block other clients, whether they are sent alone or pipelined", async () => {
  const { client } = await open();
  const withoutBody = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n";
  for (const text of [withoutBody, REQUEST + withoutBody]) {
    for (let count = 0; count < LIMIT; count += 1) {
      const waiting = await client(text);
      await eventually("its head was read", () => expect(waiting.got).toContain("HTTP/1.1 100"));
    }
    const whole = await client(REQUEST);
    await untilAnswered(whole);
    expect(whole.got).toContain("HTTP/1.1 200");
  }
});

test("a server can accept larger request headers under some paths", async () => {
  const { client } = await open({ largerHeads: { paths: ["/pages"], headBytes: 64 * 1024 } });
  const ask = async (target: string, bytes: number): Promise<string> => {
    const asked = await client(
      `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: ${"a".repeat(bytes)}\r\n\r\n`,
    );
    await untilClosed(asked);
    return asked.got.replace(/^HTTP\/1.1 (\d+)[\s\S]*\r\n\r\n/, "$1 ");
  };
  for (const target of ["/pages", "/pages/a", "/pages?a=1"]) {
    expect([target, await ask(target, 60_000)]).toEqual([target, "200 ok"]);
    expect([target, await ask(target, 70_000)]).toEqual([target, "400 headers_too_large"]);
  }
  for (const target of ["/pagesa", "/v1/orders", "//pages", "/%70ages"]) {
    expect([target, await ask(target, 16_000)]).toEqual([target, "200 ok"]);
    expect([target, await ask(target, 17_000)]).toEqual([target, "400 headers_too_large"]);
  }
  expect(await ask("/pages", 300_000)).toBe("400 headers_too_large");
});

test("cookies of other programs do not block the portal, and a request with too many cookies gets a page with the remedy", async () => {
  const { ready } = await startSandbox({ cwd: tempFolder() });
  const { port } = new URL(ready.base_url);
  const ask = async (path: string, cookieBytes: number, accept: string): Promise<string> => {
    const socket = connect(Number(port), "127.0.0.1");
    const head = [
      `GET ${path} HTTP/1.1`,
      `Host: localhost:${port}`,
      `Accept: ${accept}`,
      "Connection: close",
    ];
    socket.write([...head, `Cookie: other=${"c".repeat(cookieBytes)}`, "", ""].join("\r\n"));
    let got = "";
    socket.on("data", (chunk) => (got += String(chunk)));
    await once(socket, "close");
    return got;
  };
  for (const path of [
    "/portal",
    new URL(ready.portal_url ?? "").pathname,
    "/pay/0199a3c4-5d00-7000-8000-000000000001",
  ]) {
    expect(await ask(path, 40_000, "text/html")).toMatch(/^HTTP\/1.1 (200|307|401|404) /);
    const page = await ask(path, 100_000, "text/html,*/*;q=0.8");
    expect(page).toMatch(/^HTTP\/1.1 431[\s\S]*Content-Type: text\/html/);
    expect(page).toMatch(inOrder("localhost", "127.0.0.1"));
    expect(await ask(path, 100_000, "*/*")).toMatch(/^HTTP\/1.1 431[\s\S]*"headers_too_large"/);
  }
  expect(await ask("/v1/orders", 17_000, "text/html")).toMatch(/^HTTP\/1.1 431[\s\S]*16384 bytes/);
});
