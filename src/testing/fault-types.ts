/** Types of the injected faults of `hosted-checkout/testing`. */
import type { FAULT_ACTIONS } from "../core/fault/actions.ts";

/** The injected faults of a store. */
export type Faults = {
  readonly add: (fault: Fault | FaultProfile) => Promise<{ readonly id: string }>;
  /**
   * Lists the active faults, oldest first. A fault that was applied `times` times is not listed; the field `fault` of a
   * request, a delivery or an attempt names the fault that was applied to it.
   */
  readonly list: () => Promise<readonly AddedFault[]>;
  readonly remove: (id: string) => Promise<void>;
  readonly clear: () => Promise<void>;
};

/** A fault of v1 requests or of deliveries: which ones it applies to, and its effect. */
export type Fault = {
  readonly action: FaultAction;
  /** The HTTP status of the action `status`. Default: 500. */
  readonly status?: number;
  /**
   * Duration of `latency`, `slow_body`, `delay` and `reorder`, in milliseconds. Default: 2000. The first two take real
   * time. The other two hold a delivery by the store's clock; if the clock is frozen, until it is advanced. Later
   * events of the same order wait for a delivery with `delay`, and overtake a delivery with `reorder`.
   */
  readonly latencyMs?: number;
  /** The Retry-After header of the action `rate_limit`, in seconds. Default: 1. */
  readonly retryAfterS?: number;
  readonly match?: FaultMatch;
  /**
   * Maximum number of requests or deliveries that the fault applies to. An event has one delivery to each endpoint.
   * Default: 1; with `until`, no limit.
   */
  readonly times?: number;
  readonly until?: string | Date;
  /** The random seed for `probability`: the same seed selects the same matches. Default: random. */
  readonly seed?: string;
};

/**
 * A named set of faults; `add` returns the id of the first. `webhook-storm` and `slow` hold deliveries like `delay`.
 */
export type FaultProfile = {
  readonly profile: "lost-response" | "flaky-network" | "rate-limited" | "webhook-storm" | "slow";
  /** The random seed for all faults of the profile. Default: random. */
  readonly seed?: string;
};

/** Limits a fault to some v1 requests (`method`, `path`) or some deliveries (`eventType`, `eventId`, `endpointId`). */
export type FaultMatch = {
  readonly storeId?: string;
  readonly method?: "GET" | "POST";
  /** `*` matches any text, here and in `orderId`. */
  readonly path?: string;
  readonly eventType?: string;
  readonly eventId?: string;
  readonly endpointId?: string;
  readonly orderId?: string;
  /** The first match to apply the fault to. Default: 1. */
  readonly nth?: number;
  /** The share of matches that the fault applies to, from 0 to 1, selected by the seed. Default: all. */
  readonly probability?: number;
};

/**
 * The effect of a fault: first the effects on a request or its answer, then, from `duplicate` on, those on a delivery.
 */
export type FaultAction = (typeof FAULT_ACTIONS)[number];

/** An added fault. Fields that do not apply are null. */
export type AddedFault = {
  readonly id: string;
  readonly action: FaultAction;
  /** Fields that do not limit the fault are null. */
  readonly match: {
    readonly method: "GET" | "POST" | null;
    readonly path: string | null;
    readonly eventType: string | null;
    readonly eventId: string | null;
    readonly endpointId: string | null;
    readonly orderId: string | null;
    readonly nth: number;
    readonly probability: number | null;
  };
  readonly status: number | null;
  readonly latencyMs: number | null;
  readonly retryAfterS: number | null;
  readonly times: number | null;
  readonly until: Date | null;
  readonly seed: string;
  /** The number of matches so far, and how many of them the fault was applied to. */
  readonly matched: number;
  readonly applied: number;
  /** The time by the clock of the store. */
  readonly createdAt: Date;
};
