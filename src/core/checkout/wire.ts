import * as z from "zod/mini";
import { STATUSES, type Checkout } from "./checkout.ts";
import type { Refusal } from "../outcome.ts";
import { cutText } from "../text.ts";

/** Maximum kept length of a text from the service, in code points; a broken service may send a megabyte. */
const MAX_TEXT_CODE_POINTS = 500;
/** Maximum length of an address: longer addresses do not work in all browsers. */
const MAX_URL_LENGTH = 2048;
const shortText = z.pipe(
  z.string(),
  z.transform((text) => cutText(text, MAX_TEXT_CODE_POINTS)),
);

/** The fields of a checkout as the interface states them (interface 12). */
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

/** Marks a wire field that a view hides. */
export const HIDDEN_FIELD = Symbol("hidden");
export type FieldDisplay<Shown> = Readonly<Record<keyof CheckoutWire, Shown | typeof HIDDEN_FIELD>>;

export function visibleValues<Shown>(
  fields: Readonly<Record<string, Shown | typeof HIDDEN_FIELD>>,
): readonly Shown[] {
  return Object.values(fields).flatMap((field) => (field === HIDDEN_FIELD ? [] : [field]));
}

/** The success envelope (interface 11). Other fields are accepted and dropped. */
export const checkoutResponse = z.object({ ok: z.literal(true), request_id: z.uuid(), data: checkoutWire });
export type CheckoutResponse = z.infer<typeof checkoutResponse>;

/** The error envelope (interface 17). */
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

/** The bytes of a checkout in answers and events. */
export function checkoutJson(checkout: Checkout, checkoutOrigin: string): string {
  return JSON.stringify(wireOf(checkout, checkoutOrigin));
}

/** `livemode` is always false (decision 20). */
function wireOf(checkout: Checkout, checkoutOrigin: string): CheckoutWire {
  return {
    id: checkout.id,
    object: checkout.object,
    order_id: checkout.orderId,
    amount_minor: checkout.amountMinor,
    currency: checkout.currency,
    status: checkout.status,
    checkout_url: checkoutUrl(checkout, checkoutOrigin),
    livemode: false,
  } satisfies Required<CheckoutWire>;
}

/** The bytes of a successful answer, containing the bytes of its checkout. */
export function successBody(requestId: string, checkout: string): string {
  return `{"ok":true,"request_id":${JSON.stringify(requestId)},"data":${checkout}}`;
}

export function errorBody(
  requestId: string,
  { code, message, next, path }: Pick<Refusal, "message" | "next" | "path"> & { readonly code: string },
): string {
  return JSON.stringify({
    ok: false,
    request_id: requestId,
    error: { code, message, ...(next !== undefined && { next }), ...(path && { path: [...path] }) },
  } satisfies ErrorResponse);
}

export function checkoutUrl({ id }: Pick<Checkout, "id">, checkoutOrigin: string): string {
  return `${checkoutOrigin}/pay/${id}`;
}
