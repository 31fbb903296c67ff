import { createHmac } from "node:crypto";
import { BlockList, isIP, isIPv4 } from "node:net";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { openCheckout } from "../../src/core/checkout/checkout.ts";
import { createEvent } from "../../src/core/checkout/event.ts";
import { parseReturnOrigin } from "../../src/core/checkout/return-origin.ts";
import { checkoutJson } from "../../src/core/checkout/wire.ts";
import { DEFAULT_HEADER_NAMES, signHeaders, verifySignature } from "../../src/core/webhook/signature.ts";
import { filterAddresses, parseTarget, type DeliveryTarget } from "../../src/core/webhook/target.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import { SEED as TABLE_SEED } from "../real/bad-requests.table.ts";
import { RAW_ATTACK, segmentsOf, SPELLED_ADDRESS, SPELLED_HOST, SPELLED_URL } from "../support/attacks.ts";
import type { RawAttack } from "../support/attacks.ts";
import { SEED, size } from "../support/campaign.ts";
import { startSandbox } from "../support/program.ts";
import { createGood, insist, judge, openSite, readAnswers, render } from "../support/raw-requests.ts";
import { send, withDatabase, type Answer, type Site } from "../support/raw-requests.ts";
import { someTerms } from "../support/rows.ts";

const RAW_ATTACKS = size(250, 12_000);
/** Number of concurrent attacks; many wait until the service gives up on a request, which takes 5 to 10 s. */
const PARALLEL = 200;
const SPELLINGS = size(4_000, 1_000_000);

/** An attack as sent, the ids of the checkouts that it created, and the broken rules. */
type AttackResult = {
  readonly bytes: Buffer;
  readonly created: readonly string[];
  readonly wrong: readonly string[];
};

test(`the sandbox survives random bytes from clients, and creates only the orders that it acknowledges (seed ${SEED})`, async ({
  annotate,
}) => {
  const site = await openSite(startSandbox, ["--rate-limit", "off", "--quiet"]);
  const canary = rowsOf(site);
  const [canaryId = ""] = [...canary]
    .filter(([, { orderId, active }]) => orderId === TABLE_SEED.orderId && active === 1)
    .map(([id]) => id);
  const attacks = fc.sample(RAW_ATTACK, { seed: SEED, numRuns: RAW_ATTACKS });
  const attacked = await inParallel(attacks, (attack, index) => launch(site, { attack, index, canaryId }));
  expect(attacked.flatMap(({ wrong }) => wrong)).toEqual([]);

  const after = rowsOf(site);
  const created = attacked.flatMap((attack) => attack.created.map((id) => ({ id, bytes: attack.bytes })));
  for (const { id, bytes } of created) {
    const { key = "?" } = after.get(id) ?? {};
    expect([id, key, bytes.includes(key)]).toEqual([id, key, true]);
  }
  expect([...created.map(({ id }) => id), ...canary.keys()].toSorted()).toEqual([...after.keys()].toSorted());
  expect([...after.values()].filter(({ keys, events }) => keys !== 1 || events !== 1)).toEqual([]);
  for (const [id, row] of canary) expect(after.get(id)).toEqual(row);
  await createGood(site, { fields: { order_id: "good-order" } });
  expect(await site.sandbox.stop("SIGTERM")).toBe(0);
  expect(site.sandbox.output.stderr).toBe("");
  await annotate(
    `seed ${SEED}: ${attacks.length} raw attacks, ${created.length} orders made, each by the request that was answered`,
  );
});

test(`no spelling of an address leads a delivery to a forbidden target (seed ${SEED})`, async ({
  annotate,
}) => {
  const counts = { urls: 0, addresses: 0, origins: 0 };
  const settings = { seed: SEED, numRuns: SPELLINGS };
  fc.assert(
    fc.property(SPELLED_URL, (text) => {
      const { ok } = parseTarget(text, POLICY);
      // `expect` would be too slow here.
      if (ok !== isTarget(text)) throw new Error(`taken: ${ok}`);
      if (ok) counts.urls += 1;
    }),
    settings,
  );
  fc.assert(
    fc.property(fc.array(SPELLED_ADDRESS, { maxLength: 3 }), fc.constantFrom(80, 4242), (resolved, port) => {
      const allowed = filterAddresses({ ...NAMED, port }, resolved, POLICY);
      if (!allowed.ok) return;
      const wrong = allowed.value.filter(
        (address) => !resolved.includes(address) || isForbidden(address, port),
      );
      if (wrong.length > 0) throw new Error(`allowed: ${wrong.join()}`);
      counts.addresses += 1;
    }),
    settings,
  );
  const origin = fc.oneof(
    SPELLED_URL,
    fc.tuple(fc.constantFrom("http://", "https://"), SPELLED_HOST).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(origin, (text) => {
      const parsed = parseReturnOrigin(text);
      if (!parsed.ok) return;
      if (parsed.value !== text || !isOrigin(text)) throw new Error(`taken: ${parsed.value}`);
      counts.origins += 1;
    }),
    settings,
  );
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(SPELLINGS / 500);
  await annotate(`seed ${SEED}: 3 × ${SPELLINGS} spellings; taken and right: ${JSON.stringify(counts)}`);
});

test("a delivery with a changed body, timestamp or signature is refused", async ({ annotate }) => {
  const deliveries = [delivery("order-1001", AT), delivery("Größe 咖啡", AT + 1)] as const;
  const signed = new Set(deliveries.map(({ timestamp, body }) => signedText(timestamp, body)));
  let altered = 0;
  let same = 0;
  const check = (timestamp: string, signature: string, body: Buffer): void => {
    const isSigned = signed.has(signedText(timestamp, body)) && hasValidSignature(signature, timestamp, body);
    const request = {
      rawBody: body,
      headers: [DEFAULT_HEADER_NAMES.timestamp, timestamp, DEFAULT_HEADER_NAMES.signature, signature],
      secrets: SECRET,
      now: AT * 1000,
    };
    // `expect` would be too slow here.
    const verdicts = [verifySignature(request).ok, verifyWebhook(request).ok];
    if (verdicts.some((ok) => ok !== isSigned))
      expect([timestamp, signature, body.toString("latin1"), verdicts]).toEqual(isSigned);
    if (isSigned) same += 1;
    else altered += 1;
  };
  for (const [index, { timestamp, signature, body }] of deliveries.entries()) {
    const other = deliveries[1 - index] ?? deliveries[0];
    for (const changed of alteredBodies(body, other.body)) check(timestamp, signature, changed);
    for (const changed of alteredTexts(timestamp, other.timestamp)) check(changed, signature, body);
    for (const changed of alteredTexts(signature, other.signature)) check(timestamp, changed, body);
    check(timestamp, signature, body);
    check(timestamp, signature, other.body);
    check(other.timestamp, signature, body);
    check(timestamp, `${other.signature},${signature}`, body);
    // The dot between timestamp and body cannot move.
    check(timestamp.slice(0, -1), signature, Buffer.concat([Buffer.from(timestamp.slice(-1)), body]));
    check(`${timestamp}.`, signature, body);
    check(timestamp, signature, Buffer.concat([Buffer.from("."), body]));
  }
  expect(same).toBeGreaterThanOrEqual(2 * deliveries.length);
  expect(altered).toBeGreaterThan(size(20_000, 200_000));
  await annotate(
    `${altered} altered deliveries refused, ${same} with the same bytes accepted, by both verifiers`,
  );
});

/** Sends an attack, and then a retrieve of the canary on the same connection. */
async function launch(
  site: Site,
  {
    attack,
    index,
    canaryId,
  }: { readonly attack: RawAttack; readonly index: number; readonly canaryId: string },
): Promise<AttackResult> {
  const rendered = attack.requests.map((change, place) => render(site, change, index * 3 + place));
  const bytes = attack.edits.reduce(
    (changed, edit) => Buffer.from(fillWords(site, edit(changed)), "latin1"),
    Buffer.concat(rendered),
  );
  const look = Buffer.from(
    fillWords(
      site,
      `GET /v1/checkout-sessions/${canaryId} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {apiKey}\r\nConnection: close\r\n\r\n`,
    ),
  );
  const received = await send(site, segmentsOf(Buffer.concat([bytes, look]), attack.cuts), false);
  try {
    const created = judgeAttack(site, { bytes, received, canaryId });
    return { bytes, created, wrong: [] };
  } catch (error) {
    const shown = [bytes, received].map((side) => JSON.stringify(side.toString("latin1")));
    return { bytes, created: [], wrong: [`attack ${index}: ${String(error)}: ${shown.join(" got ")}`] };
  }
}

/** Returns the ids of the checkouts that an attack created. Throws for an answer that the service must not give. */
function judgeAttack(
  site: Site,
  attack: { readonly bytes: Buffer; readonly received: Buffer; readonly canaryId: string },
): string[] {
  const { bytes, received, canaryId } = attack;
  const sent = bytes.toString("latin1");
  const answers = answersIn(received, sent);
  const fresh: string[] = [];
  for (const answer of answers) {
    judge(site, answer, answer.body === "" ? "HEAD" : "POST");
    insist(answer.status < 500, "no failure of the service");
    const isData = answer.headers.get("content-type") === "application/json" && answer.body !== "";
    if (answer.status >= 300 || !isData) continue;
    const { data } = JSON.parse(answer.body) as { readonly data: Readonly<Record<string, unknown>> };
    if (data["id"] === canaryId)
      insist(data["status"] === "created" && data["amount_minor"] === TABLE_SEED.amountMinor, "the canary");
    else insist(sent.includes(site.words["apiKey"] ?? "?"), "the API key before anything is answered");
    if (answer.status === 201 && !answer.headers.has("idempotent-replayed")) fresh.push(String(data["id"]));
  }
  insist(fresh.length <= sent.split("POST /v1/").length - 1, "one order for one request");
  return fresh;
}

/** The answers of a connection; an answer to a HEAD has no body, even if it has a Content-Length. */
function answersIn(received: Buffer, sent: string): readonly Answer[] {
  try {
    return readAnswers(received, "POST");
  } catch (error) {
    if (!sent.includes("HEAD ")) throw error;
    return readAnswers(received, "?");
  }
}

function fillWords(site: Site, text: string | Buffer): string {
  const known = typeof text === "string" ? text : text.toString("latin1");
  return known.replace(/\{(\w+)\}/g, (found, word: string) => site.words[word] ?? found);
}

type Row = {
  readonly orderId: string;
  readonly active: number;
  readonly status: string;
  readonly key: string;
  readonly keys: number;
  readonly events: number;
};

/** Every checkout with its key, its number of keys and its number of events. */
function rowsOf(site: Site): ReadonlyMap<string, Row> {
  const sql = `SELECT c.id, c.order_id AS orderId, c.status, s.active, min(k.key) AS key, count(*) AS keys,
    (SELECT count(*) FROM events WHERE checkout_id = c.id) AS events
    FROM checkouts c JOIN stores s ON s.id = c.store_id LEFT JOIN idempotency_keys k ON k.checkout_id = c.id
    GROUP BY c.id`;
  const rows = withDatabase(
    site,
    (connection) => connection.prepare<[], Row & { readonly id: string }>(sql).all(),
    true,
  );
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

/** Runs `work` for each item, PARALLEL at a time; the results are in the order of the items. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return results;
}

const POLICY = { allowedHosts: ["shop.test", "10.1.2.3"], ownPort: 4242 };
const NAMED: DeliveryTarget = { url: "http://shop.test/", host: "shop.test", port: 80, addresses: null };

/** Whether Node parses the URL as this machine (but not the sandbox's port) or an allowed host, in its normal form. */
function isTarget(text: string): boolean {
  const [, spelled = "", digits] =
    /^https?:\/\/(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?(?:[/?][^\0-\x20#@]*)?$/.exec(text) ?? [];
  if (!URL.canParse(text) || new URL(text).hostname !== spelled) return false;
  const isLoopback =
    spelled === "localhost" || spelled === "[::1]" || (isIPv4(spelled) && spelled.startsWith("127."));
  return isLoopback ? digits !== "4242" : POLICY.allowedHosts.includes(spelled);
}

/** Ranges that must get no deliveries; Node reads an IPv4-mapped address as the IPv4 address. */
const FORBIDDEN = new BlockList();
for (const range of [
  "0.0.0.0/8 169.254.0.0/16 224.0.0.0/4 240.0.0.0/4 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32",
  "fe80::/10 ff00::/8 64:ff9b::/96 64:ff9b:1::/48 2002::/16 2001::/32 ::ffff:0:0:0/96 fd00:ec2::/32",
].flatMap((line) => line.split(" "))) {
  const [net = "", prefix] = range.split("/");
  FORBIDDEN.addSubnet(net, Number(prefix), isIPv4(net) ? "ipv4" : "ipv6");
}
/** IPv4-compatible addresses; LOOPBACK is checked before them, because `::1` is among them. */
const COMPATIBLE = new BlockList();
COMPATIBLE.addSubnet("::", 96, "ipv6");
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

function isForbidden(address: string, port: number): boolean {
  const [plain = ""] = address.split("%");
  // Node resolves a text that is not an address as a name, which may lead anywhere.
  if (isIP(plain) === 0) return true;
  const family = isIPv4(plain) ? "ipv4" : "ipv6";
  const isLoopback = LOOPBACK.check(plain, family);
  if (isLoopback) return port === POLICY.ownPort;
  return FORBIDDEN.check(plain, family) || (family === "ipv6" && COMPATIBLE.check(plain, family));
}

/** Whether a text is an origin as a browser writes it: of this machine, or https with a host name. */
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { origin, protocol, hostname } = new URL(text);
  const isOwn = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  const isName = isIP(hostname.replace(/^\[|\]$/g, "")) === 0 && !/(^|\.)xn--/.test(hostname);
  return origin === text && (isOwn || (protocol === "https:" && isName));
}

const SECRET = "whsec_uR0n5Yc2Yk3Q8o8dJ8n6y2p5T8i0m1v7w4x9z3a6b2c";
const AT = 1_767_225_600;

/** A delivery that is signed like the sandbox's deliveries. */
function delivery(orderId: string, timestamp: number) {
  const store = { id: "s1", active: true, paymentMethods: ["alipay_plus"], currencies: ["EUR"] };
  const input = {
    id: orderId,
    object: "order",
    terms: someTerms({ orderId, amountMinor: 1999 }),
  } as const;
  const opened = openCheckout({ ...input, store, blocker: undefined, lifetimeMs: 300_000 }, AT * 1000);
  if (!opened.ok) throw new Error(opened.refusal.message);
  const json = checkoutJson(opened.value, "http://127.0.0.1:4242");
  const event = { id: "e1", checkout: opened.value, previousStatus: null, sequence: 1, checkoutJson: json };
  const body = Buffer.from(createEvent(event, AT * 1000).body);
  const headers = signHeaders([SECRET], { eventId: "e1", timestamp, rawBody: body });
  return { timestamp: String(timestamp), signature: headers[DEFAULT_HEADER_NAMES.signature] ?? "", body };
}

function signedText(timestamp: string, body: Buffer): string {
  return `${timestamp}.${body.toString("latin1")}`;
}

/** Whether the header has one to three signatures, one of them computed over these bytes as the interface says. */
function hasValidSignature(signature: string, timestamp: string, body: Buffer): boolean {
  const list = signature.split(",");
  const right = createHmac("sha256", SECRET).update(`${timestamp}.`).update(body).digest("hex");
  return list.length <= 3 && list.every((one) => /^[0-9a-f]{64}$/.test(one)) && list.includes(right);
}

function* alteredBodies(body: Buffer, other: Buffer): Generator<Buffer> {
  for (let place = 0; place < body.length; place += 1) {
    for (const value of otherBytes(body[place] ?? 0)) yield replaced(body, place, 1, Uint8Array.of(value));
    yield replaced(body, place, 1, Buffer.alloc(0));
    yield replaced(body, place, 0, body.subarray(place, place + 1));
    yield replaced(body, place, 2, body.subarray(place, place + 2).toReversed());
    for (const insert of [" ", "\0", "\n", "\r\n", "\ufeff"])
      yield replaced(body, place, 0, Buffer.from(insert));
    yield body.subarray(0, place);
    yield body.subarray(place);
    yield Buffer.concat([body.subarray(0, place), other.subarray(place)]);
  }
}

function* alteredTexts(text: string, other: string): Generator<string> {
  for (let place = 0; place < text.length; place += 1) {
    const [before, after] = [text.slice(0, place), text.slice(place + 1)];
    for (let code = 0x20; code < 0x7f; code += 1) yield before + String.fromCodePoint(code) + after;
    yield before + after;
    yield before + text[place] + text.slice(place);
    yield before + other.slice(place);
  }
  for (const around of [" ", "\t", "+", "-", "0", ",", "\0", "\u00a0", "e0", ".0", "n"])
    yield* [around + text, text + around];
  yield* [text.toUpperCase(), text.repeat(2), [text, text].join(), Array(4).fill(text).join(), ""];
  yield* [`t=${text}`, `v1=${text}`, `sha256=${text}`, Buffer.from(text, "hex").toString("base64")];
}

function otherBytes(byte: number): readonly number[] {
  const values = size(8, 256);
  return Array.from({ length: values }, (_, index) => (values === 8 ? byte ^ (1 << index) : index)).filter(
    (value) => value !== byte,
  );
}

function replaced(bytes: Buffer, start: number, length: number, by: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(start + length)]);
}
