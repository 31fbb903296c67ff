import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import type { OutboundResult } from "../../src/world.ts";
import { NETWORK } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { listenUntilEnd } from "../support/http-receiver.ts";

/** Complete answers: their bytes, status and body. */
const WHOLE = {
  "204": ["HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
  "204 that announces a body": ["HTTP/1.1 204 No Content\r\nContent-Length: 11\r\n\r\n", 204, ""],
  "204 that closes": ["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", 204, ""],
  "200 of length 0": ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""],
  "200 of length 1": ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\no", 200, "o"],
  "200 in chunks": ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, "ok"],
  "202 of HTTP/1.0": ["HTTP/1.0 202 Accepted\r\nContent-Length: 2\r\n\r\nok", 202, "ok"],
  "304": ["HTTP/1.1 304 Not Modified\r\n\r\n", 304, ""],
  "500 of length 2": ["HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", 500, "no"],
} as const;

/** Bytes after a complete answer. */
const TAILS: Readonly<Record<string, string | Buffer>> = {
  "a JSON body": '{"ok":true}',
  "one byte": "k",
  "a page": "<!DOCTYPE html><title>shop</title>",
  "line breaks and text": "\r\n\r\nok",
  "an end of chunks": "0\r\n\r\n",
  "another answer": "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno",
  "an answer of an old version": "HTTP/0.9 500 No\r\n\r\n",
  "a status line alone": "HTTP/1.1 abc\r\n",
  "zero bytes": Buffer.alloc(16),
  "bytes of TLS": Buffer.from("15030300020228", "hex"),
  "64 KB": "x".repeat(65_536),
};

/** Whether the tail comes together with the answer or after it. */
const WAYS = ["together", "apart"] as const;

type Row = {
  readonly name: string;
  readonly answer: (socket: Socket) => void;
  readonly wanted: readonly [number, string];
  /**
   * `fresh` for answers whose connection ends, because a kept connection may already be reset when it is used. Default:
   * kept.
   */
  readonly connection?: "kept" | "fresh";
};

const TAILED: readonly Row[] = Object.entries(WHOLE).flatMap(([head, [bytes, status, body]]) =>
  Object.entries(TAILS).flatMap(([tail, rest]) =>
    WAYS.map((way) => ({
      name: `${head}, then ${tail} ${way}`,
      wanted: [status, body] as const,
      answer: (socket: Socket) => {
        if (way === "together")
          return void socket.write(Buffer.concat([Buffer.from(bytes), Buffer.from(rest)]));
        socket.write(bytes, () => void socket.write(rest));
      },
    })),
  ),
);

/** Answers that are followed by the end or a reset of the connection, which also ends a body without a length. */
const ENDED: readonly Row[] = [
  ...Object.entries(WHOLE),
  ["200 without a length", ["HTTP/1.1 200 OK\r\n\r\nok", 200, "ok"]] as const,
  ["200 of HTTP/1.0 without a length", ["HTTP/1.0 200 OK\r\nServer: php\r\n\r\nok", 200, "ok"]] as const,
  ["201 without a length or a body", ["HTTP/1.1 201 Created\r\n\r\n", 201, ""]] as const,
].flatMap(([head, [bytes, status, body]]) => [
  {
    name: `${head}, then an end`,
    wanted: [status, body] as const,
    connection: "fresh" as const,
    answer: (socket: Socket) => void socket.end(bytes),
  },
  {
    name: `${head}, then a reset`,
    wanted: [status, body] as const,
    connection: "fresh" as const,
    answer: (socket: Socket) => void socket.write(bytes, () => socket.resetAndDestroy()),
  },
]);

/** Answers that are not complete when their connection ends. */
const CUT: readonly (readonly [string, string | Buffer, string])[] = [
  ["a status line alone", "HTTP/1.1 200 OK\r\n", "connection_lost"],
  ["half a head", "HTTP/1.1 200 OK\r\nContent-Le", "connection_lost"],
  ["a body that is too short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "connection_lost"],
  ["an announced body that is missing", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "connection_lost"],
  [
    "chunks without an end",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
    "connection_lost",
  ],
  ["half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", "connection_lost"],
  ["a chunk without a size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nok\r\n", "bad_answer"],
  ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", "bad_answer"],
  ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n", "bad_answer"],
  ["nothing", "", "connection_lost"],
];

async function open(answer: Row["answer"]) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("data", () => answer(socket)).on("error", () => undefined);
  });
  const port = await listenUntilEnd(server);
  return { url: `http://127.0.0.1:${port}/hooks`, sockets };
}

function post(url: string, connection: Row["connection"] = "kept"): Promise<OutboundResult> {
  return NETWORK.send({
    method: "POST",
    url,
    headers: { "Content-Type": "application/json" },
    body: "{}",
    timeoutMs: 20_000,
    maxResponseBytes: 4096,
    oversize: "cut",
    addresses: ["127.0.0.1"],
    connection,
  });
}

const shown = (result: OutboundResult) =>
  result.ok ? [result.status, result.body] : [result.failure, result.message];

test(`a complete answer is accepted whatever bytes follow, and the connection is not reused (${TAILED.length + ENDED.length} cases)`, async () => {
  expect(TAILED.length).toBeGreaterThan(40);
  for (const { name, answer, wanted, connection } of [...TAILED, ...ENDED]) {
    const { url, sockets } = await open(answer);
    for (let count = 1; count <= 2; count += 1) {
      expect([name, ...shown(await post(url, connection))]).toEqual([name, ...wanted]);
      await eventually(`${name}: it is closed`, () =>
        expect(sockets.map(({ destroyed }) => destroyed)).toEqual(Array.from({ length: count }, () => true)),
      );
    }
  }
});

test("an answer that is incomplete when its connection ends is a failure", async () => {
  for (const [name, bytes, failure] of CUT)
    for (const end of ["end", "reset"] as const) {
      const { url } = await open((socket) =>
        end === "end" ? void socket.end(bytes) : void socket.write(bytes, () => socket.resetAndDestroy()),
      );
      const result = await post(url);
      expect([name, end, result]).toMatchObject([name, end, { ok: false, failure }]);
    }
});

test("an answer with a body without a length is a failure if its connection is still open at the timeout", async () => {
  const { url } = await open((socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\nok"));
  const result = await NETWORK.send({
    method: "POST",
    url,
    headers: {},
    body: "{}",
    timeoutMs: 50,
    maxResponseBytes: 4096,
  });
  expect(result).toMatchObject({ ok: false, failure: "aborted" });
});
