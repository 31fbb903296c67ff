import type { ServerLimits } from "../../world.ts";

/** Default limits of a server (decision 6). */
export const DEFAULT_LIMITS: ServerLimits = { bodyBytes: 16 * 1024, connections: 1024, silenceMs: 30_000 };

/** Limits of every server (decision 58). Sizes in bytes, times in milliseconds. */
export const SERVER_LIMITS = {
  headBytes: 16 * 1024,
  /** The parser accepts this multiple of the largest head, so that a refusal can depend on the path. */
  readHeads: 4,
  headerLines: 100,
  headersMs: 5000,
  requestMs: 10_000,
  keepAliveMs: 30_000,
  /** The interval of Node's check for late requests. */
  checkEveryMs: 500,
  /** Maximum number of unanswered requests on one connection. */
  pendingRequests: 128,
  /** Maximum number of concurrent requests of one connection; the others wait. */
  concurrentRequests: 8,
  /** Bytes of unread answers above which a client's next requests wait. */
  unreadBytes: 64 * 1024,
  /** Time until a refused connection is closed: the client would lose the answer if it were closed immediately. */
  lingerMs: 5000,
} as const;
