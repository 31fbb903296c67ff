import type { CreateRequest } from "../checkout/create-request.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";
import { errorRow, type ErrorCode } from "../errors.ts";

export type DecisionNumbers = readonly number[];

export const RETRIEVE_DECISIONS: DecisionNumbers = [9];
export const UNSTATED_CHANGE_DECISIONS: DecisionNumbers = [10];
export const CLOCK_DECISIONS: DecisionNumbers = [18];
export const PAYER_DECISIONS: DecisionNumbers = [38];

export const NO_DECISIONS: DecisionNumbers = [];
const REPLAY_DECISIONS: DecisionNumbers = [5];
const DELIVERY_DECISIONS: DecisionNumbers = [11, 12];
const RETRY_DECISIONS: DecisionNumbers = [11, 12, 13];

export function decisionsOfRefusal(code: ErrorCode): DecisionNumbers {
  const decision = errorRow(code)?.decision;
  return decision === undefined ? [4] : [4, decision];
}

export function decisionsOfCreate(
  request: CreateRequest,
  { replayed }: { readonly replayed: boolean },
): DecisionNumbers {
  const isPriced = "price_id" in request;
  const isReserved = outcomeOfOrderId(request.order_id) !== undefined;
  if (!isPriced && !isReserved) return replayed ? REPLAY_DECISIONS : NO_DECISIONS;
  return [
    ...(replayed ? REPLAY_DECISIONS : NO_DECISIONS),
    ...(isPriced ? [7] : NO_DECISIONS),
    ...(isReserved ? [37] : NO_DECISIONS),
  ];
}

export function decisionsOfDelivery(attemptCount: number): DecisionNumbers {
  return attemptCount > 1 ? RETRY_DECISIONS : DELIVERY_DECISIONS;
}
