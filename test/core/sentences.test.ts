import { expect, test } from "vitest";
import { checkOfCode } from "../../src/core/explain/checks.ts";
import { DELIVERY_CAUSES } from "../../src/core/explain/delivery-sentences.ts";
import { EXPLAIN_SENTENCES } from "../../src/core/explain/sentences.ts";
import { ERROR_CODES } from "../../src/core/errors.ts";
import { CAUSES } from "../../src/core/readiness/drills/judge-causes.ts";
import { DROPPED_EVENT_ADVICE, NOT_JUDGED_REASONS } from "../../src/core/readiness/drills/judge-sentences.ts";
import { JUDGED_INVARIANTS } from "../../src/core/readiness/drills/judged-invariants.ts";
import { ASSUMPTIONS } from "../../src/core/calibration/assumptions.ts";
import { ITEM_TITLES } from "../../src/core/readiness/names.ts";
import { READINESS_SENTENCES } from "../../src/core/readiness/sentences.ts";
import type { Words } from "../../src/core/language.ts";

type Told = Words | ((...values: never[]) => Words) | { readonly [fact: string]: Told };

function sentencesIn(told: Told): readonly Words[] {
  if (typeof told === "function") return [told("x" as never, "x" as never, "x" as never, "x" as never)];
  return isSentence(told) ? [told] : Object.values(told).flatMap(sentencesIn);
}

function isSentence(told: Told): told is Words {
  return Array.isArray(told);
}

test("every sentence of explanations and of the checklist exists in both languages", () => {
  const all = [
    ...sentencesIn(EXPLAIN_SENTENCES),
    ...sentencesIn(READINESS_SENTENCES),
    ...sentencesIn(ITEM_TITLES),
    ...sentencesIn(JUDGED_INVARIANTS),
    ...sentencesIn(CAUSES),
    ...sentencesIn(NOT_JUDGED_REASONS),
    DROPPED_EVENT_ADVICE,
    ...ASSUMPTIONS.flatMap(({ title, chosen, shownBy }) => [title, chosen].concat(shownBy ? [shownBy] : [])),
    ...Array.from(DELIVERY_CAUSES.values(), ({ text }) => text),
    ...ERROR_CODES.map((code) => checkOfCode(code).expected).filter((one) => one !== null),
  ];
  const isChinese = /\p{Script=Han}/u;
  const isCode = /^[a-z_]+$/;
  expect(
    all.filter(
      ([english, chinese]) => isChinese.test(english) || !(isChinese.test(chinese) || isCode.test(chinese)),
    ),
  ).toEqual([]);
  expect(all.length).toBeGreaterThan(120);
});
