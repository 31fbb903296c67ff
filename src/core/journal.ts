import { deriveIdempotencyKey, type LogicalCreate } from "./idempotency.ts";

/** What the client knows of one create, written before its first byte is sent (design section 6). */
export type JournalEntry = Omit<LogicalCreate, "attempt"> & {
  readonly key: string;
  /** Null where the user gave the key. */
  readonly attempt: number | null;
  /** The body as it was last sent. */
  readonly body: string;
  /** `pending`: no final answer came yet, so the service may or may not have made the checkout. */
  readonly state: "pending" | "created" | "refused";
  readonly checkoutId: string | null;
  /** The error code of a refusal. */
  readonly code: string | null;
  readonly firstSentAt: number;
  readonly updatedAt: number;
};

/** Which create the user means. */
export type Intent = Omit<LogicalCreate, "attempt"> & {
  readonly newAttempt: boolean;
  /** A key of the user's own, in place of a derived one. */
  readonly idempotencyKey: string | null;
};

/** A final answer, as the journal keeps it. */
export type Settlement = Pick<JournalEntry, "state" | "checkoutId" | "code">;

/** The client's memory of its creates. Every call is on disk when it returns. */
export type Journal = {
  /** The highest attempt of a logical create that was sent and not refused. */
  readonly latestAttempt: (create: Omit<LogicalCreate, "attempt">) => number | undefined;
  /** Notes that a create is about to be sent; returns the entry as it now stands. */
  readonly begin: (intent: Intent, body: string, now: number) => JournalEntry;
  readonly settle: (key: string, settlement: Settlement, now: number) => void;
  readonly list: () => JournalEntry[];
  readonly find: (key: string) => JournalEntry | undefined;
  /** Removes an entry; false if there is none. */
  readonly forget: (key: string) => boolean;
  readonly close: () => void;
};

/**
 * Which key a create carries: the user's own, or the one derived from the create and its attempt. The attempt is the
 * latest known one, so that a repeated command repeats its request; only `newAttempt` goes one further. Where no
 * attempt is known, the first one may have been sent from another machine, so a new attempt is the second.
 */
export function chooseKey(
  intent: Intent,
  latestAttempt: number | undefined,
): { readonly key: string; readonly attempt: number | null } {
  if (intent.idempotencyKey !== null) return { key: intent.idempotencyKey, attempt: null };
  const attempt = (latestAttempt ?? 1) + (intent.newAttempt ? 1 : 0);
  return { key: deriveIdempotencyKey({ ...intent, attempt }), attempt };
}
