import { hash, timingSafeEqual } from "node:crypto";

/** Random bytes in an admin token. */
export const ADMIN_TOKEN_BYTES = 32;

/** Whether a presented token is the right one; takes the same time wherever they differ. */
export function isAdminToken(presented: string, expected: string): boolean {
  return timingSafeEqual(digest(presented), digest(expected));
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
