import { expect, test } from "vitest";
import type { Words } from "../../src/core/language.ts";
import {
  EXPECTED_RESULTS,
  FAILURE_SENTENCES,
  STEP_RESULTS,
  DUPLICATES_LIMITATIONS,
  LIST_ITEMS,
  QUOTING_RESULTS,
  type DrillSentence,
} from "../../src/core/readiness/drill-sentences.ts";
import { drillWords, failureWords } from "../../src/core/readiness/drill-text.ts";
import { RETURN_CAUSES, RETURN_STEPS } from "../../src/core/readiness/drills/browser-return.ts";
import { stepTitle } from "../../src/core/readiness/drills/drill.ts";
import { DUPLICATES_CAUSES } from "../../src/core/readiness/drills/duplicates-causes.ts";
import { DUPLICATES_STEPS } from "../../src/core/readiness/drills/duplicates.ts";
import { IDEMPOTENCY_STEPS } from "../../src/core/readiness/drills/idempotency.ts";
import { adviceSentences } from "../../src/core/readiness/drills/webhook-advice.ts";
import { WEBHOOK_STEPS } from "../../src/core/readiness/drills/webhook.ts";
import { IDEMPOTENCY_CAUSES } from "../../src/core/readiness/idempotency-causes.ts";

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
      DUPLICATES_LIMITATIONS,
      RETURN_CAUSES,
      DUPLICATES_CAUSES,
      IDEMPOTENCY_CAUSES,
    ].flatMap(filledIn),
    ...adviceSentences().map(filled),
  ];
  expect(all.map(([english]) => drillWords(english))).toEqual(all);
  const failures = filledIn(FAILURE_SENTENCES);
  expect(failures.map(([english]) => failureWords(english))).toEqual(failures);
  const titles = [WEBHOOK_STEPS, DUPLICATES_STEPS, IDEMPOTENCY_STEPS, RETURN_STEPS].flatMap((steps) =>
    Object.keys(steps).map((name) => stepTitle(steps, name)),
  );
  const isEnglish = /[A-Za-z]+ [A-Za-z]+ [A-Za-z]+/;
  const isCode = /checkout( [a-z]+)+|POST GET/g;
  expect(
    [...all, ...titles, ...failures, ...filledIn(LIST_ITEMS)]
      .map(([, chinese]) => chinese.replaceAll(isCode, ""))
      .filter((chinese) => isEnglish.test(chinese)),
  ).toEqual([]);
  expect(titles.length).toBeGreaterThan(200);
});

test.each([
  ["paid: 3 and 4, it says; page: 200", "已支付：3 and 4, it says；页面：200"],
  [
    "not paid: 404; returned from your own site, with &status=success",
    "未支付：404；返回方式：从您自己的网站，带 &status=success",
  ],
  [
    "answered 200 and no answer (timeout); paid: a, b; the view changed",
    "返回 200 和 无响应（timeout）；已支付：a, b；视图有变化",
  ],
  ["paid: x (it has asked the API) (1 of 2 orders)", "已支付：x（已查询 API）（2 个订单之一）"],
  ["unknown: timeout: no whole answer within 5000 ms", "未知：timeout：5000 毫秒内没有完整的响应"],
  ["400 after 3 ms: go away now", "400，耗时 3 毫秒：go away now"],
  ["the same key: replayed; 2 before Retry-After", "相同的幂等键：replayed；其中 2 次早于 Retry-After"],
  ["something that an older version said", "something that an older version said"],
])("%s", (english, chinese) => {
  expect(drillWords(english)).toEqual([english, chinese]);
});
