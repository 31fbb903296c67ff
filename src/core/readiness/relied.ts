// Which decisions a request relied on; their sentences are in assumptions.ts, which a start does not load.
import type { CreateRequest } from "../checkout/create-request.ts";
import { outcomeOfOrderId } from "../checkout/reserved-order-id.ts";
import { errorRow, type ErrorCode } from "../errors.ts";

/** Numbers of the decisions that an integration relied on. */
export type DecisionNumbers = readonly number[];

/** Decisions that retrieving an order by its id relies on. */
export const RETRIEVED_ORDER: DecisionNumbers = [9];
/** Decisions that an expired checkout, a declined attempt or a late result relies on. */
export const UNSTATED_MOVE: DecisionNumbers = [10];
/** Decisions that moving the clock relies on. */
export const MOVED_CLOCK: DecisionNumbers = [18];
/** Decisions that paying through the control API relies on. */
export const ACTED_AS_PAYER: DecisionNumbers = [38];

/** The common case: no decision was relied on. */
export const NOTHING_RELIED_ON: DecisionNumbers = [];
const REPLAYED: DecisionNumbers = [5];
const TAKEN: DecisionNumbers = [11, 12];
const TAKEN_LATER: DecisionNumbers = [11, 12, 13];

/** Decisions that an integration relied on when it received this refusal. */
export function reliedOnByRefusal(code: ErrorCode): DecisionNumbers {
  const decision = errorRow(code)?.decision;
  return decision === undefined ? [4] : [4, decision];
}

/** Decisions that an answered create relied on. */
export function reliedOnByCreate(
  request: CreateRequest,
  { replayed }: { readonly replayed: boolean },
): DecisionNumbers {
  const isPriced = "price_id" in request;
  const isReserved = outcomeOfOrderId(request.order_id) !== undefined;
  // The common case, without allocating a list.
  if (!isPriced && !isReserved) return replayed ? REPLAYED : NOTHING_RELIED_ON;
  return [
    ...(replayed ? REPLAYED : NOTHING_RELIED_ON),
    ...(isPriced ? [7] : NOTHING_RELIED_ON),
    ...(isReserved ? [37] : NOTHING_RELIED_ON),
  ];
}

/** Decisions that an accepted delivery relied on, by its number of attempts. */
export function reliedOnByTaking(tries: number): DecisionNumbers {
  return tries > 1 ? TAKEN_LATER : TAKEN;
}
