import { deriveIdempotencyKey, IDEMPOTENCY_RETENTION_MS, type LogicalCreate } from "./idempotency-key.ts";
import type { Outcome } from "../outcome.ts";

/** Written before the first byte of the create is sent (decision 56). */
export type JournalEntry = Omit<LogicalCreate, "attempt"> & {
  readonly key: string;
  /** The sandbox instance that received the create (decision 96); null for another service, or if unknown. */
  readonly instance: string | null;
  /** Null if the user gave the key. */
  readonly attempt: number | null;
  readonly body: string;
  /** `pending`: there is no final answer yet, so the checkout may exist. */
  readonly state: "pending" | "created" | "refused";
  /** True if an earlier run got no final answer: then a later refusal does not prove that no checkout exists. */
  readonly inDoubt: boolean;
  readonly checkoutId: string | null;
  /** The error code of a refusal, or why no answer arrived, such as `unreachable`. */
  readonly code: string | null;
  readonly firstSentAt: number;
  readonly updatedAt: number;
};

type CreateIdentity = Omit<LogicalCreate, "attempt"> & Pick<JournalEntry, "instance">;

export type CreateIntent = CreateIdentity & {
  readonly isNewAttempt: boolean;
  readonly idempotencyKey: string | null;
};

/** `isProven` is false for a refusal if an attempt with this key may still have created a checkout. */
export type FinalAnswer = Pick<JournalEntry, "state" | "checkoutId" | "code"> & {
  readonly isProven: boolean;
};

export type LatestAttempt = { readonly attempt: number; readonly state: "pending" | "created" };

/** `too_old`: the service may have forgotten the key. */
export type KeyRefusal = { readonly reason: "other_create" | "too_old"; readonly entry: JournalEntry };

export type Journal = {
  readonly latestAttempt: (create: CreateIdentity) => LatestAttempt | undefined;
  readonly begin: (intent: CreateIntent, body: string, now: number) => Outcome<JournalEntry, KeyRefusal>;
  readonly settle: (key: string, settlement: FinalAnswer, now: number) => void;
  readonly list: () => JournalEntry[];
  readonly find: (key: string) => JournalEntry | undefined;
  readonly forget: (key: string) => boolean;
  readonly close: () => void;
};

const MAX_KEY_AGE_MS = IDEMPOTENCY_RETENTION_MS - 24 * 3_600_000;

/**
 * A new attempt takes the next number, but repeats a pending attempt. If no attempt is known it takes 2, because
 * another machine may have sent the first one.
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

/** An unknown instance matches, because a false mismatch would create a second order. */
export function isOfInstance(entry: JournalEntry, { instance }: Pick<CreateIntent, "instance">): boolean {
  return entry.instance === null || instance === null || entry.instance === instance;
}

export function keyRefusal(entry: JournalEntry, intent: CreateIntent, now: number): KeyRefusal | undefined {
  const isSameIntent =
    entry.service === intent.service &&
    entry.storeId === intent.storeId &&
    entry.endpoint === intent.endpoint &&
    entry.orderId === intent.orderId;
  if (!isSameIntent) return { reason: "other_create", entry };
  // A refused create made no checkout, so its key is safe to resend at any age.
  const isTooOld = entry.state !== "refused" && now - entry.firstSentAt > MAX_KEY_AGE_MS;
  return isTooOld ? { reason: "too_old", entry } : undefined;
}
