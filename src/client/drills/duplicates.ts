import {
  DUPLICATE_SENDS,
  SEND_NAMES,
  type DuplicatesFacts,
  type OrderSends,
  type SendFact,
  type SendName,
  type SentStatus,
} from "../../core/readiness/drills/duplicates.ts";
import type { OrderOutcome } from "../../core/readiness/drills/duplicates-scope.ts";
import {
  hasChangedTwiceAsMuch,
  isReverted,
  showsBookings,
  type StableText,
} from "../../core/readiness/drills/order-view.ts";
import type { World } from "../../world.ts";
import { wrapAnswer, type ControlResult } from "../control/control.ts";
import { limitConcurrency } from "./at-most.ts";
import { sendCreationEvents, payBeforeEvents } from "./duplicates-before.ts";
import {
  deliverEvent,
  eventsOf,
  type DrilledOrder,
  type DuplicatesInput,
  type DrillRun,
} from "./duplicates-send.ts";
import {
  endOtherOrders,
  orderFactOf,
  endsPaid,
  rereadUnpaidViews,
  viewRequestOf,
  readViews,
  declineAndForge,
} from "./duplicates-unpaid.ts";
import {
  watchAfterSend,
  MAX_WATCH_MS,
  PAID_TIMEOUT_MS,
  MIN_SETTLE_MS,
  awaitSettledView,
  WATCH_MS,
} from "./duplicates-watch.ts";
import { readView, readingWithoutText, watchView, type ViewWorld, type ViewReading } from "./order-view.ts";

/** The facts of the drill, and its endpoints. */
export type DuplicatesObservations = { readonly facts: DuplicatesFacts; readonly subject: string };

/** Maximum number of concurrent requests to the shop; two simultaneous deliveries count as one. */
const MAX_AT_ONCE = 4;
/** How long the view is watched after the last send, in milliseconds. */
const LAST_WATCH_MS = 6000;
/** Time after which a shop's short-lived memory of events has expired, in milliseconds. */
const MEMORY_MS = 31_000;
/** Time for the shop's view to answer after a restart, in milliseconds. */
const RESTART_MS = 15_000;
/**
 * Maximum duration of the drill, in milliseconds: a shop that takes 15 s for each of about 70 events is slow, not
 * wrong.
 */
export const DUPLICATES_LEASE_MS = 30 * 60_000;
/** Duration of the drill without its waits, with a shop that answers in 50 ms, in milliseconds. */
const WORK_MS = 5000;

/** An order that is paid in the end, and its sends so far. */
type Lane = {
  readonly order: DrilledOrder;
  readonly events: Readonly<Record<SentStatus, string>>;
  /** The view's text before the payment; empty if the shop did not know the order. */
  readonly before: string;
  /** The view's text after the payment, before any repeated event; empty until then. */
  paid: string;
  sends: readonly SendFact[];
  stable: StableText | undefined;
  paidAt: number;
  slowestMs: number;
};

/** Duration of the drill with a shop that books immediately, and its waits, in milliseconds. */
export function duplicatesTime(
  ends: readonly OrderOutcome[],
  { isQuick, hasRestart }: { readonly isQuick: boolean; readonly hasRestart: boolean },
): { readonly totalMs: number; readonly waitMs: number } {
  const isAlone = ends.every((end) => end === "paid");
  const again = SEND_NAMES.filter(
    (name) =>
      name !== "payment_first" &&
      name !== "at_once" &&
      name !== "after_a_while" &&
      (hasRestart || name !== "after_restart"),
  );
  const watches = again.length * WATCH_MS + (isAlone ? PAID_TIMEOUT_MS : WATCH_MS) + MIN_SETTLE_MS;
  const unpaid = isAlone ? 0 : WATCH_MS;
  // While the view of a second order settles, the shop's short-lived memory of events expires; a single order needs a
  // separate wait.
  const hasSecond = ends.includes("declined");
  const memories = hasSecond || isQuick ? 0 : MEMORY_MS - WATCH_MS;
  const last = isQuick ? LAST_WATCH_MS - WATCH_MS : LAST_WATCH_MS;
  const waitMs = watches + unpaid + (hasSecond ? MIN_SETTLE_MS : 0) + memories + last;
  return { totalMs: waitMs + WORK_MS, waitMs };
}

/**
 * Pays orders and sessions before the merchant has received any of their events, or after only the creation event, and
 * lets others fail, be declined, expire and be cancelled. Sends their events out of order and repeatedly, and reads the
 * merchant's view after each. Forges payments first. To be called under a lease, which holds the store's webhooks.
 */
export async function drillDuplicates(
  world: ViewWorld & Pick<World, "send">,
  wanted: DuplicatesInput,
): Promise<ControlResult<DuplicatesObservations>> {
  let limited = 0;
  const run: DrillRun = {
    ...wanted,
    world: limitConcurrency(world, MAX_AT_ONCE),
    limited: () => (limited += 1),
    noted: { subject: undefined, isOutOfReach: false },
  };
  const orders = wanted.orders.map(({ kind, end }) => ({ kind, end }));
  const seen = await drillAll(run, (facts) => ({
    ...NO_FACTS,
    ...facts,
    scope: { ...wanted.scope, orders, showsBookings: facts.showsBookings ?? true, limited },
  }));
  if (wanted.signal.aborted) return { end: "interrupted" };
  return seen.end === "success" ? wrapAnswer({ facts: seen.value, subject: run.noted.subject ?? "" }) : seen;
}

const NO_FACTS = {
  before: [],
  forged: [],
  declined: [],
  held: [],
  lanes: [],
  unpaid: [],
  ended: [],
  isWhole: false,
};

type PartialFacts = Partial<Omit<DuplicatesFacts, "scope">> & { readonly showsBookings?: boolean };

async function drillAll(
  run: DrillRun,
  facts: (seen: PartialFacts) => DuplicatesFacts,
): Promise<ControlResult<DuplicatesFacts>> {
  const known = await sendCreationEvents(run);
  if (known.end !== "success") return known;
  const before = known.value;
  if (before.some(({ view, cause }) => view.says !== "not_paid" || cause !== null))
    return wrapAnswer(facts({ before }));
  const early = await declineAndForge(run);
  if (early.end !== "success") return early;
  const isEarly = Object.values(early.value)
    .flat()
    .some(({ view }) => view.says === "paid");
  if (isEarly) return wrapAnswer(facts({ before, ...early.value }));
  const texts = await readViews(run, run.orders.filter(endsPaid));
  const paid = await payBeforeEvents(run);
  if (paid.end !== "success") return paid;
  const held = paid.value;
  const start = { before, ...early.value, held };
  if (held.some(({ view, askedBy }) => view.says === "paid" && askedBy !== "shop"))
    return wrapAnswer(facts(start));
  const opened = await openLanes(run, texts);
  if (opened.end !== "success") return opened;
  const lanes = opened.value;
  const sent = await sendAll(run, lanes);
  if (sent.end !== "success") return sent;
  return wrapAnswer(
    facts({
      ...start,
      ...sent.value,
      lanes: lanes.map(laneFact),
      isWhole: true,
      unpaid: [...sent.value.unpaid],
    }),
  );
}

function laneFact({ order, sends }: Lane): OrderSends {
  return { ...orderFactOf(order), sends };
}

async function openLanes(
  run: DrillRun,
  texts: readonly (ViewReading & { readonly order: DrilledOrder })[],
): Promise<ControlResult<readonly Lane[]>> {
  const lanes: Lane[] = [];
  for (const { order, text } of texts) {
    const events = await eventsOf(run, order);
    if (events.end !== "success") return events;
    const last = (wanted: SentStatus): string =>
      events.value.findLast(({ status }) => status === wanted)?.eventId ?? "";
    const ids = { created: last("created"), pending: last("pending"), succeeded: last("succeeded") };
    lanes.push({
      order,
      events: ids,
      before: text,
      paid: "",
      sends: [],
      stable: undefined,
      paidAt: 0,
      slowestMs: 0,
    });
  }
  return wrapAnswer(lanes);
}

/** The orders of a send: paid orders, or, for `at_once` and `after_a_while`, orders with a declined attempt. */
function lanesOf(lanes: readonly Lane[], name: SendName): readonly Lane[] {
  return lanes.filter(({ order: { kind, end } }) => {
    const hasSecond = lanes.some(({ order }) => order.kind === kind && order.end === "declined");
    if (name === "at_once") return end === "declined";
    return name === "after_a_while" && hasSecond ? end === "declined" : end === "paid";
  });
}

/**
 * Sends the events in sequence, and reads the views after each. Two lanes alternate in being first: a proxy that
 * alternates between two processes would otherwise send all events of orders to one process and all events of sessions
 * to the other.
 */
async function sendAll(
  run: DrillRun,
  lanes: readonly Lane[],
): Promise<ControlResult<Pick<DuplicatesFacts, "unpaid" | "ended"> & { readonly showsBookings: boolean }>> {
  const names = namesToSend(run);
  let others: Pick<DuplicatesFacts, "unpaid" | "ended"> = { unpaid: [], ended: [] };
  let bookings = true;
  for (const [at, name] of names.entries()) {
    if (run.signal.aborted) return { end: "interrupted" };
    if (name === "after_others") {
      const ended = await endOtherOrders(run, Math.max(0, ...lanes.map(({ slowestMs }) => slowestMs)));
      if (ended.end !== "success") return ended;
      others = ended.value;
    }
    const addressed = lanesOf(lanes, name);
    await Promise.all(addressed.map((lane) => rest(run, lane)));
    if (name === "created_late")
      for (const lane of addressed)
        lane.paid = (await readView(run.world, viewRequestOf(run, lane.order))).text;
    if (name === "after_a_while") await waitForMemories(run, addressed);
    const forgotten = name === "after_restart" ? await restart(run, addressed) : [];
    const isLast = at === names.length - 1;
    const sent = await sendEach(run, at % 2 === 0 ? addressed : addressed.toReversed(), name);
    if (sent.end !== "success") return sent;
    await Promise.all(addressed.map((lane) => look(run, lane, { name, isLast })));
    for (const [lane, reading] of forgotten) amend(lane, { view: readingWithoutText(reading) });
    if (name === "after_others") bookings = await compare(run, lanes);
  }
  return wrapAnswer({
    ...others,
    ended: await rereadUnpaidViews(run, others.ended),
    showsBookings: bookings,
  });
}

/** Sends to one order after the other; payments of all orders are sent at the same time, as customers pay. */
async function sendEach(run: DrillRun, lanes: readonly Lane[], name: SendName): Promise<ControlResult<null>> {
  if (name === "at_once") {
    const sent = await Promise.all(lanes.map((lane) => sendOnce(run, lane, name)));
    return sent.find(({ end }) => end !== "success") ?? wrapAnswer(null);
  }
  for (const lane of lanes) {
    const sent = await sendOnce(run, lane, name);
    if (sent.end !== "success") return sent;
  }
  return wrapAnswer(null);
}

/**
 * The sends of a run: without the slow ones in a quick drill, and without the one after a restart if there is no
 * restart command.
 */
function namesToSend({ scope, restart: command }: DrillRun): readonly SendName[] {
  return SEND_NAMES.filter((name) => {
    if (name === "after_a_while") return !scope.isQuick;
    return name !== "after_restart" || command !== undefined;
  });
}

/** Updates the last send of an order. */
function amend(lane: Lane, change: Partial<SendFact>): void {
  const last = lane.sends.at(-1);
  if (last !== undefined) lane.sends = [...lane.sends.slice(0, -1), { ...last, ...change }];
}

/** Restarts the shop, waits until it answers, and returns the orders that are no longer paid in its view. */
async function restart(
  run: DrillRun,
  lanes: readonly Lane[],
): Promise<readonly (readonly [lane: Lane, reading: ViewReading])[]> {
  await run.restart?.();
  const looks = lanes.map(async (lane) => {
    const shown = viewRequestOf(run, lane.order);
    const isEnough = ({ says }: ViewReading): boolean => says === "paid";
    return [lane, await watchView(run.world, shown, { isEnough, waitMs: RESTART_MS })] as const;
  });
  const seen = await Promise.all(looks);
  return seen.filter(([{ sends }, { says }]) => sends.at(-1)?.view.says === "paid" && says !== "paid");
}

/** Waits until the view has settled after the last send. */
async function rest(run: DrillRun, lane: Lane): Promise<void> {
  const last = lane.sends.at(-1);
  if (last === undefined || last.view.says !== "paid") {
    lane.stable = undefined;
    return;
  }
  const found = await awaitSettledView(run.world, viewRequestOf(run, lane.order), {
    known: lane.stable,
    last,
    isProven: hasChanged(lane),
  });
  lane.stable = found.stable;
  amend(lane, { text: found.text });
  if (found.changedAt !== undefined) lane.slowestMs = Math.max(lane.slowestMs, found.changedAt - lane.paidAt);
}

/** Whether an earlier send changed the view, so that the next change need not be distinguished from a clock again. */
function hasChanged({ sends }: Lane): boolean {
  return sends.some(({ text }) => text === "changed");
}

async function waitForMemories(run: DrillRun, lanes: readonly Lane[]): Promise<void> {
  const since = Math.max(0, ...lanes.map(({ paidAt }) => paidAt));
  const leftMs = since + MEMORY_MS - run.world.monotonic();
  if (leftMs > 0) await run.world.sleep(leftMs, run.signal);
}

/** Sends an event once, or twice at the same time, and records the send without a view. */
async function sendOnce(run: DrillRun, lane: Lane, name: SendName): Promise<ControlResult<null>> {
  const { status } = DUPLICATE_SENDS[name];
  const eventId = lane.events[status];
  const wasPaid = lane.sends.at(-1)?.view.says === "paid";
  if (status === "succeeded") lane.paidAt = run.world.monotonic();
  const wanted = { eventId };
  const sent = await Promise.all(
    name === "at_once" ? [deliverEvent(run, wanted), deliverEvent(run, wanted)] : [deliverEvent(run, wanted)],
  );
  const answers: SendFact["answers"][] = [];
  for (const one of sent) {
    if (one.end !== "success") return one;
    answers.push(one.value);
  }
  if (name === "payment_last") {
    // A receiver may refuse this delivery, or accept it without effect.
    const disguised = await deliverEvent(run, { eventId, otherId: true });
    if (disguised.end !== "success") return disguised;
  }
  const taken = answers.find((one) => one.every(({ status: said }) => said !== null && said < 300));
  const unseen = { says: "unknown", got: "" } as const;
  const fact = {
    name,
    eventId,
    answers: taken ?? answers[0] ?? [],
    wasPaid,
    view: unseen,
    text: "not_compared",
  } as const;
  lane.sends = [...lane.sends, fact];
  return wrapAnswer(null);
}

/**
 * Reads the view of an order after a send; after a repeated payment, it is read for longer than the first payment took
 * to appear.
 */
async function look(
  run: DrillRun,
  lane: Lane,
  { name, isLast }: { readonly name: SendName; readonly isLast: boolean },
): Promise<void> {
  const sent = lane.sends.at(-1);
  if (sent === undefined) return;
  const { wasPaid, eventId } = sent;
  const earlier = lane.sends.slice(0, -1);
  const isRepeated = earlier.some((one) => one.eventId === eventId);
  const isPayment = DUPLICATE_SENDS[name].status === "succeeded";
  const queueMs = isPayment ? Math.min(lane.slowestMs + WATCH_MS, MAX_WATCH_MS) : WATCH_MS;
  const waitMs = isLast ? Math.max(queueMs, LAST_WATCH_MS) : queueMs;
  const looked = await watchAfterSend(run.world, viewRequestOf(run, lane.order), {
    name,
    wasPaid,
    isRepeated,
    stable: lane.stable,
    waitMs,
    isProven: hasChanged(lane),
  });
  lane.stable = looked.stable;
  if (!wasPaid && looked.reading.says === "paid")
    lane.slowestMs = Math.max(lane.slowestMs, run.world.monotonic() - lane.paidAt);
  amend(lane, { view: readingWithoutText(looked.reading), text: looked.text });
}

/**
 * Compares each order whose payment was sent twice at the same time with the order of its kind whose payment was sent
 * once. Returns whether the views show bookings.
 */
async function compare(run: DrillRun, lanes: readonly Lane[]): Promise<boolean> {
  const texts = new Map<Lane, string>();
  await Promise.all(lanes.filter(({ order }) => order.end === "declined").map((lane) => rest(run, lane)));
  for (const lane of lanes) texts.set(lane, (await readView(run.world, viewRequestOf(run, lane.order))).text);
  const spare = lanes.find(({ before }) => before !== "")?.before ?? "";
  const textOf = (lane: Lane) => ({
    before: removeIds(lane.before === "" ? spare : lane.before, lanes),
    after: removeIds(texts.get(lane) ?? "", lanes),
  });
  for (const lane of lanes) {
    const text = { ...textOf(lane), after: removeIds(lane.paid, lanes), last: textOf(lane).after };
    if (isReverted(text)) markFirst(lane, "created_late", "undone");
  }
  for (const lane of lanes.filter(({ order }) => order.end === "declined")) {
    const once = lanes.find(({ order }) => order.kind === lane.order.kind && order.end === "paid");
    const [first] = lane.sends;
    const isSure = once?.sends.every(({ text }) => text !== "changed" && text !== "untold");
    if (once === undefined || first === undefined || isSure !== true || first.view.says !== "paid") continue;
    if (hasChangedTwiceAsMuch(textOf(lane), textOf(once))) markFirst(lane, first.name, "twice");
    const made = once.sends.find(({ view }) => view.says === "paid");
    const wasKept = made !== undefined && DUPLICATE_SENDS[made.name].status !== "succeeded";
    if (wasKept && hasChangedTwiceAsMuch(textOf(once), textOf(lane))) markFirst(once, made.name, "kept");
  }
  return lanes.some((lane) => showsBookings(textOf(lane)));
}

/** Records the verdict on the view after a send of an order. */
function markFirst(lane: Lane, name: SendName, text: SendFact["text"]): void {
  lane.sends = lane.sends.map((send) => (send.name === name ? Object.assign({}, send, { text }) : send));
}

function removeIds(text: string, lanes: readonly Lane[]): string {
  return lanes.reduce(
    (left, { order: { id, orderId } }) => left.replaceAll(id, "").replaceAll(orderId, ""),
    text,
  );
}
