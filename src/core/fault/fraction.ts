import { hash } from "node:crypto";

const FRACTION_DIGITS = 12;

/** Returns a number in [0, 1) that depends only on the text. */
export function hashedFractionOf(text: string): number {
  return Number.parseInt(hash("sha256", text, "hex").slice(0, FRACTION_DIGITS), 16) / 16 ** FRACTION_DIGITS;
}

export function hashedBytesOf(text: string): Uint8Array {
  return hash("sha512", text, "buffer");
}
