import * as fc from "fast-check";

/**
 * Any code point but half a surrogate pair, as the unit of a text: what `unit: "binary"` means, which makes a list of a
 * million of them before it draws the first, for a second.
 */
export const ANY_CHARACTER: fc.Arbitrary<string> = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));
