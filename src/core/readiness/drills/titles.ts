import type { DrillKind } from "../names.ts";
import { DRILL_CASES } from "./webhook.ts";

/** What the steps of each drill are called for people, by their names. */
export const STEP_TITLES: Readonly<Record<DrillKind, Readonly<Record<string, string>>>> = {
  webhook: Object.fromEntries(Object.entries(DRILL_CASES).map(([name, { what }]) => [name, what])),
  duplicates: {
    another_order: "another order, not paid",
    before_the_payment: "before the payment",
    forged_payment: "a forged payment, badly signed",
    before_its_events: "paid, and its events held back",
    payment_first: "the payment, before all other events",
    payment_again: "the payment again",
    created_late: "the creation, late",
    pending_late: "the start of the payment, late",
    payment_after_late: "the payment, after the late ones",
    created_again: "the creation again",
    payment_last: "the payment once more",
    forged_in_the_end: "the order of the forged payment, in the end",
  },
  idempotency: {
    answer_lost: "answer lost after the commit",
    tried_again: "another try",
    same_key: "same key",
    one_order: "orders and sessions created",
    client_ended: "end of the command",
    own_key: "a second purchase",
    same_key_again: "killed when it was made, run again",
    one_order_again: "orders and sessions of it",
    restarted_ended: "end of the command run again",
    other_body_refused: "another body with the key, sent by this drill",
  },
  browser_return: {
    before_the_return: "before the return",
    return_without_payment: "return without a payment",
    return_before_webhook: "return after payment, webhooks held",
    after_the_webhook: "after the webhooks",
  },
};
