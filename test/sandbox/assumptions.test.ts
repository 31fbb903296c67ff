import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { ASSUMPTIONS } from "../../src/core/calibration/assumptions.ts";
import type { FullAnswer } from "../support/harness.ts";
import { installClient, rightClient } from "../support/shop-clients.ts";
import { createHarness, type ApiCall, type Harness } from "../support/harness.ts";
import type { WireAnswerOf } from "../support/wire.ts";
import { inOrder } from "../support/in-order.ts";
import { english, type Words } from "../../src/core/language.ts";

const AMOUNT = { amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" };

type Reliance = { readonly since: string; readonly request_id: string };

/** The used assumptions, by decision number. */
async function used(harness: Harness): Promise<Record<number, Reliance>> {
  const { stdout } = await harness.run(["assumptions", "--used", "--json"]);
  const { assumptions } = JSON.parse(stdout) as {
    readonly assumptions: WireAnswerOf<"assumptions">["assumptions"];
  };
  return Object.fromEntries(
    assumptions.map(({ decision, relied_on: reliance }) => [
      decision,
      reliance ?? { since: "", request_id: "" },
    ]),
  );
}

/** A sandbox, and functions that send a request and create an order with a new idempotency key. */
async function shop(args: readonly string[] = []) {
  const harness = createHarness();
  const sandbox = await harness.start(args);
  let keys = 0;
  const send = async (call: Partial<ApiCall> & Pick<ApiCall, "path">) => {
    const answer = await sandbox.request(call);
    return { ...answer, requestId: answer.headers["X-Request-Id"] ?? "" };
  };
  const create = (body: object, headers: Record<string, string> = {}, path = "/v1/orders") =>
    send({
      path,
      headers: { "Idempotency-Key": `key-number-${(keys += 1)}`, ...headers },
      body: JSON.stringify(body),
    });
  return { harness, sandbox, send, create };
}

type Shop = Awaited<ReturnType<typeof shop>>;

function idOf({ body }: Pick<FullAnswer, "body">): string {
  return (JSON.parse(String(body)) as { data: { id: string } }).data.id;
}

test("the assumptions are the decisions of docs/decisions.md about gaps of the interface and about tools", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/decisions.md"), "utf8");
  const headings = [...text.matchAll(/^\*\*(\d+)\. (.+?)\.?\*\*/gm)].map(([, number, title]) => ({
    decision: Number(number),
    title,
  }));
  const tools = new Set([37, 38, 88]);
  expect(ASSUMPTIONS.map(({ decision, title: [title] }) => ({ decision, title }))).toEqual(
    headings.filter(({ decision }) => decision <= 20 || tools.has(decision)),
  );
  expect(ASSUMPTIONS).toHaveLength(23);
});

test("every command and option that an assumption names as its setting exists", async () => {
  const harness = createHarness();
  const typed = ASSUMPTIONS.flatMap(({ setting }) => setting ?? []).flatMap((setting) => {
    const [, words = "", flags = ""] = /^([a-z -]+?)((?: <| --).*|)$/.exec(setting) ?? [];
    const isCommand = /^(sandbox|endpoints|return-origins)/.test(words);
    return isCommand ? [{ words: words.split(" "), flags: flags.match(/--[a-z-]+/g) ?? [] }] : [];
  });
  expect(typed.length).toBeGreaterThanOrEqual(8);
  for (const { words, flags } of typed) {
    const { code, stdout } = await harness.run([...words, "--help"]);
    expect([words, code]).toEqual([words, 0]);
    for (const flag of flags) expect(stdout).toContain(`${flag} `);
  }
});

test("the assumption about return paths counts as used when the payer acts on a page that links to a path other than /", async () => {
  for (const [path, relied] of [
    ["/", [19]],
    ["/thanks", [19, 88]],
  ] as const) {
    const { harness, send, create } = await shop();
    await harness.run(["return-origins", "add", "http://localhost:3000", "--path", path]);
    await harness.run(["return-origins", "add", "http://localhost:4000", "--path", "/other"]);
    const order = idOf(await create({ order_id: "order-1", ...AMOUNT }));
    const page = await send({ path: `/pay/${order}`, headers: { Accept: "text/html" } });
    const [, token = ""] = /name="token" value="([^"]+)"/.exec(String(page.body)) ?? [];
    const back = `http://localhost:3000${path}?order_id=order-1&amp;session_id=${order}`;
    expect(String(page.body)).toContain(`href="${back}"`);
    expect(await used(harness)).toEqual({});
    const cancelled = await send({
      path: `/pay/${order}/cancel`,
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" },
      body: `token=${token}`,
    });
    expect(cancelled.status).toBe(303);
    expect(Object.keys(await used(harness)).map(Number)).toEqual(relied);
  }
});

test("an answer that relies only on statements of the interface records no assumption", async () => {
  const { harness, send, create } = await shop();
  const session = await create({ order_id: "order-1", ...AMOUNT }, {}, "/v1/checkout-sessions");
  expect((await send({ path: `/v1/checkout-sessions/${idOf(session)}` })).status).toBe(200);
  expect((await create({ order_id: "order-2", ...AMOUNT })).status).toBe(201);
  expect(await used(harness)).toEqual({});
});

test("an assumption is recorded once, with the first request that relied on it", async () => {
  const { harness, send, create } = await shop();
  const noted: Record<number, Reliance> = {};
  const check = async (
    decisions: readonly number[],
    answer: { readonly status: number; readonly requestId: string },
    status: number,
  ): Promise<void> => {
    expect([decisions, answer.status]).toEqual([decisions, status]);
    const since = new Date(harness.clock.now()).toISOString();
    for (const decision of decisions) noted[decision] = { since, request_id: answer.requestId };
    expect(await used(harness)).toEqual(noted);
    harness.clock.advance(1000);
  };
  const order = { order_id: "order-1", price_id: "price_coffee" };
  const first = await create(order, { "Idempotency-Key": "the-first-key" });
  await check([7], first, 201);
  await check([], await create({ ...order, order_id: "order-2" }), 201);
  await check([4, 8], await create(order), 409);
  await check([9], await send({ path: `/v1/checkout-sessions/${idOf(first)}` }), 200);
  await check([37], await create({ order_id: "order-3~succeeded", ...AMOUNT }), 201);
  await check(
    [6],
    await send({ path: "/v1/orders", headers: { "Content-Type": "text/plain" }, body: "x" }),
    400,
  );

  // The answer to a replay has the first request's id; the record has the replay's own id, which no answer had.
  const replay = await create(order, { "Idempotency-Key": "the-first-key" });
  const now = await used(harness);
  expect([replay.status, now[5]?.since]).toEqual([201, new Date(harness.clock.now()).toISOString()]);
  expect(now[5]?.request_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(now[5]?.request_id).not.toBe(replay.requestId);

  const before = await used(harness);
  await send({ path: "/v1/orders", headers: { Authorization: "Bearer nobody" }, body: "{}" });
  await send({ path: "/v1/nothing" });
  expect(Object.keys(await used(harness))).toEqual(Object.keys(before));
});

test("a refusal records the assumptions that it relied on", async () => {
  const check = async (
    decisions: readonly number[],
    code: string,
    act: (site: Shop) => Promise<FullAnswer>,
    args: readonly string[] = [],
  ): Promise<void> => {
    const site = await shop(args);
    const { body } = await act(site);
    const refused = JSON.parse(String(body)) as { readonly error: { readonly code: string } };
    expect([refused.error.code, Object.keys(await used(site.harness)).map(Number)]).toEqual([
      code,
      decisions,
    ]);
    await site.sandbox.stop();
  };
  const order = { order_id: "order-1", ...AMOUNT };
  const unknown = "/v1/checkout-sessions/00000000-0000-7000-8000-00000000ffff";
  await check([4], "missing_parameter", ({ create }) => create({ order_id: "order-1" }));
  await check([4, 6], "invalid_json", ({ send }) =>
    send({ path: "/v1/orders", headers: { "Idempotency-Key": "key-number-1" }, body: "{" }),
  );
  await check([4, 7], "conflicting_parameters", ({ create }) =>
    create({ ...order, price_id: "price_coffee" }),
  );
  await check([4, 9], "session_not_found", ({ send }) => send({ path: unknown }));
  await check(
    [4, 17],
    "rate_limited",
    async ({ send }) => {
      await send({ path: "/v1/orders", body: "{}" });
      await send({ path: "/v1/orders", body: "{}" });
      return send({ path: "/v1/orders", body: "{}" });
    },
    ["--rate-limit", "1/s"],
  );
  await check([4, 5], "idempotency_key_reused", async ({ create }) => {
    await create(order, { "Idempotency-Key": "key-number-9" });
    return create({ ...order, amount_minor: 1 }, { "Idempotency-Key": "key-number-9" });
  });
  await check([4, 15], "scope_missing", async ({ harness, create }) => {
    const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
    database.exec("UPDATE credentials SET scopes = 'checkout_sessions:read'");
    database.close();
    return create(order);
  });
});

test("assumptions about payments, clocks, deliveries and returns are recorded with the id of a checkout, event or request", async () => {
  const { harness, sandbox, send, create } = await shop();
  const check = async (expected: readonly number[]): Promise<Record<number, Reliance>> => {
    const now = await used(harness);
    expect(Object.keys(now).map(Number)).toEqual(expected);
    return now;
  };
  const order = idOf(await create({ order_id: "order-1", ...AMOUNT }));
  await harness.run(["sandbox", "pay", order, "--outcome", "succeeded"]);
  await check([38]);
  const second = idOf(await create({ order_id: "order-2", ...AMOUNT }));
  await harness.run(["sandbox", "pay", second, "--outcome", "declined"]);
  expect((await check([10, 38]))[10]?.request_id).toBe(second);
  await harness.run(["sandbox", "clock"]);
  await check([10, 38]);
  await harness.run(["sandbox", "clock", "advance", "1m"]);
  await check([10, 18, 38]);

  const third = idOf(await create({ order_id: "order-2b", ...AMOUNT }));
  const path = `/pay/${third}`;
  await harness.run(["return-origins", "add", "http://localhost:3000"]);
  const shown = await send({ path, headers: { Accept: "text/html" } });
  expect(shown.status).toBe(200);
  await check([10, 18, 38]);
  const [, token = ""] = /name="token" value="([^"]+)"/.exec(String(shown.body)) ?? [];
  const started = await send({
    path: `${path}/start`,
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin" },
    body: `token=${token}`,
  });
  expect(started.status).toBe(303);
  expect((await check([10, 18, 19, 38]))[19]?.request_id).toBe(started.requestId);

  let answer = 500;
  const receiver = {
    answer: () => Promise.resolve({ status: answer, headers: {}, body: "" }),
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  };
  harness.occupy(3000, receiver);
  await harness.run(["endpoints", "add", "http://localhost:3000/hooks"]);
  await create({ order_id: "order-3", ...AMOUNT });
  await harness.run(["sandbox", "clock", "advance", "1ms"]);
  await check([10, 18, 19, 38]);
  answer = 200;
  await create({ order_id: "order-4", ...AMOUNT });
  await harness.run(["sandbox", "clock", "advance", "1ms"]);
  const taken = await check([10, 11, 12, 18, 19, 38]);
  await harness.run(["sandbox", "clock", "advance", "1m"]);
  const later = await check([10, 11, 12, 13, 18, 19, 38]);
  const { stdout } = await harness.run(["events", "list", "--type", "order.created", "--json"]);
  const events = (JSON.parse(stdout) as { events: { event_id: string; body: string }[] }).events;
  const eventOf = (orderId: string) => events.find(({ body }) => body.includes(orderId))?.event_id;
  expect(taken[11]?.request_id).toBe(eventOf("order-4"));
  expect(taken[12]).toEqual(taken[11]);
  expect(later[13]?.request_id).toBe(eventOf("order-3"));

  await sandbox.stop();
  await harness.start();
  expect(await used(harness)).toEqual(later);
});

test("a checkout that expires by itself records the assumption about expiry", async () => {
  const { harness, create } = await shop(["--checkout-lifetime", "5m"]);
  const id = idOf(await create({ order_id: "order-1", ...AMOUNT }));
  await harness.run(["sandbox", "clock", "advance", "5m"]);
  expect((await used(harness))[10]).toMatchObject({ request_id: id });
});

test("a read does not wait for the record of its assumption, and a locked database loses no record", async () => {
  const { harness, send, create } = await shop();
  const id = idOf(await create({ order_id: "order-1", ...AMOUNT }));
  const lock = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  lock.exec("BEGIN IMMEDIATE");
  const got = await send({ path: `/v1/checkout-sessions/${id}` });
  expect(got.status).toBe(200);
  lock.exec("ROLLBACK");
  lock.close();
  await new Promise((resolve) => setImmediate(resolve));
  harness.clock.advance(5);
  expect((await used(harness))[9]).toMatchObject({ request_id: got.requestId });
});

test("the record of an assumption that could not be written is written when the assumptions are next read", async () => {
  const { harness, send, create } = await shop();
  const id = idOf(await create({ order_id: "order-1", ...AMOUNT }));
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  database.exec(`CREATE TRIGGER full BEFORE INSERT ON assumption_uses
    BEGIN SELECT RAISE(ABORT, 'full'); END`);
  const got = await send({ path: `/v1/checkout-sessions/${id}` });
  expect(await used(harness)).toEqual({});
  database.exec("DROP TRIGGER full");
  database.close();
  expect((await used(harness))[9]).toMatchObject({ request_id: got.requestId });
});

/** The text that says how the sandbox saw that an assumption was relied on. */
function shownBy(decision: number): Words {
  return ASSUMPTIONS.find((assumption) => assumption.decision === decision)?.shownBy ?? ["", ""];
}

test("checkout assumptions shows each choice, its setting and the first request that relied on it", async () => {
  const { harness, sandbox, create } = await shop();
  const { requestId } = await create({ order_id: "order-1", price_id: "price_coffee" });
  const { stdout } = await harness.run(["assumptions"]);
  expect(stdout.match(/^[✓ ] [ \d]\d {2}\S/gm)).toHaveLength(23);
  // Each assumption begins with its mark and its number.
  const blocks = stdout.split(/^(?=[✓ ] [ \d]\d {2}\S)/m);
  const blockOf = (decision: number): string =>
    blocks.find((block) => Number(block.slice(1, 4)) === decision) ?? "";
  for (const { decision, title, chosen, setting } of ASSUMPTIONS)
    expect(blockOf(decision)).toMatch(inOrder(english(title), english(chosen), setting ?? ""));
  const [, , usedLine = ""] = blockOf(7).split("\n");
  expect([blockOf(7)[0], usedLine]).toEqual([
    "✓",
    expect.stringMatching(inOrder("2026-01-15T12:00:00.000Z", english(shownBy(7)), requestId)),
  ]);
  expect(blockOf(8)).toMatch(/^ /);
  const only = await harness.run(["assumptions", "--used"]);
  expect(only.stdout.split("\n")).toHaveLength(4);
  await sandbox.stop();
  expect((await harness.run(["assumptions"])).code).toBe(7);
});

test("an answer that a drill's fault produced records no assumption", async () => {
  const { harness } = await shop();
  installClient(harness, rightClient);
  const drilled = await harness.run(["checklist", "run", "idempotency", "--client-command", "client"]);
  expect(drilled.code).toBe(0);
  expect(Object.keys(await used(harness))).toEqual(["5"]);
});
