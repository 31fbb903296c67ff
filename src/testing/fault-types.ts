import type { DomainOf } from "../core/shape/fields.ts";
import type { addedFault, fault, faultAction, faultMatch, faultProfile } from "./shapes.ts";

export type Faults = {
  readonly add: (fault: Fault | FaultProfile) => Promise<{ readonly id: string }>;
  /**
   * Lists the active faults, oldest first, without faults that were applied as often as their `times` says. The field
   * `fault` of a request, a delivery or an attempt names the fault that was applied to it.
   */
  readonly list: () => Promise<readonly AddedFault[]>;
  readonly remove: (id: string) => Promise<void>;
  readonly clear: () => Promise<void>;
};

/** A fault that applies `action` to the v1 requests or deliveries that `match` selects. */
export type Fault = DomainOf<typeof fault>;

/** A named set of faults; `add` returns the id of the first. `webhook-storm` and `slow` also delay deliveries. */
export type FaultProfile = DomainOf<typeof faultProfile>;

/** Limits a fault to some v1 requests (`method`, `path`) or some deliveries (`eventType`, `eventId`, `endpointId`). */
export type FaultMatch = DomainOf<typeof faultMatch>;

/**
 * The effect of a fault. From `duplicate` on, the values apply to a delivery; the values before it apply to a request or
 * its answer.
 */
export type FaultAction = DomainOf<typeof faultAction>;

/** An added fault. Fields that do not apply are null. */
export type AddedFault = DomainOf<typeof addedFault>;
