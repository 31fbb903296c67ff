import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { RunFacts, ObservedDelivery } from "../../src/core/judge/facts.ts";
import { EXPLORE_CAUSES, type ExploreCause } from "../../src/core/readiness/drills/invariants.ts";
import { brokenVerdicts, canImprove, judgeRun } from "../../src/core/explore/judge.ts";
import {
  differenceScore,
  nextWave,
  placesOf,
  type KillsByPlace,
  type KnownRun,
  type StepPlace,
} from "../../src/core/judge/search.ts";
import {
  faultAt,
  scheduleKey,
  NO_FAULTS,
  subschedulesOf,
  PAYER_OUTCOMES,
  scheduleLine,
  scheduleSize,
  type Schedule,
} from "../../src/core/judge/schedule.ts";
import { shrinkSchedule } from "../../src/core/judge/shrink.ts";
import { placeTable } from "../../src/core/judge/table.ts";
import { parseView } from "../../src/core/judge/view.ts";
import { fractionOf } from "../../src/core/fraction.ts";
import { SEED } from "../support/campaign.ts";

const NO_KILLS = { request: [], delivery: [] };
const PLACES: readonly StepPlace[] = [
  { kind: "request", method: "POST", path: "/v1/orders", nth: 1 },
  { kind: "request", method: "GET", path: "/v1/checkout-sessions/*", nth: 1 },
  { kind: "delivery", eventType: "order.created", nth: 1 },
  { kind: "delivery", eventType: "order.succeeded", nth: 1 },
  { kind: "page" },
];

const schedule: fc.Arbitrary<Schedule> = fc.record({
  faults: fc.uniqueArray(
    fc.record({
      action: fc.constantFrom("lose_answer", "status", "duplicate", "reorder"),
      match: fc.record({
        path: fc.constantFrom("/v1/orders", "/v1/checkout-sessions"),
        nth: fc.integer({ min: 1, max: 3 }),
      }),
    }),
    { selector: (fault) => JSON.stringify(fault), maxLength: 5 },
  ),
  payer: fc.constantFrom(...PAYER_OUTCOMES),
});

function isPartOf(small: Schedule, large: Schedule): boolean {
  return subschedulesOf(large).map(scheduleKey).includes(scheduleKey(small));
}

/** Shrinks a schedule, and returns the result with every candidate. */
function shrunk(from: Schedule, isBroken: (one: Schedule) => boolean): readonly [Schedule, Schedule[]] {
  const search = shrinkSchedule(from);
  const tried: Schedule[] = [];
  let step = search.next();
  while (step.done !== true) {
    tried.push(step.value);
    step = search.next(isBroken(step.value));
  }
  return [step.value, tried];
}

test("shrinking never loses the violation, keeps no step that is not needed, and tries nothing twice", () => {
  fc.assert(
    fc.property(schedule, fc.nat(), (from, salt) => {
      // Any predicate: breaking may also need that a step is missing.
      const isBroken = (one: Schedule): boolean =>
        scheduleKey(one) === scheduleKey(from) || fractionOf(`${salt} ${scheduleKey(one)}`) < 0.4;
      const [least, tried] = shrunk(from, isBroken);
      expect(isBroken(least)).toBe(true);
      expect(isPartOf(least, from)).toBe(true);
      expect(new Set(tried.map(scheduleKey)).size).toBe(tried.length);
      const smaller = shrunk(least, () => false)[1];
      expect(smaller).toHaveLength(scheduleSize(least));
      expect(smaller.filter(isBroken)).toEqual([]);
    }),
    { seed: SEED },
  );
});

test("shrinking finds the faults that are needed among any others", () => {
  fc.assert(
    fc.property(schedule, fc.nat(), (from, salt) => {
      const needed = from.faults.filter((_fault, at) => fractionOf(`${salt} ${at}`) < 0.5);
      const [least] = shrunk(from, (one) => isPartOf({ faults: needed, payer: "succeeded" }, one));
      expect(least).toEqual({ faults: needed, payer: "succeeded" });
    }),
    { seed: SEED },
  );
});

/** Runs waves over an application whose places and damage depend on the schedule alone. */
function wavesOf(salt: number, seed: string): { readonly all: Schedule[]; readonly broken: Schedule[] } {
  const all: Schedule[] = [];
  const runs: KnownRun[] = [];
  const run = (one: Schedule): void => {
    all.push(one);
    const draw = (what: string): number => fractionOf(`${salt} ${what} ${scheduleKey(one)}`);
    const extra: StepPlace[] =
      draw("retry") < 0.3 ? [{ kind: "request", method: "POST", path: "/v1/orders", nth: 2 }] : [];
    runs.push({
      schedule: one,
      places: PLACES.slice(0, 2 + Math.floor(salt % 4)).concat(extra),
      closeness: Math.floor(draw("close") * 4),
      isBroken: scheduleSize(one) > 0 && draw("broken") < 0.1,
    });
  };
  run(NO_FAULTS);
  for (let size = 1; size <= 2; size += 1) nextWave(runs, { seed, kills: NO_KILLS }).forEach(run);
  return { all, broken: runs.filter(({ isBroken }) => isBroken).map((one) => one.schedule) };
}

test("no schedule is run twice, none contains one that is broken, and a seed repeats all in order", () => {
  fc.assert(
    fc.property(fc.nat(), (salt) => {
      const { all, broken } = wavesOf(salt, "a");
      expect(new Set(all.map(scheduleKey)).size).toBe(all.length);
      const sizes = all.map(scheduleSize);
      expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
      const breaks = new Set(broken.map(scheduleKey));
      const parts = all.flatMap((one) =>
        subschedulesOf(one).filter((part) => scheduleKey(part) !== scheduleKey(one)),
      );
      expect(parts.filter((part) => breaks.has(scheduleKey(part)))).toEqual([]);
      expect(wavesOf(salt, "a").all).toEqual(all);
      const other = wavesOf(salt, "b").all;
      expect(other.map(scheduleKey).toSorted()).toEqual(all.map(scheduleKey).toSorted());
      expect(other).not.toEqual(all);
    }),
    { seed: SEED, numRuns: 10 },
  );
});

test("the first wave is each fault at each place, and each other way of the payer", () => {
  const plain: KnownRun = { schedule: NO_FAULTS, places: PLACES, closeness: 0, isBroken: false };
  const wave = nextWave([plain], { seed: "s", kills: NO_KILLS });
  expect(wave).toHaveLength(2 * 10 + 2 * 8 + 6);
  expect(wave.map(scheduleSize).every((size) => size === 1)).toBe(true);
  expect(wave.map(scheduleLine)).toContain("lose_answer at POST /v1/orders 1");
  expect(wave.map(scheduleLine)).toContain("payer: late_success");
  expect(scheduleLine(NO_FAULTS)).toBe("no fault");
  const kills: KillsByPlace = { request: ["kill"], delivery: ["kill", "kill_after_answer"] };
  const killed = nextWave([plain], { seed: "s", kills }).map(scheduleLine);
  expect(killed).toHaveLength(wave.length + 2 + 2 * 2);
  expect(killed).toContain("kill at POST /v1/orders 1");
  expect(killed).toContain("kill_after_answer at order.succeeded 1");
});

test("the table has each single fault at its place, with its result, and no pair", () => {
  const orders = { method: "POST", path: "/v1/orders", nth: 1 } as const;
  const single = (action: "latency" | "kill" | "reset"): Schedule => ({
    faults: [faultAt(orders, action)],
    payer: "succeeded",
  });
  const payer: Schedule = { faults: [], payer: "failed" };
  const table = placeTable(PLACES, [
    { schedule: NO_FAULTS, result: "held" },
    { schedule: single("reset"), result: "held" },
    { schedule: single("latency"), result: "held" },
    { schedule: single("kill"), result: "broken" },
    { schedule: payer, result: "not_judged" },
    { schedule: { ...single("kill"), payer: "failed" }, result: "broken" },
  ]);
  expect(table).toEqual([
    { place: "POST /v1/orders 1", held: ["latency", "reset"], broken: ["kill"], notJudged: [] },
    { place: "payer", held: [], broken: [], notJudged: ["failed"] },
  ]);
});

test("pairs at places that only a fault has made come first, then those of the nearest misses", () => {
  const single = (action: "latency" | "status" | "truncate"): Schedule => ({
    faults: [faultAt({ method: "POST", path: "/v1/orders", nth: 1 }, action)],
    payer: "succeeded",
  });
  const [first] = PLACES;
  const places = first === undefined ? [] : [first];
  const retry: StepPlace = { kind: "request", method: "POST", path: "/v1/orders", nth: 2 };
  const second: StepPlace = { kind: "delivery", eventType: "order.created", nth: 1 };
  const runs: KnownRun[] = [
    { schedule: NO_FAULTS, places: places.concat(second), closeness: 0, isBroken: false },
    { schedule: single("latency"), places: places.concat(second), closeness: 0, isBroken: false },
    { schedule: single("status"), places: places.concat(second, retry), closeness: 1, isBroken: false },
    { schedule: single("truncate"), places: places.concat(second, retry), closeness: 1, isBroken: true },
  ];
  const lines = nextWave(runs, { seed: "s", kills: NO_KILLS }).map(scheduleLine);
  expect(lines).toHaveLength(10 + 2 * 8);
  expect(lines.slice(0, 10).every((line) => line.includes("POST /v1/orders 2"))).toBe(true);
  expect(lines.slice(10, 18).every((line) => line.startsWith("status"))).toBe(true);
  expect(lines.some((line) => line.startsWith("truncate"))).toBe(false);
});

const SUCCEEDED: ObservedDelivery = {
  eventType: "order.succeeded",
  cause: "event",
  state: "succeeded",
  attempts: [{ status: 200, fault: null }],
};

const PAID = { paid: true, times: 1, amountMinor: 1999 } as const;
const UNPAID = { paid: false, times: 0, amountMinor: null } as const;

/** A purchase that was paid, delivered and booked. */
const GOOD: RunFacts = {
  schedule: NO_FAULTS,
  checkouts: [
    { id: "c1", orderId: "o1", amountMinor: 1999, status: "succeeded", checkoutUrl: "http://x/pay/c1" },
  ],
  purchase: { end: "order", id: "c1", checkoutUrl: "http://x/pay/c1" },
  again: null,
  requests: [{ method: "POST", path: "/v1/orders", status: 201, code: null, isFaulty: false }],
  deliveries: [SUCCEEDED],
  before: UNPAID,
  soon: PAID,
  last: PAID,
  isDown: false,
  secretPlaces: new Set(),
};
const FAILED = { end: "failure", message: "gave up" } as const;
const [ORDER] = GOOD.checkouts;
const ended = (status: "failed" | "cancelled" | "expired"): Partial<RunFacts> => ({
  checkouts: ORDER === undefined ? [] : [{ ...ORDER, status }],
  deliveries: [],
  soon: PAID,
});
const refused = (code: string): RunFacts["requests"] => [
  { method: "POST", path: "/v1/orders", status: 409, code, isFaulty: false },
];
const faulty = (action: "changed_body" | "reorder" | "bad_signature"): Schedule => ({
  faults: [faultAt({ eventType: "order.succeeded", nth: 1 }, action)],
  payer: "succeeded",
});
const lost = { soon: UNPAID, last: UNPAID } as const;

/** Of each cause a run that shows it, and nothing else. */
const SHOWN: Readonly<Record<ExploreCause, Partial<RunFacts>>> = {
  new_order_id: {
    checkouts: GOOD.checkouts.concat(GOOD.checkouts.map((one) => ({ ...one, orderId: "o2" }))),
  },
  order_again: { checkouts: GOOD.checkouts.concat(GOOD.checkouts) },
  never_ends: { purchase: { end: "timeout" } },
  claims_success: { purchase: { end: "order", id: "undefined", checkoutUrl: "undefined" } },
  new_key: { purchase: FAILED, again: FAILED, requests: refused("order_conflict") },
  other_body: { purchase: FAILED, again: FAILED, requests: refused("idempotency_key_reused") },
  no_recovery: { purchase: FAILED, again: FAILED },
  books_again: { last: { ...PAID, times: 2 }, deliveries: [SUCCEEDED, { ...SUCCEEDED, cause: "duplicate" }] },
  books_other_events: { last: { ...PAID, times: 2 } },
  books_at_start: {
    last: { ...PAID, times: 2 },
    schedule: { ...NO_FAULTS, faults: [faultAt({ eventType: "order.succeeded", nth: 1 }, "kill")] },
  },
  books_unpaid: { before: PAID },
  books_failed: ended("failed"),
  books_cancelled: ended("cancelled"),
  books_expired: ended("expired"),
  believes_forged: { schedule: faulty("changed_body"), last: { ...PAID, amountMinor: 1 } },
  other_amount: { last: { ...PAID, amountMinor: 1 } },
  accepts_forged: {
    ...lost,
    deliveries: [{ ...SUCCEEDED, attempts: [{ status: 200, fault: "bad_signature" }] }],
  },
  lost_early: { ...lost, schedule: faulty("reorder") },
  refuses_payment: {
    ...lost,
    deliveries: [{ ...SUCCEEDED, state: "failed", attempts: [{ status: 500, fault: null }] }],
  },
  not_told: { ...lost, deliveries: [] },
  acknowledged_only: lost,
  not_restarted: { isDown: true, last: null },
  goes_back: { last: UNPAID },
  secret_in_request: { secretPlaces: new Set(["request", "view"]) },
  secret_in_answer: { secretPlaces: new Set(["answer"]) },
  secret_in_output: { secretPlaces: new Set(["output"]) },
  secret_in_view: { secretPlaces: new Set(["view"]) },
};

test("a run without damage holds, and each cause is told for a run that shows it", () => {
  expect(brokenVerdicts(judgeRun(GOOD))).toEqual([]);
  expect(judgeRun(GOOD).verdicts.map(({ invariant }) => invariant)).toEqual([
    "one_order",
    "client_ends",
    "never_unpaid",
    "booked_once",
    "right_amount",
    "final_stays",
    "booked_when_paid",
    "secrets_kept",
  ]);
  const told = Object.entries(SHOWN).map(([cause, facts]) => [
    cause,
    brokenVerdicts(judgeRun({ ...GOOD, ...facts })).map((one) => one.cause),
  ]);
  expect(told).toEqual(Object.keys(EXPLORE_CAUSES).map((cause) => [cause, [cause]]));
});

test("an older event that came again, and was written over the payment, is told as that", () => {
  const doubled: Schedule = {
    faults: [faultAt({ eventType: "order.pending", nth: 1 }, "duplicate")],
    payer: "succeeded",
  };
  expect(brokenVerdicts(judgeRun({ ...GOOD, ...lost, schedule: doubled }))).toEqual([
    { invariant: "final_stays", held: false, cause: "goes_back" },
  ]);
});

test("a missing booking may still come, and all other damage stays", () => {
  const healing = Object.entries(SHOWN)
    .filter(([, facts]) => canImprove(judgeRun({ ...GOOD, ...facts })))
    .map(([cause]) => cause);
  expect(healing).toEqual([
    "accepts_forged",
    "lost_early",
    "refuses_payment",
    "not_told",
    "acknowledged_only",
    "not_restarted",
    "goes_back",
  ]);
});

test("a payment whose event was dropped is neither held nor broken", () => {
  const dropped = judgeRun({
    ...GOOD,
    ...lost,
    deliveries: [{ ...SUCCEEDED, state: "dropped", attempts: [] }],
  });
  expect([brokenVerdicts(dropped), dropped.isDropped]).toEqual([[], true]);
  expect(dropped.verdicts.map(({ invariant }) => invariant)).not.toContain("booked_when_paid");
});

test("a view that says a status alone judges neither how often nor how much, and no view judges nothing of it", () => {
  const status = { paid: true, times: null, amountMinor: null };
  const names = (facts: Partial<RunFacts>): readonly string[] =>
    judgeRun({ ...GOOD, ...facts }).verdicts.map(({ invariant }) => invariant);
  expect(names({ last: status })).toEqual([
    "one_order",
    "client_ends",
    "never_unpaid",
    "final_stays",
    "booked_when_paid",
    "secrets_kept",
  ]);
  const unseen = { before: null, soon: null, last: null };
  expect(names(unseen)).toEqual(["one_order", "client_ends", "secrets_kept"]);
  expect(names({ purchase: FAILED, again: GOOD.purchase })).toContain("recovery");
});

test("places are counted among those alike, the first three of them, and ids are any", () => {
  const id = "019b76da-a800-7431-bdd6-2b726751ef51";
  const seen = (method: string, path: string) => ({ method, path, status: 200, code: null, isFaulty: false });
  const places = placesOf({
    checkouts: GOOD.checkouts,
    requests: [
      seen("POST", "/v1/orders"),
      seen("OPTIONS", "/v1/orders"),
      ...Array.from({ length: 5 }, () => seen("GET", `/v1/checkout-sessions/${id}`)),
    ],
    deliveries: [SUCCEEDED, { ...SUCCEEDED, cause: "duplicate" }],
  });
  const get = { kind: "request", method: "GET", path: "/v1/checkout-sessions/*" } as const;
  expect(places).toEqual([
    { kind: "request", method: "POST", path: "/v1/orders", nth: 1 },
    { ...get, nth: 1 },
    { ...get, nth: 2 },
    { ...get, nth: 3 },
    { kind: "delivery", eventType: "order.succeeded", nth: 1 },
    { kind: "page" },
  ]);
});

test("a run is closer the more of it is not as without faults", () => {
  expect(differenceScore(GOOD, GOOD)).toBe(0);
  expect(differenceScore({ ...GOOD, requests: GOOD.requests.concat(GOOD.requests) }, GOOD)).toBe(1);
  expect(differenceScore({ ...GOOD, requests: refused("order_conflict"), purchase: FAILED }, GOOD)).toBe(5);
  expect(differenceScore({ ...GOOD, deliveries: [] }, GOOD)).toBe(0);
});

/** The cause that a view of a paid order of 1999 minor units breaks `right_amount` with; null if it holds. */
function amountCause(amount: unknown): ExploreCause | null | undefined {
  const view = parseView(JSON.stringify({ paid: true, times: 1, amount_minor: amount }), {
    paidWhen: undefined,
  });
  if (view === undefined) return undefined;
  const { verdicts } = judgeRun({ ...GOOD, last: view });
  const verdict = verdicts.find(({ invariant }) => invariant === "right_amount");
  if (verdict === undefined) return undefined;
  return verdict.held ? null : verdict.cause;
}

test("an amount in any form is compared with the order's amount, and one that is not shown is not judged", () => {
  for (const right of [1999, "1999", 1999.0]) expect([right, amountCause(right)]).toEqual([right, null]);
  for (const wrong of [19.99, "19.99", "€19.99", "19,99", 199_900, 0, "", 1999.5, "1 999"])
    expect([wrong, amountCause(wrong)]).toEqual([wrong, "other_amount"]);
  expect(amountCause(null)).toBeUndefined();
});
