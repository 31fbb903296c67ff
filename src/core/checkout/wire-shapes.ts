import * as z from "zod/mini";
import { cutText } from "../text.ts";
import { STATUSES } from "./checkout.ts";

/** In code points. Longer texts are cut, because a broken service may send a megabyte. */
const MAX_TEXT_CODE_POINTS = 500;
const MAX_URL_LENGTH = 2048;
const shortText = z.pipe(
  z.string(),
  z.transform((text) => cutText(text, MAX_TEXT_CODE_POINTS)),
);

export const checkoutWire = z.object({
  id: z.uuid(),
  object: z.enum(["order", "checkout_session"]),
  order_id: z.string(),
  amount_minor: z.int(),
  currency: z.string(),
  status: z.enum(STATUSES),
  checkout_url: z.url({ protocol: /^https?$/ }).check(z.maxLength(MAX_URL_LENGTH)),
  livemode: z.boolean(),
});
export type CheckoutWire = z.infer<typeof checkoutWire>;

export const checkoutResponse = z.object({ ok: z.literal(true), request_id: z.uuid(), data: checkoutWire });
export type CheckoutResponse = z.infer<typeof checkoutResponse>;

export const errorResponse = z.object({
  ok: z.literal(false),
  request_id: z.string(),
  error: z.object({
    code: shortText,
    message: shortText,
    next: z.optional(shortText),
    path: z.optional(z.array(z.union([z.string(), z.int()]))),
  }),
});
export type ErrorResponse = z.infer<typeof errorResponse>;
