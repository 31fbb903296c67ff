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

/** A receiver that verifies signatures and timestamps refuses these deliveries. */
export const FORGERY_ACTIONS = ["stale", "bad_signature", "changed_body", "old_secret"] as const;
export type ForgeryAction = (typeof FORGERY_ACTIONS)[number];

const HOLDING_ACTIONS = ["reorder", "delay"] as const;

export const DELIVERY_ACTIONS = ["duplicate", ...HOLDING_ACTIONS, "drop", ...FORGERY_ACTIONS] as const;
export type DeliveryAction = (typeof DELIVERY_ACTIONS)[number];

export const FAULT_ACTIONS = [...API_ACTIONS, ...DELIVERY_ACTIONS] as const;
export type FaultAction = ApiAction | DeliveryAction;

export function isApiAction(action: FaultAction): action is ApiAction {
  return API_ACTIONS.some((apiAction) => apiAction === action);
}

export function isHoldingAction(action: string): action is (typeof HOLDING_ACTIONS)[number] {
  return HOLDING_ACTIONS.some((holdingAction) => holdingAction === action);
}

export function isForgeryAction(action: string): action is ForgeryAction {
  return FORGERY_ACTIONS.some((forgery) => forgery === action);
}

export const FAULT_PROFILES = [
  "lost-response",
  "flaky-network",
  "rate-limited",
  "webhook-storm",
  "slow",
] as const;
export type FaultProfile = (typeof FAULT_PROFILES)[number];

export const MAX_DELIVERY_DELAY_MS = 24 * 3_600_000;
