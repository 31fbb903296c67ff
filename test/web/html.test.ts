import { expect, test } from "vitest";
import { formatPrice, pricePieces } from "../../src/core/money.ts";
import { PAYMENT_TEXTS } from "../../src/sandbox/pages/payment/texts.ts";
import { SHARED_TEXTS } from "../../src/sandbox/pages/shared/texts.ts";
import { html, type Texts } from "../../src/web/html.ts";
import type { Words } from "../../src/core/language.ts";
import { textInLanguage, parsePreferredLanguage } from "../../src/web/language.ts";

test("a page is in Chinese or English, as the browser prefers", () => {
  const rows = [
    ["", "en"],
    ["zh-CN,zh;q=0.9,en;q=0.8", "zh"],
    ["zh", "zh"],
    ["zh-Hans-CN", "zh"],
    ["ZH-cn", "zh"],
    ["en-GB,zh;q=0.5", "en"],
    ["de,fr;q=0.9,zh;q=0.2,en;q=0.1", "zh"],
    ["de", "en"],
    ["zh;q=0", "en"],
    ["*", "en"],
    [";;;,,,zh;q=x", "zh"],
    ["zhx", "en"],
    ["constructor", "en"],
  ] as const;
  for (const [header, language] of rows) {
    expect([header, parsePreferredLanguage(header)]).toEqual([header, language]);
  }
});

test("an amount on a page is exact, in its currency's format, and breaks a line only after a separator", () => {
  const rows = [
    [1999, "EUR", "en", "€19.99"],
    [1, "EUR", "en", "€0.01"],
    [19_900, "CNY", "zh-Hans", "¥199.00"],
    [19_900, "CNY", "en", "CN¥199.00"],
    [1200, "JPY", "en", "JP¥1,|200"],
    [1200, "JPY", "zh-Hans", "JP¥1,|200"],
    [1005, "KWD", "en", "KWD\u00a0|1.005"],
    [1999, "HUF", "en", "HUF\u00a0|19.99"],
    [Number.MAX_SAFE_INTEGER, "USD", "en", "$90,|071,|992,|547,|409.91"],
    [5, "ZZZ", "en", "ZZZ\u00a0|0.05"],
  ] as const;
  for (const [amountMinor, currency, locale, shown] of rows) {
    expect(pricePieces(amountMinor, currency, locale).join("|")).toBe(shown);
    expect(formatPrice(amountMinor, currency, locale)).toBe(shown.replaceAll("|", ""));
  }
});

test("text on a page keeps ordinary characters, and makes deceptive characters visible", () => {
  const rows = [
    ["<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;"],
    ["one\ntwo\r\nthree\u2028four", "one two three four"],
    ["می‌خواهم", "می‌خواهم"],
    ["क्‍ष", "क्‍ष"],
    ["👩‍👩‍👧‍👦🏳️‍🌈👩🏽‍🚀", "👩‍👩‍👧‍👦🏳️‍🌈👩🏽‍🚀"],
    ["a\u200d1", "a\\u{200d}1"],
    ["\u200dpay\u200c", "\\u{200d}pay\\u{200c}"],
    ["a\u200d\u200db", "a\\u{200d}\\u{200d}b"],
    ["a\u202eb\u200bc\u0000d\te", "a\\u{202e}b\\u{200b}c\\u{0}d\\u{9}e"],
  ] as const;
  for (const [text, shown] of rows) {
    expect([text, String(html`${text}`("en"))]).toEqual([text, shown]);
    expect([text, String(html`<p title="${text}"></p>`("en"))]).toEqual([text, `<p title="${shown}"></p>`]);
  }
});

test("Chinese texts of the payment page use one word for one thing, set Latin words apart, and have no spaces next to full-width punctuation", () => {
  const zh = sentences({ ...SHARED_TEXTS, ...PAYMENT_TEXTS });
  expect(zh.length).toBeGreaterThan(80);
  const faults = [
    /沙盒|付款|商店/,
    /[\u3001\u3002\uff00-\uffef] | [\u3001\u3002\uff00-\uffef]/,
    /[A-Za-z0-9+]\p{Script=Han}|\p{Script=Han}[A-Za-z0-9]/u,
    /\p{Script=Han}[,.;:!?()]/u,
    /支付支付/,
    /^$/,
  ];
  expect(zh.filter((text) => faults.some((fault) => fault.test(text)))).toEqual([]);
});

/** Every Chinese text, with a word for each of its values. */
function sentences(said: Texts[string]): string[] {
  if (typeof said === "function") return [textInLanguage("zh", said("Word" as never, "Word" as never))];
  if (Array.isArray(said)) return [textInLanguage("zh", said as Words)];
  return Object.values(said).flatMap(sentences);
}
