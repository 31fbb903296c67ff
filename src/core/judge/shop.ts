import { hash } from "node:crypto";
import * as z from "zod/mini";
import { textUpTo, type DomainOf } from "../shape/fields.ts";
import { parseDurationText } from "../duration.ts";

const MAX_TEXT_LENGTH = 2000;
export const DEFAULT_SETTLE_MS = 3000;
export const MAX_SETTLE_MS = 60_000;

const text = textUpTo(MAX_TEXT_LENGTH);
const pattern = text.check(z.refine(isPattern, "must be a regular expression"));
const settleSpan = z.codec(
  z
    .string()
    .check(z.refine((settle) => isDelay(settle), "must be a duration such as 3s or 30s, at most 60s")),
  z.number(),
  { decode: (settle) => parseDurationText(settle) ?? 0, encode: (milliseconds) => `${milliseconds}ms` },
);

const post = z.strictObject({ post: text, form: z.optional(z.record(z.string(), text)) });

export const shopSection = z.strictObject({
  endpoint: z.optional(text),
  /** Creates the order CHECKOUT_ORDER_ID: a command, or a POST to a page. */
  create: z.optional(z.union([text, post])),
  /** Where the shop shows an order: an address with `{order_id}` or `{session_id}`, or a command. */
  orderView: z.optional(text),
  orderViewCommand: z.optional(text),
  /** Matches the view of a paid order. Default: the field `paid` of a JSON view. */
  paidWhen: z.optional(pattern),
  /** How often the order was booked, and the booked amount: a field of a JSON view, or a pattern with one group. */
  bookings: z.optional(text),
  amount: z.optional(text),
  returnUrl: z.optional(text),
  orderIdOf: z.optional(pattern),
  /** Serves the shop on the port in PORT. */
  serve: z.optional(text),
  /** Tells a supervisor to restart the shop. */
  restart: z.optional(text),
  cookie: z.optional(z.strictObject({ env: text })),
  settle: z.optional(settleSpan),
});
export type ShopSection = DomainOf<typeof shopSection>;
export type ShopField = keyof ShopSection;

/** Identifies the section whose commands the user has confirmed. */
export function sectionHash(section: ShopSection): string {
  return hash("sha256", JSON.stringify(section), "hex");
}

export function isPattern(source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp;
  } catch {
    return false;
  }
}

export function isDelay(settle: string): boolean {
  const milliseconds = parseDurationText(settle);
  return milliseconds !== undefined && milliseconds <= MAX_SETTLE_MS;
}
