import { maxDelayMs } from "../../core/judge/judge.ts";
import type { LookFact, Truth } from "../../core/judge/observation.ts";
import { MAX_SETTLE_MS } from "../../core/judge/shop.ts";
import { containsSecret } from "../../core/text.ts";
import { poll } from "../poll.ts";
import { ownCheckouts, viewedCheckout, type Bench, type Purchase } from "./bench.ts";
import { readView, type ViewReading } from "./shop/view.ts";

const REREAD_PAUSE_MS = 150;
const NEW_ORDER_TIMEOUT_MS = 1500;
export const MIN_QUIET_MS = 500;

const SEARCH_TIMEOUT_MS = 3000;
const SEARCH_PAUSE_MS = 25;

async function read(bench: Bench, purchase: Purchase): Promise<ViewReading> {
  const { world, shop, target, signal, notes } = bench;
  const { view, cookie, env } = shop;
  if (view === undefined) throw new Error("a shop without a view shows nothing");
  const checkout = viewedCheckout(bench, purchase);
  const readOf = (viewedOrder: typeof checkout): Promise<ViewReading> =>
    readView(world, { target, view, cookie, env, signal, checkout: viewedOrder });
  const firstReading = await readOf(checkout);
  const { paidCheckout } = purchase;
  const ownReading =
    paidCheckout !== undefined && paidCheckout.orderId !== checkout.orderId && !isBooked(firstReading)
      ? await readOf(paidCheckout)
      : firstReading;
  const pageReading = isBooked(ownReading) ? ownReading : firstReading;
  if (containsSecret(pageReading.text)) notes.secretPlaces.add("view");
  notes.viewError = pageReading.error;
  return pageReading;
}

export function awaitReading(
  bench: Bench,
  purchase: Purchase,
  goal: { readonly isEnough: (reading: ViewReading) => boolean; readonly waitMs: number },
): Promise<ViewReading> {
  const { world, search, signal } = bench;
  const firstPauseMs = search === undefined ? REREAD_PAUSE_MS : SEARCH_PAUSE_MS;
  return poll(world, () => read(bench, purchase), { ...goal, firstPauseMs, signal });
}

export function awaitNewOrder(bench: Bench, purchase: Purchase): Promise<ViewReading> {
  const hasOrder = purchase.checkouts.length > 0;
  const isEnough = ({ isMissing, order }: ViewReading): boolean => order !== null && !(isMissing && hasOrder);
  return awaitReading(bench, purchase, { isEnough, waitMs: NEW_ORDER_TIMEOUT_MS });
}

/** After this time, a payment that is not shown is late or lost. */
export function bookingTimeoutMs({ shop, recording, search }: Bench): number {
  if (search !== undefined) return SEARCH_TIMEOUT_MS;
  return Math.min(MAX_SETTLE_MS, Math.max(maxDelayMs(shop.settleMs), 5 * recording.bookingMs));
}

export function quietMs({ recording, search }: Pick<Bench, "recording" | "search">): number {
  if (search !== undefined) return 0;
  return Math.max(MIN_QUIET_MS, Math.min(recording.bookingMs * 1.5 + 200, MAX_SETTLE_MS));
}

/** Except in a search, reads the view again after `waitMs`, to see a second booking. */
export async function lookAt(bench: Bench, purchase: Purchase, waitMs = quietMs(bench)): Promise<LookFact> {
  const { world, signal, search } = bench;
  // After all deliveries of a search, a shop that accepted no event may still ask the API.
  const mayAsk = search !== undefined && purchase.deliveries !== undefined;
  const isExpected = purchase.paidCheckout !== undefined && (purchase.isNotified || mayAsk);
  const startedAt = world.monotonic();
  let waitedMs = 0;
  // After all deliveries of a search, a shop whose view cannot be read may only be busy.
  if (isExpected || purchase.deliveries !== undefined) {
    const isEnough = isExpected ? isBooked : ({ order }: ViewReading): boolean => order !== null;
    const reading = await awaitReading(bench, purchase, { isEnough, waitMs: bookingTimeoutMs(bench) });
    if (isBooked(reading)) waitedMs = world.monotonic() - startedAt;
    if (!isEnough(reading) || search !== undefined)
      return { ...(await lookFact(bench, purchase, reading)), waitedMs };
  }
  await world.sleep(waitMs, signal);
  return { ...(await lookAgain(bench, purchase)), waitedMs };
}

export async function lookAgain(bench: Bench, purchase: Purchase): Promise<LookFact> {
  return lookFact(bench, purchase, await read(bench, purchase));
}

export function isBooked({ order }: ViewReading): boolean {
  return order !== null && order.paid && order.times !== 0;
}

export async function lookFact(
  bench: Bench,
  purchase: Purchase,
  { order, got }: Pick<ViewReading, "order" | "got">,
): Promise<LookFact> {
  const truth = await truthOf(bench, purchase);
  return { kind: "look", of: purchase.name, view: order, got, truth, waitedMs: 0 };
}

async function truthOf(bench: Bench, purchase: Purchase): Promise<Truth> {
  const { paidCheckout } = purchase;
  const shownCheckout = paidCheckout ?? ownCheckouts(purchase).at(-1);
  const isPaid = paidCheckout !== undefined;
  const isNotified = isPaid && purchase.isNotified;
  return {
    amountMinor: shownCheckout?.amountMinor ?? 0,
    status: shownCheckout?.status,
    isPaid,
    isNotified,
    // A search does not read which checkouts the shop retrieved, so the shop counts as having asked.
    hasRetrieved:
      isNotified || (isPaid && (bench.search !== undefined || (await hasRetrieved(bench, purchase)))),
  };
}

export async function hasRetrieved(
  { call, leaseId }: Pick<Bench, "call" | "leaseId">,
  { paidCheckout }: Purchase,
): Promise<boolean> {
  const { paidCheckouts } = await call({ name: "listRetrieves", id: leaseId, body: undefined });
  return paidCheckout === undefined || paidCheckouts.includes(paidCheckout.id);
}
