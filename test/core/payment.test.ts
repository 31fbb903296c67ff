import { expect, test } from "vitest";
import { STATUSES, type Checkout, type Status } from "../../src/core/checkout/checkout.ts";
import { freezeClock, REAL_CLOCK, setClock, storeNow } from "../../src/core/clock.ts";
import {
  decideCommand,
  isExpiryDue,
  isFinal,
  MAX_PAYMENT_ATTEMPTS,
  TRANSITIONS,
  type CheckoutCommand,
} from "../../src/core/checkout/payment.ts";
import { outcomeOfOrderId } from "../../src/core/checkout/reserved-order-id.ts";
import type { Attempt } from "../../src/core/checkout/shapes.ts";
import { aCheckout } from "../support/rows.ts";

const checkout = (status: Status): Checkout => aCheckout({ status });
const attempt = (number: number, outcome: Attempt["outcome"] = null): Attempt => ({
  number,
  startedAt: 0,
  outcome,
  finishedAt: outcome === null ? null : 1,
});
const finish = (result: "succeeded" | "declined" | "failed", number = 1): CheckoutCommand => ({
  kind: "finish",
  attempt: number,
  result,
});

test("of the 36 pairs of statuses, exactly the transitions of decision 10 are allowed", () => {
  const pairs = STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const));
  expect(pairs).toHaveLength(36);
  const allowed = pairs.filter(([from, to]) => (TRANSITIONS[from] as readonly Status[]).includes(to));
  expect(allowed.map(([from, to]) => `${from} → ${to}`)).toEqual([
    "created → pending",
    "created → cancelled",
    "created → expired",
    "pending → pending",
    "pending → succeeded",
    "pending → failed",
    "pending → cancelled",
    "pending → expired",
  ]);
  expect(STATUSES.filter(isFinal)).toEqual(["succeeded", "failed", "cancelled", "expired"]);
});

test("every command changes a checkout as decision 10 says, or is refused", () => {
  const open = [attempt(1)];
  const rows: readonly (readonly [Status, readonly Attempt[], CheckoutCommand, number, string])[] = [
    ["created", [], { kind: "start" }, 0, "pending 1:open"],
    ["pending", open, { kind: "start" }, 0, "pending"],
    ["pending", [attempt(1, "declined")], { kind: "start" }, 0, "pending 2:open"],
    ["pending", open, finish("succeeded"), 0, "succeeded 1:succeeded"],
    ["pending", open, finish("failed"), 0, "failed 1:failed"],
    ["pending", open, finish("declined"), 0, "pending 1:declined"],
    [
      "pending",
      [...[1, 2, 3, 4].map((n) => attempt(n, "declined")), attempt(MAX_PAYMENT_ATTEMPTS)],
      finish("declined", 5),
      0,
      "failed 5:declined",
    ],
    ["pending", open, finish("succeeded", 2), 0, "state_conflict"],
    ["pending", [attempt(1, "declined")], finish("declined"), 0, "pending"],
    ["pending", [attempt(1, "declined")], finish("succeeded"), 0, "state_conflict"],
    ["created", [], { kind: "cancel" }, 0, "cancelled"],
    ["pending", open, { kind: "cancel" }, 0, "cancelled 1:abandoned"],
    ["pending", open, { kind: "expire" }, 999, "state_conflict"],
    ["pending", open, { kind: "expire" }, 1000, "expired 1:abandoned"],
    ["created", [], { kind: "expire" }, 1000, "expired"],
    ["succeeded", [attempt(1, "succeeded")], finish("succeeded"), 0, "succeeded"],
    ["expired", [attempt(1, "abandoned")], finish("succeeded"), 2000, "expired late:succeeded"],
    ["cancelled", [attempt(1, "abandoned")], finish("declined"), 2000, "cancelled late:declined"],
    ...(["succeeded", "failed", "cancelled", "expired"] as const).flatMap((status) =>
      ([{ kind: "start" }, { kind: "cancel" }, { kind: "expire" }] as const).map(
        (command) => [status, [], command, 2000, "state_conflict"] as const,
      ),
    ),
  ];
  for (const [status, attempts, command, now, expected] of rows) {
    const outcome = decideCommand({ checkout: checkout(status), attempts }, command, now);
    const told = outcome.ok
      ? [
          outcome.value.status,
          outcome.value.attempt &&
            `${outcome.value.attempt.number}:${outcome.value.attempt.outcome ?? "open"}`,
          outcome.value.lateResult && `late:${outcome.value.lateResult.result}`,
        ]
          .filter(Boolean)
          .join(" ")
      : outcome.refusal.code;
    expect([status, command, told]).toEqual([status, command, expected]);
  }
});

test("only an open checkout expires, exactly at its expiry time", () => {
  expect(isExpiryDue(checkout("pending"), 999)).toBe(false);
  expect(isExpiryDue(checkout("created"), 1000)).toBe(true);
  expect(isExpiryDue(checkout("succeeded"), 5000)).toBe(false);
});

test("a store's clock runs, freezes, and can be set while it runs or is frozen", () => {
  expect(storeNow(REAL_CLOCK, 500)).toBe(500);
  const frozen = freezeClock(REAL_CLOCK, 500);
  expect([storeNow(frozen, 900), storeNow(setClock(frozen, 700, 900), 5000)]).toEqual([500, 700]);
  const shifted = setClock(REAL_CLOCK, 10_000, 500);
  expect([storeNow(shifted, 500), storeNow(shifted, 600)]).toEqual([10_000, 10_100]);
});

test("only an order_id with a reserved suffix, in lower case, requests an outcome", () => {
  const rows = [
    ["order-1~succeeded", "succeeded"],
    ["~expired", "expired"],
    ["order-1~declined", "declined"],
    ["order-succeeded", undefined],
    ["order~succeeded-2", undefined],
    ["order~SUCCEEDED", undefined],
  ] as const;
  for (const [orderId, outcome] of rows)
    expect([orderId, outcomeOfOrderId(orderId)]).toEqual([orderId, outcome]);
});
