import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  BAD_REQUESTS,
  MISPLACED_KEYS,
  SLOW_REQUESTS,
  WRONG_FROM_SCOPE_ON,
  WRONG_IN_SEVERAL_WAYS,
  type Change,
  type Row,
} from "./bad-requests.table.ts";
import {
  createGood,
  judge,
  openSite,
  readAnswers,
  render,
  rowCounts,
  send,
} from "../support/raw-requests.ts";
import type { RowCounts, Site } from "../support/raw-requests.ts";
import { startSandbox, startSandboxHere } from "../support/program.ts";

const LIMITED_REQUESTS = 50;
const PIECE_BYTES = 8 * 1024;
const PIECES = 8;
const CRLF = Buffer.from("\r\n");

test("every kind of bad request gets the expected refusal and leaves no trace", async () => {
  expect(BAD_REQUESTS.length).toBeGreaterThanOrEqual(110);
  expect(new Set(BAD_REQUESTS.map(([name]) => name)).size).toBe(BAD_REQUESTS.length);
  const site = await openSite(startSandbox);
  const before = rowCounts(site);
  // The slow requests take up to 10 s; all other requests are answered meanwhile.
  const slow = Promise.all(SLOW_REQUESTS.map((row, index) => check(site, row, 900 + index)));
  const faults = [...(await checkAll(site, BAD_REQUESTS)), ...(await slow)].filter(Boolean);
  expect(faults).toEqual([]);
  await expectUnharmed(site, before);
  expect(site.sandbox.process.exitCode).toBeNull();
});

test("a request with several mistakes is refused for the mistake that decision 3 checks first", async () => {
  const site = await openSite(startSandboxHere);
  const before = rowCounts(site);
  const faults = await checkAll(site, WRONG_IN_SEVERAL_WAYS);
  expect(faults).toEqual([]);
  await expectUnharmed(site, before);
});

test("the rate limit is checked after the credential and before the scope", async () => {
  const site = await openSite(startSandboxHere, ["--rate-limit", "1/s"]);
  const before = rowCounts(site);
  const [, refusedOtherwise, change] = WRONG_FROM_SCOPE_ON;
  const request = render(site, keepAlive(change), 1);
  const unknownKey = { headers: { Authorization: ["Bearer {unknownKey}"] } };
  // All requests are sent at once, so that the bucket of the rate limit has no time to fill again.
  const bytes = [...Array<Buffer>(LIMITED_REQUESTS).fill(request), render(site, unknownKey, 2)];
  const answers = readAnswers(await send(site, Buffer.concat(bytes), false), "POST");
  const verdicts = answers.map((answer) => judge(site, answer, "POST"));
  expect(verdicts.at(-1)).toBe("401 credential_invalid");
  const limited = verdicts.filter((verdict) => verdict === "429 rate_limited");
  const passed = verdicts.filter((verdict) => verdict === refusedOtherwise);
  expect(limited.length + passed.length).toBe(LIMITED_REQUESTS);
  expect(passed.length).toBeGreaterThanOrEqual(2);
  expect(limited.length).toBeGreaterThan(LIMITED_REQUESTS / 2);
  const retryAfter = answers
    .filter(({ status }) => status === 429)
    .map(({ headers }) => headers.get("retry-after"));
  expect(new Set(retryAfter)).toEqual(new Set(["1"]));
  expect(rowCounts(site)).toEqual(before);
});

test("clients that disconnect in the middle of a request leave no trace", async () => {
  const site = await openSite(startSandboxHere);
  const before = rowCounts(site);
  const whole = render(site, {}, 1);
  for (let length = 1; length < whole.length; length += 7) await hangUp(site, whole.subarray(0, length));
  expect(rowCounts(site)).toEqual(before);
  await expectUnharmed(site, before);
});

test("a refusal reaches a client that sends its whole body before it reads the answer", async () => {
  const site = await openSite(startSandboxHere);
  const before = rowCounts(site);
  const piece = Buffer.alloc(PIECE_BYTES, " ");
  const sized = { "Content-Length": [String(PIECE_BYTES * PIECES)] };
  const chunked = { "Content-Length": [], "Transfer-Encoding": ["chunked"] };
  const rows: readonly (readonly [string, string, Change])[] = [
    ["a declared size", "413 body_too_large", { headers: sized }],
    ["chunks", "413 body_too_large", { headers: chunked }],
    ["a coding", "400 invalid_request", { headers: { ...chunked, "Transfer-Encoding": ["gzip, chunked"] } }],
    ["an old version", "400 invalid_request", { line: "POST /v1/orders HTTP/1.2", headers: sized }],
    ["an expectation", "400 invalid_request", { headers: { ...sized, Expect: ["a miracle"] } }],
    ["HEAD", "413 without a body", { line: "HEAD /healthz HTTP/1.1", headers: sized }],
  ];
  const got = rows.map(async ([name, , change]) => {
    const isChunked = change.headers?.["Transfer-Encoding"] !== undefined;
    const part = isChunked
      ? Buffer.concat([Buffer.from(`${PIECE_BYTES.toString(16)}\r\n`), piece, CRLF])
      : piece;
    const parts = [render(site, { ...change, body: "" }, 1), ...Array<Buffer>(PIECES).fill(part)];
    const method = change.line?.split(" ")[0] ?? "POST";
    return [name, describeAnswers(site, await sendBeforeReading(site, parts), method)];
  });
  expect(await Promise.all(got)).toEqual(rows.map(([name, expected]) => [name, expected]));
  await expectUnharmed(site, before);
});

test("invalid bytes after a request do not prevent its answer", async () => {
  const site = await openSite(startSandboxHere);
  const before = rowCounts(site);
  const bytes = Buffer.concat([render(site, keepAlive({}), 1), Buffer.from("GARBAGE\r\n\r\n")]);
  const answers = readAnswers(await send(site, bytes, false), "POST");
  // Commits are in the order of arrival: when this create is answered, the earlier order is on disk too.
  await createGood(site, { fields: { order_id: "good-order" } });
  const created = rowCounts(site).checkouts - before.checkouts - 1;
  expect({ created, answers: answers.map(({ status }) => status) }).toEqual({
    created: 1,
    answers: [201, 400],
  });
});

test("an API key in the wrong place is not logged", async () => {
  const site = await openSite(startSandboxHere);
  for (const change of MISPLACED_KEYS) {
    const [answer] = readAnswers(await send(site, render(site, change, 1), false), "POST");
    expect(answer?.status).toBeGreaterThanOrEqual(400);
  }
  expect(await site.sandbox.stop()).toBe(0);
  const { stderr } = site.sandbox.output;
  expect(stderr).toContain("idempotency_key_invalid");
  expect(stderr.split("\n").filter((logged) => logged.includes(site.words["apiKey"] ?? "?"))).toEqual([]);
});

/** Sends rows one after the other; returns a line for each unexpected answer. */
async function checkAll(site: Site, rows: readonly Row[]): Promise<string[]> {
  const faults: string[] = [];
  for (const [index, row] of rows.entries()) {
    const fault = await check(site, row, index + 1);
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
}

async function check(site: Site, [name, expected, change]: Row, number: number): Promise<string | undefined> {
  const bytes = render(site, change, number);
  const method = change.line?.trimStart().split(" ")[0] ?? "POST";
  const received = await send(site, bytes, change.halfClosed === true);
  const got = describeAnswers(site, received, method);
  return got === expected ? undefined : `${name}: expected ${expected}; got ${got}`;
}

/** The verdicts of the received answers, or the error that makes them invalid HTTP or invalid envelopes. */
function describeAnswers(site: Site, received: Buffer, method: string): string {
  try {
    const answers = readAnswers(received, method);
    return answers.length === 0
      ? "no answer"
      : answers.map((answer) => judge(site, answer, method)).join(", then ");
  } catch (error) {
    return `${String(error)} in ${JSON.stringify(received.toString("latin1").slice(0, 400))}`;
  }
}

/** Sends the parts one after the other, so that each arrives by itself, and reads the answer after the last part. */
async function sendBeforeReading({ sandbox }: Site, parts: readonly Uint8Array[]): Promise<Buffer> {
  const socket = connect({ host: "127.0.0.1", port: sandbox.port, noDelay: true }).pause();
  // A connection error is ignored here: an incomplete answer is reported with its missing part.
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => void socket.once("close", resolve));
  for (const part of parts) {
    socket.write(part);
    await setTimeout(40);
  }
  const received: Uint8Array[] = [];
  socket.on("data", (bytes: Uint8Array) => received.push(bytes)).resume();
  await closed;
  return Buffer.concat(received);
}

/** Sends bytes and resets the connection at once. */
async function hangUp({ sandbox }: Site, bytes: Uint8Array): Promise<void> {
  const socket = connect({ host: "127.0.0.1", port: sandbox.port });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  await new Promise((resolve) => socket.write(bytes, resolve));
  socket.resetAndDestroy();
}

function keepAlive(change: Change): Change {
  return { ...change, headers: { ...change.headers, Connection: ["keep-alive"] } };
}

/** Checks that the database is unchanged, that all request_ids differ, and that the sandbox still works. */
async function expectUnharmed(site: Site, before: RowCounts): Promise<void> {
  expect(rowCounts(site)).toEqual(before);
  expect(new Set(site.requestIds).size).toBe(site.requestIds.length);
  await createGood(site, { fields: { order_id: "good-order" } });
  const { checkouts, keys, events } = before;
  expect(rowCounts(site)).toEqual({ checkouts: checkouts + 1, keys: keys + 1, events: events + 1 });
}
