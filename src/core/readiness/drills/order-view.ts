/**
 * What the merchant's page says about the order; `unknown` if it could not be read. `got` is the answer, for people.
 */
export type OrderView = { readonly says: "paid" | "not_paid" | "unknown"; readonly got: string };

/** What a view said, for people. */
export function sayOf({ says, got }: OrderView): string {
  return `${says.replace("_", " ")}: ${got}`;
}

/** What was shown while nothing happened: the parts of a text, null for each that changes by itself. */
export type StillText = readonly (string | null)[];

/** How many readings in a row say what changes by itself. */
export const STILL_READINGS = 4;

/** A part that shows a time: it may stay the same for a minute, and change by itself all the same. */
const A_TIME = /\d:\d\d/;
const SEPARATORS = /([\s"',;<>{}[\]()=&|]+)/;

/**
 * Compares readings of one text, taken while nothing happened, oldest first. A part that differs more than once changes
 * by itself, as a clock does; `unsettled` if one differs just once, which may be the end of what happened before, and
 * `restless` if the texts do not have the same parts.
 */
export function stillTextOf(texts: readonly string[]): StillText | "unsettled" | "restless" {
  const readings = texts.map(partsOf);
  const [first = []] = readings;
  if (readings.some(({ length }) => length !== first.length)) return "restless";
  const changes = first.map((_part, at) => changesAt(readings, at));
  if (changes.includes(1)) return "unsettled";
  return first.map((part, at) => (changes[at] === 0 ? part : null));
}

/** Whether a text is what was still before. */
export function isStill(still: StillText, text: string): boolean {
  const parts = partsOf(text);
  return parts.length === still.length && still.every((part, at) => part === null || part === parts[at]);
}

/**
 * What stays still, without what differs at least `minChanges` times among later readings while nothing happens: that
 * changes by itself, too. `restless` as for `stillTextOf`.
 */
export function stillAmong(
  still: StillText,
  texts: readonly string[],
  minChanges: number,
): StillText | "restless" {
  const readings = texts.map(partsOf);
  if (readings.some(({ length }) => length !== readings[0]?.length)) return "restless";
  return still.map((part, at) => (changesAt(readings, at) >= minChanges ? null : part));
}

/** Whether what differs are times alone, which may have to be watched for longer than a minute. */
export function areTimes(still: StillText, text: string): boolean {
  const parts = partsOf(text);
  return (
    parts.length === still.length &&
    still.every((part, at) => part === null || part === parts[at] || A_TIME.test(parts[at] ?? ""))
  );
}

/** How often a part differs from the reading before. */
function changesAt(readings: readonly (readonly string[])[], at: number): number {
  return readings.filter((parts, index) => index > 0 && parts[at] !== readings[index - 1]?.[at]).length;
}

function partsOf(text: string): string[] {
  return text.split(SEPARATORS);
}
