import * as fc from "fast-check";

/**
 * Any code point except a lone surrogate, as the unit of a text. `unit: "binary"` means the same, but spends a second
 * on a list of a million code points before its first draw.
 */
export const ANY_CHARACTER: fc.Arbitrary<string> = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));
