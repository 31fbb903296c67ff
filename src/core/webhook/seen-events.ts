/** Which events a target has taken, so that none is forwarded twice (decision 51). */
export type SeenEvents = {
  readonly has: (eventId: string) => boolean;
  /** Notes that a target has taken an event; `now` is milliseconds since the epoch. */
  readonly add: (eventId: string, now: number) => void;
  readonly close: () => void;
};

/** So long an event is remembered, in milliseconds: many times as long as the service keeps trying (decision 13). */
export const SEEN_RETENTION_MS = 30 * 24 * 3_600_000;
