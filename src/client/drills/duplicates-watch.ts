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
  readonly stable: StableText | undefined;
};

/**
 * The state before a send: the part of the view that does not change by itself, the change after the previous send, and
 * the time of that change.
 */
type ViewBaseline = Pick<SendFact, "text"> & {
  readonly stable: StableText | undefined;
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
  if (isUnchanged(known, reading.text)) return { stable: known, changedAt: undefined, text };
  const changedAt = world.monotonic();
  if (text === "not_compared") {
    const settled = await settle(world, look);
    return { stable: settled.stable, changedAt: settled.changedAt ?? changedAt, text };
  }
  const late = await explainChange(world, look, { stable: known, reading, isProven });
  if (late.text === "same") return { stable: late.stable, changedAt: undefined, text };
  const settled = await settle(world, look);
  // Keeps an earlier finding.
  return { stable: settled.stable, changedAt, text: text === "same" ? late.text : text };
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
    return { stable: stablePartOf(last), changedAt };
  }
  return { stable: stablePartOf(texts.slice(-STABLE_READINGS)), changedAt: undefined };
}

function stablePartOf(texts: readonly string[]): StableText | undefined {
  const stable = findStableParts(texts);
  return typeof stable === "string" ? undefined : stable;
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
    readonly stable: StableText | undefined;
    /** How long the view is watched if it should not change, in milliseconds. */
    readonly waitMs: number;
    /** Whether an earlier send has proven that the view does not change by itself. */
    readonly isProven: boolean;
  },
): Promise<Observation> {
  const { name, wasPaid, isRepeated, stable, waitMs, isProven } = sent;
  if (!wasPaid) {
    const isPayment = DUPLICATE_SENDS[name].status === "succeeded";
    const reading = await awaitPaidOrder(world, look, isPayment ? PAID_TIMEOUT_MS : WATCH_MS);
    return { reading, stable, text: "not_compared" };
  }
  // A change of the view after an event that is new to the merchant is not a booking.
  const differs = ({ text }: ViewReading): boolean =>
    isRepeated && stable !== undefined && !isUnchanged(stable, text);
  const reading = await watchView(world, look, {
    isEnough: (seen) => seen.says !== "paid" || differs(seen),
    waitMs,
  });
  if (!isRepeated) return { reading, stable, text: "not_compared" };
  if (stable === undefined) return { reading, stable, text: "untold" };
  if (reading.says !== "paid" || !differs(reading)) return { reading, stable, text: "same" };
  return explainChange(world, look, { stable, reading, isProven });
}

/**
 * Determines whether a changed part of the view keeps changing without events. A time that still changes long after the
 * event is a clock, and counts as unchanged; any other part that still changes has no verdict.
 */
async function explainChange(
  world: ViewWorld,
  look: ViewRequest,
  {
    stable,
    reading,
    isProven,
  }: { readonly stable: StableText; readonly reading: ViewReading; readonly isProven: boolean },
): Promise<Observation> {
  if (isProven) return { reading, stable, text: "changed" };
  const isTime = differsOnlyInTimes(stable, reading.text);
  const readings = [reading];
  while (readings.length < (isTime ? TIME_READINGS : STABLE_READINGS) && !look.signal.aborted) {
    await world.sleep(isTime ? TIME_PAUSE_MS : READING_PAUSE_MS, look.signal);
    readings.push(await readView(world, look));
  }
  const unpaid = readings.find(({ says }) => says !== "paid");
  if (unpaid !== undefined) return { reading: unpaid, stable, text: "changed" };
  const texts = readings.map(({ text }) => text);
  const left = isTime
    ? removeChangingParts(stable, texts.slice(TIME_READINGS / 2), 1)
    : removeChangingParts(stable, texts, 2);
  if (left === "different_lengths") return { reading, stable: undefined, text: "untold" };
  if (!isUnchanged(left, texts.at(-1) ?? "")) return { reading, stable, text: "changed" };
  return isTime ? { reading, stable: left, text: "same" } : { reading, stable: undefined, text: "untold" };
}
