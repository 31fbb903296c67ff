// Plays a history on a bench, and returns what was seen.
import type { CheckoutObject } from "../../core/checkout/checkout.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import type { AnswerOf } from "../../core/control/operations.ts";
import { isUnbooked } from "../../core/judge/judge.ts";
import { type Observation } from "../../core/judge/observation.ts";
import { nearAmount, neighbourIds } from "../../core/judge/neighbours.ts";
import { ORDER_NAMES, type Act, type History, type OrderName, type Step } from "../../core/judge/step.ts";
import type { SaidValue } from "../../core/readiness/drill-shapes.ts";
import { englishOf, factOf } from "../../core/readiness/drills/said.ts";
import { poll } from "../poll.ts";
import {
  lastCheckout,
  newPurchase,
  NoOrder,
  refresh,
  type Bench,
  type Purchase,
  type Purchases,
  type SentAs,
} from "./bench.ts";
import { buy, createElsewhere } from "./buy.ts";
import { advance, deliverAll } from "./clock.ts";
import { expectedOrderId, purchaseOf, removeFaults, setFaults, type Play } from "./faults.ts";
import { awaitReading, LEAST_QUIET_MS, lookAt, quietMs } from "./looks.ts";
import { openReturnPage } from "./returns.ts";

/** How long a restarted shop may need until its view answers, in milliseconds. */
const RESTARTED_MS = 15_000;
/** The pause before a restarted shop gets an event again that it refused, in milliseconds. */
const TAKEN_AGAIN_MS = 500;
/** How long a shop may need until it asks about an open order by itself, and the pause between looks, in milliseconds. */
const QUESTION_MS = 2500;
const ASKED_AGAIN_MS = 50;
/** How long a shop may need until it sends its create, in milliseconds. */
const CREATED_MS = 10_000;
/** Pauses before an event without a 2xx is delivered again, in milliseconds, as a service does. */
const AGAIN_MS = [200, 500, 1100, 2500, 5000];
/** Timeout of sending events to all endpoints, in milliseconds: receivers may be slow. */
const DELIVER_TIMEOUT_MS = 120_000;
/** Plays all steps of a history. Throws NoOrder if the shop created no order, and removes its faults in any case. */
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
    /** Receives what is seen, also by a history that cannot be played to its end. */
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
    killing: new AbortController(),
    kills: undefined,
    isAfterOutage: false,
    isReadAgain,
  };
  nameOrders(play, kind);
  try {
    const { steps } = history;
    const last = steps.findLastIndex(({ act }) => act !== "look") + 1;
    for (const [at, step] of steps.entries()) {
      if (bench.signal.aborted) break;
      if (!(await playStep(play, step, at >= last))) break;
    }
    return play.facts;
  } finally {
    await removeFaults(play);
  }
}

function nameOrders({ bench, history: { neighbours }, orders }: Play, kind: CheckoutObject): void {
  if (orders.size > 0) return;
  const id = bench.newId();
  const ids = neighbours === undefined ? [id] : neighbourIds(id, neighbours);
  ORDER_NAMES.forEach((name, at) => orders.set(name, newPurchase(ids[at] ?? bench.newId(), kind)));
}

/** Plays a step; returns false if the rest of the history cannot follow. */
async function playStep(play: Play, step: Step, isLast = false): Promise<boolean> {
  switch (step.act) {
    case "look":
      return look(play, step.of, isLast);
    case "create":
      return step.isToldMeanwhile === true ? buyWhileTold(play, step) : buy(play, step);
    case "create_elsewhere":
      // The shop knows its own order first, also if it was busy.
      await deliverOpen(play, step.of);
      return createElsewhere(play, step);
    case "pay":
      return pay(play, step);
    case "tell":
      await tell(play, step);
      return true;
    case "at_once":
      await atOnce(play, step.acts);
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
      await Promise.all([play.bench.others, play.bench.world.sleep(step.leastMs, play.bench.signal)]);
      return true;
    case "await_question":
      await awaitQuestion(play, purchaseOf(play, step.of));
      return true;
    case "restart":
      return restart(play, step);
    case "deliver_all":
      await deliverAll(play, purchaseOf(play, step.of));
      return true;
  }
}

/** A payment that is not shown ends the history: another delivery would hide that it was lost. */
async function look(play: Play, of: OrderName, isLast: boolean): Promise<boolean> {
  for (const name of play.orders.keys()) await deliverOpen(play, name);
  const { bench, isReadAgain } = play;
  const waitMs = isLast && isReadAgain ? LEAST_QUIET_MS : quietMs(bench);
  const fact = await lookAt(bench, of, purchaseOf(play, of), waitMs);
  play.facts.push(fact);
  return !isUnbooked(fact);
}

/** The shop creates an order, and its first event arrives before the answer. */
async function buyWhileTold(play: Play, step: Extract<Step, { act: "create" }>): Promise<boolean> {
  const { bench } = play;
  const { world, call, signal } = bench;
  const purchase = purchaseOf(play, step.of);
  const ended = new AbortController();
  const orderId = expectedOrderId(bench, purchase) ?? purchase.cartId;
  const list = { name: "listCheckouts", body: { orderId } } as const;
  const tellEarly = async (): Promise<void> => {
    const { checkouts } = await poll(world, () => call(list), {
      isEnough: (found) => found.checkouts.length > 0,
      waitMs: CREATED_MS,
      firstPauseMs: ASKED_AGAIN_MS,
      signal: AbortSignal.any([signal, ended.signal]),
    });
    if (checkouts.length === 0) return;
    if (purchase.checkouts.length === 0) purchase.checkouts = checkouts;
    await tell(play, { act: "tell", of: step.of, statuses: ["created"] });
  };
  const [isBought] = await Promise.all([buy(play, step).finally(() => ended.abort()), tellEarly()]);
  return isBought;
}

async function pay(play: Play, { of, outcome, isLate }: Extract<Step, { act: "pay" }>): Promise<boolean> {
  const { bench } = play;
  const purchase = purchaseOf(play, of);
  // Without the address of the payment page, nobody can pay.
  if (purchase.isUnknown === true) return true;
  const { id, status } = lastCheckout(purchase);
  if (isFinal(status) && isLate !== true) return bench.search !== undefined;
  const { leaseId } = bench;
  await bench.call({ name: "pay", id, body: { outcome, ...(leaseId !== "" && { leaseId }) } });
  await refresh(bench, purchase);
  const now = purchase.checkouts.find((one) => one.id === id);
  if (now?.status === "succeeded" && !purchase.foreign.has(id)) {
    purchase.paid = now;
    purchase.isTold = false;
  }
  return true;
}

/** Waits until the shop has retrieved the paid checkout by itself, as a job does that asks about open orders. */
async function awaitQuestion({ bench }: Play, { paid }: Purchase): Promise<void> {
  const { world, call, leaseId, signal } = bench;
  await poll(world, () => call({ name: "listRetrieves", id: leaseId, body: undefined }), {
    isEnough: ({ paidCheckouts }) => paid === undefined || paidCheckouts.includes(paid.id),
    waitMs: QUESTION_MS,
    firstPauseMs: ASKED_AGAIN_MS,
    signal,
  });
}

type EventRef = {
  readonly eventId: string;
  readonly type: string;
  readonly status: string;
  readonly checkoutId: string;
};

async function eventsOf({ call }: Bench, id: string): Promise<readonly EventRef[]> {
  const { events } = await call({ name: "inspectCheckout", id, body: undefined });
  return events.map(({ eventId, type }) => ({
    eventId,
    type,
    status: type.split(".")[1] ?? "",
    checkoutId: id,
  }));
}

async function tell(play: Play, step: Extract<Step, { act: "tell" }>): Promise<void> {
  const { bench } = play;
  const { of, statuses, how, from, idLike: same } = step;
  const purchase = purchaseOf(play, of);
  const begun = bench.world.monotonic();
  const { checkouts, foreign } = purchase;
  const told = {
    first: checkouts.slice(0, 1),
    elsewhere: checkouts.filter(({ id }) => foreign.has(id)),
    last: [lastCheckout(purchase)],
  }[from ?? "last"];
  const events = (await Promise.all(told.map(({ id }) => eventsOf(bench, id)))).flat();
  const wanted =
    statuses === undefined
      ? events
      : statuses.flatMap((status) => events.filter((event) => event.status === status));
  const idLike = same === undefined ? {} : { idLike: { eventId: await lastEventOf(play, "a"), same } };
  for (const event of wanted) {
    const form = { ...formOf(how, lastCheckout(purchase)), ...idLike };
    const answers = await deliver(bench, purchase, { ...event, sent: form });
    if (how === undefined || how === "in_parts" || how === "late")
      noteAnswers(purchase, { ...event, sent: form }, answers);
    if (how === "forged") play.facts.push(...forgedFacts(answers));
  }
  purchase.eventMs = (bench.world.monotonic() - begun) / Math.max(1, wanted.length);
}

/** Currencies of which at most one is an order's: few tables of rates have them. */
const RARE_CURRENCIES = ["ISK", "XPF"];

function formOf(
  how: Extract<Step, { act: "tell" }>["how"],
  { amountMinor, currency }: { readonly amountMinor: number; readonly currency: string },
): SentAs {
  if (how === undefined) return {};
  if (how === "less" || how === "more")
    return { elsewhere: { amountMinor: nearAmount(amountMinor, how), currency } };
  if (how !== "other_currency") return { how };
  const other = RARE_CURRENCIES.find((one) => one !== currency) ?? currency;
  return { elsewhere: { amountMinor, currency: other } };
}

async function lastEventOf(play: Play, of: OrderName): Promise<string> {
  const event = (await eventsOf(play.bench, lastCheckout(purchaseOf(play, of)).id)).at(-1);
  if (event === undefined) throw new NoOrder(factOf("no_payment"));
  return event.eventId;
}

type Answers = AnswerOf<"deliverForDrill">["answers"];

function forgedFacts(answers: Answers): readonly Observation[] {
  return answers.map((answer) => ({ kind: "forged", isAccepted: isTaken(answer), got: gotOf(answer) }));
}

function gotOf({ status, error }: Pick<Answers[number], "status" | "error">): SaidValue {
  if (status !== null) return String(status);
  return factOf(error === null ? "no_answer" : `no_answer:${error}`);
}

/** Delivers an event of a purchase, with others `together`, and notes that for its story. */
async function deliver(
  bench: Bench,
  purchase: Pick<Purchase, "sent">,
  wanted: {
    readonly eventId: string;
    readonly type: string;
    readonly sent?: SentAs;
    readonly together?: readonly string[];
  },
): Promise<Answers> {
  const { call, leaseId, noted, signal, world } = bench;
  const { eventId, type, sent = {}, together } = wanted;
  const subject = noted.subject === undefined ? {} : { subject: noted.subject };
  const at = world.monotonic();
  const { subject: used, answers } = await call({
    name: "deliverForDrill",
    body: { leaseId, eventId, ...sent, ...(together && { together }), ...subject },
    timeoutMs: DELIVER_TIMEOUT_MS,
    signal,
  });
  noted.subject = used;
  const forms = Object.keys(sent).map((form) => FORM_TEXTS[form as keyof SentAs]);
  const what = [`the run delivered ${type}`, ...forms].join(", ");
  const got = answers.map((answer) => englishOf(gotOf(answer))).join(", ");
  purchase.sent.push({ at, text: `${what}: ${got}` });
  return answers;
}

/** How the run has sent an event, for a story. */
const FORM_TEXTS: Readonly<Record<keyof Required<SentAs>, string>> = {
  forged: "forged as a payment with a wrong signature",
  otherId: "with another id in its header",
  unknownType: "with a type that does not exist",
  inParts: "in two parts",
  late: "as the last attempt of its schedule",
  idLike: "with an id that resembles another one",
  elsewhere: "for a payment with another amount or currency",
};

/** Notes whether an event was accepted; an event without a 2xx stays open, and is delivered again. */
function noteAnswers(
  purchase: Purchase,
  event: Omit<EventRef, "status"> & { readonly sent?: SentAs },
  answers: Answers,
): void {
  const own = answers.filter(({ eventId }) => eventId === event.eventId);
  const refused = refusedIn(own);
  const { eventId, type, checkoutId, sent = {} } = event;
  const others = purchase.open.filter((one) => one.eventId !== eventId);
  if (refused !== undefined) {
    purchase.open = [...others, { eventId, type, checkoutId, sent, got: gotOf(refused) }];
    return;
  }
  purchase.open = others;
  if (own.length > 0) purchase.taken ??= { eventId, type };
  const isPayment = type.endsWith(".succeeded") && checkoutId === purchase.paid?.id;
  if (own.length > 0 && isPayment) purchase.isTold = true;
}

function isTaken({ status }: Answers[number]): boolean {
  return status !== null && status >= 200 && status < 300;
}

function refusedIn(answers: Answers): Answers[number] | undefined {
  return answers.find((answer) => !isTaken(answer));
}

/** Whether the shop refuses an event of an order that it has accepted before, so that a restart is no cause of that. */
export async function refusesAgain(bench: Bench, purchase: Purchase): Promise<boolean> {
  const [first] = await eventsOf(bench, lastCheckout(purchase).id);
  return first !== undefined && refusedIn(await deliver(bench, purchase, first)) !== undefined;
}

/** Delivers the open events of an order again, some times; those that are never accepted are a fact. */
async function deliverOpen(play: Play, of: OrderName): Promise<void> {
  const { bench, facts, isAfterOutage } = play;
  const purchase = purchaseOf(play, of);
  if (play.faults.length > 0) return;
  for (const pauseMs of [0, ...AGAIN_MS]) {
    if (purchase.open.length === 0) return;
    if (pauseMs > 0) await bench.world.sleep(pauseMs, bench.signal);
    for (const event of purchase.open) noteAnswers(purchase, event, await deliver(bench, purchase, event));
  }
  for (const { type, got, checkoutId } of purchase.open)
    facts.push({ kind: "refused", type, got, isForeign: purchase.foreign.has(checkoutId), isAfterOutage });
  purchase.open = [];
}

/** Begins all acts of a moment together, each after its time. */
async function atOnce(play: Play, acts: readonly Act[]): Promise<void> {
  const { bench } = play;
  const { world, signal } = bench;
  const tells = acts.filter((act): act is Extract<Act, { tell: OrderName }> => "tell" in act);
  const payments = await Promise.all(
    tells.map(async ({ tell: name, copies = 1 }) => {
      const purchase = purchaseOf(play, name);
      const events = await eventsOf(bench, lastCheckout(purchase).id);
      const event = events.findLast(({ status }) => status === "succeeded");
      if (event === undefined) throw new NoOrder(factOf("no_payment"));
      return { purchase, event, copies };
    }),
  );
  const wait = (afterMs: number): Promise<void> =>
    afterMs === 0 ? Promise.resolve() : world.sleep(afterMs, signal);
  const [first, ...others] = payments;
  const sendAll = async (): Promise<void> => {
    if (first === undefined) return;
    await wait(tells[0]?.afterMs ?? 0);
    const together = payments.flatMap(({ event, copies }, at) =>
      Array.from({ length: copies - (at === 0 ? 1 : 0) }, () => event.eventId),
    );
    const answers = await deliver(bench, first.purchase, { ...first.event, together });
    for (const { purchase, event } of [first, ...others])
      // One accepted copy is enough: a receiver may answer 409 or 503 to another at the same moment.
      noteAnswers(purchase, event, acceptedOf(answers, event.eventId));
  };
  const visits = acts.flatMap((act) => ("visit" in act ? [act] : []));
  const parts = acts.flatMap((act) => ("steps" in act ? [act] : []));
  const spans = acts.flatMap((act) => ("advanceMs" in act ? [act.advanceMs] : []));
  await Promise.all([
    sendAll(),
    ...spans.map((byMs) => advance(bench, byMs)),
    ...visits.map(async ({ visit: name, afterMs = 0 }) => {
      await wait(afterMs);
      await visit(play, name, undefined);
    }),
    ...parts.map(async ({ steps, part, during, delayMs = 0 }) => {
      const { visitMs = 0 } = purchaseOf(play, "a");
      await wait(part * (during === "visit" ? visitMs : bench.recording.answerMs + delayMs));
      for (const step of steps) if (!(await playStep(play, step))) break;
    }),
  ]);
}

/** The accepted answers to an event, otherwise all. */
function acceptedOf(answers: Answers, eventId: string): Answers {
  const own = answers.filter((one) => one.eventId === eventId);
  const accepted = own.filter(isTaken);
  return accepted.length > 0 ? accepted : own;
}

async function visit(
  play: Play,
  of: OrderName,
  form: Extract<Step, { act: "visit" }>["form"] = {},
): Promise<void> {
  const { bench, facts } = play;
  const { shop } = bench;
  const purchase = purchaseOf(play, of);
  // A function that fails proves nothing, and what it did is seen in the view.
  if (shop.returns !== undefined)
    return void (await shop.returns(lastCheckout(purchase)).catch(() => undefined));
  if (shop.returnUrl === undefined) throw new Error("a history of returns needs a return_url");
  const { session, ...rest } = form;
  const checkout = lastCheckout(purchase);
  const sessionId =
    session === null
      ? null
      : session === undefined
        ? checkout.id
        : lastCheckout(purchaseOf(play, session)).id;
  const { cookies } = purchase;
  const opened = { page: shop.returnUrl, checkout, form: rest, session: sessionId, cookies };
  const begun = bench.world.monotonic();
  const visited = await openReturnPage(bench, opened);
  purchase.visitMs = bench.world.monotonic() - begun;
  facts.push({ kind: "visit", ...visited });
}

/**
 * Restarts the shop, possibly while it handles a payment event, and waits until its view answers, and the shop takes an
 * event again that it took before. Returns false if it does not: nothing more can be judged then.
 */
async function restart(
  play: Play,
  { how, during, afterMs = 0, part = 0 }: Extract<Step, { act: "restart" }>,
): Promise<boolean> {
  const { bench } = play;
  const { world, shop, signal, recording } = bench;
  const telling =
    during === undefined ? undefined : tell(play, { act: "tell", of: during, statuses: ["succeeded"] });
  const purchase = purchaseOf(play, "a");
  const beginsMs = Math.max(afterMs, part * (purchase.eventMs ?? 0));
  if (beginsMs > 0) await world.sleep(beginsMs, signal);
  await shop.restart?.(how);
  await telling;
  if (shop.view === undefined) return true;
  const waitMs = RESTARTED_MS;
  const { order } = await awaitReading(bench, purchase, {
    isEnough: (reading) => reading.order !== null,
    waitMs,
  });
  const { taken } = purchase;
  if (order === null || taken === undefined || recording.refusesAgain === true) return true;
  const sendAgain = (): Promise<Answers> => deliver(bench, purchase, taken);
  const isEnough = (answers: Answers): boolean => refusedIn(answers) === undefined;
  const refused = refusedIn(
    await poll(world, sendAgain, { isEnough, waitMs, firstPauseMs: TAKEN_AGAIN_MS, signal }),
  );
  if (refused === undefined || signal.aborted) return true;
  const cause = "refuses_since_restart";
  play.facts.push({ kind: "refused", type: taken.type, got: gotOf(refused), isForeign: false, cause });
  return false;
}
