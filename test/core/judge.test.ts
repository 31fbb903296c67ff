import { englishOf, factOf } from "../../src/core/readiness/drills/said.ts";
import { expect, test } from "vitest";
import { parseView, viewExcerpt } from "../../src/core/judge/view.ts";
import { historyOf, namesInOrder } from "../../src/core/judge/histories/histories.ts";
import { combinationName, pairedCombinations } from "../../src/core/judge/histories/places.ts";
import { judgeHistory, judgeLaterLooks, stepOf } from "../../src/core/judge/judge.ts";
import { type CreateFact, type LookFact, type Truth } from "../../src/core/judge/observation.ts";
import { nearAmount, neighbourIds } from "../../src/core/judge/neighbours.ts";
import { isPattern, isDelay } from "../../src/core/judge/shop.ts";
import { withShopSection } from "../../src/core/config/shop-section.ts";
import type { Step } from "../../src/core/judge/step.ts";

const UNPAID: Truth = { isPaid: false, isNotified: false, hasRetrieved: false, amountMinor: 1999 };
const TOLD: Truth = { isPaid: true, isNotified: true, hasRetrieved: true, amountMinor: 1999 };
const HELD_BACK: Truth = { ...TOLD, isNotified: false, hasRetrieved: false };

function look(
  paid: boolean,
  truth: Truth,
  more: Partial<LookFact["view"] & { waitedMs: number }> = {},
): LookFact {
  const { waitedMs = 0, ...shown } = more;
  const view = { paid, times: null, amountMinor: null, ...shown };
  return { kind: "look", of: "a", view, got: "shown", truth, waitedMs };
}

function create(more: Partial<CreateFact> = {}): CreateFact {
  const runs = [{ hasEnded: true, isDone: true, got: "exit code 0" }];
  return {
    kind: "create",
    runs,
    isRefused: false,
    isRepeat: false,
    liveCount: 1,
    hasNewOrderId: false,
    ...more,
  };
}

function verdict(...facts: Parameters<typeof judgeHistory>[1]): string {
  const judged = judgeHistory({}, facts, undefined);
  if (judged.state === "broken") return judged.invariant;
  return judged.state === "held" ? "held" : `not judged: ${judged.field}`;
}

test("each violation breaks exactly the expected rule", () => {
  const refused = { kind: "refused", type: "order.created", isForeign: false } as const;
  const failed = [{ hasEnded: true, isDone: false, got: "exit code 1" }];
  const endless = [{ hasEnded: false, isDone: false, got: "" }];
  const rows: readonly (readonly [expected: string, ...facts: Parameters<typeof judgeHistory>[1]])[] = [
    ["held", create(), look(false, UNPAID), look(true, TOLD, { times: 1, amountMinor: 1999 })],
    ["refuses_forged", { kind: "forged", isAccepted: true, got: "200" }, look(false, UNPAID)],
    ["never_unpaid", { kind: "forged", isAccepted: true, got: "200" }, look(true, UNPAID)],
    ["held", { kind: "forged", isAccepted: false, got: "400" }, look(false, UNPAID)],
    ["never_unpaid", look(true, UNPAID)],
    ["never_unpaid", look(false, UNPAID, { times: 1 })],
    ["never_unpaid", look(true, HELD_BACK)],
    ["held", look(true, { ...HELD_BACK, hasRetrieved: true })],
    ["held", look(false, HELD_BACK)],
    ["booked_when_paid", look(false, TOLD)],
    ["booked_when_paid", look(true, TOLD, { times: 0 })],
    ["booked_once", look(true, TOLD, { times: 2 })],
    ["right_amount", look(true, TOLD, { times: 1, amountMinor: 19.99 })],
    ["final_stays", look(true, TOLD), look(false, TOLD)],
    ["takes_events", { ...refused, got: "409" }],
    ["takes_events", { ...refused, got: "503" }],
    ["takes_events", { ...refused, got: "404", isForeign: true }],
    ["held", { ...refused, got: "503", isForeign: true }],
    ["one_order", create({ liveCount: 2 })],
    ["one_order", create({ hasNewOrderId: true })],
    ["one_order", create({ isShared: true })],
    ["client_ends", create({ runs: failed })],
    ["client_ends", create({ runs: endless })],
    ["client_ends", create({ liveCount: 0 })],
    ["held", create({ runs: failed, isRefused: true, liveCount: 0 })],
    ["client_ends", create({ isRefused: true, liveCount: 0 })],
    ["held", create({ runs: failed, isRepeat: true })],
    ["held", create({ runs: failed, isRepeat: true, liveCount: 0 })],
    ["held", create({ isRepeat: true, liveCount: 0, deadEnd: "old_page" })],
    [
      "recovery",
      create({ isRepeat: true, liveCount: 0, deadEnd: "old_page" }),
      create({ isRepeat: true, isRenewed: true }),
    ],
    ["one_key", create({ runs: failed, isRepeat: true, liveCount: 0, deadEnd: "other_body" })],
  ];
  for (const [expected, ...facts] of rows)
    expect([expected, verdict(...facts)]).toEqual([expected, expected]);
});

test("the cause of a booking without a payment is the order's status, or the customer's return if the return came first", () => {
  const cause = (...facts: Parameters<typeof judgeHistory>[1]): unknown => {
    const judged = judgeHistory({}, facts, undefined);
    return judged.state === "broken" ? judged.cause : judged.state;
  };
  const booked = (status: Truth["status"]): LookFact => look(true, { ...UNPAID, status });
  const visit = { kind: "visit", hasArrived: true, got: "200" } as const;
  const statuses = ["created", "pending", "failed", "cancelled", "expired"] as const;
  expect(statuses.map((status) => cause(booked(status), visit))).toEqual([
    "books_unpaid",
    "books_pending",
    "books_failed",
    "books_cancelled",
    "books_expired",
  ]);
  expect(new Set(statuses.map((status) => cause(visit, booked(status))))).toEqual(
    new Set(["believes_return"]),
  );
});

test("a late or unreadable view and an unreached return page are not judged, and the verdict names the field to set", () => {
  expect(verdict(look(true, TOLD, { waitedMs: 30_000 }))).toBe("not judged: settle");
  expect(judgeHistory({}, [look(true, TOLD, { waitedMs: 30_000 })], 60_000).state).toBe("held");
  expect(verdict({ ...look(false, UNPAID), view: null })).toBe("not judged: orderView");
  const login = { kind: "visit", hasArrived: false, got: "/login (200)" } as const;
  expect(verdict(login, look(false, UNPAID))).toBe("not judged: returnUrl");
  expect(verdict(login, { ...login, hasArrived: true }, look(false, UNPAID))).toBe("held");
  const dead = judgeHistory({}, [{ kind: "note", note: "dead_page" }], undefined);
  expect(stepOf("second_failed", dead, null)).toMatchObject({
    passed: true,
    cause: { fact: "dead_page", values: [] },
  });
});

test("a payment counts as lost only if the last reading of the view does not show the payment either", () => {
  const lost = [look(false, TOLD)];
  const first = judgeHistory({}, lost, undefined);
  const later = (...looks: readonly LookFact[]): string => {
    const judged = judgeLaterLooks(
      {},
      { verdict: first, facts: lost },
      { looks, settleMs: undefined, elapsedMs: 25_500 },
    );
    return judged.state === "not_judged" ? `${judged.field}: ${englishOf(judged.reason)}` : judged.state;
  };
  expect(later(look(false, TOLD))).toBe("broken");
  expect(later({ ...look(false, TOLD), view: null })).toBe("broken");
  expect(later(look(true, TOLD, { times: 0 }))).toBe("broken");
  expect(later(look(true, TOLD, { times: 2 }))).toBe("broken");
  expect(later(look(true, TOLD, { times: 1 }))).toBe(`settle: ${englishOf(factOf("late", "26"))}`);
  const held = [look(true, TOLD, { times: 1 })];
  const twice = { looks: [look(true, TOLD, { times: 2 })], settleMs: undefined, elapsedMs: 0 };
  expect(judgeLaterLooks({}, { verdict: judgeHistory({}, held, undefined), facts: held }, twice).state).toBe(
    "broken",
  );
  const other = judgeHistory({}, [look(true, UNPAID)], undefined);
  expect(judgeLaterLooks({}, { verdict: other, facts: [] }, { ...twice, looks: [look(true, TOLD)] })).toBe(
    other,
  );
});

test("the two amounts near an order's amount differ little from the order's amount, and one has the same whole units", () => {
  for (const minor of [1, 24, 25, 49, 50, 99, 100, 450, 1200, 1900, 1950, 1999, 2049, 50_000]) {
    const [less, more] = [nearAmount(minor, "less"), nearAmount(minor, "more")];
    const units = (amount: number) => `${Math.floor(amount / 100)}, ${Math.round(amount / 100)}`;
    const isSame = [less, more].map(units).includes(units(minor));
    const isNear = more - minor <= Math.max(1, minor / 200);
    expect([minor, isSame, isNear, less > 0, more > minor]).toEqual([minor, true, true, true, true]);
    expect([minor, less < minor]).toEqual([minor, minor > 1]);
  }
});

test("a history uses only orders that it created, and declares the settings that its steps need", () => {
  const combinations = pairedCombinations(() => true).map(combinationName);
  for (const name of namesInOrder(combinations)) {
    const history = historyOf(name);
    const flat = history.steps.flatMap((step): readonly Step[] =>
      step.act === "at_once" ? step.acts.flatMap((act) => ("steps" in act ? act.steps : [])) : [step],
    );
    const created = new Set(
      flat.flatMap((step) => (step.act === "create" || step.act === "create_elsewhere" ? [step.of] : [])),
    );
    const used = flat.flatMap((step) => ("of" in step && step.of !== "all" ? [step.of] : []));
    expect([name, used.filter((of) => !created.has(of))]).toEqual([name, []]);
    const visits = history.steps.some((step) =>
      step.act === "at_once"
        ? step.acts.some(
            (act) => "visit" in act || ("steps" in act && act.steps.some((one) => one.act === "visit")),
          )
        : step.act === "visit",
    );
    const needs = history.needs ?? [];
    expect([name, visits && !needs.includes("returnUrl")]).toEqual([name, false]);
    const restarts = history.steps.some(({ act }) => act === "restart");
    expect([name, restarts && !needs.includes("restart")]).toEqual([name, false]);
  }
});

test("no combination checks the view of an order while the API fails, because no shop can know the payment then", () => {
  for (const name of pairedCombinations(() => true).map(combinationName)) {
    const { steps } = historyOf(name);
    const [start, end] = ["findIndex", "findLastIndex"].map((find) =>
      steps[find as "findIndex"](({ act }) => act === "faults"),
    );
    const looks = steps.slice(start, end).filter(({ act }) => act === "look");
    expect([name, looks]).toEqual([name, []]);
  }
});

test("neighbour order_ids are distinct and have at most 32 characters", () => {
  for (const id of ["order-1001", "1001", "a", "x".repeat(32)])
    for (const how of [
      "other_case",
      "longer",
      "numbered",
      "shorter",
      "last_character",
      "digits",
      "same_end",
      "same_head",
      "pattern",
    ] as const) {
      const ids = neighbourIds(id, how);
      const lengths = ids.map((one) => (one ?? "").length);
      expect([id, how, new Set(ids).size, Math.max(...lengths) <= 32]).toEqual([id, how, ids.length, true]);
    }
});

test("neighbour order_ids differ only in the last character of their number, a digit or a letter", () => {
  const numbered = ["order-1009", "order-5e3f", "A-10Z", "INV-17-EUR"].map((id) =>
    neighbourIds(id, "last_character"),
  );
  expect(numbered).toEqual([
    ["order-1009", "order-1001", "order-1002"],
    ["order-5e3f", "order-5e3a", "order-5e3b"],
    ["A-10Z", "A-10G", "A-10H"],
    ["INV-17-EUR", "INV-18-EUR", "INV-19-EUR"],
  ]);
});

test("a neighbour order_id differs in the last digit, another one in the last character", () => {
  const [, , otherCharacter, otherDigit] = neighbourIds("order-5e3f", "digits");
  expect([otherCharacter, otherDigit]).toEqual(["order-5e3a", "order-5e6f"]);
});

test("neighbour order_ids that differ in case are otherwise equal, even if the order_ids are long", () => {
  const [id, other] = neighbourIds(`order-${"7".repeat(26)}`, "other_case");
  expect([id, other]).toEqual([`order-${"7".repeat(25)}`, `Order-${"7".repeat(25)}`]);
});

test("the bookings and the amount of an order view are read from JSON fields or by patterns", () => {
  const xml = "<status>paid</status><parcels>2</parcels>";
  const shown = parseView(xml, { paidWhen: /paid/, bookings: String.raw`<parcels>(\d+)`, amount: "amount" });
  expect(shown).toEqual({ paid: true, times: 2, amountMinor: null });
  const json = '{"paid":false,"count":0,"amount_minor":"19.99"}';
  expect(parseView(json, { paidWhen: undefined, bookings: "count" })).toEqual({
    paid: false,
    times: 0,
    amountMinor: 19.99,
  });
  const amounts = ["19.99", "19,99", "1.234,50", "1,234.50", "1999", "0.00", "about 20"].map((amount) =>
    parseView(JSON.stringify({ paid: true, sum: amount }), { paidWhen: undefined, amount: "sum" }),
  );
  expect(amounts.map((one) => one?.amountMinor)).toEqual([1999, 1999, 123_450, 123_450, 1999, 0, Number.NaN]);
  const euros = parseView('{"paid":true,"sum":19.9}', { paidWhen: undefined, amount: "sum" });
  expect(euros?.amountMinor).toBe(1990);
  expect(parseView("no JSON", { paidWhen: undefined })).toBeUndefined();
});

test("an amount in an order view is read with the decimals of the order's currency", () => {
  const amountIn = (currency: string, sum: string | number) =>
    parseView(JSON.stringify({ paid: true, sum }), { paidWhen: undefined, amount: "sum", currency })
      ?.amountMinor;
  expect(["500.00", "500", 500, "1999.00", "12,800", "1 234 567"].map((sum) => amountIn("JPY", sum))).toEqual(
    [500, 500, 500, 1999, 12_800, 1_234_567],
  );
  expect(["19.99", "1.999", "1,234.500", 19.99].map((sum) => amountIn("KWD", sum))).toEqual([
    19_990, 1999, 1_234_500, 19_990,
  ]);
  expect(["19.99", "1.999", "12,80,0"].map((sum) => amountIn("EUR", sum))).toEqual([1999, 1999, Number.NaN]);
});

test("writing the shop section keeps the rest of the configuration file, and patterns and settle times are checked", () => {
  const before = '{\n  // a comment\n  "sandbox": { "port": 4242 }\n}\n';
  const after = withShopSection(before, { create: "node buy.js", paidWhen: "paid", returnUrl: "" });
  expect(after).toContain("// a comment");
  expect(after).toContain('"paid_when": "paid"');
  expect(after).not.toContain("return_url");
  expect([isPattern("("), isPattern("a+")]).toEqual([false, true]);
  expect(["3s", "60s", "61s", "soon"].map(isDelay)).toEqual([true, true, false, false]);
});

test("a long order view is shortened to the passages that the judge reads", () => {
  const page = `<html><head>${"<meta>".repeat(50)}</head><body><p>Order 7 is <b>paid</b></p>${"<i></i>".repeat(99)}2 parcels</body>`;
  const paidWhen = /<b>paid/;
  expect(viewExcerpt(page, { paidWhen })).toMatch(/^[^…]*Order 7 is <b>paid<\/b>[^…]*$/);
  const both = viewExcerpt(page, { paidWhen, bookings: String.raw`(\d) parcels` });
  expect(both).toMatch(/Order 7 is <b>paid.* … .*2 parcels/);
  expect(viewExcerpt(page, { paidWhen: /refunded/ })).toMatch(/^Order 7 is paid 2 parcels$/);
});
