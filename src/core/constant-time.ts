import { hash, timingSafeEqual } from "node:crypto";

/** Whether a presented secret is the right one; takes the same time wherever they differ. */
export function isSameSecret(presented: string, expected: string): boolean {
  return timingSafeEqual(digest(presented), digest(expected));
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
