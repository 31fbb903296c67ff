import type { Refusal } from "../outcome.ts";
import type { Checkout } from "./checkout.ts";
import type { CheckoutWire, ErrorResponse } from "./wire-shapes.ts";

export const HIDDEN_FIELD = Symbol("hidden");
export type FieldDisplay<Shown> = Readonly<Record<keyof CheckoutWire, Shown | typeof HIDDEN_FIELD>>;

export function visibleValues<Shown>(
  fields: Readonly<Record<string, Shown | typeof HIDDEN_FIELD>>,
): readonly Shown[] {
  return Object.values(fields).flatMap((field) => (field === HIDDEN_FIELD ? [] : [field]));
}

/** Answers and events contain this text byte for byte. */
export function checkoutJson(checkout: Checkout, checkoutOrigin: string): string {
  return JSON.stringify({
    id: checkout.id,
    object: checkout.object,
    order_id: checkout.orderId,
    amount_minor: checkout.amountMinor,
    currency: checkout.currency,
    status: checkout.status,
    checkout_url: checkoutUrl(checkout, checkoutOrigin),
    livemode: false,
  } satisfies CheckoutWire);
}

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
