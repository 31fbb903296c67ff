import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { english } from "../../src/core/language.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import type { FactName } from "../../src/core/refusals.ts";
import { webhookSubject } from "../../src/core/readiness/drills/drill.ts";
import {
  CASE_NAMES,
  DRILL_CASES,
  ORDER_CASE_NAMES,
  type CaseName,
} from "../../src/core/readiness/drills/webhook.ts";
import { EVENT_TYPES } from "../../src/core/checkout/event-types.ts";
import type { DrillCause } from "../../src/core/readiness/drills/webhook-advice.ts";
import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { explainCases } from "../../src/core/judge/forms/causes.ts";
import { causesOf, CONSENT, HOOKS, openDrillSite } from "../support/drill-site.ts";
import { digest, handmade, right, telling, type Incoming } from "../support/merchant-receivers.ts";
import { runHere, startSandbox } from "../support/program.ts";
import { refusalText } from "../support/refusal-texts.ts";
import { tempFolder } from "../support/temp-folder.ts";
import type { WireAnswerOf } from "../support/wire.ts";

const GOOD: readonly CaseName[] = CASE_NAMES.filter((name) => DRILL_CASES[name].expected === "2xx");
const OLD = ["ten_minutes_old", "hour_old"] as const;
const AHEAD = ["ten_minutes_ahead", "hour_ahead"] as const;
const BAD = CASE_NAMES.filter((name) => ["4xx", "not 2xx"].includes(DRILL_CASES[name].expected));

type Site = Awaited<ReturnType<typeof openDrillSite>>;

const drill = (site: Site, ...args: readonly string[]) => site.drill(...args);

/** One cause for several cases. */
function sameCause(cause: DrillCause, names: readonly CaseName[]): Partial<Record<CaseName, DrillCause>> {
  return Object.fromEntries(names.map((name) => [name, cause]));
}

test("the webhook drill stops if the first event gets no answer, or at the third forged request without an answer", async () => {
  const slow = await openDrillSite(right);
  const timeout = { ok: false, failure: "timeout", message: "no whole answer within 15000 ms" } as const;
  let sent = 0;
  slow.harness.setFault((request, pass) => {
    if (request.url !== HOOKS) return pass();
    sent += 1;
    return Promise.resolve(timeout);
  });
  const report = await drill(slow);
  const rest = (cause: DrillCause) => ({ not_sent: cause });
  expect(causesOf(report)).toEqual({ good_event: "too_slow", ...rest("too_slow") });
  expect([sent, report.code]).toEqual([1, 1]);
  expect(report.drills[0]?.steps[0]?.got).toMatch(/^timeout .*: no whole answer within 15000 ms$/);
  expect(report.drills[0]?.steps.slice(1).map(({ got }) => got)).toEqual([
    englishOf(factOf("not_sent", String(CASE_NAMES.length - 1))),
  ]);

  const silent = await openDrillSite(right);
  sent = 0;
  silent.harness.setFault(async (request, pass) => {
    const result = await pass();
    if (request.url !== HOOKS) return result;
    sent += 1;
    return result.ok && result.status === 400 ? timeout : result;
  });
  const given = causesOf(await drill(silent));
  expect(given).toEqual({ ...sameCause("silent_on_bad", CASE_NAMES.slice(4, 7)), ...rest("silent_on_bad") });
  expect(sent).toBe(7);
});

test("the webhook drill finds the causes of combinations of answers that no test receiver gives", () => {
  const timeout = { error: "timeout", message: "" } as const;
  const lost = { error: "connection_lost", message: "" } as const;
  const forbidden = { error: "target_forbidden", message: "" } as const;
  type Answers = Partial<Record<CaseName, number | typeof timeout | typeof lost | typeof forbidden>>;
  const rows: readonly (readonly [Answers, Partial<Record<CaseName, DrillCause>>])[] = [
    [{}, {}],
    [
      { changed_byte: 200, rewritten_body: 204 },
      sameCause("body_not_covered", ["changed_byte", "rewritten_body"]),
    ],
    [{ unusual_bytes: 500 }, { unusual_bytes: "chokes_on_bytes" }],
    [{ no_signature: 500 }, { no_signature: "throws_on_bad" }],
    [{ short_signature: lost }, { short_signature: "drops_connection" }],
    [{ duplicate: timeout }, { duplicate: "too_slow" }],
    [{ wrong_secret: 200 }, { wrong_secret: "verifies_sometimes" }],
    [{ no_event: 200 }, { no_event: "skips_odd_bodies" }],
    [{ forged_in_the_end: 200 }, { forged_in_the_end: "verifies_sometimes" }],
    [{ as_put: 301 }, {}],
    [{ as_put: lost, chunked: 503 }, {}],
    [{ as_put: timeout }, { as_put: "silent_on_bad" }],
    [{ good_event: 400 }, { good_event: "verifies_sometimes" }],
    [{ bad_signature: 429 }, { bad_signature: "rate_limited" }],
  ];
  for (const [answers, expected] of rows) {
    const results = CASE_NAMES.map((name) => {
      const given = answers[name] ?? (GOOD.includes(name) ? 200 : 400);
      const answer = typeof given === "number" ? { status: given, body: "" } : given;
      return { name, eventId: name, milliseconds: 1, answer };
    });
    const { causes } = explainCases({
      results,
      caseNames: CASE_NAMES,
      usesRetiredSecret: false,
      repeats: [],
      probedCause: undefined,
    });
    expect(Object.fromEntries(causes)).toEqual(expected);
  }
  const first = { name: "good_event", eventId: "1", milliseconds: 0, answer: forbidden } as const;
  const { causes } = explainCases({
    results: [first],
    caseNames: CASE_NAMES,
    usesRetiredSecret: false,
    repeats: [],
    probedCause: undefined,
  });
  expect(new Set(causes.values())).toEqual(new Set(["forbidden"]));
});

test("an abandoned webhook drill still reports the causes that it had found", () => {
  // The answers of a receiver that verifies the bytes of Python's json.dumps, and fails on a body that is not JSON.
  const answer = (name: CaseName) =>
    name === "no_event"
      ? ({ error: "connection_lost", message: "" } as const)
      : { status: name === "spaced_body" ? 204 : 400, body: "" };
  const results = CASE_NAMES.filter((name) => name !== "good_at_the_end").map((name) => ({
    name,
    eventId: name,
    milliseconds: 1,
    answer: answer(name),
  }));
  const { causes } = explainCases({
    results,
    caseNames: CASE_NAMES,
    usesRetiredSecret: false,
    repeats: [],
    probedCause: undefined,
  });
  expect(causes.get("good_event")).toBe("parsed_body");
  // If a receiver refuses everything, the drill cannot find the cause; the digest that the receiver computes shows it.
  expect(englishOf(factOf("refuses_all", "the-endpoint"))).toMatch(/checkout webhooks verify .*--signature/);
});

test("a webhook drill of an unreachable receiver records nothing, and the earlier result stays", async () => {
  const site = await openDrillSite();
  site.harness.vacate(3000);
  const down = await drill(site);
  expect(causesOf(down)).toEqual({ good_event: "unreachable" });
  expect([down.code, down.verdict, down.passed]).toEqual([3, "unknown", false]);
  expect(down.drills).toMatchObject([{ id: null, verdict: "unknown", passed: false }]);
  expect(down.drills[0]?.steps).toHaveLength(1);
  const kept = async () => (await site.control<WireAnswerOf<"listDrills">>("/drills")).data.drills;
  expect(await kept()).toEqual([]);
  const shownText = (await site.harness.run(["checklist", "run", "webhooks"])).stdout;
  expect(shownText).toMatch(/^\? http:\/\/localhost:3000\/hooks .*\n/);
  expect(shownText).toContain(`→ ${englishOf(factOf("unreachable"))}\n`);
  expect(shownText.match(/^ {2}✗ .* 2xx .*ECONNREFUSED/gm)).toHaveLength(1);

  site.listen(right);
  const [shown] = (await drill(site)).drills;
  site.harness.vacate(3000);
  expect((await drill(site)).code).toBe(3);
  expect((await kept()).map(({ id }) => id)).toEqual([shown?.id]);

  // With two endpoints a known failure outweighs an unknown result.
  site.listen(() => 200, 3001);
  await site.addEndpoint("http://localhost:3001/hooks");
  const both = await drill(site);
  expect([both.code, both.drills.map(({ verdict }) => verdict)]).toEqual([1, ["unknown", "failed"]]);
});

test("a receiver that stops during the webhook drill fails the drill", async () => {
  const site = await openDrillSite();
  let sent = 0;
  site.harness.setFault((request, pass) => {
    if (request.url === HOOKS && ++sent === 6) site.harness.vacate(3000);
    return pass();
  });
  expect(causesOf(await drill(site))).toEqual({
    ...sameCause("went_away", CASE_NAMES.slice(5, 8)),
    not_sent: "went_away",
  });
});

test("a webhook drill creates no event or delivery, and sends the expected bodies", async () => {
  const bodies: string[] = [];
  const site = await openDrillSite((incoming) => {
    bodies.push(incoming.rawBody.toString("utf8"));
    return right(incoming);
  });
  const { drills } = await drill(site);
  expect(await site.events()).toEqual([]);
  expect(await site.deliveries()).toEqual([]);
  const isAccepted = (name: CaseName) => GOOD.includes(name) || /^within_|^good_in_chunks/.test(name);
  const of = (name: CaseName): string => bodies[CASE_NAMES.indexOf(name)] ?? "";
  expect(of("duplicate")).toBe(of("good_event"));
  const parsed = bodies.filter((body) => body.startsWith("{")).map((body) => JSON.parse(body) as object);
  const isTest = (event: object): boolean =>
    JSON.stringify({ ...event, type: "webhook.test", livemode: false }) === JSON.stringify(event);
  const odd = parsed.filter((event) => !isTest(event));
  const live = Array.from({ length: 4 }, () => ({ livemode: true }));
  expect(odd).toMatchObject([{ type: "webhook.refunded" }, { type: "ping" }, ...live]);
  expect(Object.keys(parsed[3] ?? {})).toContain("data");
  const references = drills[0]?.steps.map(({ reference }) => reference) ?? [];
  expect(new Set(references).size).toBe(
    CASE_NAMES.filter((name) => DRILL_CASES[name].event !== "first").length,
  );
  expect(drills[0]?.steps.map(({ name }) => name)).toEqual(CASE_NAMES);
  expect(drills[0]?.steps.map(({ got }) => got)).toEqual(
    CASE_NAMES.map((name) => englishOf(factOf("after", isAccepted(name) ? "204" : "400", "0"))),
  );
  expect(digest(of("changed_byte"))).not.toBe(digest(of("good_event")));
});

test("a webhook drill's result is immutable, and applies only to the tested address and secret", async () => {
  const site = await openDrillSite(right, []);
  const first = await drill(site);
  const { id, subject } = first.drills[0] ?? { id: "", subject: "" };
  expect(first.drills[0]).toMatchObject({ kind: "webhook", endpoint_id: site.id, url: HOOKS, passed: true });
  const listed = async (query = "") =>
    (await site.control<WireAnswerOf<"listDrills">>(`/drills${query}`)).data.drills;
  expect((await listed()).map((one) => one.id)).toEqual([id]);
  expect(await listed("?kind=idempotency")).toEqual([]);
  const rotated = await site.control<WireAnswerOf<"rotateSecret">>(`/endpoints/${site.id}/secret`, {
    overlap_ms: 1000,
  });
  // The receiver knows only the old secret, and will refuse deliveries after the overlap.
  expect(causesOf(await drill(site))).toEqual(sameCause("replaced_secret", GOOD));
  site.secrets.current = rotated.data.in_force[0] ?? "";
  const second = await drill(site);
  expect([second.passed, second.drills[0]?.subject === subject]).toEqual([true, false]);
  const elsewhere = { id: site.id, url: `${HOOKS}/new` };
  expect(webhookSubject(elsewhere, site.secrets.current)).not.toBe(second.drills[0]?.subject);
  expect(webhookSubject({ ...elsewhere, url: HOOKS }, site.secrets.current)).toBe(second.drills[0]?.subject);
  await site.advance(2000);
  // The previous secret has ended, and a receiver that still accepts it is detected.
  const [old = ""] = (await site.control<WireAnswerOf<"showSecret">>(`/endpoints/${site.id}/secret`)).data
    .retired;
  site.listen((incoming) => Math.min(right(incoming), right({ ...incoming, secret: old })));
  expect(causesOf(await drill(site))).toEqual({ wrong_secret: "old_secret" });
  expect((await listed("?kind=webhook&limit=2")).map((one) => one.passed)).toEqual([false, true]);
  const database = site.database();
  for (const change of ["UPDATE drills SET passed = 1", "DELETE FROM drills"])
    expect(() => database.exec(change)).toThrow(
      expect.objectContaining({ code: "SQLITE_CONSTRAINT_TRIGGER" }) as Error,
    );
  database.close();
});

test("for a receiver with a wrong secret, the webhook drill shows the command that prints the correct secret", async () => {
  const site = await openDrillSite();
  const commandIn = (report: Awaited<ReturnType<typeof drill>>): string[] => {
    const [, command = ""] =
      /checkout (endpoints secret \S+)/.exec(report.drills[0]?.steps[0]?.cause ?? "") ?? [];
    return command.split(" ");
  };
  for (const [receiver, cause] of [
    [telling, "wrong_secret"],
    [right, "refuses_all"],
  ] as const) {
    site.listen((incoming) => receiver({ ...incoming, secret: "whsec_another" }));
    const report = await drill(site);
    expect(causesOf(report)).toEqual(sameCause(cause, GOOD));
    const printed = await site.harness.run(commandIn(report));
    expect([printed.code, printed.stdout.trim()]).toEqual([0, site.secrets.current]);
  }

  // The secret is rotated without an overlap, and the receiver keeps the old secret.
  const old = site.secrets.current;
  const rotated = await site.control<WireAnswerOf<"rotateSecret">>(`/endpoints/${site.id}/secret`, {
    overlap_ms: 0,
  });
  site.listen((incoming) => right({ ...incoming, secret: old }));
  const report = await drill(site);
  expect(causesOf(report)).toEqual(sameCause("replaced_secret", [...GOOD, "wrong_secret"]));
  expect((await site.harness.run(commandIn(report))).stdout.trim()).toBe(rotated.data.in_force[0]);
});

test("the webhook drill sends events of an order only with consent, and signs only already accepted events correctly", async () => {
  const got: Incoming[] = [];
  const site = await openDrillSite((incoming) => {
    got.push(incoming);
    return right(incoming);
  });
  const sent = async (...args: readonly string[]) => {
    got.length = 0;
    const report = await drill(site, ...args);
    const orders = got.filter(({ rawBody }) =>
      /"type":\s*"(?:order|checkout_session)\./.test(String(rawBody)),
    );
    return { report, orders };
  };
  const early = await sent(...CONSENT);
  expect([early.orders, early.report.code, early.report.drills[0]?.order]).toEqual([[], 0, null]);

  const checkoutId = await site.orderAccepted();
  const delivered = got.map(({ rawBody }) => String(rawBody)).find((body) => body.includes(checkoutId));
  expect((await sent()).orders).toEqual([]);
  const { report, orders } = await sent(...CONSENT);
  expect([report.code, causesOf(report)]).toEqual([0, {}]);
  expect(report.drills[0]?.order).toEqual({ id: checkoutId, order_id: "order-1" });
  expect(report.drills[0]?.steps.map(({ name }) => name)).toEqual([
    ...CASE_NAMES.slice(0, -2),
    ...ORDER_CASE_NAMES,
    "forged_in_the_end",
    "good_at_the_end",
  ]);
  expect(orders.map((incoming) => right(incoming))).toEqual([204, ...orders.slice(1).map(() => 400)]);
  const bodies = orders.map(({ rawBody }) => String(rawBody));
  expect(bodies[0]).toBe(delivered);
  // Only the order's real event is sent with a valid signature, although some of its timestamps are wrong.
  const signed = orders.filter(
    ({ signature, over, rawBody, timestamp }) => timestamp > 0 && signature === over(rawBody),
  );
  expect(signed.map(({ rawBody }) => String(rawBody))).toEqual(signed.map(() => delivered));
  expect(signed.length).toBe(1 + OLD.length + AHEAD.length);
  const forged = bodies.filter((body) => body.startsWith("{") && body !== delivered);
  const types = EVENT_TYPES.filter((type) => type !== "webhook.test");
  expect(forged.slice(-types.length).map((body) => (JSON.parse(body) as { type: string }).type)).toEqual(
    types,
  );
  const unknown = forged.filter((body) => !body.includes('"order-1"'));
  expect(unknown.map((body) => JSON.parse(body) as object)).toMatchObject([
    { type: "order.succeeded", data: { order_id: "order-8", amount_minor: 450 } },
  ]);
  for (const body of forged.filter((one) => !unknown.includes(one)))
    expect(JSON.parse(body)).toMatchObject({
      data: { id: checkoutId, order_id: "order-1", amount_minor: 450 },
    });
  const ids = new Set(forged.map((body) => (JSON.parse(body) as { event_id: string }).event_id));
  expect(ids.size).toBe(forged.length);
  expect(await site.statusOf(checkoutId)).toBe("created");
});

test("a request of the webhook drill looks like a delivery in headers, connection and sequence", async () => {
  const got: Incoming[] = [];
  const site = await openDrillSite((incoming) => {
    got.push(incoming);
    return right(incoming);
  });
  await site.orderAccepted();
  const namesOf = ({ rawHeaders }: Incoming): string[] => rawHeaders.filter((_, at) => at % 2 === 0);
  const [delivery] = got.splice(0);
  if (delivery === undefined) throw new Error("an event was delivered");
  await drill(site, ...CONSENT);
  const valueOf = ({ rawHeaders }: Incoming, name: string) => rawHeaders[rawHeaders.indexOf(name) + 1];
  const ordinary = got.filter(
    (one) =>
      one.method === "POST" &&
      one.target === "/hooks" &&
      one.rawHeaders.length === delivery.rawHeaders.length &&
      !/^content-type$|^CONTENT-TYPE$/.test(namesOf(one)[1] ?? ""),
  );
  expect(ordinary.length).toBeGreaterThan(100);
  const isFresh = ({ connection }: Incoming, at: number): boolean =>
    connection !== ordinary[at - 1]?.connection;
  expect(ordinary.slice(1).filter((one, at) => isFresh(one, at + 1))).toHaveLength(1);
  for (const one of ordinary) {
    expect(namesOf(one)).toEqual(namesOf(delivery));
    expect(valueOf(one, "Connection")).toBe("keep-alive");
  }
  const bodies = got.map(({ rawBody }) => String(rawBody)).filter((body) => body.includes('"type":"order.'));
  type Course = { type: string; sequence: number; previous_status: string | null; created_at: string };
  const courses = bodies
    .filter((body) => body.startsWith("{"))
    .map((body) => JSON.parse(body) as Course)
    .map(({ type, sequence, previous_status: previous }) => `${type} ${sequence} ${previous}`);
  expect(new Set(courses)).toEqual(
    new Set([
      "order.created 1 null",
      "order.pending 2 created",
      "order.succeeded 3 pending",
      // A forged sequence number.
      "order.succeeded 0 pending",
      "order.failed 3 pending",
      "order.cancelled 2 created",
      "order.expired 2 created",
    ]),
  );
  const made = got.flatMap(({ rawBody }) => /"created_at":"[^"]*","api/.exec(String(rawBody))?.[0] ?? []);
  // All times differ, except for the first event, which is sent again, and for the order's own events.
  expect(new Set(made).size).toBeGreaterThan(90);
});

test("the webhook drill has at most four requests in flight, and sends one at a time to a slow receiver", async () => {
  for (const [waitMs, most] of [
    [50, 4],
    [2000, 4],
    [2001, 1],
  ] as const) {
    const site = await openDrillSite(right);
    let inFlight = 0;
    let highest = 0;
    const begun = site.harness.clock.now();
    site.harness.setFault(async (request, pass) => {
      if (request.url.startsWith("http://localhost:3000")) {
        highest = Math.max(highest, (inFlight += 1));
        await site.harness.clock.sleep(waitMs);
        inFlight -= 1;
      }
      return pass();
    });
    expect((await drill(site)).code).toBe(0);
    expect(highest).toBe(most);
    if (waitMs === 50) expect(site.harness.clock.now() - begun).toBeLessThan(10_000);
  }
});

test("the webhook drill also sends some mistakes in events of an order, and omits each header alone and all headers together", () => {
  const repeated = ORDER_CASE_NAMES.flatMap((name) => (name.startsWith("payment_") ? [name.slice(8)] : []));
  expect(repeated.filter((name) => !BAD.some((one) => one === name))).toEqual([]);
  expect(repeated).toEqual(expect.arrayContaining(["bad_signature", "no_signature", "changed_byte", ...OLD]));
  // Each header is left out alone, and all are left out together.
  const left = CASE_NAMES.map((name) => DRILL_CASES[name].omittedNames?.toSorted().join() ?? "");
  expect(new Set(left)).toEqual(
    new Set(["", "eventId", "timestamp", "signature", "eventId,signature,timestamp"]),
  );
});

test("a webhook drill without events of an order is a risk until a drill with such events has passed", async () => {
  const site = await openDrillSite();
  const risks = async () => {
    const { stdout } = await site.harness.run(["checklist", "--json", "--item", "webhook_verification"]);
    const { items } = JSON.parse(stdout) as { items: { status: string; assumptions: string[] }[] };
    return items.map(({ status, assumptions }) => [status, assumptions]);
  };
  const { sentTestOnly, webhookDrill } = READINESS_SENTENCES;
  const risk = english(sentTestOnly(webhookDrill(`"${HOOKS}"`)));
  await drill(site);
  expect(await risks()).toEqual([["unknown", []]]);
  // The item also needs the duplicates drill.
  await site.control("/waivers", { drill: "duplicates", reason: "by hand" });
  const waived = expect.stringMatching(/duplicates.*by hand/) as string;
  expect(await risks()).toEqual([["pass", [risk, waived]]]);
  // The store has no order yet.
  await drill(site, ...CONSENT);
  expect(await risks()).toEqual([["pass", [risk, waived]]]);
  await site.orderAccepted();
  await drill(site, ...CONSENT);
  expect(await risks()).toEqual([["pass", [waived]]]);
  await drill(site);
  expect(await risks()).toEqual([["pass", [risk, waived]]]);
});

test("the webhook drill says which order it used, or why it used no order", async () => {
  const site = await openDrillSite();
  const last = async (...args: readonly string[]) => {
    const { stdout } = await site.harness.run(["checklist", "run", "webhooks", ...args]);
    return stdout.trimEnd().split("\n").at(-1);
  };
  const without = await last();
  expect(without).toContain("--order-view VIEW");
  const view = CONSENT[1]?.replace("{order_id}", "order-1") ?? "";
  const early = await last(...CONSENT);
  expect([early?.includes("--order-view"), early?.includes(view)]).toEqual([false, false]);
  const id = await site.orderAccepted();
  const said = await last(...CONSENT);
  expect([id, '"order-1"', view].filter((one) => said?.includes(one) !== true)).toEqual([]);
});

test("the webhook drill tests every enabled endpoint or only the selected endpoint, and refuses a disabled or unknown endpoint or a listener", async () => {
  const site = await openDrillSite(right);
  site.listen(() => 200, 3001);
  const other = await site.addEndpoint("http://localhost:3001/hooks");
  await site.control("/listener", { url: "http://localhost:3002/hooks" });
  const both = await drill(site);
  expect([both.code, both.drills.map(({ url, passed }) => [url, passed])]).toEqual([
    1,
    [
      [HOOKS, true],
      ["http://localhost:3001/hooks", false],
    ],
  ]);
  expect((await drill(site, "--endpoint", site.id)).drills.map(({ passed }) => passed)).toEqual([true]);
  await site.control(`/endpoints/${other.id}/state`, { action: "disable" });
  expect((await drill(site)).drills).toHaveLength(1);

  const refused = async (line: string) => {
    const { code, stderr } = await site.harness.run(`checklist run webhooks ${line}`.trim().split(" "));
    return [code, stderr];
  };
  const fact = (name: FactName, known = {}) => expect.stringMatching(refusalText(name, known)) as string;
  const disabled = { endpoint: other.id, state: "disabled" };
  expect(await refused(`--endpoint ${other.id}`)).toEqual([5, fact("endpoint_not_enabled", disabled)]);
  const unknown = "00000000-0000-7000-8000-00000000ffff";
  expect(await refused(`--endpoint ${unknown}`)).toEqual([1, fact("no_endpoint", { endpoint: unknown })]);
  expect(await refused("--endpoint mine")).toEqual([2, expect.stringContaining("mine")]);
  const endpoints = (await site.control<WireAnswerOf<"listEndpoints">>("/endpoints")).data.endpoints;
  const listener = endpoints.find(({ kind }) => kind === "listener");
  const listening = fact("endpoint_of_listener", { endpoint: listener?.id ?? "" });
  expect(await refused(`--endpoint ${listener?.id ?? ""}`)).toEqual([5, listening]);
  await site.control(`/endpoints/${site.id}/state`, { action: "disable" });
  expect(await refused("")).toEqual([5, listening]);
  expect(await refused("")).toEqual([5, expect.stringContaining("checkout endpoints add")]);
});

test("a webhook drill through listen tests the forward target with the secret of the listener's endpoint", async () => {
  const site = await openDrillSite();
  await site.control(`/endpoints/${site.id}/state`, { action: "disable" });
  const registered = await site.control<WireAnswerOf<"registerListener">>("/listener", {
    url: "http://localhost:3002/",
    forward_to: HOOKS,
  });
  site.secrets.current = registered.data.signing_secrets[0] ?? "";
  const report = await drill(site);
  expect([report.code, causesOf(report)]).toEqual([0, {}]);
  expect(report.drills.map(({ url, endpoint_id: id }) => [url, id])).toEqual([[HOOKS, registered.data.id]]);
  expect((await drill(site, "--endpoint", registered.data.id)).code).toBe(0);
  // A listener that only shows events has no receiver.
  await site.control("/listener", { url: "http://localhost:3002/" });
  const { code, stderr } = await site.harness.run(["checklist", "run", "webhooks"]);
  expect([code, stderr]).toEqual([5, expect.stringMatching(refusalText("endpoint_of_listener"))]);
});

test("without --all, the webhook drill shows each cause once, with at most three of its failed steps, and counts the other steps", async () => {
  const site = await openDrillSite(handmade({ isFresh: () => true }));
  const causes = new Set(
    (await drill(site)).drills[0]?.steps.flatMap(({ passed, cause }) => (passed ? [] : [cause])),
  );
  const [cause = ""] = causes;
  const { code, stdout, stderr } = await site.harness.run(["checklist", "run", "webhooks"]);
  expect([code, stderr, causes.size, stdout.split(`→ ${cause}\n`).length]).toEqual([1, "", 1, 2]);
  expect(stdout).toMatch(/^✗ http:\/\/localhost:3000\/hooks \D+6 \D+115 /);
  expect(stdout.match(/^ {2}✗ .* 4xx +200 /gm)).toHaveLength(3);
  expect(stdout).toMatch(/^ {4}3 .*--all/m);
  expect(stdout).toMatch(/^ {2}109 \D+115 .*--all/m);
});

test("a receiver that uses only Python's standard library passes the real program's drill", async () => {
  const cwd = tempFolder();
  const sandbox = await startSandbox({ cwd });
  const python = spawn("python3", [join(import.meta.dirname, "../support/receiver.py"), "0"], {
    env: { ...process.env, WEBHOOK_SECRET: sandbox.ready.signing_secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void python.kill("SIGKILL"));
  const port = await Promise.race([
    once(python.stdout, "data").then(([line]) => Number(String(line))),
    once(python, "error").then(([error]) => {
      throw new Error(`python3 is needed for this test: ${String(error)}`);
    }),
    once(python, "exit").then(() => {
      throw new Error("python3 ended before it listened");
    }),
  ]);
  const added = await runHere(["endpoints", "add", `http://127.0.0.1:${port}/hooks`], { cwd });
  expect(added.code).toBe(0);
  const drilled = await runHere(["checklist", "run", "webhooks", "--json"], { cwd });
  expect([drilled.code, drilled.stderr]).toEqual([0, ""]);
  expect(JSON.parse(drilled.stdout)).toMatchObject({ verdict: "passed", drills: [{ passed: true }] });
});
