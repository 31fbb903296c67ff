import * as z from "zod/mini";
import { moment, wholeNumber, type DomainOf } from "../shape/fields.ts";
import { nameSchemas, toDomainFields } from "../shape/wire-names.ts";
import { BILLING_MODELS, PAYMENT_METHODS } from "./checkout.ts";
import { checkoutWire } from "./wire-shapes.ts";

const { id, object, orderId, amountMinor, currency, ...otherShapes } = toDomainFields(checkoutWire.shape);
const { status } = otherShapes;
export const checkoutObject = object;
export const checkoutStatus = status;

export const statusChange = z.object({
  at: moment,
  checkoutId: z.uuid(),
  orderId: z.string(),
  from: status,
  to: status,
  eventId: z.uuid(),
});
export type StatusChangeEntry = DomainOf<typeof statusChange>;

const attempt = z.object({
  number: z.int(),
  startedAt: moment,
  /** `abandoned`: the checkout ended while the attempt was open. */
  outcome: z.nullable(z.enum(["succeeded", "declined", "failed", "abandoned"])),
  finishedAt: z.nullable(moment),
});
/** Times are in milliseconds by the store's clock. */
export type Attempt = DomainOf<typeof attempt>;

const lateResult = z.object({
  attempt: z.int(),
  result: z.enum(["succeeded", "declined", "failed"]),
  recordedAt: moment,
});
/** The result of an attempt that ended after its checkout (decision 10). */
export type LateResult = DomainOf<typeof lateResult>;

const lastChange = z.object({
  /** By the store's clock. */
  at: moment,
  what: z.enum(["created", "started", "declined", "succeeded", "failed", "cancelled", "expired", "late"]),
  /** `order_id`: a reserved order_id, which settles the payment automatically (decision 37). */
  by: z.enum(["merchant", "payer", "order_id", "clock"]),
  attempt: z.nullable(z.int()),
  /** The attempts that the payer has left after a decline; otherwise null. */
  attemptsLeft: z.nullable(wholeNumber(0)),
});
export type LastChange = DomainOf<typeof lastChange>;

const event = z.object({
  eventId: z.uuid(),
  type: z.string(),
  sequence: wholeNumber(1),
  createdAt: moment,
});

export const paymentMethod = z.enum(PAYMENT_METHODS);

const terms = { id, object, orderId, amountMinor, currency, paymentMethod };

export const checkoutEntry = z.object({
  ...terms,
  status,
  description: z.nullable(z.string()),
  priceId: z.nullable(z.string()),
  createdAt: moment,
  expiresAt: moment,
  last: lastChange,
});
export type CheckoutEntry = DomainOf<typeof checkoutEntry>;

export const checkoutDetails = z.object({
  ...terms,
  ...otherShapes,
  description: z.nullable(z.string()),
  createdAt: moment,
  expiresAt: moment,
  attempts: z.array(attempt),
  lateResults: z.array(lateResult),
  events: z.array(event),
});

/** In code points. */
export const MAX_SUBJECT_LENGTH = 128;

export const price = z.object({
  id: z.string(),
  description: z.string(),
  amountMinor: wholeNumber(1),
  currency: z.string(),
  paymentMethod,
  billingModel: z.enum(BILLING_MODELS),
  approved: z.boolean(),
  retired: z.boolean(),
});
/** Sets amount, currency and method of a checkout (decisions 7, 89). */
export type Price = DomainOf<typeof price>;

export const refusedOrder = z.object({
  orderId: z.string(),
  /** The newest refused create; `count` includes all refused creates of this order_id. */
  requestId: z.string(),
  status: z.int(),
  code: z.nullable(z.string()),
  /** By the store's clock. */
  at: moment,
  count: wholeNumber(1),
});
export type RefusedOrder = DomainOf<typeof refusedOrder>;

nameSchemas({
  StatusChange: statusChange,
  PaymentAttempt: attempt,
  LateResult: lateResult,
  LastChange: lastChange,
  RefusedOrder: refusedOrder,
  ListedCheckout: checkoutEntry,
  Checkout: checkoutDetails,
  Price: price,
  CheckoutStatus: status,
});
