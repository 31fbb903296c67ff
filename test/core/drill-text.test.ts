import { expect, test } from "vitest";
import type { Words } from "../../src/core/language.ts";
import {
  EXPECTED_RESULTS,
  FAILURE_SENTENCES,
  STEP_RESULTS,
  LIST_ITEMS,
  QUOTING_RESULTS,
  type DrillSentence,
} from "../../src/core/readiness/drill-sentences.ts";
import { drillWords, failureWords } from "../../src/core/readiness/drill-text.ts";
import { JUDGE_CAUSES } from "../../src/core/readiness/drills/judge-causes.ts";
import { RUN_STEPS } from "../../src/core/judge/histories.ts";
import { NOT_JUDGED, NOTES } from "../../src/core/readiness/drills/judge-sentences.ts";
import { stepTitle } from "../../src/core/readiness/drills/drill.ts";
import { adviceSentences } from "../../src/core/readiness/drills/webhook-advice.ts";
import { WEBHOOK_STEPS } from "../../src/core/readiness/drills/webhook.ts";
import { CLIENT_CAUSES } from "../../src/core/readiness/drills/client-causes.ts";

/** A sentence with values that are words of nobody. */
function filled(row: DrillSentence): Words {
  return typeof row === "function" ? row(...["v0", "v1", "v2"].slice(0, row.length)) : row;
}

function filledIn(rows: Readonly<Record<string, DrillSentence>>): readonly Words[] {
  return Object.values(rows).map(filled);
}

test("each sentence of a drill is read back from its English, and has a Chinese half", () => {
  const all = [
    ...[
      EXPECTED_RESULTS,
      STEP_RESULTS,
      QUOTING_RESULTS,
      JUDGE_CAUSES,
      NOTES,
      NOT_JUDGED,
      CLIENT_CAUSES,
    ].flatMap(filledIn),
    ...adviceSentences().map(filled),
  ];
  expect(all.map(([english]) => drillWords(english))).toEqual(all);
  const failures = filledIn(FAILURE_SENTENCES);
  expect(failures.map(([english]) => failureWords(english))).toEqual(failures);
  const titles = [WEBHOOK_STEPS, RUN_STEPS].flatMap((steps) =>
    Object.keys(steps).map((name) => stepTitle(steps, name)),
  );
  const isEnglish = /[A-Za-z]+ [A-Za-z]+ [A-Za-z]+/;
  const isCode = /checkout( [a-z]+)+|POST GET/g;
  expect(
    [...all, ...titles, ...failures, ...filledIn(LIST_ITEMS)]
      .map(([, chinese]) => chinese.replaceAll(isCode, ""))
      .filter((chinese) => isEnglish.test(chinese)),
  ).toEqual([]);
  expect(titles.length).toBeGreaterThan(150);
});

test.each([
  ["paid: 3 and 4, it says", "已支付：3 and 4, it says"],
  ["answered 503; order.succeeded", "返回 503；order.succeeded"],
  ["the amount 1999", "金额 1999"],
  [
    "the view showed the payment after 30 s: set settle, how late your view may be, to more than that",
    "视图在 30 秒之后才显示支付：请把 settle（视图最多延迟多久）设得更大",
  ],
  ["400 after 3 ms: go away now", "400，耗时 3 毫秒：go away now"],
  ["something that an older version said", "something that an older version said"],
])("%s", (english, chinese) => {
  expect(drillWords(english)).toEqual([english, chinese]);
});
