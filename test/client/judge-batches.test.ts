import { expect, test } from "vitest";
import { batchesOf } from "../../src/client/judge/batches.ts";
import { NO_RECORDING, type JudgedShop } from "../../src/client/judge/bench.ts";
import type { RunPlan } from "../../src/client/judge/played.ts";
import { placesIn } from "../../src/core/judge/histories/places.ts";

const SHOP = {
  create: { commandLine: "create-order" },
  setsIds: true,
  view: { source: { url: "http://localhost:3000/orders/{order_id}" }, paidWhen: /paid/ },
  returnUrl: "http://localhost:3000/thanks",
  env: {},
} as const;
const PLAN = { names: undefined, isQuick: true, deadline: 0, onJudged: () => undefined };

function namesOf(shop: JudgedShop, plan: RunPlan): readonly string[] {
  const recording = { ...NO_RECORDING, hasSameId: true };
  return batchesOf({ shop, recording }, plan).flatMap(([, turns]) => turns.map(({ name }) => name));
}

test.each(["duplicates", "browser_return", "idempotency"] as const)(
  "a run of the part %s combines each second or third attempt with each order of events",
  (part) => {
    const names = namesOf(SHOP, { ...PLAN, parts: new Set(["duplicates", part]) });
    for (const attempt of ["second_failed", "second_early", "third_attempt", "third_early"])
      for (const events of ["payment_first", "payment_again", "payment_alone", "payment_then_new_type"]) {
        const pairs = names.filter((name) => {
          const places = new Set<string>(placesIn(name));
          return places.has(attempt) && places.has(events);
        });
        expect([attempt, events, pairs.length > 0]).toEqual([attempt, events, true]);
      }
  },
);

test("a combination that --only requests runs before the history outage", () => {
  const names = new Set(["outage", "second_failed.return_begun"]);
  expect(namesOf(SHOP, { ...PLAN, parts: new Set(["duplicates"]), names })).toEqual([...names].toReversed());
});

test("creates are judged before the histories that take long", () => {
  const names = namesOf(SHOP, { ...PLAN, isQuick: false, parts: new Set(["duplicates", "idempotency"]) });
  const lastCreate = Math.max(
    ...["create_5xx", "keys_digits", "answer_cut"].map((name) => names.indexOf(name)),
  );
  expect(lastCreate).toBeLessThan(names.indexOf("webhook_after_question"));
  expect(lastCreate).toBeLessThan(names.findIndex((name) => (placesIn(name)?.length ?? 0) > 1));
});
