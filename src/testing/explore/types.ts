import type { Dialect } from "../../core/shape/dialect.ts";
import type { DomainOf } from "../../core/shape/fields.ts";
import type { brokenInvariant, exploration, exploreFault, invariant, payerOutcome } from "../shapes.ts";
import type { Checkout, Sandbox, Store } from "../types.ts";

export type ExploreOptions = {
  /**
   * Makes one purchase in a store with the application's own code, and returns the order; throws if the purchase fails.
   * After a failure, it is called once more in the same store, without request faults, and must repeat the same
   * purchase, as the application does when a customer clicks again.
   */
  readonly purchase: (store: Store) => Promise<Pick<Checkout, "id" | "checkout_url">>;
  /** Returns the state of an order in the application, for example from its database. */
  readonly view: (orderId: string, store: Store) => View | Promise<View>;
  /** Returns how often the application has booked an order as paid. Replaces `times` of the view. */
  readonly bookings?: (orderId: string, store: Store) => number | Promise<number>;
  /**
   * Opens the application's return page as a customer does; the order may be unpaid. Called once before the payment,
   * and twice while the webhooks are delivered.
   */
  readonly returns?: (order: Pick<Checkout, "id" | "order_id">, store: Store) => unknown;
  /**
   * Starts the application for a store and registers its endpoint; returns a function that stops it. Called before
   * `purchase`, once for each run of a schedule. Default: nothing is started.
   */
  readonly start?: (store: Store) => Promise<(() => unknown) | void>;
  /** Real time in milliseconds after which the search starts no new schedule. Default: 60,000. */
  readonly budgetMs?: number;
  /** Maximum number of schedules, not counting the runs that shrink or confirm a finding. Default: no limit. */
  readonly maxSchedules?: number;
  /** Maximum number of faults in one schedule, from 1 to 4; the payer's outcome counts as one. Default: 2. */
  readonly depth?: number;
  /** The same seed runs the same schedules in the same order. Default: random; the result contains the seed. */
  readonly seed?: string;
  /** Runs only this schedule. The `rerun` of a broken invariant contains its schedule. */
  readonly only?: { readonly faults: readonly ExploreFault[]; readonly payer?: PayerOutcome };
  /** The sandbox to use. Default: a new sandbox in memory, on a free port, which is closed at the end. */
  readonly sandbox?: Sandbox;
  /** The dialect of the explored stores. Default: the sandbox's dialect. */
  readonly dialect?: Dialect;
};

/** A fault at one request or one delivery. */
export type ExploreFault = DomainOf<typeof exploreFault>;

/** The state of an order in the application. */
export type View =
  | "unpaid"
  | "paid"
  | {
      readonly paid: boolean;
      /** The number of bookings. If it is missing, `booked_once` is not judged. */
      readonly times?: number | undefined;
      /** The booked amount, in minor units. If it is missing, `right_amount` is not judged. */
      readonly amountMinor?: number | undefined;
    };

/** How the payer ends a payment. `paid_after_decline`: the first attempt is declined, the second succeeds. */
export type PayerOutcome = DomainOf<typeof payerOutcome>;

/** A rule that must hold for every purchase, whatever fails. */
export type Invariant = DomainOf<typeof invariant>;

export type Exploration = DomainOf<typeof exploration>;

/** A broken invariant, and the smallest schedule that breaks it. */
export type BrokenInvariant = DomainOf<typeof brokenInvariant>;
