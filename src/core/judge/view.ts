import * as z from "zod/mini";
import { isRecord, parseJson } from "../json.ts";

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
  const paid = paidWhen === undefined ? read?.paid : paidWhen.test(text);
  if (paid === undefined) return undefined;
  return {
    paid,
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
  const found = valueAt(place, text, value);
  const written = typeof found === "number" && !Number.isInteger(found) ? found.toFixed(2) : found;
  return typeof written === "string" && DECIMAL.test(written.trim())
    ? Number(written.replaceAll(/\D/g, ""))
    : numberAt(place, text, value);
}

function numberAt(place: string, text: string, value: unknown): number | null {
  const found = valueAt(place, text, value);
  const number = typeof found === "string" ? Number(found) : found;
  return typeof number === "number" ? number : null;
}

/** What the group of a pattern matches; a text that is no pattern matches nothing. */
function groupOf(pattern: string, text: string): string | undefined {
  try {
    return new RegExp(pattern).exec(text)?.[1];
  } catch {
    return undefined;
  }
}
