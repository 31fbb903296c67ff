// The decisions on which a request relied. Their texts: core/calibration/assumptions.ts, which a start does not load.
import type { CreateRequest } from "../checkout/create-request.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";
import { errorRow, type ErrorCode } from "../errors.ts";

/** Numbers of the decisions that an integration relied on. */
export type DecisionNumbers = readonly number[];

/** Decisions that retrieving an order by its id relies on. */
export const RETRIEVE_DECISIONS: DecisionNumbers = [9];
/** Decisions that an expired checkout, a declined attempt or a late result relies on. */
export const UNSTATED_CHANGE_DECISIONS: DecisionNumbers = [10];
/** Decisions that moving the clock relies on. */
export const CLOCK_DECISIONS: DecisionNumbers = [18];
/** Decisions that paying through the control API relies on. */
export const PAYER_DECISIONS: DecisionNumbers = [38];

/** The common case: the integration relied on no decision. */
export const NO_DECISIONS: DecisionNumbers = [];
const REPLAY_DECISIONS: DecisionNumbers = [5];
const DELIVERY_DECISIONS: DecisionNumbers = [11, 12];
const RETRY_DECISIONS: DecisionNumbers = [11, 12, 13];

export function decisionsOfRefusal(code: ErrorCode): DecisionNumbers {
  const decision = errorRow(code)?.decision;
  return decision === undefined ? [4] : [4, decision];
}

/** Decisions that an answered create relied on. */
export function decisionsOfCreate(
  request: CreateRequest,
  { replayed }: { readonly replayed: boolean },
): DecisionNumbers {
  const isPriced = "price_id" in request;
  const isReserved = outcomeOfOrderId(request.order_id) !== undefined;
  // The common case, without allocating a list.
  if (!isPriced && !isReserved) return replayed ? REPLAY_DECISIONS : NO_DECISIONS;
  return [
    ...(replayed ? REPLAY_DECISIONS : NO_DECISIONS),
    ...(isPriced ? [7] : NO_DECISIONS),
    ...(isReserved ? [37] : NO_DECISIONS),
  ];
}

/** Decisions that an accepted delivery relied on, by its number of attempts. */
export function decisionsOfDelivery(attemptCount: number): DecisionNumbers {
  return attemptCount > 1 ? RETRY_DECISIONS : DELIVERY_DECISIONS;
}
