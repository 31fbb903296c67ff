import { expect, test } from "vitest";
import { english } from "../../src/core/language.ts";
import {
  judgeReturn,
  RETURN_CAUSES,
  RETURN_WAYS,
  type ReturnCause,
  type ReturnFacts,
} from "../../src/core/readiness/drills/browser-return.ts";
import type { OrderReading } from "../../src/core/readiness/drills/order-view.ts";

const OPEN: OrderReading = { says: "not_paid", got: "open" };
const PAID: OrderReading = { says: "paid", got: "paid 1" };
const UNREADABLE: OrderReading = { says: "unknown", got: "500" };
const LIMITED: OrderReading = { says: "unknown", got: "429" };
const ARRIVED = { arrived: true, got: "200" } as const;
const LOST = { arrived: false, got: "timeout" } as const;

/** A shop that waits for the webhook. */
const RIGHT: ReturnFacts = {
  checkoutId: "a-checkout",
  isOwn: true,
  before: OPEN,
  isUnknown: false,
  unpaid: { visit: ARRIVED, view: OPEN },
  otherwise: { way: "by POST", view: OPEN },
  early: { visit: ARRIVED, view: OPEN, asked: false },
  confirmed: PAID,
  again: { view: PAID, isTwice: false },
};
/** A drill that has not gone on. */
const NOTHING = { unpaid: null, otherwise: null, early: null, confirmed: null, again: null } as const;

type Row = readonly [
  what: string,
  facts: Partial<ReturnFacts>,
  verdict: "passed" | "failed" | "unknown",
  causes: Partial<Record<string, ReturnCause>>,
];

const ROWS: readonly Row[] = [
  ["waits for the webhook", {}, "passed", {}],
  ["asks the API at the return", { early: { visit: ARRIVED, view: PAID, asked: true } }, "passed", {}],
  ["has asked, and is not paid yet", { early: { visit: ARRIVED, view: OPEN, asked: true } }, "passed", {}],
  ["no order of its own", { ...NOTHING, isUnknown: true }, "unknown", { before_the_return: "order_unknown" }],
  [
    "an order of the shop that its view does not show",
    { ...NOTHING, isUnknown: true, isOwn: false },
    "unknown",
    { before_the_return: "own_order_unknown" },
  ],
  [
    "a view that always says paid, which proves nothing",
    {
      before: PAID,
      unpaid: { visit: ARRIVED, view: PAID },
      otherwise: null,
      early: { visit: ARRIVED, view: PAID, asked: false },
    },
    "unknown",
    {
      before_the_return: "paid_from_the_start",
      return_without_payment: "paid_from_the_start",
      return_before_webhook: "paid_from_the_start",
    },
  ],
  ["an unreadable view", { before: UNREADABLE }, "unknown", { before_the_return: "view_unreadable" }],
  ["a view with a limit", { before: LIMITED }, "unknown", { before_the_return: "view_limited" }],
  [
    "believes the return",
    {
      unpaid: { visit: ARRIVED, view: PAID },
      otherwise: null,
      early: { visit: ARRIVED, view: PAID, asked: true },
    },
    "failed",
    { return_without_payment: "believes_return", return_before_webhook: "believes_return" },
  ],
  [
    "believes the return, and cannot be read after the payment",
    {
      unpaid: { visit: ARRIVED, view: PAID },
      otherwise: null,
      early: { visit: ARRIVED, view: LIMITED, asked: false },
    },
    "failed",
    { return_without_payment: "believes_return", return_before_webhook: "view_limited" },
  ],
  [
    "a page that does not open, whatever its order says",
    { unpaid: { visit: LOST, view: PAID } },
    "unknown",
    { return_without_payment: "page_unreachable" },
  ],
  [
    "a page that does not open after the payment",
    { early: { visit: LOST, view: PAID, asked: false } },
    "unknown",
    { return_before_webhook: "page_unreachable" },
  ],
  ...(
    [
      [RETURN_WAYS.pending, "believes_pending"],
      [RETURN_WAYS.cancelled, "believes_final"],
      [RETURN_WAYS.otherSession, "mixes_orders"],
      ["by POST", "believes_other_return"],
    ] as const
  ).flatMap(([way, cause]): Row[] => [
    [
      `believes a return: ${way}`,
      { otherwise: { way, view: PAID }, early: { visit: ARRIVED, view: PAID, asked: true } },
      "failed",
      { return_otherwise: cause, return_before_webhook: cause },
    ],
    [
      `believes a return: ${way}, and shows the order unpaid after the payment`,
      { otherwise: { way, view: PAID } },
      "failed",
      { return_otherwise: cause },
    ],
  ]),
  [
    "a view that cannot be read after the other returns",
    { otherwise: { way: "by POST", view: UNREADABLE } },
    "unknown",
    { return_otherwise: "view_unreadable" },
  ],
  [
    "paid before the webhook, and nobody has asked",
    { early: { visit: ARRIVED, view: PAID, asked: false } },
    "failed",
    { return_before_webhook: "paid_without_asking" },
  ],
  ["never paid", { confirmed: OPEN, again: null }, "unknown", { after_the_webhook: "never_paid" }],
  [
    "unreadable in the end",
    { confirmed: UNREADABLE, again: null },
    "unknown",
    { after_the_webhook: "view_unreadable" },
  ],
  ["books twice", { again: { view: PAID, isTwice: true } }, "failed", { return_again: "books_twice" }],
  [
    "forgets the payment",
    { again: { view: OPEN, isTwice: false } },
    "failed",
    { return_again: "forgets_on_return" },
  ],
  [
    "cannot be read after the last return",
    { again: { view: LIMITED, isTwice: false } },
    "unknown",
    { return_again: "view_limited" },
  ],
  [
    "books twice, in a view that said paid from the start",
    { before: PAID, again: { view: PAID, isTwice: true } },
    "unknown",
    { before_the_return: "paid_from_the_start", return_again: "books_twice" },
  ],
];

test("each step of a return is judged by what was seen, with its cause, and the verdict by all", () => {
  for (const [what, facts, verdict, causes] of ROWS) {
    const judged = judgeReturn({ ...RIGHT, ...facts });
    const failed = judged.steps.filter(({ passed }) => !passed);
    expect([
      what,
      judged.verdict,
      Object.fromEntries(failed.map(({ name, cause }) => [name, cause])),
    ]).toEqual([
      what,
      verdict,
      Object.fromEntries(
        Object.entries(causes).map(([name, cause]) => [name, cause && english(RETURN_CAUSES[cause])]),
      ),
    ]);
    expect(new Set(judged.steps.map(({ reference }) => reference))).toEqual(new Set(["a-checkout"]));
  }
});

test("each step says what was seen, and a step that was not reached is left out", () => {
  const gotOf = (facts: Partial<ReturnFacts>) =>
    judgeReturn({ ...RIGHT, ...facts }).steps.map(({ name, got }) => [name, got]);
  expect(gotOf(NOTHING)).toEqual([["before_the_return", "not paid: open"]]);
  expect(
    gotOf({ early: { visit: ARRIVED, view: PAID, asked: true }, again: { view: PAID, isTwice: true } }),
  ).toEqual([
    ["before_the_return", "not paid: open"],
    ["return_without_payment", "not paid: open; page: 200"],
    ["return_otherwise", "not paid: open; returned by POST"],
    ["return_before_webhook", "paid: paid 1 (it has asked the API); page: 200"],
    ["after_the_webhook", "paid: paid 1"],
    ["return_again", "paid: paid 1; the view shows it twice"],
  ]);
  expect(gotOf({}).slice(3)).toEqual([
    ["return_before_webhook", "not paid: open; page: 200"],
    ["after_the_webhook", "paid: paid 1"],
    ["return_again", "paid: paid 1"],
  ]);
  for (const [view, asked, got] of [
    [PAID, false, "paid: paid 1; page: 200"],
    [OPEN, true, "not paid: open; page: 200"],
  ] as const)
    expect(gotOf({ early: { visit: ARRIVED, view, asked } })[3]).toEqual(["return_before_webhook", got]);
});
