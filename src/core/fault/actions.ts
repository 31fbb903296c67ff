// To add a fault: its action here, its fields in core/fault/rules.ts; of v1: sandbox/fault/api-faults.ts; of
// deliveries: sandbox/webhook/take-due.ts, core/webhook/delivery-request.ts. What it hits: sandbox/fault/take.ts;
// profiles: core/fault/profiles.ts.

/** What can be done to a request of v1 or its answer (decision 94). */
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

/** What can be done to a delivery (decision 45). */
export const DELIVERY_ACTIONS = [
  "duplicate",
  "reorder",
  "delay",
  "drop",
  "stale",
  "bad_signature",
  "changed_body",
  "old_secret",
] as const;
export type DeliveryAction = (typeof DELIVERY_ACTIONS)[number];

/** All actions: first those on v1, then those on deliveries. */
export const FAULT_ACTIONS = [...API_ACTIONS, ...DELIVERY_ACTIONS] as const;
export type FaultAction = ApiAction | DeliveryAction;

const CALLED_API: ReadonlySet<string> = new Set(API_ACTIONS);

/** Whether an action is one on v1, and not on deliveries. */
export function isApiAction(action: FaultAction): action is ApiAction {
  return CALLED_API.has(action);
}

/** Names of faults that belong together (decision 94). */
export const FAULT_PROFILES = [
  "lost-response",
  "flaky-network",
  "rate-limited",
  "webhook-storm",
  "slow",
] as const;
export type FaultProfile = (typeof FAULT_PROFILES)[number];

/** Longest delay of a delivery, in milliseconds. */
export const MAX_DELIVERY_DELAY_MS = 24 * 3_600_000;
