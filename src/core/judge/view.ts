import * as z from "zod/mini";
import { isRecord, parseJson } from "../json.ts";
import { excerpt, redactSecrets } from "../text.ts";

/** The state of an order in the merchant's own records; values that the records do not show are null. */
export type ShownOrder = {
  readonly paid: boolean;
  readonly times: number | null;
  readonly amountMinor: number | null;
};

export type ViewPatterns = {
  readonly paidWhen: RegExp | undefined;
  /** A field of a JSON view, or a pattern with one group. Default: `times` and `amount_minor`. */
  readonly bookings?: string | undefined;
  readonly amount?: string | undefined;
};

const json = z.object({
  paid: z.optional(z.boolean()),
  times: z.nullish(z.int().check(z.gte(0))),
  amount_minor: z.nullish(z.union([z.number(), z.string()])),
});

/**
 * Reads a view of an order. A pattern, or otherwise JSON (`{"paid","times","amount_minor"}`), decides whether the order is
 * paid. An amount with two decimals, such as 19.99, is in major units if the merchant has named its place. In the default
 * field `amount_minor` it is read as it is: it differs from every order's amount. Undefined if the view does not show whether the order is paid.
 */
export function parseView(
  text: string,
  { paidWhen, bookings, amount }: ViewPatterns,
): ShownOrder | undefined {
  const value = parseJson(text);
  const read = json.safeParse(value).data;
  const paidMark = paidWhen === undefined ? read?.paid : paidWhen.test(text);
  if (paidMark === undefined) return undefined;
  return {
    paid: paidMark,
    times: bookings === undefined ? (read?.times ?? null) : numberAt(bookings, text, value),
    amountMinor: amount === undefined ? numberAt("amount_minor", text, value) : amountAt(amount, text, value),
  };
}

/** The value of a field of a JSON view, or of the group of a pattern. */
function valueAt(place: string, text: string, value: unknown): unknown {
  const field = isRecord(value) ? value[place] : undefined;
  return field ?? groupOf(place, text);
}

/** An amount with two decimals, such as 19.99 or 1.234,50: its digits are its minor units. */
const DECIMAL = /^\d[\d.,' ]*[.,]\d{2}$/;

/** The amount at a place that the merchant has named, in minor units. */
function amountAt(place: string, text: string, value: unknown): number | null {
  const entry = valueAt(place, text, value);
  const writtenValue = typeof entry === "number" && !Number.isInteger(entry) ? entry.toFixed(2) : entry;
  return typeof writtenValue === "string" && DECIMAL.test(writtenValue.trim())
    ? Number(writtenValue.replaceAll(/\D/g, ""))
    : numberAt(place, text, value);
}

function numberAt(place: string, text: string, value: unknown): number | null {
  const entry = valueAt(place, text, value);
  const number = typeof entry === "string" ? Number(entry) : entry;
  return typeof number === "number" ? number : null;
}

/** The text of a pattern's group; a text that is no pattern matches nothing. */
function groupOf(pattern: string, text: string): string | undefined {
  return matchOf(pattern, text)?.[1];
}

function matchOf(pattern: string, text: string): RegExpExecArray | null {
  try {
    return new RegExp(pattern).exec(text);
  } catch {
    return null;
  }
}

/** Characters of a long view that a finding shows before the end of what decided, and after it. */
const SHOWN = { before: 36, after: 20 } as const;

/** A view for a finding: a long one is cut around the places that decide what it shows, or to its text. */
export function viewExcerpt(text: string, { paidWhen, bookings, amount }: ViewPatterns): string {
  // Redacted before it is cut: a secret whose beginning is cut off has no form by which it is known.
  const wholeText = redactSecrets(text.trim());
  if (wholeText.length <= SHOWN.before + SHOWN.after) return excerpt(wholeText);
  const marks = [
    paidWhen === undefined ? endOfPlace("paid", wholeText) : endOf(paidWhen.exec(wholeText)),
    endOfPlace(bookings ?? "times", wholeText),
    endOfPlace(amount ?? "amount_minor", wholeText),
  ].filter((end) => end !== undefined);
  if (marks.length === 0) return excerpt(wholeText.replace(/^[^]*<body[^>]*>/i, "").replace(/<[^>]*>/g, " "));
  const parts: string[] = [];
  let shownTo = 0;
  for (const end of marks.toSorted((left, right) => left - right)) {
    if (end <= shownTo) continue;
    parts.push(excerpt(wholeText.slice(Math.max(shownTo, end - SHOWN.before), end + SHOWN.after)));
    shownTo = end + SHOWN.after;
  }
  return parts.join(" … ");
}

/** The end of a field with its value, or of what a pattern matches. */
function endOfPlace(place: string, text: string): number | undefined {
  const name = place.replace(/[^\w]/g, String.raw`\$&`);
  return endOf(matchOf(`"${name}"\\s*:\\s*"?[\\w.,]+`, text) ?? matchOf(place, text));
}

function endOf(match: RegExpExecArray | null): number | undefined {
  return match === null ? undefined : match.index + match[0].length;
}
