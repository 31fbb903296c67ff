import type { CheckoutObject } from "../../core/checkout/checkout.ts";

export type CheckoutKind = {
  readonly object: CheckoutObject;
  readonly command: "orders" | "sessions";
  readonly endpoint: "orders" | "checkout-sessions";
  readonly noun: string;
  readonly nounPhrase: string;
  readonly example: string;
};

export const ORDER_LABELS: CheckoutKind = {
  object: "order",
  command: "orders",
  endpoint: "orders",
  noun: "order",
  nounPhrase: "an order",
  example: "order-1001",
};
export const SESSION_LABELS: CheckoutKind = {
  object: "checkout_session",
  command: "sessions",
  endpoint: "checkout-sessions",
  noun: "checkout session",
  nounPhrase: "a checkout session",
  example: "order-1002",
};
