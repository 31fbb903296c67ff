import { expect, test } from "vitest";
import type { Words } from "../../src/core/language.ts";
import type { DrillSentence } from "../../src/core/readiness/drill-sentences.ts";
import { HISTORY_NAMES, stepTitle } from "../../src/core/judge/histories/histories.ts";
import { factOf, FACT_TABLES, stepTextWords } from "../../src/core/readiness/drills/said.ts";
import { WEBHOOK_STEP_TITLES } from "../../src/core/readiness/drills/webhook.ts";

const NAMES = FACT_TABLES.flatMap((table) => Object.keys(table));

test("every coded message has a sentence in both languages, with the same values", () => {
  expect(NAMES.length).toBeGreaterThan(300);
  expect(new Set(NAMES).size).toBe(NAMES.length);
  const titles = [
    ...Object.keys(WEBHOOK_STEP_TITLES).map((name) => stepTitle("webhook", name)),
    ...HISTORY_NAMES.map((name) => stepTitle("duplicates", name)),
  ];
  const values = ["v0", "v1", "v2", "v3"];
  const all = [...titles, ...NAMES.map((name) => stepTextWords(factOf(name, ...values)))];
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

/** The words of a fact's row with these values. */
function rowWords(name: string, ...values: readonly string[]): Words {
  const row = FACT_TABLES.map((table) =>
    new Map<string, DrillSentence>(Object.entries(table)).get(name),
  ).find((found) => found !== undefined);
  if (row === undefined) throw new Error(`no fact ${name}`);
  return typeof row === "function" ? row(...values) : row;
}

test("a coded message is shown with its sentence and values, and a nested message in the same language", () => {
  const rows: readonly (readonly [name: string, ...values: string[]])[] = [
    ["shows_paid", "3 and 4, it says"],
    ["answered", "503", "order.succeeded"],
    ["amount", "1999"],
    ["unpaid"],
  ];
  for (const [name, ...values] of rows)
    expect(stepTextWords(factOf(name, ...values))).toEqual(rowWords(name, ...values));
  const [english, chinese] = rowWords("exited", "1", "no table");
  expect(stepTextWords(factOf("shows_unpaid", factOf("exited", "1", "no table")))).toEqual([
    rowWords("shows_unpaid", english)[0],
    rowWords("shows_unpaid", chinese)[1],
  ]);
});

test.each(["something that an older version said", factOf("of_next_year", "x"), factOf("toString")])(
  "a coded message without a sentence is shown as its text or its name: %j",
  (said) => {
    const text = typeof said === "string" ? said : said.fact;
    expect(stepTextWords(said)).toEqual([text, text]);
  },
);
