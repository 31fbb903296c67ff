import type { RequestOf } from "../../core/control/operations.ts";
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import type { SendFact } from "../../core/readiness/drills/duplicates.ts";
import type { DuplicatesScope, OrderOutcome } from "../../core/readiness/drills/duplicates-scope.ts";
import { callControl, wrapAnswer, type ControlResult } from "../control/control.ts";
import type { World } from "../../world.ts";
import type { ViewedCheckout, ViewWorld, ViewRequest } from "./order-view.ts";

/** An order of the drill, its kind, and its outcome. */
export type DrilledOrder = ViewedCheckout & { readonly kind: CheckoutObject; readonly end: OrderOutcome };

/** The input of the drill. */
export type DuplicatesInput = Omit<ViewRequest, "checkout" | "onLimited"> & {
  readonly orders: readonly DrilledOrder[];
  readonly leaseId: string;
  /** Restarts the shop; undefined without a restart command. */
  readonly restart: (() => Promise<void>) | undefined;
  readonly scope: Pick<DuplicatesScope, "ownOrders" | "sellsBoth" | "isQuick">;
};

/** A run of the drill. */
export type DrillRun = DuplicatesInput & {
  readonly world: ViewWorld;
  readonly limited: () => void;
  /** The subject of the drill, as the first answer named it, and whether an endpoint was unreachable. */
  readonly noted: { subject: string | undefined; isOutOfReach: boolean };
};

/** Timeout for sending one event to all endpoints, in milliseconds: receivers may be slow. */
const DELIVER_TIMEOUT_MS = 120_000;
/** Pause before an event that was answered with 429 is resent, in milliseconds. */
const LIMITED_PAUSE_MS = 1100;
const MAX_LIMITED = 5;

/** Sends the events that have one of the statuses, order by order, oldest first; returns the number of events. */
export async function deliverEventsOf(
  run: DrillRun,
  orders: readonly DrilledOrder[],
  statuses: readonly string[],
): Promise<ControlResult<number>> {
  let count = 0;
  for (const order of orders) {
    const events = await eventsOf(run, order);
    if (events.end !== "success") return events;
    for (const { status, eventId } of events.value) {
      if (!statuses.includes(status)) continue;
      const sent = await deliverEvent(run, { eventId });
      if (sent.end !== "success") return sent;
      count += 1;
    }
  }
  return wrapAnswer(count);
}

/** Sends an event to all endpoints, and resends it after a pause if one answers 429. */
export async function deliverEvent(
  run: Pick<DrillRun, "target" | "leaseId" | "signal" | "limited" | "noted"> & {
    readonly world: Pick<World, "send" | "sleep">;
  },
  wanted: Pick<RequestOf<"deliverForDrill">, "eventId" | "forged" | "otherId">,
): Promise<ControlResult<SendFact["answers"]>> {
  const { world, target, leaseId, signal, noted } = run;
  for (let attempts = 1; ; attempts += 1) {
    const sent = await callControl(world, target, {
      name: "deliverForDrill",
      body: { ...wanted, leaseId, ...(noted.subject === undefined ? {} : { subject: noted.subject }) },
      timeoutMs: DELIVER_TIMEOUT_MS,
      signal,
    });
    if (sent.end !== "success") return sent;
    const { subject, answers } = sent.value;
    noted.subject = subject;
    noted.isOutOfReach ||= answers.some(
      ({ error }) => error === "unreachable" || error === "target_forbidden",
    );
    if (attempts === MAX_LIMITED || !answers.some(({ status }) => status === 429)) return wrapAnswer(answers);
    run.limited();
    await world.sleep(LIMITED_PAUSE_MS, signal);
  }
}

/** The events of a checkout, oldest first. */
export async function eventsOf(
  { world, target }: DrillRun,
  { id }: ViewedCheckout,
): Promise<ControlResult<readonly { readonly status: string; readonly eventId: string }[]>> {
  const shown = await callControl(world, target, { name: "inspectCheckout", id, body: undefined });
  if (shown.end !== "success") return shown;
  return wrapAnswer(
    shown.value.events.map(({ type, eventId }) => ({ status: type.split(".")[1] ?? "", eventId })),
  );
}

/** Sends test events to the first endpoint, so that enough other events are sent. */
export async function deliverTestEvents(run: DrillRun, count: number): Promise<ControlResult<null>> {
  const [id = ""] = (run.noted.subject ?? "").split(" ");
  for (let sent = 0; sent < count; sent += 1) {
    const { world, target, signal } = run;
    const made = await callControl(world, target, { name: "testEndpoint", id, body: {}, signal });
    if (made.end !== "success") return made;
    const delivered = await deliverEvent(run, { eventId: made.value.eventId });
    if (delivered.end !== "success") return delivered;
  }
  return wrapAnswer(null);
}
