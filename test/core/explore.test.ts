import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Status } from "../../src/core/checkout/checkout.ts";
import { API_ACTIONS, DELIVERY_ACTIONS } from "../../src/core/fault/actions.ts";
import type { LoggedCreate, WatchedRun } from "../../src/core/judge/client.ts";
import { isPaymentDropped, mustShopKnow, answersIn } from "../../src/core/judge/deliveries.ts";
import { type ObservedDelivery } from "../../src/core/judge/observation.ts";
import { verdictsOn } from "../../src/core/judge/judge.ts";
import { type LookFact, type Observation } from "../../src/core/judge/observation.ts";
import {
  differenceScore,
  nextWave,
  placesOf,
  shrinkSchedule,
  type KillsByPlace,
  type KnownRun,
  type StepPlace,
  type Trace,
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
import { historyOf } from "../../src/core/judge/schedule-history.ts";
import { placeTable } from "../../src/core/judge/search.ts";
import { parseView } from "../../src/core/judge/view.ts";
import type { Cause } from "../../src/core/readiness/drills/judge-causes.ts";
import { hashedFractionOf } from "../../src/core/fault/fraction.ts";
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

test("shrinking a schedule keeps the violation, removes every unneeded fault, and tries no schedule twice", () => {
  fc.assert(
    fc.property(schedule, fc.nat(), (from, salt) => {
      // An arbitrary predicate: a violation may also depend on the absence of a step.
      const isBroken = (one: Schedule): boolean =>
        scheduleKey(one) === scheduleKey(from) || hashedFractionOf(`${salt} ${scheduleKey(one)}`) < 0.4;
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

test("shrinking a schedule keeps exactly the faults that the violation needs", () => {
  fc.assert(
    fc.property(schedule, fc.nat(), (from, salt) => {
      const needed = from.faults.filter((_fault, at) => hashedFractionOf(`${salt} ${at}`) < 0.5);
      const [least] = shrunk(from, (one) => isPartOf({ faults: needed, payer: "succeeded" }, one));
      expect(least).toEqual({ faults: needed, payer: "succeeded" });
    }),
    { seed: SEED },
  );
});

/** Runs waves over a simulated application, whose places and violations depend only on the salt and the schedule. */
function wavesOf(salt: number, seed: string): { readonly all: Schedule[]; readonly broken: Schedule[] } {
  const all: Schedule[] = [];
  const runs: KnownRun[] = [];
  const run = (one: Schedule): void => {
    all.push(one);
    const draw = (what: string): number => hashedFractionOf(`${salt} ${what} ${scheduleKey(one)}`);
    const extra: StepPlace[] =
      draw("retry") < 0.3 ? [{ kind: "request", method: "POST", path: "/v1/orders", nth: 2 }] : [];
    runs.push({
      schedule: one,
      places: PLACES.slice(0, 2 + Math.floor(salt % 4)).concat(extra),
      score: Math.floor(draw("close") * 4),
      isBroken: scheduleSize(one) > 0 && draw("broken") < 0.1,
    });
  };
  run(NO_FAULTS);
  for (let size = 1; size <= 2; size += 1) nextWave(runs, { seed, kills: NO_KILLS }).forEach(run);
  return { all, broken: runs.filter(({ isBroken }) => isBroken).map((one) => one.schedule) };
}

test("explore runs no schedule twice and no schedule that contains a broken schedule, and the same seed repeats the order", () => {
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

test("explore first runs every fault at every place, and every other outcome of a payment", () => {
  const plain: KnownRun = { schedule: NO_FAULTS, places: PLACES, score: 0, isBroken: false };
  const wave = nextWave([plain], { seed: "s", kills: NO_KILLS });
  expect(wave).toHaveLength(2 * API_ACTIONS.length + 2 * DELIVERY_ACTIONS.length + 6);
  expect(wave.map(scheduleSize).every((size) => size === 1)).toBe(true);
  expect(wave.map(scheduleLine)).toContain("lose_answer at POST /v1/orders 1");
  expect(wave.map(scheduleLine)).toContain("payer: late_success");
  expect(scheduleLine(NO_FAULTS)).not.toBe("");
  const kills: KillsByPlace = { request: ["kill"], delivery: ["kill", "kill_after_answer"] };
  const killed = nextWave([plain], { seed: "s", kills }).map(scheduleLine);
  expect(killed).toHaveLength(wave.length + 2 + 2 * 2);
  expect(killed).toContain("kill at POST /v1/orders 1");
  expect(killed).toContain("kill_after_answer at order.succeeded 1");
});

test("explore's table has the results of schedules with one fault or another payment outcome, but not of pairs", () => {
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

test("explore first runs pairs with requests that only a fault caused, then pairs of the faults that changed the run most", () => {
  const single = (action: "latency" | "status" | "truncate"): Schedule => ({
    faults: [faultAt({ method: "POST", path: "/v1/orders", nth: 1 }, action)],
    payer: "succeeded",
  });
  const [first] = PLACES;
  const places = first === undefined ? [] : [first];
  const retry: StepPlace = { kind: "request", method: "POST", path: "/v1/orders", nth: 2 };
  const second: StepPlace = { kind: "delivery", eventType: "order.created", nth: 1 };
  const runs: KnownRun[] = [
    { schedule: NO_FAULTS, places: places.concat(second), score: 0, isBroken: false },
    { schedule: single("latency"), places: places.concat(second), score: 0, isBroken: false },
    { schedule: single("status"), places: places.concat(second, retry), score: 1, isBroken: false },
    { schedule: single("truncate"), places: places.concat(second, retry), score: 1, isBroken: true },
  ];
  const lines = nextWave(runs, { seed: "s", kills: NO_KILLS }).map(scheduleLine);
  const [ofRetry, ofNearest] = [API_ACTIONS.length, DELIVERY_ACTIONS.length];
  expect(lines).toHaveLength(ofRetry + 2 * ofNearest);
  expect(lines.slice(0, ofRetry).every((line) => line.includes("POST /v1/orders 2"))).toBe(true);
  expect(lines.slice(ofRetry, ofRetry + ofNearest).every((line) => line.startsWith("status"))).toBe(true);
  expect(lines.some((line) => line.startsWith("truncate"))).toBe(false);
});

function delivery(
  type: string,
  startedAt: number,
  more: Partial<ObservedDelivery & ObservedDelivery["attempts"][number]> = {},
): ObservedDelivery {
  const { status = 200, fault = null, cause = "event", state = "succeeded" } = more;
  return { eventType: `order.${type}`, cause, state, attempts: [{ status, fault, startedAt }] };
}

const CREATED = delivery("created", 1);
const SUCCEEDED = delivery("succeeded", 3);
const DROPPED: ObservedDelivery = { ...SUCCEEDED, state: "dropped", attempts: [] };
const PAID = { paid: true, times: 1, amountMinor: 1999 } as const;
const UNPAID = { paid: false, times: 0, amountMinor: null } as const;

/** Observations of a run: before the payment, soon after it, and at the end. */
type Seen = {
  readonly status?: Status;
  readonly before?: LookFact["view"];
  readonly soon?: LookFact["view"];
  readonly last?: LookFact["view"];
  readonly deliveries?: readonly ObservedDelivery[];
  readonly isKilled?: boolean;
  readonly purchase?: Partial<WatchedRun>;
  readonly again?: Partial<WatchedRun>;
  readonly live?: number;
  readonly hasNewOrderId?: boolean;
  readonly facts?: readonly Observation[];
};

const MADE: LoggedCreate = { status: 201, code: null, arrival: "whole", isEarly: false };
const LOST: LoggedCreate = { ...MADE, arrival: "hidden" };
const RUN: WatchedRun = {
  hasEnded: true,
  isDone: true,
  got: "gave up",
  isKilled: false,
  mayFail: true,
  log: [MADE],
};

/** The facts of a run; default: a purchase that was paid, delivered and booked. */
function factsOf({
  status = "succeeded",
  before = UNPAID,
  soon = PAID,
  last = PAID,
  deliveries = [CREATED, SUCCEEDED],
  isKilled = false,
  purchase,
  again,
  live: liveCount = 1,
  hasNewOrderId = false,
  facts = [],
}: Seen): readonly Observation[] {
  const isPaid = status === "succeeded";
  const runs = [{ ...RUN, ...purchase }, ...(again === undefined ? [] : [{ ...RUN, ...again }])];
  const look = (view: LookFact["view"], more: Partial<LookFact["truth"]>): Observation => ({
    kind: "look",
    of: "a",
    view,
    got: "shown",
    waitedMs: 0,
    truth: { isPaid, isNotified: false, hasRetrieved: true, amountMinor: 1999, status, ...more },
    log: { deliveries, isKilled },
  });
  return [
    { kind: "client", purchase: { runs, liveCount, hasNewOrderId } },
    look(before, { isPaid: false, status: "created" }),
    look(soon, {}),
    ...answersIn(deliveries),
    look(last, { isNotified: isPaid && mustShopKnow(deliveries) }),
    ...facts,
  ];
}

function causesOf(seen: Seen): readonly (Cause | null)[] {
  return [...new Set(verdictsOn(factsOf(seen)).brokenRules.map(({ cause }) => cause))];
}

const FAILED = { isDone: false, log: [LOST] } as const;
const refused = (code: LoggedCreate["code"]): Partial<WatchedRun> => ({
  isDone: false,
  log: [LOST, { ...MADE, status: 409, code }],
});
const ended = (status: Status): Seen => ({ status, deliveries: [CREATED] });
const lost = { soon: UNPAID, last: UNPAID } as const;
const forged = delivery("succeeded", 2, { fault: "changed_body" });

/** For every cause a run that shows only that cause. */
const SHOWN: Readonly<Partial<Record<Cause, Seen>>> = {
  new_order_id: { live: 2, hasNewOrderId: true },
  order_again: { live: 2 },
  never_ends: { purchase: { hasEnded: false } },
  claims_success: { purchase: { isWrong: true } },
  new_key: { purchase: FAILED, again: refused("order_conflict") },
  other_body: { purchase: FAILED, again: refused("idempotency_key_reused") },
  no_recovery: { purchase: FAILED, again: { isDone: false, log: [LOST, LOST] } },
  forgotten: { purchase: FAILED, again: FAILED },
  books_again: {
    last: { ...PAID, times: 2 },
    deliveries: [CREATED, SUCCEEDED, { ...SUCCEEDED, cause: "duplicate" }],
  },
  books_other_events: { last: { ...PAID, times: 2 } },
  books_at_start: { last: { ...PAID, times: 2 }, isKilled: true },
  books_unpaid: { before: PAID },
  books_pending: ended("pending"),
  books_failed: ended("failed"),
  books_cancelled: ended("cancelled"),
  books_expired: ended("expired"),
  other_amount: { last: { ...PAID, amountMinor: 1 } },
  lost_early: { ...lost, deliveries: [delivery("created", 60_000), SUCCEEDED] },
  refuses_payment: {
    ...lost,
    deliveries: [CREATED, delivery("succeeded", 3, { status: 500, state: "failed" })],
  },
  refuses_event: { deliveries: [delivery("created", 1, { status: 409, state: "failed" }), SUCCEEDED] },
  not_told: { ...lost, deliveries: [CREATED] },
  acknowledged_only: lost,
  goes_back: {
    last: UNPAID,
    deliveries: [CREATED, SUCCEEDED, delivery("created", 9, { cause: "duplicate" })],
  },
  not_restarted: { facts: [{ kind: "end", got: "it did not start again", isKilled: true }] },
  secret_in_request: { facts: [{ kind: "secrets", places: new Set(["request", "view"]) }] },
  secret_in_answer: { facts: [{ kind: "secrets", places: new Set(["answer"]) }] },
  secret_in_output: { facts: [{ kind: "secrets", places: new Set(["output"]) }] },
  secret_in_view: { facts: [{ kind: "secrets", places: new Set(["view"]) }] },
  answers_forged: { deliveries: [CREATED, delivery("pending", 2, { fault: "stale" }), SUCCEEDED] },
};

test("explore passes a correct run, and reports a run with one mistake with exactly its cause", () => {
  const good = verdictsOn(factsOf({}));
  expect(good.brokenRules).toEqual([]);
  expect([...good.judgedRules].toSorted()).toEqual([
    "booked_once",
    "booked_when_paid",
    "client_ends",
    "final_stays",
    "never_unpaid",
    "one_key",
    "one_order",
    "right_amount",
    "takes_events",
  ]);
  for (const [cause, seen] of Object.entries(SHOWN))
    expect([cause, causesOf(seen)]).toEqual([cause, [cause]]);
});

test("explore reports an accepted forged payment as the first cause, even if the view never shows a payment", () => {
  expect(causesOf({ last: { ...PAID, amountMinor: 1 }, deliveries: [CREATED, forged, SUCCEEDED] })).toEqual([
    "believes_forged",
    "answers_forged",
  ]);
  expect(causesOf({ ...lost, deliveries: [CREATED, forged] })).toEqual(["accepts_forged", "answers_forged"]);
});

test("explore reports a repeated older event that overwrote the payment as the cause", () => {
  const copy = delivery("pending", 3, { cause: "duplicate" });
  const seen = { ...lost, deliveries: [CREATED, delivery("pending", 2), SUCCEEDED, copy] };
  expect(verdictsOn(factsOf(seen)).brokenRules).toMatchObject([
    { invariant: "final_stays", cause: "goes_back" },
  ]);
});

test("a payment that the view no longer shows breaks the rule final_stays, without a cause", () => {
  expect(verdictsOn(factsOf({ last: UNPAID })).brokenRules).toMatchObject([
    { invariant: "final_stays", cause: null, got: { fact: "shows_unpaid", values: ["shown"] } },
  ]);
});

test("explore does not count a paid view without a booking as booked", () => {
  const { brokenRules } = verdictsOn(factsOf({ soon: UNPAID, last: { ...PAID, times: 0 } }));
  expect(brokenRules).toMatchObject([{ invariant: "booked_when_paid", cause: "acknowledged_only" }]);
});

test("explore does not judge a payment whose event was dropped", () => {
  const seen = { ...lost, deliveries: [CREATED, DROPPED] };
  const { judgedRules, brokenRules } = verdictsOn(factsOf(seen));
  expect([brokenRules, isPaymentDropped(seen.deliveries), judgedRules.has("booked_when_paid")]).toEqual([
    [],
    true,
    false,
  ]);
});

test("explore judges no rules about bookings and amounts if the view lacks these fields, and no rules about views without a view", () => {
  const status = { paid: true, times: null, amountMinor: null };
  const names = (seen: Seen): readonly string[] => [...verdictsOn(factsOf(seen)).judgedRules].toSorted();
  const looks = { before: status, soon: status, last: status };
  expect(names({ ...looks, before: { ...status, paid: false } })).toEqual([
    "booked_when_paid",
    "client_ends",
    "final_stays",
    "never_unpaid",
    "one_key",
    "one_order",
    "takes_events",
  ]);
  const unseen = { before: null, soon: null, last: null };
  expect(names(unseen)).toEqual(["client_ends", "one_key", "one_order", "takes_events"]);
  expect(names({ purchase: FAILED, again: {} })).toContain("recovery");
});

test("explore turns a schedule into steps: faults, purchase, payment and deliveries", () => {
  const kill = faultAt({ eventType: "order.succeeded", nth: 1 }, "kill");
  const reset = faultAt({ method: "POST", path: "/v1/orders", nth: 1 }, "reset");
  const { steps } = historyOf(
    { faults: [kill, reset], payer: "late_success" },
    { hasView: true, hasReturnPage: true },
  );
  expect(steps[0]).toEqual({ act: "faults", of: "a", faults: [reset] });
  expect(steps.map(({ act }) => act)).toEqual(
    "faults create at_once visit look pay pay pay at_once look deliver_all look".split(" "),
  );
  expect(historyOf(NO_FAULTS, { hasView: false, hasReturnPage: false }).steps.map(({ act }) => act)).toEqual([
    "faults",
    "create",
  ]);
});

test("explore numbers repeated requests up to 3, and treats paths that differ only in an id as equal", () => {
  const id = "019b76da-a800-7431-bdd6-2b726751ef51";
  const seen = (method: string, path: string) => ({ method, path, status: 200, isFaulty: false });
  const places = placesOf({
    hasOrder: true,
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

test("compared with the run without faults, a run's score counts more retries, refusals and a failed purchase, but not missing deliveries", () => {
  const request = { method: "POST", path: "/v1/orders", status: 201, isFaulty: false };
  const good: Trace = { requests: [request], deliveries: [SUCCEEDED], hasOrder: true, hasPurchased: true };
  expect(differenceScore(good, good)).toBe(0);
  expect(differenceScore({ ...good, requests: [request, request] }, good)).toBe(1);
  expect(
    differenceScore({ ...good, requests: [{ ...request, status: 409 }], hasPurchased: false }, good),
  ).toBe(5);
  expect(differenceScore({ ...good, deliveries: [] }, good)).toBe(0);
});

/**
 * The cause for which the view of a paid order of 1999 minor units breaks `right_amount`; null if the rule holds,
 * undefined if it was not judged.
 */
function amountCause(amount: unknown): Cause | null | undefined {
  const view = parseView(JSON.stringify({ paid: true, times: 1, amount_minor: amount }), {
    paidWhen: undefined,
  });
  if (view === undefined) return undefined;
  const { judgedRules, brokenRules } = verdictsOn(factsOf({ soon: null, last: view }));
  if (!judgedRules.has("right_amount")) return undefined;
  return brokenRules.find(({ invariant }) => invariant === "right_amount")?.cause ?? null;
}

test("a shown amount must equal the order's amount in minor units, and a missing amount is not judged", () => {
  for (const right of [1999, "1999", 1999.0]) expect([right, amountCause(right)]).toEqual([right, null]);
  for (const wrong of [19.99, "19.99", "€19.99", "19,99", 199_900, 0, "", 1999.5, "1 999"])
    expect([wrong, amountCause(wrong)]).toEqual([wrong, "other_amount"]);
  expect(amountCause(null)).toBeUndefined();
});
