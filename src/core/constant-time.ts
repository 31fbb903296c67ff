import { hash, timingSafeEqual } from "node:crypto";

/** Compares a presented secret with the right one in constant time. */
export function isSameSecret(presented: string, expected: string): boolean {
  return timingSafeEqual(digest(presented), digest(expected));
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
