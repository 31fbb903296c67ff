import * as z from "zod/mini";
import { isRecord, parseJson } from "../json.ts";
import { currencyDecimals } from "../money.ts";
import { isPattern } from "./shop.ts";
import { excerpt, printable, redactSecrets } from "../text.ts";

/** Values that the merchant's records do not show are null. */
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
  /** The currency of the order, which decides what decimals mean. Default: a currency with two decimals. */
  readonly currency?: string | undefined;
};

const viewShape = z.object({
  paid: z.optional(z.boolean()),
  times: z.nullish(z.int().check(z.gte(0))),
  amount_minor: z.nullish(z.union([z.number(), z.string()])),
});

/**
 * Reads a view of an order. A pattern, or otherwise JSON (`{"paid","times","amount_minor"}`), decides whether the order
 * is paid. An amount with decimals, such as 19.99, is in major units if the merchant has named its field or
 * pattern. In the default field `amount_minor` it is not converted, so it differs from every order's amount. Undefined
 * if the view does not show whether the order is paid.
 */
export function parseView(
  text: string,
  { paidWhen, bookings, amount, currency }: ViewPatterns,
): ShownOrder | undefined {
  const json = parseJson(text);
  const jsonView = viewShape.safeParse(json).data;
  const isPaid = paidWhen === undefined ? jsonView?.paid : paidWhen.test(text);
  if (isPaid === undefined) return undefined;
  return {
    paid: isPaid,
    times: bookings === undefined ? (jsonView?.times ?? null) : numberAt(bookings, text, json),
    amountMinor:
      amount === undefined
        ? numberAt("amount_minor", text, json)
        : amountAt(amount, { text, json, currency }),
  };
}

function valueAt(fieldOrPattern: string, text: string, json: unknown): unknown {
  const field = isRecord(json) ? json[fieldOrPattern] : undefined;
  return field ?? matchOf(fieldOrPattern, text)?.[1];
}

/** An amount with decimals, such as 19.99 or 1.234,50; the group matches the decimals. */
const DECIMAL_AMOUNT = /^\d[\d.,'\s]*[.,](\d{2,4})$/;
const GROUPED_AMOUNT = /^\d{1,3}(?:[.,'\s]\d{3})+$/;

function amountAt(
  fieldOrPattern: string,
  {
    text,
    json,
    currency = "EUR",
  }: { readonly text: string; readonly json: unknown; readonly currency?: string | undefined },
): number | null {
  const value = valueAt(fieldOrPattern, text, json);
  const places = currencyDecimals(currency) ?? 2;
  const writtenValue =
    typeof value === "number" && !Number.isInteger(value) ? value.toFixed(Math.max(2, places)) : value;
  if (typeof writtenValue !== "string") return numberAt(fieldOrPattern, text, json);
  const amountText = writtenValue.trim();
  const digits = Number(amountText.replaceAll(/\D/g, ""));
  const decimalCount = DECIMAL_AMOUNT.exec(amountText)?.[1]?.length ?? 0;
  // Three digits after a separator are decimals only if the currency has three.
  if (decimalCount === 0 || (decimalCount !== 2 && decimalCount !== places))
    return GROUPED_AMOUNT.test(amountText) ? digits : numberAt(fieldOrPattern, text, json);
  return decimalCount > places
    ? digits / 10 ** (decimalCount - places)
    : digits * 10 ** (places - decimalCount);
}

function numberAt(fieldOrPattern: string, text: string, json: unknown): number | null {
  const value = valueAt(fieldOrPattern, text, json);
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" ? number : null;
}

function matchOf(pattern: string, text: string): RegExpExecArray | null {
  return isPattern(pattern) ? new RegExp(pattern).exec(text) : null;
}

const EXCERPT_MARGINS = { before: 36, after: 20 } as const;

export function viewExcerpt(text: string, { paidWhen, bookings, amount }: ViewPatterns): string {
  // Redacted before it is cut, because a secret without its beginning is not recognised.
  const wholeText = redactSecrets(text.trim());
  if (wholeText.length <= EXCERPT_MARGINS.before + EXCERPT_MARGINS.after) return excerpt(wholeText);
  const ends = [
    paidWhen === undefined ? endOfFieldOrPattern("paid", wholeText) : endOfMatch(paidWhen.exec(wholeText)),
    endOfFieldOrPattern(bookings ?? "times", wholeText),
    endOfFieldOrPattern(amount ?? "amount_minor", wholeText),
  ].filter((end) => end !== undefined);
  if (ends.length === 0) return excerpt(wholeText.replace(/^[^]*<body[^>]*>/i, "").replace(/<[^>]*>/g, " "));
  const spans: { start: number; end: number }[] = [];
  for (const matchEnd of ends.toSorted((left, right) => left - right)) {
    const start = Math.max(0, matchEnd - EXCERPT_MARGINS.before);
    const end = matchEnd + EXCERPT_MARGINS.after;
    const lastSpan = spans.at(-1);
    if (lastSpan !== undefined && start <= lastSpan.end) lastSpan.end = end;
    else spans.push({ start, end });
  }
  return spans
    .map(({ start, end }) => printable(wholeText.slice(start, end).trim().replace(/\s+/g, " ")))
    .join(" … ");
}

function endOfFieldOrPattern(fieldOrPattern: string, text: string): number | undefined {
  const escapedName = fieldOrPattern.replace(/[^\w]/g, String.raw`\$&`);
  return endOfMatch(matchOf(`"${escapedName}"\\s*:\\s*"?[\\w.,]+`, text) ?? matchOf(fieldOrPattern, text));
}

function endOfMatch(match: RegExpExecArray | null): number | undefined {
  return match === null ? undefined : match.index + match[0].length;
}
