import { ACTED_AS_PAYER, MOVED_CLOCK } from "../../core/readiness/assumptions.ts";
import { iso, isoOrNull } from "../../core/clock.ts";
import type {
  AnswerOf,
  ClockRequest,
  MoveWire,
  OperationName,
  RequestOf,
  ReturnOriginRequest,
} from "../../core/control/operations.ts";
import type { DispatchedWire } from "../../core/control/webhook.ts";
import { accept, type Outcome } from "../../core/outcome.ts";
import { parseReturnOrigin } from "../../core/checkout/return-origin.ts";
import { toWire } from "../../core/checkout/wire.ts";
import type { EventEntry } from "../../store/checkout/events.ts";
import { viewCheckout, type CheckoutView } from "../checkout/view.ts";
import { moveClock, type ClockAct, type ClockContext, type ClockState } from "../runtime/clock.ts";
import { ASSUMPTION_HANDLERS } from "./assumptions.ts";
import { DRILL_HANDLERS } from "./drills.ts";
import { IDEMPOTENCY_HANDLERS, type IdempotencyActs } from "./idempotency.ts";
import { READINESS_HANDLERS } from "./readiness.ts";
import { WEBHOOK_HANDLERS, type WebhookActs } from "./webhook.ts";
import type { DrillsContext } from "../readiness/drills.ts";
import type { Dispatched } from "../webhook/delivery-steps.ts";
import { storeTime } from "../at-store.ts";
import { inStore } from "../in-store.ts";
import { payAs, type Change, type Move } from "../checkout/payments.ts";
import { addReturnOrigin, listReturnOrigins, removeReturnOrigin } from "../checkout/return-origins.ts";

/** What the control API acts with: the service, and the timers that have to hear of a moved clock. */
export type ControlActs = ClockContext &
  WebhookActs &
  DrillsContext &
  IdempotencyActs & { readonly wakeAll: () => Promise<void> };

type Handler<Name extends OperationName> = (
  context: ControlActs,
  call: { readonly id: string; readonly requestId: string; readonly body: RequestOf<Name> },
) => Promise<Outcome<AnswerOf<Name>>>;

/** What each operation of the control API does; from the wire to the verbs and back. */
export const CONTROL_HANDLERS: { readonly [Name in OperationName]: Handler<Name> } = {
  pay: (context, { id, requestId, body }) =>
    inStore(context, async (storeId) => {
      const paid = await payAs(context, { storeId, checkoutId: id }, body.outcome);
      if (!paid.ok) return paid;
      // Whoever pays here skips what a payer would do on the pages.
      context.assumptions.note(ACTED_AS_PAYER, { storeId, requestId, at: storeTime(context, storeId) });
      return accept(changeWire(paid.value));
    }),
  inspectCheckout: (context, { id }) =>
    inStore(context, async (storeId) => {
      const view = await viewCheckout(context, { storeId, checkoutId: id });
      return view.ok ? accept(viewWire(context, view.value)) : view;
    }),
  showClock: (context, { requestId }) => clock(context, { requestId, act: { action: "show" } }),
  moveClock: (context, { requestId, body }) => clock(context, { requestId, act: toAct(body) }),
  listReturnOrigins: (context) =>
    inStore(context, (storeId) => accept(originsWire(storeId, listReturnOrigins(context, storeId)))),
  changeReturnOrigins: (context, { body }) => changeReturnOrigins(context, body),
  ...WEBHOOK_HANDLERS,
  ...DRILL_HANDLERS,
  ...IDEMPOTENCY_HANDLERS,
  ...ASSUMPTION_HANDLERS,
  ...READINESS_HANDLERS,
  describe: async () => {
    // Who starts a sandbox shall not wait for what turns schemas into a document.
    const { describeControlApi } = await import("../../core/control/openapi.ts");
    return accept(describeControlApi());
  },
};

function clock(
  context: ControlActs,
  { requestId, act }: { readonly requestId: string; readonly act: ClockAct },
): Promise<Outcome<AnswerOf<"showClock">>> {
  return inStore(context, async (storeId) => {
    const moved = await moveClock(context, storeId, act);
    if (!moved.ok) return moved;
    if (act.action !== "show") {
      const { now: at } = moved.value;
      context.assumptions.note(MOVED_CLOCK, { storeId, requestId, at });
      await context.wakeAll();
    }
    return accept(clockWire(moved.value));
  });
}

async function changeReturnOrigins(
  context: ControlActs,
  { action, origin: text }: ReturnOriginRequest,
): Promise<Outcome<AnswerOf<"changeReturnOrigins">>> {
  const origin = parseReturnOrigin(text);
  if (!origin.ok) return origin;
  const change = action === "add" ? addReturnOrigin : removeReturnOrigin;
  return inStore(context, async (storeId) => {
    const left = await change(context, { storeId, origin: origin.value });
    return left.ok ? accept(originsWire(storeId, left.value)) : left;
  });
}

function toAct(request: ClockRequest): ClockAct {
  switch (request.action) {
    case "advance":
      return { action: "advance", by: request.by_ms };
    case "set":
      return { action: "set", to: Date.parse(request.to) };
    case "freeze":
    case "real":
      return { action: request.action };
  }
}

function changeWire({ checkout, moves, late }: Change): AnswerOf<"pay"> {
  return { id: checkout.id, status: checkout.status, late, moves: moves.map(moveWire) };
}

function clockWire({ now, frozen, fired, delivered, undelivered }: ClockState): AnswerOf<"showClock"> {
  return {
    now: iso(now),
    frozen,
    fired: fired.map(moveWire),
    delivered: delivered.map(dispatchedWire),
    undelivered,
  };
}

function moveWire({ at, checkoutId, orderId, from, to, eventId }: Move): MoveWire {
  return { at: iso(at), checkout_id: checkoutId, order_id: orderId, from, to, event_id: eventId };
}

function dispatchedWire(dispatched: Dispatched): DispatchedWire {
  const { at, deliveryId, eventId, type, endpointId, status, error, nextAt } = dispatched;
  return {
    at: iso(at),
    delivery_id: deliveryId,
    event_id: eventId,
    type,
    endpoint_id: endpointId,
    status,
    error,
    next_at: isoOrNull(nextAt),
  };
}

function originsWire(storeId: string, origins: string[]): AnswerOf<"listReturnOrigins"> {
  return { store_id: storeId, return_origins: origins };
}

function viewWire(
  { store, checkoutOrigin }: ControlActs,
  { checkout, attempts, lateResults }: CheckoutView,
): AnswerOf<"inspectCheckout"> {
  return {
    ...toWire(checkout, checkoutOrigin),
    description: checkout.description,
    created_at: iso(checkout.createdAt),
    expires_at: iso(checkout.expiresAt),
    attempts: attempts.map(({ number, startedAt, outcome, finishedAt }) => ({
      number,
      started_at: iso(startedAt),
      outcome,
      finished_at: isoOrNull(finishedAt),
    })),
    late_results: lateResults.map(({ attempt, result, recordedAt }) => ({
      attempt,
      result,
      recorded_at: iso(recordedAt),
    })),
    events: store.events.of(checkout.id).map(eventWire),
  };
}

function eventWire({ id, type, sequence, createdAt }: EventEntry) {
  return { event_id: id, type, sequence, created_at: iso(createdAt) };
}
