import { expect, test } from "vitest";
import { findPlaceholderNames, createPart, partWords } from "../../src/core/fact.ts";
import { refusalWords } from "../../src/core/outcome.ts";
import { refuseFact } from "../../src/core/refusals.ts";
import { reasonWords } from "../../src/core/webhook/endpoint.ts";
import { PART_TEXTS } from "../../src/core/refusals/parts.ts";

test("a message has the same placeholders in both languages, unless its English words come from a library", () => {
  const texts = Object.values(PART_TEXTS).filter(([one]) => one !== "{said}");
  const different = texts.filter(
    ([one, other]) => findPlaceholderNames(one).join() !== findPlaceholderNames(other).join(),
  );
  expect(different).toEqual([]);
  expect(texts.length).toBeGreaterThan(50);
});

test("a message that is part of a refusal is written in the language of the refusal", () => {
  const hold = createPart("other_folder", { folder: "/srv/shop", start: "checkout sandbox start" });
  const [english, chinese] = partWords(hold);
  const { refusal } = refuseFact("nothing_delivered", { hold });
  expect(english).toContain("/srv/shop");
  expect(refusalWords(refusal)).toEqual([expect.stringContaining(english), expect.stringContaining(chinese)]);
  expect(refusal.told).toEqual({ fact: "nothing_delivered", values: { hold } });
  const rule = createPart("https_elsewhere", { hosts: ["localhost", "127.0.0.1"] });
  expect(partWords(rule)).toEqual([
    expect.stringContaining("localhost, 127.0.0.1"),
    expect.stringContaining("localhost、127.0.0.1"),
  ]);
});

test("the reason why nothing is delivered to an endpoint is written in both languages", () => {
  const hold = createPart("foreign_store", { store: "s-1" });
  const held = reasonWords({ reason: "kept as a text", cause: null, hold });
  expect(held).toEqual(refusalWords(refuseFact("nothing_delivered", { hold }).refusal));
  expect(held[0]).not.toBe(held[1]);
  expect(reasonWords({ reason: "kept as a text", cause: null })).toEqual([
    "kept as a text",
    "kept as a text",
  ]);
});
