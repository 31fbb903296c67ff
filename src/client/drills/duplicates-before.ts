import type { DuplicatesFacts } from "../../core/readiness/drills/duplicates.ts";
import type { DuplicatesCause } from "../../core/readiness/drills/duplicates-causes.ts";
import { callControl, wrapAnswer, type ControlResult } from "../control/control.ts";
import { deliverEventsOf, type DrilledOrder, type DrillRun } from "./duplicates-send.ts";
import { applyOutcomes, orderFactOf, endsPaid, viewRequestOf, readViews } from "./duplicates-unpaid.ts";
import { awaitKnownOrder, readView, readingWithoutText } from "./order-view.ts";

/** Number of readings that show whether the view retrieves the session every time. */
const ASKING_READINGS = 3;

/**
 * Sends the creation events of orders that the drill created (the shop first hears of paid orders by their payment), or
 * of the shop's orders that the shop does not know yet; then reads each view until the shop knows the order.
 */
export async function sendCreationEvents(run: DrillRun): Promise<ControlResult<DuplicatesFacts["before"]>> {
  const { scope, orders } = run;
  const mustKnow = ({ end }: DrilledOrder): boolean => !scope.ownOrders || end !== "paid";
  const missing = (await readViews(run, orders)).filter(
    ({ isMissing, order }) => isMissing && mustKnow(order),
  );
  const delivered = await deliverEventsOf(
    run,
    scope.ownOrders ? orders.filter(mustKnow) : missing.map(({ order }) => order),
    ["created"],
  );
  if (delivered.end !== "success") return delivered;
  const looks = orders.map(async (order) => {
    const view = viewRequestOf(run, order);
    const isKnown = mustKnow(order);
    const reading = await (isKnown ? awaitKnownOrder(run.world, view) : readView(run.world, view));
    const unknown: DuplicatesCause = run.noted.isOutOfReach
      ? "out_of_reach"
      : scope.ownOrders
        ? "order_unknown"
        : "own_order_unknown";
    const cause = isKnown && reading.isMissing ? unknown : null;
    return Object.assign(orderFactOf(order), { view: readingWithoutText(reading), cause });
  });
  return wrapAnswer(await Promise.all(looks));
}

/** Pays the orders, and reads their views before any event of the payments is sent. */
export async function payBeforeEvents(run: DrillRun): Promise<ControlResult<DuplicatesFacts["held"]>> {
  const orders = run.orders.filter(endsPaid);
  const paid = await applyOutcomes(
    run,
    orders.map((order) => ({ ...order, end: "paid" as const })),
  );
  if (paid.end !== "success") return paid;
  const held: DuplicatesFacts["held"][number][] = [];
  for (const reading of await readViews(run, orders)) {
    const retriever =
      reading.says === "paid" ? await retrieverOf(run, reading.order) : wrapAnswer("nobody" as const);
    if (retriever.end !== "success") return retriever;
    held.push({ ...orderFactOf(reading.order), view: readingWithoutText(reading), askedBy: retriever.value });
  }
  return wrapAnswer(held);
}

/**
 * Determines who has retrieved a paid order from v1: nobody, the shop, or its view. A shop that learns of the payment
 * stores it; a view that does not store it retrieves the session at each reading.
 */
async function retrieverOf(
  run: DrillRun,
  order: DrilledOrder,
): Promise<ControlResult<DuplicatesFacts["held"][number]["askedBy"]>> {
  const { world, target, leaseId: id } = run;
  const counts: number[] = [];
  for (const readings of [0, ASKING_READINGS]) {
    for (let reading = 0; reading < readings; reading += 1) await readView(world, viewRequestOf(run, order));
    const listed = await callControl(world, target, { name: "listRetrieves", id, body: undefined });
    if (listed.end !== "success") return listed;
    counts.push(listed.value.paidCheckouts.filter((one) => one === order.id).length);
  }
  const [countBefore = 0, countAfter = 0] = counts;
  if (countBefore === 0) return wrapAnswer("nobody");
  return wrapAnswer(countAfter - countBefore < ASKING_READINGS ? "shop" : "view");
}
