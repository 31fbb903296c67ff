/** Which events a target has accepted, so that none is forwarded twice (decision 51). */
export type SeenEvents = {
  readonly has: (eventId: string) => boolean;
  /** Records that a target accepted an event; `now` is milliseconds since the epoch. */
  readonly add: (eventId: string, now: number) => void;
  readonly close: () => void;
};

/** How long an event is remembered, in milliseconds: much longer than the service retries (decision 13). */
export const SEEN_RETENTION_MS = 30 * 24 * 3_600_000;
