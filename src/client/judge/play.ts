// Plays a history on a bench, and returns the observed facts.
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import { isUnbooked, judgeHistory } from "../../core/judge/judge.ts";
import { type Observation } from "../../core/judge/observation.ts";
import { neighbourIds } from "../../core/judge/neighbours.ts";
import {
  ORDER_NAMES,
  type ConcurrentStep,
  type History,
  type OrderName,
  type Step,
} from "../../core/judge/step.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import { poll } from "../poll.ts";
import {
  lastCheckout,
  createPurchase,
  NoOrder,
  ownCheckouts,
  refresh,
  type Bench,
  type Purchase,
  type Purchases,
} from "./bench.ts";
import { buy, createElsewhere } from "./buy.ts";
import { advance, deliverAll } from "./clock.ts";
import { expectedOrderId, purchaseOf, removeFaults, setFaults, type Play } from "./faults.ts";
import { awaitReading, MIN_QUIET_MS, lookAt, quietMs } from "./looks.ts";
import { openReturnPage } from "./returns.ts";
import {
  acceptedAnswersOf,
  deliver,
  redeliver,
  eventsOf,
  resultOf,
  noteAnswers,
  firstRefusal,
  tell,
  type Answers,
} from "./tell.ts";

/** How long a restarted shop may take until its view answers, and then until it accepts an event, in milliseconds. */
const RESTART_TIMEOUT_MS = { view: 15_000, event: 10_000 };
/** The pause before a refused event is sent to a restarted shop again, in milliseconds. */
const RESEND_PAUSE_MS = 500;
/** How long a shop may take until it sends its create, or asks about an open order by itself, in milliseconds. */
const AWAIT_TIMEOUT_MS = { create: 10_000, question: 6000 };
const POLL_PAUSE_MS = 50;
/** Plays all steps of a history, and removes its faults in any case. Throws NoOrder if the shop created no order. */
export async function playHistory(
  bench: Bench,
  history: History,
  {
    orders = new Map<OrderName, Purchase>(),
    kind = "order",
    facts = [],
    isReadAgain = false,
  }: {
    readonly orders?: Purchases;
    readonly kind?: CheckoutObject;
    /** Receives the observed facts, also from a history that cannot be played to its end. */
    readonly facts?: Observation[];
    readonly isReadAgain?: boolean;
  },
): Promise<readonly Observation[]> {
  const play: Play = {
    bench,
    history,
    orders,
    facts,
    faults: [],
    killController: new AbortController(),
    killWatch: undefined,
    isAfterOutage: false,
    isReadAgain,
  };
  nameOrders(play, kind);
  try {
    const { steps } = history;
    const endIndex = steps.findLastIndex(({ act }) => act !== "look") + 1;
    for (const [index, step] of steps.entries()) {
      if (bench.signal.aborted) break;
      if (!(await playStep(play, step, index >= endIndex))) break;
    }
    return play.facts;
  } finally {
    await removeFaults(play);
  }
}

function nameOrders({ bench, history: { neighbourKind }, orders }: Play, kind: CheckoutObject): void {
  if (orders.size > 0) return;
  const id = bench.newId();
  const ids = neighbourKind === undefined ? [id] : neighbourIds(id, neighbourKind);
  ORDER_NAMES.forEach((name, index) => orders.set(name, createPurchase(ids[index] ?? bench.newId(), kind)));
}

/** Plays a step; returns false if the rest of the history cannot be played. */
async function playStep(play: Play, step: Step, isLast = false): Promise<boolean> {
  switch (step.act) {
    case "look":
      return look(play, step.of, isLast);
    case "create":
      return buy(play, step);
    case "create_elsewhere":
      // The shop first gets the events of its own order that it has not accepted yet.
      await redeliver(play, step.of);
      return createElsewhere(play, step);
    case "pay":
      return pay(play, step);
    case "tell":
      await tell(play, step);
      return true;
    case "at_once":
      await runConcurrently(play, step.acts);
      return true;
    case "visit":
      await visit(play, step.of, step.form);
      return true;
    case "faults":
      await setFaults(play, step);
      return true;
    case "wait":
      await play.bench.world.sleep(step.milliseconds, play.bench.signal);
      return true;
    case "wait_for_others":
      await Promise.all([play.bench.othersDone, play.bench.world.sleep(step.minMs, play.bench.signal)]);
      return true;
    case "await":
      return awaitService(play, purchaseOf(play, step.of), step.kind);
    case "restart":
      return restart(play, step);
    case "deliver_all":
      await deliverAll(play, purchaseOf(play, step.of));
      return true;
  }
}

/**
 * Redelivers the events of all orders, and reads the view of one. A broken rule ends the history, because later steps
 * would hide it: another delivery hides that a payment was lost. A search continues, to find every broken rule.
 */
async function look(play: Play, orderName: OrderName, isLast: boolean): Promise<boolean> {
  for (const name of play.orders.keys()) await redeliver(play, name);
  const { bench, isReadAgain } = play;
  const waitMs = isLast && isReadAgain ? MIN_QUIET_MS : quietMs(bench);
  const fact = await lookAt(bench, orderName, purchaseOf(play, orderName), waitMs);
  play.facts.push(fact);
  return bench.search === undefined
    ? judgeHistory({}, play.facts, bench.shop.settleMs).state !== "broken"
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

/**
 * Waits until the service has stored an order's checkout, or the shop has asked by itself whether it is paid. Returns
 * false if the order_id is not known, because the shop draws its own.
 */
async function awaitService(
  { bench }: Play,
  purchase: Purchase,
  awaitedKind: keyof typeof AWAIT_TIMEOUT_MS,
): Promise<boolean> {
  const { world, call, leaseId, signal } = bench;
  const orderId = expectedOrderId(bench, purchase);
  if (orderId === undefined && awaitedKind === "create") return false;
  const isSeen = async (): Promise<boolean> => {
    if (awaitedKind === "create") {
      const { checkouts } = await call({ name: "listCheckouts", body: { orderId } });
      if (purchase.checkouts.length === 0) purchase.checkouts = checkouts;
      return checkouts.length > 0;
    }
    const { paidCheckouts } = await call({ name: "listRetrieves", id: leaseId, body: undefined });
    return purchase.paidCheckout === undefined || paidCheckouts.includes(purchase.paidCheckout.id);
  };
  const waitMs = AWAIT_TIMEOUT_MS[awaitedKind];
  await poll(world, isSeen, { isEnough: Boolean, waitMs, firstPauseMs: POLL_PAUSE_MS, signal });
  return true;
}

/** Starts all concurrent acts together, each after its delay. */
async function runConcurrently(play: Play, acts: readonly ConcurrentStep[]): Promise<void> {
  const { bench } = play;
  const { world, signal } = bench;
  const tellActs = acts.filter((act): act is Extract<ConcurrentStep, { tell: OrderName }> => "tell" in act);
  const payments = await Promise.all(
    tellActs.map(async ({ tell: name, copyCount = 1 }) => {
      const purchase = purchaseOf(play, name);
      const events = await eventsOf(bench, lastCheckout(purchase).id);
      const event = events.findLast(({ status }) => status === "succeeded");
      if (event === undefined) throw new NoOrder(factOf("no_payment"));
      return { purchase, event, copyCount };
    }),
  );
  const pause = (afterMs: number): Promise<void> =>
    afterMs === 0 ? Promise.resolve() : world.sleep(afterMs, signal);
  const [firstPayment, ...otherPayments] = payments;
  const sendAll = async (): Promise<void> => {
    if (firstPayment === undefined) return;
    await pause(tellActs[0]?.afterMs ?? 0);
    const otherIds = payments.flatMap(({ event, copyCount }, index) =>
      Array.from({ length: copyCount - (index === 0 ? 1 : 0) }, () => event.eventId),
    );
    const answers = await deliver(bench, firstPayment.purchase, {
      ...firstPayment.event,
      concurrentIds: otherIds,
    });
    for (const { purchase, event } of [firstPayment, ...otherPayments])
      // One accepted copy is enough: a receiver may answer a simultaneous copy with 409 or 503.
      noteAnswers(purchase, event, acceptedAnswersOf(answers, event.eventId));
  };
  const visits = acts.flatMap((act) => ("visit" in act ? [act] : []));
  const stepActs = acts.flatMap((act) => ("steps" in act ? [act] : []));
  const spans = acts.flatMap((act) => ("advanceMs" in act ? [act.advanceMs] : []));
  await awaitAll([
    sendAll(),
    ...spans.map((spanMs) => advance(bench, spanMs)),
    ...visits.map(async ({ visit: name, afterMs = 0 }) => {
      await pause(afterMs);
      await visit(play, name, undefined);
    }),
    ...stepActs.map(async ({ steps, share, during, delayMs = 0 }) => {
      const { visitMs = 0 } = purchaseOf(play, "a");
      await pause(share * (during === "visit" ? visitMs : bench.recording.answerMs + delayMs));
      for (const step of steps) if (!(await playStep(play, step))) break;
    }),
  ]);
}

/** Waits until all have ended, and then throws the first error, so that no work continues after a failed history. */
async function awaitAll(promises: readonly Promise<void>[]): Promise<void> {
  const failure = (await Promise.allSettled(promises)).find(({ status }) => status === "rejected");
  if (failure?.status === "rejected") throw failure.reason;
}

async function visit(
  play: Play,
  orderName: OrderName,
  form: Extract<Step, { act: "visit" }>["form"] = {},
): Promise<void> {
  const { bench, facts } = play;
  const { shop } = bench;
  const purchase = purchaseOf(play, orderName);
  // An error of the function proves nothing; the view shows the effect of the return.
  if (shop.returns !== undefined)
    return void (await shop.returns(lastCheckout(purchase)).catch(() => undefined));
  if (shop.returnUrl === undefined) throw new Error("a history of returns needs a return_url");
  const { session, ...formFields } = form;
  const checkout = lastCheckout(purchase);
  const { cookies } = purchase;
  const sessionId = session === null ? null : sessionOf(play, purchase, session);
  const isOwn = ownCheckouts(purchase).some(({ id }) => id === sessionId);
  const firstFailureStatus = play.faults.length > 0 ? 600 : isOwn ? 300 : 500;
  const visitOptions = { session: sessionId, cookies, firstFailureStatus } as const;
  const pageVisit = { page: shop.returnUrl, checkout, form: formFields, ...visitOptions };
  const startedAt = bench.world.monotonic();
  const result = await openReturnPage(bench, pageVisit);
  purchase.visitMs = bench.world.monotonic() - startedAt;
  facts.push({ kind: "visit", ...result });
}

function sessionOf(play: Play, purchase: Purchase, session: OrderName | "first" | undefined): string {
  if (session === "first") return purchase.checkouts[0]?.id ?? "";
  return lastCheckout(session === undefined ? purchase : purchaseOf(play, session)).id;
}

/**
 * Restarts the shop, possibly while it handles a payment event, and waits until its view answers and it accepts an
 * event that it accepted before. Returns false if the shop refuses the event, because nothing more can be judged then.
 */
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
  const sendAgain = (): Promise<Answers> => deliver(bench, purchase, event);
  const isEnough = (answers: Answers): boolean => firstRefusal(answers) === undefined;
  const refusal = firstRefusal(
    await poll(world, sendAgain, {
      isEnough,
      waitMs: RESTART_TIMEOUT_MS.event,
      firstPauseMs: RESEND_PAUSE_MS,
      signal,
    }),
  );
  if (refusal === undefined || signal.aborted) return true;
  const cause = "refuses_since_restart";
  play.facts.push({ kind: "refused", type: event.type, got: resultOf(refusal), isForeign: false, cause });
  return false;
}
