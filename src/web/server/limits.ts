import type { ServerLimits } from "../../world.ts";

export const DEFAULT_LIMITS: ServerLimits = { bodyBytes: 16 * 1024, connections: 1024, silenceMs: 30_000 };

export const SERVER_LIMITS = {
  headBytes: 16 * 1024,
  /** The parser accepts heads of this many times the largest limit, so that the refusal can depend on the path. */
  headFactor: 4,
  headerLines: 100,
  headersTimeoutMs: 5000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 30_000,
  checkIntervalMs: 500,
  pendingRequests: 128,
  concurrentRequests: 8,
  /** A client's next requests wait while this many bytes of answers are unread. */
  unreadBytes: 64 * 1024,
  /** Time after which a refused connection is closed; if it were closed immediately, the client would lose the answer. */
  lingerMs: 5000,
} as const;
