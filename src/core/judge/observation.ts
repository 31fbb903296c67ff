import type { Status } from "../checkout/checkout.ts";
import type { DeliveryAction } from "../fault/actions.ts";
import type { StepValue } from "../readiness/drill-shapes.ts";
import type { Cause } from "../readiness/drills/judge-causes.ts";
import type { NOTES } from "../readiness/drills/judge-sentences.ts";
import type { WatchedPurchase } from "./client.ts";
import type { SecretPlace } from "./secrets.ts";
import type { OrderName } from "./step.ts";
import type { ShownOrder } from "./view.ts";

export type ObservedAttempt = {
  readonly status: number | null;
  readonly fault: DeliveryAction | null;
  /** By the store's clock. */
  readonly startedAt: number;
};

export type ObservedDelivery = {
  readonly eventType: string;
  readonly cause: "event" | "replay" | "duplicate";
  readonly state: "due" | "succeeded" | "failed" | "dropped";
  readonly attempts: readonly ObservedAttempt[];
};

export type Truth = {
  readonly isPaid: boolean;
  /** Whether the shop must know of the payment: it answered 2xx to the event, or gets no events. */
  readonly isNotified: boolean;
  /** Whether the shop has retrieved the paid checkout; also true if it was notified, or if a search is running. */
  readonly hasRetrieved: boolean;
  readonly amountMinor: number;
  readonly status?: Status | undefined;
};

/**
 * `view` is null if the view could not be read. `waitedMs`: the time until the view showed a payment; 0 if it showed
 * none.
 */
export type LookFact = {
  readonly kind: "look";
  readonly of: OrderName;
  readonly view: ShownOrder | null;
  readonly got: StepValue;
  readonly truth: Truth;
  readonly waitedMs: number;
  readonly log?: { readonly deliveries: readonly ObservedDelivery[]; readonly isKilled: boolean };
};

/** `liveCount`: the number of the order's checkouts that are open or paid. */
export type CreateFact = {
  readonly kind: "create";
  readonly runs: readonly { readonly hasEnded: boolean; readonly isDone: boolean; readonly got: StepValue }[];
  readonly isRefused: boolean;
  readonly isRepeat: boolean;
  readonly liveCount: number;
  readonly hasNewOrderId: boolean;
  readonly isShared?: boolean;
  readonly isRenewed?: boolean;
  /**
   * Why a customer cannot pay. `known_key`: another order has used the key of the first create. The other values are of
   * repeated purchases: the page has ended, or the service refused another body or a new key.
   */
  readonly deadEnd?: "known_key" | "old_page" | "other_body" | "conflict" | undefined;
};

/** `isPlain`: nothing disturbs the purchase. */
export type DialectFact = { readonly kind: "dialect"; readonly namesText: string; readonly isPlain: boolean };

export type Observation =
  | LookFact
  | CreateFact
  | DialectFact
  | { readonly kind: "client"; readonly purchase: WatchedPurchase }
  /** A genuine event that never got a 2xx. */
  | {
      readonly kind: "refused";
      readonly type: string;
      readonly got: StepValue;
      readonly isForeign: boolean;
      /** Whether the API was down before: a shop that protects itself may then accept no events for a while. */
      readonly isAfterOutage?: boolean;
      readonly cause?: Cause | undefined;
    }
  | { readonly kind: "taken" }
  | { readonly kind: "forged"; readonly isAccepted: boolean; readonly got: StepValue }
  | { readonly kind: "visit"; readonly hasArrived: boolean; readonly got: StepValue }
  | { readonly kind: "end"; readonly got: StepValue | null; readonly isKilled?: boolean }
  | { readonly kind: "secrets"; readonly places: ReadonlySet<SecretPlace> }
  | { readonly kind: "note"; readonly note: keyof typeof NOTES };
