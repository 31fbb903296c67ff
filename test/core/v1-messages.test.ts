import { expect, test } from "vitest";
import { V1_REFUSALS, type FactName } from "../../src/core/refusals.ts";
import { parseStrictJson } from "../../src/core/json.ts";
import { refusalMessage } from "../support/refusal-texts.ts";

/** Bodies that strict JSON refuses, as bytes: not UTF-8, with a byte order mark, empty, and so on. */
const UNREADABLE_BODIES = [
  '"\x80"',
  "\xef\xbb\xbf{}",
  " \n",
  '{"a":1,"a":1}',
  '{"a":"\\ud800"}',
  "[".repeat(9) + "]".repeat(9),
];

test("the error messages of v1 match their golden file, because clients may compare them", async () => {
  const messages = Object.entries(V1_REFUSALS).flatMap(([code, sentences]) =>
    Object.keys(sentences).map((fact) => `${code} ${fact}: ${refusalMessage(fact as FactName)}`),
  );
  for (const body of UNREADABLE_BODIES) {
    const parsed = parseStrictJson(Buffer.from(body, "latin1"));
    if (!parsed.ok) messages.push(`${parsed.refusal.code}: ${parsed.refusal.message}`);
  }
  expect(messages.length).toBeGreaterThan(40 + UNREADABLE_BODIES.length);
  await expect(`${messages.join("\n")}\n`).toMatchFileSnapshot("v1-messages.golden.txt");
});
