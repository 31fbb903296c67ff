import { connect } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import {
  API_KEY_RANDOM_BYTES,
  formatTestKey,
  hashKey,
  SCOPES,
  type Scope,
} from "../../src/core/credential.ts";
import { capabilitiesTable } from "../../src/store/capabilities.ts";
import { credentialsTable } from "../../src/store/credentials.ts";
import { storesTable } from "../../src/store/stores.ts";
import { SEED, type Change } from "../real/bad-requests.table.ts";
import { SEED as RANDOM_SEED, seededRandom } from "./campaign.ts";
import type { SandboxHere, SandboxProcess } from "./program.ts";
import { tempFolder } from "./temp-folder.ts";

/** A running sandbox, the values that rows refer to, and the request ids of the answers so far. */
export type Site<Served = Pick<SandboxHere, "ready" | "port">> = {
  readonly sandbox: Served;
  readonly database: string;
  readonly words: Record<string, string>;
  readonly requestIds: string[];
};

export type RowCounts = { readonly checkouts: number; readonly keys: number; readonly events: number };

/** One HTTP answer, read strictly. Header names are in lower case. */
export type Answer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Much longer than the service's timeout for a request. */
const MAX_WAIT_MS = 60_000;
const INACTIVE_STORE = "0190a7e4-0000-7000-8000-000000000001";
const STORE_CREATED_AT = Date.UTC(2026, 0, 1);
/**
 * A sandbox, started with `start`, with an open order in its store, and with a second store, which has an open order
 * and is no longer active.
 */
export async function openSite<Served extends SandboxHere | SandboxProcess>(
  start: (options: { readonly cwd: string; readonly args: readonly string[] }) => Promise<Served>,
  args: readonly string[] = [],
): Promise<Site<Served>> {
  const sandbox = await start({ cwd: tempFolder(), args });
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
  const site: Site<Served> = {
    sandbox,
    database: join(ready.data_dir ?? "", "sandbox.db"),
    words,
    requestIds: [],
  };
  addStore(site, ready.merchant_id, { inactiveKey, scopelessKey });
  await createSeeded(site, apiKey);
  site.words["foreignSession"] = await createSeeded(site, inactiveKey);
  withDatabase(site, (connection) =>
    connection.prepare("UPDATE stores SET active = 0 WHERE id = ?").run(INACTIVE_STORE),
  );
  await awaitInactive(site, inactiveKey);
  return site;
}

/** Sends creates until the sandbox has noticed that another process has deactivated the store. */
async function awaitInactive(site: Site, apiKey: string): Promise<void> {
  const headers = { Authorization: [`Bearer ${apiKey}`], "Idempotency-Key": ["asks-whether-inactive"] };
  const probe = { headers, fields: { order_id: SEED.orderId, amount_minor: SEED.amountMinor } };
  for (;;) {
    const [answer] = readAnswers(await send(site, render(site, probe, 998), false), "POST");
    if (answer?.status === 403 || answer?.status === 429) return;
    // The order of the store is open, so that nothing is created.
    expect(answer?.status).toBe(409);
  }
}

/** A scheduler that runs nothing, for tables that only insert: they have no cache that a timer would have to clear. */
const NO_TURNS = { soon: () => undefined, after: () => undefined };

/** Adds the second store to the database while the sandbox runs, because no request can create it. */
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

/** Opens the database while the sandbox runs, for `work`. */
export function withDatabase<Value>(
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

/** Creates the open order that rows name; returns its id. */
export async function createSeeded(site: Site, apiKey: string): Promise<string> {
  const headers = { Authorization: [`Bearer ${apiKey}`], "Idempotency-Key": [SEED.idempotencyKey] };
  const fields = { order_id: SEED.orderId, amount_minor: SEED.amountMinor };
  return createGood(site, { headers, fields });
}

/** Sends a create that must succeed; returns the order's id. */
export async function createGood(site: Site, change: Change): Promise<string> {
  const [answer] = readAnswers(await send(site, render(site, change, 999), false), "POST");
  expect(answer?.status).toBe(201);
  const { data } = JSON.parse(answer?.body ?? "") as { data: { id: string; object: string } };
  expect(data.object).toBe("order");
  return data.id;
}

/** The number of rows in the tables that a create writes to. */
export function rowCounts(site: Site): RowCounts {
  const sql = `SELECT (SELECT count(*) FROM checkouts) AS checkouts,
    (SELECT count(*) FROM idempotency_keys) AS keys, (SELECT count(*) FROM events) AS events`;
  return withDatabase(site, (connection) => connection.prepare(sql).get() as RowCounts, true);
}

/** The bytes of a request: a valid create with the change. */
export function render(site: Site, change: Change, number: number): Buffer {
  const row = number.toString(36).padStart(3, "0");
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

/** The verdict on one answer; throws if the answer breaks HTTP or the envelope. */
export function judge(site: Site, { status, headers, body }: Answer, method: string): string {
  const requestId = headers.get("x-request-id") ?? "";
  insist(UUID_V7.test(requestId), "an X-Request-Id that is a UUID v7");
  // The answer to OPTIONS is empty.
  const isAllowed = status === 200 && headers.has("allow") && body === "";
  // The root answers a browser with a page, and a changed request may be a request for the root.
  const isPage = status === 200 && headers.get("content-security-policy")?.startsWith("default-src 'none'");
  const type = isPage === true ? "text/html; charset=utf-8" : "application/json";
  insist(headers.get("content-type") === (isAllowed ? undefined : type), type);
  insist(![...headers.keys()].some((name) => name.startsWith("access-control-")), "no CORS header");
  insist(!body.includes(site.words["apiKey"] ?? "?"), "no API key in an answer");
  site.requestIds.push(requestId);
  const allow = headers.get("allow");
  const tail = allow === undefined ? "" : `; Allow: ${allow}`;
  if (method === "HEAD") return `${status} without a body${tail}`;
  if (status < 400) return `${status}`;
  return `${status} ${readCode(body, requestId)}${tail}`;
}

/** The code in an error envelope, which has exactly the fields of the interface and the header's request_id. */
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

/**
 * Reads complete answers until no bytes are left; interim answers (100 Continue) are skipped. With the method "?", some
 * requests were HEAD: an answer without a body counts as an answer to one of them.
 */
export function readAnswers(bytes: Buffer, method: string): Answer[] {
  const answers: Answer[] = [];
  for (let rest = bytes.toString("latin1"); rest !== "";) {
    const headEnd = rest.indexOf("\r\n\r\n");
    insist(headEnd > 0, "a whole head");
    const { status, headers } = readHead(rest.slice(0, headEnd));
    const start = headEnd + 4;
    const length =
      status < 200 || method === "HEAD" || (method === "?" && /^(HTTP\/1\.1 |$)/.test(rest.slice(start)))
        ? 0
        : Number(headers.get("content-length") ?? Number.NaN);
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

/** Throws unless the expectation holds. */
export function insist(holds: boolean, what: string): void {
  if (!holds) throw new Error(`expected ${what}`);
}

/**
 * Sends bytes, or parts of them one after the other, on a separate connection; returns everything received until the
 * server closes the connection or stays silent.
 */
export function send(
  { sandbox }: Pick<Site, "sandbox">,
  bytes: Uint8Array | readonly Uint8Array[],
  halfClosed: boolean,
): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connect({ host: "127.0.0.1", port: sandbox.port, noDelay: true });
    socket.on("data", (part: Buffer) => received.push(part));
    // Bytes before a reset still count; `readAnswers` names the missing part.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(Buffer.concat(received)));
    socket.setTimeout(MAX_WAIT_MS, () => socket.destroy());
    const [first, ...later] = bytes instanceof Uint8Array ? [bytes] : bytes;
    const write = (part: Uint8Array, rest: readonly Uint8Array[]): void => {
      const [next, ...others] = rest;
      if (next !== undefined) socket.write(part, () => setImmediate(write, next, others));
      else if (halfClosed) socket.end(part);
      else socket.write(part);
    };
    write(first ?? Buffer.alloc(0), later);
  });
}
