import { createServer, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import type { OutboundRequest, OutboundResult } from "../../src/world.ts";
import { NETWORK } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { listenUntilEnd } from "../support/http-receiver.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Answers a request on a raw socket, by the number of its connection and of the request on it. */
type Manner = (socket: Socket, connection: number, request: number) => void;

/** Opens a receiver on an address, and counts its connections. */
async function open(manner: Manner, at: { host?: string; port?: number } = {}) {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    const connection = sockets.push(socket);
    let requests = 0;
    socket.on("data", () => manner(socket, connection, (requests += 1))).on("error", () => undefined);
  });
  const port = await listenUntilEnd(server, at.host, at.port);
  return { port, url: `http://127.0.0.1:${port}/hooks`, sockets };
}

function post(url: string, more: Partial<OutboundRequest> = {}): Promise<OutboundResult> {
  return NETWORK.send({
    method: "POST",
    url,
    headers: { "Content-Type": "application/json" },
    body: "{}",
    timeoutMs: 60_000,
    maxResponseBytes: 4096,
    oversize: "cut",
    addresses: ["127.0.0.1"],
    connection: "kept",
    ...more,
  });
}

test("the HTTP client reuses a connection for the next request, unless a new connection is requested", async () => {
  const { url, sockets } = await open((socket) => void socket.write(OK));
  for (let count = 0; count < 5; count += 1)
    expect(await post(url)).toMatchObject({ ok: true, status: 200, body: "ok", address: "127.0.0.1" });
  expect(sockets).toHaveLength(1);
  expect(await post(url, { connection: "fresh" })).toMatchObject({ ok: true, status: 200 });
  expect(sockets).toHaveLength(2);
  await post(url);
  expect(sockets).toHaveLength(2);
  await post(url, { connection: undefined });
  await post(url, { connection: undefined });
  expect(sockets).toHaveLength(4);
});

test("the HTTP client splits a body within a character, and sends the second part only after awaitBetweenParts", async () => {
  let arrived = Buffer.alloc(0);
  const server = createServer((socket) => {
    socket.on("data", (part: Buffer) => {
      arrived = Buffer.concat([arrived, part]);
      if (arrived.at(-1) === 0xa9) socket.write(OK);
    });
  });
  const url = `http://127.0.0.1:${await listenUntilEnd(server)}/hooks`;
  const awaitBetweenParts = async (): Promise<void> => {
    await eventually("the first part has arrived", () => expect(arrived.at(-1)).toBe(0xc3));
  };
  expect(await post(url, { body: "x\u00e9", awaitBetweenParts })).toMatchObject({ ok: true, status: 200 });
  expect(arrived.toString("utf8")).toMatch(/\r\nContent-Length: 3\r\n[^]*\r\n\r\nx\u00e9$/);
});

test("the HTTP client closes an idle connection before the server would close the connection", async () => {
  const { url, sockets } = await open((socket) => void socket.write(OK));
  await post(url);
  await eventually("it is closed", () => expect(sockets[0]?.destroyed).toBe(true));
});

test("the failure of a lost connection says whether the connection was reused", async () => {
  const drops: Manner = (socket, _connection, request) =>
    void (request === 1 ? socket.write(OK) : socket.destroy());
  const { url } = await open(drops);
  expect(await post(url)).toMatchObject({ ok: true });
  expect(await post(url)).toMatchObject({ ok: false, failure: "connection_lost", wasReused: true });
  expect(await post(url)).toMatchObject({ ok: true });
  const never = await open((socket) => void socket.destroy());
  expect(await post(never.url)).toMatchObject({ ok: false, failure: "connection_lost", wasReused: false });
});

test("bytes after an answer are never taken for the answer to the next request", async () => {
  const stray = "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno";
  // The stray bytes come with the answer, or after the answer on the idle connection.
  const together = await open((socket) => void socket.write(OK + stray));
  const nonsense = await open((socket) => void socket.write(`${OK}\r\n\r\nnonsense`));
  const said: Socket[] = [];
  const later = await open((socket) => {
    socket.write(OK);
    said.push(socket);
  });
  for (let count = 0; count < 4; count += 1) {
    expect(await post(together.url)).toMatchObject({ ok: true, status: 200, body: "ok" });
    expect(await post(nonsense.url)).toMatchObject({ ok: true, status: 200, body: "ok" });
    expect(await post(later.url)).toMatchObject({ ok: true, status: 200, body: "ok" });
    const socket = said.at(-1);
    socket?.write(stray);
    await eventually("it is closed", () => expect(socket?.destroyed).toBe(true));
  }
  for (const { sockets } of [together, nonsense, later]) expect(sockets).toHaveLength(4);
});

test("a connection whose answer was too large or too late is not reused", async () => {
  const large = "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n".padEnd(6000, "x");
  const flood = await open((socket) => void socket.write(large));
  for (let count = 0; count < 3; count += 1)
    expect(await post(flood.url)).toMatchObject({ ok: true, status: 200 });
  expect(flood.sockets).toHaveLength(3);
  const late = await open((socket, connection) => void (connection > 1 && socket.write(OK)));
  expect(await post(late.url, { timeoutMs: 50 })).toMatchObject({ ok: false, failure: "aborted" });
  expect(await post(late.url)).toMatchObject({ ok: true });
  expect(late.sockets).toHaveLength(2);
});

test("the HTTP client does not reuse connections of a host name that now resolves to another address", async () => {
  const name =
    (host: string): Manner =>
    (socket) =>
      void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${host.length}\r\n\r\n${host}`);
  const first = await open(name("127.0.0.1"), { host: "127.0.0.1" });
  await open(name("127.0.0.2"), { host: "127.0.0.2", port: first.port });
  const url = `http://shop.example:${first.port}/hooks`;
  for (const address of ["127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"])
    expect(await post(url, { addresses: [address] })).toMatchObject({ ok: true, body: address, address });
});
