import type { AssumptionEntry } from "../control/readiness.ts";
import type { CreateRequest } from "../checkout/create-request.ts";
import { ROOT_PATH, type ReturnOrigin } from "../checkout/return-origin.ts";
import { BUCKET_OWNER } from "../rate-limit.ts";
import { errorRow, type ErrorCode } from "../errors.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";

/**
 * All decisions that fill a gap in the interface, in their order, and those about the sandbox's tools that an
 * integration can rely on.
 */
export const ASSUMPTIONS: readonly Omit<AssumptionEntry, "reliedOn">[] = [
  {
    decision: 1,
    title: "Base URL",
    chosen: "The API is at http://127.0.0.1:4242/v1, payment pages and everything else on the same port.",
    setting: "sandbox start --port, --allow-host",
    shownBy: null,
  },
  {
    decision: 2,
    title: "Ids",
    chosen: "Ids are UUIDs of version 7, in lower case, and sort by time.",
    setting: null,
    shownBy: null,
  },
  {
    decision: 3,
    title: "Order of refusals",
    chosen: "Where a request has several faults, a fixed order says which one is named.",
    setting: null,
    shownBy: null,
  },
  {
    decision: 4,
    title: "Error codes",
    chosen: "error.code is one of a closed list; the interface states statuses alone.",
    setting: null,
    shownBy: "a request of the API was refused",
  },
  {
    decision: 5,
    title: "Idempotency",
    chosen:
      "A key belongs to a store for 30 days; the same path and values get the same bytes again, others are 409 idempotency_key_reused.",
    setting: null,
    shownBy: "a create was answered again, or its key refused for another body",
  },
  {
    decision: 6,
    title: "Strict JSON",
    chosen: "Bodies are strict JSON in UTF-8 of at most 16 KiB, sent as application/json.",
    setting: null,
    shownBy: "a body was refused for its form",
  },
  {
    decision: 7,
    title: "price_id",
    chosen: "A create takes price_id in place of amount, currency and method, never beside them.",
    setting: null,
    shownBy: "a create named a price_id",
  },
  {
    decision: 8,
    title: "order_id",
    chosen:
      "An order_id has one open or paid checkout in a store, across both endpoints; a second create with another key is 409 order_conflict.",
    setting: null,
    shownBy: "a create met order_conflict",
  },
  {
    decision: 9,
    title: "Retrieve",
    chosen: "GET checkout-sessions/{id} answers for an order's id too; an unknown id is 404.",
    setting: null,
    shownBy: "an order was retrieved by its id, or an id was not found",
  },
  {
    decision: 10,
    title: "States",
    chosen:
      "A checkout can be paid for an hour, a declined attempt leaves it pending and the fifth fails it; a result that comes after the end is noted and not applied.",
    setting: "sandbox start --checkout-lifetime",
    shownBy: "a checkout expired, an attempt was declined, or a result came late",
  },
  {
    decision: 11,
    title: "Events",
    chosen: "Types are order.… and checkout_session.… with the status; the body has our fields.",
    setting: null,
    shownBy: "an endpoint took an event",
  },
  {
    decision: 12,
    title: "Delivery headers",
    chosen:
      "Checkout-Event-Id, Checkout-Timestamp and Checkout-Signature carry what a receiver verifies, with a tolerance of 300 s.",
    setting: "headerNames and toleranceSeconds of hosted-checkout/webhooks",
    shownBy: "an endpoint took an event",
  },
  {
    decision: 13,
    title: "Schedule",
    chosen: "A delivery that was not taken is tried again after 5 s, 5 min and so on, eight times in all.",
    setting: "sandbox start --delivery-schedule, --delivery-timeout",
    shownBy: "an endpoint took an event that it had not taken before",
  },
  {
    decision: 14,
    title: "Targets",
    chosen: "Events are delivered to this machine alone.",
    setting: "sandbox start --allow-target",
    shownBy: null,
  },
  {
    decision: 15,
    title: "Keys",
    chosen:
      "The scopes are orders:write, checkout_sessions:write and checkout_sessions:read; retrieving an order takes the last.",
    setting: null,
    shownBy: "a request was refused for its scope",
  },
  {
    decision: 16,
    title: "Signing secret",
    chosen:
      "A secret is whsec_…, and its whole text is the key of the signature; endpoints share the store's until they are rotated.",
    setting: "endpoints rotate-secret <id>",
    shownBy: null,
  },
  {
    decision: 17,
    title: "Rate limit",
    chosen: `1000 requests a second for each ${BUCKET_OWNER}, twice that at once; 429 carries Retry-After.`,
    setting: "sandbox start --rate-limit",
    shownBy: "a request was refused with 429",
  },
  {
    decision: 18,
    title: "Clock",
    chosen: "The store's clock can be stopped and moved, and drives what falls due.",
    setting: "sandbox clock",
    shownBy: "the clock was moved",
  },
  {
    decision: 19,
    title: "Return to the merchant",
    chosen:
      "Customers are sent back to /?order_id=…&session_id=… of the first registered origin, never with a status.",
    setting: "return-origins add <origin>",
    shownBy: "a payer acted on a payment page that offers the way back",
  },
  {
    decision: 20,
    title: "Stated and kept",
    chosen: "livemode is false, nothing is refunded or paid out, and nothing here opens production.",
    setting: null,
    shownBy: null,
  },
  {
    decision: 37,
    title: "Reserved order_ids",
    chosen: "An order_id that ends with ~succeeded and the like settles itself after a second.",
    setting: "another order_id",
    shownBy: "a create had such an order_id",
  },
  {
    decision: 38,
    title: "Acting in the payer's place",
    chosen: "checkout sandbox pay and the control API do what a payer does.",
    setting: null,
    shownBy: "the control API paid, declined or ended a checkout",
  },
  {
    decision: 88,
    title: "Return paths",
    chosen: "Customers are sent back to the path that was registered with the origin, / by default.",
    setting: "return-origins add <origin> --path",
    shownBy: "a payer acted on a payment page whose way back has another path than /",
  },
];

/** Numbers of the decisions that were relied on. */
export type Relied = readonly number[];

/** Decisions that retrieving an order by its id relies on. */
export const RETRIEVED_ORDER: Relied = [9];
/** Decisions that an expired checkout, a declined attempt or a late result relies on. */
export const UNSTATED_MOVE: Relied = [10];
/** Decisions that moving the clock relies on. */
export const MOVED_CLOCK: Relied = [18];
/** Decisions that paying through the control API relies on. */
export const ACTED_AS_PAYER: Relied = [38];

/** What most requests rely on. */
export const NOTHING_RELIED_ON: Relied = [];
const REPLAYED: Relied = [5];
const OFFERED_RETURN: Relied = [19];
const OFFERED_PATH: Relied = [19, 88];
const TAKEN: Relied = [11, 12];
const TAKEN_LATER: Relied = [11, 12, 13];

/** Decisions that an integration relied on when it got this refusal. */
export function reliedOnByRefusal(code: ErrorCode): Relied {
  const decision = errorRow(code)?.decision;
  return decision === undefined ? [4] : [4, decision];
}

/** Decisions that an answered create relied on. */
export function reliedOnByCreate(
  request: CreateRequest,
  { replayed }: { readonly replayed: boolean },
): Relied {
  const isPriced = "price_id" in request;
  const isReserved = outcomeOfOrderId(request.order_id) !== undefined;
  // Most creates rely on nothing, and there are many.
  if (!isPriced && !isReserved) return replayed ? REPLAYED : NOTHING_RELIED_ON;
  return [
    ...(replayed ? REPLAYED : NOTHING_RELIED_ON),
    ...(isPriced ? [7] : NOTHING_RELIED_ON),
    ...(isReserved ? [37] : NOTHING_RELIED_ON),
  ];
}

/** Decisions that a payer's page with a link back to the merchant relies on. */
export function reliedOnByReturn({ path }: ReturnOrigin): Relied {
  return path === ROOT_PATH ? OFFERED_RETURN : OFFERED_PATH;
}

/** Decisions that an accepted delivery relied on; `tries` is the number of its tries. */
export function reliedOnByTaking(tries: number): Relied {
  return tries > 1 ? TAKEN_LATER : TAKEN;
}
