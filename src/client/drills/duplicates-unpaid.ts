import type { DuplicatesFacts, ViewFact } from "../../core/readiness/drills/duplicates.ts";
import { callControl, wrapAnswer, type ControlResult } from "../control/control.ts";
import {
  deliverEvent,
  deliverEventsOf,
  deliverTestEvents,
  eventsOf,
  type DrilledOrder,
  type DrillRun,
} from "./duplicates-send.ts";
import { MAX_WATCH_MS, PAID_TIMEOUT_MS, WATCH_MS } from "./duplicates-watch.ts";
import { readView, readingWithoutText, type ViewRequest, type ViewReading } from "./order-view.ts";

/**
 * Number of other events between two deliveries of a payment: a shop that remembers only the last ten events has
 * forgotten the first delivery.
 */
const OTHER_EVENTS = 11;
/** Pause between two readings of all orders that must not become paid, in milliseconds. */
const UNPAID_PAUSE_MS = 1000;

/** Whether an order is paid in the end, possibly after a declined attempt. */
export function endsPaid({ end }: Pick<DrilledOrder, "end">): boolean {
  return end === "paid" || end === "declined";
}

/** The order, in the form of the drill's facts. */
export function orderFactOf({ id: checkoutId, kind, end }: DrilledOrder) {
  return { checkoutId, kind, end };
}

/** The request for an order's view. */
export function viewRequestOf(run: DrillRun, order: DrilledOrder): ViewRequest {
  const { target, view, signal, limited } = run;
  return { target, view, signal, checkout: order, onLimited: limited };
}

/** Reads the views of these orders once. */
export function readViews(
  run: DrillRun,
  orders: readonly DrilledOrder[],
): Promise<readonly (ViewReading & { order: DrilledOrder })[]> {
  return Promise.all(
    orders.map(async (order) => ({ ...(await readView(run.world, viewRequestOf(run, order))), order })),
  );
}

/** Declines attempts, and forges payments for unpaid orders; if there are none, for paid orders. */
export async function declineAndForge(
  run: DrillRun,
): Promise<ControlResult<Pick<DuplicatesFacts, "forged" | "declined">>> {
  const declined = run.orders.filter(({ end }) => end === "declined");
  const others = run.orders.filter((order) => !endsPaid(order));
  const targets = others.length > 0 ? others : run.orders.filter(({ end }) => end === "paid");
  const acted = await applyOutcomes(run, declined);
  if (acted.end !== "success") return acted;
  const delivered = await deliverEventsOf(run, declined, ["pending"]);
  if (delivered.end !== "success") return delivered;
  for (const order of targets) {
    const events = await eventsOf(run, order);
    if (events.end !== "success") return events;
    const eventId = events.value.find(({ status }) => status === "created")?.eventId ?? "";
    const sent = await deliverEvent(run, { eventId, forged: true });
    if (sent.end !== "success") return sent;
  }
  // The other orders are read again at the end.
  const waitMs = others.length === 0 ? PAID_TIMEOUT_MS : WATCH_MS;
  const views = await watchUnpaid(run, [...declined, ...targets], waitMs);
  const [attempts, forged] = [views.slice(0, declined.length), views.slice(declined.length)];
  return wrapAnswer({ declined: attempts, forged });
}

/** Applies the outcome of each order. */
export async function applyOutcomes(
  run: DrillRun,
  orders: readonly DrilledOrder[],
): Promise<ControlResult<null>> {
  for (const { id, end } of orders) {
    const outcome = end === "paid" ? ("succeeded" as const) : end;
    const body = { outcome, leaseId: run.leaseId };
    const acted = await callControl(run.world, run.target, { name: "pay", id, body, signal: run.signal });
    if (acted.end !== "success") return acted;
  }
  return wrapAnswer(null);
}

/** Reads these orders' views each second, until an order that must not be paid is paid, or until the timeout. */
async function watchUnpaid(
  run: DrillRun,
  orders: readonly DrilledOrder[],
  waitMs: number,
): Promise<readonly ViewFact[]> {
  const until = run.world.monotonic() + waitMs;
  for (;;) {
    const readings = await readViews(run, orders);
    const isOver = run.signal.aborted || run.world.monotonic() >= until;
    if (isOver || readings.some(({ says }) => says === "paid"))
      return readings.map(({ order, ...reading }) =>
        Object.assign(orderFactOf(order), { view: readingWithoutText(reading) }),
      );
    await run.world.sleep(UNPAID_PAUSE_MS, run.signal);
  }
}

/**
 * Lets the other orders fail, expire and be cancelled, and sends their events and test events, eleven in all.
 * `slowestMs` is the shop's slowest booking, in milliseconds.
 */
export async function endOtherOrders(
  run: DrillRun,
  slowestMs: number,
): Promise<ControlResult<Pick<DuplicatesFacts, "unpaid" | "ended">>> {
  const orders = run.orders.filter((order) => !endsPaid(order));
  const unpaid = await watchUnpaid(run, orders, 0);
  const acted = await applyOutcomes(run, orders);
  if (acted.end !== "success") return acted;
  const sent = await deliverEventsOf(run, orders, ["created", "pending", "failed", "expired", "cancelled"]);
  if (sent.end !== "success") return sent;
  const ended =
    orders.length === 0 ? [] : await watchUnpaid(run, orders, Math.min(slowestMs + WATCH_MS, MAX_WATCH_MS));
  const more = await deliverTestEvents(run, OTHER_EVENTS - sent.value);
  return more.end === "success" ? wrapAnswer({ unpaid, ended }) : more;
}

/** Reads the views of unpaid orders once more: a shop may book an order late. */
export async function rereadUnpaidViews(
  run: DrillRun,
  ended: DuplicatesFacts["ended"],
): Promise<DuplicatesFacts["ended"]> {
  const unpaid = run.orders.filter((order) => !endsPaid(order));
  const last = await watchUnpaid(run, unpaid, 0);
  return ended.map((one) => {
    const late = last.find(({ checkoutId, view }) => checkoutId === one.checkoutId && view.says === "paid");
    return late ?? one;
  });
}
