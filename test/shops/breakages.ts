import type { ItemName } from "../../src/core/readiness/names.ts";
import type { ShopStack } from "../support/shops.ts";

/** A mistake of a shop, the item that it keeps open, and the facts that the run reports as its causes. */
export type Breakage = {
  readonly make: ShopStack;
  readonly name: string;
  readonly item: ItemName;
  readonly causes: readonly string[];
  /** Other items that stay open, because the shop creates no second order for their drills. */
  readonly undrilled?: readonly string[];
};

/** Every breakage of the shops in this folder that the drills find. */
export const BREAKAGES: readonly Breakage[] = [
  {
    make: "express",
    name: "constant_key",
    item: "idempotency_replay",
    causes: ["alike"],
    undrilled: ["return_origins fail", "webhook_verification fail"],
  },
  {
    make: "express",
    name: "key_from_time",
    item: "idempotency_replay",
    causes: ["new_key"],
  },
  { make: "python", name: "key_from_pid", item: "idempotency_replay", causes: ["new_key"] },
  {
    make: "python",
    name: "keeps_the_key_in_memory",
    item: "idempotency_replay",
    causes: ["new_key"],
  },
  {
    make: "express",
    name: "books_each_delivery",
    item: "webhook_verification",
    causes: ["booked_once"],
  },
  {
    make: "python",
    name: "takes_late_events",
    item: "webhook_verification",
    causes: ["final_stays"],
  },
  {
    make: "python",
    name: "takes_other_amounts",
    item: "webhook_verification",
    causes: ["other_terms"],
  },
  {
    make: "python",
    name: "believes_the_return_later",
    item: "return_origins",
    causes: ["believes_return"],
  },
  {
    make: "express",
    name: "new_key_each_try",
    item: "idempotency_replay",
    causes: ["new_key"],
  },
  {
    make: "express",
    name: "describes_the_try",
    item: "idempotency_replay",
    causes: ["other_body"],
  },
  {
    make: "python",
    name: "buys_again_each_try",
    item: "idempotency_replay",
    causes: ["new_order_id"],
  },
  {
    make: "express",
    name: "no_verification",
    item: "webhook_verification",
    causes: ["no_check", "parses_first", "books_unverified"],
  },
  {
    make: "express",
    name: "trusts_order_events",
    item: "webhook_verification",
    causes: ["skips_orders", "books_unverified"],
  },
  {
    make: "express",
    name: "ignores_the_timestamp",
    item: "webhook_verification",
    causes: ["no_staleness_check"],
  },
  {
    make: "python",
    name: "trusts_unsigned",
    item: "webhook_verification",
    causes: ["skips_without_header", "takes_empty_signature"],
  },
  {
    make: "python",
    name: "verifies_parsed_body",
    item: "webhook_verification",
    causes: ["parsed_body"],
  },
  {
    make: "python",
    name: "takes_the_future",
    item: "webhook_verification",
    causes: ["takes_ahead"],
  },
  {
    make: "python",
    name: "refuses_duplicates",
    item: "webhook_verification",
    causes: ["rejects_duplicates", "takes_events", "refuses_orders"],
  },
  {
    make: "express",
    name: "believes_the_return",
    item: "return_origins",
    causes: ["believes_return"],
  },
];
