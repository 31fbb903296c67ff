import { STATUSES } from "../checkout/checkout.ts";
import { accept, refuse, type Outcome } from "../outcome.ts";
import { printableLiteral } from "../text.ts";

/** All event types (decision 11). */
export const EVENT_TYPES: readonly string[] = [
  ...STATUSES.map((status) => `order.${status}`),
  ...STATUSES.map((status) => `checkout_session.${status}`),
  "webhook.test",
];

/** What all event types are, for whoever gave none of them. */
export const AN_EVENT_TYPE = `order.<status> or checkout_session.<status> (${STATUSES.join(", ")}) or webhook.test`;

/** The pattern for all event types. */
export const ALL_EVENTS = "*";

/**
 * `disabled`: it failed for too long, answered 410, or was disabled by hand. `paused`: its events wait, because its
 * listener is disconnected or somebody asked for that.
 */
export type EndpointState = "enabled" | "paused" | "disabled";

/** Where events of a store are delivered. Times are milliseconds by the store's clock. */
export type Endpoint = {
  readonly id: string;
  readonly storeId: string;
  /** `listener`: a `checkout listen`, which is connected only while it runs. */
  readonly kind: "url" | "listener";
  readonly url: string;
  /** Patterns of event types: `order.succeeded`, `order.*`, `*`. */
  readonly eventTypes: readonly string[];
  /** Whether it gets one delivery at a time; default: several in flight, those of one checkout in order (decision 93). */
  readonly inOrder: boolean;
  readonly state: EndpointState;
  readonly reason: string | null;
  /** Time of the first failure since the last success; null after a success. */
  readonly failingSince: number | null;
  readonly createdAt: number;
};

/** What can pause an endpoint: a drill, a listener that went away, or a request to the control API. */
export const PAUSED_BY = ["drill", "listener", "request"] as const;

/** An endpoint as it stands now, and what has paused it. */
export type EndpointNow = Endpoint & { readonly pausedBy: (typeof PAUSED_BY)[number] | null };

/** The reasons of an endpoint that somebody has disabled; any other one is a failure. */
export const DISABLED_BY_HAND = { off: "it was switched off", removed: "it was removed" } as const;

/** The reasons of an endpoint that its receiver's answers have disabled (decision 13). */
export const DISABLED_BY_ANSWERS = {
  gone: "it answered 410 Gone",
  hopeless: "no delivery succeeded for 120 hours",
} as const;

/** The reason of an endpoint whose `checkout listen` is not there. */
export const LISTENER_AWAY = "its listener went away";

/** An endpoint as it stands while a drill of this name holds the webhooks of its store back, or none does (decision 66). */
export function endpointNow(endpoint: Endpoint, heldBy: string | undefined): EndpointNow {
  const { state, reason } = endpoint;
  if (state === "enabled" && heldBy !== undefined) {
    const held = `checkout checklist run ${heldBy} holds its events back`;
    return { ...endpoint, state: "paused", reason: held, pausedBy: "drill" };
  }
  if (state !== "paused") return { ...endpoint, pausedBy: null };
  const pausedBy = reason === LISTENER_AWAY ? "listener" : "request";
  return { ...endpoint, reason: reason ?? "it was paused by request", pausedBy };
}

/** Whether an endpoint can have a state with this reason. */
export function isReasonOf(state: EndpointState, reason: string | null): boolean {
  if (state === "enabled") return reason === null;
  if (state === "paused") return reason === null || reason === LISTENER_AWAY;
  return [DISABLED_BY_HAND.off, ...Object.values(DISABLED_BY_ANSWERS)].some((one) => one === reason);
}

/** Whether an event type matches an endpoint's patterns. */
export function wants(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => matches(pattern, type));
}

/** Checks patterns of event types. Refuses with `invalid_parameter` a pattern that no event type matches. */
export function parseEventTypes(patterns: readonly string[]): Outcome<readonly string[]> {
  const unknown = patterns.find((pattern) => !EVENT_TYPES.some((type) => matches(pattern, type)));
  if (unknown === undefined && patterns.length > 0) return accept([...new Set(patterns)]);
  const got = unknown === undefined ? "none" : printableLiteral(unknown);
  return refuse(
    "invalid_parameter",
    `an event type is ${AN_EVENT_TYPE}, or a pattern: order.*, *; got ${got}`,
  );
}

function matches(pattern: string, type: string): boolean {
  if (pattern === ALL_EVENTS) return true;
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}
