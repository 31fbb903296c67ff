/** An event with the sandbox instance that sent it (decision 96); `instance`: null if unknown, or for a service. */
export type SeenEvent = { readonly eventId: string; readonly instance: string | null };

/** Forwarded events: none is forwarded twice (decision 51). The same id from another instance is a different event. */
export type SeenEvents = {
  readonly has: (event: SeenEvent) => boolean;
  /** Records that a target accepted an event; `now` is milliseconds since the epoch. */
  readonly add: (event: SeenEvent, now: number) => void;
  readonly close: () => void;
};

/** How long an event is remembered, in milliseconds: much longer than the service retries (decision 13). */
export const SEEN_RETENTION_MS = 30 * 24 * 3_600_000;
