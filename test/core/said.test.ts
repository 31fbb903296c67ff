import { expect, test } from "vitest";
import { HISTORY_NAMES, stepTitle } from "../../src/core/judge/histories/histories.ts";
import { factOf, FACT_TABLES, wordsOf } from "../../src/core/readiness/drills/said.ts";
import { WEBHOOK_STEP_TITLES } from "../../src/core/readiness/drills/webhook.ts";

const NAMES = FACT_TABLES.flatMap((table) => Object.keys(table));

test("every fact has a sentence in both languages, with the same values", () => {
  expect(NAMES.length).toBeGreaterThan(300);
  expect(new Set(NAMES).size).toBe(NAMES.length);
  const titles = [
    ...Object.keys(WEBHOOK_STEP_TITLES).map((name) => stepTitle("webhook", name)),
    ...HISTORY_NAMES.map((name) => stepTitle("duplicates", name)),
  ];
  const values = ["v0", "v1", "v2", "v3"];
  const all = [...titles, ...NAMES.map((name) => wordsOf(factOf(name, ...values)))];
  const isEnglish = /[A-Za-z]+ [A-Za-z]+ [A-Za-z]+/;
  const isCode = /checkout( [a-z]+)+|POST GET/g;
  expect(
    all.map(([, chinese]) => chinese.replaceAll(isCode, "")).filter((text) => isEnglish.test(text)),
  ).toEqual([]);
  for (const [english, chinese] of all)
    expect([english, values.filter((value) => chinese.includes(value))]).toEqual([
      english,
      values.filter((value) => english.includes(value)),
    ]);
});

test.each([
  [factOf("shows_paid", "3 and 4, it says"), "paid: 3 and 4, it says", "已支付：3 and 4, it says"],
  [
    factOf("answered", "503", "order.succeeded"),
    "answered 503; order.succeeded",
    "返回 503；order.succeeded",
  ],
  [factOf("amount", "1999"), "the amount 1999", "金额 1999"],
  [factOf("unpaid"), "not paid", "未支付"],
  [
    factOf("shows_unpaid", factOf("exited", "1", "no table")),
    "not paid: exit code 1: no table",
    "未支付：退出码 1：no table",
  ],
  [
    "something that an older version said",
    "something that an older version said",
    "something that an older version said",
  ],
  [factOf("of_next_year", "x"), "of_next_year", "of_next_year"],
  [factOf("toString"), "toString", "toString"],
])("%j has its texts in English and Chinese", (said, english, chinese) => {
  expect(wordsOf(said)).toEqual([english, chinese]);
});
