import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDialect, dialectText } from "../../src/core/calibration/dialect-section.ts";
import type { Dialect } from "../../src/core/shape/dialect.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import type { OutboundRequest } from "../../src/world.ts";
import { createHarness, type FullAnswer } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";
import { startListening } from "../support/listening.ts";
import { inOrder } from "../support/in-order.ts";

const OTHER: Dialect = {
  errors: {
    session_not_found: { code: "resource_missing" },
    idempotency_key_reused: { code: "idempotency_error", status: 409 },
    order_conflict: { code: "duplicate_order" },
    credential_missing: { code: "unauthorized" },
    credential_invalid: { code: "unauthorized" },
    body_too_large: { code: "too_large", status: 422 },
    not_found: { status: 410 },
  },
  events: { "order.succeeded": "payment.paid", "order.created": "payment.created" },
  event_fields: { event_id: "id", created_at: "occurred_at", sequence: null, previous_status: null },
  times: "milliseconds",
  headers: { event_id: "X-Svc-Event", timestamp: "X-Svc-Timestamp", signature: "X-Svc-Signature" },
  signature_form: "t=timestamp,v1=hex",
  replay: { status: 200, header: "X-Replayed" },
  unknown_session: 403,
  both_forms: "price_id",
};
const ENDPOINT = "http://127.0.0.1:3000/hooks";
const ORDER = { order_id: "order-1", amount_minor: 100, currency: "EUR", payment_method: "alipay_plus" };

type Answer = FullAnswer & { readonly json: Readonly<Record<string, unknown>> };

/** A sandbox with a dialect, and the requests to its endpoint. */
async function openDialect(dialect: Dialect | undefined, args: readonly string[] = []) {
  const harness = createHarness();
  if (dialect !== undefined) writeFileSync(join(harness.cwd, "like.json"), JSON.stringify(dialect));
  const sandbox = await harness.start([...(dialect === undefined ? [] : ["--like", "like.json"]), ...args]);
  const received: OutboundRequest[] = [];
  harness.setFault((request, pass) => {
    if (!request.url.startsWith(ENDPOINT)) return pass();
    received.push(request);
    return Promise.resolve({ ok: true, status: 204, headers: {}, body: "" });
  });
  await harness.run(["endpoints", "add", ENDPOINT]);
  const ask = async (path: string, body?: object, headers: object = {}): Promise<Answer> => {
    const sent = { "Idempotency-Key": "key-00000001", ...headers };
    const answer = await sandbox.request({
      path: `/v1${path}`,
      method: body === undefined ? "GET" : "POST",
      headers: Object.fromEntries(Object.entries(sent)),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { ...answer, json: JSON.parse(String(answer.body)) as Answer["json"] };
  };
  return { harness, sandbox, ready: sandbox.ready, received, ask };
}

const codeOf = ({ status, json }: Answer): readonly unknown[] => [
  status,
  (json["error"] as { readonly code: string } | undefined)?.code,
];

test("answers have the dialect's codes, statuses and replay header wherever the interface states none", async () => {
  const { ask } = await openDialect(OTHER);
  const created = await ask("/orders", ORDER);
  expect([created.status, created.headers["X-Replayed"]]).toEqual([201, undefined]);
  const replayed = await ask("/orders", ORDER);
  expect([replayed.status, replayed.headers["X-Replayed"], replayed.body]).toEqual([
    200,
    "true",
    created.body,
  ]);
  expect(replayed.headers["Idempotent-Replayed"]).toBe(undefined);
  const rows = [
    [await ask("/orders", { ...ORDER, amount_minor: 1 }), [409, "idempotency_error"]],
    [await ask("/orders", ORDER, { "Idempotency-Key": "key-00000002" }), [409, "duplicate_order"]],
    [await ask("/orders", ORDER, { Authorization: "none" }), [401, "unauthorized"]],
    [await ask("/checkout-sessions/00000000-0000-4000-8000-000000000000"), [403, "resource_missing"]],
    [await ask("/nothing"), [410, "not_found"]],
    [await ask("/orders", {}, { "Idempotency-Key": "key-00000003" }), [400, "missing_parameter"]],
  ] as const;
  for (const [answer, expected] of rows) expect(codeOf(answer)).toEqual(expected);
  const both = { ...ORDER, order_id: "order-2", price_id: "price_coffee" };
  const { status, json } = await ask("/orders", both, { "Idempotency-Key": "key-00000004" });
  expect([status, json["data"]]).toMatchObject([201, { amount_minor: 450 }]);
});

test("a delivery has the names of the dialect, and its signature covers timestamp, dot and the sent body", async () => {
  const { harness, ready, received, ask } = await openDialect(OTHER);
  await ask("/orders", ORDER);
  await harness.run(["sandbox", "pay", "order-1"]);
  await harness.clock.sleep(1000);
  const secret = ready.signing_secret ?? "";
  const events = received.map(({ headers, body }) => {
    const timestamp = headers["X-Svc-Timestamp"] ?? "";
    const text = String(body);
    const digest = createHmac("sha256", secret).update(`${timestamp}.${text}`).digest("hex");
    expect(headers["X-Svc-Signature"]).toBe(`t=${timestamp},v1=${digest}`);
    expect(Object.keys(headers).filter((name) => name.startsWith("Checkout-"))).toEqual([]);
    const event = JSON.parse(text) as Record<string, unknown>;
    expect(Object.keys(event)).toEqual([
      "id",
      "type",
      "occurred_at",
      "api_version",
      "livemode",
      "store_id",
      "data",
    ]);
    expect([event["livemode"], typeof event["occurred_at"]]).toEqual([false, "number"]);
    const verdict = verifyWebhook({
      rawBody: text,
      headers,
      secrets: secret,
      dialect: OTHER,
      now: harness.clock.now(),
    });
    expect(verdict).toMatchObject({ ok: true, eventId: headers["X-Svc-Event"] });
    const forged = {
      rawBody: `${text} `,
      headers,
      secrets: secret,
      dialect: OTHER,
      now: harness.clock.now(),
    };
    expect(verifyWebhook(forged)).toMatchObject({ ok: false, code: "signature_mismatch" });
    return [event["type"], verdict.ok && verdict.event.type];
  });
  expect(events).toEqual([
    ["payment.created", "order.created"],
    ["order.pending", "order.pending"],
    ["payment.paid", "order.succeeded"],
  ]);
  const { stdout } = await harness.run(["events", "list", "--json"]);
  expect(stdout).toContain('"order.succeeded"');
  expect(stdout).not.toContain("payment.paid");
});

test("a store keeps the dialect with which it was created, next to stores with other dialects", async () => {
  const { harness, ask } = await openDialect(undefined);
  writeFileSync(join(harness.cwd, "like.json"), JSON.stringify(OTHER));
  const made = await harness.run(["stores", "create", "--name", "Other", "--dialect", "like.json", "--json"]);
  const { api_key: key } = JSON.parse(made.stdout) as { readonly api_key: string };
  const unknown = "/checkout-sessions/00000000-0000-4000-8000-000000000000";
  expect(codeOf(await ask(unknown))).toEqual([404, "session_not_found"]);
  expect(codeOf(await ask(unknown, undefined, { Authorization: `Bearer ${key}` }))).toEqual([
    403,
    "resource_missing",
  ]);
});

test("listen verifies and prints the events of a dialect, and forwards them as they were sent", async () => {
  const { harness, ask } = await openDialect(OTHER);
  const forwarded: string[] = [];
  harness.occupy(3001, {
    answer: ({ rawHeaders, body }) => {
      forwarded.push(`${rawHeaders.join(" ").toLowerCase()} ${Buffer.from(body).toString("utf8")}`);
      return Promise.resolve({ status: 200, headers: {}, body: "" });
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  const listening = await startListening(harness, ["--forward", "http://localhost:3001/hooks"]);
  await ask("/orders", ORDER);
  await harness.run(["sandbox", "pay", "order-1"]);
  const told = await listening.heard(3);
  expect(told.map(({ type, verified, outcome, order_id: id }) => [type, verified, outcome, id])).toEqual([
    ["order.created", true, "forwarded", "order-1"],
    ["order.pending", true, "forwarded", "order-1"],
    ["order.succeeded", true, "forwarded", "order-1"],
  ]);
  expect(forwarded).toHaveLength(3);
  for (const part of ["x-svc-signature t=", "x-svc-event ", "payment.paid"])
    expect(forwarded[2]).toContain(part);
});

test("a start with a dialect that differs from the dialect of the state folder is refused", async () => {
  const { harness } = await openDialect(OTHER);
  await harness.run(["sandbox", "stop"]);
  writeFileSync(join(harness.cwd, "like.json"), JSON.stringify({ times: "seconds" }));
  const refused = await harness.run(["sandbox", "start", "--like", "like.json", "--json"]);
  expect([refused.code, JSON.parse(refused.stderr)]).toMatchObject([1, { error: { code: "other_dialect" } }]);
});

test("webhooks verify accepts an event as it was sent, in the dialect of its store or of a file", async () => {
  const { harness, sandbox, ready, received, ask } = await openDialect(OTHER);
  await ask("/orders", ORDER);
  await harness.clock.sleep(1000);
  const [first] = received;
  const [id = "", timestamp = "", signature = ""] = ["X-Svc-Event", "X-Svc-Timestamp", "X-Svc-Signature"].map(
    (name) => first?.headers[name],
  );
  const { stdout } = await harness.run(["events", "get", id, "--body"]);
  expect(stdout).toBe(String(first?.body));
  writeFileSync(join(harness.cwd, "body.json"), stdout);
  const line = ["--payload-file", "body.json", "--timestamp", timestamp, "--signature", signature];
  expect((await harness.run(["webhooks", "verify", ...line])).code).toBe(0);
  writeFileSync(join(harness.cwd, "secret.txt"), ready.signing_secret ?? "");
  const given = ["--secret-file", "secret.txt", "--dialect", "like.json"];
  expect((await harness.run(["webhooks", "verify", ...line, ...given])).code).toBe(0);
  const late = await harness.run(["webhooks", "verify", ...line, ...given, "--now", "2020-01-01T00:00:00Z"]);
  expect([late.code, late.stdout]).toEqual([1, expect.stringContaining("timestamp_too_new")]);
  const portal = await signedIn(harness, sandbox);
  const { html } = await portal.get(`${portal.home}/webhooks`);
  const [, path = ""] = /href="([^"]*\/deliveries\/[^"]+)"/.exec(html) ?? [];
  expect((await portal.get(path)).text).toContain(`--signature '${signature}'`);
});

test("commands report replays and refusals in a dialect as in a sandbox without a dialect", async () => {
  const { harness } = await openDialect(OTHER);
  const create = ["orders", "create", "--order-id", "order-1", "--price-id", "price_coffee", "--json"];
  const [first, again] = [await harness.run(create), await harness.run(create)];
  expect([first, again].map(({ stdout }) => JSON.parse(stdout) as unknown)).toMatchObject([
    { replayed: false },
    { replayed: true },
  ]);
  const rows = [
    [[...create, "--new-attempt"], 5, { error: { code: "order_conflict" }, status: 409 }],
    [
      ["sessions", "get", "00000000-0000-4000-8000-000000000000", "--json"],
      1,
      { error: { code: "session_not_found" }, status: 403 },
    ],
  ] as const;
  for (const [args, exit, problem] of rows) {
    const { code, stderr } = await harness.run(args);
    expect([code, JSON.parse(stderr)]).toMatchObject([exit, problem]);
  }
});

const SAID = [
  "session_not_found → resource_missing",
  "Idempotent-Replayed → X-Replayed",
  " → price_id",
  "404 → 403",
  "order.succeeded → payment.paid",
  "sequence → –",
  "Checkout-Signature → X-Svc-Signature",
];

test("whoami, the assumptions and the Settings page show the dialect in effect", async () => {
  const { harness, sandbox } = await openDialect(OTHER);
  const { dialect } = JSON.parse((await harness.run(["whoami", "--json"])).stdout) as {
    readonly dialect: { readonly value: string };
  };
  const { assumptions } = JSON.parse((await harness.run(["assumptions", "--json"])).stdout) as {
    readonly assumptions: readonly { readonly decision: number; readonly in_effect?: readonly string[] }[];
  };
  const inEffect = assumptions.flatMap(({ in_effect: names = [] }) => names);
  expect(assumptions.flatMap(({ decision, in_effect: names }) => (names ? [decision] : []))).toEqual([
    4, 5, 7, 9, 11, 12,
  ]);
  expect(dialect.value.split(", ").toSorted()).toEqual(inEffect.toSorted());
  expect(SAID.filter((said) => !inEffect.some((difference) => difference.endsWith(said)))).toEqual([]);
  const people = await harness.run(["assumptions"]);
  expect(people.stdout).toContain("Checkout-Event-Id → X-Svc-Event");
  const portal = await signedIn(harness, sandbox);
  const { text } = await portal.get(`${portal.home}/settings`);
  expect(SAID.filter((said) => !text.includes(said))).toEqual([]);
  const plain = await openDialect(undefined);
  expect((await plain.harness.run(["whoami", "--json"])).stdout).not.toContain("dialect");
});

test("a restore reports the snapshot's dialect if the store had another, and config export writes the dialect", async () => {
  const { harness } = await openDialect(OTHER);
  const file = join(harness.cwd, "taken.snapshot");
  await harness.run(["snapshots", "create", "taken", "--all", "--file", file]);
  const own = await harness.run(["snapshots", "restore", "--all", "--file", file]);
  expect([own.code, own.stderr]).toEqual([0, expect.not.stringContaining("dialect")]);
  const exported = await harness.run(["config", "export"]);
  const { dialect, sandbox } = JSON.parse(exported.stdout) as {
    dialect: unknown;
    sandbox?: { like?: unknown };
  };
  expect([dialect, sandbox?.like]).toEqual([OTHER, undefined]);
  const plain = await openDialect(undefined);
  const restored = await plain.harness.run(["snapshots", "restore", "--all", "--trust", "--file", file]);
  expect([restored.code, restored.stderr]).toEqual([0, expect.stringContaining("checkout whoami --store")]);
  const unknown = "/checkout-sessions/00000000-0000-4000-8000-000000000000";
  expect((await plain.ask(unknown)).status).toBe(403);
});

const REFUSED: readonly (readonly [dialect: unknown, said: readonly string[]])[] = [
  [[], []],
  [{ error: {} }, ['"error"']],
  [{ errors: { nothing: { code: "x" } } }, ["errors", '"nothing"']],
  [{ errors: { rate_limited: { status: 503 } } }, ["errors.rate_limited.status", "429"]],
  [{ errors: { not_found: { status: 409 } } }, ["errors.not_found.status", "404"]],
  [{ events: { "order.created": "order.pending" } }, ["events"]],
  [{ event_fields: { data: null } }, ["event_fields.data"]],
  [{ event_fields: { livemode: "mode" } }, ["event_fields", '"livemode"']],
  [{ event_fields: { store_id: "livemode" } }, ["event_fields"]],
  [{ headers: { timestamp: "Checkout-Signature" } }, ["headers"]],
  [{ headers: { timestamp: "X Time" } }, ["headers.timestamp"]],
  [{ headers: { timestamp: "Content-Length" } }, ["headers.timestamp"]],
  [{ replay: { header: "transfer-encoding" } }, ["replay.header"]],
  [{ unknown_session: 200 }, ["unknown_session"]],
  [{ replay: { status: 409 } }, ["replay.status"]],
];

test.each(REFUSED)("the dialect %j is refused, and the refusal names the field", (dialect, said) => {
  const told = { fact: said.length === 0 ? "no_dialect" : "dialect_field" };
  const message = expect.stringMatching(inOrder(...said)) as string;
  expect(parseDialect(JSON.stringify(dialect))).toMatchObject({ ok: false, refusal: { message, told } });
});

test("a forbidden part of a dialect is not written to its file, and the other parts are written", () => {
  const observed = {
    headers: { event_id: "Content-Id", timestamp: "X-Time" },
    event_fields: { event_id: "$id", sequence: null },
    events: { "order.paid": "paid", "order.created": "made" },
  };
  expect(JSON.parse(dialectText(observed))).toEqual({
    headers: { timestamp: "X-Time" },
    event_fields: { sequence: null },
    events: { "order.created": "made" },
  });
});

test("a dialect is the same after it was written to a file and read back", () => {
  const read = parseDialect(JSON.stringify(OTHER));
  expect(read.ok && JSON.parse(dialectText(read.value))).toEqual(OTHER);
});
