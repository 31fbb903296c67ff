import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { API_ACTIONS, type ApiAction } from "../../src/core/fault/actions.ts";
import { matchesWildcard } from "../../src/core/fault/fault.ts";
import { FAULT_PROFILES } from "../../src/core/fault/actions.ts";
import { createHarness, EPHEMERAL, type Harness, type RunningSandbox } from "../support/harness.ts";
import { openWebhookSite } from "../support/webhook-site.ts";
import { inOrder } from "../support/in-order.ts";
import { refusalMessage } from "../support/refusal-texts.ts";
import { faultReason } from "../../src/core/fault/fault.ts";
import { storageFailure } from "../../src/store/connection/storage-failure.ts";

type Refusal = { readonly error?: { readonly code: string; readonly message: string } };
type FaultLine = {
  readonly id: string;
  readonly action: string;
  readonly matched: number;
  readonly applied: number;
};
type RequestLine = { readonly request_id: string; readonly status: number; readonly fault: FaultLine | null };

/** A sandbox in this process, and functions that run commands against it. */
async function open(args = EPHEMERAL) {
  const harness = createHarness();
  const sandbox = await harness.start(args);
  return { ...commandsOf(harness), harness, sandbox };
}

function commandsOf(harness: Harness) {
  const type = async (line: string, env: Readonly<Record<string, string>> = {}) =>
    harness.run(line.split(" "), { env });
  const ask = async <Data>(line: string): Promise<Data> => {
    const { code, stdout, stderr } = await type(`${line} --json`);
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
    return JSON.parse(stdout) as Data;
  };
  const orders = async (orderId: string) =>
    (await ask<{ readonly checkouts: readonly unknown[] }>(`orders list --order-id ${orderId}`)).checkouts;
  const sessions = async (orderId: string) =>
    (await ask<{ readonly checkouts: readonly unknown[] }>(`sessions list --order-id ${orderId}`)).checkouts;
  const faults = async () => (await ask<{ readonly faults: readonly FaultLine[] }>("faults list")).faults;
  const requests = async () =>
    (await ask<{ readonly requests: readonly RequestLine[] }>("requests list")).requests;
  return { type, ask, orders, sessions, faults, requests };
}

/** The exit code of the client's command under a lasting fault, and the number of checkouts afterwards. */
const WHILE_IT_LASTS: Readonly<Record<ApiAction, readonly [code: number, made: number]>> = {
  status: [7, 0],
  latency: [0, 1],
  reset: [7, 0],
  empty: [7, 1],
  truncate: [7, 1],
  slow_body: [0, 1],
  lose_answer: [7, 1],
  lose_request: [7, 0],
  rate_limit: [6, 0],
  storage_full: [7, 0],
};

for (const command of ["orders", "sessions"] as const)
  for (const action of API_ACTIONS)
    test(`${command} create makes one checkout despite a single ${action} fault, and after a lasting ${action} fault is cleared`, async () => {
      const site = await open();
      const list = command === "orders" ? site.orders : site.sessions;
      const create = (orderId: string) =>
        site.type(`${command} create --order-id ${orderId} --price-id price_coffee --json`);
      await site.type(`faults add ${action}`);
      const once = await create("once");
      expect([once.code, (await list("once")).length]).toEqual([0, 1]);
      expect(await site.faults()).toEqual([]);
      const [code, made] = WHILE_IT_LASTS[action];
      await site.type(`faults add ${action} --times 1000`);
      const lasting = await create("long");
      expect([lasting.code, (await list("long")).length]).toEqual([code, made]);
      await site.type("faults clear");
      const after = await create("long");
      expect([after.code, (await list("long")).length]).toEqual([0, 1]);
    });

test("the answer, the request log and explain name the fault that hit a request", async () => {
  const site = await open();
  const answers = async (action: string) => {
    const { fault } = await site.ask<{ readonly fault: FaultLine }>(`faults add ${action}`);
    const answer = await site.sandbox.request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": `key-of-${action}` },
      body: JSON.stringify({ order_id: `order-${action}`, price_id: "price_coffee" }),
    });
    const { requests } = await site.ask<{ readonly requests: readonly RequestLine[] }>("requests list");
    return { fault, answer, logged: requests.at(-1) };
  };
  const reasons = new Map<string, string>();
  for (const action of API_ACTIONS) {
    const { fault, answer, logged } = await answers(action);
    expect([action, logged?.fault]).toEqual([action, { id: fault.id, action }]);
    const isAnswered = answer.isDropped !== true;
    if (isAnswered) expect(answer.headers["Checkout-Fault"]).toBe(`${action} ${fault.id}`);
    expect([action, isAnswered, answer.isReset]).toEqual([
      action,
      !["reset", "lose_answer", "lose_request"].includes(action),
      action === "reset" ? true : undefined,
    ]);
    const id = logged?.request_id ?? "";
    const text = faultReason({ id: fault.id, action });
    reasons.set(action, text);
    expect((await site.type(`requests get ${id}`)).stdout).toContain(text);
    const explained = await site.type(`explain ${id}`);
    expect(explained.stdout).toContain(text);
    expect(explained.stdout).toContain("checkout faults clear");
    expect((await site.type("requests list")).stdout).toContain(action);
  }
  const lost = await site.type("explain order-lose_answer");
  expect(lost.stdout).toContain(reasons.get("lose_answer"));
  const statuses = (await site.requests()).map(({ status }) => status);
  expect(statuses).toEqual([500, 201, 0, 201, 201, 201, 201, 0, 429, 503]);
});

test("a request that a fault lost or answered is logged without the sandbox's tokens", async () => {
  const harness = createHarness();
  const token = "a-token-that-somebody-has-set-0123456789";
  const sandbox = await harness.start(EPHEMERAL, { env: { CHECKOUT_SANDBOX_CONTROL_TOKEN: token } });
  const { type } = commandsOf(harness);
  for (const action of ["lose_request", "reset", "status --status 502", "status", "rate_limit"]) {
    await type(`faults add ${action}`);
    await sandbox.request({
      path: "/v1/orders",
      headers: { "Idempotency-Key": token },
      body: JSON.stringify({ order_id: token, price_id: "price_coffee" }),
    });
  }
  // The commands hide their own token, so the test reads the log itself.
  const headers = { Authorization: `Bearer ${token}` };
  const logged = String(
    (await sandbox.request({ path: "/__sandbox/stores/default/requests", headers })).body,
  );
  expect(logged.match(/"order_id":"…"/g)).toHaveLength(5);
  expect(logged).not.toContain(token);
});

test("an answer made by a fault has the service's codes and Retry-After, and a 502 has a gateway's plain text", async () => {
  const site = await open();
  const rows = [
    ["storage_full", 503, "storage_unavailable", storageFailure("disk_full").sentence],
    ["rate_limit --retry-after 7", 429, "rate_limited", refusalMessage("too_many_requests", { seconds: 7 })],
    ["status", 500, "internal_error", undefined],
    ["status --status 401", 401, "credential_invalid", undefined],
    ["status --status 409", 409, "state_conflict", undefined],
  ] as const;
  for (const [line, status, code, message] of rows) {
    const { fault } = await site.ask<{ readonly fault: FaultLine }>(`faults add ${line}`);
    const answer = await site.sandbox.request({ path: `/v1/checkout-sessions/${UNKNOWN}` });
    const { error } = JSON.parse(String(answer.body)) as Refusal;
    expect([line, answer.status, error?.code]).toEqual([line, status, code]);
    // The message of a status names the fault.
    expect(error?.message).toContain(message ?? fault.id);
    if (status === 429) expect(answer.headers["Retry-After"]).toBe("7");
  }
  await site.type("faults add status --status 502");
  const gateway = await site.sandbox.request({ path: `/v1/checkout-sessions/${UNKNOWN}` });
  expect([gateway.status, gateway.headers["Content-Type"]]).toEqual([502, "text/plain; charset=utf-8"]);
});

const UNKNOWN = "00000000-0000-7000-8000-00000000ffff";

/** Sends many v1 requests; returns an x for each that met a fault, and a dot for each other request. */
async function hitsOf(sandbox: RunningSandbox, count: number): Promise<string> {
  let hits = "";
  for (let asked = 0; asked < count; asked += 1) {
    const { headers } = await sandbox.request({ path: `/v1/checkout-sessions/${UNKNOWN}` });
    hits += headers["Checkout-Fault"] === undefined ? "." : "x";
  }
  return hits;
}

test("nth, times, probability and until select the requests that a fault hits, and the same seed selects the same requests", async () => {
  const site = await open();
  const hits = async (line: string, count = 12): Promise<string> => {
    await site.type("faults clear");
    expect([line, (await site.type(`faults add status ${line}`.trim())).code]).toEqual([line, 0]);
    return hitsOf(site.sandbox, count);
  };
  expect(await hits("")).toBe("x...........");
  expect(await hits("--times 3")).toBe("xxx.........");
  expect(await hits("--nth 3")).toBe("..x.........");
  expect(await hits("--nth 3 --times 2")).toBe("..xx........");
  expect(await hits("--probability 0 --times 9")).toBe("............");
  expect(await hits("--probability 1 --times 9")).toBe("xxxxxxxxx...");
  const one = await hits("--probability 0.5 --times 99 --seed one", 60);
  expect(await hits("--probability 0.5 --times 99 --seed one", 60)).toBe(one);
  expect(await hits("--probability 0.5 --times 99 --seed two", 60)).not.toBe(one);
  expect(one.replaceAll(".", "").length).toBeGreaterThan(15);
  expect(one.replaceAll("x", "").length).toBeGreaterThan(15);
  const other = await open();
  await other.type("faults add status --probability 0.5 --times 99 --seed one");
  expect(await hitsOf(other.sandbox, 60)).toBe(one);
  expect(await hits("--until 10m")).toBe("xxxxxxxxxxxx");
  await site.type("sandbox clock advance 9m");
  expect(await hitsOf(site.sandbox, 2)).toBe("xx");
  await site.type("sandbox clock advance 1m");
  expect(await hitsOf(site.sandbox, 2)).toBe("..");
  expect(await site.faults()).toEqual([]);
});

test("a fault with --times 7 hits exactly 7 concurrent requests, and a fault counts every concurrent request", async () => {
  const site = await open();
  await site.type("faults add status --times 7 --nth 5");
  await site.type("faults add status --nth 1000");
  const hits = await Promise.all(Array.from({ length: 40 }, () => hitsOf(site.sandbox, 1)));
  expect(hits.filter((hit) => hit === "x")).toHaveLength(7);
  expect(await site.faults()).toMatchObject([{ matched: 40, applied: 0 }]);
});

test("a fault hits only requests of its store, method, path and order_id, after the credential check", async () => {
  const site = await open();
  const other = await site.ask<{ readonly store_id: string; readonly api_key: string }>("stores create");
  const send = async (path: string, orderId?: string, key = site.sandbox.ready.api_key ?? "") => {
    const { headers } = await site.sandbox.request({
      path,
      headers: { Authorization: `Bearer ${key}`, "Idempotency-Key": "a-key-of-8" },
      ...(orderId === undefined ? {} : { body: JSON.stringify({ order_id: orderId, price_id: "none" }) }),
    });
    return headers["Checkout-Fault"] !== undefined;
  };
  const made = await site.ask<{ readonly data: { readonly id: string } }>(
    "orders create --order-id order-7 --price-id price_coffee",
  );
  const rows: readonly (readonly [options: string, ...(readonly [boolean, string, string?][])])[] = [
    ["--method POST", [true, "/v1/orders", "o"], [false, `/v1/checkout-sessions/${UNKNOWN}`]],
    ["--method GET", [false, "/v1/orders", "o"], [true, `/v1/checkout-sessions/${UNKNOWN}`]],
    ["--path /v1/orders", [true, "/v1/orders", "o"], [false, "/v1/checkout-sessions", "o"]],
    [
      "--path /v1/checkout-sessions/*",
      [true, `/v1/checkout-sessions/${UNKNOWN}`],
      [false, "/v1/orders", "o"],
    ],
    ["--order-id order-*", [true, "/v1/orders", "order-1"], [false, "/v1/orders", "o"]],
    [
      "--order-id order-7",
      [true, `/v1/checkout-sessions/${made.data.id}`],
      [false, `/v1/checkout-sessions/${UNKNOWN}`],
      [false, "/v1/orders", "order-77"],
    ],
  ];
  for (const [options, ...asked] of rows) {
    await site.type(`faults add status --times 100 ${options}`);
    for (const [isHit, path, orderId] of asked)
      expect([options, path, orderId, await send(path, orderId)]).toEqual([options, path, orderId, isHit]);
    await site.type("faults clear");
  }
  await site.type("faults add status --method GET");
  const head = await site.sandbox.request({ method: "HEAD", path: `/v1/checkout-sessions/${UNKNOWN}` });
  expect([head.status, head.headers["Checkout-Fault"]?.slice(0, 7)]).toEqual([500, "status "]);
  await site.type("faults add status --times 100");
  expect(await send("/v1/orders", "o", other.api_key)).toBe(false);
  expect(await send("/v1/orders", "o", "svc_test_unknown")).toBe(false);
  expect(await send("/v1/nothing")).toBe(false);
  expect(await site.faults()).toMatchObject([{ matched: 0, applied: 0 }]);
  const elsewhere = await site.ask(`faults list --store ${other.store_id}`);
  expect(elsewhere).toMatchObject({ faults: [] });
});

test("the counts of faults survive a restart, and sandbox start and sandbox status say that faults are active", async () => {
  const site = await open([]);
  await site.type("faults add status --nth 4 --times 2");
  expect(await hitsOf(site.sandbox, 3)).toBe("...");
  expect((await site.type("sandbox status")).stdout).toContain("checkout faults list");
  expect(await site.ask("sandbox status")).toMatchObject({ active_faults: 1 });
  await site.sandbox.stop();
  const again = await site.harness.start();
  expect((await site.type("sandbox start --reuse")).stdout).toMatch(inOrder(1, "checkout faults list"));
  expect(await hitsOf(again, 3)).toBe("xx.");
  expect((await site.type("sandbox status")).stdout).not.toContain("Faults");
  expect((await site.type("sandbox start --reuse")).stdout).not.toContain("Faults");
  await again.stop();
});

test("every fault profile for API requests hits requests, and each create command still creates one order", async () => {
  for (const profile of FAULT_PROFILES.filter((name) => name !== "webhook-storm")) {
    const site = await open();
    await site.type(`faults add --profile ${profile} --seed a-seed`);
    const orderIds = Array.from({ length: 12 }, (_, number) => `order-${number}`);
    for (const orderId of orderIds) {
      const { code } = await site.type(`orders create --order-id ${orderId} --price-id price_coffee`);
      expect([profile, orderId, code, (await site.orders(orderId)).length]).toEqual([profile, orderId, 0, 1]);
    }
    expect((await site.requests()).filter(({ fault }) => fault !== null).length).toBeGreaterThan(0);
  }
});

test("the profile webhook-storm delivers every event, some of them twice, late or out of order", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  await site.addEndpoint(shop.url);
  const { data } = await site.control<{ readonly faults: readonly FaultLine[] }>("/faults", {
    profile: "webhook-storm",
    seed: "a-seed",
  });
  expect(data.faults.map(({ action }) => action)).toEqual(["duplicate", "reorder", "delay"]);
  for (let count = 0; count < 20; count += 1) await site.pay(await site.order(), "succeeded");
  for (let rounds = 0; rounds < 20; rounds += 1) await site.advance(1000);
  const events = await site.events("?since=0&limit=1000");
  expect(events).toHaveLength(60);
  expect(new Set(shop.got.map(({ event }) => event.event_id)).size).toBe(60);
  expect(shop.got.length).toBeGreaterThan(60);
  expect(new Set(shop.got.map(({ verdict }) => verdict))).toEqual(new Set(["ok"]));
  const deliveries = await site.deliveries("?limit=1000");
  expect(new Set(deliveries.map(({ fault }) => fault?.action))).toEqual(
    new Set([undefined, "duplicate", "reorder", "delay"]),
  );
});

test("a fault holds a delivery back only once, however often the fault may apply", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const shop = site.receiver(3000);
  await site.addEndpoint(shop.url, ["order.created"]);
  for (const action of ["delay", "reorder"]) {
    await site.control("/faults", { action, latency_ms: 10_000, times: 50 });
    const before = shop.got.length;
    await site.order();
    await site.advance(9000);
    expect([action, shop.got.length - before]).toEqual([action, 0]);
    await site.advance(2000);
    expect([
      action,
      shop.got.slice(before).map(({ headers }) => headers["Checkout-Fault"]?.split(" ")[0]),
    ]).toEqual([action, [action]]);
    await site.remove("/faults");
  }
});

test("faults match deliveries by type, order_id and endpoint", async () => {
  const site = await openWebhookSite(EPHEMERAL);
  const [shop, other] = [site.receiver(3000), site.receiver(3001)];
  const { id } = await site.addEndpoint(shop.url);
  await site.addEndpoint(other.url);
  await site.control("/faults", {
    action: "bad_signature",
    match: { event_type: "order.*", order_id: "order-2", endpoint_id: id },
    times: 100,
  });
  await site.control(`/endpoints/${id}/test`, {});
  for (const orderId of ["order-1", "order-2"]) await site.order(orderId);
  await site.advance(1);
  expect(shop.got.map(({ event, verdict }) => [event.type, verdict])).toEqual([
    ["webhook.test", "ok"],
    ["order.created", "ok"],
    ["order.created", "signature_mismatch"],
  ]);
  expect(other.got.map(({ verdict }) => verdict)).toEqual(["ok", "ok"]);
});

test("a fault's path pattern matches like the equivalent regular expression", () => {
  const part = fc.stringMatching(/^[ab]{0,3}$/);
  const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("*"));
  fc.assert(
    fc.property(pattern, fc.stringMatching(/^[ab]{0,8}$/), (one, text) => {
      expect(matchesWildcard(one, text)).toBe(new RegExp(`^${one.replaceAll("*", ".*")}$`).test(text));
    }),
  );
});

test("exec adds the faults of profiles and files only for its program", async () => {
  const harness = createHarness();
  let written = 0;
  const fileOf = (text: string): string => {
    const path = join(harness.cwd, `faults-${(written += 1)}.json`);
    writeFileSync(path, text);
    return path;
  };
  const seen: unknown[] = [];
  harness.setProgram(async ({ env }) => {
    const child = Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    const listed = await harness.run(["faults", "list", "--json"], { env: child });
    const { faults } = JSON.parse(listed.stdout) as { readonly faults: readonly FaultLine[] };
    seen.push(faults.map(({ action }) => action));
    const line = "orders create --order-id order-1 --price-id price_coffee".split(" ");
    const made = await harness.run(line, { env: child });
    return { ending: "exited", exitCode: made.code };
  });
  const path = fileOf('[{"action":"status","status":503},{"action":"latency","times":2}]');
  const line = ["exec", "--fault", "lost-response", "--fault", path, "--", "npm", "test"];
  expect((await harness.run(line)).code).toBe(0);
  expect(seen).toEqual([["lose_answer", "status", "latency"]]);
  const outer = await harness.start(EPHEMERAL);
  const inStore = await harness.run(["exec", "--store", "new", "--fault", "slow", "--", "npm", "test"]);
  expect([inStore.code, seen.at(-1)]).toEqual([0, ["latency", "delay"]]);
  expect(await commandsOf(harness).faults()).toEqual([]);
  await outer.stop();
  const rows = [
    ["no-such", '"no-such"'],
    [fileOf("{"), "JSON"],
    [fileOf('[{"action":"rain"}]'), " 1: action"],
    [fileOf('[{"action":"drop"},{"action":"drop","match":{"path":"/v1/orders"}}]'), " 2: match.path"],
  ] as const;
  for (const [name, said] of rows) {
    const refused = await harness.run(["exec", "--fault", name, "--", "npm", "test"]);
    expect([name, refused.code]).toEqual([name, 2]);
    expect(refused.stderr).toContain(said);
  }
  expect(harness.programs).toHaveLength(2);
});
