import type { FaultProfile } from "./actions.ts";
import type { FaultRequest } from "./request.ts";

/** Maximum number of applications of profiles that should last for a whole test suite. */
const MANY = 1000;

/** The faults of each profile, in the order of their matching. */
export const PROFILES: Readonly<Record<FaultProfile, readonly FaultRequest[]>> = {
  "lost-response": [{ action: "lose_answer", match: { method: "POST" } }],
  "flaky-network": [
    { action: "lose_answer", match: { probability: 0.1 }, times: MANY },
    { action: "lose_request", match: { probability: 0.1 }, times: MANY },
    { action: "reset", match: { probability: 0.05 }, times: MANY },
    { action: "truncate", match: { probability: 0.05 }, times: MANY },
    { action: "latency", match: { probability: 0.2 }, latencyMs: 300, times: MANY },
  ],
  "rate-limited": [{ action: "rate_limit", match: { probability: 0.3 }, retryAfterS: 1, times: MANY }],
  "webhook-storm": [
    { action: "duplicate", match: { probability: 0.5 }, times: MANY },
    { action: "reorder", match: { probability: 0.3 }, latencyMs: 500, times: MANY },
    { action: "delay", match: { probability: 0.2 }, latencyMs: 1000, times: MANY },
  ],
  slow: [
    { action: "latency", latencyMs: 1000, times: MANY },
    { action: "delay", latencyMs: 1000, times: MANY },
  ],
};
