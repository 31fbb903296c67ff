import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import {
  CheckoutError,
  startSandbox,
  type CheckoutConfig,
  type Sandbox,
  type SandboxOptions,
} from "../../src/testing/testing.ts";
import { SEED, size } from "../support/campaign.ts";
import { createHarness } from "../support/harness.ts";
import { refusalMessage } from "../support/refusal-texts.ts";
import { inOrder } from "../support/in-order.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function start(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

const ORDER = {
  order_id: "order-1",
  amount_minor: 1999,
  currency: "EUR",
  payment_method: "alipay_plus",
} as const;

test("an order of the kit is created, paid and reported by a verified webhook, with and without a socket", async () => {
  for (const port of [0, null]) {
    const sandbox = await start({ port });
    const store = await sandbox.createStore({ name: "Shop" });
    const receiver = await store.receiver();
    const order = await store.orders.create(ORDER);
    expect(order).toMatchObject({ object: "order", status: "created", order_id: "order-1" });
    expect(await store.pay(order.id)).toMatchObject({ id: order.id, status: "succeeded" });
    const webhook = await receiver.waitFor("order.succeeded");
    expect(webhook).toMatchObject({ verified: true, problem: null, event: { data: { id: order.id } } });
    expect(await store.deliveries.waitFor("order.succeeded")).toMatchObject({ state: "succeeded", tries: 1 });
    const types = (await store.events.list()).map(({ type }) => type);
    expect(types).toEqual(["order.created", "order.pending", "order.succeeded"]);
    expect(await store.requests.list()).toMatchObject([
      { path: "/v1/orders", status: 201, orderId: "order-1" },
    ]);
    const send = port === null ? sandbox.fetch : fetch;
    const answer = await send(`${store.env["CHECKOUT_BASE_URL"]}/checkout-sessions/${order.id}`, {
      headers: { Authorization: `Bearer ${store.apiKey}` },
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { data: { id: order.id } }]);
    expect(String(await store.timeline("order-1"))).toContain("order.succeeded");
  }
});

test("the timeline of an order begins with the request that created it, also among entries of the same millisecond", async () => {
  const { store } = await start({ port: null });
  for (let count = 0; count < 20; count += 1) {
    const order = await store.orders.create({ ...ORDER, order_id: `order-${count}` });
    await store.orders.create({ ...ORDER, order_id: `order-${count}` }).catch(() => undefined);
    for (const id of [order.id, order.order_id]) {
      const told = (await store.timeline(id)).entries.map(({ text }) => text.replace(/, .*/, ""));
      expect(told[0]).toBe("POST /v1/orders: 201");
      // Entries of the same millisecond have no defined order.
      expect(told.toSorted()).toEqual([
        "POST /v1/orders: 201",
        "POST /v1/orders: 409 order_conflict",
        "order.created",
      ]);
    }
  }
});

test("a refused call of the kit throws a CheckoutError with the status, code and request id of the answer", async () => {
  const { store } = await start({ port: null });
  await store.orders.create(ORDER, { idempotencyKey: "the-first-key" });
  await expect(store.orders.create(ORDER)).rejects.toMatchObject({ status: 409, code: "order_conflict" });
  const refusals = [
    store.orders.create({ ...ORDER, amount_minor: 1 }, { idempotencyKey: "the-first-key" }),
    store.orders.create({ ...ORDER, amount_minor: -1 }),
    store.orders.get("00000000-0000-7000-8000-000000000000"),
    store.endpoints.add("http://shop.example/"),
    store.delete(),
  ];
  const seen = await Promise.all(refusals.map((one) => one.catch((error: unknown) => error)));
  expect(seen.every((one) => one instanceof CheckoutError && /^[0-9a-f-]{36}$/.test(one.requestId))).toBe(
    true,
  );
  expect(seen).toMatchObject([
    { status: 409, code: "idempotency_key_reused", name: "CheckoutError" },
    { status: 400, code: "invalid_parameter" },
    { status: 404, code: "session_not_found" },
    { status: 400, code: "invalid_parameter" },
    { status: 409, code: "state_conflict" },
  ]);
  expect(JSON.stringify(seen)).not.toContain(store.apiKey);
});

test("a wrong argument from an untyped caller throws a CheckoutError that names the argument", async () => {
  const sandbox = await start({ port: null });
  const { store } = sandbox;
  const bytes = await store.snapshot();
  const { id } = await store.orders.create(ORDER);
  const wrong: readonly (readonly [values: RegExp, call: () => Promise<unknown>])[] = [
    [inOrder('"order-2"'), () => store.pay("order-2")],
    [inOrder('"../x"'), () => store.orders.get("../x")],
    [inOrder('"x"'), () => store.faults.remove("x")],
    [/^outcome: /, () => store.pay(id, "paid" as "failed")],
    [/^action: /, () => store.faults.add({ action: "explode" as "status" })],
    [/^id: /, () => store.timeline(5 as unknown as string)],
    [
      inOrder("create: ", '"idempotency_key"', "idempotencyKey"),
      () => store.orders.create(ORDER, { idempotency_key: "key-number-1" } as object),
    ],
    [
      inOrder("create: idempotencyKey ", " 5"),
      () => store.sessions.create(ORDER, { idempotencyKey: 5 as unknown as string }),
    ],
    [
      inOrder("create: ", "idempotencyKey", '"key-number-1"'),
      () => store.orders.create(ORDER, "key-number-1" as unknown as object),
    ],
    [
      inOrder("receiver: ", '"event"', "answer, events"),
      () => store.receiver({ event: ["order.paid"] } as object),
    ],
    [inOrder("receiver: answer ", " 500"), () => store.receiver({ answer: 500 as unknown as () => number })],
    [
      inOrder("waitFor: ", '"timeout"', "timeoutMs"),
      () => store.events.waitFor("order.paid", { timeout: 1 } as object),
    ],
    [
      inOrder("waitFor: timeoutMs ", "2147483647", "NaN"),
      () => store.requests.waitFor("order.paid", { timeoutMs: Number.NaN }),
    ],
    [
      inOrder("list: ", '"typ"', "event_id, type,"),
      () => store.events.list({ typ: "order.created" } as object),
    ],
    [inOrder("list: ", '"data.order"', "data.id,"), () => store.events.list({ data: { order: "o" } })],
    [
      inOrder("list: ", '"endpoint"', "id, endpointId,"),
      () => store.deliveries.list({ endpoint: "x" } as object),
    ],
    [inOrder("waitFor: ", '"verb"', "requestId,"), () => store.requests.waitFor({ verb: "POST" } as object)],
    [
      inOrder("list: ", '"fault.what"', "fault.id, fault.action"),
      () => store.requests.list({ fault: { what: "reset" } } as object),
    ],
    [inOrder("list: ", '"order.created"'), () => store.events.list("order.created" as unknown as object)],
    [inOrder("waitFor: ", " 5"), () => store.deliveries.waitFor(5 as unknown as string)],
  ];
  for (const [values, call] of wrong)
    await expect(call()).rejects.toMatchObject({
      name: "CheckoutError",
      message: expect.stringMatching(values) as string,
    });
  expect([await store.endpoints.list(), (await store.requests.list()).length]).toEqual([[], 1]);
  const none = [null, undefined, "bytes", 5, {}, [1, 2], bytes.buffer];
  for (const one of none)
    for (const restore of [
      (what: Uint8Array) => store.restore(what),
      (what: Uint8Array) => sandbox.restore(what),
    ]) {
      const refused = restore(one as Uint8Array);
      const message = refusalMessage("snapshot_no_bytes");
      await expect(refused).rejects.toMatchObject({ name: "CheckoutError", status: 400, message });
    }
  await store.restore(Buffer.from(bytes));
});

test("a wait finds earlier and later entries, and lists the entries it saw if it times out", async () => {
  const { store } = await start({ port: null });
  const order = await store.orders.create(ORDER);
  expect(await store.events.waitFor("order.created")).toMatchObject({ data: { id: order.id } });
  const waits = [
    store.events.waitFor({ type: "order.succeeded", data: { order_id: "order-1" } }),
    store.events.waitFor(({ type }) => type === "order.pending"),
    store.requests.waitFor("POST /v1/checkout-sessions", { timeoutMs: 60_000 }),
    store.requests.waitFor({ orderId: "order-2" }, { timeoutMs: 60_000 }),
  ];
  await store.pay(order.id);
  await store.sessions.create({ order_id: "order-2", price_id: "price_coffee" });
  expect(await Promise.all(waits)).toMatchObject([
    { type: "order.succeeded" },
    { type: "order.pending" },
    { status: 201, orderId: "order-2" },
    { status: 201, orderId: "order-2" },
  ]);
  const late = store.events.waitFor("order.cancelled", { timeoutMs: 1 });
  const [head, ...lines] = (await late.then(String, String)).split("\n");
  expect(head).toMatch(inOrder("WaitError: ", '"order.cancelled"', " 1 ms", " 4 "));
  expect(lines).toEqual([
    expect.stringMatching(inOrder("order.created", "order-1")),
    expect.any(String),
    expect.stringMatching(inOrder("order.succeeded", "order-1")),
    expect.any(String),
  ]);
  await store.reset();
  const empty = store.events.waitFor("order.created", { timeoutMs: 0 });
  await expect(empty).rejects.toMatchObject({
    name: "WaitError",
    message: expect.stringMatching(/^.*"order\.created".*$/) as string,
  });
});

test("a receiver whose answer function returns no valid status reports the mistake in its answer and in the attempts", async () => {
  const { store } = await start({ port: null });
  for (const [at, [answer, values]] of (
    [
      [() => undefined, ["undefined", "200", "599"]],
      [() => "200", ['"200"', "599"]],
      [() => 99, ["99", "200", "599"]],
      [() => Promise.reject(new Error("out of order")), ["out of order"]],
    ] as const
  ).entries()) {
    const receiver = await store.receiver({ answer: answer as unknown as () => number });
    await store.orders.create({ ...ORDER, order_id: `order-${at}` });
    const { attempts } = await store.deliveries.waitFor(
      ({ endpointId, tries }) => endpointId === receiver.endpointId && tries === 1,
    );
    expect(attempts[0]).toMatchObject({
      status: 500,
      answer: expect.stringMatching(inOrder(...values)) as string,
    });
    await expect(receiver.waitFor({ typ: "x" } as object)).rejects.toThrow('waitFor: "typ" ');
    await expect(store.deliveries.waitFor("order.created", { timeoutMs: 0 })).rejects.toThrow(
      inOrder('"order.created"', " 0 ms", " 500 "),
    );
    await receiver.close();
  }
});

test("a receiver marks unsigned requests, and the receiver's answer decides whether a delivery is retried", async () => {
  const { store } = await start({ port: null });
  let answers = 0;
  const receiver = await store.receiver({ answer: () => ((answers += 1) === 1 ? 500 : 200) });
  const forged = await fetch(receiver.url, { method: "POST", body: "{}" });
  expect([forged.status, receiver.received]).toMatchObject([
    500,
    [{ verified: false, problem: "timestamp_missing" }],
  ]);
  answers = 0;
  await store.clock.freeze();
  await store.orders.create(ORDER);
  expect(await store.deliveries.waitFor(({ tries }) => tries === 1)).toMatchObject({ state: "due" });
  await store.clock.advance("1m");
  expect(await store.deliveries.waitFor("order.created")).toMatchObject({ tries: 2 });
  expect(receiver.received.map(({ type }) => type)).toEqual([null, "order.created", "order.created"]);
  await receiver.close();
  expect(await store.endpoints.list()).toEqual([]);
  await expect(fetch(receiver.url)).rejects.toThrow("fetch failed");
});

test("a store's clock in the kit is frozen at the start, moves on command, and returns to the start at a reset", async () => {
  const { store } = await start({ port: null, now: "2030-05-06T07:08:09Z", checkoutLifetime: "30m" });
  expect(await store.clock.now()).toEqual(new Date("2030-05-06T07:08:09Z"));
  const order = await store.orders.create(ORDER);
  expect(await store.clock.advance("30m")).toEqual(new Date("2030-05-06T07:38:09Z"));
  expect(await store.orders.get(order.id)).toMatchObject({ status: "expired" });
  expect(await store.clock.set("2031-01-01T00:00:00+01:00")).toEqual(new Date("2030-12-31T23:00:00Z"));
  await store.reset();
  expect(await store.clock.now()).toEqual(new Date("2030-05-06T07:08:09Z"));
  expect(Math.abs((await store.clock.real()).getTime() - Date.now())).toBeLessThan(3_600_000);
  await expect(store.clock.advance("soon")).rejects.toThrow(TypeError);
  await expect(store.clock.set("2031-01-01")).rejects.toThrow(TypeError);
});

test("startSandbox refuses an invalid option before it creates anything", async () => {
  const folder = join(tempFolder(), "state");
  const missing = join(tempFolder(), "none.json");
  const rows: readonly (readonly [object, RegExp])[] = [
    [{ ports: 1 }, inOrder("startSandbox: ports ", "state, port,")],
    [{ port: 70_000 }, inOrder("startSandbox: port ", "65535")],
    [{ rateLimit: "fast" }, inOrder("startSandbox: rateLimit ", "5/s")],
    [{ checkoutLifetime: "1s" }, inOrder("startSandbox: checkoutLifetime ", "5m", "24h")],
    [{ allowTargets: ["http://x"] }, inOrder("startSandbox: allowTargets")],
    [{ now: "today" }, inOrder("startSandbox: now ", '"today"')],
    [{ now: "2026-01-01T00:00:00" }, inOrder("startSandbox: now ", '"2026-01-01T00:00:00"')],
    [{ seed: "" }, inOrder("startSandbox: seed ")],
    [{ state: "disk" }, inOrder("startSandbox: state ", '"memory"')],
    [{ config: { sandbox: { rate: "5/s" } } }, inOrder("config:3:5: sandbox.rate: ")],
    [{ config: missing }, inOrder(missing)],
  ];
  for (const [wrong, values] of rows) {
    const started = startSandbox({ state: { folder }, ...wrong });
    await expect(started).rejects.toMatchObject({
      name: "StartError",
      message: expect.stringMatching(values) as string,
    });
  }
  expect(existsSync(folder)).toBe(false);
});

test("startSandbox sets up stores and settings from a configuration object or file", async () => {
  const config: CheckoutConfig = {
    sandbox: { checkout_lifetime: "5m", allow_hosts: ["shop.test"] },
    stores: [
      {
        id: "01890000-0000-7000-8000-000000000001",
        name: "Coffee",
        prices: [{ id: "price_tea", amount_minor: 300, currency: "EUR", payment_method: "alipay_plus" }],
      },
    ],
  };
  const path = join(tempFolder(), "checkout.config.json");
  writeFileSync(path, JSON.stringify(config));
  for (const given of [config, path]) {
    const sandbox = await start({ config: given, now: "2026-01-01T00:00:00Z", port: null });
    const { store } = sandbox;
    expect([store.id, store.name]).toEqual(["01890000-0000-7000-8000-000000000001", "Coffee"]);
    const order = await store.orders.create({ order_id: "o", price_id: "price_tea" });
    await store.clock.advance("5m");
    expect(await store.orders.get(order.id)).toMatchObject({ status: "expired", amount_minor: 300 });
    const mounted = await sandbox.handler(new Request("http://shop.test/v1/orders"));
    expect(mounted.status).toBe(405);
  }
});

test("the kit ignores the variables and the configuration file of the program that uses it, and writes nothing to stdout or stderr", async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, "checkout.config.json"), "no configuration");
  const program = `
    const { startSandbox } = require(${JSON.stringify(join(import.meta.dirname, "../../dist/testing.cjs"))});
    const before = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
    (async () => {
      const sandbox = await startSandbox({ state: { folder: "state" } });
      const store = await sandbox.createStore();
      const receiver = await store.receiver();
      const order = await store.orders.create(${JSON.stringify(ORDER)});
      await store.pay(order.id);
      await receiver.waitFor("order.succeeded");
      await fetch(store.env.CHECKOUT_BASE_URL + "/orders");
      const own = sandbox.store.apiKey !== process.env.CHECKOUT_SANDBOX_API_KEY;
      const after = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
      await sandbox.close();
      // A handle that is closed is listed for a turn or two.
      const left = () => process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap");
      for (let turn = 0; turn < 100 && left().length > 0; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      process.stdout.write(JSON.stringify({ own, same: String(before) === String(after), left: left(), exitCode: process.exitCode ?? null, mask: process.umask() }));
    })();
  `;
  const env = {
    ...process.env,
    CHECKOUT_SANDBOX_API_KEY: "not a key",
    CHECKOUT_SANDBOX_CONFIG: join(folder, "checkout.config.json"),
    CHECKOUT_DIR: "/nowhere",
  };
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", `process.umask(0o022);${program}`], {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([status, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toEqual({ own: true, same: true, left: [], exitCode: null, mask: 0o022 });
  expect(readdirSync(join(folder, "state"))).not.toContain("run.json");
});

test("the command line cannot use the folder of the kit's open sandbox, but the kit and the command line can use the folder in turn", async () => {
  const harness = createHarness();
  const folder = join(harness.cwd, ".checkout");
  const sandbox = await start({ state: { folder } });
  const order = await sandbox.store.orders.create(ORDER);
  const program = join(import.meta.dirname, "../../bin/checkout.cjs");
  const refused = spawnSync(process.execPath, [program, "sandbox", "start", "--json", "--dir", folder], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining("already_running")]);
  await sandbox.close();
  const started = await harness.start();
  expect(started.ready.api_key).toBe(sandbox.store.apiKey);
  expect((await started.request({ path: `/v1/checkout-sessions/${order.id}` })).status).toBe(200);
  await started.stop();
  const again = await start({ state: { folder } });
  expect(await again.store.orders.get(order.id)).toEqual({
    ...order,
    checkout_url: expect.any(String) as string,
  });
});

const STORES = size(100, 500);

test(`${STORES} concurrent stores do not see each other (seed ${SEED})`, async () => {
  const sandbox = await start({ port: null });
  const stores = await Promise.all(Array.from({ length: STORES }, () => sandbox.createStore()));
  expect(new Set(stores.flatMap(({ id, apiKey, signingSecret }) => [id, apiKey, signingSecret])).size).toBe(
    3 * STORES,
  );
  const acts = fc.array(fc.constantFrom("order", "session", "pay", "advance", "reset"), {
    minLength: 1,
    maxLength: 4,
  });
  const plans = fc.sample(acts, { numRuns: stores.length, seed: SEED });
  await Promise.all(
    stores.map(async (store, at) => {
      let expected: string[] = [];
      for (const [step, act] of (plans[at] ?? []).entries()) {
        const order_id = `${at}-${step}`;
        if (act === "reset") {
          await store.reset();
          expected = [];
        } else if (act === "advance") await store.clock.advance("1m");
        else {
          const made = await store[act === "session" ? "sessions" : "orders"].create({ ...ORDER, order_id });
          expected.push(`${made.object}.created ${order_id}`);
          if (act === "pay") await store.pay(made.id);
          if (act === "pay") expected.push(`order.pending ${order_id}`, `order.succeeded ${order_id}`);
        }
      }
      const events = await store.events.list();
      const told = events.map(
        (event) => `${event.type} ${event.type === "webhook.test" ? "" : event.data.order_id}`,
      );
      expect([told, events.every(({ store_id }) => store_id === store.id)]).toEqual([expected, true]);
      const requests = await store.requests.list();
      expect(requests.every(({ orderId }) => orderId?.startsWith(`${at}-`))).toBe(true);
    }),
  );
});

test("fetch and handler of the kit reach only the sandbox, and apply the sandbox's checks to requests", async () => {
  const sandbox = await start({ port: null });
  const { store, baseUrl } = sandbox;
  let asked = 0;
  const elsewhere = createServer(() => (asked += 1)).listen(0, "127.0.0.1");
  onTestFinished(() => void elsewhere.close());
  await new Promise((resolve) => elsewhere.once("listening", resolve));
  const address = elsewhere.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const foreign = await sandbox.fetch(`http://127.0.0.1:${port}/v1/orders`, {
    headers: { authorization: "Bearer x" },
  });
  expect([foreign.status, await foreign.json()]).toMatchObject([
    403,
    { error: { code: "host_not_allowed" } },
  ]);
  expect(
    (await sandbox.handler(new Request(`${baseUrl}/orders`, { headers: { host: "evil.example" } }))).status,
  ).toBe(403);
  expect(asked).toBe(0);
  const body = JSON.stringify({ ...ORDER, description: "x".repeat(20_000) });
  const large = await sandbox.fetch(`${baseUrl}/orders`, { method: "POST", body });
  expect([large.status, await large.json()]).toMatchObject([413, { error: { code: "body_too_large" } }]);
  const order = await store.orders.create(ORDER);
  const page = await sandbox.fetch(order.checkout_url);
  expect([page.status, page.headers.get("content-type"), await page.text()]).toMatchObject([
    200,
    expect.stringContaining("text/html"),
    expect.stringContaining("order-1"),
  ]);
  const aborted = AbortSignal.abort(new Error("enough"));
  await expect(sandbox.fetch(`${baseUrl}/orders`, { signal: aborted })).rejects.toThrow("enough");
  await expect(fetch(`${baseUrl}/orders`)).rejects.toThrow("fetch failed");
});

test("closing a sandbox ends its waits, and its deliveries that have no answer yet", async () => {
  const sandbox = await startSandbox({ port: 0 });
  const { port } = new URL(sandbox.origin);
  const receiver = await sandbox.store.receiver({ answer: () => new Promise(() => undefined) });
  const waits = [sandbox.store.events.waitFor("order.failed"), receiver.waitFor("order.failed")];
  const ended = Promise.allSettled(waits);
  await sandbox.store.orders.create(ORDER);
  await receiver.waitFor("order.created");
  await sandbox.close();
  await sandbox.close();
  expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(sandbox.store.orders.create(ORDER)).rejects.toMatchObject({ name: "Error" });
  await expect(sandbox.fetch("/healthz")).rejects.toThrow("fetch failed");
  for (const one of [port, new URL(receiver.url).port]) expect(await isOpen(Number(one))).toBe(false);
});

/** Whether a call was refused because its id is unknown. */
function isNotFound(error: unknown): boolean {
  return error instanceof CheckoutError && error.status === 404;
}

test("every call of a closed or closing sandbox fails, and says that the sandbox was closed", async () => {
  const calls: Readonly<Record<string, (sandbox: Sandbox) => Promise<unknown>>> = {
    instanceId: async (sandbox) => sandbox.instanceId,
    createStore: (sandbox) => sandbox.createStore(),
    snapshot: (sandbox) => sandbox.snapshot(),
    restore: async (sandbox) => sandbox.restore(whole),
    reset: (sandbox) => sandbox.reset(),
    create: ({ store }) => store.orders.create(ORDER),
    get: ({ store }) => store.orders.get(store.id),
    clock: ({ store }) => store.clock.now(),
    "store.snapshot": ({ store }) => store.snapshot(),
    "store.restore": ({ store }) => store.restore(whole),
    "events.list": ({ store }) => store.events.list(),
    "requests.waitFor": ({ store }) => store.requests.waitFor("GET /"),
    receiver: ({ store }) => store.receiver(),
    timeline: ({ store }) => store.timeline(store.id),
  };
  const config = { stores: [{ id: "01890000-0000-7000-8000-000000000001", name: "Coffee" }] };
  const whole = await (await start({ port: null, config })).snapshot();
  for (const [name, call] of Object.entries(calls)) {
    const sandbox = await startSandbox({ port: null, config });
    // A call in progress may still succeed, or be refused because its id does not exist.
    const ends = async (): Promise<string> =>
      call(sandbox).then(
        () => "done",
        (error: unknown) => (isNotFound(error) ? "done" : String(error)),
      );
    const begun = ends();
    const closing = sandbox.close();
    const ended = [await begun, await ends(), await closing.then(ends)];
    const closed = expect.stringMatching(/^(Wait)?Error: /) as string;
    expect([name, ended]).toEqual([name, [ended[0] === "done" ? "done" : closed, closed, closed]]);
  }
});

test("a receiver ends when it or its sandbox is closed, whatever deletions and restores its store had", async () => {
  const acts = ["close", "delete", "restore", "restore all", "dispose", "receiver"] as const;
  const plans = fc.array(fc.constantFrom(...acts), { minLength: 1, maxLength: 6 });
  for (const plan of fc.sample(plans, { numRuns: size(30, 300), seed: SEED })) {
    const sandbox = await startSandbox({ port: null });
    const store = await sandbox.createStore();
    const [snapshot, whole] = [await store.snapshot(), await sandbox.snapshot()];
    const receivers = [await store.receiver()];
    for (const act of plan) {
      if (act === "receiver") await store.receiver().then((one) => receivers.push(one), expectNotFound);
      if (act === "close") for (const one of receivers) await one.close();
      if (act === "delete") await store.delete().catch(expectNotFound);
      if (act === "restore") await store.restore(snapshot);
      if (act === "restore all") await sandbox.restore(whole);
      if (act === "dispose") for (const one of receivers) await one[Symbol.asyncDispose]();
      const isClosed = ["close", "dispose"].includes(act);
      if (isClosed)
        for (const { url } of receivers)
          expect([plan, await isOpen(Number(new URL(url).port))]).toEqual([plan, false]);
    }
    await sandbox.close();
    for (const receiver of receivers) {
      expect([plan, await isOpen(Number(new URL(receiver.url).port))]).toEqual([plan, false]);
      await receiver.close();
    }
  }
});

function expectNotFound(error: unknown): void {
  expect(error).toMatchObject({ name: "CheckoutError", code: "not_found" });
}

test("await using deletes a created store, resets the first store and closes the sandbox", async () => {
  const sandbox = await startSandbox({ port: null });
  const store = await sandbox.createStore();
  const receiver = await store.receiver();
  await store[Symbol.asyncDispose]();
  await expect(store.events.list()).rejects.toMatchObject({ status: 404 });
  expect(await isOpen(Number(new URL(receiver.url).port))).toBe(false);
  await store[Symbol.asyncDispose]();
  await sandbox.store.orders.create(ORDER);
  await sandbox.store[Symbol.asyncDispose]();
  expect(await sandbox.store.events.list()).toEqual([]);
  await sandbox[Symbol.asyncDispose]();
  await expect(sandbox.createStore()).rejects.toMatchObject({ name: "Error" });
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
