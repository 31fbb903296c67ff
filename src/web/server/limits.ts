import type { ServerLimits } from "../../world.ts";

export const DEFAULT_LIMITS: ServerLimits = { bodyBytes: 16 * 1024, connections: 1024, silenceMs: 30_000 };

export const SERVER_LIMITS = {
  headBytes: 16 * 1024,
  /**
   * The HTTP parser allows this many times the largest limit, so that the service itself refuses larger heads, with a
   * limit by path.
   */
  headFactor: 4,
  headerLines: 100,
  headersTimeoutMs: 5000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 30_000,
  checkIntervalMs: 500,
  pendingRequests: 128,
  concurrentRequests: 8,
  /** The next requests of a connection wait while this many bytes of its answers are unread. */
  unreadBytes: 64 * 1024,
  /** Delay before a refused connection is closed: an immediate close would lose the answer. */
  lingerMs: 5000,
} as const;
