import type { JudgedDrill } from "./drill.ts";
import { sayOf, type OrderView } from "./order-view.ts";

/** A visit to the page that customers come back to. */
export type Visit = { readonly arrived: boolean; readonly got: string };

/** What was seen of one order, step by step. */
export type ReturnFacts = {
  /** The checkout of that order. */
  readonly checkoutId: string;
  /** Whether the drill made the checkout, and not the shop. */
  readonly isOwn: boolean;
  /** Before anybody came back. `isUnknown`: the view answered 404, and nothing more was done. */
  readonly before: OrderView;
  readonly isUnknown: boolean;
  /** After the customer came back without paying. */
  readonly unpaid: { readonly visit: Visit; readonly view: OrderView } | null;
  /** After the customer came back in other ways, still without paying; the way that was believed, if one was. */
  readonly otherwise: { readonly way: string; readonly view: OrderView } | null;
  /** After the customer paid and came back, before the webhook. */
  readonly early: {
    readonly visit: Visit;
    readonly view: OrderView;
    /** Whether the merchant has asked the API meanwhile, and was told that it is paid. */
    readonly asked: boolean;
  } | null;
  /** After the webhooks. */
  readonly confirmed: OrderView | null;
};

/** How a customer comes back to a page that asks the service. */
export const RETURN_WAYS = {
  pending: "while the payment was pending",
  otherSession: "with the session of another order, which is paid",
} as const;

/** The likely cause of a failed or unclear step. The list is closed. */
export const RETURN_CAUSES = {
  believes_return:
    "It marks the order paid because the customer came back. A return proves nothing, and anybody can open that address: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (Or --paid-when also matches an unpaid order: see what it got.)",
  believes_other_return:
    "It marks the order paid because the customer came back in this way: with a status in the address, by POST, from a page of the shop, or once more. (Or it believes the first return, later than the drill looked.) Anybody can do each of these: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}.",
  believes_pending:
    "It marks the order paid because the customer came back while the payment was pending: it most likely asks the API, and takes pending for paid. The only attempt was declined. Only succeeded is paid.",
  mixes_orders:
    "The customer came back with the session of another order, which is paid, beside the order_id of this one, and it marks this one paid: it asks the API about the session in the address, and books the order in the address. Anybody can put the two together. Book the order_id that the API answers, or ask about the session that you have stored with the order.",
  paid_without_asking:
    "It marks the order paid after the return of a customer who had paid, but it has not asked the API, and no webhook was sent: it most likely believes the return, later than the drill looked before. Wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (A view that asks with a command of this program shows what the service knows, not your shop.)",
  paid_from_the_start:
    "The view says paid before anybody has come back: --paid-when also matches an unpaid order (does paid match unpaid?), or the view shows another order.",
  order_unknown:
    "The view answers 404 for an order that the drill has made: your shop does not know orders that it has not created. Name an unpaid one of your shop: --checkout ID, or let it create one: --create CMD. (Or --order-view does not show the order of {order_id} or {session_id}.)",
  own_order_unknown:
    "The view answers 404 for an order that your shop has made: --order-view does not show the order of {order_id} or {session_id}.",
  never_paid:
    "The order was paid and the view does not say so, so its earlier answers prove nothing. The webhook, checkout_session.succeeded, was not sent (does checkout endpoints list show an endpoint that takes it?) or not accepted (see checkout deliveries list), your shop acts on order.succeeded alone, --paid-when does not match, or your shop does not know orders that it has not created: create one there, and name it with --checkout.",
  view_unreadable:
    "The view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0.",
  view_limited:
    "The view answered 429 again and again: a rate limit of yours keeps the drill from reading it. Raise the limit for this machine.",
  page_unreachable: "The page did not open: --return-url must be the page that customers return to.",
} as const;

/** A cause of the closed list. */
export type ReturnCause = keyof typeof RETURN_CAUSES;

/** A step: what was seen in it, and why it does not pass; undefined if it does. */
type ReturnStep = {
  readonly title: string;
  readonly expected: string;
  /** Null where it did not come to that. */
  readonly got: (facts: ReturnFacts) => string | null;
  readonly cause: (facts: ReturnFacts) => ReturnCause | undefined;
};

/** The steps of the drill, in their order. */
export const RETURN_STEPS = {
  before_the_return: {
    title: "before the return",
    expected: "not paid",
    got: ({ before }) => sayOf(before),
    cause: ({ before, isUnknown, isOwn }) => {
      if (isUnknown) return isOwn ? "order_unknown" : "own_order_unknown";
      return before.says === "paid" ? "paid_from_the_start" : readable(before);
    },
  },
  return_without_payment: {
    title: "return without a payment",
    expected: "not paid",
    got: ({ unpaid }) => unpaid && `${sayOf(unpaid.view)}; page: ${unpaid.visit.got}`,
    cause: ({ unpaid }) =>
      unpaid === null
        ? undefined
        : (cannotTell(unpaid) ?? (unpaid.view.says === "paid" ? "believes_return" : undefined)),
  },
  return_otherwise: {
    title: "return while pending, with another session, with a status, by POST, from your site, three times",
    expected: "not paid",
    got: ({ otherwise }) => otherwise && `${sayOf(otherwise.view)}; returned ${otherwise.way}`,
    cause: ({ otherwise }) =>
      otherwise?.view.says === "paid"
        ? believedCause(otherwise)
        : otherwise === null
          ? undefined
          : readable(otherwise.view),
  },
  return_before_webhook: {
    title: "return after payment, webhooks held",
    expected: "not paid, or paid after asking the API",
    got: ({ early }) =>
      early &&
      `${sayOf(early.view)}${early.view.says === "paid" && early.asked ? " (it has asked the API)" : ""}; page: ${early.visit.got}`,
    cause: (facts) => (facts.early === null ? undefined : (cannotTell(facts.early) ?? earlyCause(facts))),
  },
  after_the_webhook: {
    title: "after the webhooks",
    expected: "paid",
    got: ({ confirmed }) => confirmed && sayOf(confirmed),
    cause: ({ confirmed }) =>
      confirmed === null
        ? undefined
        : (readable(confirmed) ?? (confirmed.says === "paid" ? undefined : "never_paid")),
  },
} as const satisfies Readonly<Record<string, ReturnStep>>;

/**
 * Decides the result (interface 4). Both returns look the same. A merchant who takes only the second for paid has asked
 * the service, which is the other way to confirm a payment; then the service has seen it ask.
 */
export function judgeReturn(facts: ReturnFacts): JudgedDrill {
  const steps = Object.entries<ReturnStep>(RETURN_STEPS).flatMap(
    ([name, { expected, got: gotOf, cause: causeOf }]) => {
      const got = gotOf(facts);
      if (got === null) return [];
      const code = causeOf(facts);
      const cause = code === undefined ? null : RETURN_CAUSES[code];
      return [{ name, passed: cause === null, expected, got, cause, reference: facts.checkoutId }];
    },
  );
  if (steps.every(({ passed }) => passed)) return { verdict: "passed", steps };
  // A page that always says paid proves nothing.
  const failed =
    facts.before.says === "not_paid" &&
    (RETURN_STEPS.return_without_payment.cause(facts) === "believes_return" ||
      facts.otherwise?.view.says === "paid" ||
      RETURN_STEPS.return_before_webhook.cause(facts) === "paid_without_asking");
  return { verdict: failed ? "failed" : "unknown", steps };
}

/** Why a return was believed, by how the customer came back. */
function believedCause({ way }: NonNullable<ReturnFacts["otherwise"]>): ReturnCause {
  if (way === RETURN_WAYS.pending) return "believes_pending";
  return way === RETURN_WAYS.otherSession ? "mixes_orders" : "believes_other_return";
}

/** Why a merchant says paid before the webhook, if it should not. */
function earlyCause({ unpaid, otherwise, early }: ReturnFacts): ReturnCause | undefined {
  if (early?.view.says !== "paid") return undefined;
  if (unpaid?.view.says === "paid") return "believes_return";
  if (otherwise?.view.says === "paid") return believedCause(otherwise);
  return early.asked ? undefined : "paid_without_asking";
}

function cannotTell({ visit, view }: NonNullable<ReturnFacts["unpaid"]>): ReturnCause | undefined {
  return visit.arrived ? readable(view) : "page_unreachable";
}

function readable({ says, got }: OrderView): ReturnCause | undefined {
  if (says !== "unknown") return undefined;
  return got === "429" ? "view_limited" : "view_unreadable";
}
