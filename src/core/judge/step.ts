import type { SimulatedOutcome } from "../checkout/reserved-order-id.ts";
import type { Status } from "../checkout/checkout.ts";
import type { ScheduledFault } from "./schedule.ts";
import type { Words } from "../language.ts";
import type { Cause } from "../readiness/drills/judge-causes.ts";
import type { JudgedInvariant } from "../readiness/drills/judged-invariants.ts";
import type { DrillKind } from "../readiness/names.ts";
import type { NeighbourKind, AmountDirection, SamePart } from "./neighbours.ts";
import type { ShopField } from "./shop.ts";

export const MAX_TIMES = 10_000;

/**
 * `a` is the order under test. In a history with a `neighbourKind`, `b`, `c` and `d` have order_ids that resemble the
 * order_id of `a`.
 */
export const ORDER_NAMES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"] as const;
export type OrderName = (typeof ORDER_NAMES)[number];

export type OtherTerms = AmountDirection | "other_currency";

export type ReturnForm = {
  /** The order whose session is in the address. `first`: the visited order's first (default: its last); null: none. */
  readonly session?: OrderName | "first" | null;
  readonly secondSession?: OrderName;
  readonly orderIdEnd?: string;
  readonly query?: string;
  readonly method?: "GET" | "POST";
  /** Default: the payment page. */
  readonly from?: "shop" | "nowhere";
  /** The customer closes the page while it is built. */
  readonly isClosed?: true;
};

export type ConcurrentStep =
  | { readonly tell: OrderName; readonly copyCount?: number; readonly afterMs?: number }
  | { readonly visit: OrderName; readonly afterMs?: number }
  /**
   * Steps that begin after a share of the time that the shop needed for its last return page, or for its answer to an
   * event. `delayMs`: the time by which a slow API prolongs that answer.
   */
  | {
      readonly steps: readonly Step[];
      readonly share: number;
      readonly during: "visit" | "event";
      readonly delayMs?: number;
    }
  | { readonly advanceMs: number };

export type Step =
  /**
   * `refusal`: a permanent refusal. `answer`: the customer retries until an answer arrives, and the service's
   * log decides the verdict. `nothing`: any result.
   */
  | {
      readonly act: "create";
      readonly of: OrderName;
      readonly times?: number;
      readonly hasOtherMethod?: true;
      readonly expects?: "refusal" | "answer" | "nothing";
      /**
       * The customer orders again before the event of the ended checkout is delivered. If the shop learns of ends only
       * from events, the history stops here.
       */
      readonly isEarly?: true;
    }
  /**
   * `templateOrder`: the order whose terms are copied (default: `of`). `kind`: the kind of the shop's own
   * checkouts (default), or the other.
   */
  | {
      readonly act: "create_elsewhere";
      readonly of: OrderName;
      readonly terms: "same" | OtherTerms;
      readonly kind?: "own" | "other";
      readonly templateOrder?: OrderName;
    }
  /** `isLate`: the checkout has already ended. */
  | {
      readonly act: "pay";
      readonly of: OrderName;
      readonly outcome: SimulatedOutcome;
      readonly isLate?: true;
    }
  /**
   * Events without a 2xx answer are delivered again later. `from`: the order's first checkout, or all checkouts of
   * other systems. `sameIdPart`: the part of order a's last event_id that the event_id repeats. `alteration`:
   * `new_type`: an event of a later version that repeats the status; `late`: like the service's last attempt; `unanswered`: the service no longer waits for the
   * answer;
   * `like_currency`: in a currency with the same symbol; `OtherTerms`: a payment of another checkout of the order_id,
   * which the API does not know.
   */
  | {
      readonly act: "tell";
      readonly of: OrderName;
      readonly statuses?: readonly Status[];
      readonly from?: "first" | "elsewhere";
      readonly alteration?:
        | "forged"
        | "other_id"
        | "unknown_type"
        | "new_type"
        | "in_parts"
        | "unanswered"
        | "late"
        | "like_currency"
        | OtherTerms;
      readonly sameIdPart?: SamePart;
    }
  | { readonly act: "at_once"; readonly acts: readonly ConcurrentStep[] }
  | { readonly act: "visit"; readonly of: OrderName; readonly form?: ReturnForm }
  /** These faults replace the earlier faults of v1 requests about the order, or about all orders. */
  | { readonly act: "faults"; readonly of: OrderName | "all"; readonly faults: readonly ScheduledFault[] }
  | { readonly act: "wait"; readonly milliseconds: number }
  | { readonly act: "await"; readonly of: OrderName; readonly kind: "create" | "question" }
  | { readonly act: "wait_for_others"; readonly minMs: number }
  /**
   * Also sends the payment event of order `during`. The restart begins `afterMs` later, or after `share` of the time that
   * the last event took.
   */
  | {
      readonly act: "restart";
      readonly mode?: "stop";
      readonly during?: OrderName;
      readonly afterMs?: number;
      readonly share?: number;
    }
  | { readonly act: "look"; readonly of: OrderName }
  /** Advances the store's clock, so that the service delivers, until the order is final and no delivery is due. */
  | { readonly act: "deliver_all"; readonly of: OrderName };

/**
 * A requirement of a history. `setsIds`: the shop's order_ids can be chosen; `kill`: the command that creates its
 * orders can be killed; `server`: the run serves the shop, and so can ask it to stop; `otherMethod`: the form of its
 * page has a payment method.
 */
type Need =
  | Extract<ShopField, "create" | "returnUrl" | "restart">
  | "setsIds"
  | "kill"
  | "server"
  | "otherMethod";

export type History = {
  readonly part: Extract<DrillKind, "duplicates" | "browser_return" | "idempotency">;
  readonly title: Words;
  readonly steps: readonly Step[];
  readonly needs?: readonly Need[];
  readonly neighbourKind?: NeighbourKind;
  /** Whether one customer buys all orders in one browser. Default: each order has its own customer. */
  readonly isOneBrowser?: true;
  /**
   * `alone`: no other history runs at the same time. `creates`: only others of this pace do, because the history takes
   * each unknown new checkout as its own.
   */
  readonly pace?: "alone" | "creates";
  /** `stop`: faults that would kill the shop ask it to stop instead. */
  readonly killMode?: "stop";
  readonly isLong?: true;
  readonly causes?: Readonly<Partial<Record<JudgedInvariant, Cause>>>;
};

/**
 * Returns order `a` and all orders up to the last one that the steps name. In a step, only names of orders are texts of
 * one letter.
 */
export function orderNamesIn(steps: readonly Step[]): readonly OrderName[] {
  const texts = JSON.stringify(steps);
  const lastIndex = ORDER_NAMES.findLastIndex((name) => texts.includes(`"${name}"`));
  return ORDER_NAMES.slice(0, Math.max(0, lastIndex) + 1);
}
