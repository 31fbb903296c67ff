import type { AnswerOf } from "../../core/control/operations.ts";
import { isLate, isRefusal, judgeHistory, noVerdict, type HistoryVerdict } from "../../core/judge/judge.ts";
import type { CreateFact, Observation } from "../../core/judge/observation.ts";
import type { StepValue } from "../../core/readiness/drill-shapes.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import { MAX_SETTLE_MS } from "../../core/judge/shop.ts";
import { poll } from "../poll.ts";
import {
  dialectFacts,
  lastCheckout,
  createPurchase,
  NO_RECORDING,
  type Bench,
  type Purchase,
  type Recording,
} from "./bench.ts";
import { createOrders } from "./checkouts.ts";
import { createsOf } from "./buy.ts";
import { awaitNewOrder, awaitReading, isBooked, lookAt, lookFact, quietMs } from "./looks.ts";

export type PlainPurchase = Awaited<ReturnType<typeof runPlainPurchase>>;

const DELIVERY_TIMEOUT_MS = 10_000;
const REREAD_PAUSE_MS = 150;
/** After this time, the service has delivered the payment event twice. */
const SLOW_MS = 8000;
const BUSY_STATUSES = new Set([429, 503]);
const RETRY_PAUSE_MS = 1100;
const PLAIN_WATCH_MS = 2500;
const PLAIN_HISTORY = {
  causes: { booked_when_paid: "loses_plain", takes_events: "refuses_plain" },
} as const;

/** Work that a shop still had to do before the run delays a payment by less than this time. */
const MAX_EARLIER_WORK_MS = 15_000;

/** The measured times set all later waits. The bench has no lease yet, so the service itself delivers all events. */
export async function runPlainPurchase(bench: Bench, onSlow: () => void) {
  const startedAt = bench.world.now();
  const firstPurchase = await purchaseOnce(bench, onSlow);
  const { useCommonIds } = bench;
  const hasOrder = firstPurchase.purchase.checkouts.length > 0;
  if (!hasOrder && useCommonIds !== undefined && (await wasNewestCreateRefused(bench, startedAt))) {
    useCommonIds();
    return purchaseOnce(bench, onSlow);
  }
  const isBusy = isLate(firstPurchase.verdict) && firstPurchase.recording.bookingMs < MAX_EARLIER_WORK_MS;
  // Orders that the merchant has named are few, and each can be bought only once.
  return isBusy && bench.shop.takeOrder === undefined ? purchaseOnce(bench, onSlow) : firstPurchase;
}

export async function wasNewestCreateRefused({ call }: Bench, startedAt: number): Promise<boolean> {
  const newestCreate = { method: "POST", path: "/v1/", by: "merchant", limit: 1 } as const;
  const { requests } = await call({ name: "listRequests", body: newestCreate });
  return requests.some(({ status, realAt }) => status === 400 && realAt >= startedAt);
}

async function purchaseOnce(bench: Bench, onSlow: () => void) {
  const { shop } = bench;
  const purchase = createPurchase(bench.newId(), { kind: shop.kinds?.[0] });
  const facts: Observation[] = [...dialectFacts(bench, true)];
  const finish = (recording: Recording, paidAt: number, verdict?: HistoryVerdict) => ({
    verdict: verdict ?? judgeHistory(bench.dialect === undefined ? PLAIN_HISTORY : {}, facts, shop.settleMs),
    recording,
    purchase,
    paidAt,
    shownOrder: facts.findLast((fact) => fact.kind === "look")?.view ?? null,
  });
  const runs = await createOrders(bench, purchase);
  const liveCount = purchase.checkouts.length;
  facts.push({ kind: "create", runs, isRefused: false, isRepeat: false, hasNewOrderId: false, liveCount });
  if (liveCount === 0) return finish(NO_RECORDING, 0, await noOrderVerdict(bench, purchase, runs));
  const { orderId, id } = lastCheckout(purchase);
  const { cartId } = purchase;
  const hasSameId = shop.create === undefined || orderId === cartId;
  const suffix = orderId.startsWith(cartId) ? orderId.slice(cartId.length) : "";
  const namesCheckout = runs.some(({ text }) => text.includes(id));
  const recording = { hasSameId, suffix, namesCheckout, bookingMs: 0, answerMs: 0 };
  if (shop.view === undefined) return finish(recording, bench.world.monotonic());
  await awaitDeliveries(bench, purchase);
  const firstReading = await awaitNewOrder(bench, purchase);
  if (firstReading.isMissing && shop.create === undefined)
    return finish(recording, 0, noVerdict(factOf("unknown_order"), "create", firstReading.got));
  facts.push(await lookFact(bench, purchase, firstReading));
  if (firstReading.order === null || firstReading.order.paid) return finish(recording, 0);
  const paidAt = await payOnPage(bench, purchase);
  const firstDeliveries = awaitDeliveries(bench, purchase);
  const [{ reading, bookedAt }] = await Promise.all([
    awaitPayment(bench, purchase, { firstDeliveries, onSlow }),
    firstDeliveries,
  ]);
  const bookingMs = bookedAt - paidAt;
  const deliveries = await awaitDeliveries(bench, purchase);
  purchase.isNotified = isAccepted(deliveries);
  facts.push(...refusedFacts(deliveries));
  const isWithoutEvents = deliveries.length === 0;
  const answerTimes = deliveries.flatMap(({ attempts }) =>
    attempts.map(({ milliseconds }) => milliseconds ?? 0),
  );
  const answerMs = Math.max(0, ...answerTimes);
  const measuredRecording = { ...recording, bookingMs, answerMs, isWithoutEvents };
  const finishMeasured = (verdict?: HistoryVerdict) => finish(measuredRecording, paidAt, verdict);
  if (!isBooked(reading) && isWithoutEvents)
    return finishMeasured(noVerdict(factOf("no_event_delivered"), "endpoint", reading.got));
  const notifiedPurchase = { ...purchase, isNotified: true };
  if (!isBooked(reading)) facts.push(await lookFact(bench, notifiedPurchase, reading));
  else {
    const waitMs = Math.max(PLAIN_WATCH_MS, quietMs({ recording: measuredRecording }));
    const laterLook = await lookAt({ ...bench, recording: measuredRecording }, notifiedPurchase, waitMs);
    facts.push({ ...laterLook, waitedMs: bookingMs });
  }
  return finishMeasured();
}

async function noOrderVerdict(
  bench: Bench,
  { cartId }: Purchase,
  runs: CreateFact["runs"],
): Promise<HistoryVerdict> {
  const log = await createsOf(bench, cartId);
  const watchedRuns = runs.map((run) => ({ ...run, isKilled: null, log }));
  const clientPurchase = { runs: watchedRuns, liveCount: 0, hasNewOrderId: false };
  const verdict = judgeHistory({}, [{ kind: "client", purchase: clientPurchase }], undefined);
  return verdict.state === "broken" && verdict.invariant === "one_key"
    ? verdict
    : noVerdict(factOf("no_order", runs[0]?.got ?? ""), "create");
}

/** Waits longer than `SLOW_MS` only if the shop has accepted the payment's event. */
async function awaitPayment(
  bench: Bench,
  purchase: Purchase,
  { firstDeliveries, onSlow }: { readonly firstDeliveries: Promise<Deliveries>; readonly onSlow: () => void },
) {
  const awaitBooking = async (waitMs: number) => {
    const reading = await awaitReading(bench, purchase, { isEnough: isBooked, waitMs });
    return { reading, bookedAt: bench.world.monotonic() };
  };
  const lastResult = await awaitBooking(SLOW_MS);
  if (isBooked(lastResult.reading)) return lastResult;
  const isSlow = isAccepted(await firstDeliveries);
  if (isSlow) onSlow();
  return awaitBooking(isSlow ? MAX_SETTLE_MS - SLOW_MS : 0);
}

async function payOnPage({ world, call, signal }: Bench, purchase: Purchase): Promise<number> {
  const checkout = lastCheckout(purchase);
  const { checkoutUrl } = await call({ name: "inspectCheckout", id: checkout.id, body: undefined });
  await world.send({
    method: "GET",
    url: checkoutUrl,
    headers: { Accept: "text/html" },
    timeoutMs: DELIVERY_TIMEOUT_MS,
    maxResponseBytes: 1_000_000,
    oversize: "cut",
    signal,
  });
  await call({ name: "pay", id: checkout.id, body: { outcome: "succeeded" } });
  purchase.paidCheckout = checkout;
  return world.monotonic();
}

type Deliveries = AnswerOf<"listDeliveries">["deliveries"];

async function awaitDeliveries({ world, call, signal }: Bench, purchase: Purchase): Promise<Deliveries> {
  const { id: checkoutId, orderId } = lastCheckout(purchase);
  const listDue = async () => {
    const { deliveries } = await call({ name: "listDeliveries", body: { checkoutId, state: "due" } });
    const mustRetry = deliveries.some(mayBeAccepted);
    if (mustRetry) {
      await world.sleep(RETRY_PAUSE_MS, signal);
      await call({ name: "retryDeliveries", body: { orderId } });
    }
    return { deliveries, mustRetry };
  };
  await poll(world, listDue, {
    // Later events of a checkout wait until the earlier event is accepted.
    isEnough: ({ deliveries, mustRetry }) =>
      !mustRetry && oldestByEndpoint(deliveries).every(({ attempts }) => attempts.length > 1),
    waitMs: DELIVERY_TIMEOUT_MS,
    firstPauseMs: REREAD_PAUSE_MS,
    signal,
  });
  return (await call({ name: "listDeliveries", body: { checkoutId } })).deliveries;
}

function oldestByEndpoint(deliveries: Deliveries): Deliveries {
  return [...new Map(deliveries.map((delivery) => [delivery.endpointId, delivery])).values()];
}

/** Whether the endpoint may still accept the delivery: it is busy, or has refused the delivery only once. */
function mayBeAccepted({ attempts }: Deliveries[number]): boolean {
  const lastAttempt = attempts.at(-1);
  if (lastAttempt === undefined || lastAttempt.finishedAt === null) return false;
  return attempts.length === 1 || BUSY_STATUSES.has(lastAttempt.status ?? 0);
}

function isAccepted(deliveries: Deliveries): boolean {
  return deliveries.some(({ type, state }) => isPayment(type) && state === "succeeded");
}

function refusedFacts(deliveries: Deliveries): readonly Observation[] {
  return deliveries.toReversed().flatMap(({ type, state, attempts }): readonly Observation[] => {
    const genuineAttempts = attempts.filter(({ fault }) => fault === null);
    const answers = genuineAttempts.map(({ status }) =>
      status === null ? factOf("no_answer") : String(status),
    );
    const isRefused = (answer: StepValue): boolean => isPayment(type) && isRefusal(answer);
    const got = state === "succeeded" ? answers.find(isRefused) : answers.at(-1);
    return got === undefined ? [] : [{ kind: "refused", type, isForeign: false, got }];
  });
}

function isPayment(type: string): boolean {
  return type.endsWith(".succeeded");
}
