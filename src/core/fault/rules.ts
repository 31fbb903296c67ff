import { API_ACTIONS, DELIVERY_ACTIONS, type FaultAction } from "./actions.ts";

/** Longest delay of an answer, in milliseconds: a connection that is silent for longer is closed. */
export const MAX_API_LATENCY_MS = 5 * 60_000;

/** What some actions need: its name on the wire, its default, and which actions. The others need nothing. */
export const PARAMETERS = {
  status: { name: "status", default: 500, of: ["status"] },
  latencyMs: { name: "latency_ms", default: 2000, of: ["latency", "slow_body", "delay", "reorder"] },
  retryAfterS: { name: "retry_after_s", default: 1, of: ["rate_limit"] },
} as const;

/** A parameter of a fault, and the actions that it belongs to. */
export type Parameter = {
  readonly name: string;
  readonly default: number;
  readonly of: readonly FaultAction[];
};

/** What a fault on v1 can be narrowed by, and one on deliveries, beside order_id, nth and probability. */
export const OF_API = { method: "method", path: "path" } as const;
export const OF_DELIVERIES = {
  eventType: "event_type",
  eventId: "event_id",
  endpointId: "endpoint_id",
} as const;

/** How the path of a fault begins. */
export const PATH_PATTERN = "^(?:/v1/|\\*)";

/** What belongs together in a fault, on the wire, as a JSON Schema says it: what `faultTerms` and `termsOf` refuse. */
export const FAULT_RULES = {
  allOf: [
    {
      anyOf: [
        { required: ["action"], ...without(["profile"]) },
        { required: ["profile"], ...without(["action", "match", "times", "until", ...namesOf(PARAMETERS)]) },
      ],
    },
    // Of an action that is missing the first one is true.
    {
      anyOf: [
        isOneOf(DELIVERY_ACTIONS),
        {
          properties: {
            match: without(Object.values(OF_DELIVERIES)),
            latency_ms: { maximum: MAX_API_LATENCY_MS },
          },
        },
      ],
    },
    { anyOf: [isOneOf(API_ACTIONS), { properties: { match: without(Object.values(OF_API)) } }] },
    ...Object.values<Parameter>(PARAMETERS).map(({ name, of }) => ({
      anyOf: [without([name]), isOneOf(of)],
    })),
  ],
};

function isOneOf(actions: readonly FaultAction[]) {
  return { properties: { action: { enum: actions } } };
}

/** An object that has none of these fields: no value is one that they may have. */
function without(names: readonly string[]) {
  return { properties: Object.fromEntries(names.map((name) => [name, false] as const)) };
}

function namesOf(parameters: Readonly<Record<string, Parameter>>): readonly string[] {
  return Object.values(parameters).map(({ name }) => name);
}
