import { createEvent, createTestEvent } from "../../../../core/checkout/event.ts";
import { STATUSES, type Checkout, type Status } from "../../../../core/checkout/checkout.ts";
import { purchaseTerms } from "../../../../core/checkout/create-request.ts";
import { checkoutJson } from "../../../../core/checkout/wire.ts";
import { storeTime } from "../../../with-store.ts";
import type { PortalContext } from "../view.ts";

const EVENT_ID = "00000000-0000-7000-8000-000000000001";
const SAMPLE_CHECKOUT_ID = "00000000-0000-7000-8000-000000000002";

const SAMPLE_TERMS = purchaseTerms(
  { order_id: "order-1001", amount_minor: 1999, currency: "EUR", payment_method: "alipay_plus" },
  undefined,
);

/** The usual previous status of each status, and the sequence number of its event. */
const PREVIOUS_STATUSES: Readonly<Record<Status, readonly [previous: Status | null, sequence: number]>> = {
  created: [null, 1],
  pending: ["created", 2],
  succeeded: ["pending", 3],
  failed: ["pending", 3],
  cancelled: ["created", 2],
  expired: ["created", 2],
};

/** A body from the function that creates real events, for an order that does not exist. */
export function sampleBody(
  context: Pick<PortalContext, "store" | "world" | "checkoutOrigin">,
  storeId: string,
  type: string,
): string {
  const now = storeTime(context, storeId);
  const status = STATUSES.find((candidate) => type.endsWith(`.${candidate}`));
  if (status === undefined) return createTestEvent({ id: EVENT_ID, storeId }, now).body;
  const [previousStatus, sequence] = PREVIOUS_STATUSES[status];
  const checkout: Checkout = {
    id: SAMPLE_CHECKOUT_ID,
    storeId,
    object: type.startsWith("order.") ? "order" : "checkout_session",
    ...SAMPLE_TERMS,
    status,
    createdAt: now,
    expiresAt: now,
  };
  const json = checkoutJson(checkout, context.checkoutOrigin);
  return createEvent({ id: EVENT_ID, checkout, previousStatus, sequence, checkoutJson: json }, now).body;
}
