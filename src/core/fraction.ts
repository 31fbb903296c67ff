import { hash } from "node:crypto";

/** Number of hexadecimal digits in a fraction: 48 bits, a whole number that is exact. */
const DIGITS = 12;

/** A number from 0 to below 1, derived only from a text. */
export function fractionOf(text: string): number {
  return Number.parseInt(hash("sha256", text, "hex").slice(0, DIGITS), 16) / 16 ** DIGITS;
}
