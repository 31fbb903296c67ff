import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { serveHttp } from "../../src/web/server/serve.ts";
import type { HttpRequest, HttpResponse } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";

/** The number of unanswered requests that one connection may have. */
const PIPELINED = 128;
/** The number of requests handled at once, plus generous room for answers of 1 MiB in the system's buffers. */
const LITTLE = 40;
const MIB = 1024 * 1024;
/** The path of requests on other connections. */
const ASIDE = "/aside";

/** A server whose answers come from a function, and a client that has sent requests and reads nothing yet. */
async function flood(count: number, answer: (target: string) => Promise<HttpResponse>) {
  const asked: string[] = [];
  const service = {
    answer: ({ target }: HttpRequest) => {
      if (target === ASIDE) return Promise.resolve({ status: 200, headers: {}, body: "" });
      asked.push(target);
      return answer(target);
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  };
  const after = (milliseconds: number, run: () => void): void => void setTimeout(run, milliseconds);
  const listening = await serveHttp(() => service, { port: 0, after });
  if (!listening.ok) throw new Error(listening.refusal.message);
  const { port, close } = listening.value;
  const socket = connect(port, "127.0.0.1").pause();
  onTestFinished(async () => {
    socket.destroy();
    await close(0);
  });
  const requests = Array.from({ length: count }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: x\r\n\r\n`);
  socket.write(requests.join(""));
  /** Returns when another connection has its answers: by then all earlier requests have been read. */
  const readAllBefore = async (): Promise<void> => {
    for (let times = 0; times < 3; times += 1) await fetch(`http://127.0.0.1:${port}${ASIDE}`);
  };
  return { asked, socket, readAllBefore };
}

/** Starts reading. Returns a function that returns the answers so far. */
function read(socket: Socket): () => { readonly answers: readonly string[]; readonly bytes: number } {
  const answers: string[] = [];
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    // Most chunks are the inside of a large body.
    if (!chunk.includes("X-At: ")) return;
    answers.push(...[...chunk.toString("latin1").matchAll(/X-At: (\S+)/g)].map(([, at = ""]) => at));
  });
  socket.resume();
  return () => ({ answers, bytes });
}

function large(target: string): Promise<HttpResponse> {
  return Promise.resolve({ status: 200, headers: { "X-At": target }, body: Buffer.alloc(MIB, "x") });
}

test("a client that reads no answers has few requests handled, and gets all answers in order once it reads", async () => {
  const { asked, socket } = await flood(PIPELINED, large);
  await eventually("it has begun", () => expect(asked.length).toBeGreaterThan(0));
  let before = -1;
  await eventually("nothing more is begun", () => {
    const now = asked.length;
    const stands = now === before;
    before = now;
    expect(stands).toBe(true);
  });
  expect(asked.length).toBeLessThan(LITTLE);
  const got = read(socket);
  await eventually("all are read", () => expect(got().bytes).toBeGreaterThan(PIPELINED * MIB));
  expect(asked).toEqual(Array.from({ length: PIPELINED }, (_, at) => `/${at}`));
});

test("pipelined requests are handled at most eight at a time", async () => {
  let working = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const { asked, socket } = await flood(PIPELINED, async (target) => {
    working += 1;
    most = Math.max(most, working);
    await new Promise<void>((resolve) => ends.push(resolve));
    working -= 1;
    return { status: 200, headers: { "X-At": target }, body: "" };
  });
  const got = read(socket);
  await eventually("all are answered", () => {
    // The last answer first: a finished answer waits for earlier answers.
    ends
      .splice(0)
      .toReversed()
      .forEach((end) => end());
    expect(got().answers).toHaveLength(PIPELINED);
  });
  expect(most).toBeLessThanOrEqual(8);
  expect(got().answers).toEqual(asked);
});

test("pipelined requests that still wait when their client disconnects are not handled", async () => {
  const ends: (() => void)[] = [];
  const { asked, socket, readAllBefore } = await flood(PIPELINED, async (target) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return { status: 200, headers: { "X-At": target }, body: "" };
  });
  await eventually("it has begun", () => expect(asked.length).toBeGreaterThan(0));
  socket.resetAndDestroy();
  await readAllBefore();
  ends.splice(0).forEach((end) => end());
  await readAllBefore();
  expect(asked.length).toBeLessThanOrEqual(8);
});

test("a connection with more than 128 pipelined requests is closed", async () => {
  const ends: (() => void)[] = [];
  const { socket, readAllBefore } = await flood(PIPELINED + 1, async (target) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return { status: 200, headers: { "X-At": target }, body: "" };
  });
  let closed = false;
  socket.on("error", () => undefined).on("close", () => (closed = true));
  const got = read(socket);
  await readAllBefore();
  // A server that accepts the excess request answers now, so that the test does not wait forever.
  await eventually("it is closed, or all is answered", () => {
    ends.splice(0).forEach((end) => end());
    expect(closed || got().answers.length > PIPELINED).toBe(true);
  });
  expect([closed, got().answers.includes(`/${PIPELINED}`)]).toEqual([true, false]);
});

test("pipelined requests after a request whose answer closes the connection are not handled", async () => {
  const { asked, socket, readAllBefore } = await flood(0, large);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).resume();
  const bad = "POST /bad\r\nHost: x\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n{}";
  socket.write(`${bad}GET /behind HTTP/1.1\r\nHost: x\r\n\r\nGET /last HTTP/1.1\r\nHost: x\r\n\r\n`);
  await new Promise((resolve) => socket.on("close", resolve));
  await readAllBefore();
  expect([text.split("\r\n")[0], asked]).toEqual(["HTTP/1.1 400 Bad Request", []]);
});
