import { hash } from "node:crypto";
import { isUuid } from "../text.ts";

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

/** Which requests or deliveries a fault is for; null means any. Each kind has its own fields, and `orderId`. */
export type FaultMatch = {
  readonly method: "GET" | "POST" | null;
  /** A path of v1; `*` stands for any text. */
  readonly path: string | null;
  /** An event type, or a pattern as endpoints have it: `order.*`. */
  readonly eventType: string | null;
  readonly eventId: string | null;
  readonly endpointId: string | null;
  /** An order_id; `*` stands for any text. */
  readonly orderId: string | null;
  /** The matching request that it begins with, counted from 1 since the fault was added. */
  readonly nth: number;
  /** The share of the matching requests that it hits, by its seed. */
  readonly probability: number | null;
};

/** What an action needs; null for the others. */
export type FaultParameters = {
  readonly status: number | null;
  /** How long an answer, a body or a delivery takes or is held back, in milliseconds. */
  readonly latencyMs: number | null;
  readonly retryAfterS: number | null;
};

/** A fault that was asked for, as long as it can still hit. */
export type Fault = FaultMatch &
  FaultParameters & {
    readonly id: string;
    readonly storeId: string;
    readonly action: FaultAction;
    /** How many requests or deliveries it hits at most; null: as many as match until its end. */
    readonly times: number | null;
    /** The moment of its end by the store's clock; null if it has none. */
    readonly until: number | null;
    /** What its probability is decided by: the same seed hits the same ones. */
    readonly seed: string;
    /** How many have matched, and how many of them it has hit. */
    readonly matched: number;
    readonly applied: number;
    readonly createdAt: number;
  };

/** A fault of v1, and one of deliveries. */
export type ApiFault = Fault & { readonly action: ApiAction };
export type DeliveryFault = Fault & { readonly action: DeliveryAction };

/** The fault that a request or a delivery has met. */
export type MetFault = Pick<Fault, "id" | "action">;

/** The header of an answer or a delivery that names the fault that it met. */
export const FAULT_HEADER = "Checkout-Fault";

const CALLED_API: ReadonlySet<string> = new Set(API_ACTIONS);

/** Whether an action is one on v1, and not on deliveries. */
export function isApiAction(action: FaultAction): action is ApiAction {
  return CALLED_API.has(action);
}

/** Whether a fault is one of v1. */
export function isApiFault(fault: Fault): fault is ApiFault {
  return isApiAction(fault.action);
}

/** Whether a fault is one of deliveries. */
export function isDeliveryFault(fault: Fault): fault is DeliveryFault {
  return !isApiAction(fault.action);
}

/** The value of the header that names a fault. */
export function faultHeader({ id, action }: MetFault): string {
  return `${action} ${id}`;
}

/** The fault that a header names; undefined where it names none. */
export function readFaultHeader(text: string): MetFault | undefined {
  const [word = "", id = "", ...rest] = text.split(" ");
  const action = FAULT_ACTIONS.find((known) => known === word);
  return action === undefined || rest.length > 0 || !isUuid(id) ? undefined : { id, action };
}

/** Who is to blame, in words. */
export function faultText({ id, action }: MetFault): string {
  return `asked for by fault ${id} (${action})`;
}

/** Whether a fault can no longer hit at a moment of the store's clock. */
export function isOver({ times, applied, until }: Fault, now: number): boolean {
  return (times !== null && applied >= times) || (until !== null && now >= until);
}

/** The fault after one more that has matched, and whether it wants it. */
export function countMatch(fault: Fault): { readonly fault: Fault; readonly wants: boolean } {
  const matched = fault.matched + 1;
  const { nth, probability } = fault;
  const wants = matched >= nth && (probability === null || shareOf(fault, matched) < probability);
  return { fault: { ...fault, matched }, wants };
}

/** A number from 0 up to 1: of two actions with one seed each has its own. */
function shareOf({ seed, action }: Pick<Fault, "seed" | "action">, count: number): number {
  const digits = hash("sha256", `${seed} ${action} ${count}`, "hex").slice(0, SHARE_DIGITS);
  return Number.parseInt(digits, 16) / 16 ** SHARE_DIGITS;
}

/** 48 bits: a whole number that is exact. */
const SHARE_DIGITS = 12;

/** Whether a text is what a pattern says, in which `*` stands for any text. */
export function fits(pattern: string, text: string): boolean {
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head) || !text.endsWith(tail)) return false;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from + tail.length <= text.length;
}
