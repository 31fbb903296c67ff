import { printableLiteral } from "../text.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";

export const STATUSES = ["created", "pending", "succeeded", "failed", "cancelled", "expired"] as const;
export type Status = (typeof STATUSES)[number];

export const PAYMENT_METHODS = ["alipay_plus", "wechat_pay"] as const;
export type PaymentMethod = (typeof PAYMENT_METHODS)[number];

/** The service creates only one-time orders (interface 1, 10). */
export const BILLING_MODELS = ["one_time"] as const;

export const MAX_PRICES = 200;

export type CheckoutObject = "order" | "checkout_session";

/** Times are in milliseconds since the epoch. */
export type Checkout = {
  readonly id: string;
  readonly storeId: string;
  readonly object: CheckoutObject;
  readonly orderId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly paymentMethod: PaymentMethod;
  readonly description: string | null;
  readonly priceId: string | null;
  readonly status: Status;
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** With a `priceId`, amount, currency and method come from the catalog price (decision 7). */
export type PurchaseTerms = Pick<
  Checkout,
  "orderId" | "amountMinor" | "currency" | "paymentMethod" | "description" | "priceId"
>;

export type StoreFacts = {
  readonly id: string;
  readonly active: boolean;
  readonly paymentMethods: readonly string[];
  readonly currencies: readonly string[];
};

export type Capability = {
  readonly kind: "payment_method" | "currency";
  /** For example `wechat_pay` or `EUR`. */
  readonly name: string;
  readonly active: boolean;
};

export function blocksOrderId(status: Status): boolean {
  return status === "created" || status === "pending" || status === "succeeded";
}

export const DEFAULT_CHECKOUT_LIFETIME_MS = 3_600_000;
export const MIN_CHECKOUT_LIFETIME_MS = 300_000;
export const MAX_CHECKOUT_LIFETIME_MS = 86_400_000;

/** Checks in the order of decision 3. `blocker`: the open or succeeded checkout of the order_id (decision 8). */
export function openCheckout(
  input: Pick<Checkout, "id" | "object"> & {
    readonly terms: PurchaseTerms;
    readonly store: StoreFacts;
    readonly blocker: Pick<Checkout, "id" | "object" | "status"> | undefined;
    readonly lifetimeMs: number;
  },
  now: number,
): Outcome<Checkout> {
  const { id, object, terms, store, blocker, lifetimeMs } = input;
  if (!store.active) {
    return refuseFact("store_inactive", { store: store.id });
  }
  if (!store.paymentMethods.includes(terms.paymentMethod)) {
    const facts = { field: "payment_method", received: terms.paymentMethod, active: store.paymentMethods };
    return refuseFact("capability_missing", facts);
  }
  if (!store.currencies.includes(terms.currency)) {
    const facts = { field: "currency", received: terms.currency, active: store.currencies };
    return refuseFact("capability_missing", facts);
  }
  if (blocker !== undefined) {
    const facts = { ...blocker, order: printableLiteral(terms.orderId) };
    return refuseFact("order_conflict", facts, { conflictingCheckoutId: blocker.id });
  }
  return accept({
    ...terms,
    id,
    storeId: store.id,
    object,
    status: "created",
    createdAt: now,
    expiresAt: now + lifetimeMs,
  });
}
