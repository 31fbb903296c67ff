import { DUPLICATE_SENDS, type SendFact, type SendName } from "../../core/readiness/drills/duplicates.ts";
import {
  areTimes,
  isStill,
  STILL_READINGS,
  stillAmong,
  stillTextOf,
  type StillText,
} from "../../core/readiness/drills/order-view.ts";
import {
  awaitPaid,
  readView,
  watchView,
  type ViewWorld,
  type ViewRequest,
  type ViewReading,
} from "./order-view.ts";

/** How long the merchant may need to mark an order paid, in milliseconds. */
export const PAID_MS = 15_000;
/** How long the order is watched after an event that should change nothing, in milliseconds. */
export const WATCH_MS = 3000;
/** Maximum time that an event of a payment which comes again is watched, in milliseconds. */
export const MAX_WATCH_MS = 60_000;
/** How long the merchant may need for what follows from a payment, in milliseconds. */
const FULFIL_MS = 4000;
/** Pause between two readings that tell what changes by itself, in milliseconds. */
const READING_PAUSE_MS = 1000;
/** The shortest time in which a view comes to rest, in milliseconds. */
export const REST_MS = FULFIL_MS + (STILL_READINGS - 1) * READING_PAUSE_MS;
/** Maximum number of readings until the view has come to rest; what still changes then does so by itself. */
const MAX_READINGS = 15;
/** How often, and with which pauses, a view is read that shows a time without seconds: for longer than a minute. */
const TIME_READINGS = 14;
const TIME_PAUSE_MS = 5000;

/** The last reading after a send, and what of the view stays still; undefined where that is not known. */
type Observation = Pick<SendFact, "text"> & {
  readonly reading: ViewReading;
  readonly still: StillText | undefined;
};

/** What of the view stays still before something is sent, what changed after the last send, and when. */
type ViewBaseline = Pick<SendFact, "text"> & {
  readonly still: StillText | undefined;
  readonly changedAt: number | undefined;
};

/**
 * Waits until the view has come to rest. What has changed since the last look followed from the last event, if that was
 * new to the merchant; else nothing should have changed.
 */
export async function restOf(
  world: ViewWorld,
  look: ViewRequest,
  {
    known,
    last,
    isProven,
  }: { readonly known: StillText | undefined; readonly last: SendFact; readonly isProven: boolean },
): Promise<ViewBaseline> {
  const { text } = last;
  const reading = await readView(world, look);
  if (known === undefined) return { ...(await settle(world, look)), text };
  if (isStill(known, reading.text)) return { still: known, changedAt: undefined, text };
  const changedAt = world.monotonic();
  if (text === "not_compared") {
    const settled = await settle(world, look);
    return { still: settled.still, changedAt: settled.changedAt ?? changedAt, text };
  }
  const late = await explainChange(world, look, { still: known, reading, isProven });
  if (late.text === "same") return { still: late.still, changedAt: undefined, text };
  const settled = await settle(world, look);
  // What was found before stands.
  return { still: settled.still, changedAt, text: text === "same" ? late.text : text };
}

/** What stays still among readings, and when the last change was; undefined where there was none, or no rest. */
async function settle(world: ViewWorld, look: ViewRequest): Promise<Omit<ViewBaseline, "text">> {
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
export async function lookAfter(
  world: ViewWorld,
  look: ViewRequest,
  sent: {
    readonly name: SendName;
    readonly wasPaid: boolean;
    readonly isRepeated: boolean;
    readonly still: StillText | undefined;
    /** How long it is watched where nothing should change. */
    readonly waitMs: number;
    /** Whether a change was told apart from a clock before. */
    readonly isProven: boolean;
  },
): Promise<Observation> {
  const { name, wasPaid, isRepeated, still, waitMs, isProven } = sent;
  if (!wasPaid) {
    const isPayment = DUPLICATE_SENDS[name].status === "succeeded";
    const reading = await awaitPaid(world, look, isPayment ? PAID_MS : WATCH_MS);
    return { reading, still, text: "not_compared" };
  }
  // What an event that is new to the merchant adds to the view is no booking.
  const differs = ({ text }: ViewReading): boolean =>
    isRepeated && still !== undefined && !isStill(still, text);
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
 * Whether what has changed goes on changing while nothing happens. A time that still changes long after the event is a
 * clock, and counts as unchanged; about anything else that still changes nothing can be told.
 */
async function explainChange(
  world: ViewWorld,
  look: ViewRequest,
  {
    still,
    reading,
    isProven,
  }: { readonly still: StillText; readonly reading: ViewReading; readonly isProven: boolean },
): Promise<Observation> {
  if (isProven) return { reading, still, text: "changed" };
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
