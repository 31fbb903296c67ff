import { expect, test } from "vitest";
import { checkOf } from "../../src/core/explain/checks.ts";
import { CAUSES } from "../../src/core/explain/delivery.ts";
import { SENTENCES } from "../../src/core/explain/sentences.ts";
import { ERROR_CODES } from "../../src/core/errors.ts";
import { READINESS } from "../../src/core/readiness/sentences.ts";
import type { Sentence } from "../../src/core/text.ts";

type Told = Sentence | ((...values: never[]) => Sentence) | { readonly [fact: string]: Told };

function sentencesIn(told: Told): readonly Sentence[] {
  if (typeof told === "function") return [told("x" as never, "x" as never, "x" as never, "x" as never)];
  return isSentence(told) ? [told] : Object.values(told).flatMap(sentencesIn);
}

function isSentence(told: Told): told is Sentence {
  return Array.isArray(told);
}

test("so many sentences of explanations and of the checklist are not translated yet", () => {
  const all = [
    ...sentencesIn(SENTENCES),
    ...sentencesIn(READINESS),
    ...Object.values(CAUSES).flatMap((one) => (one === undefined ? [] : [one.cause])),
    ...ERROR_CODES.map((code) => checkOf(code).expected).filter((one) => one !== null),
  ];
  // Whoever translates one says here how many are left.
  expect(all.filter(([, chinese]) => chinese === null)).toHaveLength(122);
});
