import { API_ACTIONS, DELIVERY_ACTIONS, type FaultAction } from "./actions.ts";

/** Connections that are silent for longer are closed. */
export const MAX_API_LATENCY_MS = 5 * 60_000;

export const FAULT_PARAMETERS = {
  status: { name: "status", default: 500, actions: ["status"] },
  latencyMs: { name: "latency_ms", default: 2000, actions: ["latency", "slow_body", "delay", "reorder"] },
  retryAfterS: { name: "retry_after_s", default: 1, actions: ["rate_limit"] },
} as const;

export type FaultParameter = {
  readonly name: string;
  readonly default: number;
  readonly actions: readonly FaultAction[];
};

export const API_MATCH_FIELDS = { method: "method", path: "path" } as const;
export const DELIVERY_MATCH_FIELDS = {
  eventType: "event_type",
  eventId: "event_id",
  endpointId: "endpoint_id",
} as const;

const PARAMETER_NAMES = Object.values(FAULT_PARAMETERS).map(({ name }) => name);

export const PATH_PATTERN = "^(?:/v1/|\\*)";

export const FAULT_RULES = {
  allOf: [
    {
      anyOf: [
        { required: ["action"], ...forbidFields(["profile"]) },
        {
          required: ["profile"],
          ...forbidFields(["action", "match", "times", "until", ...PARAMETER_NAMES]),
        },
      ],
    },
    {
      anyOf: [
        oneOf(DELIVERY_ACTIONS),
        {
          properties: {
            match: forbidFields(Object.values(DELIVERY_MATCH_FIELDS)),
            latency_ms: { maximum: MAX_API_LATENCY_MS },
          },
        },
      ],
    },
    {
      anyOf: [oneOf(API_ACTIONS), { properties: { match: forbidFields(Object.values(API_MATCH_FIELDS)) } }],
    },
    ...Object.values<FaultParameter>(FAULT_PARAMETERS).map(({ name, actions }) => ({
      anyOf: [forbidFields([name]), oneOf(actions)],
    })),
  ],
};

function oneOf(actions: readonly FaultAction[]) {
  return { properties: { action: { enum: actions } } };
}

function forbidFields(names: readonly string[]) {
  return { properties: Object.fromEntries(names.map((name) => [name, false] as const)) };
}
