/** Types of `explore`. */
import type { INVARIANTS } from "../../core/explore/invariants.ts";
import type { PAYER_OUTCOMES } from "../../core/explore/schedule.ts";
import type { Fault } from "../fault-types.ts";
import type { Checkout, Sandbox, Store } from "../types.ts";

/** Options of `explore`. */
export type ExploreOptions = {
  /**
   * Makes one purchase in a store with the application's own code, and returns its order; throws if the purchase fails.
   * After a failure it is called once more in the same store, and must repeat the same purchase, as the application
   * does when a customer clicks again.
   */
  readonly purchase: (store: Store) => Promise<Pick<Checkout, "id" | "checkout_url">>;
  /** Returns the state of an order in the application, for example from its database. */
  readonly view: (orderId: string, store: Store) => View | Promise<View>;
  /** Returns how often an order was booked, in place of `times` of the view. */
  readonly bookings?: (orderId: string, store: Store) => number | Promise<number>;
  /**
   * Opens the application's return page as its customer does, with an order that may be unpaid. Called before the payment,
   * and twice while the webhooks are delivered.
   */
  readonly returns?: (order: Pick<Checkout, "id" | "order_id">, store: Store) => unknown;
  /**
   * Starts the application for a store and registers its endpoint; returns a function that stops it. Called before
   * `purchase`, once for each schedule. Default: nothing is started.
   */
  readonly start?: (store: Store) => Promise<(() => unknown) | void>;
  /** Time after which no new schedule starts, in milliseconds of real time. Default: 60,000. */
  readonly budgetMs?: number;
  /** Number of schedules after which no new one starts. Default: no limit. */
  readonly maxSchedules?: number;
  /** Maximum number of faults in one schedule, from 1 to 4; the payer's outcome counts as one. Default: 2. */
  readonly depth?: number;
  /** The same seed runs the same schedules in the same order. Default: random; the result contains it. */
  readonly seed?: string;
  /** Runs only this schedule, as in the `rerun` of a result. */
  readonly only?: { readonly faults: readonly ExploreFault[]; readonly payer?: PayerOutcome };
  /** The sandbox whose stores are used. Default: a separate sandbox in memory, on a free port, closed at the end. */
  readonly sandbox?: Sandbox;
};

/** A fault at one request or one delivery. */
export type ExploreFault = Omit<Fault, "until">;

/** The state of an order in the application. */
export type View =
  | "unpaid"
  | "paid"
  | {
      readonly paid: boolean;
      /** The number of bookings. Without it, `booked_once` is not judged. */
      readonly times?: number | undefined;
      /** The booked amount. Without it, `right_amount` is not judged. */
      readonly amountMinor?: number | undefined;
    };

/** How the payer ends a payment. `paid_after_decline`: the first attempt is declined, the second succeeds. */
export type PayerOutcome = (typeof PAYER_OUTCOMES)[number];

/** A rule that holds for every purchase, whatever fails. */
export type Invariant = keyof typeof INVARIANTS;

/** The result of `explore`. */
export type Exploration = {
  /** The number of schedules that were run, except to shrink or confirm one. */
  readonly schedules: number;
  /** The same number: a schedule is a history. */
  readonly histories: number;
  /** The places of faults, such as `POST /v1/orders 1`. */
  readonly places: readonly string[];
  /** The number of schedules in which no invariant was broken. */
  readonly held: number;
  /** The number of schedules of the last size that the budget, or `maxSchedules`, left out. */
  readonly notRun: number;
  /** Each cause once, with the smallest schedule that shows it, confirmed by three runs. */
  readonly broken: readonly BrokenInvariant[];
  /** Invariants that the exploration did not judge. */
  readonly notJudged: readonly { readonly invariant: Invariant; readonly reason: string }[];
  /** Payments that no webhook could report. */
  readonly advice: readonly { readonly faults: readonly ExploreFault[]; readonly text: string }[];
  /** Results of single faults by place; `payer` is the place of the payer's outcomes. */
  readonly table: readonly {
    readonly place: string;
    readonly held: readonly string[];
    readonly broken: readonly string[];
    readonly notJudged: readonly string[];
  }[];
  readonly seed: string;
};

/** A broken invariant, and the smallest schedule that breaks it. */
export type BrokenInvariant = {
  /** The faults in the form of `store.faults.add`, to be added one after the other. */
  readonly faults: readonly ExploreFault[];
  readonly payer: PayerOutcome;
  readonly invariant: Invariant;
  /** A code of the likely cause, such as `books_again`. */
  readonly cause: string;
  /** The invariant, the likely cause and the remedy, in words. */
  readonly text: string;
  /** The events of the run, as the timeline of the order. */
  readonly story: string;
  /** The call that reruns exactly this schedule. */
  readonly rerun: string;
  /** The number of schedules that showed this cause. */
  readonly schedules: number;
};
