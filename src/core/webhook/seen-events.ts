/** An event that a target accepted, of the instance of a sandbox (decision 96); null: another service's, or unknown. */
export type SeenEvent = { readonly eventId: string; readonly instance: string | null };

/**
 * Which events a target has accepted, so that none is forwarded twice (decision 51). What an instance sent says nothing
 * of the same ids in another one; where either is unknown, they are the same.
 */
export type SeenEvents = {
  readonly has: (event: SeenEvent) => boolean;
  /** Records that a target accepted an event; `now` is milliseconds since the epoch. */
  readonly add: (event: SeenEvent, now: number) => void;
  readonly close: () => void;
};

/** How long an event is remembered, in milliseconds: much longer than the service retries (decision 13). */
export const SEEN_RETENTION_MS = 30 * 24 * 3_600_000;
