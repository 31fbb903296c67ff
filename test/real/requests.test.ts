import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  DEFAULT_KEPT_REQUESTS,
  orderIdIn,
  type LoggedRequest,
  type RequestFilter,
} from "../../src/core/request/logged-request.ts";
import { parseStatuses } from "../../src/core/request/statuses.ts";
import { createRequestLog } from "../../src/sandbox/runtime/request-log.ts";
import { IN_MEMORY } from "../../src/store/connection/database.ts";
import { openDatabase } from "../../src/store/connection/open-database.ts";
import { openRequestFile, REQUESTS_FILE } from "../../src/store/request/request-file.ts";
import { eventually } from "../support/eventually.ts";
import { createHarness, type Harness, type RunningSandbox } from "../support/harness.ts";
import { run, startSandbox } from "../support/program.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { OutboundResult } from "../../src/world.ts";
import { aLoggedRequest } from "../support/rows.ts";

type Entry = Readonly<Record<string, unknown>> & { readonly request_id: string };

const ORDERS = "/v1/orders";

/** A filter that all requests match, with a limit of ten. */
const ALL: RequestFilter = {
  omitsDrills: false,
  statuses: null,
  method: null,
  path: null,
  orderId: null,
  after: null,
  from: null,
  limit: 10,
};

test("every v1 request is logged, refused or not, with its store, order and decisions", async () => {
  const { sandbox, list, post } = await open();
  const made = await post({ order_id: "order-1" });
  await post({ order_id: "order-1" });
  await post({ order_id: "order-1", amount_minor: 2 });
  await post({ order_id: "order-2", currency: "XXX" }, { "Idempotency-Key": "another-key" });
  await post({ order_id: "order-3" }, { Authorization: "Bearer wrong" });
  await sandbox.request({ path: `/v1/checkout-sessions/${made.id}`, headers: { Host: "evil.example" } });
  await sandbox.request({ path: `/v1/checkout-sessions/${made.id}`, headers: sandbox.auth });
  await sandbox.request({ path: "/healthz" });
  const entries = await list();
  expect(
    entries.map(({ method, path, status, code, order_id: orderId }) => [method, path, status, code, orderId]),
  ).toEqual([
    ["POST", ORDERS, 201, null, "order-1"],
    ["POST", ORDERS, 201, null, "order-1"],
    ["POST", ORDERS, 409, "idempotency_key_reused", "order-1"],
    ["POST", ORDERS, 403, "capability_missing", "order-2"],
    ["POST", ORDERS, 401, "credential_invalid", "order-3"],
    ["GET", `/v1/checkout-sessions/${made.id}`, 403, "host_not_allowed", null],
    ["GET", `/v1/checkout-sessions/${made.id}`, 200, null, "order-1"],
  ]);
  expect(entries.map(({ decisions }) => decisions)).toEqual([[], [5], [4, 5], [4], [4], [4], [9]]);
});

test("a refused request is logged in the store of its key, even if the key is revoked, or in the first store if the key is unknown", async () => {
  const { harness, sandbox, list } = await open();
  const json = async (line: string) =>
    JSON.parse((await harness.run([...line.split(" "), "--json"])).stdout) as Record<string, string>;
  const { api_key: apiKey = "", store_id: tea = "" } = await json("stores create --name Tea");
  const ask = (headers: Record<string, string>, id: string) =>
    sandbox.request({ path: `/v1/checkout-sessions/${id}`, headers });
  await ask({ Authorization: `Bearer ${apiKey}`, Host: "evil.example" }, "foreign-host");
  const { kept_key_id: keptKey = "" } = await json("keys list --store Tea");
  expect((await harness.run(["keys", "revoke", keptKey, "--store", "Tea"])).code).toBe(0);
  expect((await harness.run(["sandbox", "clock", "advance", "2d", "--store", "Tea"])).code).toBe(0);
  await ask({ Authorization: `Bearer ${apiKey}` }, "revoked");
  await ask({ Authorization: "Bearer svc_test_of-nobody" }, "unknown");
  const paths = async (...words: string[]) =>
    (await list(...words)).map(({ path }) => String(path).slice(22));
  expect([await paths(), await paths("--store", "Tea")]).toEqual([["unknown"], ["foreign-host", "revoked"]]);

  const create = "orders create --order-id o-1 --price-id price_coffee --store Tea".split(" ");
  const refused = await harness.run([...create, "--json"]);
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringMatching(refusalText("unknown_key"))]);
  const [, explains = ""] = /checkout (--store \S+ explain \S+)/.exec(refused.stderr) ?? [];
  const { entries } = await json(explains);
  const [entry] = entries as unknown as readonly { readonly at: string }[];
  expect(Date.parse(entry?.at ?? "") - harness.clock.now()).toBeGreaterThan(86_400_000);
  const typed = { env: { CHECKOUT_API_KEY: `svc_test_${"A".repeat(33)}` } };
  const unknown = await harness.run([...create.slice(0, -1), tea], typed);
  expect([unknown.code, unknown.stderr]).toEqual([4, expect.not.stringContaining(" explain ")]);
});

test("the duration of a request is logged to a tenth of a millisecond", async () => {
  let now = 0;
  const command = { world: { monotonic: () => (now += 3.0401) } };
  const { sandbox, list } = await open(createHarness(), [], command);
  await sandbox.request({ path: "/v1/x", headers: sandbox.auth });
  const [entry] = await list();
  expect(String(entry?.["duration_ms"])).toMatch(/^\d+\.\d$/);
});

test("requests list filters by status, method, path, order and time, and limits the number", async () => {
  const { harness, list, post } = await open();
  for (const orderId of ["a", "b", "c"]) {
    await post({ order_id: orderId }, { "Idempotency-Key": `key-key-${orderId}` });
    harness.clock.advance(60_000);
  }
  await post({ order_id: "d", amount_minor: 0 });
  const orders = async (...options: string[]): Promise<unknown> =>
    (await list(...options)).map(({ order_id: orderId }) => orderId);
  expect(await orders("--status", "4xx")).toEqual(["d"]);
  expect(await orders("--status", "201")).toEqual(["a", "b", "c"]);
  expect(await orders("--order-id", "b")).toEqual(["b"]);
  expect(await orders("--limit", "2")).toEqual(["c", "d"]);
  expect(await orders("--since", "90s")).toEqual(["c", "d"]);
  expect(await orders("--since", new Date(harness.clock.now() - 130_000).toISOString())).toEqual([
    "b",
    "c",
    "d",
  ]);
  expect(await orders("--method", "get")).toEqual([]);
  expect(await orders("--path", "/v1/check")).toEqual([]);
  expect([parseStatuses("6xx"), parseStatuses("4x"), parseStatuses("099")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("the request log has no secret, wherever it was sent, and shows a refused request's body", async () => {
  const { harness, ready, list, post } = await open();
  const secrets = [ready.api_key ?? "", ready.signing_secret];
  for (const secret of secrets) {
    await post(
      { order_id: "order-1", description: secret },
      { Cookie: `a=${secret}`, "X-Other": `b ${secret}` },
    );
    await post({ order_id: secret }, { "Idempotency-Key": secret });
    await post({ order_id: "order-1", [secret]: secret }, { Authorization: secret });
  }
  const entries = await list("--status", "4xx");
  expect(entries).toHaveLength(6);
  const shown = await Promise.all(
    entries.map(async ({ request_id: id }) => (await harness.run(["requests", "get", id])).stdout),
  );
  expect(shown[0]).toContain("> Authorization: Bearer …");
  expect(shown[0]).toContain('\\"order_id\\":\\"order-1\\"');
  const folder = join(harness.cwd, ".checkout");
  const files = ["requests.db", "requests.db-wal"].map((name) => readFileSync(join(folder, name), "latin1"));
  for (const text of [...shown, JSON.stringify(entries), ...files])
    for (const secret of secrets) expect(text).not.toContain(secret.slice(10));
});

test("a secret in a refused body is redacted, even if its characters are escaped", async () => {
  const env = { CHECKOUT_SANDBOX_CONTROL_TOKEN: "a-token-of-no-known-form" };
  const { harness, sandbox, ready, list, send } = await open(createHarness(), [], { env });
  const escape = (text: string): string =>
    Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  const key = ready.api_key ?? "";
  const secrets = [key, ready.signing_secret, env.CHECKOUT_SANDBOX_CONTROL_TOKEN];
  const hidden = [
    ...secrets.map(escape),
    ...secrets.map((secret) => escape(secret).toUpperCase().replaceAll("U00", "u00")),
    ...secrets.map((secret) => `${escape(secret[0] ?? "")}${secret.slice(1)}`),
    String.raw`http:\/\/me:pass-word@shop.example`,
  ];
  for (const text of hidden) expect(await send(`{"order_id":"o","description":"${text}","x":1}`)).toBe(400);
  expect(await send(String.raw`{"order_id":"o","description":"\u4e2d \\u0041 \"\u0022","x":1}`)).toBe(400);
  const bodies = await Promise.all(
    (await list()).map(async ({ request_id: id }) => {
      const shown = JSON.parse((await harness.run(["requests", "get", id, "--json"])).stdout) as {
        readonly refused: { readonly body: string };
      };
      return shown.refused.body;
    }),
  );
  expect(bodies).toHaveLength(hidden.length + 1);
  expect(bodies.at(-1)).toContain(String.raw`\u4e2d \\u0041 \"\u0022`);
  await sandbox.stop();
  const file = readFileSync(join(harness.cwd, ".checkout/requests.db"), "latin1");
  for (const body of [...bodies.slice(0, -1), file])
    for (const secret of [...secrets, "pass-word"]) {
      const plain = body.replaceAll(/\\+u00([\da-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
      expect(plain).not.toContain(secret.slice(-8));
    }
});

test("the log has the order_id of a refused request, however the order_id was escaped", async () => {
  const { harness, list, send } = await open();
  const escaped = [
    [String.raw`"\u4e2d-77"`, "中-77"],
    [String.raw`"a\/b1"`, "a/b1"],
    [String.raw`"say \"no\" \\ twice"`, String.raw`say "no" \ twice`],
    [String.raw`"\ud83d\ude00"`, "😀"],
  ] as const;
  for (const [quoted, orderId] of escaped) {
    const terms = `"order_id" : ${quoted}, "currency": "EUR", "payment_method": "alipay_plus"`;
    expect(
      await send(`{${terms}, "amount_minor": 1}`, { "Idempotency-Key": `key of ${quoted.length}` }),
    ).toBe(201);
    expect(await send(`{${terms}, "amount_minor": 2}`, { "Idempotency-Key": "another-key" })).toBe(409);
    const found = await list("--order-id", orderId, "--status", "4xx");
    expect(found.map(({ order_id: kept }) => kept)).toEqual([orderId]);
    const explained = await harness.run(["explain", found[0]?.request_id ?? ""]);
    expect(explained.stdout).toMatch(/^amount_minor +1 +2$/m);
  }
  expect((await harness.run(["faults", "add", "status", "--order-id", "a/b*"])).code).toBe(0);
  expect(await send(String.raw`{"order_id":"a\/b2"}`)).toBe(500);
  const others = ["{}", '{"order_id":7}', '{"order_id":""}', '{"order_id":"\\x"}', '{"order_id":"\\'];
  for (const body of others) expect([body, orderIdIn(body)]).toEqual([body, null]);
});

test("the table of requests fits 80 columns, and its short ids are accepted", async () => {
  const { harness, list, post } = await open();
  await post({ order_id: "an-order-id-of-thirty-two-chars-" });
  const { id } = await post({ order_id: "order-2" }, { "Idempotency-Key": "second-key" });
  await post({ order_id: "order-2" }, { "Idempotency-Key": "another-key" });
  const { stdout } = await harness.run(["requests", "list"]);
  const [header = "", , , last = ""] = stdout.split("\n");
  expect(header.trim().split(/ {2,}/)).toHaveLength(5);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  const [entry] = (await list()).slice(-1);
  const short = last.slice(0, 8);
  expect(entry?.request_id.endsWith(short)).toBe(true);
  for (const words of [
    ["requests", "get", short],
    ["explain", short],
  ]) {
    const shown = await harness.run(words);
    expect([words[0], shown.code]).toEqual([words[0], 0]);
    expect(shown.stdout).toContain("order_conflict");
  }
  const checkout = await harness.run(["explain", id.slice(-8)]);
  expect(checkout.stdout).toMatch(/order-2, 0\.01 EUR .*alipay_plus.*: created/);
  expect((await harness.run(["explain", "0123abcd"])).code).toBe(1);
});

test("a long path is truncated before the table of requests drops a column", async () => {
  const { harness, sandbox, post } = await open();
  const { id } = await post({ order_id: "order-1" });
  await post({ order_id: "order-1", amount_minor: 0 }, { "Idempotency-Key": "another-key" });
  await sandbox.request({ path: `/v1/checkout-sessions/${id}`, headers: sandbox.auth });
  const { stdout } = await harness.run(["requests", "list", "--status", "2xx"], { columns: 72 });
  const [header = "", , got] = stdout.split("\n");
  expect(header.split(/ {2,}/)).toHaveLength(6);
  expect(got).toMatch(/^\S{8}  \d\d:\d\d:\d\d  200     GET \/v1\/check\S*… +order-1   –$/);
  for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(72);
});

test("requests list --status 0 lists requests without an answer", async () => {
  const { harness, list, send } = await open();
  expect((await harness.run(["faults", "add", "lose_request"])).code).toBe(0);
  await send('{"order_id":"lost"}');
  await send('{"order_id":"refused"}');
  expect((await list("--status", "0")).map(({ order_id: orderId }) => orderId)).toEqual(["lost"]);
  expect(await list()).toHaveLength(2);
});

test("requests list -f shows each new request once, until it is stopped", async () => {
  const { harness, post } = await open();
  await post({ order_id: "first" });
  const following = await harness.launch(["requests", "list", "-f", "--json"]);
  const seen = (): string[] =>
    following
      .text()
      .stdout.trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as Entry)["order_id"] as string);
  await eventually("it is shown", () => expect(seen()).toHaveLength(1));
  await post({ order_id: "second" }, { "Idempotency-Key": "second-key" });
  harness.clock.advance(100);
  await eventually("it is shown", () => expect(seen()).toHaveLength(2));
  expect(seen()).toEqual(["first", "second"]);
  expect((await following.stop()).code).toBe(0);
});

test("requests list -f shows every request, however many arrive at the same time", async () => {
  const { harness, sandbox } = await open();
  await sandbox.request({ path: "/v1/first", headers: sandbox.auth });
  const following = await harness.launch(["requests", "list", "-f", "--json", "--limit", "7"]);
  const paths = Array.from({ length: 40 }, (_, number) => `/v1/checkout-sessions/${number}`);
  const seen = (): unknown[] => {
    const lines = following.text().stdout.trim().split("\n").filter(Boolean);
    return lines.map((line) => (JSON.parse(line) as Entry)["path"]);
  };
  await eventually("it follows", () => expect(seen()).toEqual(["/v1/first"]));
  for (const rounds of [1, 2]) {
    for (const path of paths) await sandbox.request({ path, headers: sandbox.auth });
    harness.clock.advance(100);
    await eventually("all are shown", () => expect(seen()).toHaveLength(1 + rounds * paths.length));
  }
  expect(seen()).toEqual(["/v1/first", ...paths, ...paths]);
  expect((await following.stop()).code).toBe(0);
});

test("requests list -f continues after a restart of the sandbox, also on another port", async () => {
  const { harness, sandbox, post } = await open();
  await post({ order_id: "first" });
  const cut = Promise.withResolvers<OutboundResult>();
  harness.setFault((_request, deliver) => Promise.race([cut.promise, deliver()]));
  const following = await harness.launch(["requests", "list", "-f"]);
  const shown = (): number => following.text().stdout.split("\n").filter(Boolean).length;
  await eventually("it follows", () => expect(shown()).toBe(1));
  cut.resolve({ ok: false, failure: "connection_lost", message: "socket hang up" });
  await eventually("it says so", () => expect(following.text().stderr).not.toBe(""));
  await sandbox.stop();
  harness.setFault((_request, deliver) => deliver());
  const later = await harness.start(["--port", "0"]);
  expect(later.ready.base_url).not.toBe(sandbox.ready.base_url);
  await later.request({ path: "/v1/second" });
  await eventually("it goes on", () => {
    harness.clock.advance(1000);
    expect(shown()).toBe(2);
  });
  const { code, stdout, stderr } = await following.stop();
  expect([code, stdout.split("\n")[1]]).toEqual([0, expect.stringContaining("GET /v1/second")]);
  const { origin } = new URL(later.ready.base_url);
  const notes = stderr.trimEnd().split("\n");
  expect(notes.map((note) => note.includes(origin))).toEqual([false, true]);
});

test("an unusable request log is reported once, and requests still work", async () => {
  const harness = createHarness();
  mkdirSync(join(harness.cwd, ".checkout"), { mode: 0o700 });
  const path = join(harness.cwd, ".checkout/requests.db");
  const newer = openDatabase(path, { kind: REQUESTS_FILE });
  if (!newer.ok) throw new Error(newer.refusal.message);
  newer.value.pragma("user_version = 999");
  newer.value.close();
  const written = readFileSync(path);
  const { sandbox, post } = await open(harness);
  expect((await post({ order_id: "order-1" })).status).toBe(201);
  harness.clock.advance(1000);
  expect((await post({ order_id: "order-2" }, { "Idempotency-Key": "second-key" })).status).toBe(201);
  const listed = await harness.run(["requests", "list", "--json"]);
  const shown = JSON.parse(listed.stdout) as { readonly failure: string };
  expect(shown).toEqual({
    store_id: expect.any(String) as string,
    position: 0,
    requests: [],
    failure: expect.stringContaining("requests.db") as string,
  });
  const { failure } = shown;
  expect(listed.stderr).toContain(failure);
  const explained = await harness.run(["explain", "0199a3c4-5d00-7000-8000-000000000001"]);
  expect([explained.code, explained.stderr]).toEqual([1, expect.stringContaining(failure)]);
  const doctor = JSON.parse((await harness.run(["doctor", "--json"])).stdout) as {
    readonly checks: readonly object[];
  };
  expect(doctor.checks).toContainEqual(expect.objectContaining({ check: "requests.db", status: "problem" }));
  const { stderr } = await sandbox.stop();
  expect(stderr.split(failure)).toHaveLength(2);
  expect(readFileSync(path).equals(written)).toBe(true);
});

test("a deleted request log is created again, by a running sandbox or by the next start", async () => {
  const { harness, sandbox, post, list } = await open();
  const path = join(harness.cwd, ".checkout/requests.db");
  const orders = async (): Promise<unknown> => (await list()).map(({ order_id: orderId }) => orderId);
  await post({ order_id: "order-1" });
  expect(await orders()).toEqual(["order-1"]);
  const following = await harness.launch(["requests", "list", "-f", "--json"]);
  const seen = (): number => following.text().stdout.split("\n").filter(Boolean).length;
  await eventually("it follows", () => expect(seen()).toBe(1));
  rmSync(path);
  await post({ order_id: "order-2" }, { "Idempotency-Key": "second-key" });
  expect(await orders()).toEqual(["order-2"]);
  await eventually("it is shown", () => expect(seen()).toBe(2));
  expect((await following.stop()).code).toBe(0);
  await sandbox.stop();
  rmSync(path, { force: true });
  writeFileSync(`${path}-wal`, "what a killed one left", { mode: 0o600 });
  const later = await harness.start();
  await later.request({ path: "/v1/x" });
  expect(await list()).toHaveLength(1);
});

test("the log keeps the newest requests of each store, and a request ends only the waits for its own store", async () => {
  const opened = openRequestFile(IN_MEMORY, {});
  if (!opened.ok) throw new Error(opened.refusal.message);
  const slept: AbortSignal[] = [];
  const log = createRequestLog(
    {
      after: () => undefined,
      sleep: (_ms, signal) =>
        new Promise((resolve) => {
          if (signal === undefined) throw new Error("a wait can be ended");
          slept.push(signal);
          signal.addEventListener("abort", () => resolve());
        }),
    },
    {
      open: () => opened,
      ownerOf: () => ({ storeId: "a" }),
      maxRequests: 3,
      report: (error) => expect(error).toBeUndefined(),
    },
  );
  const note = (storeId: string, at: number): void =>
    log.note(
      { method: "GET", target: "/v1/x" },
      { status: 200, headers: {}, body: "", logFields: { storeId, orderId: null, decisions: [] } },
      { at, milliseconds: 0 },
    );
  const next = log.next("b", 1000);
  for (let at = 1; at <= 5; at += 1) note("a", at);
  expect(log.list("a", ALL).map(({ at, position }) => [at, position])).toEqual([
    [5, 5],
    [4, 4],
    [3, 3],
  ]);
  expect(slept.map(({ aborted }) => aborted)).toEqual([false]);
  note("b", 9);
  expect(log.list("b", ALL).map(({ at }) => at)).toEqual([9]);
  await next;
  expect(log.list("a", { ...ALL, after: 4 }).map(({ at }) => at)).toEqual([5]);
  const gone = log.next("b", 1000);
  log.forget("b");
  await gone;
  expect([log.list("b", ALL), log.last("b")]).toEqual([[], 1]);
  expect(DEFAULT_KEPT_REQUESTS).toBe(10_000);
});

test("positions in the request log keep growing after a restart or reset, and while another process writes", () => {
  const path = join(tempFolder(), "requests.db");
  const reported: unknown[] = [];
  const begin = () => {
    const log = createRequestLog(
      { after: () => undefined, sleep: () => Promise.resolve() },
      {
        open: () => openRequestFile(path, {}),
        ownerOf: () => ({ storeId: "a" }),
        maxRequests: 10,
        report: (problem) => void reported.push(problem),
      },
    );
    /** Notes a request and writes it; returns the time and the position of each entry in the log. */
    const note = (at: number): readonly (readonly number[])[] => {
      log.note(
        { method: "GET", target: "/v1/x" },
        { status: 200, headers: {}, body: "" },
        { at, milliseconds: 0 },
      );
      return log.list("a", ALL).map(({ at: noted, position }) => [noted, position]);
    };
    return { ...log, note };
  };
  const first = begin();
  expect(first.note(1)).toEqual([[1, 1]]);
  const other = begin();
  expect(other.note(2)).toEqual([
    [2, 2],
    [1, 1],
  ]);
  expect(first.note(3)).toEqual([
    [3, 3],
    [2, 2],
    [1, 1],
  ]);
  first.close();
  other.close();
  const later = begin();
  later.forget("a");
  expect([later.last("a"), later.note(4)]).toEqual([3, [[4, 4]]]);
  later.close();
  expect(reported).toEqual([]);
});

test("the request log returns the requests of a batch newest first, whatever texts they contain", () => {
  const path = join(tempFolder(), "requests.db");
  const common = { fault: null, at: 5, storeAt: 6, method: "GET", path: "/v1/x", durationMs: 1.5 };
  const requests = Array.from({ length: 10 }, (_, index) => ({
    ...common,
    position: index + 1,
    requestId: `id-${index + 1}`,
    status: 400,
    code: null,
    orderId: index % 2 === 0 ? "a\nb \u{1f37a}" : null,
    decisions: [index],
    refused: { message: "no\n},{", headers: ["Host", "here"], body: '[{"position":1}]' },
  }));
  const opened = openRequestFile(path, {});
  if (!opened.ok) throw new Error(opened.refusal.message);
  opened.value.append([{ storeId: "a", requests }], 10);
  const newest = requests.toReversed();
  expect(opened.value.list("a", ALL)).toEqual(newest);
  const ordered = newest.filter(({ orderId }) => orderId !== null);
  expect(opened.value.list("a", { ...ALL, orderId: "a\nb \u{1f37a}" })).toEqual(ordered);
  expect(opened.value.find("a", "id-4")).toMatchObject({ position: 4, replays: [] });
  opened.value.close();
});

test("the request log finds the requests of an order in every batch, even after the batch was read, evicted or trimmed", () => {
  const path = join(tempFolder(), "requests.db");
  const [mine, theirs] = [openRequestFile(path, {}), openRequestFile(path, {})];
  if (!mine.ok || !theirs.ok) throw new Error("the log did not open");
  const [log, other] = [mine.value, theirs.value];
  const one = (position: number, orderId: string | null): LoggedRequest =>
    aLoggedRequest({ position, requestId: `id-${position}`, at: position, storeAt: position, orderId });
  const append = (file: typeof log, requests: readonly LoggedRequest[], storeId = "a", kept = 100): void =>
    file.append([{ storeId, requests }], kept);
  const positions = (orderId: string, storeId = "a", limit = 10): number[] =>
    log.list(storeId, { ...ALL, orderId, limit }).map(({ position }) => position);
  append(log, [one(1, "order-1"), one(2, "order-2"), one(3, "order-1")]);
  append(log, [one(4, null), one(5, "order-2")]);
  append(log, [one(1, "order-1")], "b");
  expect([positions("order-1"), positions("order-2"), positions("order-3")]).toEqual([[3, 1], [5, 2], []]);
  expect(positions("order-1", "b")).toEqual([1]);
  append(other, [one(6, "order-1"), one(7, "order-3")]);
  expect([positions("order-1"), positions("order-3"), positions("order-1", "a", 2)]).toEqual([
    [6, 3, 1],
    [7],
    [6, 3],
  ]);
  append(log, [one(8, "order-2")], "a", 5);
  expect([positions("order-1"), positions("order-2")]).toEqual([[6], [8, 5]]);
  log.forget("a");
  expect([positions("order-1"), positions("order-1", "b")]).toEqual([[], [1]]);
  append(log, [one(9, "order-1")]);
  expect(positions("order-1")).toEqual([9]);
  // Another process has restarted the log.
  other.forget("a");
  append(other, [one(1, "order-1")]);
  expect(positions("order-1")).toEqual([1]);
  // The log has more positions than the index remembers, so it is searched without the index.
  append(log, [one(90_000, "order-1")], "a", 100_000);
  expect([positions("order-1"), positions("order-2")]).toEqual([[90_000, 1], []]);
  log.close();
  other.close();
});

test("a request is found by its id, even if other requests mention that id", () => {
  const opened = openRequestFile(IN_MEMORY, {});
  if (!opened.ok) throw new Error(opened.refusal.message);
  const of = (position: number, requestId: string, orderId: string): LoggedRequest =>
    aLoggedRequest({ position, requestId, orderId });
  opened.value.append([{ storeId: "a", requests: [of(1, "the-id", "an-order"), of(2, "other", "2")] }], 10);
  opened.value.append([{ storeId: "a", requests: [of(3, "third", "the-id")] }], 10);
  expect(opened.value.find("a", "the-id")?.position).toBe(1);
  expect(opened.value.find("b", "the-id")).toBeUndefined();
  expect(opened.value.list("a", { ...ALL, orderId: "the-id" }).map(({ position }) => position)).toEqual([3]);
  opened.value.append([{ storeId: "a", requests: [of(4, "4", "4"), of(5, "5", "5")] }], 1);
  expect(opened.value.list("a", ALL).map(({ position }) => position)).toEqual([5]);
  opened.value.close();
});

test("sandbox start --kept-requests sets the number of requests that the log keeps, and 0 keeps none", async () => {
  for (const [kept, orders] of [
    ["2", ["order-2", "order-3"]],
    ["0", []],
  ] as const) {
    const harness = createHarness();
    const { sandbox, post, list } = await open(harness, ["--kept-requests", kept]);
    for (const order of ["order-1", "order-2", "order-3"])
      expect((await post({ order_id: order }, { "Idempotency-Key": `key-of-${order}` })).status).toBe(201);
    expect([kept, (await list()).map(({ order_id: order }) => order)]).toEqual([kept, orders]);
    await sandbox.stop();
    expect([kept, existsSync(join(harness.cwd, ".checkout/requests.db"))]).toEqual([kept, true]);
  }
});

test("a reset deletes the requests of its store, whether the sandbox is running or stopped", async () => {
  const { harness, sandbox, list, post } = await open();
  await post({ order_id: "order-1" });
  expect(await list()).toHaveLength(1);
  expect((await harness.run(["sandbox", "reset", "--yes"])).code).toBe(0);
  expect(await list()).toEqual([]);
  await post({ order_id: "order-2" });
  await sandbox.stop();
  expect((await harness.run(["sandbox", "reset", "--yes"])).code).toBe(0);
  await harness.start();
  expect(await list()).toEqual([]);
});

test("the request log is created by the first request, not by the start", async () => {
  const { harness, post } = await open();
  const file = join(harness.cwd, ".checkout/requests.db");
  expect(existsSync(file)).toBe(false);
  await post({ order_id: "order-1" });
  harness.clock.advance(100);
  expect(existsSync(file)).toBe(true);
});

test("a request that is too large is logged in its store with its headers", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  const ask = async (...words: string[]) =>
    JSON.parse((await run([...words, "--json"], { cwd })).stdout) as Record<string, string>;
  const { api_key: apiKey = "" } = await ask("stores", "create", "--name", "Tea");
  const { status, headers } = await fetch(`http://127.0.0.1:${sandbox.port}${ORDERS}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Idempotency-Key": "a-large-one" },
    body: "x".repeat(20_000),
  });
  const explained = await ask("explain", headers.get("x-request-id") ?? "", "--store", "Tea");
  expect([status, explained["summary"]]).toEqual([413, expect.stringContaining("body_too_large")]);
  const { stdout } = await run(["requests", "get", headers.get("x-request-id") ?? "", "--store", "Tea"], {
    cwd,
  });
  expect(stdout).toMatch(/> idempotency-key: a-large-one/i);
  await sandbox.stop("SIGTERM");
});

/** Starts a sandbox; returns functions that list its requests and create orders with its key. */
async function open(
  harness: Harness = createHarness(),
  args: readonly string[] = [],
  command: Parameters<Harness["start"]>[1] = {},
) {
  const started = await harness.start(args, command);
  const { ready } = started;
  const auth = { Authorization: `Bearer ${ready.api_key ?? ""}` };
  const sandbox: RunningSandbox & { readonly auth: Record<string, string> } = { ...started, auth };
  const list = async (...options: string[]): Promise<Entry[]> => {
    const { code, stdout, stderr } = await harness.run(["requests", "list", "--json", ...options]);
    expect([code, stderr]).toEqual([0, ""]);
    return (JSON.parse(stdout) as { requests: Entry[] }).requests;
  };
  const ask = (body: string, headers: Record<string, string> = {}) =>
    sandbox.request({
      method: "POST",
      path: ORDERS,
      headers: {
        ...auth,
        "Content-Type": "application/json",
        "Idempotency-Key": "the-first-key",
        ...headers,
      },
      body,
    });
  const post = async (fields: object, headers: Record<string, string> = {}) => {
    const terms = { amount_minor: 1, currency: "EUR", payment_method: "alipay_plus" };
    const answer = await ask(JSON.stringify({ ...terms, ...fields }), headers);
    const body = JSON.parse(String(answer.body)) as { data?: { id: string } };
    return { status: answer.status, id: body.data?.id ?? "" };
  };
  /** Sends a body unchanged. */
  const send = async (body: string, headers: Record<string, string> = {}): Promise<number> =>
    (await ask(body, headers)).status;
  return { harness, sandbox, ready, list, post, send };
}
