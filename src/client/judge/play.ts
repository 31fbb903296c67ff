import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { answersIn, mustShopKnow } from "../../core/judge/deliveries.ts";
import { isRefusal, isUnbooked, judgeHistory } from "../../core/judge/judge.ts";
import type { ObservedDelivery } from "../../core/judge/observation.ts";
import { isAnsweredWithSecret } from "../../core/judge/secrets.ts";
import { neighbourIds } from "../../core/judge/neighbours.ts";
import {
  ORDER_NAMES,
  orderNamesIn,
  type ConcurrentStep,
  type History,
  type OrderName,
  type ReturnForm,
  type Step,
} from "../../core/judge/step.ts";
import { poll } from "../poll.ts";
import { createCookieJar } from "./shop/cookies.ts";
import { lastCheckout, createPurchase, ownCheckouts, type Bench, type Purchase } from "./bench.ts";
import { refresh } from "./checkouts.ts";
import { buy, createElsewhere, hasNewOrderId } from "./buy.ts";
import { expectedOrderId, purchaseOf, removeFaults, setFaults, type Play } from "./faults.ts";
import { awaitReading, hasRetrieved, MIN_QUIET_MS, lookAt, quietMs } from "./looks.ts";
import { openReturnPage } from "./returns.ts";
import {
  acceptedAnswersOf,
  deliver,
  redeliver,
  lastEventOf,
  resultOf,
  noteAnswers,
  firstRefusal,
  tell,
} from "./tell.ts";

/** How long a restarted shop may take until its view answers, and then until it accepts an event, in milliseconds. */
const RESTART_TIMEOUT_MS = { view: 15_000, event: 10_000 };
const RESEND_PAUSE_MS = 500;
/** `create`: until the shop sends its create. `question`: until it asks about an open order by itself. */
const AWAIT_TIMEOUT_MS = { create: 10_000, question: 6000 };
/** Fraction of the duration of the last visit after which a customer closes the return page. */
const CLOSED_SHARE = 0.4;
const POLL_PAUSE_MS = 50;
/** Within this time an order expires and its deliveries use all their attempts, in milliseconds. */
const SPAN_MS = 72 * 3_600_000;
const MAX_SPANS = 5;
const PAGE_LIMIT = 1000;
const MAX_DRAWS = 5;

export async function ordersOf(
  bench: Bench,
  { neighbourKind, isOneBrowser, steps }: Pick<History, "neighbourKind" | "isOneBrowser" | "steps">,
  kind: CheckoutObject,
): Promise<readonly Purchase[]> {
  const ids =
    neighbourKind === undefined
      ? await Promise.all(orderNamesIn(steps).map(() => drawUnused(bench, (id) => [id])))
      : [await drawUnused(bench, (id) => neighbourIds(id, neighbourKind).flatMap((one) => one ?? []))];
  const cookies = isOneBrowser === true ? createCookieJar() : undefined;
  const purchases = ORDER_NAMES.map((name, index) =>
    createPurchase(ids.flat()[index] ?? bench.newId(), { kind, name, cookies }),
  );
  for (const { cartId } of purchases) bench.notes.drawnIds.add(cartId);
  return purchases;
}

/** In a store with many orders, a drawn order_id or its neighbour may already have one. */
async function drawUnused(
  { call, newId, notes }: Pick<Bench, "call" | "newId" | "notes">,
  withNeighbours: (id: string) => readonly string[],
): Promise<readonly string[]> {
  for (let draw = 1; ; draw += 1) {
    const ids = withNeighbours(newId());
    const lists = await Promise.all(
      ids.map((orderId) => call({ name: "listCheckouts", body: { orderId, limit: 1 } })),
    );
    const areUnused =
      lists.every(({ checkouts }) => checkouts.length === 0) && !ids.some((id) => notes.drawnIds.has(id));
    if (areUnused || draw === MAX_DRAWS) return ids;
  }
}

/** Removes the faults in any case. Throws NoOrder if the shop created no order. */
export async function playHistory(
  bench: Bench,
  history: History,
  parts: Pick<Play, "orders" | "facts" | "isReadAgain">,
): Promise<void> {
  const play: Play = {
    bench,
    history,
    ...parts,
    faults: [],
    killController: new AbortController(),
    endKillWatch: undefined,
    isAfterOutage: false,
  };
  try {
    const { steps } = history;
    const endIndex = steps.findLastIndex(({ act }) => act !== "look") + 1;
    for (const [index, step] of steps.entries())
      if (bench.signal.aborted || (await playStep(play, step, index >= endIndex)) === false) break;
  } finally {
    await removeFaults(play);
  }
}

async function playStep(play: Play, step: Step, isLast = false): Promise<boolean | void> {
  const { world, signal, awaitOthers } = play.bench;
  switch (step.act) {
    case "look":
      return look(play, purchaseOf(play, step.of), isLast);
    case "create":
      return buy(play, step);
    case "create_elsewhere":
      // The shop first gets the events of its own order that it has not accepted yet.
      await redeliver(play, purchaseOf(play, step.of));
      return createElsewhere(play, step);
    case "pay":
      return pay(play, step);
    case "tell":
      return tell(play, step);
    case "at_once":
      return runConcurrently(play, step.acts);
    case "visit":
      return visit(play, step.of, step.form);
    case "faults":
      return setFaults(play, step);
    case "wait":
      return world.sleep(step.milliseconds, signal);
    case "wait_for_others":
      await Promise.all([awaitOthers?.(), world.sleep(step.minMs, signal)]);
      return;
    case "await":
      return awaitService(play, purchaseOf(play, step.of), step.kind);
    case "restart":
      return restart(play, step);
    case "deliver_all":
      return deliverAll(play, purchaseOf(play, step.of));
  }
}

/**
 * A broken rule ends the history, because later steps would hide it: another delivery hides that a payment
 * was lost. In a search, only an unbooked payment ends it.
 */
async function look(play: Play, purchase: Purchase, isLast: boolean): Promise<boolean> {
  const { bench, facts, isReadAgain } = play;
  for (const order of play.orders) await redeliver(play, order);
  const fact = await lookAt(bench, purchase, isLast && isReadAgain ? MIN_QUIET_MS : quietMs(bench));
  facts.push(fact);
  return bench.search === undefined
    ? judgeHistory({}, facts, bench.shop.settleMs).state !== "broken"
    : !isUnbooked(fact);
}

async function pay(play: Play, { of, outcome, isLate }: Extract<Step, { act: "pay" }>): Promise<boolean> {
  const { bench } = play;
  const purchase = purchaseOf(play, of);
  // Nobody can pay without the address of the payment page.
  if (purchase.isPageUnknown === true) return true;
  const { id, status } = lastCheckout(purchase);
  if (isFinal(status) && isLate !== true) return bench.search !== undefined;
  const { leaseId } = bench;
  await bench.call({ name: "pay", id, body: { outcome, ...(leaseId !== "" && { leaseId }) } });
  await refresh(bench, purchase);
  const currentCheckout = purchase.checkouts.find((checkout) => checkout.id === id);
  if (currentCheckout?.status === "succeeded" && !purchase.foreignIds.has(id)) {
    purchase.paidCheckout = currentCheckout;
    purchase.isNotified = false;
  }
  return true;
}

/** Waits at most `AWAIT_TIMEOUT_MS`. Returns false, without waiting, for a `create` whose order_id is unknown. */
async function awaitService(
  { bench }: Play,
  purchase: Purchase,
  awaitedKind: keyof typeof AWAIT_TIMEOUT_MS,
): Promise<boolean> {
  const { world, call, signal } = bench;
  const orderId = expectedOrderId(bench, purchase);
  if (orderId === undefined && awaitedKind === "create") return false;
  const isSeen = async (): Promise<boolean> => {
    if (awaitedKind === "question") return hasRetrieved(bench, purchase);
    const { checkouts } = await call({ name: "listCheckouts", body: { orderId } });
    if (purchase.checkouts.length === 0) purchase.checkouts = checkouts;
    return checkouts.length > 0;
  };
  const waitMs = AWAIT_TIMEOUT_MS[awaitedKind];
  await poll(world, isSeen, { isEnough: Boolean, waitMs, firstPauseMs: POLL_PAUSE_MS, signal });
  return true;
}

async function runConcurrently(play: Play, acts: readonly ConcurrentStep[]): Promise<void> {
  const { bench } = play;
  const pause = (pauseMs = 0): Promise<void> =>
    pauseMs === 0 ? Promise.resolve() : bench.world.sleep(pauseMs, bench.signal);
  const tellActs = acts.flatMap((act) => ("tell" in act ? [act] : []));
  const payments = await Promise.all(
    tellActs.map(async (act) => {
      const purchase = purchaseOf(play, act.tell);
      return { act, purchase, event: await lastEventOf(bench, purchase, "succeeded") };
    }),
  );
  const deliverAtOnce = async (): Promise<void> => {
    const [firstPayment] = payments;
    if (firstPayment === undefined) return;
    await pause(firstPayment.act.afterMs);
    const [, ...concurrentIds] = payments.flatMap(({ act: { copyCount = 1 }, event }) =>
      Array.from({ length: copyCount }, () => event.eventId),
    );
    const answers = await deliver(bench, firstPayment.purchase, { ...firstPayment.event, concurrentIds });
    for (const { purchase, event } of payments)
      // One accepted copy is enough: a receiver may answer a simultaneous copy with 409 or 503.
      noteAnswers(purchase, event, acceptedAnswersOf(answers, event.eventId));
  };
  const visitLater = async (orderName: OrderName, afterMs: number | undefined): Promise<void> => {
    await pause(afterMs);
    await visit(play, orderName);
  };
  const playLater = async ({ steps, share, during, delayMs = 0 }: ShareStep): Promise<void> => {
    await pause(share * (during === "visit" ? visitMsOf(play) : bench.recording.answerMs + delayMs));
    for (const step of steps) if ((await playStep(play, step)) === false) break;
  };
  await awaitAll([
    deliverAtOnce(),
    ...acts.flatMap((act) => ("advanceMs" in act ? [advance(bench, act.advanceMs)] : [])),
    ...acts.flatMap((act) => ("visit" in act ? [visitLater(act.visit, act.afterMs)] : [])),
    ...acts.flatMap((act) => ("steps" in act ? [playLater(act)] : [])),
  ]);
}

type ShareStep = Extract<ConcurrentStep, { readonly share: number }>;

/** Throws the first error only after all promises have settled, so that no work continues after a failed history. */
async function awaitAll(promises: readonly Promise<void>[]): Promise<void> {
  const failure = (await Promise.allSettled(promises)).find(({ status }) => status === "rejected");
  if (failure?.status === "rejected") throw failure.reason;
}

async function visit(
  play: Play,
  orderName: OrderName,
  { session, secondSession, query = "", isClosed, ...otherForm }: ReturnForm = {},
): Promise<void> {
  const { bench, facts } = play;
  const { shop, world } = bench;
  const purchase = purchaseOf(play, orderName);
  const checkout = lastCheckout(purchase);
  if (shop.returns !== undefined) {
    // An error of the function proves nothing; the view shows the effect of the return.
    await shop.returns(checkout).catch(() => undefined);
    return;
  }
  if (shop.returnUrl === undefined) throw new Error("a history of returns needs a return_url");
  const sessionId = sessionOf(play, purchase, session);
  const secondId = secondSession && lastCheckout(purchaseOf(play, secondSession)).id;
  const form = { ...otherForm, query: secondId === undefined ? query : `${query}&session_id=${secondId}` };
  const isOwn = secondId === undefined && ownCheckouts(purchase).some(({ id }) => id === sessionId);
  const firstFailureStatus = play.faults.length > 0 ? 600 : isOwn ? 300 : 500;
  const { cookies } = purchase;
  const startedAt = world.monotonic();
  const closeController = new AbortController();
  const visiting = openReturnPage(
    { ...bench, signal: AbortSignal.any([bench.signal, closeController.signal]) },
    { page: shop.returnUrl, checkout, form, session: sessionId, cookies, firstFailureStatus },
  );
  if (isClosed === true) {
    await world.sleep(visitMsOf(play) * CLOSED_SHARE, bench.signal);
    closeController.abort();
    await visiting;
    return;
  }
  const result = await visiting;
  purchase.visitMs = world.monotonic() - startedAt;
  facts.push({ kind: "visit", ...result });
}

function visitMsOf({ orders }: Play): number {
  return orders.flatMap(({ visitMs }) => visitMs ?? []).at(-1) ?? 0;
}

function sessionOf(play: Play, purchase: Purchase, session: ReturnForm["session"]): string | null {
  if (session === null) return null;
  if (session === "first") return purchase.checkouts[0]?.id ?? "";
  return lastCheckout(session === undefined ? purchase : purchaseOf(play, session)).id;
}

/** Returns false if the shop refuses an event that it accepted before, because nothing more can be judged then. */
async function restart(
  play: Play,
  { mode, during, afterMs = 0, share = 0 }: Extract<Step, { act: "restart" }>,
): Promise<boolean> {
  const { bench } = play;
  const { world, shop, signal, recording } = bench;
  const notification =
    during === undefined
      ? Promise.resolve()
      : tell(play, { act: "tell", of: during, statuses: ["succeeded"] });
  const purchase = purchaseOf(play, "a");
  const startDelayMs = Math.max(afterMs, share * (purchase.eventMs ?? 0));
  const restartLater = async (): Promise<void> => {
    if (startDelayMs > 0) await world.sleep(startDelayMs, signal);
    await shop.restart?.(mode);
  };
  await awaitAll([restartLater(), notification]);
  if (shop.view === undefined) return true;
  const { order } = await awaitReading(bench, purchase, {
    isEnough: (reading) => reading.order !== null,
    waitMs: RESTART_TIMEOUT_MS.view,
  });
  const { acceptedEvent: event } = purchase;
  if (order === null || event === undefined || recording.refusesAgain === true) return true;
  const sendAgain = async () => firstRefusal(await deliver(bench, purchase, event));
  // While the API is disturbed, a shop that asks it about each event may ask for the event again.
  const mayRefuse = (answer: Parameters<typeof resultOf>[0]): boolean =>
    play.faults.length > 0 && !isRefusal(resultOf(answer));
  const refusal = await poll(world, sendAgain, {
    isEnough: (answer) => answer === undefined || mayRefuse(answer),
    waitMs: RESTART_TIMEOUT_MS.event,
    firstPauseMs: RESEND_PAUSE_MS,
    signal,
  });
  if (refusal === undefined || mayRefuse(refusal) || signal.aborted) return true;
  const cause = "refuses_since_restart";
  play.facts.push({ kind: "refused", type: event.type, got: resultOf(refusal), isForeign: false, cause });
  return false;
}

async function advance({ call }: Bench, spanMs: number): Promise<void> {
  await call({ name: "moveClock", body: { action: "advance", byMs: spanMs } });
}

async function deliverAll({ bench, facts }: Play, purchase: Purchase): Promise<void> {
  let deliveries: readonly ObservedDelivery[] = [];
  for (let span = 1; span <= MAX_SPANS; span += 1) {
    await advance(bench, SPAN_MS);
    await refresh(bench, purchase);
    deliveries = await deliveriesOf(bench, purchase);
    const areFinal = purchase.checkouts.every(({ status }) => isFinal(status));
    if (areFinal && deliveries.every(({ state }) => state !== "due")) break;
  }
  purchase.deliveries = deliveries;
  purchase.isNotified = mustShopKnow(deliveries);
  const liveCount = purchase.checkouts.length;
  const clientFact = { runs: [], liveCount, hasNewOrderId: hasNewOrderId(bench, purchase) };
  facts.push(...answersIn(deliveries), { kind: "client", purchase: clientFact });
}

async function deliveriesOf(
  { call, search, notes }: Bench,
  { cartId }: Purchase,
): Promise<readonly ObservedDelivery[]> {
  const { endpointId } = search ?? {};
  const runFilter = endpointId === undefined ? {} : { orderId: cartId, endpointId };
  const { deliveries } = await call({ name: "listDeliveries", body: { limit: PAGE_LIMIT, ...runFilter } });
  if (deliveries.some(isAnsweredWithSecret)) notes.secretPlaces.add("answer");
  return deliveries
    .map(({ type: eventType, cause, state, attempts }) => ({ eventType, cause, state, attempts }))
    .toReversed();
}
