import { isDeepStrictEqual } from "node:util";

/** Fails with the subject, the expected and the received value, as one line of a journey. */
export function agree(what: string, came: unknown, expected: unknown): void {
  if (isDeepStrictEqual(came, expected)) return;
  throw new Error(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(came)}`);
}
