import type { RequestOf } from "../../core/control/operations.ts";
import {
  DUPLICATE_SENDS,
  SEND_NAMES,
  type DuplicatesFacts,
  type SendFact,
  type SendName,
  type SentStatus,
} from "../../core/readiness/drills/duplicates.ts";
import {
  areTimes,
  isStill,
  STILL_READINGS,
  stillAmong,
  stillTextOf,
  type StillText,
} from "../../core/readiness/drills/order-view.ts";
import { callControl, succeeded, type ControlResult, type ControlTarget } from "../control/control.ts";
import {
  awaitPaid,
  readView,
  viewOf,
  watchView,
  type Buyer,
  type LookWorld,
  type OrderLook,
  type Reading,
} from "./order-view.ts";

/** What the drill has seen, and of which endpoints. */
export type DuplicatesSeen = { readonly facts: DuplicatesFacts; readonly subject: string };

/** How long the merchant may need after a create, in milliseconds. */
const SETTLE_MS = 1000;
/** How long the merchant may need to mark an order paid, in milliseconds. */
const PAID_MS = 15_000;
/** How long the merchant may need for what follows from a payment, in milliseconds. */
const FULFIL_MS = 4000;
/** How long the order is watched after an event that should change nothing, in milliseconds; the last one longest. */
const WATCH_MS = 3000;
const LAST_WATCH_MS = 6000;
/** Pause between two readings that tell what changes by itself, in milliseconds. */
const READING_PAUSE_MS = 1000;
/** Maximum number of readings until the view has come to rest; what still changes then does so by itself. */
const MAX_READINGS = 15;
/** How often, and with which pauses, a view is read that shows a time without seconds: for longer than a minute. */
const TIME_READINGS = 14;
const TIME_PAUSE_MS = 5000;
/** How many readings show whether the view asks the service each time. */
const ASKING_READINGS = 3;
/** Maximum time that an event of a payment which comes again is watched, in milliseconds. */
const MAX_WATCH_MS = 60_000;
/** Timeout of one event to all endpoints, in milliseconds: receivers may be slow. */
const DELIVER_TIMEOUT_MS = 120_000;
/** The longest that the drill may take, in milliseconds. */
export const DUPLICATES_LEASE_MS = 15 * 60_000;

/** The last reading after a send, and what of the view stays still; undefined where that is not known. */
type Looked = Pick<SendFact, "text"> & { readonly reading: Reading; readonly still: StillText | undefined };

/** The order that is paid, and another one, which is not; null where the merchant made the order itself. */
type DuplicatesLook = OrderLook & { readonly other: Buyer | null; readonly leaseId: string };

/**
 * Pays an order of which the merchant has heard nothing yet, or only of its creation, and sends its events out of order
 * and more than once; asks the merchant each time. Before that it forges the payment of an order that nobody has paid. To
 * be called under a lease, so that the webhooks of the store wait.
 */
export async function drillDuplicates(
  world: LookWorld,
  look: DuplicatesLook,
): Promise<ControlResult<DuplicatesSeen>> {
  const { checkout, signal } = look;
  const other = await lookAtOther(world, look);
  if (other.end !== "success") return other;
  await world.sleep(SETTLE_MS, signal);
  const before = viewOf(await readView(world, look));
  const start = { checkoutId: checkout.id, other: other.value, before, forged: null, held: null, sends: [] };
  const seen = (facts: DuplicatesFacts, subject = ""): ControlResult<DuplicatesSeen> =>
    signal.aborted ? { end: "interrupted" } : succeeded({ facts, subject });
  const isUseless = before.says !== "not_paid" || (other.value?.view.says ?? "not_paid") !== "not_paid";
  if (isUseless) return seen(start);
  const forged = await forgePayment(world, look);
  if (forged.end !== "success") return forged;
  const { subject } = forged.value;
  if (forged.value.facts.view.says === "paid") return seen({ ...start, forged: forged.value.facts }, subject);
  const held = await payUnheard(world, look);
  if (held.end !== "success") return held;
  const facts = { ...start, forged: forged.value.facts, held: held.value };
  if (held.value.view.says === "paid" && held.value.askedBy !== "shop") return seen(facts);
  const sent = await sendAll(world, look, subject);
  if (sent.end !== "success") return sent;
  const atTheEnd = look.other && viewOf(await readView(world, { ...look, checkout: look.other }));
  return seen({ ...facts, forged: { ...facts.forged, atTheEnd }, sends: sent.value }, subject);
}

/** Sends a badly signed payment of an order that nobody has paid: the other one, or this one where there is none. */
async function forgePayment(
  world: LookWorld,
  look: DuplicatesLook,
): Promise<
  ControlResult<{ readonly facts: NonNullable<DuplicatesFacts["forged"]>; readonly subject: string }>
> {
  const { target, checkout, other } = look;
  const unpaid = other ?? checkout;
  const events = await eventsOf(world, target, unpaid);
  if (events.end !== "success") return events;
  const sent = await deliver(world, look, { eventId: events.value.created, forged: true });
  if (sent.end !== "success") return sent;
  // The other order can be asked about again at the end.
  const waitMs = other === null ? PAID_MS : WATCH_MS;
  const view = viewOf(await awaitPaid(world, { ...look, checkout: unpaid }, waitMs));
  const facts = { checkoutId: unpaid.id, view, atTheEnd: null };
  return succeeded({ facts, subject: sent.value.subject });
}

/** Pays, and asks what the merchant says before any event of it was sent. */
async function payUnheard(
  world: LookWorld,
  look: DuplicatesLook,
): Promise<ControlResult<NonNullable<DuplicatesFacts["held"]>>> {
  const { target, checkout, leaseId } = look;
  const { id } = checkout;
  const paid = await callControl(world, target, { name: "pay", id, body: { outcome: "succeeded" } });
  if (paid.end !== "success") return paid;
  const view = viewOf(await readView(world, look));
  if (view.says !== "paid") return succeeded({ view, askedBy: "nobody" });
  const counts: number[] = [];
  for (const readings of [0, ASKING_READINGS]) {
    for (let reading = 0; reading < readings; reading += 1) await readView(world, look);
    const listed = await callControl(world, target, { name: "listRetrieves", id: leaseId, body: undefined });
    if (listed.end !== "success") return listed;
    counts.push(listed.value.paidCheckouts.filter((one) => one === id).length);
  }
  const [asked = 0, askedAgain = 0] = counts;
  // A shop that has learned of the payment knows it; a view that does not keep it asks each time.
  const keepsIt = askedAgain - asked < ASKING_READINGS;
  return succeeded({ view, askedBy: asked === 0 ? "nobody" : keepsIt ? "shop" : "view" });
}

/** What the merchant says of an order that was created, and not paid. */
async function lookAtOther(
  world: LookWorld,
  look: DuplicatesLook,
): Promise<ControlResult<DuplicatesFacts["other"]>> {
  const { target, other } = look;
  if (other === null) return succeeded(null);
  const created = await eventsOf(world, target, other);
  if (created.end !== "success") return created;
  const sent = await deliver(world, look, { eventId: created.value.created });
  if (sent.end !== "success") return sent;
  // Until it knows the order.
  const view = await watchView(
    world,
    { ...look, checkout: other },
    { isEnough: ({ says, text }) => says === "paid" || text !== "", waitMs: WATCH_MS },
  );
  return succeeded({ checkoutId: other.id, view: viewOf(view) });
}

/**
 * Sends the events one after the other, and looks at the order after each. A payment that comes again is watched for as
 * long as the first one took to show in the view, and longer: a queue takes as long the next time.
 */
async function sendAll(
  world: LookWorld,
  look: DuplicatesLook,
  subject: string,
): Promise<ControlResult<readonly SendFact[]>> {
  const { target, checkout, signal } = look;
  const events = await eventsOf(world, target, checkout);
  if (events.end !== "success") return events;
  const sends: SendFact[] = [];
  let still: StillText | undefined;
  let paidAt = 0;
  let slowestMs = 0;
  for (const name of SEND_NAMES) {
    if (signal.aborted) return { end: "interrupted" };
    const eventId = events.value[DUPLICATE_SENDS[name].status];
    const isPayment = DUPLICATE_SENDS[name].status === "succeeded";
    const last = sends.at(-1);
    const wasPaid = last?.view.says === "paid";
    const isRepeated = sends.some((earlier) => earlier.eventId === eventId);
    if (last !== undefined && wasPaid) {
      const rest = await restOf(world, look, { known: still, last });
      ({ still } = rest);
      sends[sends.length - 1] = { ...last, text: rest.text };
      if (rest.changedAt !== undefined) slowestMs = Math.max(slowestMs, rest.changedAt - paidAt);
    } else still = undefined;
    if (isPayment) paidAt = world.monotonic();
    const sent = await deliver(world, look, { eventId, subject });
    if (sent.end !== "success") return sent;
    const { answers } = sent.value;
    const waitMs = isPayment ? Math.min(slowestMs + WATCH_MS, MAX_WATCH_MS) : WATCH_MS;
    const looked = await lookAfter(world, look, { name, wasPaid, isRepeated, still, waitMs });
    still = looked.still;
    const isNewlyPaid = !wasPaid && looked.reading.says === "paid";
    if (isNewlyPaid) slowestMs = Math.max(slowestMs, world.monotonic() - paidAt);
    sends.push({ name, eventId, answers, wasPaid, view: viewOf(looked.reading), text: looked.text });
  }
  return succeeded(sends);
}

/** Sends an event to all endpoints now. */
function deliver(
  world: LookWorld,
  { target, leaseId, signal }: DuplicatesLook,
  wanted: Omit<RequestOf<"deliverForDrill">, "leaseId">,
) {
  return callControl(world, target, {
    name: "deliverForDrill",
    body: { ...wanted, leaseId },
    timeoutMs: DELIVER_TIMEOUT_MS,
    signal,
  });
}

/** The ids of the events of a checkout: of each status the last one. */
async function eventsOf(
  world: LookWorld,
  target: ControlTarget,
  { id }: Buyer,
): Promise<ControlResult<Readonly<Record<SentStatus, string>>>> {
  const shown = await callControl(world, target, { name: "inspectCheckout", id, body: undefined });
  if (shown.end !== "success") return shown;
  const { events, object } = shown.value;
  const last = (status: SentStatus): string =>
    events.findLast(({ type }) => type === `${object}.${status}`)?.eventId ?? "";
  const value = { created: last("created"), pending: last("pending"), succeeded: last("succeeded") };
  return succeeded(value);
}

/** What of the view stays still before something is sent, what changed after the last send, and when. */
type Rest = Pick<SendFact, "text"> & {
  readonly still: StillText | undefined;
  readonly changedAt: number | undefined;
};

/**
 * Waits until the view has come to rest. What has changed since the last look followed from the last event, if that was
 * new to the merchant; else nothing should have changed.
 */
async function restOf(
  world: LookWorld,
  look: OrderLook,
  { known, last }: { readonly known: StillText | undefined; readonly last: SendFact },
): Promise<Rest> {
  const { text } = last;
  const reading = await readView(world, look);
  if (known === undefined) return { ...(await settle(world, look)), text };
  if (isStill(known, reading.text)) return { still: known, changedAt: undefined, text };
  const changedAt = world.monotonic();
  if (text === "not_compared") {
    const settled = await settle(world, look);
    return { still: settled.still, changedAt: settled.changedAt ?? changedAt, text };
  }
  const late = await explainChange(world, look, { still: known, reading });
  if (late.text === "same") return { still: late.still, changedAt: undefined, text };
  const settled = await settle(world, look);
  // What was found before stands.
  return { still: settled.still, changedAt, text: text === "same" ? late.text : text };
}

/** What stays still among readings, and when the last change was; undefined where there was none, or no rest. */
async function settle(world: LookWorld, look: OrderLook): Promise<Omit<Rest, "text">> {
  await world.sleep(FULFIL_MS, look.signal);
  const texts: string[] = [];
  let changedAt: number | undefined;
  while (texts.length < MAX_READINGS && !look.signal.aborted) {
    if (texts.length > 0) await world.sleep(READING_PAUSE_MS, look.signal);
    const { text } = await readView(world, look);
    if (texts.length > 0 && texts.at(-1) !== text) changedAt = world.monotonic();
    texts.push(text);
    const last = texts.slice(-STILL_READINGS);
    // What is still changing may be what follows from the payment, so it gets the time to come to its end.
    if (last.length !== STILL_READINGS || new Set(last).size > 1) continue;
    return { still: stillOf(last), changedAt };
  }
  return { still: stillOf(texts.slice(-STILL_READINGS)), changedAt: undefined };
}

function stillOf(texts: readonly string[]): StillText | undefined {
  const still = stillTextOf(texts);
  return typeof still === "string" ? undefined : still;
}

/** Watches the order after a send: until it is paid, or for a change where there should be none. */
async function lookAfter(
  world: LookWorld,
  look: OrderLook,
  sent: {
    readonly name: SendName;
    readonly wasPaid: boolean;
    readonly isRepeated: boolean;
    readonly still: StillText | undefined;
    /** How long it is watched where nothing should change. */
    readonly waitMs: number;
  },
): Promise<Looked> {
  const { name, wasPaid, isRepeated, still, waitMs } = sent;
  if (!wasPaid) {
    const isPayment = DUPLICATE_SENDS[name].status === "succeeded";
    const reading = await awaitPaid(world, look, isPayment ? PAID_MS : WATCH_MS);
    return { reading, still, text: "not_compared" };
  }
  // What an event that is new to the merchant adds to the view is no booking.
  const differs = ({ text }: Reading): boolean => isRepeated && still !== undefined && !isStill(still, text);
  const reading = await watchView(world, look, {
    isEnough: (seen) => seen.says !== "paid" || differs(seen),
    waitMs: name === SEND_NAMES.at(-1) ? Math.max(waitMs, LAST_WATCH_MS) : waitMs,
  });
  if (!isRepeated) return { reading, still, text: "not_compared" };
  if (still === undefined) return { reading, still, text: "untold" };
  if (reading.says !== "paid" || !differs(reading)) return { reading, still, text: "same" };
  return explainChange(world, look, { still, reading });
}

/**
 * Whether what has changed goes on changing while nothing happens. A time that still changes long after the event is a
 * clock, and counts as unchanged; about anything else that still changes nothing can be told.
 */
async function explainChange(
  world: LookWorld,
  look: OrderLook,
  { still, reading }: { readonly still: StillText; readonly reading: Reading },
): Promise<Looked> {
  const isTime = areTimes(still, reading.text);
  const readings = [reading];
  while (readings.length < (isTime ? TIME_READINGS : STILL_READINGS) && !look.signal.aborted) {
    await world.sleep(isTime ? TIME_PAUSE_MS : READING_PAUSE_MS, look.signal);
    readings.push(await readView(world, look));
  }
  const unpaid = readings.find(({ says }) => says !== "paid");
  if (unpaid !== undefined) return { reading: unpaid, still, text: "changed" };
  const texts = readings.map(({ text }) => text);
  const left = isTime ? stillAmong(still, texts.slice(TIME_READINGS / 2), 1) : stillAmong(still, texts, 2);
  if (left === "restless") return { reading, still: undefined, text: "untold" };
  if (!isStill(left, texts.at(-1) ?? "")) return { reading, still, text: "changed" };
  return isTime ? { reading, still: left, text: "same" } : { reading, still: undefined, text: "untold" };
}
