import { english } from "../../language.ts";
import { STEP_RESULTS, QUOTING_RESULTS } from "../drill-sentences.ts";

/** A reading of the merchant's page; `unknown` if the page could not be read. `got` is the answer as text. */
export type OrderReading = { readonly says: "paid" | "not_paid" | "unknown"; readonly got: string };

/** A reading as text. */
export function readingText({ says, got }: OrderReading): string {
  return english(READING_SENTENCES[says](got));
}

const READING_SENTENCES = {
  paid: QUOTING_RESULTS.paid,
  not_paid: QUOTING_RESULTS.unpaid,
  unknown: STEP_RESULTS.unknown,
} as const;

/** The parts of a text; null for each part that changes by itself. */
export type StableText = readonly (string | null)[];

/** Number of consecutive readings that are compared to find parts that change by themselves. */
export const STABLE_READINGS = 4;

/** Matches a part with a time: it may stay the same for a minute although it changes by itself. */
const A_TIME = /\d:\d\d/;
const SEPARATORS = /([\s"',;<>{}[\]()=&|]+)/;

/**
 * Finds the parts of one text that stay the same across readings between two events, oldest first. A part that differs
 * more than once changes by itself, like a clock. `unsettled`: a part differs once, which may be the end of an earlier
 * change. `different_lengths`: the texts do not have the same number of parts.
 */
export function findStableParts(texts: readonly string[]): StableText | "unsettled" | "different_lengths" {
  const readings = texts.map(partsOf);
  const [first = []] = readings;
  if (readings.some(({ length }) => length !== first.length)) return "different_lengths";
  const changes = first.map((_part, at) => changesAt(readings, at));
  if (changes.includes(1)) return "unsettled";
  return first.map((part, at) => (changes[at] === 0 ? part : null));
}

/** Whether the stable parts of a text are unchanged. */
export function isUnchanged(stable: StableText, text: string): boolean {
  const parts = partsOf(text);
  return parts.length === stable.length && stable.every((part, at) => part === null || part === parts[at]);
}

/**
 * Removes stable parts that differ at least `minChanges` times in later readings between two events, because such
 * parts also change by themselves. `different_lengths` as in `findStableParts`.
 */
export function removeChangingParts(
  stable: StableText,
  texts: readonly string[],
  minChanges: number,
): StableText | "different_lengths" {
  const readings = texts.map(partsOf);
  if (readings.some(({ length }) => length !== readings[0]?.length)) return "different_lengths";
  return stable.map((part, at) => (changesAt(readings, at) >= minChanges ? null : part));
}

/** Whether only times differ; such a text may need watching for longer than a minute. */
export function differsOnlyInTimes(stable: StableText, text: string): boolean {
  const parts = partsOf(text);
  return (
    parts.length === stable.length &&
    stable.every((part, at) => part === null || part === parts[at] || A_TIME.test(parts[at] ?? ""))
  );
}

/** The text of an order before and after its payment, without its ids. */
type PaidText = { readonly before: string; readonly after: string };

/** Whether a view shows how often an order was booked: a number or a list that a payment changes. */
export function showsBookings({ before, after }: PaidText): boolean {
  const [first, then] = [numbersIn(before), numbersIn(after)];
  return (
    wordsIn(after).length > wordsIn(before).length ||
    then.some(({ label, value }, at) => {
      const old = first.length === then.length ? first[at] : first.find((one) => one.label === label);
      return old !== undefined && old.value !== value;
    })
  );
}

/**
 * Whether the view of an order whose payment event was sent twice changed twice as much as the view of an order whose
 * payment event was sent once: a number grew twice as far, or a list grew longer. Times are ignored.
 */
export function hasChangedTwiceAsMuch(twice: PaidText, once: PaidText): boolean {
  const grown = (text: PaidText): number => wordsIn(text.after).length - wordsIn(text.before).length;
  return (grown(once) > 0 && grown(twice) > grown(once)) || hasGrownTwiceAsFar(twice, once);
}

/** Whether a number grew twice as far in the view of a payment sent twice as in the view of a payment sent once. */
export function hasGrownTwiceAsFar(twice: PaidText, once: PaidText): boolean {
  const [base, single, double] = [numbersIn(twice.before), numbersIn(once.after), numbersIn(twice.after)];
  const isAligned = base.length === double.length && single.length === double.length;
  return double.some(({ label, value }, at) => {
    const same = ({ label: other }: { readonly label: string }): boolean => other === label;
    const from = (isAligned ? base[at] : base.find(same))?.value ?? Number.NaN;
    const to = (isAligned ? single[at] : single.find(same))?.value ?? Number.NaN;
    return to !== from && value - from === 2 * (to - from);
  });
}

/** Whether a number that the payment increased has its earlier value again, after later events of the same order. */
export function isReverted({ before, after, last }: PaidText & { readonly last: string }): boolean {
  const [base, paid, now] = [numbersIn(before), numbersIn(after), numbersIn(last)];
  if (base.length !== paid.length || base.length !== now.length) return false;
  return base.some(({ value }, at) => (paid[at]?.value ?? value) > value && now[at]?.value === value);
}

const TIMES = /\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?|\d\d?:\d\d(?::\d\d)?(?:\.\d+)?/g;
/**
 * Matches a number that counts something or is an amount, possibly with separators and cents, and the word before it;
 * not a time in seconds or milliseconds, or a version.
 */
const COUNT =
  /([A-Za-z_][\w-]*)?[^A-Za-z0-9]{0,8}(?<![\w.])(\d{1,3}(?:[.,' ]\d{3})+|\d{1,8})(?:[.,](\d{1,2}))?(?!\w|[.,]\d)/g;

function numbersIn(text: string): readonly { readonly label: string; readonly value: number }[] {
  const counts = text.replaceAll(TIMES, "").matchAll(COUNT);
  return Array.from(counts, ([, label = "", whole = "", cents = ""]) => ({
    label,
    value: Number(whole.replaceAll(/\D/g, "")) * 100 + Number(cents.padEnd(2, "0")),
  }));
}

function wordsIn(text: string): readonly string[] {
  return partsOf(text.replaceAll(TIMES, "")).filter((part) => /\w/.test(part));
}

/** The number of readings in which a part differs from the previous reading. */
function changesAt(readings: readonly (readonly string[])[], at: number): number {
  return readings.filter((parts, index) => index > 0 && parts[at] !== readings[index - 1]?.[at]).length;
}

function partsOf(text: string): string[] {
  return text.split(SEPARATORS);
}
