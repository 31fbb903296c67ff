import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { insertion } from "../support/rows.ts";

const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;
const createOrder = (orderId: string): string[] => [
  "orders",
  "create",
  "--order-id",
  orderId,
  "--price-id",
  "price_bento",
  "--json",
];

async function idOf(harness: Harness, orderId: string): Promise<string> {
  return (await harness.order(orderId, "price_bento")).id;
}

async function statusOf(harness: Harness, id: string): Promise<string> {
  return (json((await harness.run(["sessions", "get", id, "--json"])).stdout) as { data: { status: string } })
    .data.status;
}

/** The events of a checkout, as `type sequence previous_status`. */
function eventsOf(harness: Harness, id: string): string[] {
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"), { readonly: true });
  const bodies = database
    .prepare<[string], string>("SELECT body FROM events WHERE checkout_id = ? ORDER BY sequence")
    .pluck()
    .all(id);
  database.close();
  return bodies.map((body) => {
    const { type, sequence, previous_status: before } = json(body);
    return `${String(type)} ${String(sequence)} ${String(before)}`;
  });
}

test("sandbox pay simulates every outcome with its events, and refuses impossible outcomes", async () => {
  const rows = [
    [
      "succeeded",
      ["succeeded"],
      ["order.created 1 null", "order.pending 2 created", "order.succeeded 3 pending"],
    ],
    ["failed", ["failed"], ["order.created 1 null", "order.pending 2 created", "order.failed 3 pending"]],
    ["cancelled", ["cancelled"], ["order.created 1 null", "order.cancelled 2 created"]],
    ["expired", ["expired"], ["order.created 1 null", "order.expired 2 created"]],
    [
      "succeeded",
      ["declined", "declined", "succeeded"],
      ["order.created 1 null", "order.pending 2 created", "order.succeeded 3 pending"],
    ],
    [
      "failed",
      ["declined", "declined", "declined", "declined", "declined"],
      ["order.created 1 null", "order.pending 2 created", "order.failed 3 pending"],
    ],
  ] as const;
  const harness = createHarness();
  await harness.start();
  for (const [index, [final, outcomes, events]] of rows.entries()) {
    const id = await idOf(harness, `order-${index}`);
    for (const outcome of outcomes) {
      const paid = await harness.run(["sandbox", "pay", id, "--outcome", outcome, "--json"]);
      expect([outcome, paid.code]).toEqual([outcome, 0]);
    }
    expect([await statusOf(harness, id), eventsOf(harness, id)]).toEqual([final, [...events]]);
    const again = await harness.run([
      "sandbox",
      "pay",
      id,
      "--outcome",
      final === "cancelled" ? "expired" : "cancelled",
    ]);
    expect([again.code, eventsOf(harness, id).length]).toEqual([5, events.length]);
  }
});

test("a payment result after the checkout has expired is recorded and never applied", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const id = await idOf(harness, "order-1");
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  // The payer is in the wallet, with an open attempt.
  database.exec(`UPDATE checkouts SET status = 'pending'; ${insertion("attempts", { checkout_id: id })}`);
  await harness.run(["sandbox", "clock", "advance", "61m"]);
  expect(await statusOf(harness, id)).toBe("expired");
  const late = json((await harness.run(["sandbox", "pay", id, "--outcome", "succeeded", "--json"])).stdout);
  expect(late).toMatchObject({ status: "expired", late: true, moves: [] });
  expect(database.prepare("SELECT attempt, result FROM late_results").all()).toEqual([
    { attempt: 1, result: "succeeded" },
  ]);
  database.close();
  await sandbox.stop();
});

test("sandbox clock advance does due work at its due time, and prints the changes in chronological order", async () => {
  const harness = createHarness();
  await harness.start();
  const first = await idOf(harness, "order-1");
  harness.clock.advance(60_000);
  await idOf(harness, "order-2~failed");
  await harness.run(["sandbox", "clock", "freeze"]);
  const moved = json((await harness.run(["sandbox", "clock", "advance", "2h", "--json"])).stdout);
  const fired = (moved["fired"] as { at: string; order_id: string; from: string; to: string }[]).map(
    ({ at, order_id: orderId, from, to }) => `${at.slice(11, 19)} ${orderId} ${from} ${to}`,
  );
  expect(fired).toEqual([
    "12:01:01 order-2~failed created pending",
    "12:01:01 order-2~failed pending failed",
    "13:00:00 order-1 created expired",
  ]);
  expect(moved).toMatchObject({ frozen: true });
  expect(await statusOf(harness, first)).toBe("expired");
});

test("a checkout expires by a timer, when it is read, after downtime, and after the clock was set back", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const byTimer = await idOf(harness, "order-1");
  harness.clock.advance(3_600_000);
  await eventually("the timer has rung", () => expect(eventsOf(harness, byTimer)).toHaveLength(2));

  const whileDown = await idOf(harness, "order-2");
  await sandbox.stop();
  harness.clock.advance(7_200_000);
  await harness.start();
  expect(eventsOf(harness, whileDown)).toEqual(["order.created 1 null", "order.expired 2 created"]);

  const later = await idOf(harness, "order-3");
  await harness.run(["sandbox", "clock", "advance", "30m"]);
  await harness.run(["sandbox", "clock", "real"]);
  expect(await statusOf(harness, later)).toBe("created");
  harness.clock.advance(3_600_000);
  expect(await statusOf(harness, later)).toBe("expired");
  const anew = json((await harness.run([...createOrder("order-3"), "--new-attempt"])).stdout);
  expect(anew).toMatchObject({ replayed: false });
});

test("an order can be created again only if it ended without a payment", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const createAgain = async (orderId: string): Promise<string> => {
    const { status, body } = await sandbox.request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": `again-${orderId}` },
      body: JSON.stringify({ order_id: orderId, price_id: "price_bento" }),
    });
    const { error } = json(String(body)) as { readonly error?: { readonly code: string } };
    return `${status} ${error?.code ?? "created"}`;
  };
  await idOf(harness, "open");
  expect(await createAgain("open")).toBe("409 order_conflict");
  for (const [outcome, expected] of [
    ["succeeded", "409 order_conflict"],
    ["failed", "201 created"],
    ["cancelled", "201 created"],
  ] as const) {
    const id = await idOf(harness, outcome);
    expect((await harness.run(["sandbox", "pay", id, "--outcome", outcome])).code).toBe(0);
    expect([outcome, await createAgain(outcome)]).toEqual([outcome, expected]);
  }
});

test("--checkout-lifetime applies to checkouts that are created after the start", async () => {
  const harness = createHarness();
  const hour = await harness.start();
  const before = await idOf(harness, "order-1");
  await hour.stop();

  const short = await harness.start(["--checkout-lifetime", "5m"]);
  await harness.run(["sandbox", "clock", "freeze"]);
  const id = await idOf(harness, "order-2");
  const fired = async (span: string): Promise<unknown> => {
    const moved = await harness.run(["sandbox", "clock", "advance", span, "--json"]);
    return (json(moved.stdout)["fired"] as { order_id: string; to: string }[]).map(
      ({ order_id: orderId, to }) => `${orderId} ${to}`,
    );
  };
  expect([await fired("299999ms"), await statusOf(harness, id)]).toEqual([[], "created"]);
  expect([await fired("1ms"), await statusOf(harness, id)]).toEqual([["order-2 expired"], "expired"]);
  await idOf(harness, "order-3");
  expect(await fired("5m")).toEqual(["order-3 expired"]);
  expect(await statusOf(harness, before)).toBe("created");
  await short.stop();

  const env = { CHECKOUT_SANDBOX_CHECKOUT_LIFETIME: "24h" };
  await harness.start([], { env });
  await idOf(harness, "order-4");
  expect(await fired("86399999ms")).toEqual(["order-1 expired"]);
  expect(await fired("1ms")).toEqual(["order-4 expired"]);
});

test("an order with a reserved order_id gets its outcome automatically after a second, even if the sandbox was stopped", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  const outcomes = ["succeeded", "failed", "cancelled", "expired", "declined"] as const;
  const ids = new Map<string, string>();
  for (const outcome of outcomes) ids.set(outcome, await idOf(harness, `order~${outcome}`));
  for (const [, id] of ids) expect(await statusOf(harness, id)).toBe("created");
  await sandbox.stop();
  harness.clock.advance(1000);
  await harness.start();
  const settled = await Promise.all(
    [...ids].map(async ([outcome, id]) => [outcome, await statusOf(harness, id)]),
  );
  expect(settled).toEqual([
    ["succeeded", "succeeded"],
    ["failed", "failed"],
    ["cancelled", "cancelled"],
    ["expired", "expired"],
    ["declined", "pending"],
  ]);
});

test("a create with --wait prints the awaited status, or exits with the reason why it was not reached", async () => {
  const harness = createHarness();
  await harness.start();
  const wait = async (orderId: string, ...more: string[]) => {
    const result = await harness.run([...createOrder(orderId), "--wait", ...more]);
    const said = json(result.stdout || result.stderr) as {
      data?: { status: string };
      error?: { code: string };
    };
    return `${result.code} ${said.data?.status ?? said.error?.code ?? ""}`;
  };
  expect(await wait("order-1~succeeded")).toBe("0 succeeded");
  expect(await wait("order-2~failed")).toBe("0 failed");
  expect(await wait("order-3~succeeded", "--until", "succeeded")).toBe("0 succeeded");
  expect(await wait("order-4~failed", "--until", "succeeded")).toBe("1 ended_otherwise");
  expect(await wait("order-5~declined", "--until", "pending")).toBe("0 pending");
  expect(await wait("order-6", "--timeout", "3s")).toBe("7 wait_timeout");
  const id = await idOf(harness, "order-7~cancelled");
  const got = await harness.run(["sessions", "get", id, "--wait", "--json"]);
  expect([got.code, json(got.stdout)]).toMatchObject([0, { data: { id, status: "cancelled" } }]);
  expect((await harness.run(["sessions", "get", id, "--until", "final"])).code).toBe(2);
});

test("due work is done in chronological order, whichever request notices the due work", async () => {
  const harness = createHarness();
  const sandbox = await harness.start();
  await harness.run(["sandbox", "clock", "freeze"]);
  const read = await idOf(harness, "order-1~succeeded");
  const created = await idOf(harness, "order-2~failed");
  const database = new Database(join(harness.cwd, ".checkout/sandbox.db"));
  database.exec("UPDATE stores SET clock_frozen_at = clock_frozen_at + 7200000");
  database.close();
  // The store's clock is cached for 50 ms.
  harness.clock.advance(50);
  expect(await statusOf(harness, read)).toBe("succeeded");
  expect(eventsOf(harness, created)).toHaveLength(1);
  const late = await harness.run(["sandbox", "pay", created, "--outcome", "cancelled", "--json"]);
  expect(late.code).toBe(5);
  expect(eventsOf(harness, created).at(-1)).toBe("order.failed 3 pending");
  await sandbox.stop();
});

test("sandbox clock advance does all work that becomes due, even for 1,500 orders", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--rate-limit", "off", "--quiet"]);
  await harness.run(["sandbox", "clock", "freeze"]);
  const orders = 1500;
  const sent = Array.from({ length: orders }, (_, index) =>
    sandbox.request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": `bulk-key-${index}` },
      body: JSON.stringify({ order_id: `order-${index}~cancelled`, price_id: "price_bento" }),
    }),
  );
  await Promise.all(sent);
  const moved = json((await harness.run(["sandbox", "clock", "advance", "2s", "--json"])).stdout);
  expect((moved["fired"] as unknown[]).length).toBe(orders);
});

test("orders create --wait still reports the created order if the wait fails, and ends at its timeout", async () => {
  const harness = createHarness();
  await harness.start();
  const began = harness.clock.now();
  harness.setFault((request, pass) =>
    request.method === "POST"
      ? pass()
      : Promise.resolve({ ok: false, failure: "connection_lost", message: "socket hang up" }),
  );
  const result = await harness.run([
    ...createOrder("order-1"),
    "--wait",
    "--timeout",
    "2s",
    "--retries",
    "50",
  ]);
  expect([result.code, result.stdout]).toEqual([7, ""]);
  expect(json(result.stderr)).toMatchObject({
    error: { code: "wait_timeout" },
    id: expect.any(String) as string,
    idempotency_key: expect.any(String) as string,
  });
  expect(harness.clock.now() - began).toBeLessThan(8000);
});

test("concurrent moves of a store's clock are all applied, and reading the clock changes nothing", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(["--quiet"]);
  const { control_token: token } = JSON.parse(harness.readState("run.json")) as {
    readonly control_token: string;
  };
  const clock = async (body?: object): Promise<{ readonly now: string; readonly frozen: boolean }> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await sandbox.request({ path: "/__sandbox/stores/default/clock", headers, ...sent });
    return (
      JSON.parse(String(answer.body)) as { readonly data: { readonly now: string; readonly frozen: boolean } }
    ).data;
  };
  const advance = { action: "advance", by_ms: 600_000 };
  const before = Date.parse((await clock()).now);
  await Promise.all([
    clock(advance),
    clock(),
    clock(advance),
    clock({ action: "freeze" }),
    clock(advance),
    clock(),
  ]);
  const after = await clock();
  expect([Date.parse(after.now) - before, after.frozen]).toEqual([1_800_000, true]);
});
