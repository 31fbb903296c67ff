import { deriveIdempotencyKey, IDEMPOTENCY_RETENTION_MS, type LogicalCreate } from "./idempotency-key.ts";
import type { Outcome } from "../outcome.ts";

/** A client's record of one create, written before the first byte is sent (decision 56). */
export type JournalEntry = Omit<LogicalCreate, "attempt"> & {
  readonly key: string;
  /** The sandbox instance that received the create (decision 96); null for another service, or if unknown. */
  readonly instance: string | null;
  /** Null if the user gave the key. */
  readonly attempt: number | null;
  readonly body: string;
  /** `pending`: there is no final answer yet, so the checkout may or may not exist. */
  readonly state: "pending" | "created" | "refused";
  /** Whether an earlier run got no final answer: a later refusal then does not prove that no checkout exists. */
  readonly inDoubt: boolean;
  readonly checkoutId: string | null;
  /** Why no checkout exists: the error code of a refusal, or `unreachable`. */
  readonly code: string | null;
  readonly firstSentAt: number;
  readonly updatedAt: number;
};

/** A logical create regardless of its attempt. `instance` is the current instance of the service; null if unknown. */
type CreateIdentity = Omit<LogicalCreate, "attempt"> & Pick<JournalEntry, "instance">;

export type CreateIntent = CreateIdentity & {
  readonly isNewAttempt: boolean;
  /** The user's own key, instead of a derived key. */
  readonly idempotencyKey: string | null;
};

/** `isProven`: whether a refusal proves that no attempt with this key created a checkout; always true for `created`. */
export type FinalAnswer = Pick<JournalEntry, "state" | "checkoutId" | "code"> & {
  readonly isProven: boolean;
};

/** The latest attempt of a logical create, ignoring refused attempts. */
export type LatestAttempt = { readonly attempt: number; readonly state: "pending" | "created" };

/** Why a key cannot be sent: it belongs to another create, or is so old that the service may have forgotten it. */
export type KeyRefusal = { readonly reason: "other_create" | "too_old"; readonly entry: JournalEntry };

/** The client's memory of its creates. Every change is on disk when the call returns. */
export type Journal = {
  readonly latestAttempt: (create: CreateIdentity) => LatestAttempt | undefined;
  /** Records that a create is about to be sent; returns the updated entry. */
  readonly begin: (intent: CreateIntent, body: string, now: number) => Outcome<JournalEntry, KeyRefusal>;
  readonly settle: (key: string, settlement: FinalAnswer, now: number) => void;
  readonly list: () => JournalEntry[];
  readonly find: (key: string) => JournalEntry | undefined;
  /** Removes an entry; false if there is none. */
  readonly forget: (key: string) => boolean;
  readonly close: () => void;
};

/** Maximum age of a key, in milliseconds: one day less than the service remembers it (decision 5). */
const MAX_KEY_AGE_MS = IDEMPOTENCY_RETENTION_MS - 24 * 3_600_000;

/**
 * Chooses the key of a create: the user's own key, or a key derived from the create and its latest known attempt, so
 * that a repeated command repeats its request. `isNewAttempt` takes the next number, unless the latest attempt has no
 * final answer yet: then that attempt is repeated. If no attempt is known, another machine may have sent the first
 * attempt, so a new attempt has number 2.
 */
export function chooseKey(
  intent: CreateIntent,
  latestAttempt: LatestAttempt | undefined,
): { readonly key: string; readonly attempt: number | null } {
  if (intent.idempotencyKey !== null) return { key: intent.idempotencyKey, attempt: null };
  const addedAttempts = intent.isNewAttempt && latestAttempt?.state !== "pending" ? 1 : 0;
  const attempt = (latestAttempt?.attempt ?? 1) + addedAttempts;
  return { key: deriveIdempotencyKey({ ...intent, attempt }), attempt };
}

/** Whether an entry is of this instance. An unknown instance counts as this one, so that no second order is created. */
export function isOfInstance(entry: JournalEntry, { instance }: Pick<CreateIntent, "instance">): boolean {
  return entry.instance === null || instance === null || entry.instance === instance;
}

/** Why this create must not use a key in the journal; undefined if it may. */
export function keyRefusal(entry: JournalEntry, intent: CreateIntent, now: number): KeyRefusal | undefined {
  const isSameIntent =
    entry.service === intent.service &&
    entry.storeId === intent.storeId &&
    entry.endpoint === intent.endpoint &&
    entry.orderId === intent.orderId;
  if (!isSameIntent) return { reason: "other_create", entry };
  // A refused create made no checkout, so the service may forget its key.
  const isTooOld = entry.state !== "refused" && now - entry.firstSentAt > MAX_KEY_AGE_MS;
  return isTooOld ? { reason: "too_old", entry } : undefined;
}
