import { expect, test } from "vitest";
import { displayStoreName, storeNameFault } from "../../src/core/config/store-name.ts";
import { PRINTABLE_PATTERN, printable, displayText } from "../../src/core/text.ts";

test("a store name is refused only if it is a keyword or an id, or can be mistaken for another name", () => {
  const names = [
    "Tea Shop",
    "上海茶店 Tea",
    "茶店（上海）",
    "東京ストア",
    "서울 Tea",
    "สาขา Tea",
    "Чай",
    "Τσάι",
    "Café",
    "Straße",
    "Tea™",
    "№1",
    "🍵 Tea",
    "ا",
    "newer",
    "My default",
    "1",
    "Ʋ",
  ];
  for (const name of names) expect([name, storeNameFault(name)]).toEqual([name, undefined]);
  // Names that break the same rule are refused with the same words; other rules have other words.
  const refused: readonly (readonly [name: string, rule: string, shown: string])[] = [
    ["Default", "keyword", '"Default"'],
    ["NEW", "keyword", '"NEW"'],
    [" Tea", "space", "\\u{20}Tea"],
    ["Tea ", "space", "Tea\\u{20}"],
    ["Tea  Shop", "space", "Tea\\u{20}\\u{20}Shop"],
    ["Tea\u00a0Shop", "styled", "Tea\\u{a0}Shop"],
    ["Ｔea", "styled", "\\u{ff34}ea"],
    ["𝐓ea", "styled", "\\u{1d413}ea"],
    ["Dеfault", "mixed", "D\\u{435}fault"],
    ["Tεa", "mixed", "T\\u{3b5}a"],
    ["Роса", "lookalike", "\\u{420}\\u{43e}\\u{441}\\u{430}"],
    ["ΤΟ 1", "lookalike", "\\u{3a4}\\u{39f} 1"],
    ["a\u200bb", "invisible", '"a\u200bb"'],
    ["0199a3c4-5d00-7000-8000-00000000000A", "id", '"0199a3c4-5d00-7000-8000-00000000000A"'],
  ];
  const faults = new Map<string, string>();
  for (const [name, rule, shown] of refused) {
    const fault = faults.get(rule) ?? storeNameFault(name)?.[0] ?? "";
    faults.set(rule, fault);
    expect([name, storeNameFault(name)?.[0], displayStoreName(name)]).toEqual([name, fault, shown]);
  }
  expect(new Set(faults.values()).size).toBe(faults.size);
});

test("displayText escapes only blanks and marks that would be invisible", () => {
  const rows = [
    ["order 1", "order 1"],
    ["❤️ क्षि é", "❤️ क्षि é"],
    ["", ""],
    [" ", "\\u{20}"],
    ["a  b ", "a\\u{20}\\u{20}b\\u{20}"],
    ["\n\ufe0f", "\\u{a}\\u{fe0f}"],
    ["a\r\nb", "a\r\nb"],
    ["a\r\n", "a\\u{d}\\u{a}"],
    ["a\r\n b", "a\\u{d}\\u{a}\\u{20}b"],
    ["\u0301a \u0301", "\\u{301}a\\u{20}\\u{301}"],
  ] as const;
  for (const [text, shown] of rows) expect([text, displayText(text)]).toEqual([text, shown]);
});

test("the code and the control API's schema treat the same characters as invisible, following Unicode", () => {
  const isLeftToCode = /[\p{Cs}\u{10000}-\u{10ffff}]/u;
  const invisible =
    /[[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]--[\ufe00-\ufe0f]]/v;
  const pattern = new RegExp(PRINTABLE_PATTERN, "u");
  const strange: string[] = [];
  for (let point = 0; point <= 0x10_ffff; point += 1) {
    const character = String.fromCodePoint(point);
    const isSeen = !invisible.test(character);
    const isAllowed = pattern.test(character);
    const isSaid = isLeftToCode.test(character) ? isAllowed : isAllowed === isSeen;
    if (!isSaid || (printable(character) === character) !== isSeen) strange.push(point.toString(16));
  }
  expect(strange).toEqual([]);
});
