import type { ServerLimits } from "../../world.ts";

/** Default limits of a server (decision 6). */
export const OWN_LIMITS: ServerLimits = { bodyBytes: 16 * 1024, connections: 1024, silenceMs: 30_000 };

/** Limits of every server (decision 58). Sizes in bytes, times in milliseconds. */
export const LIMITS = {
  headBytes: 16 * 1024,
  /** So many times the largest head that a path may have are read, so that a refusal knows the path. */
  readHeads: 4,
  headerLines: 100,
  headersMs: 5000,
  requestMs: 10_000,
  keepAliveMs: 30_000,
  /** How often Node looks for late requests. */
  checkEveryMs: 500,
  /** Maximum number of unanswered requests on one connection. */
  pipelined: 128,
  /** Maximum number of requests of one connection that the service works on at once; the others wait. */
  workedOn: 8,
  /** Bytes of answers that a client may leave unread before its next requests wait. */
  unreadBytes: 64 * 1024,
  /** How long a refused connection stays open: closed at once, the client would lose the answer. */
  lingerMs: 5000,
} as const;
