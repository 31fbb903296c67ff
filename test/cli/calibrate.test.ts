import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  calibrationRecord,
  type CalibratedAssumption,
  type Calibration,
} from "../../src/core/calibration/calibration.ts";
import { observedDialect } from "../../src/core/calibration/observed-dialect.ts";
import { PROBES } from "../../src/core/calibration/probes.ts";
import type { OutboundRequest, OutboundResult } from "../../src/world.ts";
import { size } from "../support/campaign.ts";
import { DRIFTS as DRIFTING } from "../support/drifting-service.ts";
import { createHarness, type Harness } from "../support/harness.ts";
import { signedIn } from "../support/portal.ts";
import { english } from "../../src/core/language.ts";
import { LAUNCH_TEXTS } from "../../src/sandbox/pages/portal/readiness/texts.ts";
import { inOrder } from "../support/in-order.ts";

const RECORD = "checkout.calibration.json";
const AT_SANDBOX = ["--base-url", "http://127.0.0.1:4242/v1"];
const OBSERVABLE = [2, 3, 4, 5, 6, 7, 8, 9, 20];

type Answer = Extract<OutboundResult, { ok: true }>;
type Drift = (answer: Answer, request: OutboundRequest) => Answer;

const TOO_LARGE: Answer = {
  ok: true,
  status: 413,
  headers: { "content-type": "application/json" },
  body: '{"ok":false,"request_id":"x","error":{"code":"body_too_large","message":"too large"}}',
};

/** Starts a sandbox as the service, and records the requests to its API; `drift` changes its answers. */
async function openService(drift: Drift = (answer) => answer) {
  const harness = createHarness();
  const sandbox = await harness.start();
  const sent: OutboundRequest[] = [];
  harness.setFault(async (request, pass) => {
    if (!request.url.includes("/v1/")) return pass();
    sent.push(request);
    // In reality the HTTP server, which this harness lacks, refuses a large body before the sandbox sees it.
    if (String(request.body).length > 16_384) return TOO_LARGE;
    const answer = await pass();
    return answer.ok ? drift(answer, request) : answer;
  });
  return { harness, sandbox, sent };
}

const recordText = ({ cwd }: Harness): string => readFileSync(join(cwd, RECORD), "utf8");

function decisionsOf(harness: Harness, verdict: CalibratedAssumption["verdict"]): readonly number[] {
  const { assumptions } = calibrationRecord.parse(JSON.parse(recordText(harness)));
  return assumptions.filter((one) => one.verdict === verdict).map(({ decision }) => decision);
}

test("a calibration of the sandbox confirms every assumption that a test key can observe, and creates one order and one session", async () => {
  const { harness, sent } = await openService();
  const result = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--json"]);
  expect([result.code, result.stderr]).toEqual([0, ""]);
  expect(JSON.parse(result.stdout)).toEqual(JSON.parse(recordText(harness)));
  expect(decisionsOf(harness, "confirmed")).toEqual(OBSERVABLE);
  expect(decisionsOf(harness, "contradicted")).toEqual([]);
  expect(sent).toHaveLength(PROBES.length);
  expect(PROBES.length).toBeLessThanOrEqual(25);
  for (const kind of ["orders", "sessions"]) {
    const { stdout } = await harness.run([kind, "list", "--json"]);
    const { checkouts } = JSON.parse(stdout) as { readonly checkouts: readonly unknown[] };
    expect([kind, checkouts.length]).toEqual([kind, 1]);
  }
});

test("repeated calibrations of one service record the same evidence, without ids, addresses or secrets", async () => {
  const { harness } = await openService();
  const records = new Set<string>();
  for (let runs = 0; runs < size(3, 20); runs += 1) {
    expect((await harness.run(["calibrate", ...AT_SANDBOX, "--yes"])).code).toBe(0);
    records.add(
      recordText(harness)
        .replace(/"at": ".*"/, "")
        .replace(/"service": ".*"/, ""),
    );
    expect(await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--check"])).toMatchObject({
      code: 0,
      stderr: "",
    });
  }
  expect(records.size).toBe(1);
  expect([...records][0]).not.toMatch(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}|https?:|svc_test_\w/);
});

const withBody = (answer: Answer, change: (text: string) => string): Answer => ({
  ...answer,
  body: change(answer.body),
});
const replacing =
  (from: string | RegExp, to: string): Drift =>
  (answer) =>
    withBody(answer, (text) => text.replace(from, to));

/** Ten services that each differ in one point, and the decisions that this difference contradicts. */
const DRIFTS: Readonly<Record<string, readonly [drift: Drift, decisions: readonly number[]]>> = {
  "ids of version 4": [replacing(/("request_id":"[\da-f]{8}-[\da-f]{4}-)7/, "$14"), [2]],
  "creates answered 200": [
    (answer) => (answer.status === 201 ? { ...answer, status: 200 } : answer),
    [5, 20],
  ],
  "a replay with a request_id of its own": [
    (() => {
      let creates = 0;
      return (answer, { url }) =>
        answer.status === 201 && url.endsWith("/orders") && (creates += 1) > 1
          ? withBody(answer, (text) => text.replace(/"request_id":"[^"]+"/, '"request_id":"another"'))
          : answer;
    })(),
    [5],
  ],
  "another code for a reused key": [replacing("idempotency_key_reused", "conflict"), [5]],
  "a second order for an order_id": [
    (answer) => (answer.body.includes("order_conflict") ? { ...answer, status: 201 } : answer),
    [8],
  ],
  "403 for an unknown id": [(answer) => (answer.status === 404 ? { ...answer, status: 403 } : answer), [9]],
  "duplicate fields accepted": [replacing("invalid_json", "accepted"), [6]],
  "both price forms accepted": [replacing("conflicting_parameters", "ok"), [7]],
  "another code for a missing key": [replacing("idempotency_key_missing", "bad_request"), [4]],
  "missing fields before unknown ones": [replacing("unknown_parameter", "missing_parameter"), [3]],
};

test("a calibration records which decisions a different service contradicts, and --check reports these decisions after the service is corrected", async () => {
  for (const [name, [drift, decisions]] of Object.entries(DRIFTS)) {
    const { harness } = await openService(drift);
    expect([name, (await harness.run(["calibrate", ...AT_SANDBOX, "--yes"])).code]).toEqual([name, 0]);
    expect([name, decisionsOf(harness, "contradicted")]).toEqual([name, decisions]);
    harness.setFault((_request, pass) => pass());
    const checked = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--check", "--json"]);
    const { differences } = JSON.parse(checked.stdout) as { readonly differences: readonly number[] };
    expect([name, checked.code, differences]).toEqual([name, 3, expect.arrayContaining([...decisions])]);
    expect([name, decisionsOf(harness, "contradicted")]).toEqual([name, decisions]);
  }
});

/** Converts a drift from the table of the scenarios into a drift of this file. */
const asDrift =
  ({ answer: change }: (typeof DRIFTING)[string]): Drift =>
  (answer, { method, url }) => {
    const { pathname: path } = new URL(url);
    const body = JSON.parse(answer.body) as { readonly error?: { code: string } };
    const changed = { method, path, status: answer.status, headers: new Headers(answer.headers), body };
    change?.(changed);
    const headers = Object.fromEntries(changed.headers);
    return { ...answer, status: changed.status, headers, body: JSON.stringify(changed.body) };
  };

test.each(Object.entries(DRIFTING))(
  "calibrate and calibrate --check have the expected results after the service has drifted: %s",
  async (_name, drifting) => {
    const { found } = drifting;
    let drift: Drift = (answer) => answer;
    const { harness } = await openService((answer, request) => drift(answer, request));
    expect((await harness.run(["calibrate", ...AT_SANDBOX, "--yes"])).code).toBe(0);
    drift = asDrift(drifting);
    const checked = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--check", "--json"]);
    const first = await harness.run(["calibrate", ...AT_SANDBOX, "--yes"]);
    if (found.by !== "answers") {
      expect([checked.code, first.code, decisionsOf(harness, "contradicted")]).toEqual([0, 0, []]);
    } else if (found.decisions === "not_this_service") {
      expect([checked.code, first.code]).toEqual([1, 1]);
      expect(JSON.parse(checked.stderr)).toMatchObject({ error: { code: found.decisions } });
    } else {
      expect([checked.code, first.code]).toEqual([3, 0]);
      expect(JSON.parse(checked.stdout)).toMatchObject({ differences: found.decisions });
      const contradicted = decisionsOf(harness, "contradicted");
      expect(contradicted).not.toEqual([]);
      expect(found.decisions).toEqual(expect.arrayContaining([...contradicted]));
    }
  },
);

test("nine planted drifts are visible in answers, one only in a payment, and two only in workflows", () => {
  const found = Object.values(DRIFTING).map(({ found: { by } }) => by);
  const count = (way: (typeof found)[number]): number => found.filter((by) => by === way).length;
  expect([count("answers"), count("payment"), count("workflows alone")]).toEqual([9, 1, 2]);
});

test("calibrate with a key without the sessions scope observes no assumption about sessions, and never requests an undefined session id", async () => {
  const { harness, sent } = await openService((answer, { method, url }) =>
    method === "POST" && url.endsWith("/checkout-sessions")
      ? withBody({ ...answer, status: 403 }, (text) =>
          text.replace(/"data":.*/, '"error":{"code":"scope_missing"}}'),
        )
      : answer,
  );
  expect((await harness.run(["calibrate", ...AT_SANDBOX, "--yes"])).code).toBe(0);
  expect([decisionsOf(harness, "contradicted"), decisionsOf(harness, "confirmed")]).toEqual([
    [],
    [3, 4, 6, 7, 8],
  ]);
  expect(sent.map(({ url }) => url).filter((url) => /sessions\/(?:undefined|null)/.test(url))).toEqual([]);
  expect(sent).toHaveLength(PROBES.length - 1);
});

test("a calibration stops after one request at a live service, and at an address without the service", async () => {
  const rows: readonly (readonly [Drift, string])[] = [
    [replacing('"livemode":false', '"livemode":true'), "live_service"],
    [replacing('"livemode":false', '"mode":"?"'), "not_this_service"],
    [(answer) => ({ ...answer, status: 404, body: "<html>not here</html>" }), "not_this_service"],
  ];
  for (const [drift, code] of rows) {
    const { harness, sent } = await openService(drift);
    const result = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--json"]);
    expect([result.code, JSON.parse(result.stderr)]).toMatchObject([1, { error: { code } }]);
    expect([code, sent.length, existsSync(join(harness.cwd, RECORD))]).toEqual([code, 1, false]);
  }
});

test("assumptions, the checklist and the portal show the verdicts and the age of the project's calibration record", async () => {
  const { harness, sandbox } = await openService(replacing("order_conflict", "conflict"));
  const portal = await signedIn(harness, sandbox);
  const shown = async (args: readonly string[]): Promise<string> => (await harness.run(args)).stdout;
  const page = async (path: string): Promise<string> => (await portal.get(portal.home + path)).text;
  const calibrated = english(LAUNCH_TEXTS.calibratedWith(sandbox.ready.base_url));
  expect(await shown(["assumptions"])).not.toMatch(/confirmed|contradicted/);
  expect(JSON.parse(await shown(["checklist", "--json"]))).toMatchObject({ calibration: null });
  expect(await page("/launch")).not.toContain(calibrated);
  // The record is written beside the state folder, although the command runs in a subfolder of the project.
  const cwd = join(harness.cwd, "src");
  mkdirSync(cwd);
  expect((await harness.run(["calibrate", ...AT_SANDBOX, "--yes"], { cwd })).code).toBe(0);
  await harness.clock.sleep(3 * 86_400_000);
  const assumptions = await shown(["assumptions"]);
  const record = JSON.parse(recordText(harness)) as Calibration;
  const { service, at } = record;
  const items = assumptions.split(/\n(?=[ ✓] [ \d]\d {2})/);
  const item = (decision: number) => items.find((one) => Number(one.slice(2, 4)) === decision);
  expect(item(5)).toMatch(inOrder("confirmed", service, "3 d"));
  expect(item(8)).toMatch(inOrder("contradicted", service, "3 d"));
  expect(item(13)).toMatch(inOrder(service, /\S*$/));
  expect(JSON.parse(await shown(["assumptions", "--json"]))).toMatchObject({ calibration: record });
  expect(await shown(["checklist"])).toMatch(inOrder(service, " 3 d ", " 8 ", " 1 ", "(8 order_id)", " 14 "));
  expect(await shown(["checklist", "--markdown"])).toMatch(inOrder(service, " 3 d ", "(8 order_id)"));
  const not_observed = [1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 37, 38, 88];
  expect(JSON.parse(await shown(["checklist", "--json"]))).toMatchObject({
    calibration: { service, at, confirmed: [2, 3, 4, 5, 6, 7, 9, 20], contradicted: [8], not_observed },
  });
  const counts = LAUNCH_TEXTS.verdictCounts([8, 1, 14]);
  expect(await page("/launch")).toMatch(inOrder(calibrated, " 3 d ", counts));
  expect(await page("/launch/assumptions")).toMatch(
    inOrder("8 · order_id ", LAUNCH_TEXTS.verdicts.contradicted, " 3 d "),
  );
});

test("an invalid calibration record is ignored", async () => {
  const { harness, sandbox } = await openService();
  const portal = await signedIn(harness, sandbox);
  const broken = JSON.stringify({ service: "x", at: "yesterday", assumptions: [] });
  for (const content of ["", "[]", broken]) {
    writeFileSync(join(harness.cwd, RECORD), content);
    const { stdout } = await harness.run(["checklist", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ calibration: null });
    expect((await portal.get(`${portal.home}/launch`)).status).toBe(200);
  }
});

test("a calibration sends nothing without consent, a safe address and a test key, and --check sends nothing without a record", async () => {
  const { harness, sent } = await openService();
  const key = "svc_test_0123456789abcdefghijklmnopqrstu";
  const at = (url: string, apiKey: string) => ({ CHECKOUT_BASE_URL: url, CHECKOUT_API_KEY: apiKey });
  const rows = [
    [["calibrate", ...AT_SANDBOX], {}, "--yes"],
    [["calibrate", "--yes"], {}, "--base-url"],
    [["calibrate", "--yes"], at("http://pay.example/v1", key), "http://pay.example/v1"],
    [["calibrate", "--yes"], at("https://pay.example/v1", "svc_live_0123456789abcdef"), "svc_test_"],
    [["calibrate", ...AT_SANDBOX, "--yes", "--check"], {}, RECORD],
  ] as const;
  for (const [args, env, said] of rows) {
    const result = await harness.run(args, { env });
    expect([said, result.code, result.stderr]).toEqual([said, 2, expect.stringContaining(said)]);
  }
  writeFileSync(join(harness.cwd, RECORD), "{}");
  const { code, stderr } = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--check"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(RECORD)]);
  expect(sent).toEqual([]);
});

test("the calibration record never contains the API key, even if the service's answers repeat the key", async () => {
  const { harness, sandbox } = await openService((answer, { headers }) => {
    const [, key = ""] = String(headers["Authorization"]).split(" ");
    const echo = { [key]: key, nested: [`before ${key} after`], [`${"x".repeat(290)}${key}`]: true };
    return {
      ...answer,
      headers: { ...answer.headers, "www-authenticate": `Bearer ${key}` },
      body: JSON.stringify({ ...(JSON.parse(answer.body) as object), echo }),
    };
  });
  expect((await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--json"])).code).toBe(0);
  expect(recordText(harness)).toContain('"echo"');
  expect(recordText(harness)).not.toContain(sandbox.ready.api_key);
  expect(recordText(harness)).not.toContain(String(sandbox.ready.api_key).slice(-12));
});

test("a calibration stops at the first answer with livemode true", async () => {
  for (const at of [0, 3, 9]) {
    let answers = 0;
    const { harness, sent } = await openService((answer) => {
      answers += 1;
      return answers === at + 1
        ? withBody(answer, (text) =>
            JSON.stringify({ ...(JSON.parse(text) as object), data: { livemode: true } }),
          )
        : answer;
    });
    const result = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--json"]);
    expect([at, result.code, sent.length]).toEqual([at, 1, at + 1]);
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: "live_service" } });
    expect(existsSync(join(harness.cwd, RECORD))).toBe(false);
  }
});

test("a calibration changes no file but its record", async () => {
  const { harness } = await openService();
  const beside = join(harness.cwd, `${RECORD}.attempt`);
  writeFileSync(beside, "notes");
  const before = readdirSync(harness.cwd);
  expect((await harness.run(["calibrate", ...AT_SANDBOX, "--yes"])).code).toBe(0);
  expect(readFileSync(beside, "utf8")).toBe("notes");
  expect(readdirSync(harness.cwd).toSorted()).toEqual([...before, RECORD].toSorted());
});

test.each([
  ["without livemode true does not stop the calibration", "{}", undefined],
  ["with livemode true at its deepest level stops the calibration", '{"livemode":true}', "live_service"],
])("a deeply nested answer %s", async (_what, innermost, code) => {
  const levels = 100_000;
  const deep = `"more":${"[".repeat(levels)}${innermost}${"]".repeat(levels)},`;
  const { harness, sent } = await openService((answer) => ({
    ...answer,
    body: answer.body.replace("{", `{${deep}`),
  }));
  const result = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--json"]);
  if (code === undefined) {
    expect([result.stderr, result.code, sent.length]).toEqual(["", 0, PROBES.length]);
    expect(recordText(harness)).toContain("…");
  } else expect([result.stderr, sent.length]).toEqual([expect.stringContaining(code), 1]);
});

test("a calibration sends nothing if its record cannot be written", async () => {
  const { harness, sent } = await openService();
  mkdirSync(join(harness.cwd, "folder"));
  const folder = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--out", "folder"]);
  expect([folder.code, folder.stderr]).toEqual([2, expect.stringContaining(join(harness.cwd, "folder"))]);
  const missing = await harness.run(["calibrate", ...AT_SANDBOX, "--yes", "--out", "missing/record.json"]);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("ENOENT")]);
  expect(sent).toEqual([]);
});

test("a calibration sends nothing if its dialect cannot be written", async () => {
  const { harness, sent } = await openService((answer) => answer);
  const args = ["calibrate", ...AT_SANDBOX, "--yes", "--write-dialect", "missing/dialect.json"];
  expect([(await harness.run(args)).code, sent]).toEqual([1, []]);
});

test("calibrate observes nothing from a 403 to every retrieve, and lists the names that no answer has shown", async () => {
  const { harness } = await openService((answer, { method }) =>
    method === "GET"
      ? withBody({ ...answer, status: 403 }, () => '{"error":{"code":"scope_missing"}}')
      : answer,
  );
  const args = ["calibrate", ...AT_SANDBOX, "--yes", "--write-dialect", "dialect.json"];
  const { code, stderr } = await harness.run(args);
  expect([code, decisionsOf(harness, "not_observed").includes(9)]).toEqual([0, true]);
  expect(JSON.parse(readFileSync(join(harness.cwd, "dialect.json"), "utf8"))).toEqual({});
  const { unobservedNames } = observedDialect(new Map(), undefined);
  // The fields and headers of events come before the types.
  expect(unobservedNames.indexOf("order.created")).toBe(1);
  for (const text of ["session_not_found", unobservedNames.slice(0, 2).join(", ")])
    expect(stderr).toContain(text);
});
