import { STATUSES } from "./checkout.ts";
import { accept, type Outcome } from "../outcome.ts";
import { refuseFact } from "../refusals.ts";
import { printableLiteral } from "../text.ts";

export const EVENT_TYPES: readonly string[] = [
  ...STATUSES.map((status) => `order.${status}`),
  ...STATUSES.map((status) => `checkout_session.${status}`),
  "webhook.test",
];

export const EVENT_TYPE_FORM = `order.<status> or checkout_session.<status> (${STATUSES.join(", ")}) or webhook.test`;

export const ALL_EVENTS = "*";

export const EVENT_PATTERNS: readonly string[] = [
  ALL_EVENTS,
  ...new Set(EVENT_TYPES.map((type) => `${type.slice(0, type.indexOf("."))}.*`)),
  ...EVENT_TYPES,
];

export function matchesEventPatterns(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) => matches(pattern, type));
}

/** Refuses an empty list and unknown patterns with `invalid_parameter`. Drops repeated patterns. */
export function parseEventTypes(patterns: readonly string[]): Outcome<readonly string[]> {
  const unknownPattern = patterns.find((pattern) => !EVENT_PATTERNS.includes(pattern));
  if (unknownPattern === undefined && patterns.length > 0) return accept([...new Set(patterns)]);
  const receivedText = unknownPattern === undefined ? "none" : printableLiteral(unknownPattern);
  return refuseFact("not_event_type", { statuses: STATUSES, got: receivedText });
}

function matches(pattern: string, type: string): boolean {
  if (pattern === ALL_EVENTS) return true;
  return pattern.endsWith(".*") ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
}
