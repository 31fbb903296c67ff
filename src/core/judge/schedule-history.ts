import { atOnce, end, LOOK, PAY } from "./histories/steps.ts";
import { isKill, targetsDelivery, type PayerOutcome, type Schedule } from "./schedule.ts";
import type { History, Step } from "./step.ts";

const FIRST_ATTEMPTS_MS = 500;
const ADVANCE = atOnce({ advanceMs: FIRST_ATTEMPTS_MS });

/** `late_success`: the payment succeeds after the order has expired. */
const PAYER_STEPS: Readonly<Record<PayerOutcome, readonly Step[]>> = {
  succeeded: [PAY],
  declined: [end("declined")],
  paid_after_decline: [end("declined"), ADVANCE, PAY],
  failed: [end("failed")],
  cancelled: [end("cancelled")],
  expired: [end("expired")],
  late_success: [end("pending"), end("expired"), { act: "pay", of: "a", outcome: "succeeded", isLate: true }],
};

/** With a return page, the customer returns before the payment, and twice while the webhooks are delivered. */
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
  const visits = hasReturnPage ? [{ visit: "a" } as const, { visit: "a" } as const] : [];
  const paymentSteps: readonly Step[] = [
    ADVANCE,
    ...(hasReturnPage ? [{ act: "visit", of: "a" } as const] : []),
    LOOK,
    ...PAYER_STEPS[payer],
    atOnce(...visits, { advanceMs: FIRST_ATTEMPTS_MS }),
    LOOK,
    { act: "deliver_all", of: "a" },
    LOOK,
  ];
  const steps = hasView ? [...purchaseSteps, ...paymentSteps] : purchaseSteps;
  return { part: "duplicates", title: ["", ""], steps };
}
