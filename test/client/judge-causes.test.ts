import { expect, test } from "vitest";
import { mergeRuns } from "../../src/client/judge/later.ts";
import type { JudgedHistory } from "../../src/client/judge/played.ts";
import { HISTORY_NAMES, historyOf } from "../../src/core/judge/histories/histories.ts";
import type { Cause } from "../../src/core/readiness/drills/judge-causes.ts";

const RULE = "booked_when_paid";

function likelyCause(name: string): Cause | undefined {
  return historyOf(name).causes?.[RULE];
}

function brokenIn(name: string): JudgedHistory {
  const cause = likelyCause(name) ?? null;
  const verdict = { state: "broken", invariant: RULE, cause, expected: "", got: "" } as const;
  return { name, verdict, reference: null, story: [] };
}

/** The first history with each likely cause. */
const BY_CAUSE = [
  ...new Map(HISTORY_NAMES.toReversed().map((name) => [likelyCause(name), name] as const)),
].flatMap(([cause, name]) => (cause === undefined ? [] : [name]));

test("the likely causes of a broken rule are reported only if there are at most three", () => {
  const causes = (names: readonly string[]): readonly unknown[] =>
    mergeRuns(names.map(brokenIn)).map(({ verdict }) => verdict.state === "broken" && verdict.cause);
  expect(BY_CAUSE.length).toBeGreaterThan(4);
  expect(causes(BY_CAUSE.slice(0, 3))).not.toContain(null);
  expect(new Set(causes(BY_CAUSE.slice(0, 4)))).toEqual(new Set([null]));
});
