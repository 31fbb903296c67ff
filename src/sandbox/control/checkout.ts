import { parseReturnOrigin, parseReturnPath } from "../../core/checkout/return-origin.ts";
import { checkoutUrl } from "../../core/checkout/wire.ts";
import { accept, addField, mapValue, type Outcome } from "../../core/outcome.ts";
import { priceWithDefaults } from "../../core/config/plan.ts";
import { PAYER_DECISIONS } from "../../core/readiness/relied.ts";
import { storeTime } from "../with-store.ts";
import { listCheckouts } from "../checkout/list.ts";
import { simulatePayment } from "../checkout/payments.ts";
import { addPrice, retirePrice } from "../checkout/prices.ts";
import { addReturnOrigin, removeReturnOrigin } from "../checkout/return-origins.ts";
import { createTestOrder } from "../checkout/test-order.ts";
import { findRefusedOrders } from "../explain/search.ts";
import { viewCheckout } from "../checkout/view.ts";
import type { EventSummary } from "../../store/checkout/events.ts";
import type { OperationContext, HandlersOf } from "./handler.ts";

export const checkoutHandlers = {
  pay: async (context, { storeId, id, requestId, body }) => {
    const { outcome, leaseId } = body;
    const isDrill = leaseId !== undefined && context.leases.check({ storeId, id: leaseId }).ok;
    const paymentContext = isDrill ? withoutAssumptionLog(context) : context;
    const payment = await simulatePayment(paymentContext, { storeId, checkoutId: id }, outcome);
    if (!payment.ok) return payment;
    paymentContext.assumptions.note(PAYER_DECISIONS, { storeId, requestId, at: storeTime(context, storeId) });
    const { checkout, isLate, changes: moves } = payment.value;
    return accept({ ...checkout, late: isLate, moves });
  },
  listCheckouts: async (context, { storeId, body }) => {
    const { q, before } = body;
    const refusedOrders =
      q === undefined || before !== undefined ? [] : findRefusedOrders(context, storeId, q).orders;
    return mapValue(await listCheckouts(context, storeId, body), (page) => ({
      storeId,
      ...page,
      refused: refusedOrders,
    }));
  },
  createTestOrder,
  inspectCheckout: async (context, { storeId, id }) => {
    const view = await viewCheckout(context, { storeId, checkoutId: id });
    if (!view.ok) return view;
    const { checkout, attempts, lateResults } = view.value;
    const events = context.store.events.of(id).map(eventEntry);
    const shownFields = { checkoutUrl: checkoutUrl(checkout, context.checkoutOrigin), livemode: false };
    return accept({ ...checkout, ...shownFields, attempts, lateResults, events });
  },
  listPrices: async ({ store }, { storeId }) => accept({ storeId, prices: store.prices.of(storeId) }),
  addPrice: (context, { storeId, body }) => addPrice(context, storeId, priceWithDefaults(body)),
  retirePrice: (context, { storeId, body: { id } }) => retirePrice(context, { storeId, id }),
  listReturnOrigins: async ({ store }, { storeId }) =>
    accept({ storeId, returnOrigins: store.returnOrigins.list(storeId) }),
  changeReturnOrigins: async (context, { storeId, body }) => {
    const origin = addField("origin", parseReturnOrigin(body.origin));
    if (!origin.ok) return origin;
    const path = body.action === "remove" ? accept(undefined) : parsePath(body.path);
    if (!path.ok) return path;
    const change = body.action === "add" ? addReturnOrigin : removeReturnOrigin;
    return mapValue(
      await change(context, { storeId, origin: origin.value, path: path.value }),
      (returnOrigins) => ({ storeId, returnOrigins }),
    );
  },
} satisfies HandlersOf<"checkouts">;

/** Calls of a drill do not show that the merchant's integration relies on an assumption. */
function withoutAssumptionLog(context: OperationContext): OperationContext {
  return { ...context, assumptions: { ...context.assumptions, note: () => undefined } };
}

function parsePath(text: string | undefined): Outcome<string | undefined> {
  return text === undefined ? accept(undefined) : addField("path", parseReturnPath(text));
}

function eventEntry({ id: eventId, ...event }: EventSummary) {
  return { ...event, eventId };
}
