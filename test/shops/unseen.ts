/** The kinds of mistakes, in the words of the table of docs/launch.md. */
export const KINDS = {
  webhooks: "repeated, stale or forged webhooks",
  again: "the purchase again",
  returns: "customers who return",
  creates: "creates and keys",
  restarts: "restarts and kills",
  api: "a slow or failing API",
  orders: "many, similar or late orders",
} as const;

/** A file of test/shops/unseen. */
export type UnseenShop =
  | "inbox"
  | "journal"
  | "poller"
  | "gateway"
  | "notifications"
  | "coffee"
  | "tickets"
  | "courses";

/** A mistake of a shop in test/shops/unseen, whose author did not know the histories. */
export type UnseenMistake = {
  readonly shop: UnseenShop;
  readonly mistake: string;
  readonly kind: keyof typeof KINDS;
  /** A history that finds the mistake within seconds, for `--only`. */
  readonly only?: string;
  /** The mistake can break the purchase without faults, after which a run ends. */
  readonly breaksPlain?: true;
  /** Why a run does not find the mistake. */
  readonly missedBecause?: string;
};

export const UNSEEN_MISTAKES: readonly UnseenMistake[] = [
  { shop: "inbox", mistake: "trusts_header_id", kind: "webhooks", only: "payment_again" },
  { shop: "inbox", mistake: "remembers_before_verifying", kind: "webhooks" },
  { shop: "inbox", mistake: "trusts_known_signatures", kind: "webhooks" },
  { shop: "inbox", mistake: "compares_32_digits", kind: "webhooks" },
  { shop: "inbox", mistake: "tolerates_five_hours", kind: "webhooks" },
  { shop: "inbox", mistake: "counts_three_attempts", kind: "again", only: "fifth_attempt" },
  { shop: "inbox", mistake: "archives_other_attempts", kind: "again", only: "other_end_late" },
  { shop: "inbox", mistake: "compares_sequences_of_the_order", kind: "again" },
  { shop: "inbox", mistake: "ignores_events_before_a_click", kind: "again" },
  { shop: "inbox", mistake: "forgets_a_timer", kind: "again" },
  { shop: "inbox", mistake: "abandons_old_attempts", kind: "again" },
  { shop: "journal", mistake: "books_in_the_return_too", kind: "returns", only: "return_same_moment" },
  { shop: "journal", mistake: "locks_the_order_in_a_return", kind: "returns" },
  { shop: "poller", mistake: "takes_the_end_of_an_old_return", kind: "returns", only: "return_second" },
  {
    shop: "poller",
    mistake: "trusts_the_order_of_a_return",
    kind: "returns",
    only: "second_failed.return_same_moment",
  },
  { shop: "inbox", mistake: "describes_the_time", kind: "creates" },
  { shop: "inbox", mistake: "gives_up_lost_answers", kind: "creates", only: "create_5xx" },
  { shop: "inbox", mistake: "gives_up_a_slow_click", kind: "creates" },
  { shop: "inbox", mistake: "ends_open_creates_at_a_start", kind: "restarts" },
  { shop: "inbox", mistake: "ends_open_creates_at_a_stop", kind: "restarts" },
  { shop: "inbox", mistake: "keeps_newest_attempt_in_memory", kind: "restarts" },
  { shop: "inbox", mistake: "cancels_after_a_restart", kind: "restarts" },
  { shop: "inbox", mistake: "keeps_event_ids_in_memory", kind: "restarts", only: "restart_after_answer" },
  { shop: "inbox", mistake: "keeps_400_event_ids", kind: "restarts", only: "restart_after_answer" },
  { shop: "inbox", mistake: "keeps_a_lock_after_a_kill", kind: "restarts" },
  { shop: "inbox", mistake: "marks_events_before_the_work", kind: "restarts" },
  { shop: "journal", mistake: "counts_attempts_in_memory", kind: "restarts", only: "restart_second_attempt" },
  { shop: "journal", mistake: "ignores_events_while_loading", kind: "restarts", breaksPlain: true },
  { shop: "journal", mistake: "keeps_jobs_in_memory", kind: "restarts" },
  { shop: "journal", mistake: "drops_jobs_at_a_stop", kind: "restarts" },
  { shop: "journal", mistake: "skips_events_in_progress", kind: "api" },
  { shop: "journal", mistake: "skips_events_in_progress_except_created", kind: "api" },
  { shop: "journal", mistake: "skips_events_of_a_locked_order", kind: "api" },
  { shop: "journal", mistake: "skips_events_of_a_locked_order_with_jobs", kind: "api" },
  { shop: "journal", mistake: "drops_jobs_above_eight", kind: "api" },
  { shop: "journal", mistake: "caches_answers", kind: "api", breaksPlain: true },
  { shop: "journal", mistake: "remembers_before_asking", kind: "api" },
  { shop: "journal", mistake: "gives_up_after_six_questions", kind: "api" },
  { shop: "poller", mistake: "gives_up_after_a_refusal", kind: "api" },
  { shop: "inbox", mistake: "ignores_accents", kind: "orders", only: "look_alikes" },
  {
    shop: "inbox",
    mistake: "ignores_trailing_spaces",
    kind: "orders",
    missedBecause: "no order_id of a run ends with a space",
  },
  { shop: "poller", mistake: "asks_about_the_newest_fifteen", kind: "orders" },
  { shop: "poller", mistake: "asks_for_25_seconds", kind: "orders" },
  // Shops of two more authors.
  { shop: "gateway", mistake: "books_after_the_warehouse", kind: "webhooks", only: "burst" },
  { shop: "gateway", mistake: "fails_a_paid_order", kind: "again", only: "other_end_late" },
  { shop: "gateway", mistake: "saves_an_old_order_at_a_purchase", kind: "again" },
  { shop: "gateway", mistake: "drops_events_of_a_locked_order", kind: "returns" },
  {
    shop: "gateway",
    mistake: "takes_the_order_from_a_cookie",
    kind: "returns",
    only: "return_other_session",
  },
  { shop: "gateway", mistake: "guards_only_the_state_paid", kind: "returns" },
  { shop: "gateway", mistake: "saves_an_old_order_in_a_return", kind: "returns" },
  { shop: "gateway", mistake: "describes_the_time", kind: "creates", only: "answer_lost" },
  { shop: "gateway", mistake: "joins_the_order_and_the_attempt", kind: "creates", only: "second_numbered" },
  { shop: "gateway", mistake: "keeps_the_key_of_another_method", kind: "creates", only: "lost_other_method" },
  { shop: "gateway", mistake: "takes_the_key_from_a_cookie", kind: "creates", only: "return_one_browser" },
  { shop: "gateway", mistake: "guards_bookings_in_memory", kind: "restarts", only: "restart_after_return" },
  { shop: "gateway", mistake: "books_at_a_start_too", kind: "restarts" },
  { shop: "gateway", mistake: "fails_payments_that_it_cannot_ask_about", kind: "api" },
  { shop: "notifications", mistake: "stops_at_a_test_event", kind: "webhooks" },
  { shop: "notifications", mistake: "cancels_late", kind: "again" },
  { shop: "notifications", mistake: "keeps_jobs_in_memory", kind: "restarts" },
  { shop: "notifications", mistake: "mails_before_it_ends_a_job", kind: "restarts" },
  { shop: "notifications", mistake: "gives_up_after_three_tries", kind: "api" },
  { shop: "notifications", mistake: "overlaps_runs", kind: "api" },
  { shop: "coffee", mistake: "compares_the_first_signature", kind: "webhooks" },
  { shop: "coffee", mistake: "ends_a_paid_order", kind: "again", only: "other_end_late" },
  {
    shop: "coffee",
    mistake: "ends_an_attempt_that_it_cannot_read",
    kind: "again",
    only: "bought_again_open",
  },
  { shop: "coffee", mistake: "skips_events_of_a_claimed_order", kind: "returns" },
  { shop: "coffee", mistake: "ends_a_paid_order_in_a_return", kind: "returns", only: "return_second" },
  { shop: "coffee", mistake: "ends_an_attempt_after_three_tries", kind: "creates", only: "create_5xx" },
  { shop: "coffee", mistake: "ends_an_attempt_after_four_tries", kind: "creates", only: "answers_lost" },
  { shop: "coffee", mistake: "marks_events_before_the_work", kind: "restarts" },
  { shop: "coffee", mistake: "books_at_a_start_too", kind: "restarts", only: "restart_after_return" },
  { shop: "coffee", mistake: "shares_a_transaction", kind: "api" },
  { shop: "coffee", mistake: "takes_no_answer_for_nothing", kind: "api" },
  { shop: "coffee", mistake: "caches_sessions", kind: "api" },
  { shop: "coffee", mistake: "takes_an_empty_answer_for_nothing", kind: "api" },
  { shop: "tickets", mistake: "queues_one_job_for_each_order", kind: "webhooks" },
  { shop: "tickets", mistake: "compares_sequences_of_the_order", kind: "again" },
  { shop: "tickets", mistake: "names_jobs_by_order_and_type", kind: "again" },
  { shop: "tickets", mistake: "counts_rounds_in_memory", kind: "restarts", only: "restart_second_attempt" },
  { shop: "tickets", mistake: "keeps_started_jobs", kind: "restarts" },
  {
    shop: "tickets",
    mistake: "polls_and_keeps_started_jobs",
    kind: "restarts",
    missedBecause: "few kills meet the 0.1 s in which a job is started, once in 1.5 s",
  },
  { shop: "tickets", mistake: "takes_no_answer_for_unpaid", kind: "api" },
  { shop: "tickets", mistake: "retries_events_of_unknown_orders", kind: "orders" },
  {
    shop: "courses",
    mistake: "keeps_event_ids_in_each_process",
    kind: "webhooks",
    only: "restart_after_answer",
  },
  { shop: "courses", mistake: "takes_a_busy_database_for_a_duplicate", kind: "webhooks" },
  { shop: "courses", mistake: "makes_an_order_for_each_press", kind: "again" },
];

/** The same shops without a mistake, and their right variants. */
export const RIGHT_UNSEEN: readonly { readonly shop: UnseenShop; readonly variant: string }[] = [
  { shop: "inbox", variant: "" },
  { shop: "inbox", variant: "own_order_numbers" },
  { shop: "inbox", variant: "refuses_early_events" },
  { shop: "journal", variant: "" },
  { shop: "journal", variant: "asks_at_once" },
  { shop: "journal", variant: "asks_at_once_except_created" },
  { shop: "poller", variant: "" },
  { shop: "gateway", variant: "" },
  { shop: "gateway", variant: "refuses_events_of_a_locked_order" },
  { shop: "notifications", variant: "" },
  { shop: "notifications", variant: "claims_jobs" },
  { shop: "coffee", variant: "" },
  { shop: "coffee", variant: "pauses_after_five_failures" },
  { shop: "tickets", variant: "" },
  { shop: "courses", variant: "" },
];
