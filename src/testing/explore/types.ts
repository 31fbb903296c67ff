/** Types of `explore`. */
import type { Fault } from "../fault-types.ts";
import type { Checkout, Sandbox, Store } from "../types.ts";

/** Options of `explore`. */
export type ExploreOptions = {
  /**
   * Makes one purchase in a store with the application's own code, and returns its order; throws if the purchase fails.
   * After a failure it is called once more in the same store, and must make the same purchase again, as the application
   * does when a customer clicks again.
   */
  readonly purchase: (store: Store) => Promise<Pick<Checkout, "id" | "checkout_url">>;
  /** The state of an order in the application, such as in its own database. */
  readonly view: (orderId: string, store: Store) => View | Promise<View>;
  /**
   * Starts the application for a store and registers its endpoint; returns a function that stops it. Called before
   * `purchase`, once for each schedule. Default: nothing is started.
   */
  readonly start?: (store: Store) => Promise<(() => unknown) | void>;
  /** Time after which no new schedule begins, in milliseconds of real time. Default: 60,000. */
  readonly budgetMs?: number;
  /** The number of schedules after which no new one is begun. Default: no limit. */
  readonly maxSchedules?: number;
  /** The number of faults in one schedule, from 1 to 4; the payer's outcome counts as one. Default: 2. */
  readonly depth?: number;
  /** The same seed runs the same schedules in the same order. Default: random; the result has it. */
  readonly seed?: string;
  /** Runs this schedule alone, as `rerun` of a result says. */
  readonly only?: { readonly faults: readonly ExploreFault[]; readonly payer?: PayerOutcome };
  /** Default: a sandbox of its own, in memory, on a free port, which is closed at the end. */
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

/** The payer's ends of a payment. `paid_after_decline`: the first attempt is declined, the second succeeds. */
export type PayerOutcome =
  | "succeeded"
  | "declined"
  | "paid_after_decline"
  | "failed"
  | "cancelled"
  | "expired"
  | "late_success";

/** A rule that holds for every purchase, whatever fails. */
export type Invariant =
  | "one_order"
  | "client_ends"
  | "recovery"
  | "booked_once"
  | "never_unpaid"
  | "right_amount"
  | "booked_when_paid"
  | "final_stays"
  | "secrets_kept";

/** The result of `explore`. */
export type Exploration = {
  /** The number of schedules that were run, without those that shrink or confirm one. */
  readonly schedules: number;
  /** The number of schedules in which nothing was broken. */
  readonly held: number;
  /** Each cause once, with the least schedule that shows it, confirmed by three runs. */
  readonly broken: readonly BrokenInvariant[];
  /** Invariants about which the exploration says nothing. */
  readonly notJudged: readonly { readonly invariant: Invariant; readonly reason: string }[];
  /** Payments of which no webhook could tell. */
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

/** A broken invariant, and the least schedule that breaks it. */
export type BrokenInvariant = {
  /** In the form of `store.faults.add`, to be added one after the other. */
  readonly faults: readonly ExploreFault[];
  readonly payer: PayerOutcome;
  readonly invariant: Invariant;
  /** A code of the likely cause, such as `books_again`. */
  readonly cause: string;
  /** The invariant, the likely cause and its cure, in words. */
  readonly text: string;
  /** The course of the run, as the timeline of the order. */
  readonly story: string;
  /** The call that runs exactly this schedule again. */
  readonly rerun: string;
  /** The number of schedules that showed this cause. */
  readonly schedules: number;
};
