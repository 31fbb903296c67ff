import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { EXIT, EXIT_MEANINGS } from "../../src/cli/problem.ts";
import { english } from "../../src/core/language.ts";
import { CHECKLIST_ITEMS, ITEM_TITLES } from "../../src/core/readiness/names.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import type { FactName } from "../../src/core/refusals.ts";
import { verifyWebhook } from "../../src/webhooks.ts";
import type { Service } from "../../src/world.ts";
import { eventually } from "../support/eventually.ts";
import {
  createHarness,
  EPHEMERAL,
  type Harness,
  type Result,
  type RunningSandbox,
} from "../support/harness.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { BROKEN_CLIENTS, installClient, rightClient } from "../support/shop-clients.ts";
import { launchSteps } from "../support/launch-steps.ts";
import type { WireAnswerOf } from "../support/wire.ts";

const HOOKS = "http://localhost:3000/hooks";
const DAY_MS = 24 * 3_600_000;

type Report = {
  readonly verdict: string;
  readonly source: string;
  readonly service: string;
  readonly store_id: string | null;
  readonly livemode: boolean;
  readonly judged_at: string;
  readonly items: readonly {
    readonly name: string;
    readonly status: string;
    readonly reason: string;
    readonly evidence: readonly { readonly what: string; readonly reference: string | null }[];
    readonly assumptions: readonly string[];
    readonly next: string;
  }[];
};

/** The expected stderr of a successful command: the steps of a drill without a failure, otherwise nothing. */
function stderrOf(line: string): unknown {
  const isDrill = line.startsWith("checklist run ") && !line.endsWith("--json");
  return isDrill ? expect.not.stringContaining("✗") : "";
}

/** A sandbox, and functions that run a command line given as one text. */
async function openShop(args: readonly string[] = []) {
  const harness = createHarness();
  const sandbox = await harness.start(args);
  return { harness, sandbox, ...typist(harness) };
}

function typist(harness: Harness, env: Readonly<Record<string, string>> = {}) {
  const type = (line: string): Promise<Result> => harness.run(line.split(" "), { env });
  const done = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await type(line);
    expect([line, code, stderr]).toEqual([line, 0, stderrOf(line)]);
    return stdout;
  };
  /** Returns the report, and the names of the items that do not pass. */
  const check = async (line = "checklist"): Promise<{ readonly open: string[]; readonly report: Report }> => {
    const { code, stdout, stderr } = await type(`${line} --json`);
    const report = JSON.parse(stdout) as Report;
    const named = env["CHECKOUT_BASE_URL"];
    const about = expect.stringMatching(
      new RegExp(`^[^\n]* ${named} \\(CHECKOUT_BASE_URL\\)[^\n]* http://127\\.0\\.0\\.1:4242/v1\n$`),
    ) as string;
    expect([stderr, code, stdout.trimEnd().includes("\n")]).toEqual([
      report.source === "service" ? about : "",
      report.verdict === "ready" ? 0 : 3,
      false,
    ]);
    expect(report.livemode).toBe(false);
    const open = report.items.filter(({ status }) => status !== "pass").map(({ name }) => name);
    return { open, report };
  };
  return { type, done, check };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

/** Serves a shop on the port of its endpoint: its receiver, its orders and its return page. */
function serveShop({ harness }: Pick<Shop, "harness">, secret: () => string): void {
  const orders = new Map<string, string>();
  const prices = new Map<string, string>();
  const answer: Service["answer"] = ({ target, rawHeaders, body }) => {
    const say = (status: number, text = "") => Promise.resolve({ status, headers: {}, body: text });
    if (target.startsWith("/thanks?")) return say(200, "thanks");
    if (target.startsWith("/orders/")) {
      const status = orders.get(target.slice("/orders/".length));
      const times = Number(status === "paid");
      return status === undefined ? say(404) : say(200, JSON.stringify({ status, times }));
    }
    const now = harness.clock.now();
    const verdict = verifyWebhook({ rawBody: body, headers: rawHeaders, secrets: secret(), now });
    if (!verdict.ok) return say(400);
    const { type, data } = JSON.parse(Buffer.from(body).toString("utf8")) as {
      readonly type: string;
      readonly data: {
        readonly order_id?: string;
        readonly amount_minor?: number;
        readonly currency?: string;
      };
    };
    const { order_id: order = "", amount_minor: amount = 0, currency = "" } = data;
    const price = `${amount} ${currency}`;
    if (!prices.has(order)) prices.set(order, price);
    if (prices.get(order) !== price) return say(204);
    if (orders.get(order) !== "paid") orders.set(order, type.endsWith(".succeeded") ? "paid" : "open");
    return say(204);
  };
  harness.vacate(3000);
  harness.occupy(3000, { answer, refuse: () => ({ status: 400, headers: {}, body: "" }) });
}

/** The drill of webhooks, with consent to send events of orders. */
const WEBHOOKS = "checklist run webhooks --order-view http://localhost:3000/orders/{order_id}";
const VIEW =
  '--order-view http://localhost:3000/orders/{order_id} --paid-when "status":"paid" --create client';
const DUPLICATES = `checklist run duplicates ${VIEW}`;
const RETURN = `checklist run browser-return --return-url http://localhost:3000/thanks ${VIEW}`;
const IDEMPOTENCY = "checklist run idempotency --client-command client";
const DRILLS = [WEBHOOKS, DUPLICATES, RETURN, IDEMPOTENCY];

/** Waits until an event of an order was delivered and accepted. */
async function untilAccepted({ done }: Pick<Shop, "done">): Promise<void> {
  await eventually("an event of an order is accepted", async () =>
    expect(await done("deliveries list --json")).toContain('"state":"succeeded"'),
  );
}

/** Prepares a new store until only drills are missing, by typed commands alone. */
async function prepareShop(shop: Shop): Promise<void> {
  const { done } = shop;
  await done("return-origins add https://shop.example");
  const added = JSON.parse(await done(`endpoints add ${HOOKS} --json`)) as Record<string, string>;
  serveShop(shop, () => added["signing_secret"] ?? "");
  installClient(shop.harness, rightClient);
  await done("orders create --order-id order-1001 --price-id price_coffee");
  await untilAccepted(shop);
  await done("production request");
  await done("admin approve-credential");
  await done("admin open-gate");
}

function database({ harness }: Pick<Shop, "harness">): Database.Database {
  return new Database(join(harness.cwd, ".checkout/sandbox.db"));
}

test("a store becomes ready step by step, and undoing an item makes the store not ready again", async () => {
  const shop = await openShop();
  const { check, done, type, harness } = shop;
  const steps: (readonly [string, string])[] = [];
  const open = async (line: string): Promise<void> => {
    if (line !== "") await type(line);
    const { report } = await check();
    const passing = report.items.filter(({ status }) => status === "pass").map(({ name }) => name);
    steps.push([line, passing.join(" ")]);
  };
  await open("");
  await open("return-origins add https://shop.example");
  const added = JSON.parse(await done(`endpoints add ${HOOKS} --json`)) as Record<string, string>;
  serveShop(shop, () => added["signing_secret"] ?? "");
  installClient(shop.harness, rightClient);
  await open(RETURN);
  await untilAccepted(shop);
  await open(WEBHOOKS);
  await open(DUPLICATES);
  const order =
    "orders create --order-id order-1001 --payment-method alipay_plus --currency EUR --amount-minor";
  for (const amount of [1999, 1999, 2999]) await open(`${order} ${amount}`);
  await open(IDEMPOTENCY);
  await open("production request");
  await open("admin approve-credential");
  await open("admin open-gate");
  const origins = "store_active return_origins";
  const webhooks = `${origins} webhook_verification`;
  expect(steps.map(([, passing]) => passing)).toEqual([
    "store_active",
    "store_active",
    origins,
    origins,
    webhooks,
    webhooks,
    webhooks,
    webhooks,
    `${webhooks} idempotency_replay`,
    `${webhooks} idempotency_replay`,
    `production_credential ${webhooks} idempotency_replay`,
    CHECKLIST_ITEMS.join(" "),
  ]);
  const ready = await type("checklist");
  expect([ready.code, ready.stderr]).toEqual([0, ""]);
  expect(ready.stdout).toContain(`${english(READINESS_SENTENCES.verdict.ready)}: 6 `);
  expect(ready.stdout).toContain(english(READINESS_SENTENCES.testMode));
  await shop.sandbox.stop();
  await shop.harness.start();
  expect((await check()).report.verdict).toBe("ready");

  const endpoint = added["id"] ?? "";
  const drill = WEBHOOKS;
  const rows: readonly (readonly [away: string, open: string[], back: readonly string[]])[] = [
    [
      "admin revoke-credential",
      ["production_credential", "production_gate"],
      ["admin approve-credential", "admin open-gate"],
    ],
    ["admin deactivate", ["store_active"], ["admin activate"]],
    ["admin disable-capability JPY", ["store_active"], ["admin enable-capability JPY"]],
    [
      "return-origins remove https://shop.example",
      ["return_origins"],
      ["return-origins add https://shop.example"],
    ],
    ["admin close-gate", ["production_gate"], ["admin open-gate"]],
    [`endpoints disable ${endpoint}`, ["webhook_verification"], [`endpoints enable ${endpoint}`]],
    ["endpoints add http://localhost:3001/", ["webhook_verification"], []],
  ];
  for (const [away, missing, back] of rows) {
    await done(away);
    expect([away, (await check()).open]).toEqual([away, missing]);
    for (const line of back) await done(line);
    if (back.length > 0) expect([away, (await check()).report.verdict]).toEqual([away, "ready"]);
  }
  const listed = JSON.parse(await done("endpoints list --json")) as { endpoints: { id: string }[] };
  await done(`endpoints remove ${listed.endpoints[1]?.id}`);
  expect((await check()).report.verdict).toBe("ready");

  const rotated = JSON.parse(await done(`endpoints rotate-secret ${endpoint} --json`)) as Record<
    string,
    string
  >;
  expect((await check()).open).toEqual(["webhook_verification"]);
  serveShop(shop, () => rotated["signing_secret"] ?? "");
  await done(drill);
  expect((await check()).report.verdict).toBe("ready");

  const connection = database(shop);
  const move = (url: string): void => {
    connection.prepare("UPDATE endpoints SET url = ? WHERE id = ?").run(url, endpoint);
    // The sandbox may notice another process's change only after this time.
    harness.clock.advance(50);
  };
  move(`${HOOKS}/2`);
  expect((await check()).open).toEqual(["webhook_verification"]);
  move(HOOKS);
  connection.close();
  expect((await check()).report.verdict).toBe("ready");

  serveShop(shop, () => "whsec_another");
  await type(drill);
  const failed = await check();
  expect(failed.open).toEqual(["webhook_verification"]);
  expect(failed.report.items[3]?.status).toBe("fail");
  serveShop(shop, () => rotated["signing_secret"] ?? "");
  await done(drill);

  await done("sandbox clock freeze");
  for (const each of DRILLS) await done(each);
  expect((await check()).report.verdict).toBe("ready");
  await done(`sandbox clock advance ${7 * DAY_MS - 1}ms`);
  expect((await check()).report.verdict).toBe("ready");
  await done("sandbox clock advance 1ms");
  expect((await check()).open).toEqual(["return_origins", "webhook_verification", "idempotency_replay"]);
});

/** The steps of a page, without the words in which the pages differ. */
const stepsOf = (page: string): readonly string[] =>
  launchSteps(page).map((step) => step.slice(0, step[0] === "production" ? 2 : 99).join(" "));

test("the steps of docs/launch.md and docs/ci.md make a store ready within exec --admin", async () => {
  const harness = createHarness();
  installClient(harness, rightClient);
  const steps = launchSteps("docs/ci.md");
  expect(steps.length).toBeGreaterThan(5);
  expect(steps.at(-1)).toEqual(["checklist", "--junit", "readiness.xml"]);
  expect(stepsOf("docs/ci.md")).toEqual([
    ...stepsOf("docs/launch.md").slice(0, -1),
    `${stepsOf("docs/launch.md").at(-1)} --junit readiness.xml`,
  ]);
  harness.setProgram(async ({ env: given }) => {
    const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? ""]));
    const inExec = { harness, ...typist(harness, env) };
    serveShop(inExec, () => env["CHECKOUT_SIGNING_SECRET"] ?? "");
    for (const step of steps) {
      const { code, stderr } = await harness.run(step, { env });
      expect([step, code, stderr]).toEqual([step, 0, stderrOf(step.join(" "))]);
    }
    expect((await inExec.check()).report).toMatchObject({ verdict: "ready", livemode: false });

    const [broken] = BROKEN_CLIENTS;
    installClient(harness, broken?.client ?? rightClient);
    const drill = ["checklist", "run", "idempotency", "--client-command", "client"];
    expect((await harness.run(drill, { env })).code).toBe(1);
    expect((await inExec.check()).open).toEqual(["idempotency_replay"]);
    return { ending: "exited", exitCode: 0 };
  });
  const ended = await harness.run(["exec", "--admin", "--", "sh", "-e", "launch.sh"]);
  expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
  const cases = readFileSync(join(harness.cwd, "readiness.xml"), "utf8").match(/<testcase /g);
  expect(cases).toHaveLength(CHECKLIST_ITEMS.length);
});

test("a skipped drill counts as a risk until the drill passes or fails, or 7 days have passed", async () => {
  const shop = await openShop(EPHEMERAL);
  const { done, type, check } = shop;
  await prepareShop(shop);
  await done("sandbox clock freeze");
  expect((await check()).report.verdict).toBe("not_ready");
  for (const name of ["webhooks", "duplicates", "idempotency", "browser-return"])
    await done(`checklist waive ${name} --reason by-hand-${name}`);
  const { report, open } = await check();
  expect([report.verdict, open]).toEqual(["ready_with_risks", []]);
  for (const name of ["webhooks", "duplicates", "idempotency", "browser-return"])
    expect(report.items.flatMap(({ assumptions }) => assumptions).join()).toContain(`by-hand-${name}`);
  expect((await type("checklist --json --allow-risks")).code).toBe(0);
  expect((await type("checklist --allow-risks --item store_active")).code).toBe(0);
  await done("sandbox clock advance 1ms");
  serveShop(shop, () => "whsec_another");
  await type(WEBHOOKS);
  expect((await check()).open).toEqual(["webhook_verification"]);
  expect((await type("checklist --allow-risks")).code).toBe(3);
  await done("checklist waive webhooks --reason again");
  await done(IDEMPOTENCY);
  const fewer = await check();
  expect(fewer.report.verdict).toBe("ready_with_risks");
  expect(fewer.report.items[4]?.assumptions).toEqual([]);
  await done(`sandbox clock advance ${7 * DAY_MS}ms`);
  expect((await check()).report.verdict).toBe("not_ready");
});

test("the gate opens only with an approved credential, closes when the approval is revoked, and the audit log has every action", async () => {
  const { type, done, check } = await openShop(EPHEMERAL);
  const rows: readonly (readonly [line: string, code: number, refusal: FactName | "done"])[] = [
    ["admin open-gate", 5, "production_not_requested"],
    ["admin revoke-credential", 5, "nothing_to_revoke"],
    ["admin close-gate", 5, "gate_is_closed"],
    ["admin activate", 5, "store_is_active"],
    ["admin enable-capability EUR", 5, "capability_is_active"],
    ["admin disable-capability GBP", 1, "no_capability"],
    ["production request", 0, "done"],
    ["production request", 5, "production_is_requested"],
    ["admin open-gate", 5, "gate_stays_closed"],
    ["admin approve-credential --note seen", 0, "done"],
    ["admin approve-credential", 5, "credential_is_approved"],
    ["admin open-gate", 0, "done"],
    ["admin open-gate", 5, "gate_open"],
    ["production request", 5, "nothing_to_request"],
    ["admin revoke-credential", 0, "done"],
    ["admin close-gate", 5, "gate_is_closed"],
    ["admin approve-credential", 0, "done"],
  ];
  for (const [line, code, refusal] of rows) {
    const result = await type(line);
    const said = refusal === "done" ? "" : expect.stringMatching(refusalText(refusal));
    expect([line, result.code, result.stderr]).toEqual([line, code, said]);
  }
  expect((await check()).open).toContain("production_gate");
  const log = JSON.parse(await done("admin log --json")) as { acts: Record<string, unknown>[] };
  expect(log.acts.map(({ number, actor, action, note }) => [number, actor, action, note])).toEqual([
    [1, "merchant", "request_production", null],
    [2, "administrator", "approve_credential", "seen"],
    [3, "administrator", "open_gate", null],
    [4, "administrator", "revoke_credential", null],
    [5, "administrator", "approve_credential", null],
  ]);
  const shown = (await done("admin log")).split("\n");
  expect(shown[0]).toMatch(/^ACT +AT +WHO +WHAT +OF +NOTE$/);
  expect(shown[2]).toMatch(/^2 +2026-\S+Z +administrator +approve_credential +– +seen$/);
});

test("of two equal concurrent actions of the administrator one succeeds and the other is refused", async () => {
  const { harness, sandbox } = await openShop(EPHEMERAL);
  const token = harness.adminToken();
  const act = (action: string): Promise<string> => control({ sandbox, token }, "/admin/acts", { action });
  const once = ["200", "409 state_conflict"];
  expect(await Promise.all([act("deactivate"), act("deactivate")])).toEqual(once);
  expect(await Promise.all([act("approve_credential"), act("approve_credential")])).toEqual(once);
});

test("new orders of an inactive store or with a disabled capability are refused immediately", async () => {
  const { type, done } = await openShop(EPHEMERAL);
  const order = (id: string, currency: string): string =>
    `orders create --order-id ${id} --amount-minor 5 --payment-method wechat_pay --json --currency ${currency}`;
  const code = async (line: string): Promise<string> => {
    const result = await type(line);
    return result.code === 0 ? "201" : (JSON.parse(result.stderr) as { error: { code: string } }).error.code;
  };
  expect(await code(order("a", "EUR"))).toBe("201");
  await done("admin disable-capability EUR");
  expect(await code(order("b", "EUR"))).toBe("capability_missing");
  expect(await code(order("b", "USD"))).toBe("201");
  await done("admin deactivate");
  expect(await code(order("c", "USD"))).toBe("store_inactive");
  expect(await code(order("a", "EUR"))).toBe("201");
  await done("admin activate");
  expect(await code(order("c", "EUR"))).toBe("capability_missing");
  await done("admin enable-capability EUR");
  expect(await code(order("c", "EUR"))).toBe("201");
});

test("v1 refuses a live credential before and after its approval, with different codes", async () => {
  const { sandbox, done } = await openShop(EPHEMERAL);
  const refused = async (path: string, body?: string): Promise<unknown> => {
    const headers = { Authorization: "Bearer svc_live_0123456789", "Idempotency-Key": "key-00000001" };
    const { status, body: text } = await sandbox.request({
      path,
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return [status, (JSON.parse(String(text)) as { error: { code: string } }).error.code];
  };
  const both = async (): Promise<unknown> => [
    await refused("/v1/orders", '{"order_id":"o","price_id":"price_bento"}'),
    await refused("/v1/checkout-sessions/00000000-0000-7000-8000-000000000000"),
  ];
  const missing = [403, "production_approval_missing"];
  const wrong = [403, "environment_not_allowed"];
  expect(await both()).toEqual([missing, missing]);
  await done("production request");
  expect(await both()).toEqual([missing, missing]);
  await done("admin approve-credential");
  expect(await both()).toEqual([wrong, wrong]);
  await done("admin open-gate");
  expect(await both()).toEqual([wrong, wrong]);
  await done("admin revoke-credential");
  expect(await both()).toEqual([missing, missing]);
  const live = JSON.parse(await done("orders create --order-id o --price-id price_bento --json")) as {
    data: { livemode: boolean };
  };
  expect(live.data.livemode).toBe(false);
});

type Caller = { readonly sandbox: RunningSandbox; readonly token: string };

async function control({ sandbox, token }: Caller, path: string, body?: object): Promise<string> {
  const answer = await sandbox.request({
    path: path === "openapi.json" ? `/__sandbox/${path}` : `/__sandbox/stores/default${path}`,
    headers: { Authorization: token === "" ? "" : `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { error } = JSON.parse(String(answer.body)) as { error?: { code: string } };
  return `${answer.status} ${error?.code ?? ""}`.trim();
}

test("v1 and the administrator's operations refuse the token of another role", async () => {
  const { harness, sandbox, type } = await openShop();
  const { control_token: run } = JSON.parse(harness.readState("run.json")) as Record<string, string>;
  const { admin_token: administrator } = JSON.parse(harness.readState("admin.json")) as Record<
    string,
    string
  >;
  const api = await sandbox.request({
    path: "/v1/checkout-sessions/x",
    headers: { Authorization: `Bearer ${administrator}` },
  });
  expect(api.status).toBe(401);
  const twice = { Authorization: `Bearer ${administrator}`, authorization: `Bearer ${run}` };
  expect(
    (await sandbox.request({ path: "/__sandbox/stores/default/admin/acts", headers: twice })).status,
  ).toBe(401);
  writeFileSync(join(harness.cwd, ".checkout/admin.json"), JSON.stringify({ admin_token: run }));
  const refused = await type("admin close-gate");
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("scope_missing")]);
  expect(refused.stderr).toContain("admin.json");
});

test("the admin token is created once, kept in a private file and never shown", async () => {
  const shop = await openShop();
  const { harness, sandbox, done, type } = shop;
  const path = join(harness.cwd, ".checkout/admin.json");
  const { admin_token: token = "" } = JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
  expect(token).toMatch(/^svc_admin_[\w-]{43}$/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const said = [
    await type("production request"),
    await type(`admin approve-credential --note ${sandbox.ready.api_key ?? ""}`),
    await type("admin open-gate --json"),
    await type("admin open-gate --json"),
    await type("admin log"),
    await type("whoami --json"),
    await type("stores show --json"),
    await type("checklist --json"),
    await type("checklist --markdown"),
  ];
  for (const { stdout } of said.slice(-2)) expect(stdout).toContain("svc_test_…");
  const { stdout, stderr } = await sandbox.stop();
  for (const text of [...said.flatMap((one) => [one.stdout, one.stderr]), stdout, stderr])
    expect(text).not.toContain(token);
  for (const name of readdirSync(join(harness.cwd, ".checkout"))) {
    const text = readFileSync(join(harness.cwd, ".checkout", name), "latin1");
    if (name !== "admin.json") expect(text).not.toContain(token);
    if (name !== "credentials.json") expect(text).not.toContain(sandbox.ready.api_key);
  }
  await harness.start();
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ admin_token: token });
  await done("admin close-gate");
  rmSync(path);
  expect(await type("admin log")).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("admin.json") as string,
  });
});

test("a damaged admin.json stops the start and is not replaced", async () => {
  const harness = createHarness();
  const folder = join(harness.cwd, ".checkout");
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "admin.json"), '{"admin_token":"short"}');
  await expect(harness.start()).rejects.toThrow("admin.json");
  expect(harness.readState("admin.json")).toBe('{"admin_token":"short"}');
  expect(existsSync(join(folder, "run.json"))).toBe(false);
});

test("an ephemeral sandbox takes both tokens from the environment, refuses short or equal tokens, and accepts the admin token only for admin commands on this machine", async () => {
  const harness = createHarness();
  const tokens = {
    CHECKOUT_CONTROL_TOKEN: "control-token-0123456789",
    CHECKOUT_ADMIN_TOKEN: "administrator-0123456789",
  };
  const given = {
    CHECKOUT_SANDBOX_CONTROL_TOKEN: tokens.CHECKOUT_CONTROL_TOKEN,
    CHECKOUT_SANDBOX_ADMIN_TOKEN: tokens.CHECKOUT_ADMIN_TOKEN,
  };
  const { ready } = await harness.start(["--ephemeral"], { env: given });
  const where = { CHECKOUT_BASE_URL: ready.base_url };
  const { CHECKOUT_ADMIN_TOKEN: token } = tokens;
  const asAdministrator = typist(harness, { ...where, CHECKOUT_ADMIN_TOKEN: token });
  await asAdministrator.done("admin approve-credential");
  const both = typist(harness, { ...where, ...tokens });
  expect((await both.check()).open).not.toContain("production_credential");
  await both.done("production request");
  expect((await asAdministrator.type("production request")).code).toBe(7);
  expect((await typist(harness, { ...where, CHECKOUT_CONTROL_TOKEN: token }).type("stores show")).code).toBe(
    4,
  );
  const swapped = { ...where, CHECKOUT_ADMIN_TOKEN: tokens.CHECKOUT_CONTROL_TOKEN };
  expect((await typist(harness, swapped).type("admin log")).code).toBe(4);
  const away = { CHECKOUT_BASE_URL: "https://pay.example/v1", CHECKOUT_ADMIN_TOKEN: token };
  harness.setFault(() => Promise.reject(new Error("nothing may be sent")));
  expect((await typist(harness, away).type("admin log")).code).toBe(2);

  for (const [wrong, named] of [
    ["short", ["CHECKOUT_SANDBOX_ADMIN_TOKEN"]],
    [tokens.CHECKOUT_CONTROL_TOKEN, ["CHECKOUT_SANDBOX_CONTROL_TOKEN", "CHECKOUT_SANDBOX_ADMIN_TOKEN"]],
  ] as const) {
    const env = { ...given, CHECKOUT_SANDBOX_ADMIN_TOKEN: wrong };
    const { code, stderr } = await harness.run(["sandbox", "start", "--ephemeral"], { env });
    expect([code, stderr.match(/CHECKOUT_SANDBOX_[A-Z]+_TOKEN(?= )/g)?.slice(0, 2)]).toEqual([2, named]);
    expect(stderr).not.toContain(wrong);
  }
});

test("an administrator's action and its audit row are written together or not at all", async () => {
  const shop = await openShop();
  const connection = database(shop);
  connection.exec(
    "CREATE TRIGGER full BEFORE INSERT ON admin_acts BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
  );
  for (const line of ["admin deactivate", "admin disable-capability EUR"])
    expect((await shop.type(line)).code).toBe(7);
  const states = connection.prepare("SELECT (SELECT active FROM stores), min(active) FROM capabilities");
  expect(states.raw().get()).toEqual([1, 1]);
  expect((await shop.check()).open).not.toContain("store_active");
  connection.exec("DROP TRIGGER full");
  await shop.done("admin deactivate");
  expect(states.raw().get()).toEqual([0, 1]);
  connection.close();
});

test("stores show lists capabilities and contents without a secret, and capabilities list shows the same capabilities", async () => {
  const shop = await openShop(EPHEMERAL);
  const { sandbox, done } = shop;
  await done("return-origins add https://shop.example");
  await done(`endpoints add ${HOOKS}`);
  await done("admin disable-capability JPY");
  const text = await done("stores show --json");
  const shown = JSON.parse(text) as WireAnswerOf<"storeSummary">;
  const key = sandbox.ready.api_key ?? "";
  expect(shown).toMatchObject({
    merchant: { id: sandbox.ready.merchant_id, name: "Sandbox Merchant" },
    store: { id: sandbox.ready.store_id, name: "Sandbox Store", active: true },
    api_keys: [{ last_four: key.slice(-4), scopes: expect.arrayContaining(["orders:write"]) as string[] }],
    return_origins: ["https://shop.example"],
    endpoints: 1,
  });
  expect(shown.prices.map(({ id, amount_minor: amount, approved }) => [id, amount, approved])).toEqual([
    ["price_bento", 1200, true],
    ["price_coffee", 450, true],
    ["price_ticket", 19_900, true],
  ]);
  expect(shown.capabilities).toContainEqual({ kind: "currency", name: "JPY", active: false });
  expect(shown.capabilities[0]).toEqual({ kind: "payment_method", name: "alipay_plus", active: true });
  for (const secret of [key, sandbox.ready.signing_secret]) expect(text).not.toContain(secret);
  const human = await done("stores show");
  expect(human).toContain(`Sandbox Store (${shown.store.id})\n`);
  expect(human).toMatch(/price_coffee +4\.50 EUR +alipay_plus .*A coffee/);
  const rows = (await done("capabilities list")).split("\n").map((row) => row.trim().split(/ {2,}/));
  const states = new Map(rows.map(([name, kind, state]) => [`${kind} ${name}`, state]));
  expect(states.get("currency JPY")).toMatch(/^\w+$/);
  expect([undefined, states.get("currency JPY")]).not.toContain(states.get("payment_method alipay_plus"));
  const listed = JSON.parse(await done("capabilities list --json")) as Record<string, unknown>;
  expect(listed).toEqual({ store_id: sandbox.ready.store_id, capabilities: shown.capabilities });
});

/** The content of an XML file, read by a third-party parser. */
async function parseXml(
  path: string,
): Promise<{ readonly suite: Record<string, string>; readonly cases: string[][] }> {
  const script = [
    "import json, sys, xml.etree.ElementTree as tree",
    "suite = tree.parse(sys.argv[1]).getroot().find('testsuite')",
    "cases = [[c.get('name')] + [e.tag for e in c] + [e.get('message') or '' for e in c] + [c.findtext('system-out')] for c in suite.findall('testcase')]",
    "print(json.dumps({'suite': suite.attrib, 'cases': cases}))",
  ].join("\n");
  const { stdout } = await promisify(execFile)("python3", ["-c", script, path]);
  return JSON.parse(stdout) as Awaited<ReturnType<typeof parseXml>>;
}

test("the checklist report has the same content as table, JSON, JUnit XML and Markdown", async () => {
  const shop = await openShop();
  const { harness, done, type } = shop;
  await done("return-origins add http://localhost:3000");
  const added = JSON.parse(await done(`endpoints add ${HOOKS} --json`)) as Record<string, string>;
  serveShop(shop, () => added["signing_secret"] ?? "");
  installClient(harness, rightClient);
  await done(RETURN);
  const hostile = `</failure>&<b>]]>\`@team|"'[x](http://evil.example)\u202e`;
  expect((await harness.run(["production", "request", "--note", hostile])).code).toBe(0);
  const order = {
    path: "/v1/orders",
    headers: { "Idempotency-Key": "<key>`@a|b" },
    body: JSON.stringify({ order_id: "a", price_id: "price_bento" }),
  };
  for (const _ of ["created", "replayed"]) await shop.sandbox.request(order);

  const human = await type("checklist --junit readiness.xml --allow-risks");
  expect([human.code, human.stderr]).toEqual([3, ""]);
  const { production_credential: credential, return_origins: origins } = ITEM_TITLES;
  const openItem = `✗ ${english(credential)} (production_credential: fail)\n`;
  const risk = english(READINESS_SENTENCES.originsOnlyLocal);
  const riskLine = new RegExp(`\n {2}! \\w+: ${risk}\n`);
  expect(human.stdout).toContain(`\n${openItem}`);
  expect(human.stdout).toContain(`\n✓ ${english(origins)} (return_origins: pass)\n`);
  expect(human.stdout).toContain(
    `\n? ${english(ITEM_TITLES.webhook_verification)} (webhook_verification: unknown)\n`,
  );
  expect(human.stdout).toContain("\n  → checkout checklist run\n");
  expect(human.stdout).toMatch(riskLine);
  expect(human.stdout).toContain("\\u{202e}");
  expect(human.stdout).toContain(`\n${english(READINESS_SENTENCES.verdict.not_ready)}: 2 `);

  const path = join(harness.cwd, "readiness.xml");
  const text = readFileSync(path, "utf8");
  expect(text).toMatch(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/);
  const { suite, cases } = await parseXml(path);
  expect(suite).toMatchObject({ tests: "6", failures: "2", errors: "2", skipped: "0" });
  const opened = cases.map(([name, first]) => [name, first]);
  expect(opened).toEqual([
    ["production_credential", "failure"],
    ["store_active", "system-out"],
    ["return_origins", "system-out"],
    ["webhook_verification", "error"],
    ["idempotency_replay", "error"],
    ["production_gate", "failure"],
  ]);
  expect(cases[0]?.at(-1)).toContain(hostile.replace("\u202e", "\\u{202e}"));
  expect(cases[2]?.at(-1)).toContain(risk);
  expect(cases[4]?.at(-1)).toContain("<key>`@a|b");

  // A risk counts as a failure, as in the exit code, unless risks are allowed.
  await type("checklist --junit strict.xml");
  const strict = await parseXml(join(harness.cwd, "strict.xml"));
  expect(strict.suite).toMatchObject({ tests: "6", failures: "3", errors: "2", skipped: "0" });
  expect(strict.cases.map(([name, first]) => [name, first])).toEqual(
    opened.with(2, ["return_origins", "failure"]),
  );

  const markdown = await type("checklist --markdown");
  expect([markdown.code, markdown.stderr]).toEqual([3, ""]);
  // Text from outside appears only in code, where it is neither markup nor a mention.
  const [, code = ""] = /^## .+\n\n```text\n([^]+)\n```\n$/.exec(markdown.stdout) ?? [];
  expect(code).toContain(openItem);
  expect(code).toContain("  → checkout admin approve-credential\n");
  expect(code).toMatch(riskLine);
  expect(code).toContain(english(READINESS_SENTENCES.testMode));

  const lines = await type("checklist --json --junit readiness.xml");
  expect(lines.code).toBe(3);
  const report = JSON.parse(lines.stdout) as Report;
  expect(report).toMatchObject({
    verdict: "not_ready",
    source: "sandbox",
    service: shop.sandbox.ready.base_url,
    store_id: shop.sandbox.ready.store_id,
    livemode: false,
  });
  expect(report.items.map(({ name, status }) => [name, status])).toEqual(
    cases.map(([name, first]) => [name, { failure: "fail", error: "unknown" }[first ?? ""] ?? "pass"]),
  );
  expect(report.items[0]?.evidence[0]?.what).toBe(
    english(READINESS_SENTENCES.act("merchant", "request_production", hostile)),
  );
  expect(lines.stdout).not.toContain("\u202e");
});

test("checklist --item shows only the named items, and keeps the verdict of all items", async () => {
  const shop = await openShop(EPHEMERAL);
  const { check, done } = shop;
  const verdict = async (line: string): Promise<unknown> => {
    const { report } = await check(line);
    return [report.verdict, report.items.map(({ name }) => name).join(" ")];
  };
  expect(await verdict("checklist --item store_active")).toEqual(["not_ready", "store_active"]);
  expect(await verdict("checklist --item return_origins")).toEqual(["not_ready", "return_origins"]);
  await done("return-origins add http://localhost:3000");
  expect(await verdict("checklist --item return_origins")).toEqual(["not_ready", "return_origins"]);
  const both = ["not_ready", "store_active return_origins"];
  expect(await verdict("checklist --item return_origins --item store_active")).toEqual(both);
  expect(await verdict("checklist --item return_origins,store_active,store_active")).toEqual(both);
});

/** The record of a calibration of a service, with a verdict on decision 5. */
function recordOf(service: string, verdict: string): string {
  const answer = { status: 201, headers: {}, body: null };
  const request = { method: "POST", path: "/orders", headers: {}, body: null };
  const assumptions = [{ decision: 5, verdict, expected: "the same bytes", request, answer }];
  return JSON.stringify({ service, at: "2026-01-15T00:00:00.000Z", assumptions });
}

test("the checklist of another service reads the service's calibration record and sends nothing", async () => {
  const shop = await openShop();
  await prepareShop(shop);
  const { harness } = shop;
  const base = "http://127.0.0.1:9000/v1";
  const env = { CHECKOUT_BASE_URL: base, CHECKOUT_API_KEY: "test-key-of-the-service" };
  const { check, type } = typist(harness, env);
  const asked: string[] = [];
  harness.occupy(9000, {
    answer: ({ target }) => {
      asked.push(target);
      return Promise.resolve({ status: 404, headers: {}, body: "" });
    },
    refuse: () => ({ status: 400, headers: {}, body: "" }),
  });
  // The sandbox of this folder is nearly ready, which proves nothing about another service.
  const quiet = await check();
  expect(quiet.report).toMatchObject({
    verdict: "not_ready",
    source: "service",
    service: base,
    store_id: null,
  });
  expect(quiet.report.items.map(({ status }) => status)).toEqual(CHECKLIST_ITEMS.map(() => "unknown"));
  expect(quiet.report.items[0]?.next).toBe(`checkout calibrate --base-url ${base}`);

  const record = join(harness.cwd, "checkout.calibration.json");
  writeFileSync(record, recordOf("http://127.0.0.1:9001/v1", "confirmed"));
  expect((await check()).report.items).toEqual(quiet.report.items);
  writeFileSync(record, recordOf(base, "confirmed"));
  const { report } = await check();
  expect(report.verdict).toBe("not_ready");
  const known = report.items.filter(({ status }) => status !== "unknown");
  expect(known.map(({ name, status }) => [name, status])).toEqual([["idempotency_replay", "pass"]]);
  expect(known[0]?.assumptions).toHaveLength(1);
  const human = await type("checklist");
  expect([human.code, human.stdout]).toEqual([
    3,
    expect.stringContaining(known[0]?.assumptions[0] ?? "none"),
  ]);
  expect(human.stdout).toContain(english(READINESS_SENTENCES.testMode));
  const one = await type("checklist --item idempotency_replay --json");
  expect([one.code, (JSON.parse(one.stdout) as Report).verdict]).toEqual([3, "not_ready"]);
  expect(asked).toEqual([]);
});

test("another spelling of the sandbox's address still selects this folder's sandbox", async () => {
  const shop = await openShop();
  const { harness } = shop;
  for (const spelled of ["http://localhost:4242/v1", "http://[::1]:4242/v1/"]) {
    const own = await typist(harness, { CHECKOUT_BASE_URL: spelled }).check();
    expect(own.report).toMatchObject({ source: "sandbox", store_id: shop.sandbox.ready.store_id });
  }
  const other = await typist(harness, { CHECKOUT_BASE_URL: "http://localhost:4243/v1" }).check();
  expect(other.report.source).toBe("service");
});

test("an invalid checklist, admin, production or stores command fails with its cause, and changes nothing", async () => {
  const { harness, done, type } = await openShop();
  const rows: readonly (readonly [line: string, code: number, said: string, env?: Record<string, string>])[] =
    [
      ["checklist --item gate", 2, "production_credential"],
      ["checklist --item", 2, "'--item <name>'"],
      ["checklist everything", 2, "'checklist'"],
      ["checklist waive webhook --reason none", 2, "webhooks, duplicates, idempotency"],
      ["checklist waive webhooks", 2, "--reason"],
      ["checklist run duplicates --paid-when ( --order-view http://localhost:3000/", 2, "--paid-when"],
      ["checklist --json run", 3, `"code":"not_judged"`],
      ["checklist run --only everything", 2, "--only"],
      ["checklist --json run webhooks", 5, `"code":"state_conflict"`],
      ["checklist --json --markdown", 2, "--markdown"],
      ["checklist --probe", 2, "checkout calibrate --base-url <url>"],
      ["checklist --watch", 2, "'--watch'"],
      ["checklist --base-url ftp://x", 2, "--base-url"],
      ["checklist", 2, "CHECKOUT_SANDBOX_TRUST_FOLDER", { CHECKOUT_SANDBOX_TRUST_FOLDER: "perhaps" }],
      ["checklist --json --junit nowhere/readiness.xml", 1, `"code":"report_not_written"`],
      ["checklist --json --junit .checkout", 1, `"code":"report_not_written"`],
      ["admin", 2, "checkout admin --help"],
      ["admin open", 2, "'open'"],
      ["admin enable-capability", 2, "'name'"],
      ["admin open-gate EUR", 2, "'open-gate'"],
      ["admin open-gate --note", 2, "'--note <text>'"],
      [`admin deactivate --note ${"x".repeat(501)}`, 2, "500"],
      [`production request --note ${"x".repeat(501)}`, 2, "500"],
      ["stores", 2, "checkout stores --help"],
      ["capabilities show", 2, "'show'"],
      ["production", 2, "checkout production --help"],
    ];
  for (const [line, code, said, env = {}] of rows) {
    const result = await harness.run(line.split(" "), { env });
    expect([line, result.code, result.stderr]).toEqual([line, code, expect.stringContaining(said)]);
  }
  const empty = await harness.run(["admin", "deactivate", "--note", ""]);
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("500")]);
  expect(JSON.parse(await done("admin log --json"))).toMatchObject({ acts: [] });

  const nowhere = createHarness();
  for (const line of ["checklist", "admin log", "stores show", "capabilities list", "production request"]) {
    const result = await nowhere.run([...line.split(" "), "--json"]);
    expect([line, result.code, JSON.parse(result.stderr)]).toMatchObject([
      line,
      7,
      { error: { code: "no_sandbox" } },
    ]);
  }
  const help = await type("checklist --help");
  for (const name of ["run", "waive"]) expect(help.stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
  expect((await type("--help")).stdout).toContain(`${EXIT.notReady}    ${EXIT_MEANINGS[EXIT.notReady]}`);
});
