import type { ItemName } from "../../src/core/readiness/names.ts";
import type { ShopStack } from "../support/shops.ts";

/** A mistake of a shop, the item that it keeps open, and the parts of the causes that the run reports. */
export type Breakage = {
  readonly make: ShopStack;
  readonly name: string;
  readonly item: ItemName;
  readonly causes: readonly string[];
  /** Other items that stay open, because the shop creates no second order for their drills. */
  readonly undrilled?: readonly string[];
};

const FORGED_PAYMENT = "booked after an event with a wrong signature";
const NEW_KEY = "A retry gets 409 order_conflict, because it has a new key";

/** Every breakage of the shops in this folder that the drills find. */
export const BREAKAGES: readonly Breakage[] = [
  {
    make: "express",
    name: "constant_key",
    item: "idempotency_replay",
    causes: ["different order_ids have the same key"],
    undrilled: ["return_origins fail", "webhook_verification fail"],
  },
  {
    make: "express",
    name: "key_from_time",
    item: "idempotency_replay",
    causes: [NEW_KEY],
  },
  { make: "python", name: "key_from_pid", item: "idempotency_replay", causes: [NEW_KEY] },
  {
    make: "python",
    name: "keeps_the_key_in_memory",
    item: "idempotency_replay",
    causes: [NEW_KEY],
  },
  {
    make: "express",
    name: "books_each_delivery",
    item: "webhook_verification",
    causes: ["a payment is booked at most once"],
  },
  {
    make: "python",
    name: "takes_late_events",
    item: "webhook_verification",
    causes: ["a paid order stays paid"],
  },
  {
    make: "python",
    name: "takes_other_amounts",
    item: "webhook_verification",
    causes: ["payment of another amount or currency is booked for this order"],
  },
  {
    make: "python",
    name: "believes_the_return_later",
    item: "return_origins",
    causes: ["because the customer returned"],
  },
  {
    make: "express",
    name: "new_key_each_try",
    item: "idempotency_replay",
    causes: [NEW_KEY],
  },
  {
    make: "express",
    name: "describes_the_try",
    item: "idempotency_replay",
    causes: ["with the same key it sends another body"],
  },
  {
    make: "python",
    name: "buys_again_each_try",
    item: "idempotency_replay",
    causes: ["created an order with another order_id"],
  },
  {
    make: "express",
    name: "no_verification",
    item: "webhook_verification",
    causes: ["does not check the signature", "parses the body before it verifies it", FORGED_PAYMENT],
  },
  {
    make: "express",
    name: "trusts_order_events",
    item: "webhook_verification",
    causes: ["accepts forged and outdated events of orders", FORGED_PAYMENT],
  },
  {
    make: "express",
    name: "compares_40_digits",
    item: "webhook_verification",
    causes: ["compares only the beginning of the signature"],
  },
  {
    make: "express",
    name: "ignores_the_timestamp",
    item: "webhook_verification",
    causes: ["does not check the age of the timestamp"],
  },
  {
    make: "python",
    name: "trusts_unsigned",
    item: "webhook_verification",
    causes: ["verifies only requests with a signature header", "accepts an empty signature"],
  },
  {
    make: "python",
    name: "verifies_parsed_body",
    item: "webhook_verification",
    causes: ["serializes it again, and verifies the result"],
  },
  {
    make: "python",
    name: "tolerance_in_milliseconds",
    item: "webhook_verification",
    causes: ["does not check the age of the timestamp"],
  },
  {
    make: "python",
    name: "takes_the_future",
    item: "webhook_verification",
    causes: ["accepts those in the future"],
  },
  {
    make: "python",
    name: "refuses_duplicates",
    item: "webhook_verification",
    causes: [
      "refuses an event that it has already received",
      "every genuine event ends with a 2xx",
      "refuses an event of an order that it accepted before",
    ],
  },
  {
    make: "express",
    name: "believes_the_return",
    item: "return_origins",
    causes: ["because the customer returned"],
  },
  {
    make: "python",
    name: "believes_the_return",
    item: "return_origins",
    causes: ["because the customer returned"],
  },
];
