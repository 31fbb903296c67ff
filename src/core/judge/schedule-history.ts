import { isKill, targetsDelivery, type PayerOutcome, type Schedule } from "./schedule.ts";
import type { History, Step } from "./step.ts";

/** Span by which the clock moves for the first attempts of deliveries, in milliseconds. */
const FIRST_ATTEMPTS_MS = 500;
const ADVANCE: Step = { act: "at_once", acts: [{ advanceMs: FIRST_ATTEMPTS_MS }] };
const LOOK: Step = { act: "look", of: "a" };
const VISIT = { visit: "a" } as const;

function pay(outcome: Extract<Step, { act: "pay" }>["outcome"]): Step {
  return { act: "pay", of: "a", outcome };
}

/** `late_success`: the payment succeeds after the order has expired. */
const PAYER_STEPS = {
  succeeded: [pay("succeeded")],
  declined: [pay("declined")],
  paid_after_decline: [pay("declined"), ADVANCE, pay("succeeded")],
  failed: [pay("failed")],
  cancelled: [pay("cancelled")],
  expired: [pay("expired")],
  late_success: [pay("pending"), pay("expired"), { act: "pay", of: "a", outcome: "succeeded", isLate: true }],
} as const satisfies Readonly<Record<PayerOutcome, readonly Step[]>>;

/**
 * The history of a schedule: the purchase under its faults, the payment, and all deliveries. Without a view, only the
 * purchase. With a return page, the customer returns before the payment, and twice while the webhooks are delivered.
 */
export function historyOf(
  { faults, payer }: Schedule,
  { hasView, hasReturnPage }: { readonly hasView: boolean; readonly hasReturnPage: boolean },
): History {
  const purchaseSteps: readonly Step[] = [
    {
      act: "faults",
      of: "a",
      faults: faults.filter((fault) => !isKill(fault.action) || !targetsDelivery(fault)),
    },
    { act: "create", of: "a", expects: "answer" },
  ];
  const visits = hasReturnPage ? [VISIT, VISIT] : [];
  const paymentSteps: readonly Step[] = [
    ADVANCE,
    ...(hasReturnPage ? [{ act: "visit", of: "a" } as const] : []),
    LOOK,
    ...PAYER_STEPS[payer],
    { act: "at_once", acts: [...visits, { advanceMs: FIRST_ATTEMPTS_MS }] },
    LOOK,
    { act: "deliver_all", of: "a" },
    LOOK,
  ];
  const steps = hasView ? [...purchaseSteps, ...paymentSteps] : purchaseSteps;
  return { part: "duplicates", title: ["", ""], steps };
}
