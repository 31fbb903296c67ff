import { expect, test } from "vitest";
import type { CheckoutObject } from "../../src/core/checkout/checkout.ts";
import { english } from "../../src/core/language.ts";
import {
  DUPLICATES_CAUSES,
  type DuplicatesCause,
} from "../../src/core/readiness/drills/duplicates-causes.ts";
import {
  duplicatesRisks,
  ORDER_OUTCOMES,
  scopeSteps,
  type DuplicatesScope,
  type OrderOutcome,
} from "../../src/core/readiness/drills/duplicates-scope.ts";
import {
  DUPLICATES_STEPS,
  judgeDuplicates,
  SEND_NAMES,
  type DuplicatesFacts,
  type OrderSends,
  type SendFact,
  type SendName,
  type ViewFact,
} from "../../src/core/readiness/drills/duplicates.ts";
import { stepTitle } from "../../src/core/readiness/drills/drill.ts";
import type { OrderReading } from "../../src/core/readiness/drills/order-view.ts";

const OPEN: OrderReading = { says: "not_paid", got: "open" };
const PAID: OrderReading = { says: "paid", got: "paid 1" };
const UNREADABLE: OrderReading = { says: "unknown", got: "500" };
const LIMITED: OrderReading = { says: "unknown", got: "429" };
const TAKEN = [{ status: 200, error: null }] as const;
const FAILED = [{ status: 500, error: null }] as const;
const DOWN = [{ status: null, error: "unreachable" }] as const;
const FORBIDDEN = [{ status: null, error: "target_forbidden" }] as const;
const SILENT = [{ status: null, error: "timeout" }] as const;

function of(end: OrderOutcome, kind: CheckoutObject = "order") {
  return { checkoutId: `${kind} ${end}`, kind, end };
}

function seen(end: OrderOutcome, view: OrderReading = OPEN): ViewFact {
  return { ...of(end), view };
}

/** A send to a shop that keeps the ids of events: its first payment books, and nothing that comes after it. */
function send(name: SendName, changes: Partial<SendFact> = {}): SendFact {
  const isFirst = name === "payment_first" || name === "at_once";
  const [, status = "payment"] = /^(created|pending)/.exec(name) ?? [];
  const text = isFirst ? "not_compared" : "same";
  return {
    name,
    eventId: `event of ${status}`,
    answers: TAKEN,
    wasPaid: !isFirst,
    view: PAID,
    text,
    ...changes,
  };
}

const PAID_SENDS = SEND_NAMES.filter((name) => name !== "at_once" && name !== "after_a_while");

/** The sends of an order, of which some differ. */
function lane(
  end: "paid" | "declined",
  changes: Partial<Record<SendName, Partial<SendFact>>> = {},
  kind?: CheckoutObject,
): OrderSends {
  const names: readonly SendName[] = end === "paid" ? PAID_SENDS : ["at_once", "after_a_while"];
  return { ...of(end, kind), sends: names.map((name) => send(name, changes[name])) };
}

/** The same difference in all sends of an order, or in all from one on. */
function all(changes: Partial<SendFact>, from?: SendName): Partial<Record<SendName, Partial<SendFact>>> {
  const names = from === undefined ? SEND_NAMES : SEND_NAMES.slice(SEND_NAMES.indexOf(from));
  return Object.fromEntries(names.map((name) => [name, changes]));
}

const UNPAID = [seen("failed"), seen("expired"), seen("cancelled")];
const SCOPE: DuplicatesScope = {
  orders: ORDER_OUTCOMES.flatMap((end) => [
    { kind: "order", end },
    { kind: "checkout_session", end },
  ]),
  ownOrders: true,
  sellsBoth: true,
  isQuick: false,
  showsBookings: true,
  limited: 0,
};
const RIGHT: DuplicatesFacts = {
  before: ORDER_OUTCOMES.map((end) => ({ ...seen(end), cause: null })),
  forged: UNPAID,
  declined: [seen("declined")],
  held: [
    { ...seen("paid"), askedBy: "nobody" },
    { ...seen("declined"), askedBy: "nobody" },
  ],
  lanes: [lane("paid"), lane("declined")],
  unpaid: UNPAID,
  ended: UNPAID,
  scope: SCOPE,
  isWhole: true,
};

type Row = readonly [
  what: string,
  facts: Partial<DuplicatesFacts>,
  verdict: "passed" | "failed" | "unknown",
  causes: Partial<Record<string, DuplicatesCause>>,
];

/** The same cause in each of these steps. */
function each(cause: DuplicatesCause, names: readonly string[]): Partial<Record<string, DuplicatesCause>> {
  return Object.fromEntries(names.map((name) => [name, cause]));
}

/** A view of the orders that nobody pays, in which one says something else. */
function but(end: OrderOutcome, view: OrderReading): readonly ViewFact[] {
  return UNPAID.map((one) => (one.end === end ? seen(end, view) : one));
}

const REPEATED = [
  "payment_again",
  "payment_after_late",
  "created_again",
  "payment_last",
  "after_others",
  "after_restart",
];

const VIEWS: readonly Row[] = [
  [
    "paid from the start",
    {
      before: [
        { ...seen("paid"), cause: null },
        { ...seen("failed", PAID), cause: null },
      ],
    },
    "unknown",
    { before_the_payment: "paid_from_the_start" },
  ],
  [
    "an order that the view does not show",
    {
      before: [
        { ...seen("paid"), cause: null },
        { ...seen("failed"), cause: "order_unknown" },
      ],
    },
    "unknown",
    { before_the_payment: "order_unknown" },
  ],
  [
    "the first of two that cannot be read is told",
    {
      before: [
        { ...seen("paid", LIMITED), cause: null },
        { ...seen("failed", UNREADABLE), cause: null },
      ],
    },
    "unknown",
    { before_the_payment: "view_limited" },
  ],
  [
    "a forged payment, where one of several orders said paid from the start",
    {
      before: [
        { ...seen("paid"), cause: null },
        { ...seen("failed", PAID), cause: null },
      ],
      forged: but("expired", PAID),
    },
    "unknown",
    { before_the_payment: "paid_from_the_start", forged_payment: "books_unverified" },
  ],
  [
    "books an order that expired, where another was paid before",
    { unpaid: but("failed", PAID), ended: [seen("failed", PAID), seen("expired", PAID), seen("cancelled")] },
    "unknown",
    { forged_in_the_end: "paid_in_the_end", order_expired: "books_expired" },
  ],
  [
    "books again, in a view that said paid from the start",
    {
      before: [{ ...seen("paid", PAID), cause: null }],
      lanes: [lane("paid", { after_others: { text: "changed" } }), lane("declined")],
    },
    "unknown",
    { before_the_payment: "paid_from_the_start", after_others: "forgets_last_events" },
  ],
  [
    "books again, in a view that says paid of an order that nobody has paid",
    {
      lanes: [lane("paid", { after_others: { text: "changed" } }), lane("declined")],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "unknown",
    { forged_in_the_end: "paid_in_the_end", after_others: "forgets_last_events" },
  ],
  [
    "unreadable",
    { before: [{ ...seen("paid", UNREADABLE), cause: null }] },
    "unknown",
    { before_the_payment: "view_unreadable" },
  ],
  [
    "limited",
    { before: [{ ...seen("paid", LIMITED), cause: null }] },
    "unknown",
    { before_the_payment: "view_limited" },
  ],
  [
    "books a forged payment",
    { forged: but("failed", PAID), lanes: [], isWhole: false },
    "failed",
    { forged_payment: "books_unverified" },
  ],
  [
    "a forged payment, in a view that said paid from the start",
    { before: [{ ...seen("paid", PAID), cause: null }], forged: but("failed", PAID) },
    "unknown",
    { before_the_payment: "paid_from_the_start", forged_payment: "books_unverified" },
  ],
  [
    "a forged payment, of an order that the view did not show",
    { before: [{ ...seen("paid"), cause: "order_unknown" }], forged: but("failed", PAID) },
    "unknown",
    { before_the_payment: "order_unknown", forged_payment: "books_unverified" },
  ],
  [
    "books a declined attempt",
    { declined: [seen("declined", PAID)] },
    "failed",
    { declined_attempt: "books_pending" },
  ],
  [
    "a view of the service",
    { held: [{ ...seen("paid", PAID), askedBy: "view" }] },
    "unknown",
    { before_its_events: "view_of_service" },
  ],
  [
    "paid before its events, and nobody asked",
    { held: [{ ...seen("paid", PAID), askedBy: "nobody" }] },
    "unknown",
    { before_its_events: "view_of_service" },
  ],
  ["a shop that asks the API", { held: [{ ...seen("paid", PAID), askedBy: "shop" }] }, "passed", {}],
  ["a shop that has asked, and waits", { held: [{ ...seen("paid"), askedBy: "shop" }] }, "passed", {}],
  [
    "unreadable while held",
    { held: [{ ...seen("paid", UNREADABLE), askedBy: "nobody" }] },
    "unknown",
    { before_its_events: "view_unreadable" },
  ],
  [
    "paid in the end",
    { unpaid: but("expired", PAID), ended: but("expired", PAID) },
    "unknown",
    { forged_in_the_end: "paid_in_the_end" },
  ],
  ...(
    [
      ["failed", "payment_failed", "books_failed"],
      ["expired", "order_expired", "books_expired"],
      ["cancelled", "order_cancelled", "books_cancelled"],
    ] as const
  ).flatMap(([end, step, cause]): Row[] => [
    [`books an order that ${end}`, { ended: but(end, PAID) }, "failed", { [step]: cause }],
    [`unreadable after it ${end}`, { ended: but(end, LIMITED) }, "unknown", { [step]: "view_limited" }],
  ]),
  ["was not finished", { isWhole: false }, "unknown", {}],
];

const SENDS: readonly Row[] = [
  [
    "books each payment",
    { lanes: [lane("paid", all({ text: "changed" }, "payment_again")), lane("declined")] },
    "failed",
    each("books_again", REPEATED),
  ],
  ...(
    [
      ["after_others", "forgets_last_events"],
      ["after_restart", "forgets_at_restart"],
    ] as const
  ).map(([name, cause]): Row => [
    `books again ${name}`,
    { lanes: [lane("paid", { [name]: { text: "changed" } }), lane("declined")] },
    "failed",
    { [name]: cause },
  ]),
  [
    "books again after a while",
    { lanes: [lane("paid"), lane("declined", { after_a_while: { text: "changed" } })] },
    "failed",
    { after_a_while: "forgets_in_time" },
  ],
  [
    "books again from eleven other events on, and after a while",
    {
      lanes: [
        lane("paid", all({ text: "changed" }, "after_others")),
        lane("declined", { after_a_while: { text: "changed" } }),
      ],
    },
    "failed",
    {
      ...each("forgets_last_events", ["after_others", "after_restart"]),
      after_a_while: "forgets_last_events",
    },
  ],
  [
    "changes by an event that is new, and books again after eleven others",
    {
      lanes: [
        lane("paid", { pending_late: { text: "changed" }, after_others: { text: "changed" } }),
        lane("declined"),
      ],
    },
    "failed",
    { after_others: "forgets_last_events" },
  ],
  [
    "changes by an event that is new",
    { lanes: [lane("paid", { pending_late: { text: "changed" } }), lane("declined")] },
    "passed",
    {},
  ],
  [
    "books at once",
    { lanes: [lane("paid"), lane("declined", { at_once: { text: "twice" } })] },
    "failed",
    { at_once: "books_at_once" },
  ],
  [
    "books what it kept too",
    { lanes: [lane("paid", { created_late: { text: "kept" } }), lane("declined")] },
    "failed",
    { created_late: "books_kept" },
  ],
  [
    "undoes a booking",
    { lanes: [lane("paid", { created_late: { text: "undone" } }), lane("declined")] },
    "failed",
    { created_late: "undoes_booking" },
  ],
  [
    "cannot be told",
    {
      lanes: [
        lane("paid", { payment_again: { text: "untold" }, pending_late: { text: "untold" } }),
        lane("declined"),
      ],
    },
    "unknown",
    { payment_again: "view_restless" },
  ],
  [
    "refuses what it knows, and what comes late",
    {
      lanes: [
        lane("paid", { payment_again: { answers: FAILED }, created_late: { answers: FAILED } }),
        lane("declined"),
      ],
    },
    "failed",
    { payment_again: "refuses_duplicate", created_late: "refuses_late" },
  ],
  [
    "refuses what it knows, the creation of its own order too",
    {
      lanes: [
        lane("paid", { payment_again: { answers: FAILED }, created_late: { answers: FAILED } }),
        lane("declined"),
      ],
      scope: { ...SCOPE, ownOrders: false },
    },
    "failed",
    { payment_again: "refuses_duplicate", created_late: "refuses_duplicate" },
  ],
  [
    "refuses what comes late alone",
    { lanes: [lane("paid", { pending_late: { answers: FAILED } }), lane("declined")] },
    "failed",
    { pending_late: "refuses_late" },
  ],
  [
    "does not answer what it knows",
    { lanes: [lane("paid", { payment_again: { answers: [...TAKEN, ...SILENT] } }), lane("declined")] },
    "failed",
    { payment_again: "refuses_duplicate" },
  ],
  ...([199, 200, 299, 300] as const).map((status): Row => {
    const isTaken = status === 200 || status === 299;
    return [
      `answers ${status} to what it knows`,
      { lanes: [lane("paid", { payment_again: { answers: [{ status, error: null }] } }), lane("declined")] },
      isTaken ? "passed" : "failed",
      isTaken ? {} : { payment_again: "refuses_duplicate" },
    ];
  }),
  [
    "forgets the payment by a late event",
    { lanes: [lane("paid", { created_late: { view: OPEN } }), lane("declined")] },
    "failed",
    { created_late: "forgets_payment" },
  ],
  [
    "forgets the payment by a late event, and was not told as paid before the next",
    {
      lanes: [
        lane("paid", { created_late: { view: OPEN }, pending_late: { view: OPEN, wasPaid: false } }),
        lane("declined"),
      ],
    },
    "failed",
    each("forgets_payment", ["created_late", "pending_late"]),
  ],
  [
    "forgets the payment at a restart",
    { lanes: [lane("paid", { after_restart: { view: OPEN } }), lane("declined")] },
    "failed",
    { after_restart: "forgets_at_restart" },
  ],
  [
    "unreadable once",
    { lanes: [lane("paid", { created_late: { view: UNREADABLE } }), lane("declined")] },
    "unknown",
    { created_late: "view_unreadable" },
  ],
  [
    "goes down",
    { lanes: [lane("paid", all({ answers: DOWN, view: OPEN }, "payment_last")), lane("declined")] },
    "unknown",
    each("out_of_reach", ["payment_last", "after_others", "after_restart"]),
  ],
  [
    "may not be reached",
    { lanes: [lane("paid", { payment_last: { answers: FORBIDDEN } }), lane("declined")] },
    "unknown",
    { payment_last: "out_of_reach" },
  ],
  [
    "gets no payments",
    { lanes: [lane("paid", all({ answers: [], view: OPEN, wasPaid: false, text: "not_compared" }))] },
    "unknown",
    each(
      "no_endpoint",
      PAID_SENDS.filter((name) => !/^(?:created|pending)/.test(name)),
    ),
  ],
];

const NEVER = { view: OPEN, wasPaid: false, text: "not_compared" } as const;

const LOST: readonly Row[] = [
  [
    "books nothing: it is told at the last send of each order",
    { lanes: [lane("paid", all(NEVER)), lane("declined", all(NEVER))] },
    "unknown",
    each("never_paid", ["after_restart", "after_a_while"]),
  ],
  [
    "keeps a payment until the creation has come",
    {
      lanes: [
        lane("paid", {
          payment_first: NEVER,
          payment_again: NEVER,
          created_late: { wasPaid: false, text: "not_compared" },
        }),
        lane("declined"),
      ],
    },
    "passed",
    {},
  ],
  [
    "takes a payment that comes first, does nothing, and books when it comes again",
    {
      lanes: [
        lane("paid", { payment_first: NEVER, payment_again: { wasPaid: false, text: "not_compared" } }),
        lane("declined"),
      ],
    },
    "failed",
    { payment_first: "lost_early_payment" },
  ],
  [
    "refuses a payment that comes first, and books when it comes again",
    {
      lanes: [
        lane("paid", {
          payment_first: { ...NEVER, answers: FAILED },
          payment_again: { wasPaid: false, text: "not_compared" },
        }),
        lane("declined"),
      ],
    },
    "passed",
    {},
  ],
  [
    "takes a payment that comes twice at once, does nothing, and books when it comes again",
    {
      lanes: [
        lane("paid"),
        lane("declined", { at_once: NEVER, after_a_while: { wasPaid: false, text: "not_compared" } }),
      ],
    },
    "failed",
    { at_once: "lost_at_once" },
  ],
  [
    "takes the second payment, and does nothing with it",
    { lanes: [lane("paid"), lane("declined", all(NEVER))] },
    "failed",
    each("lost_second_payment", ["at_once", "after_a_while"]),
  ],
  [
    "takes the second payment, and does nothing with it, where the first was kept for a while",
    {
      lanes: [
        lane("paid", {
          payment_first: NEVER,
          payment_again: NEVER,
          created_late: { wasPaid: false, text: "not_compared" },
        }),
        lane("declined", all(NEVER)),
      ],
    },
    "failed",
    each("lost_second_payment", ["at_once", "after_a_while"]),
  ],
  [
    "does not want the second payment",
    { lanes: [lane("paid"), lane("declined", all({ ...NEVER, answers: [] }))] },
    "unknown",
    each("no_endpoint", ["at_once", "after_a_while"]),
  ],
  [
    "refuses payments until the others have come, which it takes",
    {
      lanes: [
        lane("paid", {
          payment_first: { ...NEVER, answers: FAILED },
          payment_again: { ...NEVER, answers: FAILED },
          created_late: NEVER,
          pending_late: NEVER,
          payment_after_late: { wasPaid: false, text: "not_compared" },
        }),
        lane("declined"),
      ],
    },
    "passed",
    {},
  ],
  [
    "refuses all payments of an order, takes its other events, and books another",
    {
      lanes: [
        lane("paid", {
          ...all({ ...NEVER, answers: FAILED }),
          created_late: NEVER,
          pending_late: NEVER,
          created_again: NEVER,
        }),
        lane("declined"),
      ],
    },
    "unknown",
    { after_restart: "never_paid" },
  ],
  [
    "books nothing of an order, and another late",
    {
      lanes: [
        lane("paid", all(NEVER)),
        lane("declined", { at_once: NEVER, after_a_while: { wasPaid: false, text: "not_compared" } }),
      ],
    },
    "failed",
    { after_restart: "lost_early_payment", at_once: "lost_at_once" },
  ],
  [
    "refuses the second payment",
    { lanes: [lane("paid"), lane("declined", all({ ...NEVER, answers: FAILED }))] },
    "unknown",
    { after_a_while: "never_paid" },
  ],
  [
    "books nothing of the payments of an order that others do not have",
    { lanes: [lane("paid", all(NEVER)), lane("declined")] },
    "failed",
    { after_restart: "lost_early_payment" },
  ],
  [
    "books sessions, and no orders",
    { lanes: [lane("paid", all(NEVER)), lane("declined", all(NEVER)), lane("paid", {}, "checkout_session")] },
    "unknown",
    each("never_paid", ["after_restart", "after_a_while"]),
  ],
  [
    "books another order in the place of the paid one",
    {
      lanes: [lane("paid", all(NEVER)), lane("declined")],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "failed",
    { after_restart: "books_other_order", forged_in_the_end: "books_other_order" },
  ],
  [
    "books another order in the place of all that are paid",
    {
      lanes: [lane("paid", all(NEVER)), lane("declined", all(NEVER))],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "failed",
    each("books_other_order", ["after_restart", "after_a_while", "forged_in_the_end"]),
  ],
  [
    "books another order in the place of the second that is paid",
    {
      lanes: [lane("paid"), lane("declined", all(NEVER))],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "failed",
    each("books_other_order", ["at_once", "after_a_while", "forged_in_the_end"]),
  ],
  [
    "books another order in the place of one that is paid twice at once, and books it later",
    {
      lanes: [
        lane("paid"),
        lane("declined", { at_once: NEVER, after_a_while: { wasPaid: false, text: "not_compared" } }),
      ],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "failed",
    each("books_other_order", ["at_once", "forged_in_the_end"]),
  ],
  [
    "books another order in the place of one that is paid, and again what it has forgotten",
    {
      lanes: [lane("paid", all(NEVER)), lane("declined", { after_a_while: { text: "changed" } })],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "failed",
    {
      ...each("books_other_order", ["after_restart", "forged_in_the_end"]),
      after_a_while: "forgets_in_time",
    },
  ],
  [
    "an order that refuses its payment, and another that is paid",
    {
      lanes: [lane("paid", all({ ...NEVER, answers: FAILED })), lane("declined")],
      unpaid: but("failed", PAID),
      ended: but("failed", PAID),
    },
    "unknown",
    { after_restart: "never_paid", forged_in_the_end: "paid_in_the_end" },
  ],
];

test("each step is judged by its order and by the others, with its cause, and the verdict by all", () => {
  expect(judgeDuplicates(RIGHT)).toMatchObject({ verdict: "passed" });
  for (const [what, facts, verdict, causes] of [...VIEWS, ...SENDS, ...LOST]) {
    const judged = judgeDuplicates({ ...RIGHT, ...facts });
    const failed = judged.steps.filter(({ passed }) => !passed);
    expect([
      what,
      judged.verdict,
      Object.fromEntries(failed.map(({ name, cause }) => [name, cause])),
    ]).toEqual([
      what,
      verdict,
      Object.fromEntries(
        Object.entries(causes).map(([name, cause]) => [name, cause && english(DUPLICATES_CAUSES[cause])]),
      ),
    ]);
  }
});

test("each step says what was expected, seen and sent, first the order that fails", () => {
  const shown = (facts: Partial<DuplicatesFacts>) =>
    Object.fromEntries(
      judgeDuplicates({ ...RIGHT, ...facts }).steps.map(({ name, expected, got, reference }) => [
        name,
        [expected, got, reference],
      ]),
    );
  const right = shown({});
  expect(Object.keys(right)).toEqual([
    ..."before_the_payment forged_payment declined_attempt before_its_events".split(" "),
    ...PAID_SENDS,
    ..."at_once after_a_while forged_in_the_end payment_failed order_expired order_cancelled".split(" "),
  ]);
  expect(right).toMatchObject({
    before_the_payment: ["not paid", "not paid: open (1 of 5 orders)", "order paid"],
    declined_attempt: ["not paid", "not paid: open", "order declined"],
    before_its_events: [
      "not paid, unless your shop has asked the API",
      "not paid: open (1 of 2 orders)",
      "order paid",
    ],
    payment_first: ["paid, now or after the other events", "answered 200; paid: paid 1", "event of payment"],
    created_late: ["2xx, still paid", "answered 200; paid: paid 1", "event of created"],
    payment_again: ["2xx, paid, and the view unchanged", "answered 200; paid: paid 1", "event of payment"],
    at_once: ["paid, once", "answered 200; paid: paid 1", "event of payment"],
    order_expired: ["not paid", "not paid: open", "order expired"],
  });
  expect(shown({ forged: but("expired", PAID) })["forged_payment"]).toEqual([
    "not paid",
    "paid: paid 1 (1 of 3 orders)",
    "order expired",
  ]);
  expect(shown({ held: [{ ...seen("paid", PAID), askedBy: "shop" }] })["before_its_events"]?.[1]).toBe(
    "paid: paid 1 (it has asked the API)",
  );
  const gots = (changes: Partial<SendFact>) =>
    shown({ lanes: [lane("paid", { created_late: changes }), lane("declined")] })["created_late"]?.slice(
      0,
      2,
    );
  expect(gots({ text: "changed", answers: [...TAKEN, ...TAKEN, ...FAILED] })).toEqual([
    "2xx, still paid",
    "answered 200 and 500; paid: paid 1; the view changed",
  ]);
  expect(gots({ text: "twice" })?.[1]).toBe("answered 200; paid: paid 1; the view shows it twice");
  expect(gots({ text: "kept" })?.[1]).toBe("answered 200; paid: paid 1; the view shows it twice");
  expect(gots({ text: "undone" })?.[1]).toBe(
    "answered 200; paid: paid 1; the view no longer shows a booking",
  );
  expect(gots({ answers: SILENT })?.[1]).toBe("answered no answer (timeout); paid: paid 1");
  expect(gots({ answers: [], wasPaid: false, view: OPEN })).toEqual([
    "2xx",
    "no endpoint subscribes to it; not paid: open",
  ]);
  const refused = lane("paid", {
    payment_first: { ...NEVER, answers: FAILED },
    payment_again: { wasPaid: false },
  });
  expect(shown({ lanes: [refused] })["payment_again"]?.[0]).toBe("paid, now or after the other events");
  const sessions = judgeDuplicates({ ...RIGHT, lanes: [lane("paid", {}, "checkout_session")] });
  expect(sessions.steps.map(({ name }) => name)).toContain("payment_first_session");
  expect(stepTitle(DUPLICATES_STEPS, "payment_first_session")).toEqual([
    "the payment, before all other events (session)",
    "支付事件先于其他所有事件（会话）",
  ]);
});

test("a drill that passed says what it left open, and what of that is a risk", () => {
  const only = (...ends: readonly OrderOutcome[]) => ends.map((end) => ({ kind: "order", end }) as const);
  const rows: readonly (readonly [
    Partial<DuplicatesScope>,
    steps: Readonly<Record<string, string>>,
    risks: number,
  ])[] = [
    [{}, {}, 0],
    [{ orders: only(...ORDER_OUTCOMES) }, { only_one_kind: "only orders were drilled" }, 1],
    [{ orders: only(...ORDER_OUTCOMES), sellsBoth: false }, { one_kind: "only orders were drilled" }, 0],
    [
      { orders: ORDER_OUTCOMES.map((end) => ({ kind: "checkout_session", end })), sellsBoth: false },
      { one_kind: "only sessions were drilled" },
      0,
    ],
    [
      { orders: only("paid", "failed"), sellsBoth: false },
      { not_drilled: "some of one kind", one_kind: "only orders were drilled" },
      1,
    ],
    [
      { orders: [...only("paid", "failed"), { kind: "checkout_session", end: "paid" }] },
      { not_drilled: "some of both kinds" },
      1,
    ],
    [
      { orders: [...only(...ORDER_OUTCOMES), { kind: "checkout_session", end: "paid" }] },
      { not_drilled: "some of one kind" },
      1,
    ],
    [{ orders: [] }, {}, 0],
    [{ showsBookings: false }, { status_alone: "no number" }, 1],
    [{ isQuick: true }, { quick: "skipped" }, 1],
    [{ limited: 1 }, { rate_limited: "answered 429 once" }, 0],
    [{ limited: 2 }, { rate_limited: "answered 429 2 times" }, 0],
  ];
  for (const [scope, steps, risks] of rows) {
    const said = scopeSteps({ ...SCOPE, ...scope });
    expect([scope, Object.fromEntries(said.map(({ name, got }) => [name, got]))]).toEqual([scope, steps]);
    expect(said.every(({ passed, cause }) => passed && cause !== null && cause !== "")).toBe(true);
    expect([scope, duplicatesRisks(said).length]).toEqual([scope, risks]);
    expect(
      judgeDuplicates({ ...RIGHT, scope: { ...SCOPE, ...scope } }).steps.slice(-said.length || Infinity),
    ).toEqual(said);
  }
  const causeOf = (scope: Partial<DuplicatesScope>) => scopeSteps({ ...SCOPE, ...scope })[0]?.cause;
  expect(causeOf({ orders: [...only("paid"), { kind: "checkout_session", end: "paid" }] })).toMatch(
    /^the drill of duplicates skipped some outcomes of orders: a payment that fails, .* cancelled.*; .*sessions: a payment that fails/,
  );
  const orders = only(...ORDER_OUTCOMES);
  expect(causeOf({ orders })).not.toBe(causeOf({ orders, sellsBoth: false }));
  expect(causeOf({ orders })).toContain("log");
});
