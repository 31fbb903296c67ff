import type { FaultProfile } from "./actions.ts";
import type { SingleFaultRequest } from "./shapes.ts";

const MAX_APPLICATIONS = 1000;

export const PROFILE_FAULTS: Readonly<Record<FaultProfile, readonly SingleFaultRequest[]>> = {
  "lost-response": [{ action: "lose_answer", match: { method: "POST" } }],
  "flaky-network": [
    { action: "lose_answer", match: { probability: 0.1 }, times: MAX_APPLICATIONS },
    { action: "lose_request", match: { probability: 0.1 }, times: MAX_APPLICATIONS },
    { action: "reset", match: { probability: 0.05 }, times: MAX_APPLICATIONS },
    { action: "truncate", match: { probability: 0.05 }, times: MAX_APPLICATIONS },
    { action: "latency", match: { probability: 0.2 }, latencyMs: 300, times: MAX_APPLICATIONS },
  ],
  "rate-limited": [
    { action: "rate_limit", match: { probability: 0.3 }, retryAfterS: 1, times: MAX_APPLICATIONS },
  ],
  "webhook-storm": [
    { action: "duplicate", match: { probability: 0.5 }, times: MAX_APPLICATIONS },
    { action: "reorder", match: { probability: 0.3 }, latencyMs: 500, times: MAX_APPLICATIONS },
    { action: "delay", match: { probability: 0.2 }, latencyMs: 1000, times: MAX_APPLICATIONS },
  ],
  slow: [
    { action: "latency", latencyMs: 1000, times: MAX_APPLICATIONS },
    { action: "delay", latencyMs: 1000, times: MAX_APPLICATIONS },
  ],
};
