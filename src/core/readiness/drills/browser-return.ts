import type { DrillStep } from "../../control/drills.ts";
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

/** The result of the drill. `unknown`: the page is not reliable, so the drill proves nothing and is not kept. */
export type ReturnVerdict = {
  readonly verdict: "passed" | "failed" | "unknown";
  readonly steps: readonly DrillStep[];
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

/**
 * Decides the result (interface 4). Both returns look the same. A merchant who takes only the second for paid has asked
 * the service, which is the other way to confirm a payment; then the service has seen it ask.
 */
export function judgeReturn(facts: ReturnFacts): ReturnVerdict {
  const { before, unpaid, early, confirmed } = facts;
  const believes = unpaid.view.says === "paid";
  const causes = {
    before_the_return: before.says === "paid" ? "paid_from_the_start" : readable(before),
    return_without_payment: cannotTell(unpaid) ?? (believes ? "believes_return" : undefined),
    return_before_webhook: cannotTell(early) ?? earlyCause(facts),
    after_the_webhook: readable(confirmed) ?? (confirmed.says === "paid" ? undefined : "never_paid"),
  } as const satisfies Readonly<Record<string, ReturnCause | undefined>>;
  const asked = early.view.says === "paid" && early.asked ? " (it has asked the API)" : "";
  const step = (name: keyof typeof causes, expected: string, got: string): DrillStep => {
    const cause = causes[name];
    const text = cause === undefined ? null : RETURN_CAUSES[cause];
    return { name, passed: text === null, expected, got, cause: text, reference: facts.checkoutId };
  };
  const steps = [
    step("before_the_return", "not paid", sayOf(before)),
    step("return_without_payment", "not paid", `${sayOf(unpaid.view)}; page: ${unpaid.visit.got}`),
    step(
      "return_before_webhook",
      "not paid, or paid after asking the API",
      `${sayOf(early.view)}${asked}; page: ${early.visit.got}`,
    ),
    step("after_the_webhook", "paid", sayOf(confirmed)),
  ];
  if (steps.every(({ passed }) => passed)) return { verdict: "passed", steps };
  // A page that always says paid proves nothing.
  const failed =
    before.says === "not_paid" &&
    (causes.return_without_payment === "believes_return" ||
      causes.return_before_webhook === "paid_without_asking");
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
