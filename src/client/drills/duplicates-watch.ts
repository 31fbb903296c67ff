import { DUPLICATE_SENDS, type SendFact, type SendName } from "../../core/readiness/drills/duplicates.ts";
import {
  differsOnlyInTimes,
  isUnchanged,
  STABLE_READINGS,
  removeChangingParts,
  findStableParts,
  type StableText,
} from "../../core/readiness/drills/order-view.ts";
import {
  awaitPaidOrder,
  readView,
  watchView,
  type ViewWorld,
  type ViewRequest,
  type ViewReading,
} from "./order-view.ts";

/** Time for the merchant to mark an order paid, in milliseconds. */
export const PAID_TIMEOUT_MS = 15_000;
/** How long the view is watched after an event that should change nothing, in milliseconds. */
export const WATCH_MS = 3000;
/** Maximum time for which the view is watched after a repeated payment event, in milliseconds. */
export const MAX_WATCH_MS = 60_000;
/** Time for the merchant's work after a payment, in milliseconds. */
const FULFIL_MS = 4000;
/** Pause between two readings that show which parts of a view change by themselves, in milliseconds. */
const READING_PAUSE_MS = 1000;
/** Minimum time until a view has settled, in milliseconds. */
export const MIN_SETTLE_MS = FULFIL_MS + (STABLE_READINGS - 1) * READING_PAUSE_MS;
/** Maximum number of readings until the view has settled. A part that still changes after that changes by itself. */
const MAX_READINGS = 15;
/** Number of readings of a view that shows times without seconds: the readings take longer than a minute. */
const TIME_READINGS = 14;
const TIME_PAUSE_MS = 5000;

/**
 * The result of the last reading after a send, and the part of the view that does not change by itself; undefined if
 * unknown.
 */
type Observation = Pick<SendFact, "text"> & {
  readonly reading: ViewReading;
  readonly still: StableText | undefined;
};

/**
 * The state before a send: the part of the view that does not change by itself, the change after the previous send, and
 * the time of that change.
 */
type ViewBaseline = Pick<SendFact, "text"> & {
  readonly still: StableText | undefined;
  readonly changedAt: number | undefined;
};

/**
 * Waits until the view has settled. A change since the last reading is an effect of the last event if that event was
 * new to the merchant; otherwise the view should not have changed.
 */
export async function awaitSettledView(
  world: ViewWorld,
  look: ViewRequest,
  {
    known,
    last,
    isProven,
  }: { readonly known: StableText | undefined; readonly last: SendFact; readonly isProven: boolean },
): Promise<ViewBaseline> {
  const { text } = last;
  const reading = await readView(world, look);
  if (known === undefined) return { ...(await settle(world, look)), text };
  if (isUnchanged(known, reading.text)) return { still: known, changedAt: undefined, text };
  const changedAt = world.monotonic();
  if (text === "not_compared") {
    const settled = await settle(world, look);
    return { still: settled.still, changedAt: settled.changedAt ?? changedAt, text };
  }
  const late = await explainChange(world, look, { still: known, reading, isProven });
  if (late.text === "same") return { still: late.still, changedAt: undefined, text };
  const settled = await settle(world, look);
  // Keeps an earlier finding.
  return { still: settled.still, changedAt, text: text === "same" ? late.text : text };
}

/**
 * The part that is equal in the last readings, and the time of the last change; undefined if there was no change, or
 * the view did not settle.
 */
async function settle(world: ViewWorld, look: ViewRequest): Promise<Omit<ViewBaseline, "text">> {
  await world.sleep(FULFIL_MS, look.signal);
  const texts: string[] = [];
  let changedAt: number | undefined;
  while (texts.length < MAX_READINGS && !look.signal.aborted) {
    if (texts.length > 0) await world.sleep(READING_PAUSE_MS, look.signal);
    const { text } = await readView(world, look);
    if (texts.length > 0 && texts.at(-1) !== text) changedAt = world.monotonic();
    texts.push(text);
    const last = texts.slice(-STABLE_READINGS);
    // A view that is still changing may show the merchant's work after the payment, so it is read again.
    if (last.length !== STABLE_READINGS || new Set(last).size > 1) continue;
    return { still: stillPartOf(last), changedAt };
  }
  return { still: stillPartOf(texts.slice(-STABLE_READINGS)), changedAt: undefined };
}

function stillPartOf(texts: readonly string[]): StableText | undefined {
  const still = findStableParts(texts);
  return typeof still === "string" ? undefined : still;
}

/**
 * Watches the view after an event is sent: until it shows the order as paid or, if it should stay unchanged, for any
 * change.
 */
export async function watchAfterSend(
  world: ViewWorld,
  look: ViewRequest,
  sent: {
    readonly name: SendName;
    readonly wasPaid: boolean;
    readonly isRepeated: boolean;
    readonly still: StableText | undefined;
    /** How long the view is watched if it should not change, in milliseconds. */
    readonly waitMs: number;
    /** Whether an earlier send has proven that the view does not change by itself. */
    readonly isProven: boolean;
  },
): Promise<Observation> {
  const { name, wasPaid, isRepeated, still, waitMs, isProven } = sent;
  if (!wasPaid) {
    const isPayment = DUPLICATE_SENDS[name].status === "succeeded";
    const reading = await awaitPaidOrder(world, look, isPayment ? PAID_TIMEOUT_MS : WATCH_MS);
    return { reading, still, text: "not_compared" };
  }
  // A change of the view after an event that is new to the merchant is not a booking.
  const differs = ({ text }: ViewReading): boolean =>
    isRepeated && still !== undefined && !isUnchanged(still, text);
  const reading = await watchView(world, look, {
    isEnough: (seen) => seen.says !== "paid" || differs(seen),
    waitMs,
  });
  if (!isRepeated) return { reading, still, text: "not_compared" };
  if (still === undefined) return { reading, still, text: "untold" };
  if (reading.says !== "paid" || !differs(reading)) return { reading, still, text: "same" };
  return explainChange(world, look, { still, reading, isProven });
}

/**
 * Determines whether a changed part of the view keeps changing without events. A time that still changes long after the
 * event is a clock, and counts as unchanged; any other part that still changes has no verdict.
 */
async function explainChange(
  world: ViewWorld,
  look: ViewRequest,
  {
    still,
    reading,
    isProven,
  }: { readonly still: StableText; readonly reading: ViewReading; readonly isProven: boolean },
): Promise<Observation> {
  if (isProven) return { reading, still, text: "changed" };
  const isTime = differsOnlyInTimes(still, reading.text);
  const readings = [reading];
  while (readings.length < (isTime ? TIME_READINGS : STABLE_READINGS) && !look.signal.aborted) {
    await world.sleep(isTime ? TIME_PAUSE_MS : READING_PAUSE_MS, look.signal);
    readings.push(await readView(world, look));
  }
  const unpaid = readings.find(({ says }) => says !== "paid");
  if (unpaid !== undefined) return { reading: unpaid, still, text: "changed" };
  const texts = readings.map(({ text }) => text);
  const left = isTime
    ? removeChangingParts(still, texts.slice(TIME_READINGS / 2), 1)
    : removeChangingParts(still, texts, 2);
  if (left === "different_lengths") return { reading, still: undefined, text: "untold" };
  if (!isUnchanged(left, texts.at(-1) ?? "")) return { reading, still, text: "changed" };
  return isTime ? { reading, still: left, text: "same" } : { reading, still: undefined, text: "untold" };
}
