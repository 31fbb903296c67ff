import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { serveHttp } from "../../src/web/server/serve.ts";
import type { HttpBody, Listener } from "../../src/world.ts";
import { createHarness } from "../support/harness.ts";
import { eventually } from "../support/eventually.ts";

const SILENCE_MS = 500;
const CHUNK = 64 * 1024;
const GRACE_MS = 20_000;

/** A stream whose chunks the test pushes. It records the server's reads, and whether the server closed it. */
function createStream() {
  const waiting: ((step: IteratorResult<Uint8Array>) => void)[] = [];
  const ready: IteratorResult<Uint8Array>[] = [];
  const state = { asked: 0, returned: false };
  const put = (step: IteratorResult<Uint8Array>): void => {
    const reader = waiting.shift();
    if (reader === undefined) ready.push(step);
    else reader(step);
  };
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        state.asked += 1;
        const step = ready.shift();
        return step === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(step);
      },
      return: () => {
        state.returned = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  return {
    body,
    state,
    push: (text: string): void => put({ done: false, value: Buffer.from(text) }),
    end: (): void => put({ done: true, value: undefined }),
  };
}

async function serveBody(body: HttpBody, before = async (): Promise<void> => undefined): Promise<Listener> {
  const answer = async () => {
    await before();
    return { status: 200, headers: {}, body };
  };
  const service = { answer, refuse: () => notRead };
  const options = {
    port: 0,
    limits: { bodyBytes: 1024, connections: 10, silenceMs: SILENCE_MS },
    after: (ms: number, run: () => void): void => void setTimeout(ms).then(run),
  };
  const listening = await serveHttp(() => service, options);
  if (!listening.ok) throw new Error(listening.refusal.message);
  onTestFinished(() => listening.value.close(0));
  return listening.value;
}
const notRead = { status: 400, headers: {}, body: "" };

async function open(port: number): Promise<IncomingMessage> {
  const [response] = (await once(get({ port, host: "127.0.0.1" }), "response")) as [IncomingMessage];
  return response;
}

test("a streamed answer is sent as its source produces it, and ends with its source", async () => {
  const stream = createStream();
  const { port } = await serveBody(stream.body);
  const response = await open(port);
  expect(response.headers["content-length"]).toBeUndefined();
  for (const text of ["one", "two"]) {
    stream.push(text);
    expect(String((await once(response, "data"))[0])).toBe(text);
  }
  stream.end();
  await once(response.resume(), "end");
  expect(response.complete).toBe(true);
});

test("a streamed answer is not aborted if its source is silent for longer than the timeout for readers", async () => {
  const stream = createStream();
  const { port } = await serveBody(stream.body);
  const response = await open(port);
  await setTimeout(SILENCE_MS * 2);
  stream.push("late");
  expect(String((await once(response, "data"))[0])).toBe("late");
  stream.end();
  await once(response.resume(), "end");
});

test("a reader that disconnects ends the stream", async () => {
  const stream = createStream();
  const { port } = await serveBody(stream.body);
  (await open(port)).destroy();
  await eventually("the stream is told that nobody reads it", () => expect(stream.state.returned).toBe(true));
  expect(stream.state.asked).toBe(1);
});

test("a reader that disconnects before the answer begins ends the stream", async () => {
  const stream = createStream();
  let makeAnswer = (): void => undefined;
  const asked = new Promise<void>((resolve) => (makeAnswer = resolve));
  let isAsked = false;
  const { port } = await serveBody(stream.body, async () => {
    isAsked = true;
    await asked;
  });
  const request = get({ port, host: "127.0.0.1" }).on("error", () => undefined);
  await eventually("the request is there", () => expect(isAsked).toBe(true));
  request.destroy();
  // Gives the server time to notice that the reader has left, before the answer begins.
  await setTimeout(SILENCE_MS);
  makeAnswer();
  stream.push("too late");
  await eventually("the stream is told that nobody reads it", () => expect(stream.state.returned).toBe(true));
  expect(stream.state.returned).toBe(true);
});

test("a reader that reads nothing is disconnected after the timeout", async () => {
  let made = 0;
  let ended = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        made += 1;
        yield new Uint8Array(CHUNK);
        await setImmediate();
      }
    } finally {
      ended = true;
    }
  }
  const { port } = await serveBody(endless());
  const socket = connect(port, "127.0.0.1").pause();
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await eventually("the stream of a reader that takes nothing ends", () => expect(ended).toBe(true));
  // The buffers of the socket take some chunks, but the server does not make all chunks that it could make meanwhile.
  expect(made * CHUNK).toBeLessThan(64 * 1024 * 1024);
});

test("a failing stream aborts its answer, so that no reader takes the body for complete", async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    throw new Error("the rest cannot be read");
  }
  const { port } = await serveBody(failing());
  const response = await open(port);
  const cut = once(response, "error");
  response.resume();
  expect(String((await cut)[0])).toContain("aborted");
  expect(response.complete).toBe(false);
  expect((await open(port)).statusCode).toBe(200);
});

test("closing the server waits for a stream that ends within the grace period", async () => {
  const stream = createStream();
  const { port, close } = await serveBody(stream.body);
  const response = await open(port);
  const stopped = close(GRACE_MS);
  stream.push("last words");
  stream.end();
  const chunks: unknown[] = [];
  response.on("data", (chunk) => chunks.push(String(chunk)));
  await Promise.all([once(response, "end"), stopped]);
  expect([chunks.join(""), response.complete]).toEqual(["last words", true]);
});

test("closing the server aborts an endless stream and ends its source", async () => {
  const stream = createStream();
  const { port, close } = await serveBody(stream.body);
  const response = await open(port);
  const cut = once(response.resume(), "error");
  await close(50);
  expect(String((await cut)[0])).toContain("aborted");
  await eventually("the stream is told that the server stopped", () =>
    expect(stream.state.returned).toBe(true),
  );
});

test("a HEAD request reads nothing from a stream", async () => {
  const stream = createStream();
  const { port } = await serveBody(stream.body);
  const request = get({ port, host: "127.0.0.1", method: "HEAD" });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  await once(response.resume(), "end");
  expect(stream.state).toEqual({ asked: 0, returned: true });
});

test("the test harness reads a whole streamed body", async () => {
  const harness = createHarness();
  const stream = createStream();
  const answer = async () => ({ status: 200, headers: {}, body: stream.body });
  harness.occupy(4711, { answer, refuse: () => notRead });
  stream.push("a");
  stream.push("b");
  stream.end();
  const read = await harness.send({ method: "GET", url: "http://127.0.0.1:4711/", headers: {} });
  expect(read).toMatchObject({ ok: true, body: "ab" });
});
