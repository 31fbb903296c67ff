import {
  findBrokenKey,
  hasAnswerArrived,
  retriesEarly,
  isRightlyDone,
  type LoggedCreate,
  type WatchedRun,
} from "../../core/judge/client.ts";
import { nearAmount } from "../../core/judge/neighbours.ts";
import type { CreateFact } from "../../core/judge/observation.ts";
import type { Step } from "../../core/judge/step.ts";
import { factOf } from "../../core/readiness/drills/said.ts";
import { DRILL_AGENT } from "../../core/network/headers.ts";
import {
  lastCheckout,
  liveCheckouts,
  NoOrder,
  ownCheckouts,
  type Bench,
  type CreateRun,
  type Purchase,
} from "./bench.ts";
import { createOrders, refresh } from "./checkouts.ts";
import { lookAgain, bookingTimeoutMs } from "./looks.ts";
import { endKills, expectedOrderId, purchaseOf, removeFaults, type Play } from "./faults.ts";

const REFUSAL_TIMEOUT_MS = 20_000;
/** Greater than the number of answers that any history loses. */
const MAX_RUNS = 6;
const MAX_SEARCH_RUNS = 2;
const REPEAT_PAUSE_MS = 2500;
const PAUSE_AFTER_KILL_MS = 10_500;
const EARLY_RETRY_MS = 500;
const CUT_ACTIONS: ReadonlySet<string> = new Set(["truncate", "empty"]);
const CUT_OR_LATE_ACTIONS: ReadonlySet<string> = new Set([...CUT_ACTIONS, "latency", "slow_body"]);
const MAX_LOG_ENTRIES = 1000;
const MAX_ANSWER_BYTES = 10_000;
const CREATE_TIMEOUT_MS = 120_000;

type CreateStep = Extract<Step, { act: "create" }>;

export function buy(play: Play, step: CreateStep): Promise<boolean> {
  return step.expects === "answer" ? buyUntilAnswered(play, step) : buyOnce(play, step);
}

/** `isLater`: the second attempt, after a pause in which a slow shop may have learned that the checkout has ended. */
async function buyOnce(play: Play, step: CreateStep, isLater = false): Promise<boolean> {
  const { of, times = 1, expects, isEarly = false, hasOtherMethod } = step;
  const { bench, history } = play;
  const purchase = purchaseOf(play, of);
  const isRefused = expects === "refusal";
  const isRepeat = purchase.createCount > 0;
  // If the create takes no order_id, a repetition would be another purchase.
  if (isRepeat && bench.search === undefined && bench.shop.setsIds !== true) return true;
  const checkoutCount = purchase.checkouts.length;
  const sentCreates = isRepeat ? await createsOf(bench, expectedOrderId(bench, purchase)) : [];
  const shop = isRefused ? { ...bench.shop, commandTimeoutMs: REFUSAL_TIMEOUT_MS } : bench.shop;
  const findsAll = history.pace !== undefined;
  const fields = hasOtherMethod === true ? shop.otherMethod : undefined;
  const runs = await createOrders({ ...bench, shop }, purchase, { times, findsAll, fields });
  if (isRepeat) await refresh(bench, purchase);
  if (purchase.isShared !== true && (await isUnsent(play, purchase))) {
    play.facts.push({ kind: "note", note: "own_ids" });
    return false;
  }
  const liveCount = liveCheckouts(purchase).length;
  const isNew = purchase.checkouts.length > checkoutCount;
  const isDead =
    checkoutCount > 0 && isRepeat && !isRefused && !purchase.paidCheckout && !isNew && liveCount === 0;
  // The order can still be paid, but the customer does not get to its page.
  const isLocked =
    isRepeat && !isNew && play.faults.length === 0 && isOpen(purchase) && !isSentToPage(purchase, runs);
  const hasNoOrder = !isRepeat && !isRefused && purchase.checkouts.length === 0;
  const deadEnd =
    (isDead && !isEarly) || isLocked || hasNoOrder
      ? await deadEndOf(bench, purchase, { runs, sentCount: sentCreates.length })
      : undefined;
  const { notes } = bench;
  if (deadEnd === "old_page" && !isLater && notes.sellsOnce !== true) {
    await bench.world.sleep(bookingTimeoutMs(bench), bench.signal);
    return buyOnce(play, step, true);
  }
  if (isLater) notes.sellsOnce ??= deadEnd === "old_page";
  if (isRepeat && isNew) notes.sellsOnce = false;
  play.facts.push({
    kind: "create",
    runs,
    isRefused,
    isRepeat,
    isShared: purchase.isShared === true,
    // A new attempt may have a new order_id, such as 1001-2.
    hasNewOrderId: findsAll && !(isRepeat && isNew && liveCount === 1) && hasNewOrderId(bench, purchase),
    liveCount,
    isRenewed: isRepeat && isNew,
    deadEnd,
  });
  if (isDead && !isEarly) play.facts.push({ kind: "note", note: "dead_page" });
  else if (!isRefused && purchase.checkouts.length === 0) {
    const viewLook = shop.view === undefined ? undefined : await lookAgain(bench, purchase);
    if (viewLook?.view?.paid === true) {
      // A payment shown without an order must be judged, so the play does not end with `NoOrder`.
      play.facts.push(viewLook);
      return false;
    }
    throw new NoOrder(runs[0]?.got ?? factOf("made_no_order"));
  }
  return purchase.isShared !== true && (!isDead || expects === "nothing");
}

function isOpen(purchase: Purchase): boolean {
  return purchase.paidCheckout === undefined && ownCheckouts(purchase).at(-1)?.status === "created";
}

/** A link in a refusal counts; an id in an API error is not a link. */
function isSentToPage(purchase: Purchase, runs: readonly CreateRun[]): boolean {
  const { id } = lastCheckout(purchase);
  return runs.some(({ isDone, text }) => isDone || text.includes(`/${id}`) || text.includes(`=${id}`));
}

async function deadEndOf(
  bench: Bench,
  purchase: Purchase,
  { runs, sentCount }: { readonly runs: readonly CreateRun[]; readonly sentCount: number },
): Promise<CreateFact["deadEnd"]> {
  const log = (await createsOf(bench, expectedOrderId(bench, purchase))).slice(sentCount);
  const isFirst = purchase.checkouts.length === 0;
  if (log.at(-1)?.code === "idempotency_key_reused") return isFirst ? "known_key" : "other_body";
  if (isFirst) return undefined;
  if (log.at(-1)?.code === "order_conflict") return "conflict";
  if (hasAnswerArrived(log)) return "old_page";
  const { id } = lastCheckout(purchase);
  const { checkoutUrl } = await bench.call({ name: "inspectCheckout", id, body: undefined });
  return runs.some(({ isDone, text }) => isDone && text.includes(checkoutUrl)) ? "old_page" : undefined;
}

async function isUnsent({ bench, history }: Play, purchase: Purchase): Promise<boolean> {
  if (history.neighbourKind === undefined || purchase.checkouts.length > 0) return false;
  return bench.recording.hasSameId && (await createsOf(bench, purchase.cartId)).length === 0;
}

export function hasNewOrderId({ recording, search }: Bench, { cartId, checkouts }: Purchase): boolean {
  if (search?.isOwn === true) return new Set(checkouts.map(({ orderId }) => orderId)).size > 1;
  const { hasSameId, suffix } = recording;
  return hasSameId && checkouts.some(({ orderId }) => orderId !== `${cartId}${suffix}`);
}

async function buyUntilAnswered(play: Play, { of }: CreateStep): Promise<boolean> {
  const { bench, facts } = play;
  const { search, signal } = bench;
  const purchase = purchaseOf(play, of);
  const { create } = bench.shop;
  const isPage = create === undefined || "url" in create;
  const runs: WatchedRun[] = [];
  const checkoutCount = purchase.checkouts.length;
  const orderIdBefore = expectedOrderId(bench, purchase);
  const earlierLog = purchase.createCount === 0 ? [] : await createsOf(bench, orderIdBefore);
  const findsAll = play.history.pace !== undefined || !bench.recording.hasSameId;
  const maxRuns = search === undefined ? MAX_RUNS : MAX_SEARCH_RUNS;
  for (let runNumber = 1; runNumber <= maxRuns && !signal.aborted; runNumber += 1) {
    if (runNumber > 1) await prepareRepeat(play, purchase, runs.at(-1));
    play.killController = new AbortController();
    const { signal: killSignal } = play.killController;
    const killableBench = { ...bench, signal: AbortSignal.any([signal, killSignal]) };
    const [createRun] = await createOrders(killableBench, purchase, { findsAll });
    if (search === undefined) await endKills(play);
    const orderId = expectedOrderId(bench, purchase);
    const log = (await createsOf(bench, orderId)).slice(orderId === orderIdBefore ? earlierLog.length : 0);
    if (earlierLog.length > 0 && log.length === 0 && purchase.checkouts.length === checkoutCount) {
      facts.push({ kind: "note", note: "dead_page" });
      return false;
    }
    if (createRun === undefined) break;
    const isKilled = killSignal.aborted || (isPage ? null : false);
    const run = { ...createRun, isKilled, mayFail: search !== undefined, log };
    runs.push(run);
    if (!run.hasEnded || findBrokenKey(log, runs) !== undefined) break;
    if (search === undefined ? hasAnswerArrived(log) || isRightlyDone(run) : run.isDone) break;
  }
  if (await isUnsent(play, purchase)) {
    facts.push({ kind: "note", note: "own_ids" });
    return false;
  }
  const hasChangedId = earlierLog.length === 0 && hasNewOrderId(bench, purchase);
  const createFact = { runs, liveCount: liveCheckouts(purchase).length, hasNewOrderId: hasChangedId };
  facts.push({ kind: "client", purchase: createFact });
  if (retriesEarly(createFact)) facts.push({ kind: "note", note: "hasty" });
  if (search === undefined) return true;
  const lastRun = runs.at(-1);
  purchase.isPageUnknown = lastRun?.isDone !== true || lastRun.isWrong === true;
  return purchase.checkouts.length > 0;
}

/** A search removes the purchase's faults of v1 requests; any other run pauses. */
async function prepareRepeat(play: Play, purchase: Purchase, lastRun: WatchedRun | undefined): Promise<void> {
  const { bench } = play;
  const { world, signal, search, stepAside } = bench;
  if (search !== undefined) return removeFaults(play, "requests");
  const pause = (): Promise<void> =>
    world.sleep(lastRun?.isKilled === true ? PAUSE_AFTER_KILL_MS : REPEAT_PAUSE_MS, signal);
  // While the order_id is unknown, the faults apply to all orders, so no other history may run.
  await (!stepAside || expectedOrderId(bench, purchase) === undefined ? pause() : stepAside(pause));
}

export async function createsOf(
  { call, search }: Pick<Bench, "call" | "search">,
  orderId: string | undefined,
): Promise<readonly LoggedCreate[]> {
  if (orderId === undefined && search?.isOwn !== true) return [];
  const { requests } = await call({
    name: "listRequests",
    body: { method: "POST", path: "/v1/", orderId, by: "merchant", limit: MAX_LOG_ENTRIES },
  });
  const cutActions = search === undefined ? CUT_ACTIONS : CUT_OR_LATE_ACTIONS;
  return requests.map(({ status, code, fault, realAt }, index) => {
    const previousRequest = requests[index - 1];
    const isLimited = previousRequest?.fault?.action === "rate_limit";
    return {
      status,
      code,
      arrival: fault === null ? "whole" : cutActions.has(fault.action) ? "cut" : "hidden",
      isEarly: isLimited && previousRequest !== undefined && realAt - previousRequest.realAt < EARLY_RETRY_MS,
    };
  });
}

type ElsewhereStep = Extract<Step, { act: "create_elsewhere" }>;

export function createElsewhere(play: Play, step: ElsewhereStep): Promise<boolean> {
  // Must not overlap a create whose checkouts are found by comparing lists, because that create would find this
  // checkout too.
  return play.bench.runExclusive(() => createWithShopKey(play, step));
}

async function createWithShopKey(
  play: Play,
  { of, terms, kind = "own", templateOrder = of }: ElsewhereStep,
): Promise<boolean> {
  const { bench } = play;
  const { world, shop, call, signal, target } = bench;
  const purchase = purchaseOf(play, of);
  // The shop itself created the first checkout.
  const [modelCheckout = lastCheckout(purchase)] = purchaseOf(play, templateOrder).checkouts;
  const { currency: code, paymentMethod, amountMinor, object } = modelCheckout;
  const orderId = purchase.checkouts.at(-1)?.orderId ?? purchase.cartId;
  const currency = terms === "other_currency" ? await otherCurrency(bench, code) : code;
  if (currency === undefined) return false;
  const answer = await world.send({
    method: "POST",
    url: `${target.origin}/v1/${(object === "order") === (kind === "own") ? "orders" : "checkout-sessions"}`,
    headers: {
      Authorization: `Bearer ${shop.env["CHECKOUT_API_KEY"] ?? ""}`,
      "Content-Type": "application/json",
      "Idempotency-Key":
        `elsewhere-${purchase.checkouts.length}-${encodeURIComponent(purchase.cartId)}`.slice(0, 128),
      "User-Agent": DRILL_AGENT,
    },
    body: JSON.stringify({
      order_id: orderId,
      amount_minor: terms === "less" || terms === "more" ? nearAmount(amountMinor, terms) : amountMinor,
      currency,
      payment_method: paymentMethod,
    }),
    timeoutMs: CREATE_TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
    signal,
  });
  if (!answer.ok || answer.status !== 201) return false;
  const knownIds = new Set(purchase.checkouts.map(({ id }) => id));
  const { checkouts } = await call({ name: "listCheckouts", body: { orderId } });
  const newCheckouts = checkouts.filter(({ id }) => !knownIds.has(id));
  purchase.checkouts = [...purchase.checkouts, ...newCheckouts];
  purchase.foreignIds = new Set([...purchase.foreignIds, ...newCheckouts.map(({ id }) => id)]);
  return newCheckouts.length > 0;
}

async function otherCurrency({ call }: Bench, ownCurrency: string): Promise<string | undefined> {
  const { capabilities } = await call({ name: "storeSummary", body: undefined });
  const currencies = capabilities.filter(({ kind, active }) => kind === "currency" && active);
  return currencies.find(({ name }) => name !== ownCurrency)?.name;
}
