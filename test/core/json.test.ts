import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseStrictJson } from "../../src/core/json.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { SEED, size } from "../support/campaign.ts";

const parse = (text: string | Uint8Array) => parseStrictJson(Buffer.from(text));
const code = (text: string | Uint8Array): string => {
  const outcome = parse(text);
  return outcome.ok ? "ok" : outcome.refusal.code;
};

test("the strict JSON parser returns output of JSON.stringify unchanged", () => {
  const value = fc.jsonValue({ maxDepth: 6, noUnicodeString: false }).filter((json) => onlyKeptNumbers(json));
  fc.assert(
    fc.property(value, (json) => {
      const outcome = parse(JSON.stringify(json));
      expect(outcome).toEqual({ ok: true, value: JSON.parse(JSON.stringify(json)) as unknown });
    }),
    { seed: SEED, numRuns: size(500, 20_000) },
  );
});

test("the strict JSON parser refuses every text that JSON.parse refuses", () => {
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 40 }), (text) => {
      let legal = true;
      try {
        JSON.parse(text);
      } catch {
        legal = false;
      }
      if (!legal) expect(code(text)).toBe("invalid_json");
    }),
    { seed: SEED, numRuns: size(2000, 100_000) },
  );
});

test("the strict JSON parser keeps a number exactly, or refuses it with the name of its field", () => {
  const kept = ["100.0", "1e2", "1E+2", "100e-2", "0.1e1", "-0", "9007199254740991", "0e5", "1.5", "12.340"];
  for (const literal of kept) expect([literal, code(`{"n":${literal}}`)]).toEqual([literal, "ok"]);
  expect(parse('{"n":100.0}')).toEqual({ ok: true, value: { n: 100 } });
  const changed = [
    "9007199254740992",
    "9007199254740993",
    "1e400",
    "-1e400",
    "1.0000000000000000001",
    "1.00000000000000001e2",
    "1e16",
    "1e-400",
  ];
  for (const literal of changed) {
    expect(parse(`{"amount_minor":${literal}}`)).toMatchObject({
      refusal: { code: "invalid_parameter", message: expect.stringContaining('"amount_minor"') as string },
    });
  }
});

test("the strict JSON parser refuses duplicate keys, half surrogate pairs, byte order marks, invalid UTF-8, empty bodies and over 8 levels", () => {
  const rows: (string | Uint8Array)[] = [
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"\\u0061":1,"a":2}',
    '{"x":{"b":1,"b":2}}',
    '{"a":{"b":1},"a":2}',
    '{"__proto__":1,"__proto__":2}',
    '"\\ud800"',
    '{"\\udc00":1}',
    '{"a":"\\ud83d\\u0020"}',
    "\ufeff{}",
    "",
    "   ",
    "[[[[[[[[[]]]]]]]]]",
    '{"a":'.repeat(9) + "1" + "}".repeat(9),
    Uint8Array.of(0x22, 0xc0, 0x80, 0x22),
    Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
    Uint8Array.of(0x22, 0x80, 0x22),
    Uint8Array.of(0xff, 0xfe, 0x7b, 0x00),
  ];
  for (const row of rows) expect([String(row), code(row)]).toEqual([String(row), "invalid_json"]);
  const fine = [
    "[[[[[[[[]]]]]]]]",
    '[{"a":1},{"a":1}]',
    "[[],[],[],[],[],[],[],[],[]]",
    '{"a":{"a":1}}',
    '"\\ud83d\\ude00"',
    '{"a":"}{\\"]["}',
  ];
  for (const row of fine) expect([row, code(row)]).toEqual([row, "ok"]);
});

test("the refusal of malformed JSON has a separate message for each mistake, and quotes no value of the body", () => {
  const rows = [
    [Uint8Array.of(0x22, 0x80, 0x22), ""],
    ["\ufeff{}", ""],
    [" \n", ""],
    ['{"a":1,"a":1}', '"a"'],
    ['{"a":"\\ud800"}', "ud800"],
    ["[".repeat(9) + "]".repeat(9), "8"],
    ['{"a": secret-value}', ""],
  ] as const;
  const messages = rows.map(([body, said]) => {
    const parsed = parse(body);
    expect(parsed).toMatchObject({ refusal: { told: { fact: "invalid_json" } } });
    const message = parsed.ok ? "" : parsed.refusal.message;
    expect(message).toContain(said);
    return message;
  });
  expect(new Set(messages).size).toBe(rows.length);
  expect(messages.at(-1)).not.toContain("secret");
});

/** JSON.stringify writes some numbers that strict JSON refuses, such as 1e21. */
function onlyKeptNumbers(json: unknown): boolean {
  if (typeof json === "number") return !Number.isInteger(json) || Number.isSafeInteger(json);
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json !== "object" || json === null) return true;
  return Object.entries(json).every(([key, value]) => key.isWellFormed() && onlyKeptNumbers(value));
}
