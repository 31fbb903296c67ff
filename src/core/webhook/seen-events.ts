/** `instance` is null if unknown, or for a service (decision 96). */
export type SeenEvent = { readonly eventId: string; readonly instance: string | null };

/** Prevents forwarding an event twice (decision 51). The same id from another instance is a different event. */
export type SeenEvents = {
  readonly has: (event: SeenEvent) => boolean;
  readonly add: (event: SeenEvent, now: number) => void;
  readonly close: () => void;
};

/** Much longer than the service retries (decision 13). */
export const SEEN_RETENTION_MS = 30 * 24 * 3_600_000;
