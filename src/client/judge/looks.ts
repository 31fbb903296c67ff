// Looks at the view of an order, with what is true of the order at that moment.
import { lateAfterMs, type LookFact, type Truth } from "../../core/judge/judge.ts";
import { MAX_SETTLE_MS } from "../../core/judge/shop.ts";
import type { OrderName } from "../../core/judge/step.ts";
import { poll } from "../poll.ts";
import { viewedCheckout, type Bench, type Purchase } from "./bench.ts";
import { readView, type ViewReading } from "./view.ts";

const LOOK_AGAIN_MS = 150;
/** The shortest wait before a reading of what should not change, in milliseconds. */
export const LEAST_QUIET_MS = 500;

/** Reads the view of a purchase. */
export function read(bench: Bench, purchase: Purchase): Promise<ViewReading> {
  const { world, shop, target, signal } = bench;
  const { view, env } = shop;
  return readView(world, { target, view, env, signal, checkout: viewedCheckout(purchase) });
}

/** How long a history waits for a payment to be shown, in milliseconds. Later is late; `lookAgain` tells late from lost. */
export function patienceMs({ shop, recording }: Pick<Bench, "shop" | "recording">): number {
  return Math.min(MAX_SETTLE_MS, Math.max(lateAfterMs(shop.settleMs), 5 * recording.slowestMs));
}

/** How long a booking may take in this shop, in milliseconds. */
export function quietMs({ recording }: Pick<Bench, "recording">): number {
  return Math.max(LEAST_QUIET_MS, Math.min(recording.slowestMs * 1.5 + 200, MAX_SETTLE_MS));
}

/**
 * Reads the view of an order: until it shows a payment that the shop knows of, and once more after a quiet time, by
 * default that of a booking, so that a second booking or a late change is seen.
 */
export async function lookAt(
  bench: Bench,
  of: OrderName,
  purchase: Purchase,
  waitMs = quietMs(bench),
): Promise<LookFact> {
  const { world, signal } = bench;
  const isExpected = purchase.paid !== undefined && purchase.isTold;
  const begun = world.monotonic();
  let waitedMs = 0;
  if (isExpected) {
    const seen = await poll(world, () => read(bench, purchase), {
      isEnough: isBooked,
      waitMs: patienceMs(bench),
      firstPauseMs: LOOK_AGAIN_MS,
      signal,
    });
    waitedMs = isBooked(seen) ? world.monotonic() - begun : 0;
    if (!isBooked(seen)) return factOf(of, seen, await truthOf(bench, purchase), 0);
  }
  await world.sleep(waitMs, signal);
  const reading = await read(bench, purchase);
  return factOf(of, reading, await truthOf(bench, purchase), waitedMs);
}

/** Reads the view of an order once more, at the end of a run. */
export async function lookLater(bench: Bench, of: OrderName, purchase: Purchase): Promise<LookFact> {
  return factOf(of, await read(bench, purchase), await truthOf(bench, purchase), 0);
}

/** Whether a reading shows an order as paid and booked. */
export function isBooked({ order }: ViewReading): boolean {
  return order !== null && order.paid && order.times !== 0;
}

function factOf(of: OrderName, { order, got }: ViewReading, truth: Truth, waitedMs: number): LookFact {
  return { kind: "look", of, view: order, got, truth, waitedMs };
}

async function truthOf({ call, leaseId }: Bench, { paid, isTold, checkouts }: Purchase): Promise<Truth> {
  const amountMinor = (paid ?? checkouts.at(-1))?.amountMinor ?? 0;
  if (paid === undefined) return { paid: false, told: false, asked: false, amountMinor };
  if (isTold) return { paid: true, told: true, asked: true, amountMinor };
  const { paidCheckouts } = await call({ name: "listRetrieves", id: leaseId, body: undefined });
  return { paid: true, told: false, asked: paidCheckouts.includes(paid.id), amountMinor };
}
