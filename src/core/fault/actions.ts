// To add a fault: its action here, its fields in core/fault/rules.ts; for v1: sandbox/fault/api-faults.ts; for
// deliveries: sandbox/webhook/take-due.ts, for forgeries core/webhook/delivery-request.ts; in the portal:
// sandbox/pages/portal/store/texts.ts. Matching of faults: sandbox/fault/active.ts; profiles: core/fault/profiles.ts.

/** Actions on a v1 request or its answer (decision 94). */
export const API_ACTIONS = [
  "status",
  "latency",
  "reset",
  "empty",
  "truncate",
  "slow_body",
  "lose_answer",
  "lose_request",
  "rate_limit",
  "storage_full",
] as const;
export type ApiAction = (typeof API_ACTIONS)[number];

/** Actions that forge a delivery: a receiver that verifies signatures and timestamps refuses the delivery. */
export const FORGERY_ACTIONS = ["stale", "bad_signature", "changed_body", "old_secret"] as const;
export type ForgeryAction = (typeof FORGERY_ACTIONS)[number];

/** Actions that delay a delivery by the store's clock. */
const HOLDING_ACTIONS = ["reorder", "delay"] as const;

/** Actions on a delivery (decision 45). */
export const DELIVERY_ACTIONS = ["duplicate", ...HOLDING_ACTIONS, "drop", ...FORGERY_ACTIONS] as const;
export type DeliveryAction = (typeof DELIVERY_ACTIONS)[number];

/** All actions: first on v1, then on deliveries. */
export const FAULT_ACTIONS = [...API_ACTIONS, ...DELIVERY_ACTIONS] as const;
export type FaultAction = ApiAction | DeliveryAction;

export function isApiAction(action: FaultAction): action is ApiAction {
  return API_ACTIONS.some((apiAction) => apiAction === action);
}

export function isHolding(action: string): action is (typeof HOLDING_ACTIONS)[number] {
  return HOLDING_ACTIONS.some((holdingAction) => holdingAction === action);
}

export function isForgery(action: string): action is ForgeryAction {
  return FORGERY_ACTIONS.some((forgery) => forgery === action);
}

/** Names of sets of faults (decision 94). */
export const FAULT_PROFILES = [
  "lost-response",
  "flaky-network",
  "rate-limited",
  "webhook-storm",
  "slow",
] as const;
export type FaultProfile = (typeof FAULT_PROFILES)[number];

export const MAX_DELIVERY_DELAY_MS = 24 * 3_600_000;
