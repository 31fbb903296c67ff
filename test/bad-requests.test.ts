import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { API_KEY_RANDOM_BYTES, formatTestKey, hashKey, SCOPES, type Scope } from "../src/core/credential.ts";
import { capabilitiesTable } from "../src/store/capabilities.ts";
import { credentialsTable } from "../src/store/credentials.ts";
import { storesTable } from "../src/store/stores.ts";
import {
  BAD_REQUESTS,
  MISPLACED_KEYS,
  SEED,
  SLOW_REQUESTS,
  WRONG_FROM_SCOPE_ON,
  WRONG_IN_SEVERAL_WAYS,
  type Change,
  type Row,
} from "./bad-requests.table.ts";
import { SEED as RANDOM_SEED, seededRandom } from "./support/campaign.ts";
import { startSandbox, type SandboxProcess } from "./support/program.ts";
import { tempFolder } from "./support/temp-folder.ts";

/** A running sandbox, what rows call its own, and what it answered so far. */
type Site = {
  readonly sandbox: SandboxProcess;
  readonly database: string;
  readonly words: Record<string, string>;
  readonly requestIds: string[];
};

type RowCounts = { readonly checkouts: number; readonly keys: number; readonly events: number };

/** One HTTP answer, read strictly. Header names are in lower case. */
type Answer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Much longer than the service waits for a request. */
const MAX_WAIT_MS = 60_000;
const INACTIVE_STORE = "0190a7e4-0000-7000-8000-000000000001";
const STORE_CREATED_AT = Date.UTC(2026, 0, 1);
const LIMITED_REQUESTS = 50;

test("a bad request of any kind gets its refusal and leaves no trace", async () => {
  expect(BAD_REQUESTS.length).toBeGreaterThanOrEqual(110);
  expect(new Set(BAD_REQUESTS.map(([name]) => name)).size).toBe(BAD_REQUESTS.length);
  const site = await openSite();
  const before = rowCounts(site);
  // The slow ones take 10 s; all the others are answered meanwhile.
  const slow = Promise.all(SLOW_REQUESTS.map((row, index) => check(site, row, 900 + index)));
  const faults = [...(await checkAll(site, BAD_REQUESTS)), ...(await slow)].filter(Boolean);
  expect(faults).toEqual([]);
  await expectUnharmed(site, before);
});

test("a request that is wrong in several ways gets the earliest refusal of decision 3", async () => {
  const site = await openSite();
  const before = rowCounts(site);
  const faults = await checkAll(site, WRONG_IN_SEVERAL_WAYS);
  expect(faults).toEqual([]);
  await expectUnharmed(site, before);
});

test("the rate limit stands between the credential and the scope", async () => {
  const site = await openSite(["--rate-limit", "1/s"]);
  const before = rowCounts(site);
  const [, refusedOtherwise, change] = WRONG_FROM_SCOPE_ON;
  const request = render(site, keptAlive(change), 1);
  const unknownKey = { headers: { Authorization: ["Bearer {unknownKey}"] } };
  // In one segment, so that the bucket has no time to fill.
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

test("clients that go away in the middle leave no trace", async () => {
  const site = await openSite();
  const before = rowCounts(site);
  const whole = render(site, {}, 1);
  for (let length = 1; length < whole.length; length += 7) await hangUp(site, whole.subarray(0, length));
  expect(rowCounts(site)).toEqual(before);
  await expectUnharmed(site, before);
});

test("garbage behind a request does not take the answer of that request", async () => {
  const site = await openSite();
  const before = rowCounts(site);
  const bytes = Buffer.concat([render(site, keptAlive({}), 1), Buffer.from("GARBAGE\r\n\r\n")]);
  const answers = readAnswers(await send(site, bytes, false), "POST");
  // Commits are in the order of arrival: when this one is answered, the other is on disk too.
  await createGood(site, { fields: { order_id: "good-order" } });
  const created = rowCounts(site).checkouts - before.checkouts - 1;
  expect({ created, answers: answers.map(({ status }) => status) }).toEqual({
    created: 1,
    answers: [201, 400],
  });
});

test("an API key in the wrong place does not end in the log", async () => {
  const site = await openSite();
  for (const change of MISPLACED_KEYS) {
    const [answer] = readAnswers(await send(site, render(site, change, 1), false), "POST");
    expect(answer?.status).toBeGreaterThanOrEqual(400);
  }
  expect(await site.sandbox.stop("SIGTERM")).toBe(0);
  const { stderr } = site.sandbox.output;
  expect(stderr).toContain("idempotency_key_invalid");
  expect(stderr.split("\n").filter((logged) => logged.includes(site.words["apiKey"] ?? "?"))).toEqual([]);
});

/** Sends rows one after the other; returns a line for each that got anything else than it should. */
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

/** What came, as a verdict; or what is wrong with it as an HTTP answer or as an envelope. */
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

function judge(site: Site, { status, headers, body }: Answer, method: string): string {
  const requestId = headers.get("x-request-id") ?? "";
  insist(UUID_V7.test(requestId), "an X-Request-Id that is a UUID v7");
  insist(headers.get("content-type") === "application/json; charset=utf-8", "JSON");
  insist(![...headers.keys()].some((name) => name.startsWith("access-control-")), "no CORS header");
  insist(!body.includes(site.words["apiKey"] ?? "?"), "no API key in an answer");
  site.requestIds.push(requestId);
  const allow = headers.get("allow");
  const tail = allow === undefined ? "" : `; Allow: ${allow}`;
  if (method === "HEAD") return `${status} without a body${tail}`;
  if (status < 400) return `${status}`;
  return `${status} ${readCode(body, requestId)}${tail}`;
}

/** The code in an error envelope: exactly the fields that the interface states, and the same request_id as the header. */
function readCode(body: string, requestId: string): string {
  const envelope = JSON.parse(body) as { request_id: unknown; error: { code: string; message: string } };
  const { code, message } = envelope.error;
  insist(
    body === JSON.stringify({ ok: false, request_id: requestId, error: { code, message } }),
    "our envelope",
  );
  insist(
    typeof code === "string" && typeof message === "string" && message.length > 0,
    "a code and a message",
  );
  insist(!/\p{Cc}|\p{Bidi_Control}/u.test(message), "a message without control and bidi characters");
  return code;
}

/** Reads whole answers until nothing is left; interim ones (100 Continue) are passed over. */
function readAnswers(bytes: Buffer, method: string): Answer[] {
  const answers: Answer[] = [];
  for (let rest = bytes.toString("latin1"); rest !== "";) {
    const headEnd = rest.indexOf("\r\n\r\n");
    insist(headEnd > 0, "a whole head");
    const { status, headers } = readHead(rest.slice(0, headEnd));
    const start = headEnd + 4;
    const length =
      status < 200 || method === "HEAD" ? 0 : Number(headers.get("content-length") ?? Number.NaN);
    insist(rest.length >= start + length, "as many bytes as Content-Length says");
    const body = Buffer.from(rest.slice(start, start + length), "latin1").toString("utf8");
    if (status >= 200) answers.push({ status, headers, body });
    rest = rest.slice(start + length);
  }
  return answers;
}

function readHead(head: string): Pick<Answer, "status" | "headers"> {
  const [statusLine = "", ...lines] = head.split("\r\n");
  const [, digits] = /^HTTP\/1\.1 ([1-5]\d\d) [A-Za-z' -]+$/.exec(statusLine) ?? [];
  insist(digits !== undefined, "a status line");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([A-Za-z0-9-]+): ([\x20-\x7e]*)$/.exec(line) ?? [];
    insist(name !== "" && !headers.has(name.toLowerCase()), `one header in ${JSON.stringify(line)}`);
    headers.set(name.toLowerCase(), value);
  }
  return { status: Number(digits), headers };
}

function insist(holds: boolean, what: string): void {
  if (!holds) throw new Error(`expected ${what}`);
}

/** Sends bytes on a connection of their own; returns all that came until the server closed it, or until it stays silent. */
function send({ sandbox }: Site, bytes: Uint8Array, halfClosed: boolean): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect({ host: "127.0.0.1", port: sandbox.port });
    socket.on("data", (part: Buffer) => received.push(part));
    // What came before a reset still counts; the reader says what is missing.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(Buffer.concat(received)));
    socket.setTimeout(MAX_WAIT_MS, () => socket.destroy());
    if (halfClosed) socket.end(bytes);
    else socket.write(bytes);
  });
}

/** Sends bytes and drops the connection at once. */
async function hangUp({ sandbox }: Site, bytes: Uint8Array): Promise<void> {
  const socket = connect({ host: "127.0.0.1", port: sandbox.port });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  await new Promise((resolve) => socket.write(bytes, resolve));
  socket.resetAndDestroy();
}

/** The bytes of a request: a good create, but for the change. */
function render(site: Site, change: Change, number: number): Buffer {
  const row = String(number).padStart(3, "0");
  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (found, word: string) => (word === "row" ? row : (site.words[word] ?? found)));
  if (change.raw !== undefined) {
    return typeof change.raw === "string" ? Buffer.from(fill(change.raw), "latin1") : Buffer.from(change.raw);
  }
  const fields = {
    order_id: `row-${row}`,
    amount_minor: 1999,
    currency: "EUR",
    payment_method: "alipay_plus",
    ...change.fields,
  };
  const content = change.body ?? JSON.stringify(fields) + (change.tail ?? "");
  const body = typeof content === "string" ? Buffer.from(fill(content)) : Buffer.from(content);
  const headers = {
    Host: ["{host}"],
    Authorization: ["Bearer {apiKey}"],
    "Content-Type": ["application/json"],
    "Idempotency-Key": [`bad-request-${row}`],
    "Content-Length": [String(body.length)],
    Connection: ["close"],
    ...change.headers,
  };
  const headerLines = Object.entries(headers).flatMap(([name, values]) =>
    values.map((value) => `${name}: ${value}`),
  );
  const head = [
    change.line ?? "POST /v1/orders HTTP/1.1",
    ...headerLines,
    ...(change.lines ?? []),
    "",
    "",
  ].join("\r\n");
  return Buffer.concat([Buffer.from(fill(head), "latin1"), body]);
}

function keptAlive(change: Change): Change {
  return { ...change, headers: { ...change.headers, Connection: ["keep-alive"] } };
}

/** A sandbox with a live order in its store, and with a second store that has one too and is no longer active. */
async function openSite(args: readonly string[] = []): Promise<Site> {
  const sandbox = await startSandbox({ cwd: tempFolder(), args });
  const { ready, port } = sandbox;
  const apiKey = ready.api_key ?? "";
  const random = seededRandom(RANDOM_SEED);
  const newKey = (): string =>
    formatTestKey(Uint8Array.from({ length: API_KEY_RANDOM_BYTES }, () => random() * 256));
  const [inactiveKey, scopelessKey, unknownKey] = [newKey(), newKey(), newKey()];
  const words = {
    host: `127.0.0.1:${port}`,
    port: String(port),
    apiKey,
    mistypedKey: apiKey.slice(0, -1) + (apiKey.endsWith("0") ? "1" : "0"),
    cutKey: apiKey.slice(0, -1),
    shoutedKey: apiKey.replace("svc_test_", "SVC_TEST_"),
    signingSecret: ready.signing_secret,
    inactiveKey,
    scopelessKey,
    unknownKey,
  };
  const site: Site = { sandbox, database: join(ready.data_dir ?? "", "sandbox.db"), words, requestIds: [] };
  addStore(site, ready.merchant_id, { inactiveKey, scopelessKey });
  await createSeeded(site, apiKey);
  site.words["foreignSession"] = await createSeeded(site, inactiveKey);
  withDatabase(site, (connection) =>
    connection.prepare("UPDATE stores SET active = 0 WHERE id = ?").run(INACTIVE_STORE),
  );
  return site;
}

/** Tables that are only written: nothing is remembered, so nothing has to be forgotten. */
const NO_TURNS = { soon: () => undefined, after: () => undefined };

/** Writes the second store beside the running sandbox: nothing that it serves can make one. */
function addStore(site: Site, merchantId: string, keys: { inactiveKey: string; scopelessKey: string }): void {
  const createdAt = STORE_CREATED_AT;
  withDatabase(site, (connection) => {
    storesTable(connection, NO_TURNS).insert({ id: INACTIVE_STORE, merchantId, name: "Inactive", createdAt });
    const capabilities = capabilitiesTable(connection, () => undefined);
    capabilities.insert(INACTIVE_STORE, { kind: "currency", name: "EUR" });
    capabilities.insert(INACTIVE_STORE, { kind: "payment_method", name: "alipay_plus" });
    const credentials = credentialsTable(connection, NO_TURNS);
    const add = (id: string, key: string, scopes: readonly Scope[]): void =>
      credentials.insert({
        id,
        storeId: INACTIVE_STORE,
        scopes,
        keyHash: hashKey(key),
        lastFour: key.slice(-4),
        createdAt,
      });
    add("inactive", keys.inactiveKey, SCOPES);
    add("scopeless", keys.scopelessKey, []);
  });
}

function withDatabase<Value>(
  site: Site,
  work: (connection: Database.Database) => Value,
  readonly = false,
): Value {
  const connection = new Database(site.database, { readonly, fileMustExist: true });
  try {
    return work(connection);
  } finally {
    connection.close();
  }
}

async function createSeeded(site: Site, apiKey: string): Promise<string> {
  const headers = { Authorization: [`Bearer ${apiKey}`], "Idempotency-Key": [SEED.idempotencyKey] };
  const fields = { order_id: SEED.orderId, amount_minor: SEED.amountMinor };
  return createGood(site, { headers, fields });
}

async function createGood(site: Site, change: Change): Promise<string> {
  const [answer] = readAnswers(await send(site, render(site, change, 999), false), "POST");
  expect(answer?.status).toBe(201);
  const { data } = JSON.parse(answer?.body ?? "") as { data: { id: string; object: string } };
  expect(data.object).toBe("order");
  return data.id;
}

/** Rows in the tables that a create writes to. */
function rowCounts(site: Site): RowCounts {
  const sql = `SELECT (SELECT count(*) FROM checkouts) AS checkouts,
    (SELECT count(*) FROM idempotency_keys) AS keys, (SELECT count(*) FROM events) AS events`;
  return withDatabase(site, (connection) => connection.prepare(sql).get() as RowCounts, true);
}

/** The database is as before, no two answers had the same request_id, and the same process still does its work. */
async function expectUnharmed(site: Site, before: RowCounts): Promise<void> {
  expect(rowCounts(site)).toEqual(before);
  expect(new Set(site.requestIds).size).toBe(site.requestIds.length);
  await createGood(site, { fields: { order_id: "good-order" } });
  const { checkouts, keys, events } = before;
  expect(rowCounts(site)).toEqual({ checkouts: checkouts + 1, keys: keys + 1, events: events + 1 });
  expect(site.sandbox.process.exitCode).toBeNull();
}
