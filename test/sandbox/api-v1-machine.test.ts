import { expect, test } from "vitest";
import { answerBreaches } from "../support/contract.ts";
import { createHarness, EPHEMERAL, type FullAnswer } from "../support/harness.ts";
import { BODY, outcome, post, bodyOf } from "../support/v1-calls.ts";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import { refusalMessage, refusalText } from "../support/refusal-texts.ts";

// These tests of v1 need options of `sandbox start`, other commands or the harness's clock, so they do not run in other
// runtimes.

let sent = 0;

test("replays and conflicts are evidence for the checklist if the merchant's client caused them, not the command line", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  const evidence = async () => {
    const headers = { Authorization: `Bearer ${sandbox.ready.control_token}` };
    const told = bodyOf(await sandbox.request({ path: "/__sandbox/stores/default/checklist", headers }));
    const items = told.data?.["items"] as readonly { readonly name: string; readonly evidence: unknown }[];
    return items.find(({ name }) => name === "idempotency_replay")?.evidence;
  };
  const own = "orders create --order-id own --price-id price_coffee --idempotency-key own-key-1".split(" ");
  for (const round of [1, 2]) expect([round, (await harness.run(own)).code]).toEqual([round, 0]);
  expect(await evidence()).toEqual([]);
  const key = "merchants-key-1";
  const first = await post(sandbox, BODY, { key });
  harness.clock.advance(5000);
  const at = new Date(harness.clock.now()).toISOString();
  await post(sandbox, BODY, { key });
  const replayed = {
    what: english(READINESS_SENTENCES.keyReplayed(key)),
    at,
    reference: expect.not.stringMatching(first.headers["X-Request-Id"] ?? "") as string,
  };
  expect(await evidence()).toEqual([replayed]);
  const conflict = await post(sandbox, { ...BODY, amount_minor: 1 }, { key });
  const refused = {
    what: english(READINESS_SENTENCES.keyRefused(key)),
    at,
    reference: conflict.headers["X-Request-Id"],
  };
  expect(await evidence()).toEqual([replayed, refused]);
});

test("requests beyond a burst of twice the --rate-limit get 429 with Retry-After", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "5/s"]);
  const answers: string[] = [];
  for (let index = 0; index < 11; index += 1)
    answers.push(outcome(await post(sandbox, { ...BODY, order_id: `o-${index}` })));
  expect(answers).toEqual([...Array.from({ length: 10 }, () => "201 created"), "429 rate_limited"]);
  const limited = await post(sandbox, BODY);
  expect([limited.headers["Retry-After"], answerBreaches(limited)]).toEqual(["1", ""]);
  harness.clock.advance(1000);
  expect(outcome(await post(sandbox, BODY))).toBe("201 created");
});

test("every API key has its own rate limit, and requests without a valid key do not count towards a limit", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "5/s"]);
  const made = await harness.run(["keys", "create", "--scopes", "orders:write", "--json"]);
  const { api_key: second = "" } = JSON.parse(made.stdout) as { readonly api_key?: string };
  const send = (key: string): Promise<FullAnswer> =>
    post(sandbox, { ...BODY, order_id: `o-${(sent += 1)}` }, { headers: { Authorization: `Bearer ${key}` } });
  const outcomes = async (key: string, times: number): Promise<ReadonlySet<string>> => {
    const answers: string[] = [];
    for (let time = 0; time < times; time += 1) answers.push(outcome(await send(key)));
    return new Set(answers);
  };
  const first = sandbox.ready.api_key ?? "";
  expect(await outcomes(`svc_test_${"0".repeat(33)}`, 12)).toEqual(new Set(["401 credential_invalid"]));
  expect(await outcomes(`svc_live_${"0".repeat(33)}`, 12)).toEqual(
    new Set(["403 production_approval_missing"]),
  );
  expect(await outcomes(first, 10)).toEqual(new Set(["201 created"]));
  const limited = await send(first);
  expect(outcome(limited)).toBe("429 rate_limited");
  expect(bodyOf(limited).error?.message).toBe(refusalMessage("rate_limited", { perSecond: 5, seconds: 1 }));
  expect(await outcomes(second, 10)).toEqual(new Set(["201 created"]));
  expect(outcome(await send(second))).toBe("429 rate_limited");
});

test("a rate limit recovers in real time while the store's clock is frozen", async () => {
  const harness = createHarness();
  const sandbox = await harness.start([...EPHEMERAL, "--rate-limit", "5/s"]);
  expect((await harness.run(["sandbox", "clock", "freeze"])).code).toBe(0);
  const spend = async (orders: number) => {
    const answers: string[] = [];
    for (let index = 0; index < orders; index += 1)
      answers.push(outcome(await post(sandbox, { ...BODY, order_id: `o-${harness.clock.now()}-${index}` })));
    return answers;
  };
  expect(await spend(11)).toEqual([...Array.from({ length: 10 }, () => "201 created"), "429 rate_limited"]);
  harness.clock.advance(1000);
  expect(await spend(6)).toEqual([...Array.from({ length: 5 }, () => "201 created"), "429 rate_limited"]);
});

test("a checkout does not expire while the store's clock is frozen", async () => {
  const harness = createHarness();
  const sandbox = await harness.start(EPHEMERAL);
  expect((await harness.run(["sandbox", "clock", "freeze"])).code).toBe(0);
  const id = String(bodyOf(await post(sandbox, BODY)).data?.["id"]);
  harness.clock.advance(48 * 3_600_000);
  expect(outcome(await sandbox.request({ path: `/v1/checkout-sessions/${id}` }))).toBe("200 created");
});

test("an order_id is free after its checkout has expired, and a reserved order_id pays its order, even if no timer has run", async () => {
  const harness = createHarness();
  let sleptMs = 0;
  // The machine slept: its clock went on, and its timers did not.
  const world = { now: () => harness.clock.now() + sleptMs };
  const sandbox = await harness.start(EPHEMERAL, { world });
  const first = bodyOf(await post(sandbox, BODY)).data;
  const reserved = { ...BODY, order_id: "order-1~succeeded" };
  expect(outcome(await post(sandbox, reserved))).toBe("201 created");
  sleptMs = 48 * 3_600_000;
  expect(outcome(await post(sandbox, BODY))).toBe("201 created");
  expect(outcome(await sandbox.request({ path: `/v1/checkout-sessions/${String(first?.["id"])}` }))).toBe(
    "200 expired",
  );
  const again = await post(sandbox, reserved);
  expect([outcome(again), bodyOf(again).error?.message]).toEqual([
    "409 order_conflict",
    expect.stringMatching(refusalText("order_conflict", { status: "succeeded" })),
  ]);
});

test("the refusal of an allowed host name with another port names the option --allow-host HOST:PORT", async () => {
  const sandbox = await createHarness().start(["--allow-host", "shop.example"]);
  const asked = async (host: string): Promise<string> =>
    String((await sandbox.request({ path: "/healthz", headers: { Host: host } })).body);
  expect(await asked("shop.example")).toBe('{"ok":true}');
  expect(await asked("shop.example:8080")).toMatch(
    refusalText("host_port_not_allowed", { flag: "--allow-host" }),
  );
  expect(await asked("other.example")).toMatch(refusalText("host_not_allowed", { flag: "--allow-host" }));
});
