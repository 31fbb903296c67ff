import type { AnswerOf } from "../../core/control/operations.ts";
import type { ExploreRun } from "../../client/explore/exploration.ts";
import { isFinal } from "../../core/checkout/payment.ts";
import {
  requestLines,
  seenRequests,
  type MadeCheckout,
  type OrderView,
  type PurchaseResult,
  type RunFacts,
  type SeenDelivery,
  type SeenRequest,
} from "../../core/explore/facts.ts";
import { brokenOf, canHeal, judge } from "../../core/explore/judge.ts";
import { isApiAction } from "../../core/fault/actions.ts";
import { KILL, type PayerOutcome, type Schedule, type ScheduledFault } from "../../core/explore/schedule.ts";
import { isError } from "../../core/outcome.ts";
import { actAsPayer } from "../../sandbox/checkout/payments.ts";
import type { Calls } from "../calls.ts";
import { CheckoutError, unlessGone } from "../errors.ts";
import type { Running } from "../running.ts";
import type { Event, Sandbox, Store } from "../types.ts";
import type { ExploreFault, ExploreOptions, View } from "./types.ts";

/** The application under test, and the sandbox that its stores are in. */
export type Bench = Pick<ExploreOptions, "purchase" | "view" | "start"> & {
  readonly sandbox: Sandbox;
  readonly running: Running;
  readonly calls: Calls;
};

/** The real time that a purchase may take, in milliseconds: retries with pauses and timeouts included. */
const PURCHASE_LIMIT_MS = 20_000;
/** The real time in which a view must show a booking after everything was delivered, in milliseconds. */
const VIEW_PATIENCE_MS = 3000;
/** The pause between two looks at a view, in milliseconds. */
const VIEW_PAUSE_MS = 25;
/** The span by which the clock moves so that the first attempts of deliveries are made, in milliseconds. */
const FIRST_ATTEMPTS_MS = 500;
/** A span in which an order expires and its deliveries have all their attempts. */
const TO_THE_END = "72h";
/** Maximum number of such spans, for schedules of deliveries that are longer. */
const MAX_SPANS = 5;
const MAX_LISTED = 1000;

/** Runs a schedule in a store of its own. Real time passes only for the application; the store's time is moved. */
export async function runSchedule(bench: Bench, schedule: Schedule): Promise<ExploreRun> {
  const store = await bench.sandbox.createStore();
  let stop: (() => unknown) | void = undefined;
  try {
    stop = await bench.start?.(store);
    return await runIn(bench, store, schedule);
  } finally {
    await stop?.();
    await store.delete().catch(unlessGone);
  }
}

async function runIn(bench: Bench, store: Store, schedule: Schedule): Promise<ExploreRun> {
  const { purchase, again } = await buy(bench, store, schedule);
  await store.clock.advance(FIRST_ATTEMPTS_MS);
  const made = checkoutsIn(await store.events.list());
  const lookNow = (): Promise<Look> => look(bench, store, made[0]?.orderId);
  const before = await lookNow();
  const ids = new Set([again, purchase].map((end) => (end?.end === "order" ? end.id : undefined)));
  const payable = made.find(({ id, status }) => ids.has(id) && !isFinal(status));
  // Without the address of the payment page, nobody can pay.
  if (payable !== undefined) await actFor(bench, store, { id: payable.id, payer: schedule.payer });
  await store.clock.advance(FIRST_ATTEMPTS_MS);
  const soon = await lookNow();
  const known = {
    schedule,
    purchase,
    again,
    before: before.seen,
    soon: soon.seen,
    ...(await driveToEnd(bench, store)),
    requests: await requestsOf(bench, store),
  };
  const judged = await judgeInTime(bench, known, lookNow);
  const isBroken = brokenOf(judged.judgement).length > 0;
  return { ...judged, story: isBroken ? await storyOf(store, known) : "" };
}

/** Whether the sandbox can do a fault of a schedule, other than a kill. */
export function isOfSandbox(fault: ScheduledFault): fault is ExploreFault {
  return fault.action !== KILL;
}

/** Adds the faults and makes the purchase; if it fails, once more without faults of requests. */
async function buy(
  bench: Bench,
  store: Store,
  { faults }: Schedule,
): Promise<Pick<RunFacts, "purchase" | "again">> {
  const added: string[] = [];
  for (const fault of faults.filter(isOfSandbox)) {
    const { id } = await store.faults.add(fault);
    if (isApiAction(fault.action)) added.push(id);
  }
  const purchase = await attempt(bench, store);
  if (purchase.end !== "failure") return { purchase, again: null };
  for (const id of added) await store.faults.remove(id).catch(unlessGone);
  return { purchase, again: await attempt(bench, store) };
}

/** A look at the view: its answer, or its error. */
type Look = { readonly seen: OrderView | null; readonly error: unknown };

async function look({ view }: Bench, store: Store, orderId: string | undefined): Promise<Look> {
  if (orderId === undefined) return { seen: null, error: undefined };
  try {
    return { seen: viewOf(await view(orderId, store)), error: undefined };
  } catch (error) {
    return { seen: null, error };
  }
}

/** Looks at the view until it says what the invariants ask, or its time is over. */
async function judgeInTime(
  { running: { world } }: Bench,
  known: Omit<RunFacts, "last">,
  lookNow: () => Promise<Look>,
): Promise<Pick<ExploreRun, "facts" | "judgement" | "viewError">> {
  const until = world.monotonic() + VIEW_PATIENCE_MS;
  for (;;) {
    const { seen: last, error: viewError } = await lookNow();
    const facts = { ...known, last };
    const judgement = judge(facts);
    const isSettled = viewError === undefined && !canHeal(judgement);
    if (isSettled || world.monotonic() >= until) return { facts, judgement, viewError };
    await world.sleep(VIEW_PAUSE_MS);
  }
}

/** Makes the purchase, within its time. */
async function attempt({ purchase, running }: Bench, store: Store): Promise<PurchaseResult> {
  const over = new AbortController();
  const late = running.world
    .sleep(PURCHASE_LIMIT_MS, over.signal)
    .then((): PurchaseResult => ({ end: "timeout" }));
  const made = Promise.resolve()
    .then(() => purchase(store))
    .then(
      // A caller without types, or one who reads half an answer, can return anything.
      (order: Partial<Awaited<ReturnType<typeof purchase>>> | undefined): PurchaseResult => ({
        end: "order",
        id: String(order?.id),
        checkoutUrl: String(order?.checkout_url),
      }),
      (error: unknown): PurchaseResult => ({
        end: "failure",
        message: isError(error) ? error.message : String(error),
      }),
    );
  try {
    return await Promise.race([made, late]);
  } finally {
    over.abort();
  }
}

/** Ends the payment of an order as its payer. */
async function actFor(
  { running }: Bench,
  store: Store,
  { id, payer }: { readonly id: string; readonly payer: PayerOutcome },
): Promise<void> {
  const pay = (outcome: Parameters<Store["pay"]>[1]): Promise<unknown> =>
    store.pay(id, outcome).catch(unlessEnded);
  switch (payer) {
    case "paid_after_decline":
      await pay("declined");
      await store.clock.advance(FIRST_ATTEMPTS_MS);
      await pay("succeeded");
      return;
    case "late_success":
      await actAsPayer(running.context, id, { kind: "start" });
      await actAsPayer(running.context, id, { kind: "finish_late", attempt: 1 });
      return;
    case "succeeded":
    case "declined":
    case "failed":
    case "cancelled":
    case "expired":
      await pay(payer);
  }
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof CheckoutError) || error.code !== "state_conflict") throw error;
}

/** Moves the clock until nothing is due any more; returns what there is then. */
async function driveToEnd(bench: Bench, store: Store): Promise<Pick<RunFacts, "checkouts" | "deliveries">> {
  for (let spans = 1; ; spans += 1) {
    await store.clock.advance(TO_THE_END);
    const checkouts = checkoutsIn(await store.events.list());
    const deliveries = await deliveriesOf(bench, store);
    const isOver =
      checkouts.every(({ status }) => isFinal(status)) && deliveries.every(({ state }) => state !== "due");
    if (isOver || spans === MAX_SPANS) return { checkouts, deliveries };
  }
}

/** The checkouts of a store, the oldest first, each with its newest status. */
function checkoutsIn(events: readonly Event[]): readonly MadeCheckout[] {
  const found = new Map<string, { readonly made: MadeCheckout; readonly sequence: number }>();
  for (const event of events) {
    if (event.type === "webhook.test") continue;
    const {
      id,
      order_id: orderId,
      amount_minor: amountMinor,
      checkout_url: checkoutUrl,
      status,
    } = event.data;
    if ((found.get(id)?.sequence ?? 0) >= event.sequence) continue;
    found.set(id, { made: { id, orderId, amountMinor, checkoutUrl, status }, sequence: event.sequence });
  }
  return [...found.values()].map(({ made }) => made);
}

async function requestsOf({ calls }: Bench, { id: storeId }: Store): Promise<readonly SeenRequest[]> {
  return seenRequests(await calls.control({ name: "listRequests", storeId, body: { limit: MAX_LISTED } }));
}

async function deliveriesOf({ calls }: Bench, { id: storeId }: Store): Promise<readonly SeenDelivery[]> {
  const found = await calls.control({ name: "listDeliveries", storeId, body: { limit: MAX_LISTED } });
  return found.deliveries.map(seenOf).toReversed();
}

function seenOf({
  type,
  cause,
  state,
  attempts,
}: AnswerOf<"listDeliveries">["deliveries"][number]): SeenDelivery {
  return {
    eventType: type,
    cause,
    state,
    attempts: attempts.map(({ status, fault }) => ({ status, fault })),
  };
}

function viewOf(view: View): OrderView {
  if (typeof view === "string") return { paid: view === "paid", times: null, amountMinor: null };
  const { paid, times = null, amountMinor = null } = view;
  return { paid, times, amountMinor };
}

/** The timeline of the first order; without an order, its requests. */
async function storyOf(
  store: Store,
  { checkouts, requests, purchase }: Pick<RunFacts, "checkouts" | "requests" | "purchase">,
): Promise<string> {
  const [first] = checkouts;
  const lines =
    first === undefined ? requestLines({ requests }) : [(await store.timeline(first.orderId)).toString()];
  const end = purchase.end === "failure" ? `the purchase failed: ${purchase.message}` : "";
  return [...lines, ...(end === "" ? [] : [end])].join("\n");
}
