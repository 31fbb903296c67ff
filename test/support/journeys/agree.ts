import { isDeepStrictEqual } from "node:util";

/** Fails with what was looked at, what was expected and what came: a journey tells of it in one line. */
export function agree(what: string, came: unknown, expected: unknown): void {
  if (isDeepStrictEqual(came, expected)) return;
  throw new Error(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(came)}`);
}
