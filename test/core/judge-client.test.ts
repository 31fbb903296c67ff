import { expect, test } from "vitest";
import {
  brokenRuleOf,
  retriesEarly,
  type LoggedCreate,
  type WatchedRun,
} from "../../src/core/judge/client.ts";
import type { Cause } from "../../src/core/readiness/drills/judge-causes.ts";

const create = (more: Partial<LoggedCreate> = {}): LoggedCreate => ({
  status: 201,
  code: null,
  arrival: "whole",
  isEarly: false,
  ...more,
});
const MADE = create();
const LOST = create({ arrival: "hidden" });
const CUT = create({ arrival: "cut" });
const refused = (code: LoggedCreate["code"], status = 409): LoggedCreate => create({ status, code });
const run = (log: readonly LoggedCreate[], more: Partial<WatchedRun> = {}): WatchedRun => ({
  hasEnded: true,
  isDone: true,
  got: "exit code",
  isKilled: false,
  log,
  ...more,
});
const FAILED = { isDone: false };

test("the logged creates of a purchase with faults determine the broken rule and its cause", () => {
  const rows: readonly (readonly [
    what: string,
    runs: readonly WatchedRun[],
    found: string | undefined,
    cause?: Cause,
  ])[] = [
    ["an answer", [run([MADE])], undefined],
    ["a lost answer, then the answer", [run([LOST, MADE])], undefined],
    ["a failure, then the answer", [run([LOST], FAILED), run([LOST, MADE])], undefined],
    ["a kill, then the answer", [run([LOST], { ...FAILED, isKilled: true }), run([LOST, MADE])], undefined],
    ["success by the status of a cut answer", [run([CUT])], undefined],
    ["no key", [run([refused("idempotency_key_missing", 400)], FAILED)], "one_key", "no_key"],
    ["a bad key", [run([refused("idempotency_key_invalid", 400)], FAILED)], "one_key", "invalid_key"],
    ["a key of another order", [run([refused("idempotency_key_reused")], FAILED)], "one_key", "alike"],
    ["another body", [run([LOST, refused("idempotency_key_reused")], FAILED)], "one_key", "other_body"],
    [
      "another body after a kill, whose create is not logged yet",
      [run([], { ...FAILED, isKilled: true }), run([refused("idempotency_key_reused")], FAILED)],
      "one_key",
      "other_body",
    ],
    ["a new key", [run([LOST, refused("order_conflict")], FAILED)], "one_key", "new_key"],
    ["a second create", [run([MADE, refused("order_conflict")])], "one_key", "second_create"],
    [
      "an invalid retry",
      [run([LOST, refused("invalid_parameter", 400)], FAILED)],
      "recovery",
      "changed_body",
    ],
    ["no end", [run([LOST], { ...FAILED, hasEnded: false })], "client_ends", "never_ends"],
    ["success without an answer", [run([LOST])], "client_ends", "claims_success"],
    ["success without a create", [run([])], "client_ends", "claims_success"],
    ["a failure with an answer", [run([MADE], FAILED)], "client_ends", "reports_failure"],
    ["a second run without an answer", [run([LOST], FAILED), run([LOST], FAILED)], "recovery", "forgotten"],
    [
      "a second run that fails although the order has arrived",
      [run([MADE], { ...FAILED, mayFail: true }), run([MADE], { ...FAILED, mayFail: true })],
      "recovery",
      "no_recovery",
    ],
    [
      "a second run that is refused",
      [run([], FAILED), run([refused("scope_missing", 403)], FAILED)],
      "recovery",
      "no_recovery",
    ],
    ["a page that shows an error", [run([LOST, MADE], { ...FAILED, isKilled: null })], undefined],
  ];
  for (const [what, runs, invariant, cause] of rows) {
    const found = brokenRuleOf({ runs, liveCount: 1, hasNewOrderId: false });
    expect([what, found?.invariant]).toEqual([what, invariant]);
    if (invariant !== undefined) expect([what, found?.cause]).toEqual([what, cause]);
  }
});

test("a refusal that a fault caused breaks no rule of the client", () => {
  const faulty = create({ status: 409, code: "order_conflict", arrival: "hidden" });
  expect(
    brokenRuleOf({ runs: [run([LOST, faulty, MADE])], liveCount: 1, hasNewOrderId: false }),
  ).toBeUndefined();
});

test("a purchase with two orders, or with an order of another order_id, breaks one_order", () => {
  const runs = [run([LOST, MADE])];
  expect(brokenRuleOf({ runs, liveCount: 2, hasNewOrderId: false })).toMatchObject({
    invariant: "one_order",
    got: "2",
    cause: "order_again",
  });
  expect(brokenRuleOf({ runs, liveCount: 1, hasNewOrderId: true })).toMatchObject({
    got: { fact: "other_id" },
  });
});

test("a client counts as hasty if its last run sends a create before the end of Retry-After", () => {
  const early = create({ isEarly: true });
  const hasty = (log: readonly LoggedCreate[]): boolean =>
    retriesEarly({ runs: [run(log)], liveCount: 1, hasNewOrderId: false });
  expect([hasty([LOST, MADE]), hasty([LOST, early])]).toEqual([false, true]);
});
