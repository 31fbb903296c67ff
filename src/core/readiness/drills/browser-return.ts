import type { JudgedDrill } from "./drill.ts";
import { sayOf, type OrderView } from "./order-view.ts";

/** A visit to the page that customers come back to. */
export type Visit = { readonly arrived: boolean; readonly got: string };

/** What was seen of one order, step by step. */
export type ReturnFacts = {
  /** The checkout of that order. */
  readonly checkoutId: string;
  /** Before anybody came back. */
  readonly before: OrderView;
  /** After the customer came back without paying. */
  readonly unpaid: { readonly visit: Visit; readonly view: OrderView };
  /** After the customer paid and came back, before the webhook. */
  readonly early: {
    readonly visit: Visit;
    readonly view: OrderView;
    /** Whether the merchant has asked the API meanwhile, and was told that it is paid. */
    readonly asked: boolean;
  };
  /** After the webhooks. */
  readonly confirmed: OrderView;
};

/** The likely cause of a failed or unclear step. The list is closed. */
export const RETURN_CAUSES = {
  believes_return:
    "It marks the order paid because the customer came back. A return proves nothing, and anybody can open that address: wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (Or --paid-when also matches an unpaid order: see what it got.)",
  paid_without_asking:
    "It marks the order paid after the return of a customer who had paid, but it has not asked the API, and no webhook was sent: it most likely believes the return, later than the drill looked before. Wait for the verified webhook, or ask GET /v1/checkout-sessions/{id}. (A view that asks with a command of this program shows what the service knows, not your shop.)",
  paid_from_the_start:
    "The view says paid before anybody has come back: --paid-when also matches an unpaid order (does paid match unpaid?), or the view shows another order.",
  never_paid:
    "The order was paid and the view does not say so, so its earlier answers prove nothing. The webhook, checkout_session.succeeded, was not sent (does checkout endpoints list show an endpoint that takes it?) or not accepted (see checkout deliveries list), your shop acts on order.succeeded alone, --paid-when does not match, or your shop does not know orders that it has not created: create one there, and name it with --checkout.",
  view_unreadable:
    "The view of the order could not be read: it must answer 2xx, or 404 for an unknown order; a command must exit with 0.",
  page_unreachable: "The page did not open: --return-url must be the page that customers return to.",
} as const;

/** A cause of the closed list. */
export type ReturnCause = keyof typeof RETURN_CAUSES;

/** A step: what was seen in it, and why it does not pass; undefined if it does. */
type ReturnStep = {
  readonly title: string;
  readonly expected: string;
  readonly got: (facts: ReturnFacts) => string;
  readonly cause: (facts: ReturnFacts) => ReturnCause | undefined;
};

/** The steps of the drill, in their order. */
export const RETURN_STEPS = {
  before_the_return: {
    title: "before the return",
    expected: "not paid",
    got: ({ before }) => sayOf(before),
    cause: ({ before }) => (before.says === "paid" ? "paid_from_the_start" : readable(before)),
  },
  return_without_payment: {
    title: "return without a payment",
    expected: "not paid",
    got: ({ unpaid: { view, visit } }) => `${sayOf(view)}; page: ${visit.got}`,
    cause: ({ unpaid }) =>
      cannotTell(unpaid) ?? (unpaid.view.says === "paid" ? "believes_return" : undefined),
  },
  return_before_webhook: {
    title: "return after payment, webhooks held",
    expected: "not paid, or paid after asking the API",
    got: ({ early: { view, visit, asked } }) =>
      `${sayOf(view)}${view.says === "paid" && asked ? " (it has asked the API)" : ""}; page: ${visit.got}`,
    cause: (facts) => cannotTell(facts.early) ?? earlyCause(facts),
  },
  after_the_webhook: {
    title: "after the webhooks",
    expected: "paid",
    got: ({ confirmed }) => sayOf(confirmed),
    cause: ({ confirmed }) => readable(confirmed) ?? (confirmed.says === "paid" ? undefined : "never_paid"),
  },
} as const satisfies Readonly<Record<string, ReturnStep>>;

/**
 * Decides the result (interface 4). Both returns look the same. A merchant who takes only the second for paid has asked
 * the service, which is the other way to confirm a payment; then the service has seen it ask.
 */
export function judgeReturn(facts: ReturnFacts): JudgedDrill {
  const steps = Object.entries<ReturnStep>(RETURN_STEPS).map(([name, { expected, got, cause: causeOf }]) => {
    const code = causeOf(facts);
    const cause = code === undefined ? null : RETURN_CAUSES[code];
    return { name, passed: cause === null, expected, got: got(facts), cause, reference: facts.checkoutId };
  });
  if (steps.every(({ passed }) => passed)) return { verdict: "passed", steps };
  // A page that always says paid proves nothing.
  const failed =
    facts.before.says === "not_paid" &&
    (RETURN_STEPS.return_without_payment.cause(facts) === "believes_return" ||
      RETURN_STEPS.return_before_webhook.cause(facts) === "paid_without_asking");
  return { verdict: failed ? "failed" : "unknown", steps };
}

/** Why a merchant says paid before the webhook, if it should not. */
function earlyCause({ unpaid, early }: ReturnFacts): ReturnCause | undefined {
  if (early.view.says !== "paid") return undefined;
  if (unpaid.view.says === "paid") return "believes_return";
  return early.asked ? undefined : "paid_without_asking";
}

function cannotTell({ visit, view }: ReturnFacts["unpaid"]): ReturnCause | undefined {
  return visit.arrived ? readable(view) : "page_unreachable";
}

function readable({ says }: OrderView): ReturnCause | undefined {
  return says === "unknown" ? "view_unreadable" : undefined;
}
