import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import {
  DEFAULT_HEADER_NAMES,
  headersInDialect,
  headerValues,
  signHeaders,
} from "../../src/core/webhook/signature.ts";
import { english } from "../../src/core/language.ts";
import { ENDPOINT_REASONS } from "../../src/core/refusals/parts.ts";
import type { HttpRequest, HttpResponse, Service } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import { createCauseSearch } from "../../src/client/listen/search.ts";
import { createHarness, EPHEMERAL, type CommandOptions, type Harness } from "../support/harness.ts";
import { HOSTILE_TEXTS } from "../support/hostile-texts.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { startListening, type ListenCommand, type ListenLine } from "../support/listening.ts";
import { openWebhookSite, type Received } from "../support/webhook-site.ts";

const SECOND = 1000;
const HOOKS = "http://localhost:3000/hooks";
/** The options of a start with a state on disk, for tests about a journal or a restarted sandbox. */
const ON_DISK: readonly string[] = [];
const types = (got: readonly Received[]): string[] => got.map(({ event }) => event.type);

/** A sandbox and an application on port 3000 that the listener forwards to. */
async function openShop(args = EPHEMERAL) {
  const site = await openWebhookSite(args);
  const shop = site.receiver(3000);
  const listen = (more: readonly string[] = ["--forward", HOOKS], command: CommandOptions = {}) =>
    startListening(site.harness, more, command);
  /** Lets one second pass, after which the listener has seen everything that was sent to it. */
  const beat = async (): Promise<void> => {
    site.harness.clock.advance(SECOND);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const create = async (orderId: string): Promise<string> => (await site.harness.order(orderId)).id;
  return { ...site, shop, listen, beat, create };
}

/** Records the requests to a target, as on the wire. */
function record(harness: Harness, port: number): HttpRequest[] {
  const got: HttpRequest[] = [];
  const answer: Service["answer"] = (request) => {
    got.push(request);
    return Promise.resolve({ status: 200, headers: {}, body: "" });
  };
  harness.occupy(port, { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) });
  return got;
}

function headersOf({ rawHeaders }: HttpRequest): Record<string, string> {
  const pairs = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ""] as const] : [],
  );
  return Object.fromEntries(pairs);
}

function portOf({ ready }: ListenCommand): number {
  return Number(new URL(ready.url).port);
}

const outcomes = (lines: readonly ListenLine[]): (string | null)[][] =>
  lines.map(({ type, outcome }) => [type, outcome]);

test("listen verifies every event and forwards its bytes, headers and content type unchanged", async () => {
  const site = await openShop();
  const got = record(site.harness, 3000);
  const listening = await site.listen([
    "--forward",
    `${HOOKS}?shop=1`,
    "--header",
    "X-Tenant: one, two",
    "--header",
    "Authorization:Bearer of-the-shop",
  ]);
  const id = await site.create("order-ü😀");
  await site.pay(id, "succeeded");
  const lines = await listening.heard(3);
  expect(got.map(({ body }) => Buffer.from(body).toString("utf8"))).toEqual(
    (await site.events()).map(({ body }) => body),
  );
  expect(got.map(({ method, target }) => [method, target])).toEqual(
    Array.from({ length: 3 }, () => ["POST", "/hooks?shop=1"]),
  );
  const attempt = await eventually("the first delivery is noted", async () => {
    const [delivery] = await site.deliveries(`?event_id=${lines[0]?.event_id ?? ""}`);
    expect(delivery?.state).toBe("succeeded");
    return delivery?.attempts[0];
  });
  const sent = headersOf(got[0] as HttpRequest);
  expect(Object.keys(sent).toSorted()).toEqual([
    "authorization",
    "checkout-event-id",
    "checkout-signature",
    "checkout-timestamp",
    "content-type",
    "host",
    "x-tenant",
  ]);
  expect(sent).toMatchObject({
    "content-type": "application/json",
    "checkout-event-id": attempt?.headers[DEFAULT_HEADER_NAMES.eventId],
    "checkout-timestamp": attempt?.headers[DEFAULT_HEADER_NAMES.timestamp],
    "x-tenant": "one, two",
    authorization: "Bearer of-the-shop",
    host: "localhost:3000",
  });
  expect(lines).toMatchObject(
    ["order.created", "order.pending", "order.succeeded"].map((type) => ({
      type,
      object_id: id,
      order_id: "order-ü😀",
      verified: true,
      outcome: "forwarded",
      target: `${HOOKS}?shop=1`,
      target_status: 200,
      answered: 200,
      code: null,
      causes: [],
      replay: false,
      next_try_at: null,
    })),
  );
  expect(lines.map(({ event_id: eventId }) => eventId)).toEqual(
    (await site.events()).map(({ event_id: eventId }) => eventId),
  );
});

test("listen shows one line for each event on a terminal, with the shop's answer and the next attempt", async () => {
  const site = await openShop();
  // The lines use this machine's clock, but the time of the next attempt uses the store's clock.
  await site.advance(26 * 3600 * SECOND);
  const listening = await site.harness.launch(["listen", "--forward", HOOKS]);
  const id = await site.order("order-1001");
  await eventually("the shop has the order", () => expect(site.shop.got).toHaveLength(1));
  site.shop.answers = () => ({ status: 500, headers: {}, body: "TypeError: no such order\n  at hooks.js:3" });
  await site.pay(id, "cancelled");
  await eventually("the next attempt is reported", () =>
    expect(listening.text().stdout).toMatch(/→ 500 .*\n {2}< .*\n {2}→ .*\n/),
  );
  const { stdout: story } = await site.harness.run(["explain", id]);
  expect(story).toMatch(/localhost:3000\/hooks +200/);
  expect(story).not.toMatch(/→ 127\.0\.0\.1/);
  const { code, stdout, stderr } = await listening.stop();
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^.+\n$/)]);
  const [title = "", , ...lines] = stdout.trimEnd().split("\n");
  expect(title).toMatch(/^● checkout listen \d+\.\d+\.\d+ .*\b\d+\b/);
  const values = [
    / http:\/\/127\.0\.0\.1:4242$/,
    / checkout listen --print-secret$/,
    /→ http:\/\/localhost:3000\/hooks$/,
  ];
  const deliveries = [
    /^14:00:00Z {2}0000000a {2}order\.created {4}order-1001 {2}✓ .* {2}→ 200 {2}\d+ ms {2}\D+12:00:00Z$/,
    /^14:00:00Z {2}0000000e {2}order\.cancelled {2}order-1001 {2}✓ .* {2}→ 500 {2}\d+ ms {2}\D+ [456] s {2}\D+12:00:00Z$/,
    /^ {2}< TypeError: no such order at hooks\.js:3$/,
    /^ {2}→ .+$/,
  ];
  expect(lines).toEqual(
    [...values, /^$/, ...deliveries].map((line) => expect.stringMatching(line) as string),
  );
});

test("listen aligns its lines about sessions and orders, and shows the cause of a missing answer", async () => {
  const site = await openShop();
  const listening = await site.harness.launch(["listen", "--forward", HOOKS]);
  await site.order("order-1001");
  site.harness.vacate(3000);
  await site.harness.run(["sessions", "create", "--order-id", "order-2", "--price-id", "price_coffee"]);
  await site.order("order-1003");
  const lines = (): readonly string[] => listening.text().stdout.split("\n");
  await eventually("all three are told", () => expect(listening.text().stdout).toContain("order-1003"));
  await listening.stop();
  const [first = 0, second = 0, third = 0] = ["order-1001", "order-2", "order-1003"].map(
    (orderId) =>
      lines()
        .find((line) => line.includes(`  ${orderId}  `))
        ?.indexOf(orderId) ?? 0,
  );
  expect([third, second > first]).toEqual([second, true]);
  expect(listening.text().stdout).toMatch(/order-1003 .*\n {2}→ /);
});

test("listen passes the target's answer to the sandbox, and shows when a failed event is sent again", async () => {
  const site = await openShop();
  site.shop.answers = (number) =>
    number === 1
      ? { status: 503, headers: { "Retry-After": "7" }, body: "busy" }
      : number === 2
        ? 302
        : { status: 201, body: "made" };
  const listening = await site.listen();
  await site.order();
  const [first] = await listening.heard(1);
  const attempts = async () => (await site.deliveries())[0]?.attempts ?? [];
  expect((await attempts()).map(({ status, answer }) => [status, answer])).toEqual([[503, "busy"]]);
  expect(first).toMatchObject({ outcome: "forwarded", target_status: 503, answered: 503 });
  expect(first?.next_try_at).toBe((await attempts())[0]?.next_at);
  await site.advance(10 * SECOND);
  await listening.heard(2);
  await site.advance(600 * SECOND);
  const lines = await listening.heard(3);
  expect(lines.map(({ target_status: status }) => status)).toEqual([503, 302, 201]);
  expect((await attempts()).map(({ status, answer }) => [status, answer])).toEqual([
    [503, "busy"],
    [302, ""],
    [201, "made"],
  ]);
  expect(lines[1]?.next_try_at).toBe((await attempts())[1]?.next_at);
  expect(lines[2]?.next_try_at).toBeNull();
});

test("listen answers 502 if the target gives no complete answer, and forwards the event when the target is back", async () => {
  const site = await openShop();
  site.harness.vacate(3000);
  const listening = await site.listen();
  await site.order();
  const [down] = await listening.heard(1);
  expect(down).toMatchObject({
    outcome: "not_answered",
    code: "unreachable",
    answered: 502,
    target: HOOKS,
    target_status: null,
  });
  const failures = ["timeout", "connection_lost", "bad_answer"] as const;
  const left = [...failures];
  site.harness.setFault((request, pass) => {
    const failure = request.url === HOOKS ? left.shift() : undefined;
    return failure === undefined ? pass() : Promise.resolve({ ok: false, failure, message: "it failed" });
  });
  const shop = site.receiver(3000);
  for (const [index, seconds] of [10, 400, 2200].entries()) {
    await site.advance(seconds * SECOND);
    await listening.heard(index + 2);
  }
  const lines = listening.deliveries();
  expect(lines.slice(1).map(({ code }) => code)).toEqual(failures);
  const [delivery] = await site.deliveries();
  expect(delivery?.attempts.map(({ status }) => status)).toEqual([502, 502, 502, 502]);
  expect(lines.map(({ next_try_at: next }) => next)).toEqual(
    delivery?.attempts.map(({ next_at: next }) => next),
  );
  await site.advance(3 * 3600 * SECOND);
  expect(types(shop.got)).toEqual(["order.created", "order.expired"]);
});

test("a request with a wrong signature or an old timestamp never reaches the target, and listen reports the cause", async () => {
  const site = await openShop();
  const listening = await site.listen();
  const endpoint = listening.ready.endpoint_id ?? "";
  const { data: before } = await site.control<{ in_force: string[] }>(`/endpoints/${endpoint}/secret`);
  await site.control(`/endpoints/${endpoint}/secret`, { overlap_ms: 0 });
  const rows = [
    ["bad_signature", "signature_mismatch", "unexplained", false],
    ["changed_body", "signature_mismatch", "unexplained", false],
    ["stale", "timestamp_too_old", "stale_replay", true],
    ["old_secret", "signature_mismatch", "retired_secret", true],
  ] as const;
  for (const [index, [action, code, cause, proven]] of rows.entries()) {
    await site.control("/faults", { action, match: { endpoint_id: endpoint } });
    await site.order();
    const line = (await listening.heard(index + 1))[index];
    expect(line?.injected_fault).toMatchObject({ action });
    expect([action, line?.outcome, line?.verified, line?.code, line?.answered]).toEqual([
      action,
      "not_verified",
      false,
      code,
      400,
    ]);
    expect([action, line?.target, line?.target_status]).toEqual([action, null, null]);
    expect(line?.causes).toContainEqual(expect.objectContaining({ code: cause, proven }));
    expect(line?.next_try_at).toMatch(/^2026-01-15T12:00:0\d/);
  }
  expect(site.shop.got).toEqual([]);
  const { data: now } = await site.control<{ in_force: string[] }>(`/endpoints/${endpoint}/secret`);
  const { stdout, stderr } = await listening.stop();
  for (const secret of [...before.in_force, ...now.in_force])
    expect(`${stdout}${stderr}`).not.toContain(secret.slice(6));
  expect(stdout).not.toMatch(/[0-9a-f]{64}/);
});

test("listen's line about a delivery with an injected fault names the fault, and no suspected cause", async () => {
  const site = await openShop();
  const listening = await site.harness.launch(["listen", "--forward", HOOKS]);
  const endpoints = await site.control<{ endpoints: { id: string }[] }>("/endpoints");
  const id = endpoints.data.endpoints[0]?.id ?? "";
  await site.control("/faults", { action: "stale", match: { endpoint_id: id } });
  await site.order("order-1001");
  await eventually("the fault is told", () => expect(listening.text().stdout).toContain("(stale)\n"));
  expect(listening.text().stdout).toMatch(
    /order-1001 {2}✗ .* \d s\n {2}→ .*3600 s.*300 s.*\n {2}→ .*[\da-f-]{36} \(stale\)\n$/,
  );
});

test("listen's line about an unverified delivery is followed by the likely cause", async () => {
  const harness = createHarness();
  const line = ["listen", "--port", "4300", "--forward", HOOKS];
  const listening = await harness.launch(line, { env: { CHECKOUT_SIGNING_SECRET: SECRET } });
  const body = Buffer.from(JSON.stringify(EVENT));
  const timestamp = Math.floor(harness.clock.now() / 1000);
  const headers = signHeaders([SECRET], { eventId: EVENT.event_id, timestamp, rawBody: body });
  const rawHeaders = Object.entries({ Host: "127.0.0.1:4300", ...headers }).flat();
  const longer = Buffer.concat([body, Buffer.from("\n")]);
  const sent = { method: "POST", target: "/", rawHeaders, body: longer };
  expect((await harness.programOn(4300)?.answer(sent))?.status).toBe(400);
  await eventually("the cause is told", () =>
    expect(listening.text().stdout).toMatch(
      /✗ [^→\n]*\n {2}→ [^\n]*\n {2}→ [^\n]*\(body_whitespace_added\)\n$/,
    ),
  );
});

test("listen forwards events after a rotation of the signing secret, with and without an overlap", async () => {
  const site = await openShop();
  const listening = await site.listen();
  const endpoint = listening.ready.endpoint_id ?? "";
  await site.order();
  await listening.heard(1);
  await site.control(`/endpoints/${endpoint}/secret`, { overlap_ms: 60_000 });
  await site.order();
  await listening.heard(2);
  await site.control(`/endpoints/${endpoint}/secret`, { overlap_ms: 0 });
  await site.order();
  const lines = await listening.heard(3);
  expect(lines.map(({ outcome }) => outcome)).toEqual(["forwarded", "forwarded", "forwarded"]);
});

test("listen drops and marks a duplicate, even if an earlier listener forwarded the event", async () => {
  const site = await openShop(ON_DISK);
  const first = await site.listen();
  await site.control("/faults", { action: "duplicate", match: { endpoint_id: first.ready.endpoint_id } });
  await site.order();
  expect(outcomes(await first.heard(2))).toEqual([
    ["order.created", "forwarded"],
    ["order.created", "duplicate"],
  ]);
  expect(first.deliveries()[1]).toMatchObject({ verified: true, answered: 200, target: null });
  expect(site.shop.got.length).toBe(1);

  // The target accepted the event, but the sandbox did not get the answer.
  let lost = 0;
  site.harness.setFault(async (request, pass) => {
    const result = await pass();
    const isAnswer = request.url === first.ready.url && (lost += 1) === 1;
    return isAnswer ? { ok: false, failure: "connection_lost", message: "socket hang up" } : result;
  });
  await site.order();
  await first.heard(3);
  expect((await first.stop()).code).toBe(0);
  const second = await site.listen();
  await site.advance(10 * SECOND);
  expect(outcomes(await second.heard(1))).toEqual([["order.created", "duplicate"]]);
  expect(site.shop.got.length).toBe(2);
  await eventually("the sandbox has noted the answer", async () =>
    expect(await site.deliveries("?state=due")).toEqual([]),
  );
});

test("listen forwards events and drops duplicates even if the journal fails", async () => {
  const site = await openShop(ON_DISK);
  const listening = await site.listen();
  const journal = new Database(join(site.harness.cwd, ".checkout/journal.db"));
  journal.exec("DROP TABLE seen_events");
  journal.close();
  const endpoint = listening.ready.endpoint_id ?? "";
  await site.control("/faults", { action: "duplicate", match: { endpoint_id: endpoint } });
  await site.order();
  expect((await listening.heard(2)).map(({ outcome }) => outcome)).toEqual(["forwarded", "duplicate"]);
  expect(listening.text().stderr).toContain("seen_events");
});

test("an event that the target refused is not a duplicate when it is delivered again", async () => {
  const site = await openShop();
  site.shop.answers = (number) => (number === 1 ? 500 : 200);
  const listening = await site.listen();
  await site.order();
  await listening.heard(1);
  await site.advance(10 * SECOND);
  expect(outcomes(await listening.heard(2)).map(([, outcome]) => outcome)).toEqual([
    "forwarded",
    "forwarded",
  ]);
});

test("listen forwards each replay that events replay requests, with or without --endpoint", async () => {
  const site = await openShop();
  const listening = await site.listen();
  await site.order();
  const [{ event_id: eventId } = { event_id: "" }] = await listening.heard(1);
  const again = ["events", "replay", eventId, "--json"];
  expect((await site.harness.run(again)).code).toBe(0);
  expect((await site.harness.run([...again, "--endpoint", listening.ready.endpoint_id ?? ""])).code).toBe(0);
  const lines = await listening.heard(3);
  expect(lines.map(({ outcome, replay, target_status: status }) => [outcome, replay, status])).toEqual([
    ["forwarded", false, 200],
    ["forwarded", true, 200],
    ["forwarded", true, 200],
  ]);
  expect(new Set(site.shop.got.map(({ body }) => body)).size).toBe(1);
  expect(site.shop.got.map(({ verdict }) => verdict)).toEqual(["ok", "ok", "ok"]);
  site.shop.answers = (number) => (number === 4 ? 500 : 200);
  await site.harness.run(again);
  await listening.heard(4);
  await site.advance(10 * SECOND);
  expect((await listening.heard(5))[4]).toMatchObject({
    outcome: "forwarded",
    replay: true,
    target_status: 200,
  });
});

test("listen --since forwards accepted events again, from a time of the store's clock or after an event", async () => {
  const site = await openShop(ON_DISK);
  const first = await site.listen();
  await site.order();
  await first.heard(1);
  await site.advance(600 * SECOND);
  await site.order();
  const [, { event_id: second } = { event_id: "" }] = await first.heard(2);
  await site.order();
  await first.heard(3);
  await first.stop();
  const rows = [
    ["last", 0],
    ["5m", 2],
    ["1h", 3],
    [second, 1],
  ] as const;
  for (const [since, count] of rows) {
    const listening = await site.listen(["--forward", HOOKS, "--since", since]);
    expect([since, listening.ready.replayed]).toEqual([since, count]);
    const lines = await listening.heard(count);
    expect(lines.every(({ outcome, replay }) => outcome === "forwarded" && replay)).toBe(true);
    await listening.stop();
  }
  const unknown = await site.harness.run(["listen", "--since", "0199a3c4-5d00-7000-8000-00000000ffff"]);
  expect([unknown.code, unknown.stdout]).toEqual([1, ""]);
  expect(unknown.stderr).toContain("checkout events list");
  const { data } = await site.control<{ endpoints: { state: string }[] }>("/endpoints");
  expect(data.endpoints.map(({ state }) => state)).toEqual(["paused"]);
});

test("the first matching --route wins, and other events go to --forward or are only shown", async () => {
  const site = await openShop();
  const [paid, orders] = [site.receiver(3001), site.receiver(3002)];
  const routes = ["--route", `order.succeeded=${paid.url}`, "--route", `order.*=${orders.url}`];
  const sessions = ["sessions", "create", "--price-id", "price_coffee", "--order-id"];
  const first = await site.listen([...routes, "--forward", HOOKS]);
  await site.pay(await site.order(), "succeeded");
  await first.heard(3);
  await site.harness.run([...sessions, "order-s1"]);
  expect((await first.heard(4)).map(({ target }) => target)).toEqual([
    orders.url,
    orders.url,
    paid.url,
    HOOKS,
  ]);
  expect([types(paid.got), types(orders.got), types(site.shop.got)]).toEqual([
    ["order.succeeded"],
    ["order.created", "order.pending"],
    ["checkout_session.created"],
  ]);
  await first.stop();
  const second = await site.harness.launch(["listen", ...routes]);
  await site.harness.run([...sessions, "order-s2"]);
  await site.order();
  await eventually("the order is told", () => expect(second.text().stdout).toContain(`→ 200 ${orders.url}`));
  expect(second.text().stdout).toMatch(/order-s2 {2}✓ [^→\n]*\n/);
  expect(site.shop.got.length).toBe(1);
  await eventually("every delivery is settled", async () =>
    expect(await site.deliveries("?state=due")).toEqual([]),
  );
});

test("an allowed target on another host is resolved for every event, and its forbidden addresses are never used", async () => {
  const site = await openShop();
  const sentTo: (readonly string[] | undefined)[] = [];
  site.harness.setFault((request, pass) => {
    if (request.url.startsWith("http://shop.test")) sentTo.push(request.addresses);
    return pass();
  });
  const listening = await site.listen([
    "--forward",
    "http://shop.test:3000/hooks",
    "--allow-target",
    "shop.test",
  ]);
  site.harness.name("shop.test", ["10.1.2.3", "169.254.169.254"]);
  await site.order();
  await listening.heard(1);
  site.harness.name("shop.test", ["169.254.169.254"]);
  await site.order();
  await listening.heard(2);
  site.harness.name("shop.test", []);
  await site.order();
  const lines = await listening.heard(3);
  expect(sentTo).toEqual([["10.1.2.3"]]);
  expect(lines.map(({ outcome, code, answered }) => [outcome, code, answered])).toEqual([
    ["forwarded", null, 200],
    ["not_answered", "forbidden", 502],
    ["not_answered", "unreachable", 502],
  ]);
});

test("the ready line of listen --json has the addresses, the endpoint, the event types and the routes", async () => {
  const site = await openShop();
  const args = ["--forward", HOOKS, "--route", "order.*=http://localhost:3001/", "--events", "order.*"];
  const { ready } = await site.listen(args);
  expect(ready).toEqual({
    event: "ready",
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) as string,
    sandbox: "http://127.0.0.1:4242",
    endpoint_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    event_types: ["order.*"],
    forward: HOOKS,
    routes: [{ type: "order.*", url: "http://localhost:3001/" }],
    replayed: 0,
    pid: expect.any(Number) as number,
    version: expect.any(String) as string,
  });
});

test("listen --events filters new and waiting events", async () => {
  const site = await openShop();
  const all = await site.listen();
  await all.stop();
  await site.order();
  const listening = await site.listen(["--forward", HOOKS, "--events", "order.succeeded,checkout_session.*"]);
  expect((await site.endpoint(listening.ready.endpoint_id ?? "")).event_types).toEqual([
    "order.succeeded",
    "checkout_session.*",
  ]);
  expect(outcomes(await listening.heard(1))).toEqual([["order.created", "not_wanted"]]);
  await site.pay(await site.order(), "succeeded");
  expect(outcomes(await listening.heard(2))[1]).toEqual(["order.succeeded", "forwarded"]);
  expect(types(site.shop.got)).toEqual(["order.succeeded"]);
});

test("events wait while no listener runs, and go in order to the next listener, at the same endpoint", async () => {
  const site = await openShop();
  const first = await site.listen();
  const id = await site.order();
  await first.heard(1);
  expect((await first.stop()).code).toBe(0);
  const endpoint = first.ready.endpoint_id ?? "";
  expect(await site.endpoint(endpoint)).toMatchObject({
    state: "paused",
    kind: "listener",
    reason: english(ENDPOINT_REASONS.listener_disconnected),
    paused_by: "listener",
  });
  await site.pay(id, "succeeded");
  expect(site.shop.got.length).toBe(1);
  const second = await site.listen();
  expect(second.ready.endpoint_id).toBe(endpoint);
  await second.heard(2);
  expect(types(site.shop.got)).toEqual(["order.created", "order.pending", "order.succeeded"]);
  expect(await site.endpoint(endpoint)).toMatchObject({ state: "enabled", url: second.ready.url });
});

test("listen finds a sandbox that restarts on another port, and reports the restart once", async () => {
  const site = await openShop(ON_DISK);
  const listening = await site.listen();
  await site.stop();
  for (let seconds = 0; seconds < 5; seconds += 1) await site.beat();
  await listening.said(1);
  site.harness.occupy(4242);
  const sandbox = await site.harness.start();
  expect(sandbox.ready.base_url).toBe("http://127.0.0.1:4243/v1");
  await site.beat();
  await site.beat();
  expect(await listening.said(2)).toEqual(["disconnected", "reconnected"]);
  expect(listening.lines().at(-1)?.sandbox).toBe("http://127.0.0.1:4243");
  await site.create("order-1");
  expect(outcomes(await listening.heard(1))).toEqual([["order.created", "forwarded"]]);
  for (let seconds = 0; seconds < 5; seconds += 1) await site.beat();
  expect((await listening.said(2)).length).toBe(2);
  expect((await listening.stop()).code).toBe(0);
});

test("with --exit-on-disconnect, listen exits with 7 when the sandbox stops", async () => {
  const site = await openShop();
  const listening = await site.listen(["--forward", HOOKS, "--exit-on-disconnect"]);
  await site.stop();
  await site.beat();
  const { code, stdout, stderr } = await listening.ended;
  expect(code).toBe(7);
  expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ event: "disconnected" });
  expect(JSON.parse(stderr)).toMatchObject({ ok: false, error: { code: "disconnected" }, exit_code: 7 });
});

test("a second listener takes over, and the first listener ends with an error and does not pause the endpoint", async () => {
  const site = await openShop();
  const first = await site.listen();
  const second = await site.listen();
  expect(second.ready.endpoint_id).toBe(first.ready.endpoint_id);
  await site.beat();
  const { code, stderr } = await first.ended;
  expect([code, JSON.parse(stderr)]).toMatchObject([1, { error: { code: "taken_over" } }]);
  await site.order();
  expect(outcomes(await second.heard(1))).toEqual([["order.created", "forwarded"]]);
});

test("a listener that stops before it notices a second listener does not pause the endpoint", async () => {
  const site = await openShop();
  const first = await site.listen();
  const second = await site.listen();
  expect((await first.stop()).code).toBe(0);
  expect(await site.endpoint(second.ready.endpoint_id ?? "")).toMatchObject({ state: "enabled" });
});

test("listen registers a removed endpoint again, and reports a paused or disabled endpoint", async () => {
  const site = await openShop();
  site.shop.answers = () => 410;
  const listening = await site.listen();
  const endpoint = listening.ready.endpoint_id ?? "";
  // A drill's pause ends with the drill, and is not reported.
  const lease = { drill: "duplicates", timeout_ms: 60_000 };
  const { id } = (await site.control<{ id: string }>("/leases", lease)).data;
  expect(await site.endpoint(endpoint)).toMatchObject({ state: "paused", paused_by: "drill" });
  await site.beat();
  await site.control(`/leases/${id}/end`, {});
  await site.control(`/endpoints/${endpoint}/state`, { action: "pause" });
  await site.beat();
  expect(await listening.said(1)).toEqual(["disabled"]);
  expect((await site.endpoint(endpoint)).state).toBe("paused");
  await site.control(`/endpoints/${endpoint}/state`, { action: "enable" });
  await site.beat();
  await site.order();
  const [gone] = await listening.heard(1);
  expect(gone).toMatchObject({ target_status: 410, answered: 410, next_try_at: null });
  await site.beat();
  await site.beat();
  expect(await listening.said(2)).toEqual(["disabled", "disabled"]);
  await site.control(`/endpoints/${endpoint}/state`, { action: "remove" });
  await site.beat();
  site.shop.answers = () => 200;
  await site.order();
  expect((await listening.heard(2))[1]).toMatchObject({ outcome: "forwarded", target_status: 200 });
});

test("a stopped listener first finishes the events that it is forwarding", async () => {
  const site = await openShop();
  const release: ((response: HttpResponse) => void)[] = [];
  site.shop.answers = () => new Promise<HttpResponse>((resolve) => void release.push(resolve));
  const listening = await site.listen();
  await site.order();
  await eventually("the shop has the order", () => expect(release).toHaveLength(1));
  const ended = listening.stop();
  release[0]?.({ status: 200, headers: {}, body: "" });
  expect((await ended).code).toBe(0);
  await eventually("the sandbox has noted it", async () =>
    expect((await site.deliveries())[0]?.state).toBe("succeeded"),
  );
});

test("listen --print-secret prints the signing secret of the deliveries, before and after the first listener", async () => {
  const site = await openShop();
  const before = await site.harness.run(["listen", "--print-secret"]);
  expect([before.code, before.stderr]).toEqual([0, ""]);
  await site.order();
  const endpoints = await site.harness.run(["endpoints", "list", "--json"]);
  expect(JSON.parse(endpoints.stdout)).toMatchObject({ endpoints: [] });
  expect(await site.deliveries()).toEqual([]);
  const listening = await site.listen();
  site.setSecrets(HOOKS, [before.stdout.trim()]);
  await site.order();
  await listening.heard(1);
  await site.order();
  await listening.heard(2);
  expect(site.shop.got.map(({ verdict }) => verdict)).toEqual(["ok", "ok"]);
  await site.control(`/endpoints/${listening.ready.endpoint_id ?? ""}/secret`, {});
  const after = await site.harness.run(["listen", "--print-secret", "--json"]);
  const { signing_secret: secret } = JSON.parse(after.stdout) as { readonly signing_secret: string };
  expect(secret).toMatch(/^whsec_[\w-]{43}$/);
  expect(secret).not.toBe(before.stdout.trim());
  await site.order();
  await listening.heard(3);
});

test("listen prints hostile order_ids escaped, and forwards them unchanged", async () => {
  const site = await openShop();
  const got = record(site.harness, 3000);
  const forPeople = await site.harness.launch(["listen", "--forward", HOOKS], { typed: [] });
  const texts = HOSTILE_TEXTS.filter((text) => text.length <= 32);
  for (const [at, text] of texts.entries())
    await site.sandbox().request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": `key-of-text-${at}` },
      body: JSON.stringify({ order_id: text, price_id: "price_coffee" }),
    });
  const bodies = (await site.events("?since=0&limit=1000")).map(({ body }) => body);
  expect(bodies.length).toBeGreaterThan(texts.length - 3);
  await eventually("every event is forwarded", () => expect(got).toHaveLength(bodies.length));
  const forwarded = got.map(({ body }) => Buffer.from(body).toString("utf8"));
  expect(forwarded.toSorted()).toEqual(bodies.toSorted());
  forPeople.press("d");
  await eventually("the details are shown", () =>
    expect(forPeople.text().stderr).toContain("> Checkout-Event-Id: "),
  );
  const first = await forPeople.stop();
  const forPrograms = await site.listen(["--forward", HOOKS, "--since", "1h"]);
  await forPrograms.heard(bodies.length);
  const second = await forPrograms.stop();
  for (const text of [first.stdout, first.stderr, second.stdout, second.stderr])
    expect(text.split("\n").filter((line) => UNPRINTABLE.test(line)).length).toBe(0);
});

const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200b-\u200c\u200e-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;

type Vector = {
  readonly description: string;
  readonly secrets: readonly string[];
  readonly headers: readonly (readonly [string, string])[];
  readonly body_base64: string;
  readonly now: number;
  readonly tolerance_seconds: number;
  readonly expected: string;
};

const SECRET = "whsec_dGhpcy1pcy1hLXNlY3JldC1vZi1hLXRlc3QtYW5kLW5vLW90aGVy";
const EVENT = {
  event_id: "019bc186-de00-7000-8000-000000000001",
  type: "order.succeeded",
  created_at: "2026-01-15T12:00:00.000Z",
  api_version: "1.0.0",
  livemode: true,
  store_id: "019bc186-de00-7000-8000-0000000000aa",
  sequence: 3,
  previous_status: "pending",
  data: {
    id: "019bc186-de00-7000-8000-0000000000bb",
    object: "order",
    order_id: "order-1001",
    amount_minor: 450,
    currency: "EUR",
    status: "succeeded",
    checkout_url: "https://pay.example/1",
    livemode: true,
  },
};

/** A listener for a real service. */
async function openReceiver(
  options: { readonly args?: readonly string[]; readonly secret?: string; readonly now?: number } = {},
) {
  const harness = createHarness(options.now === undefined ? {} : { now: options.now });
  const got = record(harness, 3000);
  const listening = await startListening(
    harness,
    ["--port", "4300", ...(options.args ?? ["--forward", HOOKS])],
    { env: { CHECKOUT_SIGNING_SECRET: options.secret ?? SECRET } },
  );
  const send = (
    request: Partial<HttpRequest> & { readonly host?: string | readonly string[] },
  ): Promise<HttpResponse> => {
    const service = harness.programOn(portOf(listening));
    if (service === undefined) throw new Error("nobody listens");
    const { host = "127.0.0.1:4300", rawHeaders = [], ...rest } = request;
    const lines = [...[host].flat().flatMap((one) => ["Host", one]), ...rawHeaders];
    return service.answer({ method: "POST", target: "/", body: Buffer.from(""), ...rest, rawHeaders: lines });
  };
  const signed = (event: object = EVENT): Pick<HttpRequest, "rawHeaders" | "body"> => {
    const body = Buffer.from(JSON.stringify(event));
    const timestamp = Math.floor(harness.clock.now() / 1000);
    const headers = signHeaders([SECRET], { eventId: EVENT.event_id, timestamp, rawBody: body });
    return { rawHeaders: Object.entries({ ...headers, "Content-Type": "application/json" }).flat(), body };
  };
  return { harness, got, listening, send, signed };
}

test("without a sandbox, listen verifies and forwards each event of a service once, and refuses wrong signatures", async () => {
  const site = await openReceiver();
  expect(site.listening.ready).toMatchObject({
    url: "http://127.0.0.1:4300/",
    sandbox: null,
    endpoint_id: null,
  });
  const good = site.signed();
  expect((await site.send(good)).status).toBe(200);
  expect((await site.send(good)).status).toBe(200);
  expect((await site.send({ ...good, target: "/hooks?from=tunnel" })).status).toBe(200);
  expect((await site.send({ ...good, body: Buffer.from(`${JSON.stringify(EVENT)}\n`) })).status).toBe(400);
  expect(
    (
      await site.send({
        ...good,
        rawHeaders: [...good.rawHeaders, DEFAULT_HEADER_NAMES.signature, "0".repeat(64)],
      })
    ).status,
  ).toBe(400);
  expect(
    (await site.send({ ...good, rawHeaders: [...good.rawHeaders, DEFAULT_HEADER_NAMES.eventId, "another"] }))
      .status,
  ).toBe(400);
  const lines = await site.listening.heard(6);
  expect(lines.map(({ outcome, code }) => [outcome, code])).toEqual([
    ["forwarded", null],
    ["duplicate", null],
    ["duplicate", null],
    ["not_verified", "signature_mismatch"],
    ["not_verified", "signature_doubled"],
    ["not_verified", "event_id_doubled"],
  ]);
  expect(lines[3]?.causes).toMatchObject([{ code: "body_whitespace_added", proven: true }]);
  expect(site.got.length).toBe(1);
  const { stdout, stderr } = await site.listening.stop();
  expect(`${stdout}${stderr}`).not.toContain(SECRET);
});

test("listen passes the target's Retry-After to the sender, and adds no Retry-After of its own", async () => {
  const site = await openReceiver();
  const answers = [
    { status: 503, headers: { "Retry-After": "7" }, body: "busy" },
    { status: 503, headers: {}, body: "busy" },
  ];
  site.harness.vacate(3000);
  site.harness.occupy(3000, {
    answer: () => Promise.resolve(answers.shift() ?? { status: 200, headers: {}, body: "" }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  const seen = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const { status, headers } = await site.send(site.signed());
    seen.push([status, headers["Retry-After"]]);
  }
  expect(seen).toEqual([
    [503, "7"],
    [503, undefined],
    [200, undefined],
  ]);
});

test("listen recognises a duplicate by the event_id in the signed body, whatever the header says", async () => {
  const site = await openReceiver();
  // The type is of a later version, so no known field shows that the header contradicts the body.
  const { rawHeaders, body } = site.signed({ event_id: EVENT.event_id, type: "order.later" });
  const named = (eventId: string) => ({
    body,
    rawHeaders: rawHeaders.map((one) => (one === EVENT.event_id ? eventId : one)),
  });
  for (const eventId of [EVENT.event_id, "019bc186-de00-7000-8000-00000000ffff"])
    expect((await site.send(named(eventId))).status).toBe(200);
  const lines = await site.listening.heard(2);
  expect(lines.map(({ outcome }) => outcome)).toEqual(["forwarded", "duplicate"]);
  expect(site.got.length).toBe(1);
});

test("listen refuses a request that is not a delivery, and does not forward the request", async () => {
  const site = await openReceiver();
  const good = site.signed();
  const rows = [
    [{ ...good, target: "/admin" }, 404],
    [{ ...good, target: "/hooks/" }, 404],
    [{ ...good, method: "GET" }, 405],
    [{ ...good, method: "CONNECT", target: "evil.example:443" }, 404],
    [{ ...good, rawHeaders: [...good.rawHeaders, "Origin", "https://evil.example"] }, 403],
  ] as const;
  for (const [request, status] of rows) expect((await site.send(request)).status).toBe(status);
  const refuse = site.harness.programOn(4300)?.refuse;
  const tooLarge = { code: "body_too_large", message: "too large", method: "POST", target: "/" } as const;
  expect((await refuse?.(tooLarge))?.status).toBe(413);
  expect([site.got.length, site.listening.deliveries().length]).toEqual([0, 0]);
});

test("listen forwards exactly the valid signature vectors, even if the body is not an event", async () => {
  const { vectors } = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../fixtures/signatures.json"), "utf8"),
  ) as { readonly vectors: readonly Vector[] };
  const fitting = vectors.filter(
    ({ expected, tolerance_seconds: tolerance, secrets, now }) =>
      !expected.startsWith("secret_") && tolerance === 300 && secrets.length === 1 && now > 0,
  );
  const ofSecret = new Map<string, Awaited<ReturnType<typeof openReceiver>>>();
  let refused = 0;
  for (const vector of fitting.toSorted((one, other) => one.now - other.now)) {
    const { description, headers, body_base64: body, now, expected } = vector;
    const [secret = ""] = vector.secrets;
    const valid = expected === "valid";
    // A repeated event is not forwarded, so each valid vector has its own listener.
    const known = valid ? undefined : ofSecret.get(secret);
    const site = known ?? (await openReceiver({ secret, now: now * 1000 }));
    if (!valid) ofSecret.set(secret, site);
    site.harness.clock.advance(now * 1000 - site.harness.clock.now());
    const count = site.listening.deliveries().length + 1;
    const { status } = await site.send({ rawHeaders: headers.flat(), body: Buffer.from(body, "base64") });
    const line = (await site.listening.heard(count)).at(-1);
    expect([description, status, site.got.length, line?.verified]).toEqual([
      description,
      valid ? 200 : 400,
      valid ? 1 : 0,
      valid,
    ]);
    expect([description, line?.code]).toEqual([
      description,
      valid ? (line?.code === "event_invalid" ? "event_invalid" : null) : expected,
    ]);
    if (valid) expect(Buffer.from(site.got[0]?.body ?? "").toString("base64")).toBe(body);
    else refused += 1;
    if (valid) await site.listening.stop();
  }
  expect(refused).toBeGreaterThanOrEqual(60);
});

test("a delivery with one changed digit or byte never reaches the target", async () => {
  const site = await openReceiver();
  const { rawHeaders, body } = site.signed();
  const at = rawHeaders.indexOf(DEFAULT_HEADER_NAMES.signature) + 1;
  const digest = rawHeaders[at] ?? "";
  for (let digit = 0; digit < digest.length; digit += 4) {
    const other = digest[digit] === "0" ? "1" : "0";
    const changed = `${digest.slice(0, digit)}${other}${digest.slice(digit + 1)}`;
    expect((await site.send({ rawHeaders: rawHeaders.with(at, changed), body })).status).toBe(400);
  }
  for (let byte = 0; byte < body.length; byte += 40) {
    const changed = Buffer.from(body);
    changed[byte] = (changed[byte] ?? 0) ^ 1;
    expect((await site.send({ rawHeaders, body: changed })).status).toBe(400);
  }
  expect(site.got.length).toBe(0);
  expect((await site.send({ rawHeaders, body })).status).toBe(200);
  expect(site.got.length).toBe(1);
});

test("two concurrent deliveries of an event are forwarded once and delay no other event, and a 33rd open delivery is refused", async () => {
  const site = await openReceiver();
  const release: (() => void)[] = [];
  let reached = 0;
  const answer: Service["answer"] = () => {
    reached += 1;
    return new Promise((resolve) => void release.push(() => resolve({ status: 200, headers: {}, body: "" })));
  };
  site.harness.occupy(3000, { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) });
  const twice = [site.send(site.signed()), site.send(site.signed())];
  const others = Array.from({ length: 30 }, (_, index) => {
    const event = { ...EVENT, event_id: `event-${index}` };
    const { rawHeaders, body } = site.signed(event);
    const [timestamp, signature] = [DEFAULT_HEADER_NAMES.timestamp, DEFAULT_HEADER_NAMES.signature].map(
      (name) => [name, rawHeaders[rawHeaders.indexOf(name) + 1] ?? ""],
    );
    return site.send({ rawHeaders: [...(timestamp ?? []), ...(signature ?? [])], body });
  });
  await eventually("all have reached the target", () => expect(reached).toBe(31));
  const tooMany = await site.send(site.signed({ ...EVENT, event_id: "one-more" }));
  expect([tooMany.status, tooMany.headers["Retry-After"]]).toEqual([503, "1"]);
  while (release.length > 0) release.splice(0).forEach((let_go) => let_go());
  const answers = await Promise.all([...twice, ...others]);
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(reached).toBe(31);
  expect(site.listening.deliveries().filter(({ outcome }) => outcome === "duplicate").length).toBe(1);
});

test("the file of listen --secret-file can contain two secrets during a rotation", async () => {
  const harness = createHarness();
  const got = record(harness, 3000);
  writeFileSync(join(harness.cwd, "secrets.txt"), `whsec_another-one\n${SECRET}\n`);
  const listening = await startListening(harness, [
    "--port",
    "4300",
    "--secret-file",
    "secrets.txt",
    "--forward",
    HOOKS,
  ]);
  const body = Buffer.from(JSON.stringify(EVENT));
  const timestamp = Math.floor(harness.clock.now() / 1000);
  const rawHeaders = Object.entries(
    signHeaders([SECRET], { eventId: EVENT.event_id, timestamp, rawBody: body }),
  ).flat();
  rawHeaders.unshift("Host", "127.0.0.1:4300");
  const answer = await harness.programOn(4300)?.answer({ method: "POST", target: "/", rawHeaders, body });
  expect([answer?.status, got.length]).toEqual([200, 1]);
  expect((await listening.stop()).code).toBe(0);
});

test("listen --header-names verifies a service's own headers, and forwards them unchanged", async () => {
  const harness = createHarness();
  const got = record(harness, 3000);
  writeFileSync(join(harness.cwd, "secret.txt"), `${SECRET}\n`);
  const names = { eventId: "X-Event", timestamp: "X-Time", signature: "X-Sign" };
  const service = ["--port", "4300", "--secret-file", "secret.txt", "--forward", HOOKS];
  const told = "event-id=X-Event, timestamp=X-Time, signature=X-Sign";
  const listening = await startListening(harness, [...service, "--header-names", told]);
  const body = Buffer.from(JSON.stringify(EVENT));
  const timestamp = Math.floor(harness.clock.now() / 1000);
  const send = async (named: typeof names): Promise<number | undefined> => {
    const signed = signHeaders([SECRET], { eventId: EVENT.event_id, timestamp, rawBody: body });
    const headers = headersInDialect({ headers: { ...named, event_id: named.eventId } }, signed);
    const rawHeaders = ["Host", "127.0.0.1:4300", ...Object.entries(headers).flat()];
    return (await harness.programOn(4300)?.answer({ method: "POST", target: "/", rawHeaders, body }))?.status;
  };
  expect(await send(DEFAULT_HEADER_NAMES)).toBe(400);
  expect([await send(names), got.length]).toEqual([200, 1]);
  expect(headerValues(got[0]?.rawHeaders ?? [], "X-Sign")).toHaveLength(1);
  expect((await listening.stop()).code).toBe(0);
  await harness.start();
  const own = await harness.run(["listen", "--header-names", told]);
  expect([own.code, own.stderr]).toEqual([2, expect.stringContaining("--header-names")]);
});

test("listen answers a webhook whose body is nested too deeply to be parsed", async () => {
  const site = await openReceiver();
  const deep = Buffer.from("[".repeat(500_000) + "]".repeat(500_000));
  const rawHeaders = [...site.signed().rawHeaders];
  expect((await site.send({ rawHeaders, body: deep })).status).toBe(400);
  await site.listening.heard(1);
  const timestamp = Math.floor(site.harness.clock.now() / 1000);
  const own = Object.entries(signHeaders([SECRET], { eventId: "deep", timestamp, rawBody: deep })).flat();
  expect((await site.send({ rawHeaders: own, body: deep })).status).toBe(200);
  expect((await site.listening.heard(2)).map(({ code }) => code)).toEqual([
    "signature_mismatch",
    "event_invalid",
  ]);
});

/** A request with a wrong signature, so that the search for the cause tries everything. */
function unsigned(site: Awaited<ReturnType<typeof openReceiver>>, bytes: number): Partial<HttpRequest> {
  const body = Buffer.from(JSON.stringify({ ...EVENT, more: "x".repeat(bytes) }));
  const { rawHeaders } = site.signed();
  return {
    rawHeaders: rawHeaders.with(rawHeaders.indexOf(DEFAULT_HEADER_NAMES.signature) + 1, "0".repeat(64)),
    body,
  };
}

for (const [count, bytes] of [
  [60, 100],
  // With bodies of this size, each search hashes as many bytes as a search may.
  [5, 200_000],
] as const) {
  test(`${count} unsigned requests of ${bytes} bytes are answered before listen searches for their causes, and delay no delivery`, async () => {
    const site = await openReceiver();
    const order: string[] = [];
    const flood = Array.from({ length: count }, async () => {
      // At most 32 requests are handled at once; further requests get 503.
      const { status } = await site.send(unsigned(site, bytes));
      order.push(`${status} with ${site.listening.deliveries().length} told`);
    });
    await Promise.all(flood);
    expect(new Set(order)).toEqual(new Set(["400 with 0 told", ...(count > 32 ? ["503 with 0 told"] : [])]));
    expect((await site.send(site.signed())).status).toBe(200);
    // Searches run in slices between the steps of a delivery, so a few may be done already.
    expect(site.listening.deliveries().filter(({ verified }) => !verified).length).toBeLessThan(3);
    expect(site.got.length).toBe(1);
    await site.listening.heard(1 + order.filter((one) => one.startsWith("400")).length);
  });
}

const MIB = 1024 * 1024;
/** The budget for searches after idle time, in MiB; a single search may hash less. */
const BURST_MIB = 128;

test("the search for the cause of a wrong signature has a budget of bytes, and runs in slices between other work", async () => {
  const asked = (bytes: number) => ({
    rawBody: Buffer.alloc(bytes, "x"),
    headers: Object.entries(
      signHeaders(["another"], { eventId: "e", timestamp: 1768478400, rawBody: Buffer.from("") }),
    ).flat(),
    secrets: [SECRET],
    now: 1768478400_000,
  });
  for (const [bytes, isDrained] of [
    [100, false],
    [30_000, true],
    [800_000, false],
  ] as const) {
    let now = 0;
    let slices = 0;
    const soon = (run: () => void): void => {
      slices += 1;
      setImmediate(run);
    };
    const search = createCauseSearch(
      { now: () => now, soon },
      { perSecond: 8 * MIB, burst: BURST_MIB * MIB },
    );
    const flood = async (): Promise<number> => {
      slices = 0;
      const found = await Promise.all(Array.from({ length: 50 }, () => search.causesOf(asked(bytes))));
      return found.filter((causes) => causes.length > 0).length;
    };
    const explained = await flood();
    expect([bytes, explained > 0, explained <= 16]).toEqual([bytes, true, true]);
    // A slice hashes about 1 MiB, and a step that does not fit begins the next slice.
    expect(slices).toBeLessThan(2 * BURST_MIB + 50);
    if (!isDrained) continue;
    while ((await flood()) > 0) expect(slices).toBeLessThan(2 * BURST_MIB + 50);
    now += 1000;
    await flood();
    expect(slices).toBeLessThan(2 * 8 + 50);
  }
});

test("a listener accepts only its own and allowed Hosts, and reveals no path of its target", async () => {
  const target = "http://localhost:3000/very/secret-path";
  const site = await openReceiver({ args: ["--forward", target, "--allow-host", "tunnel.example"] });
  const good = site.signed();
  for (const [host, status] of [
    ["evil.example", 403],
    ["127.0.0.1:1", 403],
    ["tunnel.example:1", 403],
    ["", 403],
    [[], 400],
    [["127.0.0.1:4300", "127.0.0.1:4300"], 400],
    [["127.0.0.1:4300", "evil.example"], 400],
    ["tunnel.example", 200],
    ["TUNNEL.example:4300", 200],
    ["localhost:4300", 200],
    ["[::1]:4300", 200],
  ] as const) {
    expect([host, (await site.send({ ...good, host })).status]).toEqual([host, status]);
  }
  expect(site.got.length).toBe(1);
  const refuse = site.harness.programOn(4300)?.refuse;
  const answers = [
    await site.send({ ...good, host: "evil.example" }),
    await site.send({ ...good, target: "/" }),
    await site.send({ ...good, target: "/very" }),
    await site.send({ ...good, target: "/very/secret-path", method: "GET" }),
    await site.send({ ...good, target: "/very/secret-path" }),
    await site.send({ ...unsigned(site, 10), target: "/very/secret-path" }),
    await site.send({ rawHeaders: [...good.rawHeaders, "Origin", "https://evil.example"] }),
    await refuse?.({ code: "body_too_large", message: "a body may have …", method: "POST", target: "/" }),
  ];
  const told = answers.map((answer) => JSON.stringify([answer?.headers, answer?.body]));
  expect(told.filter((text) => /secret-path|very|localhost|3000|hooks/.test(text))).toEqual([]);
});

test("an invalid option of listen, or an invalid combination of options, is a usage error", async () => {
  const harness = createHarness();
  writeFileSync(join(harness.cwd, "secret.txt"), `${SECRET}\n`);
  writeFileSync(join(harness.cwd, "key.txt"), "svc_test_abc\n");
  const rows: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [["--forward", "localhost:3000 /x"], refusalText("target_not_url")],
    [["--forward", "ftp://localhost/x"], refusalText("target_not_url")],
    [
      ["--forward", "http://example.com/hooks"],
      /checkout listen --forward http:\/\/example\.com\/hooks --allow-target example\.com/,
    ],
    [["--forward", "http://0x7f.1/"], refusalText("target_spelling")],
    [["--forward", "http://user:pw@localhost:3000/"], refusalText("target_with_credentials")],
    [["--forward", "http://localhost:4300/", "--port", "4300"], /\b4300\b/],
    [["--forward", "http://localhost:3000/#part"], refusalText("target_with_fragment")],
    [["--route", "order.succeeded"], refusalText("route_form")],
    [["--route", "order.paid=http://localhost:3000/"], refusalText("not_event_type")],
    [["--route", "order.*=http://10.0.0.1/"], /--allow-target 10\.0\.0\.1/],
    [["--events", "order.paid"], /order\.paid/],
    [["--header", "no colon"], refusalText("header_form")],
    [["--header", "X-A: b\nX-C: d"], refusalText("header_form")],
    [["--header", "checkout-signature: 00"], refusalText("header_reserved")],
    [["--header", "Content-Length: 1"], refusalText("header_reserved")],
    [["--timeout", "soon"], /--timeout/],
    [["--timeout", "2d"], /--timeout.* 24h/],
    [["--since", "yesterday"], /--since/],
    [["--port", "70000"], /--port.* 65535/],
    [["--allow-target", "shop.test:80"], refusalText("target_host_form")],
    [["--ca", "nothing.pem", "--forward", "https://localhost:3000/"], /--ca.*nothing\.pem/],
    [["--ca", "secret.txt", "--forward", "https://localhost:3000/"], /PEM/],
    [["--ca", "secret.txt", "--insecure", "--forward", "https://localhost:3000/"], /--ca.*--insecure/],
    [["--insecure", "--forward", HOOKS], /--insecure.*https/],
    [["--secret-file", "nothing.txt", "--port", "4300"], /--secret-file.*nothing\.txt/],
    [["--secret-file", "key.txt", "--port", "4300"], /whsec_…/],
    [["--secret-file", "secret.txt"], /--port/],
    [["--secret-file", "secret.txt", "--port", "0"], /--port/],
    [["--secret-file", "secret.txt", "--port", "4300", "--since", "10m"], /--since/],
    [
      ["--secret-file", "secret.txt", "--print-secret"],
      /--secret-file.*--print-secret|--print-secret.*--secret-file/,
    ],
  ];
  for (const [args, says] of rows) {
    const { code, stdout, stderr } = await harness.run(["listen", ...args]);
    expect([args, code, stdout]).toEqual([args, 2, ""]);
    expect([args, stderr]).toEqual([args, expect.stringMatching(says)]);
    expect(stderr).not.toContain(SECRET);
  }
});

test("listen without a sandbox prints the command that starts one, and a taken port is reported with the program that uses it", async () => {
  const harness = createHarness();
  const alone = await harness.run(["listen", "--forward", HOOKS]);
  expect([alone.code, alone.stdout]).toEqual([7, ""]);
  expect(alone.stderr).toContain("→ checkout sandbox start");
  await harness.start();
  harness.occupy(4300);
  const taken = await harness.run(["listen", "--port", "4300"]);
  expect(taken.code).toBe(1);
  expect(taken.stderr).toMatch(/\b4300\b.*another-program \(pid 4711\)/);
});

test("listen with an ephemeral sandbox that the environment names writes no journal", async () => {
  const harness = createHarness();
  const env = {
    CHECKOUT_CONTROL_TOKEN: "a-token-of-the-test",
    CHECKOUT_SANDBOX_CONTROL_TOKEN: "a-token-of-the-test",
    CHECKOUT_BASE_URL: "http://127.0.0.1:4242/v1",
  };
  const sandbox = await harness.start(["--ephemeral"], { env });
  const got = record(harness, 3000);
  const listening = await startListening(harness, ["--forward", HOOKS], { env });
  await sandbox.request({
    path: "/v1/orders",
    headers: { "Idempotency-Key": "key-of-the-test" },
    body: JSON.stringify({ order_id: "order-1", price_id: "price_coffee" }),
  });
  expect(outcomes(await listening.heard(1))).toEqual([["order.created", "forwarded"]]);
  expect(got.length).toBe(1);
  await listening.stop();
  expect(() => harness.readState("journal.db")).toThrow(/ENOENT/);
});

test("the keys of listen: r replays the last event, d shows it with a shortened signature, q quits", async () => {
  const site = await openShop();
  const listening = await site.harness.launch(["listen", "--forward", HOOKS], { typed: [] });
  expect(listening.text().stdout).toMatch(/ r .*, d .*, q /);
  listening.press("dr");
  await eventually("both are refused", () => expect(listening.text().stderr).toMatch(/^.+\n.+\n$/));
  site.shop.answers = () => ({ status: 200, body: "taken \u001b[31m" });
  await site.order("order-1001");
  // The shop has the event before the listener can replay it.
  await eventually("the order is told", () => expect(listening.text().stdout).toMatch(/→ 200 {2}\d+ ms\n/));
  listening.press("\u001b[Ar");
  listening.press("rr");
  await eventually("the replay is told", () =>
    expect(listening.text().stdout).toMatch(/→ 200 {2}\d+ ms {2}\S+\n/),
  );
  expect(site.shop.got).toHaveLength(2);
  listening.press("d");
  await eventually("the answer is shown", () =>
    expect(listening.text().stderr).toContain("< 200\n< taken \\u{1b}[31m\n"),
  );
  const { stderr } = listening.text();
  expect(stderr).toContain('>   "type": "order.created",\n');
  expect(stderr).toMatch(/> Checkout-Signature: [0-9a-f]{8}…\n/);
  listening.press("q");
  const { code } = await listening.ended;
  expect(code).toBe(0);
  expect(
    (await site.control<{ endpoints: { state: string }[] }>("/endpoints")).data.endpoints[0]?.state,
  ).toBe("paused");
});

test("a stopped listener ends without waiting for a timer", async () => {
  const site = await openShop();
  const listening = await site.listen();
  await site.order();
  await listening.heard(1);
  const before = site.harness.clock.now();
  expect((await listening.stop()).code).toBe(0);
  expect(site.harness.clock.now()).toBe(before);
});

test("Ctrl-C as a key ends listen, and with --json keys are ignored", async () => {
  const site = await openShop();
  const first = await site.harness.launch(["listen"], { typed: [] });
  first.press("\u0003");
  expect((await first.ended).code).toBe(0);
  const second = await site.harness.launch(["listen", "--json"], { typed: [] });
  second.press("q");
  await site.order();
  await eventually("the order is told", () => expect(second.text().stdout).toContain('"no_target"'));
  expect((await second.stop()).code).toBe(0);
});

test("a listener polls the sandbox rarely, reports a change immediately, and does not delay the sandbox's stop", async () => {
  const site = await openShop();
  let asked = 0;
  site.harness.setFault((request, deliver) => {
    if (request.url.includes("/__sandbox/")) asked += 1;
    return deliver();
  });
  const listener = await site.listen();
  const before = asked;
  for (let seconds = 0; seconds < 120; seconds += 1) await site.beat();
  expect(asked - before).toBeGreaterThan(5);
  expect(asked - before).toBeLessThan(15);
  await site.control(`/endpoints/${listener.ready.endpoint_id ?? ""}/state`, { action: "disable" });
  for (let seconds = 0; seconds < 2; seconds += 1) await site.beat();
  expect(await listener.said(1)).toEqual(["disabled"]);
  await site.stop();
});

test("the sandbox's terminal shows every delivery, but no request to the control API", async () => {
  for (const format of ["text", "json"]) {
    const site = await openShop([...EPHEMERAL, "--log-format", format]);
    const listener = await site.listen();
    site.shop.answers = (number) => (number === 1 ? 503 : 204);
    await site.create("order-1");
    await listener.heard(1);
    await site.advance(5 * 60 * SECOND);
    await listener.heard(2);
    await site.harness.run(["orders", "list"]);
    const { stderr } = await site.stop();
    expect(stderr).not.toContain("__sandbox");
    const lines = stderr.trimEnd().split("\n");
    if (format === "text") {
      expect(lines[0]).toMatch(/ {2}201 {2}POST \/v1\/orders /);
      expect(lines.slice(1)).toEqual([
        expect.stringMatching(/^\S+ {2}→ POST \/ 503 order\.created \d+ ms\D+1$/),
        expect.stringMatching(/^\S+ {2}→ POST \/ 204 order\.created \d+ ms\D+2$/),
      ]);
    } else {
      const deliveries = lines.slice(1).map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(deliveries.map(({ status, attempt }) => [status, attempt])).toEqual([
        [503, 1],
        [204, 2],
      ]);
      expect(deliveries[0]).toEqual({
        time: expect.any(String) as string,
        delivery: "order.created",
        cause: "event",
        event_id: listener.deliveries()[0]?.event_id,
        url: listener.ready.url,
        status: 503,
        error: null,
        ms: expect.any(Number) as number,
        attempt: 1,
      });
    }
  }
});
